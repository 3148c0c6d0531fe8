//! Pending changes as they are written to disk.
//!
//! Invariant: what is read is what was written; whether it makes sense is the ledger's to judge.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use review::{
    Decision, Existence, Origin, SavedEdit, SavedEvent, SavedFile, SavedHunk, SavedMove, SavedPast,
    SavedPiece,
};
use serde::{Deserialize, Serialize};
use text::{ChangeSet, Edit, Rope};
use vfs::{Image, Location, Undo};

/// The format of a line.
pub(super) const FORMAT: u32 = 2;

/// One line.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    pub format: u32,
    /// The last hunk number given.
    pub hunks: u64,
    /// The last decision's number.
    pub tokens: u64,
    /// Absent in a line that is there for the numbers alone.
    pub file: Option<KeptFile>,
}

/// A move of the line's file.
#[derive(Serialize, Deserialize)]
struct KeptMove {
    from: KeptName,
    to: KeptName,
    hunk: KeptHunk,
    /// Where the name that it has not now led, links resolved, when the file was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    real: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rejected: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct KeptFile {
    file: KeptName,
    #[serde(default, with = "whole_text", skip_serializing_if = "is_empty")]
    base: Rope,
    /// Where the base is instead, if it is not small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base_of: Option<KeptBase>,
    pieces: Vec<KeptPiece>,
    hunks: Vec<KeptHunk>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    added: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Image>,
    /// What a command did to the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Undo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    real: Option<PathBuf>,
    /// Folders on the way to it that were made for files of the agent's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    past: Option<KeptPast>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    moves: Vec<KeptMove>,
    /// Another file has its name now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadowed: bool,
}

/// A text that is an image with edits.
#[derive(Serialize, Deserialize)]
pub(super) struct KeptBase {
    pub blob: [u8; 32],
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edits: Vec<KeptEdit>,
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    theirs: Vec<KeptEdit>,
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

impl KeptName {
    fn location(&self) -> Location {
        match self {
            KeptName::Disk(path) => Location::disk(path),
            KeptName::Virtual(name) => Location::Virtual(name.clone()),
        }
    }
}

impl KeptMove {
    /// The name the file does not go by now.
    fn other(&self) -> &KeptName {
        if self.rejected.is_some() { &self.to } else { &self.from }
    }
}

impl KeptFile {
    /// Which file it is.
    pub fn location(&self) -> Location {
        self.file.location()
    }

    /// As the ledger gives it, with its moves.
    pub fn of(file: SavedFile<Location>, moves: Vec<SavedMove<Location>>) -> KeptFile {
        kept(file, moves.into_iter().map(kept_move).collect())
    }

    /// A file that is no more and whose name another one has, as the ledger gives it.
    pub fn of_shadowed(file: SavedFile<Location>) -> KeptFile {
        KeptFile { shadowed: true, ..kept(file, Vec::new()) }
    }

    /// The moves, as the ledger takes them.
    pub fn take_moves(&mut self) -> impl Iterator<Item = SavedMove<Location>> + use<> {
        std::mem::take(&mut self.moves).into_iter().map(saved_move)
    }

    /// Where the names of the file led, links resolved, when the agent changed it.
    pub fn places(&self) -> impl Iterator<Item = (Location, PathBuf)> {
        let own = (&self.file, &self.real);
        let names = std::iter::once(own).chain(self.moves.iter().map(|it| (it.other(), &it.real)));
        names.filter_map(|(name, real)| Some((name.location(), real.clone()?)))
    }

    /// Keeps where its names led.
    pub fn keep_places(&mut self, places: &BTreeMap<Location, PathBuf>) {
        self.real = places.get(&self.file.location()).cloned();
        for it in &mut self.moves {
            it.real = places.get(&it.other().location()).cloned();
        }
    }

    /// The text before the pending changes; empty where it is kept elsewhere.
    pub fn base(&self) -> &Rope {
        &self.base
    }

    /// The base is this image with these changes.
    pub fn keep_base_in(&mut self, blob: [u8; 32], changes: &ChangeSet) {
        let edit = |it: &Edit| KeptEdit(it.range.start, it.range.end, it.text.clone());
        let edits = changes.edits().iter().map(edit).collect();
        self.base_of = Some(KeptBase { blob, edits });
        self.base = Rope::new();
    }

    /// The base from where it is kept; `None` where that is gone or damaged.
    pub fn take_base_from(&mut self, image: impl FnOnce([u8; 32]) -> Option<Rope>) -> Option<()> {
        let Some(KeptBase { blob, edits }) = self.base_of.take() else { return Some(()) };
        let base = image(blob)?;
        let whole =
            |at: usize| base.try_byte_to_char(at).is_ok_and(|it| base.char_to_byte(it) == at);
        if !edits.iter().all(|it| whole(it.0) && whole(it.1)) {
            return None;
        }
        let edits = edits.into_iter().map(|KeptEdit(from, to, text)| Edit::new(from..to, text));
        self.base = ChangeSet::new(base.len_bytes(), edits.collect()).ok()?.apply(&base);
        Some(())
    }

    /// As the ledger takes it.
    pub fn saved(self) -> SavedFile<Location> {
        saved(self)
    }
}

impl From<Location> for KeptName {
    fn from(location: Location) -> KeptName {
        match location {
            Location::Disk(path) => KeptName::Disk(path),
            Location::Virtual(name) => KeptName::Virtual(name),
        }
    }
}

fn kept_move(it: SavedMove<Location>) -> KeptMove {
    let (accepted, rejected) = match it.decided {
        None => (None, None),
        Some((Decision::Accept, token)) => (Some(token), None),
        Some((Decision::Reject, token)) => (None, Some(token)),
    };
    let (from, to) = (it.from.into(), it.to.into());
    KeptMove { from, to, hunk: kept_hunk(it.hunk), real: None, accepted, rejected }
}

fn saved_move(it: KeptMove) -> SavedMove<Location> {
    let accepted = it.accepted.map(|token| (Decision::Accept, token));
    let rejected = it.rejected.map(|token| (Decision::Reject, token));
    SavedMove {
        from: it.from.location(),
        to: it.to.location(),
        hunk: saved_hunk(it.hunk),
        decided: accepted.or(rejected),
    }
}

fn kept(file: SavedFile<Location>, moves: Vec<KeptMove>) -> KeptFile {
    let (added, deleted) = match file.existence {
        Some((Existence::Added, id)) => (Some(id), None),
        Some((Existence::Deleted, id)) => (None, Some(id)),
        None => (None, None),
    };
    KeptFile {
        file: file.file.into(),
        base: file.base,
        base_of: None,
        pieces: file.pieces.into_iter().map(kept_piece).collect(),
        hunks: file.hunks.into_iter().map(kept_hunk).collect(),
        added,
        deleted,
        undo: None,
        before: None,
        command: None,
        real: None,
        folders: Vec::new(),
        past: file.past.map(kept_past),
        moves,
        shadowed: false,
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
        SavedEvent::Decided { token, decision, hunks, theirs, edits, existence, names } => {
            let decided = KeptDecision {
                token,
                hunks: hunks.into_iter().map(|(it, print)| (kept_hunk(it), print)).collect(),
                theirs: kept_edits(theirs),
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
        theirs: saved_edits(it.theirs),
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

fn is_empty(text: &Rope) -> bool {
    text.len_bytes() == 0
}

/// A text as a string, without a copy of it.
mod whole_text {
    use serde::{Deserialize, Deserializer, Serializer};
    use text::Rope;

    pub fn serialize<S: Serializer>(text: &Rope, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rope, D::Error> {
        String::deserialize(deserializer).map(|it| Rope::from_str(&it))
    }
}
