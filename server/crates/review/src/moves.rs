//! Files that the agent moved: known by their new name, with the one they had before.
//!
//! Invariant: a move is a hunk of its own, without text, and is decided apart from what changed inside
//! the file. A file whose move is pending, or can be taken back to be so, is tracked.

use std::collections::BTreeSet;

use text::Rope;

use crate::file::File;
use crate::ledger::{Decision, Ledger, Pick, Undoing};
use crate::presence::Existence;
use crate::view::{Author, Change, FileView, Hunk, State};
use crate::{HunkId, Origin};

/// A move that waits for a decision.
#[derive(Clone, Debug)]
pub(crate) struct Move<F> {
    /// The name before.
    pub from: F,
    pub hunk: HunkId,
    pub origin: Origin,
}

/// A move that was decided on, while that can be undone.
#[derive(Clone, Debug)]
pub(crate) struct DecidedMove<F> {
    pub token: u64,
    pub decision: Decision,
    pub to: F,
    pub it: Move<F>,
}

impl<F: PartialEq> DecidedMove<F> {
    /// The name the file has since.
    pub fn now(&self) -> &F {
        match self.decision {
            Decision::Accept => &self.to,
            Decision::Reject => &self.it.from,
        }
    }
}

impl<F: Ord + Clone> Ledger<F> {
    /// The agent moved a file of this text to where nothing is. False, and nothing entered, where
    /// something is pending at its new name.
    pub fn moved(&mut self, from: &F, to: &F, text: &Rope, origin: &Origin) -> bool {
        if self.is_pending(to) {
            return false;
        }
        self.forget_moves(to);
        self.shadow(to);
        let file = self.leave(from).unwrap_or_else(|| File::new(text));
        let is_new = matches!(file.existence, Some((Existence::Added, _)));
        self.files.insert(to.clone(), file);
        // Where a decided move went back to, the file is no more.
        self.decided_moves.retain(|it| it.decision == Decision::Accept || it.it.from != *from);
        for decided in self.decided_moves.iter_mut().filter(|it| it.to == *from) {
            decided.to = to.clone();
        }
        match self.moves.remove(from) {
            Some(before) if before.from == *to => {}
            Some(mut before) => {
                before.origin.merge(origin);
                self.moves.insert(to.clone(), before);
            }
            None if is_new => {}
            None => {
                self.hunks += 1;
                let hunk = format!("hunk-{}", self.hunks);
                let it = Move { from: from.clone(), hunk, origin: origin.clone() };
                self.moves.insert(to.clone(), it);
            }
        }
        self.changed(to);
        true
    }

    /// A move was taken back by who keeps what names files had: it is no hunk any more, and decisions on it
    /// are not undone.
    pub fn moved_back(&mut self, file: &F, back: &F) {
        let earlier = self.moves.remove(file).filter(|it| it.from != *back);
        self.decided_moves.retain(|it| it.now() != file && it.now() != back);
        self.carry(file, back);
        if let Some(it) = earlier.filter(|_| self.files.contains_key(back)) {
            self.moves.insert(back.clone(), it);
        }
        self.changed(back);
    }

    /// The hunk that is a file's move, and the name the file had before.
    pub fn moved_from(&self, file: &F) -> Option<(&HunkId, &F)> {
        self.moves.get(file).map(|it| (&it.hunk, &it.from))
    }

    /// Decides on a file's move. A rejected one has been moved back, and goes by its old name from
    /// now on.
    pub fn decide_move(&mut self, file: &F, decision: Decision, token: u64) {
        let Some(it) = self.moves.remove(file) else { return };
        let from = it.from.clone();
        self.decided_moves.push(DecidedMove { token, decision, to: file.clone(), it });
        match decision {
            Decision::Accept => {}
            Decision::Reject => self.carry(file, &from),
        }
        let oldest = self.oldest_decision();
        self.decided_moves.retain(|it| it.token > oldest);
        self.changed(&from);
        self.changed(file);
    }

    /// The name a file goes by again when its part of a decision is undone.
    pub fn moves_again(&self, file: &F, token: u64) -> Option<&F> {
        let rejected = |it: &&DecidedMove<F>| {
            it.token == token && it.decision == Decision::Reject && it.it.from == *file
        };
        self.decided_moves.iter().find(rejected).map(|it| &it.to)
    }

    /// Takes a decision on a file's move back; the file has the name that `moves_again` told.
    pub fn undo_move(&mut self, file: &F, token: u64) {
        let at = self.decided_moves.iter().position(|it| it.token == token && it.now() == file);
        let Some(at) = at else { return };
        let DecidedMove { decision, to, mut it, .. } = self.decided_moves.remove(at);
        match decision {
            Decision::Accept => {}
            Decision::Reject => self.carry(file, &to),
        }
        if let Some(later) = self.moves.remove(&to) {
            it.origin.merge(&later.origin);
        }
        if it.from != to {
            self.moves.insert(to.clone(), it);
        }
        self.changed(file);
        self.changed(&to);
    }

    /// Adds the moves to what a decision's undo is about.
    pub(crate) fn add_moves(&self, undoings: &mut Vec<Undoing<F>>, token: u64) {
        for decided in self.decided_moves.iter().filter(|it| it.token == token) {
            let file = decided.now();
            let at = undoings.iter().position(|it| it.file == *file).unwrap_or_else(|| {
                undoings.push(Undoing {
                    file: file.clone(),
                    again: None,
                    plan: None,
                    hunks: BTreeSet::new(),
                    decision: decided.decision,
                    is_shadowed: false,
                    sessions: BTreeSet::new(),
                });
                undoings.len() - 1
            });
            if let Some(undoing) = undoings.get_mut(at) {
                undoing.again = Some(decided.to.clone());
                let Origin { session, others, .. } = &decided.it.origin;
                undoing.sessions.extend(std::iter::once(session).chain(others).cloned());
            }
        }
    }

    /// Whether a file's name, now or before, waits for a decision or can be undone.
    pub(crate) fn is_moved(&self, file: &F) -> bool {
        self.moves.contains_key(file) || self.decided_moves.iter().any(|it| it.now() == file)
    }

    /// One name takes the place of another in all that is known of moves.
    pub(crate) fn rename_moves(&mut self, from: &F, to: &F) {
        if let Some(it) = self.moves.remove(from) {
            self.moves.insert(to.clone(), it);
        }
        for decided in &mut self.decided_moves {
            for name in [&mut decided.to, &mut decided.it.from] {
                if name == from {
                    name.clone_from(to);
                }
            }
        }
    }

    /// Nothing of a file's moves is known any more.
    pub(crate) fn forget_moves(&mut self, file: &F) {
        self.moves.remove(file);
        self.decided_moves.retain(|it| it.now() != file);
    }

    /// What is shown of a file, its move included.
    pub(crate) fn view_of(&self, name: &F, file: &File) -> FileView<F> {
        let mut view = file.view(name.clone());
        if let Some(it) = self.moves.get(name) {
            if view.change == Change::Modify {
                view.change = Change::Rename;
            }
            view.from = Some(it.from.clone());
            view.hunks.insert(0, it.view());
        }
        view
    }

    /// A file is known by another name.
    fn carry(&mut self, from: &F, to: &F) {
        if let Some(file) = self.leave(from) {
            self.shadow(to);
            self.files.insert(to.clone(), file);
        }
    }
}

impl<F: Eq> Move<F> {
    /// Whether the move of this file is among what is picked.
    pub fn is_meant(&self, name: &F, pick: &Pick<F>) -> bool {
        match pick {
            Pick::Hunk(id) => self.hunk == *id,
            Pick::File(file) => file == name,
            Pick::Range(..) => false,
            Pick::Session(session) => self.origin.is_of(session),
            Pick::All => true,
        }
    }

    fn view(&self) -> Hunk {
        Hunk {
            id: self.hunk.clone(),
            base: 0..0,
            now: 0..0,
            old: String::new(),
            new: String::new(),
            state: State::Pending,
            author: Author::Agent,
            origin: self.origin.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
