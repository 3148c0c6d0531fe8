// Generated from the types of server/crates/protocol; do not edit.
// To write it anew: UPDATE_GENERATED=1 cargo test -p protocol
//
// Unions of objects are open: a newer server may send members that are not listed here.

export const PROTOCOL_VERSION = 1;

/** What a message carries beside its own fields. */
export type Meta = { copydesk?: MetaKeys; [key: string]: unknown };

/** An absolute filesystem path used by the protocol. */
export type AbsolutePath = string;

/** The editor the person looks at. */
export interface ActiveEditor {
  /** The document shown. */
  uri: string;
  /** Selected ranges; an empty range is a cursor. */
  selections?: Range[];
  /** Ranges on screen. */
  visibleRanges?: Range[];
}

/** An Agent message upsert. */
export interface AgentMessage {
  /** A unique identifier for the message. */
  messageId: MessageId;
  /** Complete replacement content for this message. */
  content?: ContentBlock[] | null;
  _meta?: Meta | null;
}

/** An Agent thought or reasoning message upsert. */
export interface AgentThought {
  /** A unique identifier for the thought message. */
  messageId: MessageId;
  /** Complete replacement content for this thought message. */
  content?: ContentBlock[] | null;
  _meta?: Meta | null;
}

/** Optional annotations for the Client. The Client can use annotations to inform how objects are used or displayed */
export interface Annotations {
  /** Intended recipients for this content, such as the user or assistant. */
  audience?: Role[] | null;
  /** Timestamp indicating when the underlying resource was last modified. */
  lastModified?: string | null;
  /** Relative importance of this content when Clients choose what to surface, from 0 (least important) to 1 (most important). */
  priority?: number | null;
  _meta?: Meta | null;
}

/** Audio provided to or from an LLM. */
export interface AudioContent {
  /** Base64-encoded media payload. */
  data: string;
  /** MIME type describing the encoded media payload. */
  mimeType: MediaType;
  /** Optional annotations that help Clients decide how to display or route this content. */
  annotations?: Annotations | null;
  _meta?: Meta | null;
}

/** A command the Agent advertises to the Client. */
export type AvailableCommand = ({ type: 'command' } & Command);

/** The input specification for a command. */
export type AvailableCommandInput = ({ type: 'text' } & TextCommandInput);

/** Available commands are ready or have changed */
export interface AvailableCommandsUpdate {
  /** Commands the Agent can execute. */
  availableCommands: AvailableCommand[];
  _meta?: Meta | null;
}

/** `copydesk/toolCall/background` result. */
export interface BackgroundResult {
  /** The job the command became. */
  jobId: string;
}

/** A listed subagent session associated with this session through `subagent_update`. */
export interface BackgroundSubagent {
  /** The ID of the listed session. */
  sessionId: SessionId;
  _meta?: Meta | null;
}

/** A listed terminal running in the background. */
export interface BackgroundTerminal {
  /** The ID of the listed terminal. */
  terminalId: TerminalId;
  _meta?: Meta | null;
}

/** A listed tool call whose work continues in the background. */
export interface BackgroundToolCall {
  /** The ID of the listed tool call. */
  toolCallId: ToolCallId;
  _meta?: Meta | null;
}

/** One piece of work running independently of the session's foreground work. */
export type BackgroundWork =
  | ({ type: 'terminal' } & BackgroundTerminal)
  | ({ type: 'tool_call' } & BackgroundToolCall)
  | ({ type: 'subagent' } & BackgroundSubagent);

/** Binary resource contents. */
export interface BlobResourceContents {
  /** Base64-encoded bytes for a binary resource payload. */
  blob: string;
  /** URI associated with this resource or media payload. */
  uri: string;
  /** MIME type describing the encoded media payload. */
  mimeType?: MediaType | null;
  _meta?: Meta | null;
}

/** Cancels the named session's active foreground work and earlier prompts not yet inserted. It does not cancel later submissions or work in the session's latest `background` list. */
export interface CancelSessionNotification {
  /** The ID of the session whose foreground work to cancel. */
  sessionId: SessionId;
  _meta?: Meta | null;
}

/** Request parameters for cancelling one terminal. */
export interface CancelTerminalRequest {
  /** The ID of the session that owns the terminal. */
  sessionId: SessionId;
  /** The ID of the terminal to cancel. */
  terminalId: TerminalId;
  _meta?: Meta | null;
}

/** Response from cancelling a terminal. */
export interface CancelTerminalResponse {
  _meta?: Meta | null;
}

/** Request parameters for cancelling one tool call. */
export interface CancelToolCallRequest {
  /** The ID of the session that owns the tool call. */
  sessionId: SessionId;
  /** The ID of the tool call to cancel. */
  toolCallId: ToolCallId;
  _meta?: Meta | null;
}

/** Response from cancelling a tool call. */
export interface CancelToolCallResponse {
  _meta?: Meta | null;
}

/** The request was not approved and no option was selected. */
export interface CancelledPermissionOutcome {
  _meta?: Meta | null;
}

/** The state just before a prompt. */
export interface Checkpoint {
  /** The prompt's `messageId`. */
  id: string;
  /** The prompt's first line. */
  label: string;
  /** Milliseconds since 1970. */
  time: number;
  /** URIs of the files the agent changed since. */
  files: string[];
}

/** `copydesk/checkpoint/list` parameters. */
export interface CheckpointListParams {
  /** An open session. */
  sessionId: string;
}

/** `copydesk/checkpoint/list` result. */
export interface CheckpointListResult {
  /** Oldest first. */
  checkpoints: Checkpoint[];
}

/** `copydesk/checkpoint/restore` parameters. */
export interface CheckpointRestoreParams {
  /** From `copydesk/checkpoint/list`. */
  checkpointId: string;
  /** Says what would happen; nothing does. */
  dryRun?: boolean;
}

/** What the client can do beyond LSP: `capabilities.experimental.copydesk` of `initialize`. An absent marker means that plain LSP is used for the thing. */
export interface ClientMarkers {
  /** The version the client speaks. */
  protocolVersion?: number;
  /** Answers `session/request_permission`. */
  permission?: Record<string, unknown> | null;
  /** Answers `elicitation/create` in form mode. */
  elicitation?: Record<string, unknown> | null;
  /** Answers `copydesk/editor/save`. */
  save?: Record<string, unknown> | null;
  /** Answers `copydesk/editor/diagnostics`. */
  diagnostics?: Record<string, unknown> | null;
  /** Answers `copydesk/editor/request`. */
  languageRequest?: Record<string, unknown> | null;
  /** Sends `copydesk/editor/didChangeState`. */
  editorState?: Record<string, unknown> | null;
  /** Draws pending hunks itself from `copydesk/review/didChange`. */
  review?: Record<string, unknown> | null;
  /** Answers `copydesk/editor/notebookEdit`. */
  notebook?: Record<string, unknown> | null;
}

/** Request parameters for closing an active session. */
export interface CloseSessionRequest {
  /** The ID of the session to close. */
  sessionId: SessionId;
  _meta?: Meta | null;
}

/** Response from closing a session. */
export interface CloseSessionResponse {
  _meta?: Meta | null;
}

/** A slash command the user can invoke by including it in a prompt. */
export interface Command {
  /** Command name without the leading `/` (e.g., `create_plan`, `research_codebase`). */
  name: string;
  /** Human-readable description of what the command does. */
  description: string;
  /** Input for the command if required */
  input?: AvailableCommandInput | null;
  _meta?: Meta | null;
}

/** Permission request details for a command. */
export interface CommandPermissionSubject {
  /** The command that would be run if permission is granted. */
  command: string;
  /** The absolute working directory for the command. */
  cwd: AbsolutePath;
  /** The associated tool call, when known. Omitted and `null` are equivalent. */
  toolCallId?: ToolCallId | null;
  /** The associated terminal, when already known. Omitted and `null` are equivalent. */
  terminalId?: TerminalId | null;
  _meta?: Meta | null;
}

/** Unique identifier for a context compaction within a session. */
export type CompactionId = string;

/** Lifecycle state of a context compaction. */
export type CompactionStatus =
  | 'in_progress'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | (string & {});

/** A content block appended to a compaction's summary. A first-seen ID creates an in-progress compaction. Chunks append in receive order. */
export interface CompactionSummaryChunk {
  /** ID of the compaction whose summary receives this content. */
  compactionId: CompactionId;
  /** One content block to append. */
  content: ContentBlock;
  _meta?: Meta | null;
}

/** A context compaction upsert. The first notification fixes the compaction's timeline position. Later updates with the same ID patch that entity in place. */
export interface CompactionUpdate {
  /** The Agent-owned ID of this compaction, unique within the session. */
  compactionId: CompactionId;
  /** Current lifecycle status. */
  status?: CompactionStatus | null;
  /** Complete replacement user-displayable summary content for the compaction. */
  summary?: ContentBlock[] | null;
  /** Human-readable error details for the compaction. */
  error?: string | null;
  _meta?: Meta | null;
}

/** Session configuration options have been updated. */
export interface ConfigOptionUpdate {
  /** The full set of configuration options and their current values. */
  configOptions: SessionConfigOption[];
  _meta?: Meta | null;
}

/** Standard content block (text, images, resources). */
export interface Content {
  /** The actual content block. */
  content: ContentBlock;
  _meta?: Meta | null;
}

/** Content blocks represent displayable information in the Agent Client Protocol. */
export type ContentBlock =
  | ({ type: 'text' } & TextContent)
  | ({ type: 'image' } & ImageContent)
  | ({ type: 'audio' } & AudioContent)
  | ({ type: 'resource_link' } & ResourceLink)
  | ({ type: 'resource' } & EmbeddedResource);

/** A streamed item of message content. */
export interface ContentChunk {
  /** A unique identifier for the message this chunk belongs to. */
  messageId: MessageId;
  /** A single item of content */
  content: ContentBlock;
  _meta?: Meta | null;
}

/** Cost information for a session. */
export interface Cost {
  /** Total cumulative cost for session. */
  amount: number;
  /** Unit of `amount`: an ISO 4217 currency code (e.g., "USD", "EUR") for money, or another unit such as "credits". */
  currency: string;
  _meta?: Meta | null;
}

/** Request parameters for deleting an existing session from `session/list`. */
export interface DeleteSessionRequest {
  /** The ID of the session to delete. */
  sessionId: SessionId;
  _meta?: Meta | null;
}

/** Response from deleting a session. */
export interface DeleteSessionResponse {
  _meta?: Meta | null;
}

/** File changes produced by a tool call. */
export interface Diff {
  /** Structured file changes described by this diff. Agents MUST include at least one entry. */
  changes: DiffChange[];
  /** Renderable patch text for some or all of the structured changes. */
  patch?: DiffPatch | null;
  _meta?: Meta | null;
}

/** One file-level change described by a `Diff`. */
export type DiffChange = { fileType?: DiffFileType | null; mimeType?: MediaType | null; _meta?: Meta | null } & (({ operation: 'add' } & DiffPathChange) | ({ operation: 'delete' } & DiffPathChange) | ({ operation: 'modify' } & DiffPathChange) | ({ operation: 'move' } & DiffPathPairChange) | ({ operation: 'copy' } & DiffPathPairChange));

/** Kind of file content represented by a diff change. */
export type DiffFileType =
  | 'text'
  | 'binary'
  | 'directory'
  | 'symlink'
  | (string & {});

/** Renderable patch text and its format. */
export interface DiffPatch {
  /** Patch format. The only ACP-defined value is `git_patch`. */
  format: DiffPatchFormat;
  /** Patch text in the format named by `format`. */
  text: string;
  _meta?: Meta | null;
}

/** Text patch format used by `DiffPatch`. */
export type DiffPatchFormat = 'git_patch' | (string & {});

/** Operation metadata for add, delete, and modify changes. */
export interface DiffPathChange {
  /** Absolute path for the operation. */
  path: AbsolutePath;
}

/** Operation metadata for move and copy changes. */
export interface DiffPathPairChange {
  /** Absolute path before the operation. */
  oldPath: AbsolutePath;
  /** Absolute path after the operation. */
  path: AbsolutePath;
}

/** One open document. An entry holds for its version only. */
export interface DocumentState {
  /** The document. */
  uri: string;
  /** The version the entry speaks of. */
  version: number;
  /** Whether the editor holds unsaved text. */
  dirty?: boolean;
  /** WHATWG label of the encoding the editor saves in. */
  encoding?: string | null;
  /** Whether a byte order mark is written. */
  bom?: boolean;
  /** `lf`, `crlf`, `cr` or `mixed`. */
  eol?: string | null;
  /** Whether the text ends in a line ending. */
  finalNewline?: boolean;
  /** Whether the editor refuses changes. */
  readOnly?: boolean;
}

/** `copydesk/editor/didChangeState` parameters: what only the editor knows of its documents. */
export interface EditorStateParams {
  /** Where the person is. */
  active?: ActiveEditor | null;
  /** All open documents. */
  documents?: DocumentState[];
}

/** The contents of a resource, embedded into a prompt or tool call result. */
export interface EmbeddedResource {
  /** Embedded resource payload, either text or binary data. */
  resource: EmbeddedResourceResource;
  /** Optional annotations that help Clients decide how to display or route this content. */
  annotations?: Annotations | null;
  _meta?: Meta | null;
}

/** Resource content that can be embedded in a message. */
export type EmbeddedResourceResource =
  | TextResourceContents
  | BlobResourceContents;

/** No parameters, or a result that says only that it is done. */
export type Empty = Record<string, never>;

/** An environment variable to set when launching a process. */
export interface EnvVariable {
  /** The name of the environment variable. */
  name: string;
  /** The value to set for the environment variable. */
  value: string;
  _meta?: Meta | null;
}

/** JSON-RPC error object. */
export interface Error {
  /** A number indicating the error type that occurred. This MUST be an integer as defined in the JSON-RPC specification. */
  code: ErrorCode;
  /** A string providing a short description of the error. The message SHOULD be limited to a concise single sentence. */
  message: string;
  /** Optional primitive or structured value that contains additional information about the error. This may include debugging information or context-specific details. */
  data?: unknown;
}

/** Predefined error codes for common JSON-RPC and ACP-specific errors. */
export type ErrorCode =
  | -32700
  | -32600
  | -32601
  | -32602
  | -32603
  | -32800
  | -32000
  | -32002
  | -32022
  | (string & {});

/** Schema for the `data` field of an error: the shapes ACP defines, or any other value. */
export type ErrorData = unknown;

/** Details of a failure that ended active work. */
export interface ErrorStopReason {
  /** The failure, as a JSON-RPC error object. */
  error?: Error | null;
}

/** `copydesk/session/export` parameters. */
export interface ExportParams {
  /** The session. */
  sessionId: string;
  /** `markdown` or `json`. */
  format: string;
}

/** `copydesk/session/export` result. */
export interface ExportResult {
  /** The whole conversation. */
  content: string;
}

/** `copydesk/session/fork` parameters. */
export interface ForkParams {
  /** An open session. */
  sessionId: string;
  /** The new session ends before this prompt, or with this message of the agent's; absent: it has all. */
  messageId?: string | null;
}

/** `copydesk/session/fork` result. */
export interface ForkResult {
  /** The new session; it is open. */
  sessionId: string;
}

/** An HTTP header to set when making requests to the MCP server. */
export interface HttpHeader {
  /** The name of the HTTP header. */
  name: string;
  /** The value to set for the HTTP header. */
  value: string;
  _meta?: Meta | null;
}

/** One change of the agent's that waits for the person. */
export interface Hunk {
  /** Names the hunk while it is pending. */
  hunkId: string;
  /** The document. */
  uri: string;
  /** The version `range` holds for; null for a file that is not open. */
  version?: number | null;
  /** Where it is in the text that `copydesk/review/base` gives. */
  baseRange: Range;
  /** Where it is in the document. */
  range: Range;
  /** The text without it. */
  oldText: string;
  /** The text with it. */
  newText: string;
  /** `pending`, or `conflict` where the person wrote inside it. */
  state: string;
  /** `agent`, or `mixed` where the person changed something inside it. */
  author: string;
  /** The session that touched it last. */
  sessionId: string;
  /** The calls it comes from. */
  toolCallIds: string[];
  _meta?: Meta | null;
}

/** An optionally-sized icon that can be displayed in a user interface. */
export interface Icon {
  /** A standard URI pointing to an icon resource. May be an HTTP/HTTPS URL or a `data:` URI with Base64-encoded image data. */
  src: string;
  /** Optional MIME type override if the source MIME type is missing or generic. */
  mimeType?: MediaType | null;
  /** Optional array of strings that specify sizes at which the icon can be used. Each string SHOULD be in `WxH` format (e.g., `"48x48"`, `"96x96"`) or `"any"` for scalable formats like SVG. */
  sizes?: string[] | null;
  /** Optional theme this icon is designed for. */
  theme?: IconTheme | null;
  _meta?: Meta | null;
}

/** Theme an icon is designed for. */
export type IconTheme =
  | 'light'
  | 'dark'
  | (string & {});

/** A key the Client generates to identify one `session/prompt` submission across attempts. */
export type IdempotencyKey = string;

/** No foreground work is active. Background activity may continue. */
export type IdleStateUpdate = { usage?: Usage | null; background?: BackgroundWork[] | null; _meta?: Meta | null; stopReason?: string | null } & ({ stopReason: 'end_turn' } | { stopReason: 'max_tokens' } | { stopReason: 'max_turn_requests' } | { stopReason: 'refusal' } | { stopReason: 'cancelled' } | ({ stopReason: 'error' } & ErrorStopReason) | { stopReason?: null });

/** An image provided to or from an LLM. */
export interface ImageContent {
  /** Base64-encoded media payload. */
  data: string;
  /** MIME type describing the encoded media payload. */
  mimeType: MediaType;
  /** URI associated with this resource or media payload. */
  uri?: string | null;
  /** Optional annotations that help Clients decide how to display or route this content. */
  annotations?: Annotations | null;
  _meta?: Meta | null;
}

/** One job. */
export interface JobInfo {
  /** `job-N`, or `term-N` for a program on a terminal. */
  jobId: string;
  /** Its session. */
  sessionId: string;
  /** The card of the call that started it. */
  toolCallId: string;
  /** The terminal whose output `session/update` carries. */
  terminalId: string;
  /** What it is called. */
  label: string;
  /** The command. */
  command: string;
  /** `running`, `stopping`, `completed`, `failed`, `timed_out`, `stopped`, `killed` or `lost`. */
  status: string;
  /** Its process id. */
  pid: number;
  /** Milliseconds since its start, until its end. */
  elapsedMs: number;
  /** Milliseconds since its last output. */
  quietMs: number;
  /** Milliseconds until it is ended. */
  deadlineLeftMs?: number | null;
  /** How it exited. */
  exitCode?: number | null;
  /** The signal that ended it. */
  signal?: string | null;
  /** Why it is being, or was, ended. */
  reason?: string | null;
  /** Some of its processes could not be shown to have ended. */
  unconfirmed: boolean;
  /** Whether it is a terminal, which takes input and has a size. */
  takesInput: boolean;
  /** Columns of a terminal that runs. */
  cols?: number | null;
  /** Rows of a terminal that runs. */
  rows?: number | null;
  /** What its program asks, if it waits for a password. */
  secretPrompt?: string | null;
}

/** `copydesk/job/kill` result. */
export interface JobKillResult {
  /** `stopped`, `stopping`, `unconfirmed`, or how it had ended already. */
  status: string;
}

/** `copydesk/job/list` parameters. */
export interface JobListParams {
  /** The session; absent: all that are open, the person's own included. */
  sessionId?: string | null;
}

/** `copydesk/job/list` result. */
export interface JobListResult {
  /** Running ones, and ended ones as far as they are kept, in the order of their start. */
  jobs: JobInfo[];
}

/** `copydesk/job/read` parameters. */
export interface JobReadParams {
  /** Its session; absent: the person's own. */
  sessionId?: string | null;
  /** `job-N` or `term-N`, also of a command that has ended and was too long to be shown whole. */
  jobId: string;
  /** The first byte. */
  offset?: number;
  /** Bytes at most; 32,768 unless given, and never more than that. */
  limit?: number | null;
}

/** `copydesk/job/read` result. */
export interface JobReadResult {
  /** The raw bytes, base64. */
  data: string;
  /** Where they begin. */
  offset: number;
  /** Where the next page begins; the end when it equals `total`. */
  next: number;
  /** Bytes kept so far. */
  total: number;
  /** Whether more may come. */
  running: boolean;
}

/** Names one job: `copydesk/job/kill`. */
export interface JobRef {
  /** Its session; absent: the person's own. */
  sessionId?: string | null;
  /** `job-N` or `term-N`; a command in the foreground goes by its `term-N`. */
  jobId: string;
}

/** `copydesk/job/resize` parameters. */
export interface JobResizeParams {
  /** Its session; absent: the person's own. */
  sessionId?: string | null;
  /** The terminal. */
  jobId: string;
  /** Columns, 2 to 300. */
  cols: number;
  /** Rows, 1 to 120. */
  rows: number;
}

/** `copydesk/job/write` parameters. */
export interface JobWriteParams {
  /** Its session; absent: the person's own. */
  sessionId?: string | null;
  /** The terminal. */
  jobId: string;
  /** What the person typed, as a terminal sends it: the enter key is a carriage return. */
  text: string;
}

/** Request parameters for listing existing sessions. */
export interface ListSessionsRequest {
  /** Filter sessions by working directory. Must be an absolute path. */
  cwd?: AbsolutePath | null;
  /** Opaque cursor token from a previous response's nextCursor field for cursor-based pagination */
  cursor?: SessionListCursor | null;
  _meta?: Meta | null;
}

/** Response from listing sessions. */
export interface ListSessionsResponse {
  /** Array of session information objects. */
  sessions: SessionInfo[];
  /** Opaque cursor token. If present, pass this in the next request's cursor parameter to fetch the next page. Omitted and `null` are equivalent and mean there are no more results. An empty string is a valid cursor, not the end of results. */
  nextCursor?: SessionListCursor | null;
  _meta?: Meta | null;
}

/** Configuration for connecting to an MCP (Model Context Protocol) server. */
export type McpServer =
  | ({ type: 'http' } & McpServerHttp)
  | ({ type: 'stdio' } & McpServerStdio);

/** HTTP transport configuration for MCP. */
export interface McpServerHttp {
  /** Human-readable name identifying this MCP server. MUST be unique within `mcpServers`. */
  name: string;
  /** URL to the MCP server. */
  url: string;
  /** HTTP headers to set when making requests to the MCP server. Headers the MCP transport defines are owned by the transport, and Agents use the transport's values for them. */
  headers?: HttpHeader[];
  _meta?: Meta | null;
}

/** Stdio transport configuration for MCP. */
export interface McpServerStdio {
  /** Human-readable name identifying this MCP server. MUST be unique within `mcpServers`. */
  name: string;
  /** Path to the MCP server executable. Must be an absolute path. */
  command: AbsolutePath;
  /** Command-line arguments to pass to the MCP server. */
  args?: string[];
  /** Environment variables to set when launching the MCP server. Names SHOULD be unique. Agents MAY reject duplicates with `-32602`, and otherwise the last entry wins. */
  env?: EnvVariable[];
  _meta?: Meta | null;
}

/** An Internet media type identifying the format of protocol content. */
export type MediaType = string;

/** Identifier for a message, unique among messages of the same type within a session. */
export type MessageId = string;

/** What ACP's messages carry in `_meta.copydesk`; each key is optional. */
export interface MetaKeys {
  /** On the parameters of `session/update`: counts up by one in each session, so a client sees a gap. */
  seq?: number | null;
  /** On a card's location that has no path on disk: the document's URI; the path is for display. */
  uri?: string | null;
  /** On a card whose arguments still arrive: characters so far. */
  received?: number | null;
  /** On a card that waits for the person's review: its hunks that are still pending. */
  review?: number | null;
  /** On a card: a program on a terminal waits for a password, which is the person's to give by `copydesk/job/write`. A later `_meta.copydesk` of the card without it says that the program waits no more. */
  secretInput?: SecretInput | null;
  /** On the parameters of `session/request_permission`: names the question in `copydesk/request/resolved` and in the commands `copydesk.approve` and `copydesk.deny`. */
  requestId?: string | null;
  /** On a hunk of `copydesk/review/didChange`: its texts are only their beginnings. */
  cut?: boolean | null;
  /** On a file of `copydesk/review/didChange`: how many hunks it has beside those listed. */
  omitted?: number | null;
  /** On the offer to save files before a command: their names. */
  files?: string[] | null;
  /** On a permission option: the rule it would remember, or several. On the answer's outcome: the rule to remember instead. */
  rule?: string | null;
  /** On the answer's outcome, with any option: what the person says to the model. */
  feedback?: string | null;
  /** On the answer's outcome: the whole changed input of the tool; it is judged again. */
  input?: unknown;
  /** On the parameters of `session/prompt`: `queue` (default) waits for the running turn, `steer` joins it at its next model request, `interrupt` cancels it first. */
  delivery?: string | null;
  /** On a `session_info_update`: the conversation was taken back to just before this prompt; drop it and everything after it. What follows is added as always. */
  rewound?: string | null;
  /** On the parameters of `session/cancel`: `turn` (default), or `turnAndJobs` or `all` to end background jobs too. */
  scope?: string | null;
}

/** Request parameters for creating a new session. */
export interface NewSessionRequest {
  /** The working directory for this session. Must be an absolute path. */
  cwd: AbsolutePath;
  /** Additional workspace roots for this session. Each path MUST be absolute. */
  additionalDirectories?: AbsolutePath[];
  /** List of MCP (Model Context Protocol) servers for the Agent to connect to. */
  mcpServers?: McpServer[];
  /** System-level instructions for the new session. */
  systemPrompt?: SystemPrompt | null;
  _meta?: Meta | null;
}

/** Response from creating a new session. */
export interface NewSessionResponse {
  /** Unique identifier for the created session. */
  sessionId: SessionId;
  /** Initial session configuration options. */
  configOptions?: SessionConfigOption[];
  /** Initial commands the Agent can execute in this session. */
  availableCommands?: AvailableCommand[];
  _meta?: Meta | null;
}

/** A cell as it is to be. */
export interface NotebookCellText {
  /** `code` or `markdown`. */
  kind: string;
  /** Its text, with `\n` between lines. */
  text: string;
}

/** `copydesk/editor/notebookEdit` parameters. */
export interface NotebookEditParams {
  /** The notebook, as it was opened by `notebookDocument/didOpen`. */
  uri: string;
  /** Its version that the edits are for; at any other one they are refused. */
  version: number;
  /** A few words for the editor's undo list. */
  label: string;
  /** The edits, of which no two overlap; places are those before all of them. */
  edits: NotebookSplice[];
}

/** `copydesk/editor/notebookEdit` result. */
export interface NotebookEditResult {
  /** Whether all edits were made. What became of them is seen by `notebookDocument/didChange`. */
  applied: boolean;
  /** Why not. */
  failureReason?: string | null;
}

/** Cells that take the place of others. */
export interface NotebookSplice {
  /** The index of the first cell that goes, or before which the new ones come. */
  start: number;
  /** How many go. */
  deleteCount: number;
  /** What comes. Where as many come as go, each keeps the metadata of the one it replaces, and none of its outputs. */
  cells: NotebookCellText[];
}

/** Fire-and-forget information for the user. */
export interface Notice {
  /** Presentation severity hint. */
  severity: NoticeSeverity;
  /** Required non-empty plain-text title that can stand alone. */
  title: string;
  /** Optional plain-text detail or guidance. */
  description?: string | null;
  _meta?: Meta | null;
}

/** Severity hint for a session notice. */
export type NoticeSeverity =
  | 'info'
  | 'warning'
  | 'error'
  | (string & {});

/** `copydesk/permission/list` result. */
export interface PermissionListResult {
  /** Remembered rules. */
  rules: RememberedRule[];
}

/** An option presented to the user when requesting permission. */
export interface PermissionOption {
  /** Identifier for this permission option. MUST be unique within the request. */
  optionId: PermissionOptionId;
  /** Human-readable label to display to the user. */
  name: string;
  /** What selecting this option means. Clients can also use it to choose how to display the option. */
  kind: PermissionOptionKind;
  _meta?: Meta | null;
}

/** Unique identifier for a permission option. */
export type PermissionOptionId = string;

/** The type of permission option being presented to the user. */
export type PermissionOptionKind =
  | 'allow_once'
  | 'allow_always'
  | 'reject_once'
  | 'reject_always'
  | (string & {});

/** `copydesk/permission/remove` parameters. */
export interface PermissionRemoveParams {
  /** The rule's id. */
  id: string;
}

/** A single entry in the execution plan. */
export interface PlanEntry {
  /** Human-readable description of what this task aims to accomplish. May contain Markdown. */
  content: string;
  /** The relative importance of this task. Used to indicate which tasks are most critical to the overall goal. */
  priority: PlanEntryPriority;
  /** Current execution status of this task. */
  status: PlanEntryStatus;
  _meta?: Meta | null;
}

/** Priority levels for plan entries. */
export type PlanEntryPriority =
  | 'high'
  | 'medium'
  | 'low'
  | (string & {});

/** Status of a plan entry in the execution flow. */
export type PlanEntryStatus =
  | 'pending'
  | 'in_progress'
  | 'completed'
  | 'cancelled'
  | (string & {});

/** Unique identifier for a plan within a session. */
export type PlanId = string;

/** A plan represented as structured entries. */
export interface PlanItems {
  /** The plan ID to update. */
  planId: PlanId;
  /** The list of tasks to be accomplished. */
  entries: PlanEntry[];
  _meta?: Meta | null;
}

/** A plan represented as Markdown. */
export interface PlanMarkdown {
  /** The plan ID to update. */
  planId: PlanId;
  /** The complete plan as Markdown, not just the text that changed. */
  content: string;
  /** The absolute path of the file that holds this plan. */
  path?: AbsolutePath | null;
  _meta?: Meta | null;
}

/** Removal notice for a plan identified by ID. */
export interface PlanRemoved {
  /** The plan ID to remove. Clients MUST ignore a removal for an unknown ID. */
  planId: PlanId;
  _meta?: Meta | null;
}

/** A content update for a plan identified by ID. */
export interface PlanUpdate {
  /** Replaces the whole plan with this `planId`, even if its `type` changes. */
  plan: PlanUpdateContent;
  _meta?: Meta | null;
}

/** Updated content for a plan. */
export type PlanUpdateContent =
  | ({ type: 'items' } & PlanItems)
  | ({ type: 'markdown' } & PlanMarkdown);

/** A zero-based place in a document, in the position encoding negotiated at `initialize`. */
export interface Position {
  /** Zero-based line. */
  line: number;
  /** Zero-based column in units of the negotiated encoding. */
  character: number;
}

/** Request parameters for sending a user prompt to the Agent. */
export interface PromptRequest {
  /** The ID of the session to send this user message to */
  sessionId: SessionId;
  /** The blocks of content that compose the user's message. */
  prompt: ContentBlock[];
  /** Identifies one prompt submission within this session. */
  idempotencyKey?: IdempotencyKey | null;
  _meta?: Meta | null;
}

/** Response acknowledging that a user prompt was inserted into the ACP conversation. */
export interface PromptResponse {
  /** Identifies the user message inserted into the ACP conversation. */
  messageId: MessageId;
  _meta?: Meta | null;
}

/** Protocol version identifier. */
export type ProtocolVersion = number;

/** A half-open range of a document. */
export interface Range {
  /** First position inside. */
  start: Position;
  /** First position outside. */
  end: Position;
}

/** One remembered rule. */
export interface RememberedRule {
  /** Names the rule for `copydesk/permission/remove`. */
  id: string;
  /** The rule as written, e.g. `Bash(cargo test:*)`. */
  rule: string;
  /** `allow`, `ask` or `deny`. */
  decision: string;
  /** `session`, `kept` (by "Always", for the folder), `local`, `project` or `user`. */
  scope: string;
}

/** Marks the end of the history replay requested by `session/resume`. */
export interface ReplayComplete {
  _meta?: Meta | null;
}

/** Inclusive cursor describing where replayed session history begins. */
export type ReplayFrom = ({ type: 'start' } & ReplayFromStart);

/** Inclusive replay cursor requesting replay from the start of retained conversation history. */
export interface ReplayFromStart {
  _meta?: Meta | null;
}

/** Why a request failed: `error.data` of every `copydesk` error. */
export interface RequestFailure {
  /** `stale`, `dirty-conflict`, `unrepresentable`, `outside-workspace`, `denied`, `too-large`, `binary`, `busy`, `not-found` or `invalid`. */
  kind: string;
}

/** The outcome of a permission request. */
export type RequestPermissionOutcome =
  | ({ outcome: 'cancelled' } & CancelledPermissionOutcome)
  | ({ outcome: 'selected' } & SelectedPermissionOutcome);

/** Request for user permission to proceed with an operation. */
export interface RequestPermissionRequest {
  /** The session ID for this request. */
  sessionId: SessionId;
  /** Human-readable title for the permission prompt. */
  title: string;
  /** Optional human-readable explanation of why permission is needed. */
  description?: string | null;
  /** Optional structured context about the operation requiring permission. */
  subject?: RequestPermissionSubject | null;
  /** Available permission options for the user to choose from. Must contain at least one option. */
  options: PermissionOption[];
  _meta?: Meta | null;
}

/** Response to a permission request. */
export interface RequestPermissionResponse {
  /** The user's decision on the permission request. */
  outcome: RequestPermissionOutcome;
  _meta?: Meta | null;
}

/** The operation requiring permission. */
export type RequestPermissionSubject =
  | ({ type: 'tool_call' } & ToolCallPermissionSubject)
  | ({ type: 'command' } & CommandPermissionSubject);

/** `copydesk/request/resolved` parameters: a prompt was answered, close it elsewhere. */
export interface RequestResolvedParams {
  /** `_meta.copydesk.requestId` of the prompt. */
  requestId: string;
  /** `client`, `policy` or `cancel`. */
  by: string;
  /** The option chosen, or `cancelled`. */
  outcome: string;
}

/** The foreground workflow as a whole is blocked on user action. */
export interface RequiresActionStateUpdate {
  /** Work running independently of foreground work, as a complete snapshot. */
  background?: BackgroundWork[] | null;
  _meta?: Meta | null;
}

/** A link to a resource that the receiver may be able to read, included in a prompt or tool call result. */
export interface ResourceLink {
  /** Human-readable name shown for this protocol object. */
  name: string;
  /** URI associated with this resource or media payload. */
  uri: string;
  /** Optional display title for end-user UI. */
  title?: string | null;
  /** Optional human-readable details shown with this protocol object. */
  description?: string | null;
  /** Optional set of sized icons that the Client can display in a user interface. */
  icons?: Icon[] | null;
  /** MIME type describing the encoded media payload. */
  mimeType?: MediaType | null;
  /** Optional size of the linked resource in bytes, if known. */
  size?: number | null;
  /** Optional annotations that help Clients decide how to display or route this content. */
  annotations?: Annotations | null;
  _meta?: Meta | null;
}

/** What is to be said of one file. */
export interface RestoreConflict {
  /** The file. */
  uri: string;
  /** In words, for the person. */
  reason: string;
}

/** Result of `copydesk/checkpoint/restore` and `copydesk/session/rewind`. */
export interface RestoreResult {
  /** URIs of the files that changed, or would. */
  files: string[];
  /** Files that are not wholly as they were before the prompt. */
  conflicts: RestoreConflict[];
  /** Takes it back: for `copydesk/review/undo`. Absent after a dry run. */
  undoToken?: string | null;
}

/** Request parameters for resuming an existing session. */
export interface ResumeSessionRequest {
  /** The ID of the session to resume. */
  sessionId: SessionId;
  /** The working directory for this session. Must be an absolute path. */
  cwd: AbsolutePath;
  /** Additional workspace roots to activate for this session. Each path MUST be absolute. */
  additionalDirectories?: AbsolutePath[];
  /** List of MCP servers to connect to for this session. */
  mcpServers?: McpServer[];
  /** Inclusive cursor describing where conversation replay begins. */
  replayFrom?: ReplayFrom | null;
  /** System-level instructions for the resumed session. */
  systemPrompt?: SystemPrompt | null;
  _meta?: Meta | null;
}

/** Response from resuming an existing session. */
export interface ResumeSessionResponse {
  /** Current session configuration options. */
  configOptions?: SessionConfigOption[];
  /** Current commands the Agent can execute in this session. */
  availableCommands?: AvailableCommand[];
  _meta?: Meta | null;
}

/** `copydesk/review/base` parameters. */
export interface ReviewBaseParams {
  /** The document. */
  uri: string;
}

/** `copydesk/review/base` result. */
export interface ReviewBaseResult {
  /** Its text without the pending changes. */
  text: string;
}

/** `copydesk/review/didChange` parameters. */
export interface ReviewChangedParams {
  /** Counts up with every change of the hunks. */
  rev: number;
  /** The files that changed. */
  files: ReviewFile[];
}

/** What is to be said of one hunk. */
export interface ReviewConflict {
  /** The hunk. */
  hunkId: string;
  /** In words, for the person. */
  reason: string;
}

/** A file with pending hunks. */
export interface ReviewFile {
  /** The document. */
  uri: string;
  /** `add`, `modify`, `delete` or `rename`. */
  change: string;
  /** Its name before a rename. */
  oldUri?: string | null;
  /** The version the ranges hold for; absent for a file that is not open. */
  version?: number | null;
  /** Its hunks, in the order of the text. */
  hunks: Hunk[];
  _meta?: Meta | null;
}

/** Hunks, by one of: `hunkId`; `uri`; `uri` and `range`; `sessionId`; `all`. */
export interface ReviewItem {
  /** One hunk. */
  hunkId?: string | null;
  /** All of a document, or those in `range`. */
  uri?: string | null;
  /** Only hunks that touch it. */
  range?: Range | null;
  /** All a session has a part in. */
  sessionId?: string | null;
  /** All. */
  all?: boolean | null;
}

/** `copydesk/review/list` parameters. */
export interface ReviewListParams {
  /** Only this document's. */
  uri?: string | null;
  /** Only those a session has a part in. */
  sessionId?: string | null;
}

/** `copydesk/review/list` result. */
export interface ReviewListResult {
  /** Counts up with every change of the hunks. */
  rev: number;
  /** Files with pending hunks. */
  files: ReviewFile[];
}

/** `copydesk/review/resolve` parameters. */
export interface ReviewResolveParams {
  /** `accept` or `reject`. */
  action: string;
  /** Which hunks. */
  items: ReviewItem[];
  /** Words for the agent. */
  comment?: string | null;
  /** Fails as stale when the hunks have changed since this revision. */
  expectedRev?: number | null;
}

/** `copydesk/review/resolve` result. */
export interface ReviewResolveResult {
  /** The revision after it. */
  rev: number;
  /** The hunks that were decided on. */
  resolved: string[];
  /** Hunks that could not be decided on, and decided ones that kept text of the person's. */
  conflicts: ReviewConflict[];
  /** Takes the decision back. Absent where there is nothing to take back. */
  undoToken?: string | null;
}

/** `copydesk/review/undo` parameters. */
export interface ReviewUndoParams {
  /** From the result of the decision. */
  undoToken: string;
}

/** `copydesk/review/undo` result. */
export interface ReviewUndoResult {
  /** The revision after it. */
  rev: number;
}

/** `copydesk/session/rewind` parameters. */
export interface RewindParams {
  /** An open session. */
  sessionId: string;
  /** A prompt of the person's that was given to the model. */
  messageId: string;
  /** `conversation`, `files` or `both`. */
  scope: 'conversation' | 'files' | 'both';
  /** Says what would happen; nothing does. */
  dryRun?: boolean;
}

/** The sender or recipient of messages and data in a conversation. */
export type Role =
  | 'assistant'
  | 'user'
  | (string & {});

/** Foreground work is in progress. */
export interface RunningStateUpdate {
  /** Work running independently of foreground work, as a complete snapshot. */
  background?: BackgroundWork[] | null;
  _meta?: Meta | null;
}

/** `copydesk/editor/save` parameters. */
export interface SaveParams {
  /** Documents to save. */
  uris: string[];
}

/** `copydesk/editor/save` result. */
export interface SaveResult {
  /** One entry a document. */
  results: SavedDocument[];
}

/** What became of one document that was to be saved. */
export interface SavedDocument {
  /** The document. */
  uri: string;
  /** Whether it is on disk now. */
  saved: boolean;
  /** Why not. */
  reason?: string | null;
}

/** A password that a program on a terminal waits for. */
export interface SecretInput {
  /** The terminal. */
  jobId: string;
  /** What the program asks. */
  prompt: string;
}

/** Identifies the option the user chose, whether it allows or rejects the operation. */
export interface SelectedPermissionOutcome {
  /** The ID of the option the user selected from this request's `options`. */
  optionId: PermissionOptionId;
  _meta?: Meta | null;
}

/** What the server offers: `capabilities.experimental.copydesk` of the `initialize` result. */
export interface ServerMarkers {
  /** The version of `copydesk/*` the server speaks. */
  protocolVersion: number;
  /** The server's own version. */
  version: string;
  /** ACP v2 session capabilities. */
  session: unknown;
  /** Answers `copydesk/job/*` and `terminal/cancel`. */
  jobs?: Record<string, unknown> | null;
}

/** Capability to cancel work in a subagent session without ending that session. */
export interface SessionCancelCapabilities {
  _meta?: Meta | null;
}

/** A boolean on/off toggle session configuration option payload. */
export interface SessionConfigBoolean {
  /** The current value of the boolean option. */
  currentValue: boolean;
}

/** Unique identifier for a session configuration option value group. */
export type SessionConfigGroupId = string;

/** Unique identifier for a session configuration option. */
export type SessionConfigId = string;

/** A session configuration option selector and its current state. */
export type SessionConfigOption = { configId: SessionConfigId; name: string; description?: string | null; category?: SessionConfigOptionCategory | null; _meta?: Meta | null } & (({ type: 'select' } & SessionConfigSelect) | ({ type: 'boolean' } & SessionConfigBoolean));

/** Semantic category for a session configuration option. */
export type SessionConfigOptionCategory =
  | 'mode'
  | 'model'
  | 'model_config'
  | 'thought_level'
  | (string & {});

/** A single-value selector (dropdown) session configuration option payload. */
export interface SessionConfigSelect {
  /** The currently selected value. MUST be one of the `value`s in `options`. */
  currentValue: SessionConfigValueId;
  /** The set of selectable options. MUST contain at least one value, and each `value` MUST be unique within the option, including across groups. */
  options: SessionConfigSelectOptions;
}

/** A group of possible values for a session configuration option. */
export interface SessionConfigSelectGroup {
  /** Identifier for this group. MUST be unique within the option. */
  groupId: SessionConfigGroupId;
  /** Human-readable label for this group. */
  name: string;
  /** The set of option values in this group. MUST contain at least one value. */
  options: SessionConfigSelectOption[];
  _meta?: Meta | null;
}

/** A possible value for a session configuration option. */
export interface SessionConfigSelectOption {
  /** Unique identifier for this option value. */
  value: SessionConfigValueId;
  /** Human-readable label for this option value. */
  name: string;
  /** Optional description for this option value. */
  description?: string | null;
  _meta?: Meta | null;
}

/** Possible values for a session configuration option. */
export type SessionConfigSelectOptions =
  | SessionConfigSelectOption[]
  | SessionConfigSelectGroup[];

/** Unique identifier for a session configuration option value. */
export type SessionConfigValueId = string;

/** A unique identifier for a conversation session between a Client and Agent. */
export type SessionId = string;

/** Information about a session returned by session/list */
export interface SessionInfo {
  /** Unique identifier for the session */
  sessionId: SessionId;
  /** The working directory for this session. Must be an absolute path. */
  cwd: AbsolutePath;
  /** Additional workspace roots reported for this session. Each path MUST be absolute. */
  additionalDirectories?: AbsolutePath[];
  /** Human-readable title for the session */
  title?: string | null;
  /** RFC 3339 timestamp of last activity. */
  updatedAt?: string | null;
  _meta?: Meta | null;
}

/** Update to session metadata. All fields are optional to support partial updates. */
export interface SessionInfoUpdate {
  /** Human-readable title for the session. Set to null to clear. */
  title?: string | null;
  /** RFC 3339 timestamp of last activity. Set to null to clear. */
  updatedAt?: string | null;
  _meta?: Meta | null;
}

/** An opaque cursor used to paginate `session/list` results. */
export type SessionListCursor = string;

/** An upsert for an inter-session message. */
export interface SessionMessage {
  /** Identifier of this message within the enclosing session's transcript. */
  messageId: MessageId;
  /** The sending session. */
  senderSessionId?: SessionId | null;
  /** The receiving session. */
  recipientSessionId?: SessionId | null;
  /** On an incoming view, the `messageId` of the same message's outgoing view in the sender's transcript. */
  senderMessageId?: MessageId | null;
  /** On an outgoing view, the `messageId` of the same message's incoming view in the recipient's transcript. */
  recipientMessageId?: MessageId | null;
  /** Omitted leaves content unchanged. `null` clears it. A concrete array replaces the whole content collection. */
  content?: ContentBlock[] | null;
  _meta?: Meta | null;
}

/** A streamed content block of an inter-session message. */
export interface SessionMessageChunk {
  /** Identifier of this message within the enclosing session's transcript. */
  messageId: MessageId;
  /** A single content block appended to the message. */
  content: ContentBlock;
  _meta?: Meta | null;
}

/** Data for the `-32002` (Resource not found) error when a session-scoped request names a session that does not exist or is not active. */
export interface SessionNotFoundErrorData {
  /** The session ID from the request. */
  sessionId: SessionId;
  _meta?: Meta | null;
}

/** A display-only reference to another session that this tool call operates on, such as a subagent it created, delegated to, or is waiting on. */
export interface SessionReference {
  /** The referenced session. */
  sessionId: SessionId;
  _meta?: Meta | null;
}

/** Different types of updates that can be sent while a session exists. */
export type SessionUpdate =
  | ({ sessionUpdate: 'user_message_chunk' } & ContentChunk)
  | ({ sessionUpdate: 'user_message' } & UserMessage)
  | ({ sessionUpdate: 'agent_message_chunk' } & ContentChunk)
  | ({ sessionUpdate: 'agent_message' } & AgentMessage)
  | ({ sessionUpdate: 'agent_thought_chunk' } & ContentChunk)
  | ({ sessionUpdate: 'agent_thought' } & AgentThought)
  | ({ sessionUpdate: 'state_update' } & StateUpdate)
  | ({ sessionUpdate: 'tool_call_content_chunk' } & ToolCallContentChunk)
  | ({ sessionUpdate: 'tool_call_update' } & ToolCallUpdate)
  | ({ sessionUpdate: 'terminal_update' } & TerminalUpdate)
  | ({ sessionUpdate: 'terminal_output_chunk' } & TerminalOutputChunk)
  | ({ sessionUpdate: 'plan_update' } & PlanUpdate)
  | ({ sessionUpdate: 'plan_removed' } & PlanRemoved)
  | ({ sessionUpdate: 'available_commands_update' } & AvailableCommandsUpdate)
  | ({ sessionUpdate: 'config_option_update' } & ConfigOptionUpdate)
  | ({ sessionUpdate: 'session_info_update' } & SessionInfoUpdate)
  | ({ sessionUpdate: 'usage_update' } & UsageUpdate)
  | ({ sessionUpdate: 'notice' } & Notice)
  | ({ sessionUpdate: 'compaction_update' } & CompactionUpdate)
  | ({ sessionUpdate: 'compaction_summary_chunk' } & CompactionSummaryChunk)
  | ({ sessionUpdate: 'replay_complete' } & ReplayComplete)
  | ({ sessionUpdate: 'subagent_update' } & SubagentUpdate)
  | ({ sessionUpdate: 'session_message' } & SessionMessage)
  | ({ sessionUpdate: 'session_message_chunk' } & SessionMessageChunk);

/** Request parameters for setting a session configuration option. */
export type SetSessionConfigOptionRequest = { sessionId: SessionId; configId: SessionConfigId; _meta?: Meta | null } & ({ type: 'id'; value: SessionConfigValueId } | { type: 'boolean'; value: boolean });

/** Response to `session/set_config_option` method. */
export interface SetSessionConfigOptionResponse {
  /** The full set of configuration options and their current values. */
  configOptions: SessionConfigOption[];
  _meta?: Meta | null;
}

/** A snapshot of the session's aggregate foreground activity. */
export type StateUpdate =
  | ({ state: 'running' } & RunningStateUpdate)
  | ({ state: 'idle' } & IdleStateUpdate)
  | ({ state: 'requires_action' } & RequiresActionStateUpdate)
  | ({ state: 'unknown' } & UnknownStateUpdate);

/** `copydesk/status/didChange` parameters. */
export interface StatusParams {
  /** `normal`, `warning` or `error`. */
  kind: string;
  /** Whether a turn runs. */
  busy: boolean;
  /** One line for a status bar. */
  message?: string | null;
  /** Questions that wait for the person, and calls that wait for their review. */
  pendingPermissions: number;
  /** Hunks waiting for the person. */
  pendingHunks: number;
}

/** `copydesk/status` result: the facts a health check prints. */
export interface StatusResult {
  /** The server's version. */
  version: string;
  /** Its process id. */
  pid: number;
  /** The log file. */
  logPath?: string | null;
  /** Configuration files read. */
  config: string[];
  /** `provider/model` in use. */
  model?: string | null;
  /** Language servers started by us. */
  languageServers: unknown[];
  /** MCP servers. */
  mcpServers: unknown[];
  /** Running jobs. */
  jobs: unknown[];
  /** Open sessions. */
  sessions: unknown[];
  /** Configuration errors and parts that did not start. */
  problems: string[];
}

/** Client-initiated session mutations permitted for a specific subagent session. */
export interface SubagentSessionCapabilities {
  /** Permits the Client to cancel this child's current work without ending the session. Omitted and `null` are equivalent and mean unsupported. An object (including `{}`) means supported. */
  cancel?: SessionCancelCapabilities | null;
  _meta?: Meta | null;
}

/** Notification that the enclosing parent session created and owns a child session. */
export interface SubagentUpdate {
  /** The opaque session ID identifying the child in all ACP messages. */
  sessionId: SessionId;
  /** The parent's human-readable display title for this child. It need not be unique. */
  title?: string | null;
  /** The parent's human-readable description of the child's role or purpose. */
  description?: string | null;
  /** Client-initiated session mutations permitted for this subagent session. */
  capabilities?: SubagentSessionCapabilities | null;
  /** The child's current foreground state, mirrored onto its parent association. */
  state?: StateUpdate | null;
  /** The child's working directory. Must be an absolute path. */
  cwd?: AbsolutePath | null;
  /** Additional workspace roots for the child. Each path MUST be absolute. */
  additionalDirectories?: AbsolutePath[] | null;
  _meta?: Meta | null;
}

/** Client-provided system-level instructions for a session. */
export interface SystemPrompt {
  /** How the Agent combines `content` with its own instructions. */
  mode: SystemPromptMode;
  /** The system prompt content. */
  content: ContentBlock[];
  _meta?: Meta | null;
}

/** How the Agent combines a Client-provided system prompt with its own instructions. */
export type SystemPromptMode =
  | 'append'
  | 'override'
  | (string & {});

/** A display-only reference to an Agent-owned terminal. */
export interface Terminal {
  /** The ID of the terminal to display. */
  terminalId: TerminalId;
  _meta?: Meta | null;
}

/** Capability to cancel a terminal with `terminal/cancel`. */
export interface TerminalCancelCapabilities {
  _meta?: Meta | null;
}

/** Client-initiated controls a terminal currently supports. */
export interface TerminalCapabilities {
  /** Permits the Client to cancel this terminal with `terminal/cancel`. */
  cancel?: TerminalCancelCapabilities | null;
  _meta?: Meta | null;
}

/** Exit information for an Agent-owned terminal. */
export interface TerminalExitStatus {
  /** Process exit code as the platform reports it, when known. Negative values are allowed, for example signed Windows exit codes. Omitted and `null` are equivalent. */
  exitCode?: number | null;
  /** Signal that terminated the process, when known. */
  signal?: string | null;
  _meta?: Meta | null;
}

/** Unique identifier for an Agent-owned terminal within a session. */
export type TerminalId = string;

/** An authoritative replacement snapshot of terminal output bytes. */
export interface TerminalOutput {
  /** Base64-encoded replacement terminal output bytes. */
  data: string;
  _meta?: Meta | null;
}

/** A chunk of bytes appended to an Agent-owned terminal's output. */
export interface TerminalOutputChunk {
  /** The terminal receiving these bytes. */
  terminalId: TerminalId;
  /** Independently base64-encoded terminal output bytes. */
  data: string;
  _meta?: Meta | null;
}

/** The size of an Agent-owned terminal in character cells. */
export interface TerminalSize {
  /** Number of columns. At least 1. */
  cols: number;
  /** Number of rows. At least 1. */
  rows: number;
  _meta?: Meta | null;
}

/** An upsert for the stored state of an Agent-owned terminal. */
export interface TerminalUpdate {
  /** Unique identifier for this terminal within the session. */
  terminalId: TerminalId;
  /** The command being run. */
  command?: string | null;
  /** The absolute working directory of the command. */
  cwd?: AbsolutePath | null;
  /** An authoritative replacement snapshot of terminal output bytes. */
  output?: TerminalOutput | null;
  /** Exit information. A concrete object marks the terminal as exited. */
  exitStatus?: TerminalExitStatus | null;
  /** The terminal size the command runs with, when known. */
  size?: TerminalSize | null;
  /** Client-initiated controls this terminal currently supports, such as cancellation. */
  capabilities?: TerminalCapabilities | null;
  _meta?: Meta | null;
}

/** All text that was typed after the command name is provided as input. */
export interface TextCommandInput {
  /** A hint to display when the input hasn't been provided yet */
  hint: string;
  _meta?: Meta | null;
}

/** Text provided to or from an LLM. */
export interface TextContent {
  /** Text payload carried by this content block. */
  text: string;
  /** Optional annotations that help Clients decide how to display or route this content. */
  annotations?: Annotations | null;
  _meta?: Meta | null;
}

/** Text-based resource contents. */
export interface TextResourceContents {
  /** Text payload carried by this content block. */
  text: string;
  /** URI associated with this resource or media payload. */
  uri: string;
  /** MIME type describing the encoded media payload. */
  mimeType?: MediaType | null;
  _meta?: Meta | null;
}

/** Capability to cancel a tool call with `tool_call/cancel`. */
export interface ToolCallCancelCapabilities {
  _meta?: Meta | null;
}

/** Client-initiated controls a tool call currently supports. */
export interface ToolCallCapabilities {
  /** Permits the Client to cancel this tool call with `tool_call/cancel`. */
  cancel?: ToolCallCancelCapabilities | null;
  _meta?: Meta | null;
}

/** Content produced by a tool call. */
export type ToolCallContent =
  | ({ type: 'content' } & Content)
  | ({ type: 'diff' } & Diff)
  | ({ type: 'terminal' } & Terminal)
  | ({ type: 'session' } & SessionReference);

/** A streamed item of tool-call content. */
export interface ToolCallContentChunk {
  /** The ID of the tool call this content belongs to. */
  toolCallId: ToolCallId;
  /** A single item of content produced by the tool call. */
  content: ToolCallContent;
  _meta?: Meta | null;
}

/** Unique identifier for a tool call within a session. */
export type ToolCallId = string;

/** A file location being accessed or modified by a tool. */
export interface ToolCallLocation {
  /** The absolute file path being accessed or modified. */
  path: AbsolutePath;
  /** Optional 1-based line number within the file. Omitted and `null` are equivalent and mean no specific line. `0` is invalid. */
  line?: number | null;
  _meta?: Meta | null;
}

/** `copydesk/tool/call` parameters. */
export interface ToolCallParams {
  /** The session the call belongs to; absent: the person's own session of the workspace. */
  sessionId?: string | null;
  /** Canonical name or an alias. */
  name: string;
  /** The tool's input. */
  input?: unknown;
  /** The dialect whose names and fields the call uses, and whose formats the result has; absent: the canonical ones. */
  dialect?: string | null;
}

/** Permission request details for a tool call. */
export interface ToolCallPermissionSubject {
  /** Details about the tool call requiring permission. */
  toolCall: ToolCallUpdate;
  _meta?: Meta | null;
}

/** Names one tool call of a session: `copydesk/toolCall/cancel` and `copydesk/toolCall/background`. */
export interface ToolCallRef {
  /** The session. */
  sessionId: string;
  /** The card's id. */
  toolCallId: string;
}

/** `copydesk/tool/call` result. */
export interface ToolCallResult {
  /** What the model would read. */
  content: ContentBlock[];
  /** Whether the tool failed, was denied or rejected. */
  isError: boolean;
  /** The id of the card. */
  toolCallId: string;
}

/** Execution status of a tool call. */
export type ToolCallStatus =
  | 'pending'
  | 'in_progress'
  | 'paused'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | (string & {});

/** Represents an upsert for a tool call that the language model has requested. */
export interface ToolCallUpdate {
  /** Unique identifier for this tool call within the session. */
  toolCallId: ToolCallId;
  /** Programmatic name of the tool being invoked. */
  name?: string | null;
  /** Human-readable plain-text title describing what the tool is doing. */
  title?: string | null;
  /** The category of tool being invoked. Helps Clients choose appropriate icons and UI treatment. */
  kind?: ToolKind | null;
  /** Current execution status of the tool call. */
  status?: ToolCallStatus | null;
  /** Content produced by the tool call. */
  content?: ToolCallContent[] | null;
  /** File locations affected by this tool call. Enables "follow-along" features in Clients. */
  locations?: ToolCallLocation[] | null;
  /** Raw input parameters sent to the tool. */
  rawInput?: unknown;
  /** Raw output returned by the tool. */
  rawOutput?: unknown;
  /** Client-initiated controls this tool call currently supports, such as cancellation. */
  capabilities?: ToolCallCapabilities | null;
  _meta?: Meta | null;
}

/** One tool as the model sees it. */
export interface ToolInfo {
  /** The name in the dialect. */
  name: string;
  /** The name that rules, hooks and logs use. */
  canonicalName: string;
  /** What the model reads. */
  description: string;
  /** JSON Schema of the input. */
  inputSchema: unknown;
  /** ACP tool kind (`read`, `edit`, `search`, `execute`, …). */
  kind: string;
  /** Whether only the name is shown until the tool is loaded. */
  deferred: boolean;
}

/** Categories of tools that can be invoked. */
export type ToolKind =
  | 'read'
  | 'edit'
  | 'delete'
  | 'move'
  | 'search'
  | 'execute'
  | 'think'
  | 'fetch'
  | 'switch_mode'
  | 'other'
  | (string & {});

/** `copydesk/tool/list` parameters. */
export interface ToolListParams {
  /** The session whose tools are listed, as its model sees them; absent: every tool under its canonical name. */
  sessionId?: string | null;
  /** The dialect to show them in; absent: the session's own. */
  dialect?: string | null;
}

/** `copydesk/tool/list` result. */
export interface ToolListResult {
  /** Every tool the session can call. */
  tools: ToolInfo[];
}

/** `copydesk/trust` parameters. */
export interface TrustParams {
  /** URI of the folder. */
  root: string;
  /** Whether the person trusts it. */
  trusted: boolean;
}

/** The Agent cannot currently determine foreground activity. */
export interface UnknownStateUpdate {
  /** Work running independently of foreground work, as a complete snapshot. */
  background?: BackgroundWork[] | null;
  _meta?: Meta | null;
}

/** Data for the `-32022` (Unsupported protocol version) error. */
export interface UnsupportedProtocolVersionErrorData {
  /** The protocol version the Client requested. */
  requested: ProtocolVersion;
  /** The protocol versions the Agent supports. */
  supported: ProtocolVersion[];
  _meta?: Meta | null;
}

/** Notification containing a session update from the Agent. */
export interface UpdateSessionNotification {
  /** The ID of the session this update pertains to. */
  sessionId: SessionId;
  /** The actual update content. */
  update: SessionUpdate;
  _meta?: Meta | null;
}

/** **UNSTABLE** */
export interface Usage {
  /** Sum of all token types for the completed work. */
  totalTokens: number;
  /** Input tokens for the completed work. */
  inputTokens: number;
  /** Output tokens for the completed work. */
  outputTokens: number;
  /** Thought/reasoning tokens for the completed work. */
  thoughtTokens?: number | null;
  /** Cache read tokens for the completed work. */
  cachedReadTokens?: number | null;
  /** Cache write tokens for the completed work. */
  cachedWriteTokens?: number | null;
  _meta?: Meta | null;
}

/** Context window and cost update for a session. */
export interface UsageUpdate {
  /** Tokens currently in context. */
  used: number;
  /** Total context window size in tokens. */
  size: number;
  /** Cumulative session cost. */
  cost?: Cost | null;
  _meta?: Meta | null;
}

/** A user message upsert. */
export interface UserMessage {
  /** A unique identifier for the message. */
  messageId: MessageId;
  /** Complete replacement content for this message. */
  content?: ContentBlock[] | null;
  _meta?: Meta | null;
}

/** Requests the editor sends. */
export interface ClientRequests {
  /** Begins a session in a folder. `cwd` is an absolute path of a folder that exists. */
  'session/new': { params: NewSessionRequest; result: NewSessionResponse };
  /** Hands the agent a prompt and is answered at once; the turn itself ends with a `state_update` of kind `idle`. A prompt sent while a turn runs is listed and waits. */
  'session/prompt': { params: PromptRequest; result: PromptResponse };
  /** Sets `mode` or `model` of a session. `type` is `id`. */
  'session/set_config_option': { params: SetSessionConfigOptionRequest; result: SetSessionConfigOptionResponse };
  /** Lists the sessions of a folder, or of all open folders, newest first. */
  'session/list': { params: ListSessionsRequest; result: ListSessionsResponse };
  /** Joins an open session or begins one again from disk. With `replayFrom` every update is sent again in order first; questions that wait are asked again. */
  'session/resume': { params: ResumeSessionRequest; result: ResumeSessionResponse };
  /** Ends a session's turn and processes. It stays on disk and can be resumed. */
  'session/close': { params: CloseSessionRequest; result: CloseSessionResponse };
  /** Closes a session and removes it from disk. */
  'session/delete': { params: DeleteSessionRequest; result: DeleteSessionResponse };
  /** Ends one running tool call; the turn goes on. */
  'tool_call/cancel': { params: CancelToolCallRequest; result: CancelToolCallResponse };
  /** Begins a session with another's conversation, up to a message of it. Files stay as they are. */
  'copydesk/session/fork': { params: ForkParams; result: ForkResult };
  /** Takes a conversation, the files the agent changed since, or both back to just before a prompt. Refused as `busy` while a turn or a call runs. Clients are told by a `session_info_update` with `_meta.copydesk.rewound`. */
  'copydesk/session/rewind': { params: RewindParams; result: RestoreResult };
  /** Gives the whole conversation of an open session as text. */
  'copydesk/session/export': { params: ExportParams; result: ExportResult };
  /** Lists the tools as the model sees them. */
  'copydesk/tool/list': { params: ToolListParams; result: ToolListResult };
  /** Calls a tool through the same gate as a call of the model, and stays open until it ends. A tool that fails or is denied is a result with `isError`, not an error. */
  'copydesk/tool/call': { params: ToolCallParams; result: ToolCallResult };
  /** The same as `tool_call/cancel`, for clients that know the extension alone. */
  'copydesk/toolCall/cancel': { params: ToolCallRef; result: Empty };
  /** Turns a command that runs in the foreground into a job; the call ends at once. */
  'copydesk/toolCall/background': { params: ToolCallRef; result: BackgroundResult };
  /** Lists jobs, servers and terminals. */
  'copydesk/job/list': { params: JobListParams; result: JobListResult };
  /** Gives a page of what a job or a command printed. No reader of the agent's loses its place. */
  'copydesk/job/read': { params: JobReadParams; result: JobReadResult };
  /** Types into a terminal as the person, passwords included. It is kept nowhere. */
  'copydesk/job/write': { params: JobWriteParams; result: Empty };
  /** Sets the size of a terminal. */
  'copydesk/job/resize': { params: JobResizeParams; result: Empty };
  /** Stops a job with all it started, or the command in the foreground; the agent is told of its end and who stopped it. */
  'copydesk/job/kill': { params: JobRef; result: JobKillResult };
  /** The same as `copydesk/job/kill`, by the terminal of a card. */
  'terminal/cancel': { params: CancelTerminalRequest; result: CancelTerminalResponse };
  /** Gives the facts a health check prints. */
  'copydesk/status': { params: Empty; result: StatusResult };
  /** Says whether the person trusts a folder's own settings. It is remembered. */
  'copydesk/trust': { params: TrustParams; result: Empty };
  /** Lists the permission rules in force: remembered ones and those of configuration files. */
  'copydesk/permission/list': { params: Empty; result: PermissionListResult };
  /** Forgets a remembered rule. A rule of a configuration file is removed in the file. */
  'copydesk/permission/remove': { params: PermissionRemoveParams; result: Empty };
  /** Lists the agent's changes that wait for the person, by file. Ids are stable while hunks move; ranges hold for the version beside them. */
  'copydesk/review/list': { params: ReviewListParams; result: ReviewListResult };
  /** Accepts or rejects hunks, in any order. Answered when the text is in the document. What the person typed inside a rejected hunk stays, and is said in `conflicts`. */
  'copydesk/review/resolve': { params: ReviewResolveParams; result: ReviewResolveResult };
  /** Takes a decision, a restore or a rewind back. Answered when the text is in the document. */
  'copydesk/review/undo': { params: ReviewUndoParams; result: ReviewUndoResult };
  /** Gives a file's text without the pending changes, for diff editors. */
  'copydesk/review/base': { params: ReviewBaseParams; result: ReviewBaseResult };
  /** Lists the states a session can be taken back to: one before each prompt. */
  'copydesk/checkpoint/list': { params: CheckpointListParams; result: CheckpointListResult };
  /** Takes back what the session's agent did to files since a prompt. Answered when the text is in the documents. What anybody else wrote stays; where that is inside a change of the agent's, the change stays too and the file is in `conflicts`. */
  'copydesk/checkpoint/restore': { params: CheckpointRestoreParams; result: RestoreResult };
}

/** Notifications the editor sends. */
export interface ClientNotifications {
  /** Ends the running turn: no further model request, its commands are gone within a second, its prompts are withdrawn and its cards end as cancelled. */
  'session/cancel': { params: CancelSessionNotification };
  /** Tells what only the editor knows: where the person is, which documents are unsaved, and how they are stored. It lists all open documents each time. */
  'copydesk/editor/didChangeState': { params: EditorStateParams };
}

/** Requests the server sends. */
export interface ServerRequests {
  /** Asks the person before a tool runs. The subject is complete: the whole command, or every path of an edit with its diff. Needs the marker `permission`. */
  'session/request_permission': { params: RequestPermissionRequest; result: RequestPermissionResponse };
  /** Asks the editor to save documents. Needs the marker `save`. */
  'copydesk/editor/save': { params: SaveParams; result: SaveResult };
  /** Changes the cells of an open notebook, all edits or none, as one step of undo and without taking the focus. Needs the marker `notebook`. */
  'copydesk/editor/notebookEdit': { params: NotebookEditParams; result: NotebookEditResult };
}

/** Notifications the server sends. */
export interface ServerNotifications {
  /** Something happened in a session: text, a tool's card, a state, options. */
  'session/update': { params: UpdateSessionNotification };
  /** Hunks came, went or moved: the files that changed, each with all its hunks; a file without hunks has none left. At most 64 KB: where a file has more, long texts are cut and further hunks left out, which `_meta.copydesk` says (`cut`, `omitted`); `copydesk/review/list` with its `uri` has all of it. Needs the marker `review`. */
  'copydesk/review/didChange': { params: ReviewChangedParams };
  /** A question no longer needs an answer: close it. */
  'copydesk/request/resolved': { params: RequestResolvedParams };
  /** What a status bar shows, of all sessions together. */
  'copydesk/status/didChange': { params: StatusParams };
}

/** Every method by name. */
export type Methods = ClientRequests & ClientNotifications & ServerRequests & ServerNotifications;
