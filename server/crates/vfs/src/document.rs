//! One open document: its text, its version in the editor, its own generation, and what the disk holds beside it.
//!
//! The generation counts every content change and never goes back, across closing and reopening too.
//! A change costs the rope edit and a history entry; nothing here copies or hashes the whole text per change.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use text::{ChangeSet, Edit, LineBreaks, Position, Rope, Unit, offset_at};
use tokio::sync::watch;

use crate::encoding::Encoding;
use crate::format::{Decoded, Eol, Format};
use crate::found::Stamp;
use crate::location::Location;

/// Whether a buffer holds what its file does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dirty {
    /// The file holds this text.
    Clean,
    /// Only changes of ours are unsaved.
    Ours,
    /// The person has unsaved text here.
    Person,
}

/// What a save by the editor would do to the parts of the file nobody changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteBack {
    /// Keep them.
    Faithful,
    /// Rewrite line endings of the whole file.
    LineEndings,
    /// Rewrite bytes that are no character of the encoding.
    MalformedBytes,
}

/// What an editor says of a document's file and saved state; holds for `version` only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditorState {
    pub version: i32,
    pub dirty: bool,
    /// WHATWG label.
    pub encoding: String,
    pub bom: bool,
    pub eol: Eol,
    pub final_newline: bool,
    pub read_only: bool,
}

/// One content change of an editor: `range` of the text so far becomes `text`; no range, the whole text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextChange {
    pub range: Option<(Position, Position)>,
    pub text: String,
}

/// One content change that happened.
#[derive(Clone, Debug)]
pub struct Change {
    /// The generation it led to.
    pub generation: u64,
    pub changes: ChangeSet,
    pub origin: Origin,
}

/// Where a content change comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It was made in the editor: typed, or an edit of ours.
    Editor,
    /// The editor read the file anew.
    Disk,
}

/// An open document without its text.
#[derive(Clone, Debug)]
pub struct DocumentInfo {
    pub location: Location,
    pub language: String,
    pub version: i32,
    pub generation: u64,
    pub dirty: Dirty,
    pub write_back: WriteBack,
    pub read_only: bool,
    pub format: Format,
    /// Bytes of text.
    pub len: usize,
}

/// The editor's account of a document does not follow from what it said before. The text was taken where possible.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SyncError {
    #[error("{location} changed, but it is not open")]
    NotOpen { location: Location },
    #[error("{location} changed to version {version} after version {current}")]
    Backwards { location: Location, version: i32, current: i32 },
}

/// The changes kept for `changes_since`.
const HISTORY_CHANGES: usize = 4_096;
const HISTORY_BYTES: usize = 4 << 20;
/// What a change costs beside its text.
const CHANGE_BYTES: usize = 96;
/// Texts of ours waited for at a time.
const EXPECTED: usize = 8;

/// A document the editor has open.
pub(crate) struct Document {
    pub language: String,
    pub version: i32,
    pub rope: Rope,
    pub changed: SystemTime,
    pub hash: Arc<OnceLock<[u8; 32]>>,
    pub on_disk: OnDisk,
    pub dirty: Dirty,
    history: History,
    expected: Vec<Expected>,
    early_state: Option<EditorState>,
    breaks: Breaks,
    generation: Arc<watch::Sender<u64>>,
}

/// What is known of the file beside the buffer.
#[derive(Clone)]
pub(crate) struct OnDisk {
    pub format: Format,
    pub write_back: WriteBack,
    pub read_only: bool,
    /// Where the file really is, when it was opened through a link.
    pub real: Option<PathBuf>,
    /// The file as it was when buffer and file were last known to be compared.
    pub stamp: Option<Stamp>,
    /// The text the editor last read from the file.
    pub read: Option<Rope>,
}

struct Expected {
    after: Rope,
    dirty_before: Dirty,
}

impl Document {
    pub fn open(
        language: &str,
        version: i32,
        text: &str,
        disk: Option<Decoded>,
        breaks: LineBreaks,
        generation: Arc<watch::Sender<u64>>,
    ) -> Document {
        let rope = Rope::from_str(text);
        let (dirty, mut on_disk) = compare(text, disk);
        on_disk.read = (dirty == Dirty::Clean).then(|| rope.clone());
        generation.send_modify(|n| *n += 1);
        let start = *generation.borrow();
        Document {
            language: language.to_owned(),
            version,
            breaks: Breaks { wanted: breaks, settled: breaks.settled(&rope) },
            rope,
            changed: SystemTime::now(),
            hash: Arc::default(),
            on_disk,
            dirty,
            history: History::new(start),
            expected: Vec::new(),
            early_state: None,
            generation,
        }
    }

    pub fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    /// Takes an editor's change; every content change is a step of its own in the history.
    pub fn change(&mut self, version: i32, changes: Vec<TextChange>, unit: Unit) {
        for change in changes {
            self.step(change, unit);
        }
        self.version = version;
        if Arc::strong_count(&self.hash) > 1 || self.hash.get().is_some() {
            self.hash = Arc::default();
        }
        self.changed = SystemTime::now();
        self.dirty = match self.expected.iter().position(|e| same_text(&e.after, &self.rope)) {
            Some(at) => {
                match self.expected.drain(..=at).next_back().map(|expected| expected.dirty_before) {
                    Some(Dirty::Clean | Dirty::Ours) => Dirty::Ours,
                    Some(Dirty::Person) | None => Dirty::Person,
                }
            }
            None => Dirty::Person,
        };
        if let Some(state) = self.early_state.take_if(|state| state.version <= version)
            && state.version == version
        {
            self.editor_says(state);
        }
        self.generation.send_modify(|n| *n += 1);
    }

    fn step(&mut self, change: TextChange, unit: Unit) {
        let range = match change.range {
            Some((start, end)) => {
                let start = offset_at(&self.rope, start, unit, self.breaks.settled);
                start..offset_at(&self.rope, end, unit, self.breaks.settled).max(start)
            }
            None => 0..self.rope.len_bytes(),
        };
        let changes = match ChangeSet::narrowed(&self.rope, Edit::new(range, change.text)) {
            Ok(changes) => changes,
            Err(error) => {
                tracing::error!(%error, "a content change has no place in its text");
                return;
            }
        };
        self.rope = changes.apply(&self.rope);
        if self.breaks.settled != self.breaks.wanted
            && changes.placed().any(|(_, at)| lone_cr_near(&self.rope, at.start, at.len()))
        {
            self.breaks.settled = self.breaks.wanted;
        }
        let generation = self.generation() + 1;
        self.history.push(Change { generation, changes, origin: Origin::Editor });
    }

    /// Takes what the editor says; about an older version only the spelling of the file is believed.
    pub fn editor_says(&mut self, state: EditorState) {
        if let Some(encoding) = Encoding::for_label(&state.encoding) {
            self.on_disk.format.encoding = encoding;
        }
        self.on_disk.format.bom = state.bom;
        self.on_disk.format.eol = state.eol;
        self.on_disk.format.final_newline = state.final_newline;
        self.on_disk.read_only = state.read_only;
        if state.version > self.version {
            self.early_state = Some(state);
            return;
        }
        if state.version < self.version {
            return;
        }
        self.dirty = match (state.dirty, self.dirty) {
            (false, _) => Dirty::Clean,
            (true, Dirty::Ours) => Dirty::Ours,
            (true, Dirty::Clean | Dirty::Person) => Dirty::Person,
        };
    }

    /// The next change that gives this text is ours.
    pub fn expect(&mut self, after: Rope) {
        if self.expected.len() == EXPECTED {
            self.expected.remove(0);
        }
        let dirty_before = self.dirty;
        self.expected.push(Expected { after, dirty_before });
    }

    /// The file now holds the text.
    pub fn saved(&mut self) {
        self.dirty = Dirty::Clean;
        self.on_disk.write_back = WriteBack::Faithful;
        for expected in &mut self.expected {
            expected.dirty_before = Dirty::Clean;
        }
    }

    /// The editor wrote the file: what looked like reading it anew was typing, told late.
    pub fn saved_by_editor(&mut self, stamp: Option<Stamp>) {
        self.history.mark(self.generation(), Origin::Editor);
        self.saved();
        self.on_disk.stamp = stamp;
    }

    /// The last change was the editor reading the file anew.
    pub fn reloaded(&mut self, format: Format, stamp: Stamp) {
        self.history.mark(self.generation(), Origin::Disk);
        self.saved();
        self.on_disk.format = format;
        self.on_disk.stamp = Some(stamp);
        self.on_disk.read = Some(self.rope.clone());
    }

    pub fn set_breaks(&mut self, breaks: LineBreaks) {
        self.breaks = Breaks { wanted: breaks, settled: breaks.settled(&self.rope) };
    }

    pub fn changes_since(&self, generation: u64) -> Option<Vec<Change>> {
        self.history.since(generation, self.generation())
    }

    pub fn info(&self, location: &Location) -> DocumentInfo {
        DocumentInfo {
            location: location.clone(),
            language: self.language.clone(),
            version: self.version,
            generation: self.generation(),
            dirty: self.dirty,
            write_back: self.on_disk.write_back,
            read_only: self.on_disk.read_only,
            format: self.on_disk.format.clone(),
            len: self.rope.len_bytes(),
        }
    }
}

/// What ends a line for this editor, and the cheaper equivalent while the text has no lone `\r`.
struct Breaks {
    wanted: LineBreaks,
    settled: LineBreaks,
}

/// Changes by generation, the oldest dropped when there are too many or they grow too large.
struct History {
    /// Changes after this generation are complete.
    start: u64,
    changes: VecDeque<Change>,
    bytes: usize,
}

impl History {
    fn new(start: u64) -> History {
        History { start, changes: VecDeque::new(), bytes: 0 }
    }

    fn push(&mut self, change: Change) {
        self.bytes += cost(&change);
        self.changes.push_back(change);
        while self.changes.len() > HISTORY_CHANGES || self.bytes > HISTORY_BYTES {
            let Some(dropped) = self.changes.pop_front() else { break };
            self.bytes -= cost(&dropped);
            self.start = dropped.generation;
        }
    }

    fn mark(&mut self, generation: u64, origin: Origin) {
        for change in self.changes.iter_mut().rev().take_while(|it| it.generation == generation) {
            change.origin = origin;
        }
    }

    fn since(&self, generation: u64, now: u64) -> Option<Vec<Change>> {
        if generation < self.start || generation > now {
            return None;
        }
        let first = self.changes.partition_point(|change| change.generation <= generation);
        Some(self.changes.range(first..).cloned().collect())
    }
}

fn cost(change: &Change) -> usize {
    CHANGE_BYTES + change.changes.edits().iter().map(|edit| edit.text.len()).sum::<usize>()
}

/// How the buffer stands to its file at the moment it is opened.
fn compare(text: &str, disk: Option<Decoded>) -> (Dirty, OnDisk) {
    let own = |eol, final_newline| OnDisk {
        format: Format { encoding: Encoding::Utf8, bom: false, eol, final_newline },
        write_back: WriteBack::Faithful,
        read_only: false,
        real: None,
        stamp: None,
        read: None,
    };
    let Some(disk) = disk else {
        let dirty = if text.is_empty() { Dirty::Clean } else { Dirty::Person };
        return (dirty, own(Eol::of(text), crate::format::ends_line(text)));
    };
    let write_back = if disk.damaged {
        WriteBack::MalformedBytes
    } else if disk.format.eol == Eol::Mixed && Eol::of(text) != Eol::Mixed {
        WriteBack::LineEndings
    } else {
        WriteBack::Faithful
    };
    // An editor that shows other line endings than the file's holds the same text all the same.
    let dirty = if same_but_line_endings(text, &disk.text) { Dirty::Clean } else { Dirty::Person };
    (
        dirty,
        OnDisk {
            format: disk.format,
            write_back,
            read_only: false,
            real: None,
            stamp: None,
            read: None,
        },
    )
}

/// Whether two texts differ in nothing but how their lines end.
pub fn same_but_line_endings(a: &str, b: &str) -> bool {
    a == b || lines(a).eq(lines(b))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    // `\r\n` splits into one empty piece more than `\n`; it is the piece between the two.
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(at) = memchr::memchr2(b'\n', b'\r', text.as_bytes()) else {
            rest = None;
            return Some(text);
        };
        let width = if text[at..].starts_with("\r\n") { 2 } else { 1 };
        rest = Some(&text[at + width..]);
        Some(&text[..at])
    })
}

fn same_text(a: &Rope, b: &Rope) -> bool {
    a.len_bytes() == b.len_bytes() && a == b
}

/// Whether there is a `\r` without its `\n` in or beside `len` bytes from `start`.
fn lone_cr_near(rope: &Rope, start: usize, len: usize) -> bool {
    let from = rope.byte_to_char(start).saturating_sub(1);
    let to = rope.byte_to_char((start + len).min(rope.len_bytes())) + 1;
    let mut chars = rope.chars_at(from).take(to.saturating_sub(from) + 1).peekable();
    while let Some(c) = chars.next() {
        if c == '\r' && chars.peek() != Some(&'\n') {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
