//! Every method that neither LSP nor JSON-RPC itself defines, as data.
//!
//! Invariant: the server registers exactly the client's methods of this table; the types of the
//! frontends and docs/PROTOCOL.md are generated from it, so a method is described here or nowhere.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::{acp, checkpoint, copydesk, job, review};

/// One method of the wire.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// The name on the wire.
    pub name: &'static str,
    /// Who sends it.
    pub sender: Sender,
    /// What its parameters look like.
    pub params: Shape,
    /// What its result looks like; `None` for a notification.
    pub result: Option<Shape>,
    /// What it does, in one or two sentences.
    pub doc: &'static str,
}

/// The side that sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The editor.
    Client,
    /// This program.
    Server,
}

/// A type of the wire, named without its Rust type.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The name of the type.
    pub name: fn() -> Cow<'static, str>,
    /// Enters the type and all it refers to into the generator's definitions.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

/// The extension's and ACP's methods in use, the client's first.
pub const METHODS: &[Method] = &[
    request::<acp::NewSessionRequest, acp::NewSessionResponse>(
        Sender::Client,
        "session/new",
        "Begins a session in a folder. `cwd` is an absolute path of a folder that exists.",
    ),
    request::<acp::PromptRequest, acp::PromptResponse>(
        Sender::Client,
        "session/prompt",
        "Hands the agent a prompt and is answered at once; the turn itself ends with a \
         `state_update` of kind `idle`. A prompt sent while a turn runs is listed and waits.",
    ),
    notification::<acp::CancelSessionNotification>(
        Sender::Client,
        "session/cancel",
        "Ends the running turn: no further model request, its commands are gone within a second, \
         its prompts are withdrawn and its cards end as cancelled.",
    ),
    request::<acp::SetSessionConfigOptionRequest, acp::SetSessionConfigOptionResponse>(
        Sender::Client,
        "session/set_config_option",
        "Sets `mode` or `model` of a session. `type` is `id`.",
    ),
    request::<acp::ListSessionsRequest, acp::ListSessionsResponse>(
        Sender::Client,
        "session/list",
        "Lists the sessions of a folder, or of all open folders, newest first.",
    ),
    request::<acp::ResumeSessionRequest, acp::ResumeSessionResponse>(
        Sender::Client,
        "session/resume",
        "Joins an open session or begins one again from disk. With `replayFrom` every update is \
         sent again in order first; questions that wait are asked again.",
    ),
    request::<acp::CloseSessionRequest, acp::CloseSessionResponse>(
        Sender::Client,
        "session/close",
        "Ends a session's turn and processes. It stays on disk and can be resumed.",
    ),
    request::<acp::DeleteSessionRequest, acp::DeleteSessionResponse>(
        Sender::Client,
        "session/delete",
        "Closes a session and removes it from disk.",
    ),
    request::<acp::CancelToolCallRequest, acp::CancelToolCallResponse>(
        Sender::Client,
        "tool_call/cancel",
        "Ends one running tool call; the turn goes on.",
    ),
    request::<checkpoint::ForkParams, checkpoint::ForkResult>(
        Sender::Client,
        "copydesk/session/fork",
        "Begins a session with another's conversation, up to a message of it. Files stay as they \
         are.",
    ),
    request::<checkpoint::RewindParams, checkpoint::RestoreResult>(
        Sender::Client,
        "copydesk/session/rewind",
        "Takes a conversation, the files the agent changed since, or both back to just before a \
         prompt. Refused as `busy` while a turn or a call runs. Clients are told by a \
         `session_info_update` with `_meta.copydesk.rewound`.",
    ),
    request::<copydesk::ExportParams, copydesk::ExportResult>(
        Sender::Client,
        "copydesk/session/export",
        "Gives the whole conversation of an open session as text.",
    ),
    request::<copydesk::ToolListParams, copydesk::ToolListResult>(
        Sender::Client,
        "copydesk/tool/list",
        "Lists the tools as the model sees them.",
    ),
    request::<copydesk::ToolCallParams, copydesk::ToolCallResult>(
        Sender::Client,
        "copydesk/tool/call",
        "Calls a tool through the same gate as a call of the model, and stays open until it ends. \
         A tool that fails or is denied is a result with `isError`, not an error.",
    ),
    request::<copydesk::ToolCallRef, copydesk::Empty>(
        Sender::Client,
        "copydesk/toolCall/cancel",
        "The same as `tool_call/cancel`, for clients that know the extension alone.",
    ),
    request::<copydesk::ToolCallRef, copydesk::BackgroundResult>(
        Sender::Client,
        "copydesk/toolCall/background",
        "Turns a command that runs in the foreground into a job; the call ends at once.",
    ),
    request::<job::JobListParams, job::JobListResult>(
        Sender::Client,
        "copydesk/job/list",
        "Lists jobs, servers and terminals.",
    ),
    request::<job::JobReadParams, job::JobReadResult>(
        Sender::Client,
        "copydesk/job/read",
        "Gives a page of what a job or a command printed. No reader of the agent's loses its place.",
    ),
    request::<job::JobWriteParams, copydesk::Empty>(
        Sender::Client,
        "copydesk/job/write",
        "Types into a terminal as the person, passwords included. It is kept nowhere.",
    ),
    request::<job::JobResizeParams, copydesk::Empty>(
        Sender::Client,
        "copydesk/job/resize",
        "Sets the size of a terminal.",
    ),
    request::<job::JobRef, job::JobKillResult>(
        Sender::Client,
        "copydesk/job/kill",
        "Stops a job with all it started, or the command in the foreground; the agent is told of its end \
         and who stopped it.",
    ),
    request::<acp::CancelTerminalRequest, acp::CancelTerminalResponse>(
        Sender::Client,
        "terminal/cancel",
        "The same as `copydesk/job/kill`, by the terminal of a card.",
    ),
    request::<copydesk::Empty, copydesk::StatusResult>(
        Sender::Client,
        "copydesk/status",
        "Gives the facts a health check prints.",
    ),
    request::<copydesk::TrustParams, copydesk::Empty>(
        Sender::Client,
        "copydesk/trust",
        "Says whether the person trusts a folder's own settings. It is remembered.",
    ),
    request::<copydesk::Empty, copydesk::PermissionListResult>(
        Sender::Client,
        "copydesk/permission/list",
        "Lists the permission rules in force: remembered ones and those of configuration files.",
    ),
    request::<copydesk::PermissionRemoveParams, copydesk::Empty>(
        Sender::Client,
        "copydesk/permission/remove",
        "Forgets a remembered rule. A rule of a configuration file is removed in the file.",
    ),
    request::<review::ReviewListParams, review::ReviewListResult>(
        Sender::Client,
        "copydesk/review/list",
        "Lists the agent's changes that wait for the person, by file. Ids are stable while hunks \
         move; ranges hold for the version beside them.",
    ),
    request::<review::ReviewResolveParams, review::ReviewResolveResult>(
        Sender::Client,
        "copydesk/review/resolve",
        "Accepts or rejects hunks, in any order. Answered when the text is in the document. What \
         the person typed inside a rejected hunk stays, and is said in `conflicts`.",
    ),
    request::<review::ReviewUndoParams, review::ReviewUndoResult>(
        Sender::Client,
        "copydesk/review/undo",
        "Takes a decision, a restore or a rewind back. Answered when the text is in the document.",
    ),
    request::<review::ReviewBaseParams, review::ReviewBaseResult>(
        Sender::Client,
        "copydesk/review/base",
        "Gives a file's text without the pending changes, for diff editors.",
    ),
    request::<checkpoint::CheckpointListParams, checkpoint::CheckpointListResult>(
        Sender::Client,
        "copydesk/checkpoint/list",
        "Lists the states a session can be taken back to: one before each prompt.",
    ),
    request::<checkpoint::CheckpointRestoreParams, checkpoint::RestoreResult>(
        Sender::Client,
        "copydesk/checkpoint/restore",
        "Takes back what the session's agent did to files since a prompt. Answered when the text is \
         in the documents. What anybody else wrote stays; where that is inside a change of the \
         agent's, the change stays too and the file is in `conflicts`.",
    ),
    notification::<copydesk::EditorStateParams>(
        Sender::Client,
        "copydesk/editor/didChangeState",
        "Tells what only the editor knows: where the person is, which documents are unsaved, and \
         how they are stored. It lists all open documents each time.",
    ),
    notification::<acp::UpdateSessionNotification>(
        Sender::Server,
        "session/update",
        "Something happened in a session: text, a tool's card, a state, options.",
    ),
    request::<acp::RequestPermissionRequest, acp::RequestPermissionResponse>(
        Sender::Server,
        "session/request_permission",
        "Asks the person before a tool runs. The subject is complete: the whole command, or every \
         path of an edit with its diff. Needs the marker `permission`.",
    ),
    request::<copydesk::SaveParams, copydesk::SaveResult>(
        Sender::Server,
        "copydesk/editor/save",
        "Asks the editor to save documents. Needs the marker `save`.",
    ),
    request::<copydesk::NotebookEditParams, copydesk::NotebookEditResult>(
        Sender::Server,
        "copydesk/editor/notebookEdit",
        "Changes the cells of an open notebook, all edits or none, as one step of undo and without \
         taking the focus. Needs the marker `notebook`.",
    ),
    notification::<review::ReviewChangedParams>(
        Sender::Server,
        "copydesk/review/didChange",
        "Hunks came, went or moved: the files that changed, each with all its hunks; a file \
         without hunks has none left. At most 64 KB: where a file has more, long texts are cut and \
         further hunks left out, which `_meta.copydesk` says (`cut`, `omitted`); \
         `copydesk/review/list` with its `uri` has all of it. Needs the marker `review`.",
    ),
    notification::<copydesk::RequestResolvedParams>(
        Sender::Server,
        "copydesk/request/resolved",
        "A question no longer needs an answer: close it.",
    ),
    notification::<copydesk::StatusParams>(
        Sender::Server,
        "copydesk/status/didChange",
        "What a status bar shows, of all sessions together.",
    ),
];

/// Types that no method names but both sides need: what is exchanged at `initialize`, the keys of
/// `_meta.copydesk` and the data of an error.
pub const OTHER_TYPES: &[Shape] = &[
    shape::<copydesk::ClientMarkers>(),
    shape::<copydesk::ServerMarkers>(),
    shape::<copydesk::MetaKeys>(),
    shape::<copydesk::RequestFailure>(),
];

const fn request<P: JsonSchema, R: JsonSchema>(
    sender: Sender,
    name: &'static str,
    doc: &'static str,
) -> Method {
    Method { name, sender, params: shape::<P>(), result: Some(shape::<R>()), doc }
}

const fn notification<P: JsonSchema>(
    sender: Sender,
    name: &'static str,
    doc: &'static str,
) -> Method {
    Method { name, sender, params: shape::<P>(), result: None, doc }
}

const fn shape<T: JsonSchema>() -> Shape {
    Shape { name: T::schema_name, schema: SchemaGenerator::subschema_for::<T> }
}
