//! What became of an edit that was sent to an editor.

use crate::changeset::ChangeSet;
use ropey::Rope;

/// What became of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landing {
    /// The text is exactly the expected one.
    Exact,
    /// The edit is in; the person changed other places too.
    With {
        /// The person's changes, over the text with the edit in it; they lead to the present text.
        theirs: ChangeSet,
    },
    /// The edit is not in.
    NotYet {
        /// The person's changes over the base; they lead to the present text.
        theirs: ChangeSet,
    },
    /// The edit was applied at stale offsets.
    Misplaced {
        /// Applied to the present text, gives the person's changes with the edit where it belongs.
        repair: ChangeSet,
    },
    /// None of these, or not to be told apart.
    Conflict,
}

/// Decides what became of `ours`.
pub fn landed(base: &Rope, ours: &ChangeSet, now: &Rope, history: &[ChangeSet]) -> Landing {
    let _ = history;
    let expected = ours.apply(base);
    if expected == *now {
        return Landing::Exact;
    }
    if base == now {
        return Landing::NotYet { theirs: ChangeSet::identity(base.len_bytes()) };
    }
    Landing::Conflict
}
