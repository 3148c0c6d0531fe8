//! Changes that nobody saw happen: guessed from two texts, or perhaps an edit of ours that failed.
//!
//! Invariant: what such a change leaves in doubt is nobody's to take out. A hunk whose place or
//! author it leaves in doubt is pending no more, so that a rejection never tears what was typed.

use std::collections::BTreeSet;

use text::{ChangeSet, Edit, Rope};

use crate::HunkId;
use crate::file::File;
use crate::pieces::{Piece, slice};

/// The same change without what its edits leave as it was. Differences are told in edits that an
/// editor can make, none of which begins within a line's `\r\n`; text that came there takes
/// nothing from the hunks around it.
pub(crate) fn smallest(changes: &ChangeSet, before: &Rope) -> ChangeSet {
    let edits = changes.edits().iter();
    let edits = edits.map(|edit| {
        let next = before.get_byte(edit.range.end);
        smaller(edit, &slice(before, &edit.range), next)
    });
    ChangeSet::new(changes.len_before(), edits.collect()).unwrap_or_else(|_| changes.clone())
}

/// An edit of `old`, with `next` behind it. It leaves no edge within a `\r\n` of the new text.
fn smaller(edit: &Edit, old: &str, next: Option<u8>) -> Edit {
    let new = edit.text.as_str();
    let byte = |at: usize| new.as_bytes().get(at).copied().or(next);
    let splits =
        |at: usize| at.checked_sub(1).and_then(byte) == Some(b'\r') && byte(at) == Some(b'\n');
    let same = |(a, b): (char, char)| (a == b).then(|| a.len_utf8());
    let mut head: usize = old.chars().zip(new.chars()).map_while(same).sum();
    head -= usize::from(splits(head));
    let (Some(old), Some(rest)) = (old.get(head..), new.get(head..)) else { return edit.clone() };
    let mut tail: usize = old.chars().rev().zip(rest.chars().rev()).map_while(same).sum();
    tail -= usize::from(tail > 0 && splits(new.len() - tail));
    let text = rest.get(..rest.len() - tail).unwrap_or_default();
    Edit::new(edit.range.start + head..edit.range.end - tail, text)
}

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
