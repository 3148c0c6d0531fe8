//! Where files with pending changes really lie.
//!
//! Invariant: a file whose path leads elsewhere than when the agent changed it, as by a folder or file that became a
//! link, is neither followed nor written: what lies there now is not what was changed.

use vfs::{Location, Vfs, is_sensitive};

use super::{Held, Table};
use review::{Edited, Existence};

/// Why a decision on such a file is not carried out.
pub const LIES_ELSEWHERE: &str =
    "a link leads elsewhere now from where the agent changed it; it stays as it is";

impl Held {
    /// Whether the file is not where it was when the agent changed it.
    pub fn lies_elsewhere(&self, location: &Location) -> bool {
        self.review.lies_elsewhere(location)
    }

    /// A file is where it should be: it was changed there with the person's or a rule's permission.
    pub fn note_place(&self, location: &Location) {
        let vfs = &self.review.0.vfs;
        self.review.table().note_place(vfs, location);
    }
}

impl super::Review {
    /// Whether a file is not where it was when the agent changed it.
    pub fn lies_elsewhere(&self, location: &Location) -> bool {
        self.table().lies_elsewhere(&self.0.vfs, location)
    }

    /// What the ledger calls a file; by another name that leads to the same place, too.
    pub fn known_as(&self, location: &Location) -> Option<Location> {
        self.table().known_as(&self.0.vfs, location)
    }

    /// Whether a name that a moved file has or had leads elsewhere than it did when it was moved.
    pub fn leads_elsewhere(&self, location: &Location) -> bool {
        self.table().leads_elsewhere(&self.0.vfs, location)
    }
}

impl Table {
    /// What the ledger calls a file; by another name that leads to the same place, too.
    pub fn known_as(&self, vfs: &Vfs, location: &Location) -> Option<Location> {
        if self.ledger.current(location).is_some() {
            return Some(location.clone());
        }
        let path = location.path().filter(|_| self.ledger.tracked().next().is_some())?;
        let real = vfs.real_path(path);
        let same = |it: &&Location| {
            let is_there = it.path().is_some_and(|path| vfs.real_path(path) == real);
            is_there && !self.lies_elsewhere(vfs, it)
        };
        self.ledger.tracked().find(same).cloned()
    }

    pub(super) fn note_place(&mut self, vfs: &Vfs, location: &Location) {
        if let (Some(path), Some(_)) = (location.path(), self.ledger.current(location)) {
            self.places.insert(location.clone(), vfs.real_path(path));
        }
    }

    pub(super) fn lies_elsewhere(&self, vfs: &Vfs, location: &Location) -> bool {
        self.ledger.current(location).is_some() && self.leads_elsewhere(vfs, location)
    }

    fn leads_elsewhere(&self, vfs: &Vfs, location: &Location) -> bool {
        let then = self.places.get(location);
        then.zip(location.path()).is_some_and(|(then, path)| vfs.real_path(path) != *then)
    }

    /// A file was moved: both of its names are where they should be.
    pub(super) fn note_move(&mut self, vfs: &Vfs, from: &Location, to: &Location) {
        for location in [from, to] {
            if let Some(path) = location.path() {
                self.places.insert(location.clone(), vfs.real_path(path));
            }
        }
    }

    /// Starts anew with a file that is about to be changed elsewhere than it lay.
    pub(super) fn leave_other_place(&mut self, vfs: &Vfs, location: &Location) {
        if self.lies_elsewhere(vfs, location) {
            self.forget(location);
        }
    }

    /// What becomes of a file that lies elsewhere: it stays pending as it was last known, unless
    /// what its path leads to now is secret.
    pub(super) fn stay_behind(&mut self, vfs: &Vfs, location: &Location) -> Option<Edited> {
        self.followed.remove(location);
        let there = self.ledger.existence(location) != Some(Existence::Deleted);
        let secret = location.path().is_some_and(|path| is_sensitive(&vfs.real_path(path)));
        if there && secret { self.forget(location) } else { None }
    }
}
