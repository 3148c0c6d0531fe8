//! What a session did to files, prompt by prompt, and what was taken back of it.
//!
//! Invariant: a checkpoint is the state just before a prompt was delivered; everything recorded after it
//! came later. Steps are never removed, only marked as taken back, and that is in the log too.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use llm::Message;
use protocol::acp::SessionUpdate;
use serde::{Deserialize, Serialize};
use vfs::{Image, Location};

use crate::store::Record;
use crate::transcript::{Transcript, is_prompt};

/// Rewinds that can be undone, a session.
const KEPT_REWINDS: usize = 20;

/// The state just before a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The prompt's message id.
    pub id: String,
    /// The prompt's first line, bounded.
    pub label: String,
    /// Milliseconds since 1970.
    pub time: u64,
}

/// One file before and after something the agent did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStep {
    /// The tool call; empty where none has to do with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The file.
    pub file: Location,
    /// Where its bytes were after it, links resolved; of a link where the link was. Absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real: Option<PathBuf>,
    /// Before it.
    pub before: Stood,
    /// After it.
    pub after: Stood,
    /// Where the texts differ: bytes before, and the length of what stands there after. Empty: not
    /// known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Replaced>,
    /// Folders that were made for it, links resolved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
    /// What what was pending in it before is kept under, as the review keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<[u8; 32]>,
    /// The name it was moved from by this, a step that is its coming.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<Location>,
}

/// One replacement: start and end in the text before, length of the new text.
pub type Replaced = (usize, usize, usize);

/// What stood at a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stood {
    /// Nothing.
    Nothing,
    /// A document of the editor's with this text, UTF-8.
    Text {
        /// What it is kept under.
        blob: [u8; 32],
    },
    /// A file.
    File(Image),
    /// Something that could not be kept.
    Lost,
}

/// Taking things back to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewind {
    /// Names it within the session.
    pub number: u64,
    /// The prompt the conversation was taken back to, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Steps that count as taken back, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<usize>,
    /// What it did to files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileStep>,
}

/// Where a conversation was when a prompt was delivered.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Messages of the model's history before it.
    pub messages: usize,
    /// Updates of the folded transcript before it.
    pub updates: usize,
    /// Steps before it.
    pub steps: usize,
}

/// What a conversation lost when it was taken back.
#[derive(Clone, Debug)]
pub struct Removed {
    /// The end of the model's history.
    pub messages: Vec<Message>,
    /// The whole transcript as it was.
    pub updates: Vec<SessionUpdate>,
    /// The marks, the first of them that of the prompt.
    pub marks: Vec<Mark>,
    /// Messages and updates that were left.
    pub left: (usize, usize),
}

impl Removed {
    /// What stood after the prompt and is part of the conversation all the same: the end of the turn
    /// that ran when the prompt came.
    pub fn kept_after(&self) -> Vec<SessionUpdate> {
        let Some(first) = self.marks.first() else { return Vec::new() };
        let prompt = self.updates.iter().position(|it| is_prompt(it, &first.checkpoint.id));
        let from = prompt.map_or(first.updates, |at| at + 1);
        let kept = self.updates.iter().take(first.updates).skip(from);
        kept.filter(|it| !self.is_gone(it)).cloned().collect()
    }

    /// What is no part of the conversation any more, in the order to show it again.
    pub fn lost(&self) -> Vec<SessionUpdate> {
        let at = self.marks.first().map_or(self.updates.len(), |it| it.updates);
        let before = self.updates.iter().take(at).filter(|it| self.is_gone(it));
        before.chain(self.updates.iter().skip(at)).cloned().collect()
    }

    fn is_gone(&self, update: &SessionUpdate) -> bool {
        self.marks.iter().any(|it| is_prompt(update, &it.checkpoint.id))
    }
}

/// A rewind that can be undone.
#[derive(Clone, Debug)]
pub struct Undoable {
    /// What it was.
    pub rewind: Rewind,
    /// What the conversation lost.
    pub removed: Option<Removed>,
}

/// A session's prompts and steps.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The prompts of the conversation, oldest first.
    pub marks: Vec<Mark>,
    steps: Vec<FileStep>,
    taken: Vec<bool>,
    undoable: Vec<Undoable>,
    last: u64,
}

impl Timeline {
    /// A prompt is delivered now.
    pub fn mark(&mut self, checkpoint: Checkpoint, messages: usize, updates: usize) {
        let steps = self.steps.len();
        self.marks.push(Mark { checkpoint, messages, updates, steps });
    }

    /// Steps were made.
    pub fn add(&mut self, steps: Vec<FileStep>) {
        self.steps.extend(steps);
        self.taken.resize(self.steps.len(), false);
    }

    /// The nth mark is that of this prompt.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.marks.iter().position(|it| it.checkpoint.id == id)
    }

    /// The steps since a mark that were not taken back, with their numbers.
    pub fn since(&self, mark: usize) -> Vec<(usize, FileStep)> {
        let from = self.marks.get(mark).map_or(self.steps.len(), |it| it.steps);
        let steps = self.steps.iter().zip(&self.taken).enumerate().skip(from);
        steps.filter(|(_, (_, taken))| !**taken).map(|(at, (step, _))| (at, step.clone())).collect()
    }

    /// A number for a rewind that is about to be made.
    pub fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// A rewind was made.
    pub fn rewound(&mut self, rewind: Rewind, removed: Option<Removed>) {
        self.last = self.last.max(rewind.number);
        self.set_taken(&rewind.taken, Taken::Back);
        self.undoable.push(Undoable { rewind, removed });
        if KEPT_REWINDS < self.undoable.len() {
            self.undoable.remove(0);
        }
    }

    /// The rewind of this number, if it can be undone.
    pub fn undoable(&self, number: u64) -> Option<&Undoable> {
        self.undoable.iter().find(|it| it.rewind.number == number)
    }

    /// A rewind was undone; gives what the conversation lost by it.
    pub fn unrewound(&mut self, number: u64) -> Option<Removed> {
        let at = self.undoable.iter().position(|it| it.rewind.number == number)?;
        let Undoable { rewind, removed } = self.undoable.remove(at);
        self.set_taken(&rewind.taken, Taken::Not);
        removed
    }

    fn set_taken(&mut self, steps: &[usize], taken: Taken) {
        for step in steps {
            if let Some(it) = self.taken.get_mut(*step) {
                *it = taken == Taken::Back;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Back,
    Not,
}

/// One session's timeline with the log behind it. Cloning shares it.
#[derive(Clone)]
pub struct Recorder(Arc<Recorded>);

struct Recorded {
    timeline: Mutex<Timeline>,
    transcript: Transcript,
}

impl Recorder {
    /// A recorder that goes on after `timeline`.
    pub fn new(timeline: Timeline, transcript: Transcript) -> Recorder {
        Recorder(Arc::new(Recorded { timeline: Mutex::new(timeline), transcript }))
    }

    /// The timeline.
    pub fn timeline(&self) -> MutexGuard<'_, Timeline> {
        self.0.timeline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records steps; on return they survive a crash.
    pub fn record(&self, steps: Vec<FileStep>) {
        let mut timeline = self.timeline();
        self.0.transcript.record(&Record::Steps { steps: steps.clone() });
        timeline.add(steps);
        drop(timeline);
        self.0.transcript.sync();
    }
}

/// The timelines of the sessions that are open. Cloning shares it.
#[derive(Clone, Default)]
pub struct Timelines(Arc<Mutex<BTreeMap<String, Weak<Recorded>>>>);

impl Timelines {
    /// A session is open from now on, for as long as somebody has its recorder.
    pub fn open(&self, session: &str, recorder: &Recorder) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, it| it.strong_count() > 0);
        open.insert(session.to_owned(), Arc::downgrade(&recorder.0));
    }

    /// The recorder of a session.
    pub fn of(&self, session: &str) -> Option<Recorder> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(session).and_then(Weak::upgrade).map(Recorder)
    }
}
