//! Taking the agent's changes back as a whole, by whoever keeps what they were: no decision on hunks.
//!
//! Invariant: a restore is no change of the agent's. Inside pending hunks it is text of theirs, so that a
//! hunk whose base comes back is gone; everywhere else it happens to both texts.

use std::ops::Range;

use text::{ChangeSet, Rope};

use crate::Origin;
use crate::earlier::Kind;
use crate::file::File;
use crate::ledger::Ledger;
use crate::moves::Move;
use crate::past::{Names, Past};
use crate::pieces::{Piece, slice};
use crate::presence::Existence;

/// What was known of a file before a restore, for its undo.
#[derive(Clone, Debug)]
pub struct Remembered<F> {
    pub(crate) file: Option<Box<File>>,
    pub(crate) moved: Option<Move<F>>,
}

impl<F> Remembered<F> {
    /// Whether the file's move was pending.
    pub fn is_moved(&self) -> bool {
        self.moved.is_some()
    }
}

impl<F: Ord + Clone> Ledger<F> {
    /// What is known of a file now.
    pub fn remember(&self, file: &F) -> Remembered<F> {
        Remembered {
            file: self.files.get(file).cloned().map(Box::new),
            moved: self.moves.get(file).cloned(),
        }
    }

    /// What was remembered counts again.
    pub fn put_back(&mut self, file: &F, remembered: &Remembered<F>) {
        match &remembered.file {
            Some(known) => drop(self.files.insert(file.clone(), (**known).clone())),
            None => drop(self.files.remove(file)),
        }
        match &remembered.moved {
            Some(moved) => drop(self.moves.insert(file.clone(), moved.clone())),
            None => drop(self.moves.remove(file)),
        }
        self.changed(file);
    }

    /// Earlier text came back into a file: `changes` of its current text.
    pub fn restored(&mut self, file: &F, changes: &ChangeSet) {
        let Some(found) = self.files.get_mut(file) else { return };
        if found.current.len_bytes() == changes.len_before() {
            found.note(Kind::Milestone);
            found.enter_restored(changes);
            found.note(Kind::Milestone);
            self.changed(file);
        }
    }

    /// A file that the agent had deleted is there again, with this text.
    pub fn came_back(&mut self, file: &F, text: &Rope) {
        let Some(found) = self.files.get_mut(file) else { return };
        found.came_back(text, &mut self.hunks);
        self.changed(file);
    }

    /// A restore was undone: `changes` of `before`, which is the text the ledger knows if it knows the
    /// file. The hunks are those of before the restore; where the text has gone on since, or nothing
    /// is remembered, it counts as an edit of the agent's.
    pub fn unrestored(
        &mut self,
        file: &F,
        (before, changes): (&Rope, &ChangeSet),
        remembered: Option<&Remembered<F>>,
        origin: &Origin,
    ) {
        let now = changes.apply(before);
        match remembered {
            Some(Remembered { file: Some(known), .. }) if known.current == now => {
                self.files.insert(file.clone(), (**known).clone());
                self.changed(file);
            }
            Some(Remembered { file: None, .. })
                if self.files.get(file).is_none_or(|it| self.is_idle(file, it)) =>
            {
                self.files.remove(file);
            }
            Some(_) | None => self.agent_edit(file, before, changes, origin),
        }
    }
}

impl File {
    pub fn enter_restored(&mut self, changes: &ChangeSet) {
        self.forget_past();
        for edit in changes.edits().iter().rev() {
            self.text_came_back(edit.range.clone(), &edit.text);
        }
        self.drop_typed();
        if self.existence.is_none() && self.base == self.current {
            self.pieces.clear();
        }
        self.forget_origins();
    }

    /// What was decided before a restore is no longer undone by itself.
    pub fn forget_past(&mut self) {
        self.past = Past::default();
        self.decided.clear();
    }

    /// Drops pieces in which nothing is left but what the person wrote.
    fn drop_typed(&mut self) {
        let mut index = 0;
        while let Some(piece) = self.pieces.get(index) {
            let now = slice(&self.current, &piece.now);
            if !piece.typed.is_empty() && self.kept_text(piece) == now {
                self.set_base(index, &now);
                self.pieces.remove(index);
            } else {
                index += 1;
            }
        }
    }

    fn text_came_back(&mut self, range: Range<usize>, text: &str) {
        // The hunk that has its base again.
        if let Some(index) = self.undone_by(&range, text) {
            self.raw_replace(&range, text);
            self.grow(index, &range, text.len());
            self.pieces.remove(index);
            return;
        }
        let inside = |piece: &Piece| {
            let empty = piece.now.is_empty() && range.start <= piece.now.start;
            piece.now.start < range.end && range.start < piece.now.end
                || (empty && piece.now.start <= range.end && !(range.is_empty() && text.is_empty()))
        };
        let first = self.pieces.iter().position(inside);
        let Some(first) = first else { return self.person_outside(range, text) };
        let last = self.pieces.iter().rposition(inside).unwrap_or(first);
        let reach = |at: usize| self.pieces.get(at).map(|it| it.now.clone()).unwrap_or_default();
        let pieces = reach(first).start..reach(last).end;
        // Beyond the hunks it happens to both texts: the part before, then the part after.
        if range.start < pieces.start || pieces.end < range.end {
            let old = slice(&self.current, &range);
            let changes = ChangeSet::whole(&Rope::from_str(&old), text);
            let whole = changes.edits().len() == 1
                && changes.edits().first().is_some_and(|it| it.range.len() == range.len());
            if !whole {
                for edit in changes.edits().iter().rev() {
                    let part = range.start + edit.range.start..range.start + edit.range.end;
                    self.text_came_back(part, &edit.text);
                }
                return;
            }
        }
        let place = range.start..range.start + text.len();
        self.agent_replaces(range, text);
        let low = self.pieces.partition_point(|piece| piece.now.end < place.start);
        let mut index = low;
        while let Some(piece) = self.pieces.get(index).filter(|it| it.now.start <= place.end) {
            if self.is_equal(piece) { drop(self.pieces.remove(index)) } else { index += 1 }
        }
    }

    fn came_back(&mut self, text: &Rope, hunks: &mut u64) {
        let own = match self.existence.take_if(|(kind, _)| *kind == Existence::Deleted) {
            Some((_, id)) => self.origins.get(&id).cloned(),
            None => None,
        };
        self.forget_past();
        self.pieces.clear();
        self.current = self.base.clone();
        let changes = ChangeSet::between(&self.base, text);
        let origin = own.unwrap_or_default();
        self.agent_edit(&changes, &origin, &mut Names::new(hunks));
    }
}

#[cfg(test)]
mod tests;
