//! The `copydesk/*` messages: camelCase, LSP places, open enums, `_meta` everywhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::acp::ContentBlock;

/// The version of the `copydesk/*` extension, exchanged at `initialize`.
pub const PROTOCOL_VERSION: u32 = 1;

/// Free-form data beside any message.
pub type Meta = Map<String, Value>;

/// No parameters, or a result that says only that it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Empty {}

/// A zero-based place in a document, in the position encoding negotiated at `initialize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Position {
    /// Zero-based line.
    pub line: u32,
    /// Zero-based column in units of the negotiated encoding.
    pub character: u32,
}

/// A half-open range of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// First position inside.
    pub start: Position,
    /// First position outside.
    pub end: Position,
}

/// What the client can do beyond LSP: `capabilities.experimental.copydesk` of `initialize`.
/// An absent marker means that plain LSP is used for the thing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientMarkers {
    /// The version the client speaks.
    pub protocol_version: u32,
    /// Answers `session/request_permission`.
    pub permission: Option<Meta>,
    /// Answers `elicitation/create` in form mode.
    pub elicitation: Option<Meta>,
    /// Answers `copydesk/editor/save`.
    pub save: Option<Meta>,
    /// Answers `copydesk/editor/diagnostics`.
    pub diagnostics: Option<Meta>,
    /// Answers `copydesk/editor/request`.
    pub language_request: Option<Meta>,
    /// Sends `copydesk/editor/didChangeState`.
    pub editor_state: Option<Meta>,
    /// Draws pending hunks itself from `copydesk/review/didChange`.
    pub review: Option<Meta>,
    /// Answers `copydesk/editor/notebookEdit`.
    pub notebook: Option<Meta>,
}

/// What the server offers: `capabilities.experimental.copydesk` of the `initialize` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerMarkers {
    /// The version of `copydesk/*` the server speaks.
    pub protocol_version: u32,
    /// The server's own version.
    pub version: String,
    /// ACP v2 session capabilities.
    pub session: Value,
    /// Answers `copydesk/job/*` and `terminal/cancel`.
    pub jobs: Option<Meta>,
}

/// A password that a program on a terminal waits for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretInput {
    /// The terminal.
    pub job_id: String,
    /// What the program asks.
    pub prompt: String,
}

/// What ACP's messages carry in `_meta.copydesk`; each key is optional.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MetaKeys {
    /// On the parameters of `session/update`: counts up by one in each session, so a client sees
    /// a gap.
    pub seq: Option<u64>,
    /// On a card's location that has no path on disk: the document's URI; the path is for display.
    pub uri: Option<String>,
    /// On a card whose arguments still arrive: characters so far.
    pub received: Option<u64>,
    /// On a card that waits for the person's review: its hunks that are still pending.
    pub review: Option<u32>,
    /// On a card: a program on a terminal waits for a password, which is the person's to give by
    /// `copydesk/job/write`. A later `_meta.copydesk` of the card without it says that the program
    /// waits no more.
    pub secret_input: Option<SecretInput>,
    /// On the parameters of `session/request_permission`: names the question in
    /// `copydesk/request/resolved` and in the commands `copydesk.approve` and `copydesk.deny`.
    pub request_id: Option<String>,
    /// On a hunk of `copydesk/review/didChange`: its texts are only their beginnings.
    pub cut: Option<bool>,
    /// On a file of `copydesk/review/didChange`: how many hunks it has beside those listed.
    pub omitted: Option<u64>,
    /// On the offer to save files before a command: their names.
    pub files: Option<Vec<String>>,
    /// On a permission option: the rule it would remember, or several. On the answer's outcome: the rule to
    /// remember instead.
    pub rule: Option<String>,
    /// On the answer's outcome, with any option: what the person says to the model.
    pub feedback: Option<String>,
    /// On the answer's outcome: the whole changed input of the tool; it is judged again.
    pub input: Option<Value>,
    /// On the parameters of `session/prompt`: `queue` (default) waits for the running turn, `steer`
    /// joins it at its next model request, `interrupt` cancels it first.
    pub delivery: Option<String>,
    /// On a `session_info_update`: the conversation was taken back to just before this prompt; drop
    /// it and everything after it. What follows is added as always.
    pub rewound: Option<String>,
    /// On the parameters of `session/cancel`: `turn` (default), or `turnAndJobs` or `all` to end
    /// background jobs too.
    pub scope: Option<String>,
}

/// `copydesk/tool/list` parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolListParams {
    /// The session whose tools are listed, as its model sees them; absent: every tool under its
    /// canonical name.
    pub session_id: Option<String>,
    /// The dialect to show them in; absent: the session's own.
    pub dialect: Option<String>,
}

/// `copydesk/tool/list` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolListResult {
    /// Every tool the session can call.
    pub tools: Vec<ToolInfo>,
}

/// One tool as the model sees it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInfo {
    /// The name in the dialect.
    pub name: String,
    /// The name that rules, hooks and logs use.
    pub canonical_name: String,
    /// What the model reads.
    pub description: String,
    /// JSON Schema of the input.
    pub input_schema: Value,
    /// ACP tool kind (`read`, `edit`, `search`, `execute`, …).
    pub kind: String,
    /// Whether only the name is shown until the tool is loaded.
    pub deferred: bool,
}

/// `copydesk/tool/call` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallParams {
    /// The session the call belongs to; absent: the person's own session of the workspace.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Canonical name or an alias.
    pub name: String,
    /// The tool's input.
    #[serde(default)]
    pub input: Value,
    /// The dialect whose names and fields the call uses, and whose formats the result has; absent:
    /// the canonical ones.
    #[serde(default)]
    pub dialect: Option<String>,
}

/// `copydesk/tool/call` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallResult {
    /// What the model would read.
    pub content: Vec<ContentBlock>,
    /// Whether the tool failed, was denied or rejected.
    pub is_error: bool,
    /// The id of the card.
    pub tool_call_id: String,
}

/// Names one tool call of a session: `copydesk/toolCall/cancel` and `copydesk/toolCall/background`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallRef {
    /// The session.
    pub session_id: String,
    /// The card's id.
    pub tool_call_id: String,
}

/// `copydesk/toolCall/background` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundResult {
    /// The job the command became.
    pub job_id: String,
}

/// `copydesk/editor/save` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SaveParams {
    /// Documents to save.
    pub uris: Vec<String>,
}

/// `copydesk/editor/save` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SaveResult {
    /// One entry a document.
    pub results: Vec<SavedDocument>,
}

/// What became of one document that was to be saved.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SavedDocument {
    /// The document.
    pub uri: String,
    /// Whether it is on disk now.
    pub saved: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `copydesk/editor/notebookEdit` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotebookEditParams {
    /// The notebook, as it was opened by `notebookDocument/didOpen`.
    pub uri: String,
    /// Its version that the edits are for; at any other one they are refused.
    pub version: i32,
    /// A few words for the editor's undo list.
    pub label: String,
    /// The edits, of which no two overlap; places are those before all of them.
    pub edits: Vec<NotebookSplice>,
}

/// Cells that take the place of others.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotebookSplice {
    /// The index of the first cell that goes, or before which the new ones come.
    pub start: u32,
    /// How many go.
    pub delete_count: u32,
    /// What comes. Where as many come as go, each keeps the metadata of the one it replaces, and
    /// none of its outputs.
    pub cells: Vec<NotebookCellText>,
}

/// A cell as it is to be.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotebookCellText {
    /// `code` or `markdown`.
    pub kind: String,
    /// Its text, with `\n` between lines.
    pub text: String,
}

/// `copydesk/editor/notebookEdit` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotebookEditResult {
    /// Whether all edits were made. What became of them is seen by `notebookDocument/didChange`.
    pub applied: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}

/// `copydesk/editor/didChangeState` parameters: what only the editor knows of its documents.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EditorStateParams {
    /// Where the person is.
    pub active: Option<ActiveEditor>,
    /// All open documents.
    pub documents: Vec<DocumentState>,
}

/// The editor the person looks at.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveEditor {
    /// The document shown.
    pub uri: String,
    /// Selected ranges; an empty range is a cursor.
    #[serde(default)]
    pub selections: Vec<Range>,
    /// Ranges on screen.
    #[serde(default)]
    pub visible_ranges: Vec<Range>,
}

/// One open document. An entry holds for its version only.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentState {
    /// The document.
    pub uri: String,
    /// The version the entry speaks of.
    pub version: i32,
    /// Whether the editor holds unsaved text.
    #[serde(default)]
    pub dirty: bool,
    /// WHATWG label of the encoding the editor saves in.
    #[serde(default)]
    pub encoding: Option<String>,
    /// Whether a byte order mark is written.
    #[serde(default)]
    pub bom: bool,
    /// `lf`, `crlf`, `cr` or `mixed`.
    #[serde(default)]
    pub eol: Option<String>,
    /// Whether the text ends in a line ending.
    #[serde(default)]
    pub final_newline: bool,
    /// Whether the editor refuses changes.
    #[serde(default)]
    pub read_only: bool,
}

/// `copydesk/trust` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TrustParams {
    /// URI of the folder.
    pub root: String,
    /// Whether the person trusts it.
    pub trusted: bool,
}

/// `copydesk/request/resolved` parameters: a prompt was answered, close it elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestResolvedParams {
    /// `_meta.copydesk.requestId` of the prompt.
    pub request_id: String,
    /// `client`, `policy` or `cancel`.
    pub by: String,
    /// The option chosen, or `cancelled`.
    pub outcome: String,
}

/// `copydesk/status/didChange` parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusParams {
    /// `normal`, `warning` or `error`.
    pub kind: String,
    /// Whether a turn runs.
    pub busy: bool,
    /// One line for a status bar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Questions that wait for the person, and calls that wait for their review.
    pub pending_permissions: u32,
    /// Hunks waiting for the person.
    pub pending_hunks: u32,
}

/// `copydesk/status` result: the facts a health check prints.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusResult {
    /// The server's version.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// The log file.
    pub log_path: Option<String>,
    /// Configuration files read.
    pub config: Vec<String>,
    /// `provider/model` in use.
    pub model: Option<String>,
    /// Language servers started by us.
    pub language_servers: Vec<Value>,
    /// MCP servers.
    pub mcp_servers: Vec<Value>,
    /// Running jobs.
    pub jobs: Vec<Value>,
    /// Open sessions.
    pub sessions: Vec<Value>,
    /// Configuration errors and parts that did not start.
    pub problems: Vec<String>,
}

/// `copydesk/permission/list` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PermissionListResult {
    /// Remembered rules.
    pub rules: Vec<RememberedRule>,
}

/// One remembered rule.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RememberedRule {
    /// Names the rule for `copydesk/permission/remove`.
    pub id: String,
    /// The rule as written, e.g. `Bash(cargo test:*)`.
    pub rule: String,
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// `session`, `kept` (by "Always", for the folder), `local`, `project` or `user`.
    pub scope: String,
}

/// `copydesk/permission/remove` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PermissionRemoveParams {
    /// The rule's id.
    pub id: String,
}

/// `copydesk/session/export` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportParams {
    /// The session.
    pub session_id: String,
    /// `markdown` or `json`.
    pub format: String,
}

/// `copydesk/session/export` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExportResult {
    /// The whole conversation.
    pub content: String,
}

/// Why a request failed: `error.data` of every `copydesk` error.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RequestFailure {
    /// `stale`, `dirty-conflict`, `unrepresentable`, `outside-workspace`, `denied`, `too-large`,
    /// `binary`, `busy`, `not-found` or `invalid`.
    pub kind: String,
}
