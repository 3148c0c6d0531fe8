//! Hunks, counts and unified diffs made from edits.

use crate::changeset::ChangeSet;
use ropey::Rope;
use std::ops::Range;

/// Lines replaced by lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Zero-based lines of the text before.
    pub before: Range<usize>,
    /// Zero-based lines of the text after.
    pub after: Range<usize>,
}

/// The hunks of `changes`, each with `context` lines around it.
pub fn hunks_of(changes: &ChangeSet, before: &Rope, context: usize) -> Vec<Hunk> {
    let _ = (changes, before, context);
    Vec::new()
}

/// Lines added and removed.
pub fn stats(before: &Rope, changes: &ChangeSet) -> (usize, usize) {
    let _ = (before, changes);
    (0, 0)
}

/// The `@@` hunks of a unified diff.
pub fn unified(before: &Rope, changes: &ChangeSet, context: usize) -> String {
    let _ = (before, changes, context);
    String::new()
}

/// A whole git patch of one file. `None` as a path: the file does not exist on that side.
pub fn git_patch(
    old_path: Option<&str>,
    new_path: Option<&str>,
    before: &Rope,
    after: &Rope,
    changes: &ChangeSet,
) -> String {
    let _ = (old_path, new_path, after);
    unified(before, changes, 3)
}
