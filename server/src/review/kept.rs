//! Pending changes on disk: one file, replaced as a whole.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use review::{
    Decision, Existence, Origin, Saved, SavedEdit, SavedEvent, SavedFile, SavedHunk, SavedPast,
    SavedPiece,
};
use serde::{Deserialize, Serialize};
use vfs::{Image, Location, Undo, state};

use super::{Review, Table};

/// The format of the file.
const FORMAT: u32 = 1;
/// Bytes of the texts of files that are kept only because decisions on them can be undone.
const MAX_DECIDED: usize = 16 << 20;

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
    /// The last decision's number.
    #[serde(default)]
    tokens: u64,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Image>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    past: Option<KeptPast>,
}

#[derive(Serialize, Deserialize)]
struct KeptPast {
    base: Vec<KeptEdit>,
    pieces: Vec<KeptPiece>,
    hunks: Vec<KeptHunk>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    existence: Option<(KeptExistence, String)>,
    events: Vec<KeptEvent>,
}

#[derive(Serialize, Deserialize)]
struct KeptEdit(usize, usize, String);

#[derive(Serialize, Deserialize)]
enum KeptEvent {
    Agent { edits: Vec<KeptEdit>, by: KeptHunk, names: Vec<(usize, String)> },
    Created { text: String, by: KeptHunk, names: Vec<(usize, String)> },
    Deleted { by: KeptHunk, names: Vec<(usize, String)> },
    Person(Vec<KeptEdit>),
    Accepted(KeptDecision),
    Rejected(KeptDecision),
    Existence(KeptExistence, String),
}

#[derive(Serialize, Deserialize)]
struct KeptDecision {
    token: Option<u64>,
    hunks: Vec<(KeptHunk, u64)>,
    edits: Vec<KeptEdit>,
    existence: Option<KeptExistence>,
    names: Vec<(usize, String)>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum KeptExistence {
    Added,
    Deleted,
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
        // Whoever saves last before the end waits for those who save already.
        let _writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.0.unsaved.swap(false, Ordering::AcqRel) {
            return;
        }
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
                for it in &kept.files {
                    let location = it.file.location();
                    self.deleted.extend(it.undo.clone().map(|undo| (location.clone(), undo)));
                    self.before.extend(it.before.clone().map(|image| (location, image)));
                }
                let files = kept.files.into_iter().map(saved).collect();
                self.ledger.restore(Saved { hunks: kept.hunks, tokens: kept.tokens, files });
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
        let Saved { hunks, tokens, files } = self.ledger.save();
        let mut room = MAX_DECIDED;
        let files = files.into_iter().filter(|it| {
            // Those with nothing pending are here for the undo of decisions alone.
            let pending = !it.pieces.is_empty() || it.existence.is_some();
            let left = room.checked_sub(it.base.len());
            room = if pending { room } else { left.unwrap_or(room) };
            pending || left.is_some()
        });
        let files = files.map(|it| {
            let undo = self.deleted.get(&it.file).cloned();
            let before = self.before.get(&it.file).cloned();
            KeptFile { undo, before, ..kept(it) }
        });
        let kept = Kept { format: FORMAT, hunks, tokens, files: files.collect() };
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

fn kept(file: SavedFile<Location>) -> KeptFile {
    let name = match file.file {
        Location::Disk(path) => KeptName::Disk(path),
        Location::Virtual(name) => KeptName::Virtual(name),
    };
    let (added, deleted) = match file.existence {
        Some((Existence::Added, id)) => (Some(id), None),
        Some((Existence::Deleted, id)) => (None, Some(id)),
        None => (None, None),
    };
    KeptFile {
        file: name,
        base: file.base,
        pieces: file.pieces.into_iter().map(kept_piece).collect(),
        hunks: file.hunks.into_iter().map(kept_hunk).collect(),
        added,
        deleted,
        undo: None,
        before: None,
        past: file.past.map(kept_past),
    }
}

fn kept_past(past: SavedPast) -> KeptPast {
    KeptPast {
        base: kept_edits(past.base),
        pieces: past.pieces.into_iter().map(kept_piece).collect(),
        hunks: past.hunks.into_iter().map(kept_hunk).collect(),
        existence: past.existence.map(|(kind, id)| (kind.into(), id)),
        events: past.events.into_iter().map(kept_event).collect(),
    }
}

fn kept_event(event: SavedEvent) -> KeptEvent {
    let by = |origin| kept_hunk(SavedHunk { id: String::new(), origin });
    match event {
        SavedEvent::Agent { edits, origin, names } => {
            KeptEvent::Agent { edits: kept_edits(edits), by: by(origin), names }
        }
        SavedEvent::Created { text, origin, names } => {
            KeptEvent::Created { text, by: by(origin), names }
        }
        SavedEvent::Deleted { origin, names } => KeptEvent::Deleted { by: by(origin), names },
        SavedEvent::Person { edits } => KeptEvent::Person(kept_edits(edits)),
        SavedEvent::Decided { token, decision, hunks, edits, existence, names } => {
            let decided = KeptDecision {
                token,
                hunks: hunks.into_iter().map(|(it, print)| (kept_hunk(it), print)).collect(),
                edits: kept_edits(edits),
                existence: existence.map(KeptExistence::from),
                names,
            };
            match decision {
                Decision::Accept => KeptEvent::Accepted(decided),
                Decision::Reject => KeptEvent::Rejected(decided),
            }
        }
        SavedEvent::Existence { kind, hunk } => KeptEvent::Existence(kind.into(), hunk),
    }
}

fn kept_edits(edits: Vec<SavedEdit>) -> Vec<KeptEdit> {
    edits.into_iter().map(|it| KeptEdit(it.range.start, it.range.end, it.text)).collect()
}

fn kept_piece(it: SavedPiece) -> KeptPiece {
    KeptPiece { base: it.base, text: it.text, typed: it.typed, hunk: it.hunk }
}

fn kept_hunk(it: SavedHunk) -> KeptHunk {
    KeptHunk {
        id: it.id,
        session: it.origin.session,
        others: it.origin.others,
        calls: it.origin.calls,
        mixed: it.origin.mixed,
    }
}

fn saved(file: KeptFile) -> SavedFile<Location> {
    let existence = match (file.added, file.deleted) {
        (Some(id), _) => Some((Existence::Added, id)),
        (None, Some(id)) => Some((Existence::Deleted, id)),
        (None, None) => None,
    };
    SavedFile {
        file: file.file.location(),
        base: file.base,
        pieces: file.pieces.into_iter().map(saved_piece).collect(),
        hunks: file.hunks.into_iter().map(saved_hunk).collect(),
        existence,
        past: file.past.map(saved_past),
    }
}

fn saved_past(past: KeptPast) -> SavedPast {
    SavedPast {
        base: saved_edits(past.base),
        pieces: past.pieces.into_iter().map(saved_piece).collect(),
        hunks: past.hunks.into_iter().map(saved_hunk).collect(),
        existence: past.existence.map(|(kind, id)| (kind.into(), id)),
        events: past.events.into_iter().map(saved_event).collect(),
    }
}

fn saved_event(event: KeptEvent) -> SavedEvent {
    let origin = |by| saved_hunk(by).origin;
    match event {
        KeptEvent::Agent { edits, by, names } => {
            SavedEvent::Agent { edits: saved_edits(edits), origin: origin(by), names }
        }
        KeptEvent::Created { text, by, names } => {
            SavedEvent::Created { text, origin: origin(by), names }
        }
        KeptEvent::Deleted { by, names } => SavedEvent::Deleted { origin: origin(by), names },
        KeptEvent::Person(edits) => SavedEvent::Person { edits: saved_edits(edits) },
        KeptEvent::Accepted(it) => saved_decision(it, Decision::Accept),
        KeptEvent::Rejected(it) => saved_decision(it, Decision::Reject),
        KeptEvent::Existence(kind, hunk) => SavedEvent::Existence { kind: kind.into(), hunk },
    }
}

fn saved_decision(it: KeptDecision, decision: Decision) -> SavedEvent {
    SavedEvent::Decided {
        token: it.token,
        decision,
        hunks: it.hunks.into_iter().map(|(it, print)| (saved_hunk(it), print)).collect(),
        edits: saved_edits(it.edits),
        existence: it.existence.map(Existence::from),
        names: it.names,
    }
}

fn saved_edits(edits: Vec<KeptEdit>) -> Vec<SavedEdit> {
    let edit = |KeptEdit(start, end, text)| SavedEdit { range: start..end, text };
    edits.into_iter().map(edit).collect()
}

fn saved_piece(it: KeptPiece) -> SavedPiece {
    SavedPiece { base: it.base, text: it.text, typed: it.typed, hunk: it.hunk }
}

fn saved_hunk(it: KeptHunk) -> SavedHunk {
    SavedHunk {
        id: it.id,
        origin: Origin { session: it.session, others: it.others, calls: it.calls, mixed: it.mixed },
    }
}

impl From<Existence> for KeptExistence {
    fn from(kind: Existence) -> KeptExistence {
        match kind {
            Existence::Added => KeptExistence::Added,
            Existence::Deleted => KeptExistence::Deleted,
        }
    }
}

impl From<KeptExistence> for Existence {
    fn from(kind: KeptExistence) -> Existence {
        match kind {
            KeptExistence::Added => Existence::Added,
            KeptExistence::Deleted => Existence::Deleted,
        }
    }
}
