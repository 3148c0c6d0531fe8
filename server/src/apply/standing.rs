//! Names that a decision needs free, and documents that show what is no longer, or not yet, on disk.
//!
//! Invariant: no file is put where another one is, and none under a document with unsaved text of the
//! person's. What comes and goes on disk comes and goes in the document that is still shown of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent::editor::ApplyError;
use text::{ChangeSet, Rope};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use vfs::{Dirty, FileKind, Location, Snapshot, Source, Undo, same_but_line_endings};

use super::Parts;
use super::decisions::Carried;
use super::disk::emptied;
use super::document::Landed;
use super::transaction::refused;

/// Why nothing is put where another file is.
pub(super) const TAKEN: &str = "there is another file of that name now";
/// Why nothing is put where something is pending.
pub(super) const PENDING_THERE: &str =
    "other changes of a file of that name are pending; decide on those first";
const SHOWN_UNSAVED: &str = "the editor shows unsaved text by that name; save or close it first";
const SHOWN_OTHERWISE: &str =
    "the editor shows another text than the file on disk has; have it read the file again first";

/// How long an editor that follows its files may take to do so.
const FOLLOWING: Duration = Duration::from_secs(1);
/// Folders that are looked through for files.
const MAX_FOLDERS: usize = 1_000;

impl Parts {
    /// Removes the empty folders that a file's name is taken by, as those made for files that are no more.
    pub(super) async fn make_way(&self, location: &Location) -> Result<(), ApplyError> {
        let Some(path) = location.path() else { return Ok(()) };
        if self.vfs.link_stat(path).is_err() {
            return Ok(());
        }
        let Some(folders) = self.empty_folders(path) else {
            return Err(refused(location.clone(), TAKEN));
        };
        let gone = self.revert(Undo { entries: Vec::new(), folders }).await;
        match (gone, self.vfs.link_stat(path)) {
            (Ok(()), Err(_)) => Ok(()),
            (Ok(()) | Err(_), _) => Err(refused(location.clone(), TAKEN)),
        }
    }

    /// A folder and those in it, the outermost first, where there is nothing else in them.
    pub(super) fn empty_folders(&self, path: &Path) -> Option<Vec<PathBuf>> {
        let is_folder =
            |it: &Path| self.vfs.link_stat(it).is_ok_and(|it| it.kind == FileKind::Folder);
        let mut folders = vec![path.to_owned()];
        let mut looked = 0;
        while let Some(folder) = folders.get(looked).cloned() {
            if !is_folder(&folder) || MAX_FOLDERS < folders.len() {
                return None;
            }
            let entries = self.vfs.list_dir(&folder).ok()?;
            folders.extend(entries.into_iter().map(|it| folder.join(it.name)));
            looked += 1;
        }
        Some(folders)
    }

    /// Whether a file can come to a name as far as its document goes.
    pub(super) fn check_shown(&self, location: &Location) -> Result<(), ApplyError> {
        let open = self.vfs.open_snapshot(location);
        match open.filter(|it| location.path().is_some() && is_the_persons(it)) {
            Some(_) => Err(refused(location.clone(), SHOWN_UNSAVED)),
            None => Ok(()),
        }
    }

    /// Whether what the editor shows without unsaved text is what is on disk.
    pub(super) fn check_shows_disk(&self, open: &Snapshot) -> Result<(), ApplyError> {
        let location = &open.location;
        let on_disk = location.path().and_then(|path| self.vfs.disk_snapshot(path).ok());
        match on_disk {
            Some(there) if !is_same(&there.rope, &open.rope) => {
                Err(refused(location.clone(), SHOWN_OTHERWISE))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether a document has unsaved text that is not what its file has.
    pub(super) fn is_typed_in(&self, open: &Snapshot) -> bool {
        open.is_unsaved() && self.check_shows_disk(open).is_err()
    }

    /// Has a document that the editor shows of a file which is there again show its text. Editors that
    /// follow their files do so by themselves.
    pub(super) async fn show_as_on_disk(
        &self,
        label: &str,
        location: &Location,
    ) -> Result<Option<Landed>, ApplyError> {
        let there = location.path().and_then(|path| self.vfs.disk_snapshot(path).ok());
        let Some(there) = there.filter(|_| self.vfs.is_open(location)) else { return Ok(None) };
        self.show(label, location, |shown| {
            let is_shown = is_same(shown, &there.rope);
            (!is_shown).then(|| ChangeSet::between(shown, &there.rope))
        })
        .await
    }

    /// Empties a document that the editor still shows of a file that is gone, so that saving it by
    /// chance does not bring its text back.
    pub(super) async fn empty_what_is_shown(
        &self,
        label: &str,
        location: &Location,
    ) -> Result<Carried, ApplyError> {
        let empty = |shown: &Rope| (0 < shown.len_bytes()).then(|| emptied(shown));
        let landed = match self.show(label, location, empty).await {
            Ok(landed) => landed,
            Err(error) => {
                // The file is what the person decided on.
                tracing::info!(%error, "the editor still shows a file that is gone");
                None
            }
        };
        Ok(landed.map_or(Carried::File, |landed| Carried::Emptied(Box::new(landed))))
    }

    /// Changes a document unless the editor makes that needless, by reading the file anew or closing it.
    async fn show(
        &self,
        label: &str,
        location: &Location,
        missing: impl Fn(&Rope) -> Option<ChangeSet>,
    ) -> Result<Option<Landed>, ApplyError> {
        if !self.client.applies_edits {
            return Ok(None);
        }
        let changes = |vfs: &vfs::Vfs| {
            let open = vfs.open_snapshot(location)?;
            let changes = missing(&open.rope)?;
            Some((open, changes))
        };
        let mut generation = self.vfs.watch(location);
        let followed = generation.wait_for(|_| changes(&self.vfs).is_none());
        let _ = timeout(FOLLOWING, followed).await;
        let Some((open, changes)) = changes(&self.vfs) else { return Ok(None) };
        if is_the_persons(&open) {
            return Ok(None);
        }
        let never = CancellationToken::new();
        self.change_document(label, &open, &changes, &never).await.map(Some)
    }
}

fn is_the_persons(open: &Snapshot) -> bool {
    matches!(open.source, Source::Buffer { dirty: Dirty::Person, .. })
}

fn is_same(a: &Rope, b: &Rope) -> bool {
    a == b || same_but_line_endings(&a.to_string(), &b.to_string())
}
