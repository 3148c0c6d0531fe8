//! A session on disk: one append-only log of records, one JSON object a line.
//!
//! Invariant: a torn last line is dropped with a note, everything before it counts. Nothing is
//! rewritten in place. Files are private to the person (0600, folders 0700).

use std::path::{Path, PathBuf};

use llm::{Message, Part, ResultPart, Role};
use protocol::acp::SessionUpdate;
use serde::{Deserialize, Serialize};
use vfs::state;

use crate::settings::{Mode, Thinking};
use crate::timeline::{Checkpoint, FileStep, Rewind};

/// The log's format; a newer one is not read.
pub const FORMAT: u32 = 1;
/// The log's name in the session's folder.
pub const LOG: &str = "log.jsonl";

/// One line of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "records are written and read one at a time")]
pub enum Record {
    /// The first line.
    Session(Header),
    /// Something shown.
    Update { update: SessionUpdate },
    /// A message of the model's own history.
    Message { message: Message },
    /// The session's options changed.
    Options {
        mode: Mode,
        model: Option<String>,
        #[serde(default)]
        thinking: Option<Thinking>,
    },
    /// A title was given.
    Title { title: String },
    /// A prompt is given to the model; its message follows.
    Delivered { checkpoint: Checkpoint },
    /// The agent changed files.
    Steps { steps: Vec<FileStep> },
    /// Files or the conversation were taken back to a prompt.
    Rewound { rewind: Rewind },
    /// That was undone.
    Unrewound { number: u64 },
}

/// What a session is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The log's format.
    pub format: u32,
    /// The session's id.
    pub id: String,
    /// Its folder.
    pub cwd: PathBuf,
    /// Further folders.
    #[serde(default)]
    pub additional: Vec<PathBuf>,
    /// Seconds since 1970.
    pub created: u64,
}

/// An open log. Without a folder (a run that keeps nothing) it drops what it is given.
pub struct Log {
    file: Option<state::LogWriter>,
    /// Held for as long as the log is written: one process owns a session.
    _lock: Option<state::Lock>,
}

/// Why a log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Another living process owns the session.
    #[error("it is open in another window; close it there to go on here")]
    Busy,
    /// It cannot be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Log {
    /// A log that keeps nothing.
    pub fn none() -> Log {
        Log { file: None, _lock: None }
    }

    /// Opens or makes the log of the session in `dir`, which nobody else may have open.
    pub fn open(dir: &Path) -> Result<Log, LogError> {
        let lock = state::lock(&dir.join("lock"))?.ok_or(LogError::Busy)?;
        let file = state::LogWriter::open(&dir.join(LOG))?;
        Ok(Log { file: Some(file), _lock: Some(lock) })
    }

    /// Adds a record. A failure is logged; the session goes on.
    pub fn append(&mut self, record: &Record) {
        let Some(file) = &mut self.file else { return };
        let written = serde_json::to_string(record)
            .map_err(std::io::Error::from)
            .and_then(|line| file.append(&line, state::Durability::Buffered));
        if let Err(err) = written {
            tracing::error!("session log: {err}");
        }
    }

    /// Waits until everything is on the disk.
    pub fn sync(&mut self) {
        if let Some(Err(err)) = self.file.as_mut().map(|it| it.sync()) {
            tracing::error!("session log: {err}");
        }
    }
}

/// What a log holds.
pub struct Loaded {
    /// The first record.
    pub header: Header,
    /// All records after it.
    pub records: Vec<Record>,
    /// What could not be read.
    pub note: Option<String>,
}

impl Loaded {
    /// The title given last.
    pub fn title(&self) -> Option<&str> {
        self.records.iter().rev().find_map(|it| match it {
            Record::Title { title } => Some(title.as_str()),
            Record::Session(_)
            | Record::Update { .. }
            | Record::Message { .. }
            | Record::Options { .. }
            | Record::Delivered { .. }
            | Record::Steps { .. }
            | Record::Rewound { .. }
            | Record::Unrewound { .. } => None,
        })
    }
}

/// Reads the log of the session in `dir`.
pub fn load(dir: &Path) -> std::io::Result<Loaded> {
    let log = state::read_log(&dir.join(LOG))?;
    let total = log.lines.len();
    let mut records = Vec::with_capacity(total);
    let mut dropped = usize::from(0 < log.torn);
    for line in log.lines {
        match serde_json::from_str::<Record>(&line) {
            Ok(record) => records.push(record),
            Err(_) => dropped += 1,
        }
    }
    let note = (0 < dropped).then(|| {
        format!(
            "{dropped} of {total} lines of this session's log could not be read and were left out"
        )
    });
    let mut records = records.into_iter();
    match records.next() {
        Some(Record::Session(header)) if header.format <= FORMAT => {
            Ok(Loaded { header, records: records.collect(), note })
        }
        Some(Record::Session(header)) => Err(std::io::Error::other(format!(
            "the session was written by a newer version (format {})",
            header.format
        ))),
        Some(_) | None => Err(std::io::Error::other("the session's log has no beginning")),
    }
}

/// Where the sessions of a workspace are kept: `<state>/projects/<key>/sessions`.
pub fn sessions_dir(state: &Path, root: &Path) -> PathBuf {
    project_dir(state, root).join("sessions")
}

/// Where what belongs to a workspace is kept.
pub fn project_dir(state: &Path, root: &Path) -> PathBuf {
    state.join("projects").join(project_key(root))
}

/// A folder name for a workspace: readable, and unlike any other's.
fn project_key(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let plain: String =
        name.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).take(40).collect();
    format!("{plain}-{}", &hash_hex(root.as_os_str().as_encoded_bytes())[..12])
}

/// SHA-256 in hexadecimal digits.
pub fn hash_hex(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|it| format!("{it:02x}")).collect()
}

/// A history in which every call has its result: a call that was cut off by the end of the process
/// gets one that says so.
pub fn repaired(messages: Vec<Message>) -> Vec<Message> {
    let mut repaired: Vec<Message> = Vec::with_capacity(messages.len());
    let mut open: Vec<(String, String)> = Vec::new();
    for message in messages {
        let answered: Vec<&String> = message
            .parts
            .iter()
            .filter_map(|it| match it {
                Part::ToolResult { id, .. } => Some(id),
                Part::Text { .. }
                | Part::Thought { .. }
                | Part::Image { .. }
                | Part::ToolCall { .. } => None,
            })
            .collect();
        open.retain(|(id, _)| !answered.contains(&id));
        repaired.extend(interrupted(std::mem::take(&mut open)));
        for part in &message.parts {
            if let Part::ToolCall { id, name, .. } = part {
                open.push((id.clone(), name.clone()));
            }
        }
        repaired.push(message);
    }
    repaired.extend(interrupted(open));
    repaired
}

fn interrupted(calls: Vec<(String, String)>) -> Option<Message> {
    if calls.is_empty() {
        return None;
    }
    let text = "Interrupted: the session ended before this call's result was known. It may or may not have \
                taken effect; look before you do it again.";
    let parts = calls.into_iter().map(|(id, name)| Part::ToolResult {
        id,
        name,
        content: vec![ResultPart::Text { text: text.into() }],
        is_error: true,
    });
    Some(Message { role: Role::User, parts: parts.collect() })
}
