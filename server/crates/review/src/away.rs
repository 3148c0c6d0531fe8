//! Files that somebody removed while changes in them were pending.
//!
//! Invariant: nothing is pending in a file that is not there. Where it comes back as it was, under the same name, so
//! does what was pending; another process of ours may have moved it away and back.

use text::Rope;

use crate::file::File;
use crate::ledger::Ledger;
use crate::moves::Move;

/// Files that are remembered.
const REMEMBERED: usize = 64;

/// A file that was removed.
#[derive(Clone, Debug)]
pub(crate) struct Away<F> {
    pub name: F,
    file: File,
    moved: Option<Move<F>>,
}

impl<F: Ord + Clone> Ledger<F> {
    /// Somebody removed a file.
    pub fn went(&mut self, name: &F) {
        let moved = self.moves.get(name).cloned();
        let file = self.files.get(name).cloned();
        self.forget(name);
        if let Some(file) = file {
            self.away.push(Away { name: name.clone(), file, moved });
            let excess = self.away.len().saturating_sub(REMEMBERED);
            self.away.drain(..excess);
        }
    }

    /// Files that were removed, with the texts they had.
    pub fn away(&self) -> impl Iterator<Item = (&F, &Rope)> {
        self.away.iter().map(|it| (&it.name, &it.file.current))
    }

    /// A file that was removed is there again with the text it had. Whether something is pending in it again: not where
    /// another file of its name is known by now.
    pub fn is_back(&mut self, name: &F) -> bool {
        let at = self.away.iter().position(|it| it.name == *name);
        let Some(at) = at.filter(|_| !self.files.contains_key(name)) else { return false };
        let Away { name, file, moved } = self.away.remove(at);
        self.files.insert(name.clone(), file);
        if let Some(moved) = moved {
            self.moves.insert(name.clone(), moved);
        }
        self.changed(&name);
        true
    }
}
