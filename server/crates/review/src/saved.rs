//! The ledger as plain data, for whoever keeps it across restarts.
//!
//! Pending hunks are part of it with their ids, and decisions with what undoing them needs, where
//! that is not too much. What was saved and makes no sense is left out.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use text::{ChangeSet, Edit, Rope};

use crate::decided::Rejection;
use crate::earlier::Earlier;
use crate::file::File;
use crate::ledger::{Decision, Ledger};
use crate::moves::{DecidedMove, Move};
use crate::past::{Event, Part, Past, Settled};
use crate::pieces::{Piece, slice};
use crate::presence::{Existence, Presence};
use crate::{HunkId, Origin};

/// Bytes of events that are saved for one file, and of the text of one that is saved only because
/// decisions on it can be undone.
const MAX_PAST: usize = 1 << 20;

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved<F> {
    /// The last hunk number given.
    pub hunks: u64,
    /// The last decision's number.
    pub tokens: u64,
    /// Files with pending hunks, or decisions that can be undone.
    pub files: Vec<SavedFile<F>>,
    /// Moves of these files that are pending, or were decided on.
    pub moves: Vec<SavedMove<F>>,
    /// Files that are no more, with decisions that can be undone, and whose names others have.
    pub shadowed: Vec<SavedFile<F>>,
}

/// One move of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedMove<F> {
    /// The name before.
    pub from: F,
    /// The name after.
    pub to: F,
    /// The hunk it is.
    pub hunk: SavedHunk,
    /// What was decided, and the token that undoes it; absent while it is pending.
    pub decided: Option<(Decision, u64)>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFile<F> {
    /// The file.
    pub file: F,
    /// The text before the pending changes.
    pub base: Rope,
    /// Where the current text differs, sorted.
    pub pieces: Vec<SavedPiece>,
    /// Where the hunks come from.
    pub hunks: Vec<SavedHunk>,
    /// The hunk that is the file's coming or going.
    pub existence: Option<(Existence, HunkId)>,
    /// What was decided.
    pub past: Option<SavedPast>,
}

/// The file before the oldest decision that can be undone, and what happened since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPast {
    /// From the file's base to the base then.
    pub base: Vec<SavedEdit>,
    /// As of [`SavedFile`], then.
    pub pieces: Vec<SavedPiece>,
    /// As of [`SavedFile`], then.
    pub hunks: Vec<SavedHunk>,
    /// As of [`SavedFile`], then.
    pub existence: Option<(Existence, HunkId)>,
    /// What happened, oldest first.
    pub events: Vec<SavedEvent>,
}

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedEdit {
    /// Bytes of the text before.
    pub range: Range<usize>,
    /// What stands there afterwards.
    pub text: String,
}

/// Something that happened to a file. Names of new hunks go with the places they were given at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavedEvent {
    /// The agent changed the text.
    Agent { edits: Vec<SavedEdit>, origin: Origin, names: Vec<(usize, HunkId)> },
    /// The agent made the file.
    Created { text: String, origin: Origin, names: Vec<(usize, HunkId)> },
    /// The agent deleted it.
    Deleted { origin: Origin, names: Vec<(usize, HunkId)> },
    /// Somebody else changed the text.
    Person { edits: Vec<SavedEdit> },
    /// Hunks were decided on; the token undoes it. With each hunk goes a hash of its text.
    Decided {
        token: Option<u64>,
        decision: Decision,
        hunks: Vec<(SavedHunk, u64)>,
        /// What went from one place to another of what the person wrote.
        theirs: Vec<SavedEdit>,
        /// The rest, after that.
        edits: Vec<SavedEdit>,
        existence: Option<Existence>,
        names: Vec<(usize, HunkId)>,
    },
    /// The file's coming or going is pending again.
    Existence { kind: Existence, hunk: HunkId },
}

/// One place where the texts differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPiece {
    /// Bytes of the base.
    pub base: Range<usize>,
    /// The current text.
    pub text: String,
    /// Bytes of `text` that the person wrote.
    pub typed: Vec<Range<usize>>,
    /// Its hunk.
    pub hunk: HunkId,
}

/// One hunk's origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedHunk {
    /// The hunk.
    pub id: HunkId,
    /// Where it comes from.
    pub origin: Origin,
}

impl<F: Ord + Clone> Ledger<F> {
    /// Everything that outlives the process.
    pub fn save(&self) -> Saved<F> {
        let worth = |name: &F, file: &File| {
            self.is_pending(name)
                || (!self.is_idle(name, file)
                    && file.past.bytes() <= MAX_PAST
                    && file.base.len_bytes() <= MAX_PAST)
        };
        let files = self.files.iter().filter(|(name, file)| worth(name, file));
        let files = files.map(|(name, file)| saved(name.clone(), file)).collect();
        let pending = self.moves.iter().map(|(to, it)| saved_move(it, to, None));
        let decided = self.decided_moves.iter();
        let decided = decided.map(|it| saved_move(&it.it, &it.to, Some((it.decision, it.token))));
        let moves = pending.chain(decided).collect();
        let shadowed = self.shadowed.iter().filter(|(name, file)| worth(name, file));
        let shadowed = shadowed.map(|(name, file)| saved(name.clone(), file)).collect();
        Saved { hunks: self.hunks, tokens: self.tokens, files, moves, shadowed }
    }

    /// Counts hunks and decisions from here on, so that no other process gives the same names,
    /// unless they have been counted already.
    pub fn count_from(&mut self, number: u64) {
        if self.hunks == 0 && self.tokens == 0 {
            (self.hunks, self.tokens) = (number, number);
        }
    }

    /// Takes over what was saved. Files that are known already gain the hunks beside theirs. Gives
    /// those with pending hunks that make no sense and are left out.
    pub fn restore(&mut self, saved: Saved<F>) -> Vec<F> {
        self.hunks = self.hunks.max(saved.hunks);
        self.tokens = self.tokens.max(saved.tokens);
        let mut broken = Vec::new();
        for file in saved.files {
            let name = file.file.clone();
            let pending = !file.pieces.is_empty() || file.existence.is_some();
            match (restored(file), self.files.get_mut(&name)) {
                (Some(restored), Some(known)) => known.join(restored),
                (Some(restored), None) => drop(self.files.insert(name, restored)),
                (None, _) if pending => broken.push(name),
                (None, _) => {}
            }
        }
        for it in saved.moves {
            self.restore_move(it);
        }
        for it in saved.shadowed {
            let name = it.file.clone();
            let file = restored(it).filter(|it| !it.past.is_empty() && !it.is_pending());
            self.shadowed.extend(file.map(|it| (name, it)));
        }
        broken
    }

    fn restore_move(&mut self, saved: SavedMove<F>) {
        let SavedMove { from, to, hunk: SavedHunk { id: hunk, origin }, decided } = saved;
        let it = Move { from, hunk, origin };
        match decided {
            None if self.files.contains_key(&to) => drop(self.moves.entry(to).or_insert(it)),
            None => {}
            Some((decision, token)) => {
                let decided = DecidedMove { token, decision, to, it };
                if self.files.contains_key(decided.now()) {
                    self.decided_moves.push(decided);
                }
            }
        }
    }
}

impl<F> SavedMove<F> {
    /// The name the file goes by now.
    pub fn now(&self) -> &F {
        match self.decided {
            None | Some((Decision::Accept, _)) => &self.to,
            Some((Decision::Reject, _)) => &self.from,
        }
    }
}

impl<F> SavedFile<F> {
    /// A file as plain data.
    pub(crate) fn of(name: F, file: &File) -> SavedFile<F> {
        saved(name, file)
    }

    /// The file; `None` where what was saved makes no sense.
    pub(crate) fn file(self) -> Option<File> {
        restored(self)
    }
}

impl<F: Clone> Move<F> {
    /// A pending move of a file that has this name now, as plain data.
    pub(crate) fn save(&self, to: &F) -> SavedMove<F> {
        saved_move(self, to, None)
    }
}

fn saved_move<F: Clone>(it: &Move<F>, to: &F, decided: Option<(Decision, u64)>) -> SavedMove<F> {
    let hunk = SavedHunk { id: it.hunk.clone(), origin: it.origin.clone() };
    SavedMove { from: it.from.clone(), to: to.clone(), hunk, decided }
}

fn saved<F>(name: F, file: &File) -> SavedFile<F> {
    SavedFile {
        file: name,
        base: file.base.clone(),
        pieces: saved_pieces(file),
        hunks: saved_hunks(&file.origins),
        existence: file.existence.clone(),
        past: saved_past(file),
    }
}

fn saved_past(file: &File) -> Option<SavedPast> {
    let anchor = file.past.anchor.as_deref().filter(|_| file.past.bytes() <= MAX_PAST)?;
    Some(SavedPast {
        base: saved_edits(&ChangeSet::between(&file.base, &anchor.base)),
        pieces: saved_pieces(anchor),
        hunks: saved_hunks(&anchor.origins),
        existence: anchor.existence.clone(),
        events: file.past.events.iter().map(|it| saved_event(it)).collect(),
    })
}

fn saved_pieces(file: &File) -> Vec<SavedPiece> {
    let piece = |it: &Piece| SavedPiece {
        base: it.base.clone(),
        text: slice(&file.current, &it.now),
        typed: it.typed.iter().map(|t| t.start - it.now.start..t.end - it.now.start).collect(),
        hunk: it.hunk.clone(),
    };
    file.pieces.iter().map(piece).collect()
}

fn saved_hunks(origins: &BTreeMap<HunkId, Origin>) -> Vec<SavedHunk> {
    origins.iter().map(|(id, it)| SavedHunk { id: id.clone(), origin: it.clone() }).collect()
}

fn saved_part((id, part): (&HunkId, &Part)) -> (SavedHunk, u64) {
    (SavedHunk { id: id.clone(), origin: part.origin.clone() }, part.print)
}

fn saved_edits(changes: &ChangeSet) -> Vec<SavedEdit> {
    let edit = |it: &Edit| SavedEdit { range: it.range.clone(), text: it.text.clone() };
    changes.edits().iter().map(edit).collect()
}

fn saved_event(event: &Event) -> SavedEvent {
    match event {
        Event::Agent { changes, origin, names } => SavedEvent::Agent {
            edits: saved_edits(changes),
            origin: origin.clone(),
            names: names.clone(),
        },
        Event::Created { text, origin, names } => {
            SavedEvent::Created { text: text.clone(), origin: origin.clone(), names: names.clone() }
        }
        Event::Deleted { origin, names } => {
            SavedEvent::Deleted { origin: origin.clone(), names: names.clone() }
        }
        Event::Person(changes) => SavedEvent::Person { edits: saved_edits(changes) },
        Event::Decided(it) => SavedEvent::Decided {
            token: it.token,
            decision: it.decision,
            hunks: it.hunks.iter().map(saved_part).collect(),
            theirs: saved_edits(&it.rejection.theirs),
            edits: saved_edits(&it.rejection.agents),
            existence: it.existence,
            names: it.names.clone(),
        },
        Event::Existence(kind, hunk) => SavedEvent::Existence { kind: *kind, hunk: hunk.clone() },
    }
}

fn restored<F>(saved: SavedFile<F>) -> Option<File> {
    let SavedFile { base, pieces, hunks, existence, past, .. } = saved;
    let file = restored_text(&base, pieces, hunks, existence)?;
    let with_past = past.and_then(|past| restored_past(&file, past));
    // Where the past does not lead to the file, the file counts.
    let same =
        |it: &File| it.base == file.base && it.current == file.current && it.pieces == file.pieces;
    match with_past.filter(same) {
        Some(mut it) => {
            // Which calls a hunk is made of was merged on the way, which the events alone do not tell.
            it.origins.extend(file.origins);
            Some(it)
        }
        None => Some(file),
    }
}

fn restored_past(file: &File, past: SavedPast) -> Option<File> {
    let base = restored_changes(&file.base, past.base)?.apply(&file.base);
    let anchor = restored_text(&base, past.pieces, past.hunks, past.existence)?;
    let mut now = anchor.clone();
    let mut events = Vec::with_capacity(past.events.len());
    let mut unseen = u64::MAX / 2;
    for event in past.events {
        let mut event = restored_event(&now.current, event)?;
        now.replay(&mut event, &mut unseen);
        events.push(Arc::new(event));
    }
    now.past = Past::of(anchor, events);
    Some(now)
}

fn restored_event(current: &Rope, event: SavedEvent) -> Option<Event> {
    Some(match event {
        SavedEvent::Agent { edits, origin, names } => {
            Event::Agent { changes: restored_changes(current, edits)?, origin, names }
        }
        SavedEvent::Created { text, origin, names } => Event::Created { text, origin, names },
        SavedEvent::Deleted { origin, names } => Event::Deleted { origin, names },
        SavedEvent::Person { edits } => Event::Person(restored_changes(current, edits)?),
        SavedEvent::Decided { token, decision, hunks, theirs, edits, existence, names } => {
            let theirs = restored_changes(current, theirs)?;
            let agents = restored_changes(&theirs.apply(current), edits)?;
            Event::Decided(Settled {
                token,
                decision,
                hunks: hunks.into_iter().map(restored_part).collect(),
                rejection: Rejection { theirs, agents },
                existence,
                names,
            })
        }
        SavedEvent::Existence { kind, hunk } => Event::Existence(kind, hunk),
    })
}

fn restored_part((hunk, print): (SavedHunk, u64)) -> (HunkId, Part) {
    (hunk.id, Part { origin: hunk.origin, print })
}

fn restored_changes(before: &Rope, edits: Vec<SavedEdit>) -> Option<ChangeSet> {
    let whole = |at: usize| before.try_byte_to_char(at).is_ok_and(|c| before.char_to_byte(c) == at);
    if !edits.iter().all(|it| whole(it.range.start) && whole(it.range.end)) {
        return None;
    }
    let edits = edits.into_iter().map(|it| Edit::new(it.range, it.text)).collect();
    ChangeSet::new(before.len_bytes(), edits).ok()
}

fn restored_text(
    base: &Rope,
    saved: Vec<SavedPiece>,
    hunks: Vec<SavedHunk>,
    existence: Option<(Existence, HunkId)>,
) -> Option<File> {
    let mut edits = Vec::with_capacity(saved.len());
    let mut pieces = Vec::with_capacity(saved.len());
    let (mut copied, mut len) = (0, 0);
    for piece in saved {
        if piece.base.end < piece.base.start || base.len_bytes() < piece.base.end {
            return None;
        }
        len += piece.base.start.checked_sub(copied)?;
        copied = piece.base.end;
        let start = len;
        let whole = |it: &Range<usize>| piece.text.get(it.clone()).is_some();
        if !piece.typed.iter().all(whole) {
            return None;
        }
        len += piece.text.len();
        pieces.push(Piece {
            base: piece.base.clone(),
            now: start..len,
            typed: piece.typed.iter().map(|it| it.start + start..it.end + start).collect(),
            hunk: piece.hunk,
        });
        edits.push(SavedEdit { range: piece.base, text: piece.text });
    }
    let current = restored_changes(base, edits)?.apply(base);
    let presence = match existence {
        Some((Existence::Deleted, _)) => Presence::Gone,
        Some((Existence::Added, _)) | None => Presence::There,
    };
    Some(File {
        base: base.clone(),
        current,
        pieces,
        origins: hunks.into_iter().map(|it| (it.id, it.origin)).collect(),
        existence,
        presence,
        decided: Vec::new(),
        past: Past::default(),
        earlier: Earlier::default(),
    })
}
