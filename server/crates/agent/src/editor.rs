//! The port to whoever shows the agent's work: an editor, the command line, a test.
//!
//! Invariant: nothing here knows LSP, URIs or UTF-16. A transaction is applied wholly or not at
//! all, and `apply` returns only when the document store holds the resulting text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use protocol::acp;
use text::{ChangeSet, Rope};
use tokio::sync::watch;
use vfs::{Eol, Location, Snapshot};

use crate::settings::ReviewPolicy;
use crate::timeline::Timelines;

/// What the agent needs from the outside.
#[async_trait]
pub trait Editor: Send + Sync {
    /// Shows an update. Keeps order, never waits.
    fn update(&self, update: acp::UpdateSessionNotification);

    /// Asks the person and waits for the answer. Everything sent by [`Editor::update`] before is
    /// shown first. Dropping the future withdraws the question.
    async fn ask(&self, request: acp::RequestPermissionRequest) -> Answer;

    /// Applies a transaction to open documents (through the editor) and closed files (on disk).
    async fn apply(&self, transaction: Transaction) -> Result<Applied, ApplyError>;

    /// A notebook that is shown as cells; `None` for everything else.
    fn notebook(&self, _location: &Location) -> Option<OpenNotebook> {
        None
    }

    /// Changes a cell of a notebook that is shown as cells, where `can_edit` says that it can be.
    async fn edit_cell(&self, edit: CellEdit) -> Result<Applied, ApplyError> {
        let reason = "cells cannot be edited here".to_string();
        Err(ApplyError::Refused { location: edit.notebook, reason })
    }

    /// Saves open documents; one outcome a location, in order.
    async fn save(&self, locations: &[Location]) -> Vec<Saved>;

    /// Follows what becomes of all that a call changes, from before it changes anything until the
    /// receiver is dropped; `None` where nobody can decide on changes. What is told here is not
    /// told to the session by other ways.
    fn follow_review(&self, _session: &str, _call: &str) -> Option<watch::Receiver<Reviewed>> {
        None
    }

    /// Whether the conversation is kept as a Markdown file for people who have no panel.
    fn wants_transcript_file(&self) -> bool {
        false
    }

    /// That file was written anew.
    fn transcript_written(&self, _path: &Path) {}

    /// A command of this call starts: what happens to files meanwhile may be its doing.
    fn command_started(&self, _session: &str, _call: &str) {}

    /// The command has ended, and what it changed was entered.
    fn command_ended(&self, _session: &str, _call: &str) {}

    /// Enters what a command changed on disk as pending; one outcome a file, in order.
    async fn found(&self, found: Found) -> Vec<FoundOutcome> {
        found.files.iter().map(|_| FoundOutcome::Pending).collect()
    }

    /// Where what is done to files is recorded, by session.
    fn timelines(&self) -> Timelines {
        Timelines::default()
    }

    /// Tells that a session's busy state or its waiting prompts changed.
    fn status(&self, status: Status);
}

/// The person's answer to a permission request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// An option was chosen, with what came along in `_meta.copydesk`.
    Selected { option: String, extras: Extras },
    /// The question was withdrawn or the client went away.
    Cancelled,
    /// There is nobody to ask.
    Nobody,
}

/// What may come along with an answer.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default)]
pub struct Extras {
    /// Words for the model.
    pub feedback: Option<String>,
    /// The whole changed tool input.
    pub input: Option<serde_json::Value>,
    /// The rule to remember in place of the suggested one.
    pub rule: Option<String>,
}

/// Edits that belong together, of one call.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// The session they belong to.
    pub session: String,
    /// The tool call they belong to.
    pub call: String,
    /// A few words for the editor's undo list.
    pub label: String,
    /// The edits, one a file.
    pub ops: Vec<FileOp>,
    /// Who let them through.
    pub approval: Approval,
    /// When the person decides on them.
    pub review: ReviewPolicy,
}

/// Who let an edit through; decides whether a clean buffer is saved at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// The person allowed this very call.
    Person,
    /// A rule or the mode did.
    Policy,
}

/// One file's part of a transaction.
#[derive(Clone, Debug)]
pub enum FileOp {
    /// Changes the text that `base` holds.
    Modify { base: Box<Snapshot>, changes: ChangeSet },
    /// Makes a file that does not exist.
    Create { location: Location, text: String },
    /// Deletes a whole file.
    Delete { location: Location },
    /// Moves a file without unsaved text to where nothing is, with its bytes, mode and encoding, and
    /// changes its text there. `base` is the text that `changes` is for; absent where it is no text.
    Move { from: Location, to: Location, base: Option<Box<Snapshot>>, changes: ChangeSet },
}

/// A notebook that is shown as cells.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenNotebook {
    /// Its cells, in order.
    pub cells: Vec<OpenCell>,
    /// Whether its cells can be edited where they are shown.
    pub can_edit: bool,
}

/// A cell that is shown; its text is an open document.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCell {
    /// The document.
    pub location: Location,
    /// The id it has in the file, where the editor tells.
    pub id: Option<String>,
    /// What it is.
    pub kind: CellKind,
}

/// A kind of cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Run.
    Code,
    /// Shown.
    Markdown,
}

/// An edit of one cell, of one call.
#[derive(Clone, Debug)]
pub struct CellEdit {
    /// The session it belongs to.
    pub session: String,
    /// The tool call it belongs to.
    pub call: String,
    /// A few words for the editor's undo list.
    pub label: String,
    /// The notebook.
    pub notebook: Location,
    /// The edit.
    pub change: CellChange,
    /// Who let it through.
    pub approval: Approval,
    /// When the person decides on it.
    pub review: ReviewPolicy,
}

/// What happens to a cell.
#[derive(Clone, Debug)]
pub enum CellChange {
    /// It gets another text, and perhaps another kind; `before` is the text the edit is made for.
    Replace { cell: Location, before: Rope, text: String, kind: CellKind },
    /// A new one comes after another, or at the start.
    Insert { after: Option<Location>, text: String, kind: CellKind },
    /// It goes.
    Delete { cell: Location, before: Rope },
}

/// What a transaction did.
#[derive(Clone, Debug)]
pub struct Applied {
    /// One entry an operation, in order.
    pub files: Vec<AppliedFile>,
}

/// What became of one file.
#[derive(Clone, Debug)]
pub struct AppliedFile {
    /// The file.
    pub location: Location,
    /// Its text just before; empty for a new file.
    pub before: Rope,
    /// Its text just after; empty for a deleted file.
    pub after: Rope,
    /// From `before` to `after`, rebased over what the person typed meanwhile.
    pub changes: ChangeSet,
    /// Where the text is now.
    pub kept: Kept,
}

/// Where the text of an applied edit is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// On disk.
    Disk,
    /// In the editor's buffer, unsaved, for this reason.
    Buffer { reason: String },
    /// In the editor's buffer, which is saved once the person accepts the change.
    Undecided,
    /// On disk under its new name; the editor still shows the old one.
    OldName,
}

/// Why a transaction was not applied. Nothing of it is left behind, except where `Conflict` says so.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApplyError {
    /// The person changed the same place meanwhile; `current` is the text there now.
    #[error("{location} changed in the meantime")]
    Stale { location: Location, first_line: usize, current: String },
    /// The editor or the file system refused.
    #[error("{location}: {reason}")]
    Refused { location: Location, reason: String },
    /// The text cannot be kept in the file's encoding.
    #[error("{location} is {encoding}, which cannot hold {character:?} (line {line})")]
    Unencodable { location: Location, encoding: String, character: char, line: usize },
    /// A later file failed and an earlier one could not be taken back because of newer typing.
    #[error("{failed}; {kept} keeps its part of the edit because it was changed meanwhile")]
    Conflict { failed: String, kept: Location },
    /// The editor said nothing, and what it was sent may still come to pass.
    #[error("{location}: the editor does not answer, and may still make the edit later")]
    Unanswered { location: Location },
    /// The turn was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// What a command changed on disk.
#[derive(Clone, Debug)]
pub struct Found {
    /// The session it belongs to.
    pub session: String,
    /// The tool call it belongs to.
    pub call: String,
    /// Its files; each differs before and after.
    pub files: Vec<FoundFile>,
    /// When the person decides on them.
    pub review: ReviewPolicy,
}

/// One file that a command changed.
#[derive(Clone, Debug)]
pub struct FoundFile {
    /// The file.
    pub location: Location,
    /// Where it was or is, by no link that the command made.
    pub real: PathBuf,
    /// As it was; absent for a new one.
    pub before: Option<Side>,
    /// As it is; absent for one that is gone.
    pub after: Option<Side>,
}

/// A file at one moment.
#[derive(Clone, Debug)]
pub struct Side {
    /// Decoded, line endings as they are.
    pub text: Rope,
    /// What its lines end in.
    pub eol: Eol,
    /// As it lies on disk.
    pub bytes: Arc<[u8]>,
    /// Permission bits.
    pub mode: u32,
}

/// What became of a change that was found.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundOutcome {
    /// It is pending.
    Pending,
    /// The editor shows the file as it was; the change is pending once it shows it as it is.
    Behind,
    /// The editor holds unsaved text that differs from the file now. Pending once it shows the file.
    Unsaved,
    /// The editor just saved the file.
    NotTheCommands,
    /// It could not be entered, for this reason.
    Failed(String),
}

/// What became of a document that was to be saved.
#[derive(Clone, Debug, PartialEq)]
pub enum Saved {
    /// It is on disk.
    Yes,
    /// It is not, for this reason.
    No(String),
}

/// What became of a call's changes so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reviewed {
    /// Hunks that wait for the person.
    pub pending: usize,
    /// The others.
    pub outcomes: Vec<Outcome>,
    /// What the person says to them.
    pub comments: Vec<String>,
}

/// What became of one hunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// In a few words, with the file and the line.
    pub words: String,
    /// Whether nothing of it is left in the text.
    pub is_out: bool,
}

/// The state of one session, for badges and status bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The session.
    pub session: String,
    /// Whether a turn runs.
    pub busy: bool,
    /// Questions that wait for the person, and calls that wait for their review.
    pub waiting: usize,
}
