//! Files that are no more, of which decisions can be undone, and whose names other files have now.
//!
//! Invariant: what was decided on a file is never forgotten because another one took its name: it is
//! known by that name again as soon as the other has left it.

use std::collections::BTreeSet;

use crate::HunkId;
use crate::file::File;
use crate::ledger::{Ledger, Undoing};

impl<F: Ord + Clone> Ledger<F> {
    /// Whether the file that a decision on these hunks is about has this name, or has it again now
    /// that nothing else has.
    pub fn surface(&mut self, name: &F, token: u64, hunks: &BTreeSet<HunkId>) -> bool {
        let knows = |file: &File| {
            file.past.find(token).is_some_and(|(_, settled)| settled.hunks.keys().eq(hunks))
        };
        if self.files.get(name).is_some_and(knows) {
            return true;
        }
        let at = self.shadowed.iter().rposition(|(it, file)| it == name && knows(file));
        let Some(at) = at.filter(|_| !self.is_pending(name)) else { return false };
        let (_, file) = self.shadowed.remove(at);
        self.shadow(name);
        self.files.insert(name.clone(), file);
        self.rev += 1;
        true
    }

    /// Another file takes this name.
    pub(crate) fn shadow(&mut self, name: &F) {
        if let Some(file) = self.files.remove(name)
            && !file.past.is_empty()
        {
            self.shadowed.push((name.clone(), file));
        }
    }

    /// The file of this name leaves it.
    pub(crate) fn leave(&mut self, name: &F) -> Option<File> {
        let file = self.files.remove(name)?;
        if let Some(at) = self.shadowed.iter().rposition(|(it, _)| it == name) {
            let (name, below) = self.shadowed.remove(at);
            self.files.insert(name, below);
        }
        Some(file)
    }

    /// Decisions up to this one cannot be undone any more.
    pub(crate) fn forget_shadowed(&mut self, oldest: u64) {
        for (_, file) in &mut self.shadowed {
            file.forget_decisions(oldest, &mut self.hunks);
        }
        self.shadowed.retain(|(_, file)| !file.past.is_empty());
    }

    /// Adds such files to what a decision's undo is about.
    pub(crate) fn add_shadowed(&self, undoings: &mut Vec<Undoing<F>>, token: u64) {
        let own = self.shadowed.iter().filter_map(|(name, file)| {
            Some(Undoing { is_shadowed: true, ..self.undoing(name, file, token)? })
        });
        undoings.extend(own);
    }
}

#[cfg(test)]
mod tests;
