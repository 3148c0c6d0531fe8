//! Folders that were made for the agent's files.
//!
//! Invariant: a folder goes with the file that is taken away only where it was made for files of the agent's
//! that were not decided on since and holds nothing; one that was there before stays.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use vfs::{Location, Vfs};

use super::{Review, Table};

impl Review {
    /// A file was made at its real path, and these folders for it.
    pub fn note_folders(&self, path: &Path, made: &[PathBuf]) {
        let mut table = self.table();
        for folder in path.ancestors().skip(1) {
            if made.iter().any(|it| it == folder) {
                table.folders.insert(folder.to_owned());
            } else if table.folders.contains(folder) && !table.holds_pending(folder) {
                // Whatever was in it once, it was there before this file.
                table.folders.remove(folder);
            }
        }
    }

    /// A file was taken away: so are the folders that were made for it, where they are empty.
    pub fn leave_folders(&self, location: &Location) {
        let Some(path) = location.path() else { return };
        let vfs = &self.0.vfs;
        let mut table = self.table();
        for folder in vfs.standing_path(path).ancestors().skip(1) {
            if !table.folders.contains(folder) || !vfs.remove_empty_folder(folder) {
                return;
            }
            table.folders.remove(folder);
        }
    }
}

impl Table {
    /// The folders on the way to a file that were made for files of the agent's.
    pub(super) fn folders_of(&self, location: &Location) -> Vec<PathBuf> {
        let Some(path) = self.place_of(location) else { return Vec::new() };
        self.folders.iter().filter(|it| path.starts_with(it)).cloned().collect()
    }

    fn holds_pending(&self, folder: &Path) -> bool {
        let mut pending = self.ledger.tracked().filter(|it| self.ledger.is_pending(it));
        pending.any(|it| self.place_of(it).is_some_and(|path| path.starts_with(folder)))
    }

    fn place_of<'a>(&'a self, location: &'a Location) -> Option<&'a Path> {
        self.places.get(location).map(PathBuf::as_path).or_else(|| location.path())
    }
}

/// Takes folders away that were made for files which are gone, those that are empty.
pub fn remove_empty(vfs: &Vfs, folders: &BTreeSet<PathBuf>) {
    for folder in folders.iter().rev() {
        vfs.remove_empty_folder(folder);
    }
}
