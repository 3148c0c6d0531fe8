//! What two processes know of one file, made one.
//!
//! Invariant: the text is that of one of them; hunks that are where others are already are no longer pending.

use crate::file::File;
use crate::past::Past;
use crate::pieces::{Piece, slice};
use text::ChangeSet;

impl File {
    /// Takes over the hunks that another process has in the file, where they are beside its own.
    pub fn join(&mut self, mut other: File) {
        if self.existence.is_some() || other.existence.is_some() {
            // Whoever knows that the file itself came or went knows all of it.
            if !self.is_pending() {
                *self = other;
            }
            return;
        }
        // Which of the texts is the newer nobody knows: it is the one that has the hunks of both.
        let (mine, theirs) = (self.moved_to(&other), other.moved_to(self));
        if theirs.pieces.len() < other.pieces.len() && mine.pieces.len() == self.pieces.len() {
            *self = mine;
        } else {
            other = theirs;
        }
        for piece in &other.pieces {
            if self.pieces.iter().all(|own| are_apart(own, piece)) {
                self.add(piece, &slice(&other.base, &piece.base));
                let origin = other.origins.get(&piece.hunk).cloned();
                self.origins.extend(origin.map(|it| (piece.hunk.clone(), it)));
            }
        }
        // What was decided led to the hunks of one of them alone.
        self.past = Past::default();
        self.decided.clear();
    }

    /// This file once somebody gave it the text of the other.
    fn moved_to(&self, other: &File) -> File {
        let mut moved = self.clone();
        moved.enter_person(&ChangeSet::between(&self.current, &other.current));
        moved
    }

    /// Adds a piece whose text is in place, with the text that it stands for.
    fn add(&mut self, piece: &Piece, old: &str) {
        let start = self.base_offset(piece.now.start);
        let index = self.pieces.partition_point(|own| own.now.start < piece.now.start);
        let base = start..start + piece.now.len();
        self.pieces.insert(index, Piece { base, ..piece.clone() });
        self.set_base(index, old);
    }
}

/// Whether it is certain which of the two comes first, and that they share nothing.
fn are_apart(a: &Piece, b: &Piece) -> bool {
    let (first, second) = if a.now.start <= b.now.start { (a, b) } else { (b, a) };
    if first.now.is_empty() || second.now.is_empty() {
        first.now.end < second.now.start
    } else {
        first.now.end <= second.now.start
    }
}

#[cfg(test)]
mod tests;
