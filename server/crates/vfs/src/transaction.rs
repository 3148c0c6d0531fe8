//! Writing files that are not open: all of a transaction or none of it.
//!
//! Everything is worked out in memory first. Then before-images are kept, what is on disk is compared with what the
//! caller saw once more, and each file is replaced by a rename in its own folder. A failure puts back what was done.

mod apply;
pub(crate) mod content;
pub(crate) mod plan;

use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use serde::{Deserialize, Serialize};
use text::{ChangeSet, Rope};

use crate::aside::aside;
use crate::disk;
use crate::journal::Intent;
use crate::raw::Unencodable;
use crate::store::Vfs;

/// One step of a transaction; steps see the effect of those before them.
#[derive(Clone, Debug)]
pub enum DiskOp {
    /// Changes a file whose decoded text has this hash (`Snapshot::hash`). Through a symlink, its target.
    Edit { path: PathBuf, base_hash: [u8; 32], changes: ChangeSet },
    /// Creates a file, and its folders, in the format of `Vfs::format_for_new`; line ends of `text` (`\n`) follow it,
    /// unless it has `\r` of its own.
    Create { path: PathBuf, text: String },
    /// Removes a file, or a symlink itself. `base_hash` as of `Vfs::content_hash`.
    Delete { path: PathBuf, base_hash: [u8; 32] },
    /// Moves a file, or a symlink itself, to a path where nothing is, or only a file that one of the renames right
    /// after it moves away.
    Rename { from: PathBuf, to: PathBuf, base_hash: [u8; 32] },
}

/// A transaction that took place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    pub touched: Vec<Touched>,
    pub undo: Undo,
}

/// Whose a transaction is, who logs it once it took place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owned {
    /// The log it belongs in.
    pub owner: String,
    /// What it is called there.
    pub name: String,
    /// The paths of its entries as the caller wrote them.
    pub paths: Vec<PathBuf>,
}

/// Remembers, beyond the end of the process, a transaction that is taken back if the process dies until it is said that
/// it took place, and after that that its owner has not logged it yet; dropped once it is.
#[derive(Debug)]
pub struct Receipt(Option<Intent>);

impl Receipt {
    /// What else belongs to the transaction is kept too: nothing takes it back from here on.
    pub fn took_place(&mut self) {
        match self.0.take().map(Intent::took_place).transpose() {
            Ok(intent) => self.0 = intent,
            Err(error) => tracing::error!(%error, "a change is not remembered until it is logged"),
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Intent::done);
    }
}

/// A transaction that took place, and whose process died before it was logged.
#[derive(Debug)]
pub struct Unlogged {
    /// Whose it is.
    pub owned: Owned,
    /// What it did.
    pub undo: Undo,
    /// Dropped once it is logged.
    pub receipt: Receipt,
}

/// A path a transaction changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// As the caller wrote it.
    pub path: PathBuf,
    /// Where it really is, links resolved.
    pub real: PathBuf,
    /// Of the new decoded text (`Snapshot::hash`); `None` when nothing is there any more.
    pub hash: Option<[u8; 32]>,
}

/// How to take a transaction back; serialisable, valid as long as the state folder is.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Undo {
    pub entries: Vec<UndoEntry>,
    /// Folders the transaction made, the outermost first.
    pub folders: Vec<PathBuf>,
}

impl Undo {
    /// The folders that were made for what stands at an entry's path since, the outermost first.
    pub fn folders_for(&self, entry: &UndoEntry) -> Vec<PathBuf> {
        let made = |it: &&PathBuf| entry.after.is_some() && entry.path.starts_with(it);
        self.folders.iter().filter(made).cloned().collect()
    }
}

/// One path before and after a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoEntry {
    pub path: PathBuf,
    /// `None`: nothing was there.
    pub before: Option<Image>,
    pub after: Option<Image>,
}

/// What stood at a path. Content is named by the SHA-256 of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Image {
    File {
        blob: [u8; 32],
        mode: u32,
        /// What else the file had.
        #[serde(default, skip_serializing_if = "Extras::is_empty")]
        extras: Extras,
    },
    Symlink {
        target: PathBuf,
    },
}

/// What a file has besides bytes and mode; given to it when it is made again.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extras {
    /// User and group.
    pub owner: Option<(u32, u32)>,
    /// Extended attributes; names end in NUL.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Extras {
    /// Whether there is nothing to give.
    pub fn is_empty(&self) -> bool {
        *self == Extras::default()
    }
}

/// Why a transaction did not take place. Nothing is changed, unless the error says so.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error("{} was changed since it was read", path.display())]
    Changed { path: PathBuf },
    #[error("{} exists already", path.display())]
    Exists { path: PathBuf },
    #[error("{} does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("{} is a {what}, not a file", path.display())]
    NotAFile { path: PathBuf, what: &'static str },
    #[error("{} is read-only", path.display())]
    ReadOnly { path: PathBuf },
    #[error("{}: {error}", path.display())]
    Unencodable {
        path: PathBuf,
        #[source]
        error: Unencodable,
    },
    #[error("the changes do not fit the text of {}", path.display())]
    Misfit { path: PathBuf },
    #[error("{} cannot be written: {error}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
    #[error("{cause}; and putting back failed for {}", names(left))]
    NotPutBack { cause: Box<CommitError>, left: Vec<PathBuf> },
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Vfs {
    /// Carries out a transaction on closed files. An error of kind `Exists`, `Changed` and so on has changed nothing.
    pub fn commit(&self, ops: Vec<DiskOp>) -> Result<Committed, CommitError> {
        self.commit_owned(ops, None).map(|(done, _)| done)
    }

    /// As `commit`, and remembered until the receipt is dropped: `owner` logs it, as `name`.
    pub fn commit_for(
        &self,
        ops: Vec<DiskOp>,
        (owner, name): (&str, &str),
    ) -> Result<(Committed, Receipt), CommitError> {
        let done = self.commit_owned(ops, Some((owner, name)));
        done.map(|(done, intent)| (done, Receipt(intent)))
    }

    fn commit_owned(
        &self,
        ops: Vec<DiskOp>,
        owner: Option<(&str, &str)>,
    ) -> Result<(Committed, Option<Intent>), CommitError> {
        let edit = match ops.as_slice() {
            [DiskOp::Edit { path, base_hash, changes }] => {
                Some((path.clone(), *base_hash, changes.clone()))
            }
            _ => None,
        };
        let (done, intent) = self.write(|| plan::Plan::of(ops, self.readings()), owner)?;
        if let (Some((path, before, changes)), [Touched { hash: Some(after), .. }]) =
            (edit, done.touched.as_slice())
        {
            self.readings().edited(&path, before, &changes, *after);
        }
        Ok((done, intent))
    }

    /// What took place for this owner and was not logged, because its process died just then; oldest first.
    pub fn unlogged(&self, owner: &str) -> Vec<Unlogged> {
        let dead = self.journal().unlogged(owner).into_iter();
        let unlogged = dead.filter_map(|it| {
            let receipt = Receipt(Some(it.intent));
            Some(Unlogged { owned: it.owned?, undo: it.undo, receipt })
        });
        unlogged.collect()
    }

    /// Takes a transaction back, wholly or not at all: every path must still be as the transaction left it.
    pub fn revert(&self, undo: &Undo) -> Result<Committed, CommitError> {
        self.write(|| plan::Plan::back(self.journal(), undo), None).map(|(done, _)| done)
    }

    /// Carries a plan out; what changed is known not to be the doing of a command that runs.
    fn write(
        &self,
        plan: impl FnOnce() -> Result<plan::Plan, CommitError>,
        owner: Option<(&str, &str)>,
    ) -> Result<(Committed, Option<Intent>), CommitError> {
        let _writing = self.commands().writing.read().unwrap_or_else(PoisonError::into_inner);
        let done = apply::run(self.journal(), plan()?, owner);
        for touched in done.iter().flat_map(|(it, _)| &it.touched) {
            self.note_write(&touched.real);
        }
        self.settle_images();
        done
    }

    /// Has images that are not synced yet synced by a thread of its own; nothing waits for it.
    fn settle_images(&self) {
        if !self.journal().is_settled() {
            let vfs = self.clone();
            std::thread::spawn(move || vfs.journal().settle());
        }
    }

    /// Takes back what processes that died in the middle of a transaction left half done. Paths changed since by
    /// somebody else stay as they are. Returns the paths put back.
    pub fn recover(&self) -> Vec<PathBuf> {
        let mut back = Vec::new();
        // The last first, as one may have gone on from another.
        for dead in self.journal().left_behind().into_iter().rev() {
            back.extend(apply::put_back(self.journal(), &dead));
            dead.intent.done();
        }
        back
    }

    /// What `Delete` and `Rename` compare: of a text its decoded text's hash (`Snapshot::hash`), of a binary file its
    /// bytes', of a symlink its target's name's.
    pub fn content_hash(&self, path: &Path) -> std::io::Result<[u8; 32]> {
        let len = disk::link_stat(path).map_or(0, |it| it.len);
        let hash = || plan::Node::read(path).map(|node| node.map(|node| node.hash()));
        aside(len, hash)?.ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    /// How a file that somebody else is about to delete comes back: its bytes are kept, synced. `None` where nothing
    /// stands at `path`.
    pub fn keep_file(&self, path: &Path) -> std::io::Result<Option<Undo>> {
        let len = disk::link_stat(path).map_or(0, |it| it.len);
        let kept = || {
            let node = plan::Node::read(path)?;
            node.map(|node| apply::kept(self.journal(), &node)).transpose()
        };
        let before = aside(len, kept)?;
        if before.is_none() {
            return Ok(None);
        }
        let entry = UndoEntry { path: self.standing_path(path), before, after: None };
        Ok(Some(Undo { entries: vec![entry], folders: Vec::new() }))
    }

    /// The path that entries of an undo have for `path`: links of its folder resolved, not its own.
    pub fn standing_path(&self, path: &Path) -> PathBuf {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => self.real_path(parent).join(name),
            _ => path.to_owned(),
        }
    }

    /// Gives the file at `path`, which no link leads to, the permission bits `to` where it has `from`.
    pub fn exchange_mode(&self, path: &Path, from: u32, to: u32) -> std::io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let now = std::fs::symlink_metadata(path)?;
        let is_there = now.is_file() && self.real_path(path) == *path;
        if is_there && now.permissions().mode() & 0o7777 == from {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(to))?;
            self.note_write(path);
        }
        Ok(())
    }

    /// The folders, links resolved, that would have to be made for a file at `path`; the outermost first.
    pub fn missing_folders(&self, path: &Path) -> Vec<PathBuf> {
        apply::missing_folders(&self.standing_path(path))
    }

    /// Removes a folder that holds nothing, unless its path leads through a link; whether none is there then.
    pub fn remove_empty_folder(&self, path: &Path) -> bool {
        if self.real_path(path) != *path {
            return false;
        }
        match std::fs::remove_dir(path) {
            Ok(()) => true,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }

    /// The bytes of a before-image.
    pub fn blob(&self, hash: [u8; 32]) -> std::io::Result<Vec<u8>> {
        self.journal().get(hash)
    }

    /// Keeps a text in the journal, synced, as `keep_blob` does its bytes.
    pub fn keep_text(&self, text: &Rope) -> std::io::Result<[u8; 32]> {
        self.journal().keep_text(text)
    }

    /// Keeps bytes in the journal, synced: the before-image of what somebody else is about to change.
    pub fn keep_blob(&self, bytes: &[u8]) -> std::io::Result<[u8; 32]> {
        self.journal().keep(bytes)
    }
}

#[cfg(test)]
mod tests;
