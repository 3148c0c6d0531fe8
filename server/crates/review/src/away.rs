//! Files that somebody removed while changes in them were pending.
//!
//! Invariant: nothing is pending in a file that is not there. Where it comes back, under the same name, with a text
//! that has what was pending in it, so does that: another process may have moved it away and back, or have
//! written it anew.

use text::{ChangeSet, Rope};

use crate::file::File;
use crate::ledger::Ledger;
use crate::moves::Move;
use crate::unsure::smallest;

/// Files that are remembered.
const REMEMBERED: usize = 64;

/// A file that was removed.
#[derive(Clone, Debug)]
pub(crate) struct Away<F> {
    pub name: F,
    file: File,
    moved: Option<Move<F>>,
    /// A text it came back with that has nothing of what was pending.
    other: Option<Rope>,
}

impl<F: Ord + Clone> Ledger<F> {
    /// Somebody removed a file.
    pub fn went(&mut self, name: &F) {
        let moved = self.moves.get(name).cloned();
        let file = self.files.get(name).cloned();
        self.forget(name);
        if let Some(file) = file {
            self.away.push(Away { name: name.clone(), file, moved, other: None });
            let excess = self.away.len().saturating_sub(REMEMBERED);
            self.away.drain(..excess);
        }
    }

    /// Files that were removed.
    pub fn away(&self) -> impl Iterator<Item = &F> {
        self.away.iter().map(|it| &it.name)
    }

    /// A file that was removed is there again, with this text. Whether something is pending in it again: not where
    /// another file of its name is known by now, or nothing that was pending has its place in the text.
    pub fn is_back(&mut self, name: &F, text: &Rope) -> bool {
        let at = self.away.iter().position(|it| it.name == *name);
        let other = self.files.get(name).is_some_and(|it| !self.is_idle(name, it));
        let Some(at) = at.filter(|_| !other) else { return false };
        let Some(away) = self.away.get_mut(at).filter(|it| it.other.as_ref() != Some(text)) else {
            return false;
        };
        if !away.has_its_hunks(text) {
            away.other = Some(text.clone());
            return false;
        }
        let Away { name, file, moved, .. } = self.away.remove(at);
        self.files.insert(name.clone(), file);
        if let Some(moved) = moved {
            self.moves.insert(name.clone(), moved);
        }
        self.reopened(&name, text);
        self.changed(&name);
        true
    }
}

impl<F> Away<F> {
    /// Whether a text has at least one of the hunks, or is the same.
    fn has_its_hunks(&self, text: &Rope) -> bool {
        if self.file.current == *text {
            return true;
        }
        let changes = smallest(&ChangeSet::between(&self.file.current, text), &self.file.current);
        let crossed = self.file.crossed_by(&changes);
        let hunks = self.file.hunks();
        // The text before the changes has none of them either.
        *text != self.file.base && hunks.iter().any(|it| !crossed.contains(it))
    }
}
