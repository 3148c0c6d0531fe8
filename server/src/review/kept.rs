//! Pending changes on disk: one file, replaced as a whole.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use review::{Existence, Origin, SavedFile, SavedHunk, SavedPiece};
use serde::{Deserialize, Serialize};
use vfs::{Location, Undo, state};

use super::{Review, Table};

/// The format of the file.
const FORMAT: u32 = 1;

/// Where pending changes are kept.
pub struct Keeping {
    path: PathBuf,
    loaded: bool,
    /// Only its holder writes; other processes keep theirs in memory.
    lock: Option<state::Lock>,
}

impl Keeping {
    /// Nothing is read yet.
    pub fn new(path: PathBuf) -> Keeping {
        Keeping { path, loaded: false, lock: None }
    }
}

#[derive(Serialize, Deserialize)]
struct Kept {
    format: u32,
    /// The last hunk number given.
    hunks: u64,
    files: Vec<KeptFile>,
}

#[derive(Serialize, Deserialize)]
struct KeptFile {
    file: KeptName,
    base: String,
    pieces: Vec<KeptPiece>,
    hunks: Vec<KeptHunk>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    added: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo: Option<Undo>,
}

#[derive(Serialize, Deserialize)]
enum KeptName {
    Disk(PathBuf),
    Virtual(String),
}

#[derive(Serialize, Deserialize)]
struct KeptPiece {
    base: Range<usize>,
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    typed: Vec<Range<usize>>,
    hunk: String,
}

#[derive(Serialize, Deserialize)]
struct KeptHunk {
    id: String,
    session: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<String>,
    calls: Vec<String>,
    #[serde(default)]
    mixed: bool,
}

impl Review {
    /// Keeps what is pending now; soon, on a thread that may wait for the disk.
    pub fn save_soon(&self) {
        if self.0.unsaved.swap(true, Ordering::AcqRel) {
            return;
        }
        let review = self.clone();
        tokio::task::spawn_blocking(move || review.save());
    }

    /// Keeps what is pending, unless that is done.
    pub fn save(&self) {
        if !self.0.unsaved.swap(false, Ordering::AcqRel) {
            return;
        }
        let _writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((path, bytes)) = self.table().pending() else { return };
        if let Err(error) = state::write_private(&path, &bytes) {
            tracing::warn!(%error, "pending changes cannot be kept for the next start");
        }
    }
}

impl Table {
    /// Takes over what was kept, once; whether this was the time.
    pub(super) fn load(&mut self) -> bool {
        let Some(keeping) = self.keeping.as_mut().filter(|it| !it.loaded) else { return false };
        keeping.loaded = true;
        keeping.take_lock();
        let read = match state::read_private(&keeping.path) {
            Ok(Some(bytes)) => serde_json::from_slice::<Kept>(&bytes).map_err(|it| it.to_string()),
            Ok(None) => return false,
            Err(error) => Err(error.to_string()),
        };
        match read {
            Ok(kept) if kept.format == FORMAT => {
                for (location, undo) in
                    kept.files.iter().filter_map(|it| Some((it, it.undo.clone()?)))
                {
                    self.deleted.insert(location.file.location(), undo);
                }
                self.ledger.restore(kept.hunks, kept.files.into_iter().map(saved).collect());
            }
            Ok(kept) => {
                tracing::warn!(kept.format, "pending changes are kept in an unknown format")
            }
            Err(error) => tracing::warn!(error, "pending changes of the last run are lost"),
        }
        true
    }

    fn pending(&mut self) -> Option<(PathBuf, Vec<u8>)> {
        let keeping = self.keeping.as_mut()?;
        if !keeping.take_lock() {
            return None;
        }
        let (hunks, files) = self.ledger.save();
        let files = files.into_iter().map(|it| {
            let undo = self.deleted.get(&it.file).cloned();
            kept(it, undo)
        });
        let kept = Kept { format: FORMAT, hunks, files: files.collect() };
        let bytes = serde_json::to_vec(&kept).ok()?;
        Some((keeping.path.clone(), bytes))
    }
}

impl Keeping {
    fn take_lock(&mut self) -> bool {
        if self.lock.is_none() {
            match state::lock(&self.path.with_extension("lock")) {
                Ok(lock) => self.lock = lock,
                Err(error) => tracing::warn!(%error, "pending changes cannot be kept"),
            }
        }
        self.lock.is_some()
    }
}

impl KeptName {
    fn location(&self) -> Location {
        match self {
            KeptName::Disk(path) => Location::disk(path),
            KeptName::Virtual(name) => Location::Virtual(name.clone()),
        }
    }
}

fn kept(file: SavedFile<Location>, undo: Option<Undo>) -> KeptFile {
    let name = match file.file {
        Location::Disk(path) => KeptName::Disk(path),
        Location::Virtual(name) => KeptName::Virtual(name),
    };
    let (added, deleted) = match file.existence {
        Some((Existence::Added, id)) => (Some(id), None),
        Some((Existence::Deleted, id)) => (None, Some(id)),
        None => (None, None),
    };
    let piece =
        |it: SavedPiece| KeptPiece { base: it.base, text: it.text, typed: it.typed, hunk: it.hunk };
    let hunk = |it: SavedHunk| KeptHunk {
        id: it.id,
        session: it.origin.session,
        others: it.origin.others,
        calls: it.origin.calls,
        mixed: it.origin.mixed,
    };
    KeptFile {
        file: name,
        base: file.base,
        pieces: file.pieces.into_iter().map(piece).collect(),
        hunks: file.hunks.into_iter().map(hunk).collect(),
        added,
        deleted,
        undo,
    }
}

fn saved(file: KeptFile) -> SavedFile<Location> {
    let piece =
        |it: KeptPiece| SavedPiece { base: it.base, text: it.text, typed: it.typed, hunk: it.hunk };
    let hunk = |it: KeptHunk| SavedHunk {
        id: it.id,
        origin: Origin { session: it.session, others: it.others, calls: it.calls, mixed: it.mixed },
    };
    let existence = match (file.added, file.deleted) {
        (Some(id), _) => Some((Existence::Added, id)),
        (None, Some(id)) => Some((Existence::Deleted, id)),
        (None, None) => None,
    };
    SavedFile {
        file: file.file.location(),
        base: file.base,
        pieces: file.pieces.into_iter().map(piece).collect(),
        hunks: file.hunks.into_iter().map(hunk).collect(),
        existence,
    }
}
