//! The smallest change set that turns one text into another.
use crate::changeset::{ChangeSet, Edit};
use ropey::Rope;

impl ChangeSet {
    /// The change from `before` to `after`.
    pub fn whole(before: &Rope, after: &str) -> ChangeSet {
        ChangeSet::between(before, &Rope::from_str(after))
    }

    /// The change from `before` to `after`.
    pub fn between(before: &Rope, after: &Rope) -> ChangeSet {
        let len = before.len_bytes();
        if before == after {
            return ChangeSet::identity(len);
        }
        let edits = vec![Edit::new(0..len, after.to_string())];
        ChangeSet::new(len, edits).unwrap_or_else(|_| ChangeSet::identity(len))
    }
}
