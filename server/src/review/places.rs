//! Where files with pending changes really lie.
//!
//! Invariant: a file whose path leads elsewhere than when the agent changed it, as by a folder or file that became a
//! link, is neither followed nor written: what lies there now is not what was changed. One that is still where it
//! was, and only a link to it is gone, goes by another name.

use std::path::{Path, PathBuf};

use vfs::{FileKind, Image, Location, Vfs, is_sensitive};

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

    /// Whether a link stands there that went and came back, and that is known apart from what it leads to.
    pub fn is_link_back(&self, location: &Location) -> bool {
        self.table().is_link_back(&self.0.vfs, location)
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
            is_there && !self.is_link_itself(it) && !self.lies_elsewhere(vfs, it)
        };
        self.ledger.tracked().find(same).cloned()
    }

    /// Gives a file that is where it was another name, where the one it has does not lead there any more.
    pub(super) fn name_by_place(&mut self, vfs: &Vfs, location: &Location) {
        if self.is_link_itself(location) || !self.lies_elsewhere(vfs, location) {
            return;
        }
        let (Some(path), Some(place)) = (location.path(), self.places.get(location)) else {
            return;
        };
        let is_gone = self.ledger.existence(location) == Some(Existence::Deleted);
        let stands = match vfs.link_stat(place) {
            Ok(it) => it.kind == FileKind::File && !is_gone,
            Err(_) => is_gone && place.parent().is_some_and(|it| vfs.stat(it).is_ok()),
        };
        let unsaved = vfs.open_snapshot(location).is_some_and(|it| it.is_unsaved());
        if stands && !unsaved && vfs.real_path(place) == *place {
            let name = Location::disk(spelled_as(vfs, path, place));
            self.rename(location, &name);
        }
    }

    /// A link is about to go, and not what it leads to: that goes by its own name.
    pub(super) fn name_without_link(&mut self, vfs: &Vfs, location: &Location) {
        let Some(path) = location.path().filter(|it| is_link(vfs, it)) else { return };
        if self.ledger.current(location).is_some()
            && !self.is_link_itself(location)
            && !self.lies_elsewhere(vfs, location)
        {
            let name = Location::disk(spelled_as(vfs, path, &vfs.real_path(path)));
            self.rename(location, &name);
        }
    }

    /// Whether what is known by a name is of a link itself, which went or came back, and not of what it leads to.
    pub(super) fn is_link_itself(&self, location: &Location) -> bool {
        let was = self.before.get(location).into_iter();
        was.chain(self.link_that_went(location)).any(|it| matches!(it, Image::Symlink { .. }))
    }

    /// The link that was deleted by this name.
    pub(super) fn link_that_went(&self, location: &Location) -> Option<&Image> {
        let entries = self.deleted.get(location).into_iter().flat_map(|it| &it.entries);
        let mut sides = entries.flat_map(|it| [&it.before, &it.after]).flatten();
        sides.find(|it| matches!(it, Image::Symlink { .. }))
    }

    /// What is behind a link that came back is about to be changed by the link's name: of the link, nothing is known
    /// any more.
    pub(super) fn leave_link(&mut self, vfs: &Vfs, location: &Location) {
        if self.is_link_back(vfs, location) {
            self.forget(location);
        }
    }

    /// Whether a link that is known as such stands there: what it leads to is none of it.
    pub(super) fn is_link_back(&self, vfs: &Vfs, location: &Location) -> bool {
        let stands = || location.path().is_some_and(|it| is_link(vfs, it));
        self.is_link_itself(location) && stands()
    }

    pub(super) fn note_place(&mut self, vfs: &Vfs, location: &Location) {
        if let (Some(path), Some(_)) = (location.path(), self.ledger.current(location)) {
            self.places.insert(location.clone(), vfs.real_path(path));
        }
    }

    pub(super) fn lies_elsewhere(&self, vfs: &Vfs, location: &Location) -> bool {
        // A document without a file is nowhere but in its editor.
        let is_shown_alone = || {
            let is_there = self.ledger.existence(location) != Some(Existence::Deleted);
            let no_file = location.path().is_some_and(|it| vfs.link_stat(it).is_err());
            is_there && no_file && vfs.is_open(location)
        };
        self.ledger.current(location).is_some()
            && self.leads_elsewhere(vfs, location)
            && !is_shown_alone()
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

/// A real path in the spelling of another one: by the folders above that one, as far as they lead there.
fn spelled_as(vfs: &Vfs, like: &Path, real: &Path) -> PathBuf {
    let folders = like.ancestors().skip(1);
    let spelled =
        folders.filter_map(|it| Some(it.join(real.strip_prefix(vfs.real_path(it)).ok()?)));
    spelled.into_iter().next().unwrap_or_else(|| real.to_owned())
}

pub(super) fn is_link(vfs: &Vfs, path: &Path) -> bool {
    vfs.link_stat(path).is_ok_and(|it| it.kind == FileKind::Symlink)
}
