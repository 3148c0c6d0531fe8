//! Changes that nobody saw happen: guessed from two texts, or perhaps an edit of ours that failed.
//!
//! Invariant: what such a change leaves in doubt is nobody's to take out. A hunk whose place or
//! author it leaves in doubt is pending no more, so that a rejection never tears what was typed.

use std::collections::BTreeSet;

use text::{ChangeSet, Edit};

use crate::HunkId;
use crate::file::File;
use crate::pieces::Piece;

impl File {
    /// Hunks that a guessed change replaces as a whole, or reaches into from beyond an edge.
    pub fn crossed_by(&self, changes: &ChangeSet) -> BTreeSet<HunkId> {
        self.doubted(changes, |Edit { range, text }, piece| {
            let meets = range.start < piece.now.end && piece.now.start < range.end;
            let around = range.start < piece.now.start && piece.now.end < range.end;
            let inner = piece.now.start < range.start || range.end < piece.now.end;
            let within = piece.now.start <= range.start && range.end <= piece.now.end;
            around || (meets && !(within && (inner || text.is_empty())))
        })
    }

    /// Hunks that a change takes text from.
    pub fn cut_by(&self, changes: &ChangeSet) -> BTreeSet<HunkId> {
        self.doubted(changes, |edit, piece| {
            let Edit { range, .. } = edit;
            let empty = piece.now.is_empty()
                && range.start <= piece.now.start
                && piece.now.start <= range.end;
            empty || range.start < piece.now.end && piece.now.start < range.end
        })
    }

    fn doubted(
        &self,
        changes: &ChangeSet,
        is_in_doubt: impl Fn(&Edit, &Piece) -> bool,
    ) -> BTreeSet<HunkId> {
        // A change back to the whole base leaves none.
        if changes.apply(&self.current) == self.base {
            return BTreeSet::new();
        }
        let mut doubted = BTreeSet::new();
        for edit in changes.edits() {
            if self.undone_by(&edit.range, &edit.text).is_some() {
                continue;
            }
            let pieces = self.pieces.iter().filter(|piece| is_in_doubt(edit, piece));
            doubted.extend(pieces.map(|piece| piece.hunk.clone()));
        }
        doubted
    }
}

#[cfg(test)]
mod tests;
