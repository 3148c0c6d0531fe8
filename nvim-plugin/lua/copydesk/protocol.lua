---@meta copydesk.protocol
-- Generated from the types of server/crates/protocol; do not edit.
-- To write it anew: UPDATE_GENERATED=1 cargo test -p protocol
--
-- Unions of tables are open: a newer server may send members that are not listed here.

---What a message carries beside its own fields.
---@class copydesk.protocol.Meta
---@field copydesk? copydesk.protocol.MetaKeys

---An absolute filesystem path used by the protocol.
---@alias copydesk.protocol.AbsolutePath string

---The editor the person looks at.
---@class copydesk.protocol.ActiveEditor
---@field uri string The document shown.
---@field selections? copydesk.protocol.Range[] Selected ranges; an empty range is a cursor.
---@field visibleRanges? copydesk.protocol.Range[] Ranges on screen.

---An Agent message upsert.
---@class copydesk.protocol.AgentMessage
---@field messageId copydesk.protocol.MessageId A unique identifier for the message.
---@field content? copydesk.protocol.ContentBlock[]|vim.NIL Complete replacement content for this message.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---An Agent thought or reasoning message upsert.
---@class copydesk.protocol.AgentThought
---@field messageId copydesk.protocol.MessageId A unique identifier for the thought message.
---@field content? copydesk.protocol.ContentBlock[]|vim.NIL Complete replacement content for this thought message.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Optional annotations for the Client. The Client can use annotations to inform how objects are used or displayed
---@class copydesk.protocol.Annotations
---@field audience? copydesk.protocol.Role[]|vim.NIL Intended recipients for this content, such as the user or assistant.
---@field lastModified? string|vim.NIL Timestamp indicating when the underlying resource was last modified.
---@field priority? number|vim.NIL Relative importance of this content when Clients choose what to surface, from 0 (least important) to 1 (most important).
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Audio provided to or from an LLM.
---@class copydesk.protocol.AudioContent
---@field data string Base64-encoded media payload.
---@field mimeType copydesk.protocol.MediaType MIME type describing the encoded media payload.
---@field annotations? copydesk.protocol.Annotations|vim.NIL Optional annotations that help Clients decide how to display or route this content.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A command the Agent advertises to the Client.
---@alias copydesk.protocol.AvailableCommand copydesk.protocol.AvailableCommand.command

---A slash command the user can invoke by including it in a prompt.
---@class copydesk.protocol.AvailableCommand.command: copydesk.protocol.Command
---@field type "command"

---The input specification for a command.
---@alias copydesk.protocol.AvailableCommandInput copydesk.protocol.AvailableCommandInput.text

---All text after the command name and the whitespace following it is provided as input.
---@class copydesk.protocol.AvailableCommandInput.text: copydesk.protocol.TextCommandInput
---@field type "text"

---Available commands are ready or have changed
---@class copydesk.protocol.AvailableCommandsUpdate
---@field availableCommands copydesk.protocol.AvailableCommand[] Commands the Agent can execute.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---`copydesk/toolCall/background` result.
---@class copydesk.protocol.BackgroundResult
---@field jobId string The job the command became.

---A listed subagent session associated with this session through `subagent_update`.
---@class copydesk.protocol.BackgroundSubagent
---@field sessionId copydesk.protocol.SessionId The ID of the listed session.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A listed terminal running in the background.
---@class copydesk.protocol.BackgroundTerminal
---@field terminalId copydesk.protocol.TerminalId The ID of the listed terminal.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A listed tool call whose work continues in the background.
---@class copydesk.protocol.BackgroundToolCall
---@field toolCallId copydesk.protocol.ToolCallId The ID of the listed tool call.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---One piece of work running independently of the session's foreground work.
---@alias copydesk.protocol.BackgroundWork copydesk.protocol.BackgroundWork.terminal|copydesk.protocol.BackgroundWork.tool_call|copydesk.protocol.BackgroundWork.subagent

---A process that keeps running after its tool call returned control to the model. Live until its `terminal_update` reports `exitStatus`.
---@class copydesk.protocol.BackgroundWork.terminal: copydesk.protocol.BackgroundTerminal
---@field type "terminal"

---Work started by a tool call that continues without a process of its own, such as a watcher, a workflow, or a scheduled wakeup. `pending` and `paused` tool calls stay listed.
---@class copydesk.protocol.BackgroundWork.tool_call: copydesk.protocol.BackgroundToolCall
---@field type "tool_call"

---A detached subagent session that has anything running: its state is not `idle`, or its own `background` list is non-empty or not reported.
---@class copydesk.protocol.BackgroundWork.subagent: copydesk.protocol.BackgroundSubagent
---@field type "subagent"

---Binary resource contents.
---@class copydesk.protocol.BlobResourceContents
---@field blob string Base64-encoded bytes for a binary resource payload.
---@field uri string URI associated with this resource or media payload.
---@field mimeType? copydesk.protocol.MediaType|vim.NIL MIME type describing the encoded media payload.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Cancels the named session's active foreground work and earlier prompts not yet inserted. It does not cancel later submissions or work in the session's latest `background` list.
---@class copydesk.protocol.CancelSessionNotification
---@field sessionId copydesk.protocol.SessionId The ID of the session whose foreground work to cancel.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Request parameters for cancelling one terminal.
---@class copydesk.protocol.CancelTerminalRequest
---@field sessionId copydesk.protocol.SessionId The ID of the session that owns the terminal.
---@field terminalId copydesk.protocol.TerminalId The ID of the terminal to cancel.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Response from cancelling a terminal.
---@class copydesk.protocol.CancelTerminalResponse
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Request parameters for cancelling one tool call.
---@class copydesk.protocol.CancelToolCallRequest
---@field sessionId copydesk.protocol.SessionId The ID of the session that owns the tool call.
---@field toolCallId copydesk.protocol.ToolCallId The ID of the tool call to cancel.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Response from cancelling a tool call.
---@class copydesk.protocol.CancelToolCallResponse
---@field _meta? copydesk.protocol.Meta|vim.NIL

---The request was not approved and no option was selected.
---@class copydesk.protocol.CancelledPermissionOutcome
---@field _meta? copydesk.protocol.Meta|vim.NIL

---The state just before a prompt.
---@class copydesk.protocol.Checkpoint
---@field id string The prompt's `messageId`.
---@field label string The prompt's first line.
---@field time number Milliseconds since 1970.
---@field files string[] URIs of the files the agent changed since.

---`copydesk/checkpoint/list` parameters.
---@class copydesk.protocol.CheckpointListParams
---@field sessionId string An open session.

---`copydesk/checkpoint/list` result.
---@class copydesk.protocol.CheckpointListResult
---@field checkpoints copydesk.protocol.Checkpoint[] Oldest first.

---`copydesk/checkpoint/restore` parameters.
---@class copydesk.protocol.CheckpointRestoreParams
---@field checkpointId string From `copydesk/checkpoint/list`.
---@field dryRun? boolean Says what would happen; nothing does.

---What the client can do beyond LSP: `capabilities.experimental.copydesk` of `initialize`. An absent marker means that plain LSP is used for the thing.
---@class copydesk.protocol.ClientMarkers
---@field protocolVersion? number The version the client speaks.
---@field permission? table<string, any>|vim.NIL Answers `session/request_permission`.
---@field elicitation? table<string, any>|vim.NIL Answers `elicitation/create` in form mode.
---@field save? table<string, any>|vim.NIL Answers `copydesk/editor/save`.
---@field diagnostics? table<string, any>|vim.NIL Answers `copydesk/editor/diagnostics`.
---@field languageRequest? table<string, any>|vim.NIL Answers `copydesk/editor/request`.
---@field editorState? table<string, any>|vim.NIL Sends `copydesk/editor/didChangeState`.
---@field review? table<string, any>|vim.NIL Draws pending hunks itself from `copydesk/review/didChange`.
---@field notebook? table<string, any>|vim.NIL Answers `copydesk/editor/notebookEdit`.

---Request parameters for closing an active session.
---@class copydesk.protocol.CloseSessionRequest
---@field sessionId copydesk.protocol.SessionId The ID of the session to close.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Response from closing a session.
---@class copydesk.protocol.CloseSessionResponse
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A slash command the user can invoke by including it in a prompt.
---@class copydesk.protocol.Command
---@field name string Command name without the leading `/` (e.g., `create_plan`, `research_codebase`).
---@field description string Human-readable description of what the command does.
---@field input? copydesk.protocol.AvailableCommandInput|vim.NIL Input for the command if required
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Permission request details for a command.
---@class copydesk.protocol.CommandPermissionSubject
---@field command string The command that would be run if permission is granted.
---@field cwd copydesk.protocol.AbsolutePath The absolute working directory for the command.
---@field toolCallId? copydesk.protocol.ToolCallId|vim.NIL The associated tool call, when known. Omitted and `null` are equivalent.
---@field terminalId? copydesk.protocol.TerminalId|vim.NIL The associated terminal, when already known. Omitted and `null` are equivalent.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Unique identifier for a context compaction within a session.
---@alias copydesk.protocol.CompactionId string

---Lifecycle state of a context compaction.
---@alias copydesk.protocol.CompactionStatus "in_progress"|"completed"|"failed"|"cancelled"|string

---A content block appended to a compaction's summary. A first-seen ID creates an in-progress compaction. Chunks append in receive order.
---@class copydesk.protocol.CompactionSummaryChunk
---@field compactionId copydesk.protocol.CompactionId ID of the compaction whose summary receives this content.
---@field content copydesk.protocol.ContentBlock One content block to append.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A context compaction upsert. The first notification fixes the compaction's timeline position. Later updates with the same ID patch that entity in place.
---@class copydesk.protocol.CompactionUpdate
---@field compactionId copydesk.protocol.CompactionId The Agent-owned ID of this compaction, unique within the session.
---@field status? copydesk.protocol.CompactionStatus|vim.NIL Current lifecycle status.
---@field summary? copydesk.protocol.ContentBlock[]|vim.NIL Complete replacement user-displayable summary content for the compaction.
---@field error? string|vim.NIL Human-readable error details for the compaction.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Session configuration options have been updated.
---@class copydesk.protocol.ConfigOptionUpdate
---@field configOptions copydesk.protocol.SessionConfigOption[] The full set of configuration options and their current values.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Standard content block (text, images, resources).
---@class copydesk.protocol.Content
---@field content copydesk.protocol.ContentBlock The actual content block.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Content blocks represent displayable information in the Agent Client Protocol.
---@alias copydesk.protocol.ContentBlock copydesk.protocol.ContentBlock.text|copydesk.protocol.ContentBlock.image|copydesk.protocol.ContentBlock.audio|copydesk.protocol.ContentBlock.resource_link|copydesk.protocol.ContentBlock.resource

---Text content. May be plain text or formatted with Markdown.
---@class copydesk.protocol.ContentBlock.text: copydesk.protocol.TextContent
---@field type "text"

---Images for visual context or analysis.
---@class copydesk.protocol.ContentBlock.image: copydesk.protocol.ImageContent
---@field type "image"

---Audio data for transcription or analysis.
---@class copydesk.protocol.ContentBlock.audio: copydesk.protocol.AudioContent
---@field type "audio"

---References to resources that the receiver may be able to read.
---@class copydesk.protocol.ContentBlock.resource_link: copydesk.protocol.ResourceLink
---@field type "resource_link"

---Complete resource contents embedded directly in the message.
---@class copydesk.protocol.ContentBlock.resource: copydesk.protocol.EmbeddedResource
---@field type "resource"

---A streamed item of message content.
---@class copydesk.protocol.ContentChunk
---@field messageId copydesk.protocol.MessageId A unique identifier for the message this chunk belongs to.
---@field content copydesk.protocol.ContentBlock A single item of content
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Cost information for a session.
---@class copydesk.protocol.Cost
---@field amount number Total cumulative cost for session.
---@field currency string Unit of `amount`: an ISO 4217 currency code (e.g., "USD", "EUR") for money, or another unit such as "credits".
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Request parameters for deleting an existing session from `session/list`.
---@class copydesk.protocol.DeleteSessionRequest
---@field sessionId copydesk.protocol.SessionId The ID of the session to delete.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Response from deleting a session.
---@class copydesk.protocol.DeleteSessionResponse
---@field _meta? copydesk.protocol.Meta|vim.NIL

---File changes produced by a tool call.
---@class copydesk.protocol.Diff
---@field changes copydesk.protocol.DiffChange[] Structured file changes described by this diff. Agents MUST include at least one entry.
---@field patch? copydesk.protocol.DiffPatch|vim.NIL Renderable patch text for some or all of the structured changes.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---One file-level change described by a `Diff`.
---@alias copydesk.protocol.DiffChange copydesk.protocol.DiffChange.add|copydesk.protocol.DiffChange.delete|copydesk.protocol.DiffChange.modify|copydesk.protocol.DiffChange.move|copydesk.protocol.DiffChange.copy

---A file was added.
---@class copydesk.protocol.DiffChange.add: copydesk.protocol.DiffPathChange
---@field fileType? copydesk.protocol.DiffFileType|vim.NIL File content kind after the operation (for `delete`, of the deleted file).
---@field mimeType? copydesk.protocol.MediaType|vim.NIL MIME type of the file contents after the operation (for `delete`, of the deleted file).
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field operation "add"

---A file was deleted.
---@class copydesk.protocol.DiffChange.delete: copydesk.protocol.DiffPathChange
---@field fileType? copydesk.protocol.DiffFileType|vim.NIL File content kind after the operation (for `delete`, of the deleted file).
---@field mimeType? copydesk.protocol.MediaType|vim.NIL MIME type of the file contents after the operation (for `delete`, of the deleted file).
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field operation "delete"

---A file was modified in place.
---@class copydesk.protocol.DiffChange.modify: copydesk.protocol.DiffPathChange
---@field fileType? copydesk.protocol.DiffFileType|vim.NIL File content kind after the operation (for `delete`, of the deleted file).
---@field mimeType? copydesk.protocol.MediaType|vim.NIL MIME type of the file contents after the operation (for `delete`, of the deleted file).
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field operation "modify"

---A file was moved or renamed.
---@class copydesk.protocol.DiffChange.move: copydesk.protocol.DiffPathPairChange
---@field fileType? copydesk.protocol.DiffFileType|vim.NIL File content kind after the operation (for `delete`, of the deleted file).
---@field mimeType? copydesk.protocol.MediaType|vim.NIL MIME type of the file contents after the operation (for `delete`, of the deleted file).
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field operation "move"

---A file was copied.
---@class copydesk.protocol.DiffChange.copy: copydesk.protocol.DiffPathPairChange
---@field fileType? copydesk.protocol.DiffFileType|vim.NIL File content kind after the operation (for `delete`, of the deleted file).
---@field mimeType? copydesk.protocol.MediaType|vim.NIL MIME type of the file contents after the operation (for `delete`, of the deleted file).
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field operation "copy"

---Kind of file content represented by a diff change.
---@alias copydesk.protocol.DiffFileType "text"|"binary"|"directory"|"symlink"|string

---Renderable patch text and its format.
---@class copydesk.protocol.DiffPatch
---@field format copydesk.protocol.DiffPatchFormat Patch format. The only ACP-defined value is `git_patch`.
---@field text string Patch text in the format named by `format`.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Text patch format used by `DiffPatch`.
---@alias copydesk.protocol.DiffPatchFormat "git_patch"|string

---Operation metadata for add, delete, and modify changes.
---@class copydesk.protocol.DiffPathChange
---@field path copydesk.protocol.AbsolutePath Absolute path for the operation.

---Operation metadata for move and copy changes.
---@class copydesk.protocol.DiffPathPairChange
---@field oldPath copydesk.protocol.AbsolutePath Absolute path before the operation.
---@field path copydesk.protocol.AbsolutePath Absolute path after the operation.

---One open document. An entry holds for its version only.
---@class copydesk.protocol.DocumentState
---@field uri string The document.
---@field version number The version the entry speaks of.
---@field dirty? boolean Whether the editor holds unsaved text.
---@field encoding? string|vim.NIL WHATWG label of the encoding the editor saves in.
---@field bom? boolean Whether a byte order mark is written.
---@field eol? string|vim.NIL `lf`, `crlf`, `cr` or `mixed`.
---@field finalNewline? boolean Whether the text ends in a line ending.
---@field readOnly? boolean Whether the editor refuses changes.

---`copydesk/editor/didChangeState` parameters: what only the editor knows of its documents.
---@class copydesk.protocol.EditorStateParams
---@field active? copydesk.protocol.ActiveEditor|vim.NIL Where the person is.
---@field documents? copydesk.protocol.DocumentState[] All open documents.

---The contents of a resource, embedded into a prompt or tool call result.
---@class copydesk.protocol.EmbeddedResource
---@field resource copydesk.protocol.EmbeddedResourceResource Embedded resource payload, either text or binary data.
---@field annotations? copydesk.protocol.Annotations|vim.NIL Optional annotations that help Clients decide how to display or route this content.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Resource content that can be embedded in a message.
---@alias copydesk.protocol.EmbeddedResourceResource copydesk.protocol.TextResourceContents|copydesk.protocol.BlobResourceContents

---No parameters, or a result that says only that it is done.
---@class copydesk.protocol.Empty

---An environment variable to set when launching a process.
---@class copydesk.protocol.EnvVariable
---@field name string The name of the environment variable.
---@field value string The value to set for the environment variable.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---JSON-RPC error object.
---@class copydesk.protocol.Error
---@field code copydesk.protocol.ErrorCode A number indicating the error type that occurred. This MUST be an integer as defined in the JSON-RPC specification.
---@field message string A string providing a short description of the error. The message SHOULD be limited to a concise single sentence.
---@field data? copydesk.protocol.ErrorData|vim.NIL Optional primitive or structured value that contains additional information about the error. This may include debugging information or context-specific details.

---Predefined error codes for common JSON-RPC and ACP-specific errors.
---@alias copydesk.protocol.ErrorCode -32700|-32600|-32601|-32602|-32603|-32800|-32000|-32002|-32022|string

---Schema for the `data` field of an error: the shapes ACP defines, or any other value.
---@alias copydesk.protocol.ErrorData any

---Details of a failure that ended active work.
---@class copydesk.protocol.ErrorStopReason
---@field error? copydesk.protocol.Error|vim.NIL The failure, as a JSON-RPC error object.

---`copydesk/session/export` parameters.
---@class copydesk.protocol.ExportParams
---@field sessionId string The session.
---@field format string `markdown` or `json`.

---`copydesk/session/export` result.
---@class copydesk.protocol.ExportResult
---@field content string The whole conversation.

---`copydesk/session/fork` parameters.
---@class copydesk.protocol.ForkParams
---@field sessionId string An open session.
---@field messageId? string|vim.NIL The new session ends before this prompt, or with this message of the agent's; absent: it has all.

---`copydesk/session/fork` result.
---@class copydesk.protocol.ForkResult
---@field sessionId string The new session; it is open.

---An HTTP header to set when making requests to the MCP server.
---@class copydesk.protocol.HttpHeader
---@field name string The name of the HTTP header.
---@field value string The value to set for the HTTP header.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---One change of the agent's that waits for the person.
---@class copydesk.protocol.Hunk
---@field hunkId string Names the hunk while it is pending.
---@field uri string The document.
---@field version? number|vim.NIL The version `range` holds for; null for a file that is not open.
---@field baseRange copydesk.protocol.Range Where it is in the text that `copydesk/review/base` gives.
---@field range copydesk.protocol.Range Where it is in the document.
---@field oldText string The text without it.
---@field newText string The text with it.
---@field state string `pending`, or `conflict` where the person wrote inside it.
---@field author string `agent`, or `mixed` where the person changed something inside it.
---@field sessionId string The session that touched it last.
---@field toolCallIds string[] The calls it comes from.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---An optionally-sized icon that can be displayed in a user interface.
---@class copydesk.protocol.Icon
---@field src string A standard URI pointing to an icon resource. May be an HTTP/HTTPS URL or a `data:` URI with Base64-encoded image data.
---@field mimeType? copydesk.protocol.MediaType|vim.NIL Optional MIME type override if the source MIME type is missing or generic.
---@field sizes? string[]|vim.NIL Optional array of strings that specify sizes at which the icon can be used. Each string SHOULD be in `WxH` format (e.g., `"48x48"`, `"96x96"`) or `"any"` for scalable formats like SVG.
---@field theme? copydesk.protocol.IconTheme|vim.NIL Optional theme this icon is designed for.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Theme an icon is designed for.
---@alias copydesk.protocol.IconTheme "light"|"dark"|string

---A key the Client generates to identify one `session/prompt` submission across attempts.
---@alias copydesk.protocol.IdempotencyKey string

---No foreground work is active. Background activity may continue.
---@alias copydesk.protocol.IdleStateUpdate copydesk.protocol.IdleStateUpdate.end_turn|copydesk.protocol.IdleStateUpdate.max_tokens|copydesk.protocol.IdleStateUpdate.max_turn_requests|copydesk.protocol.IdleStateUpdate.refusal|copydesk.protocol.IdleStateUpdate.cancelled|copydesk.protocol.IdleStateUpdate.error|copydesk.protocol.IdleStateUpdate.7

---The active work ended successfully. Includes locally handled commands that required no model call.
---@class copydesk.protocol.IdleStateUpdate.end_turn
---@field usage? copydesk.protocol.Usage|vim.NIL **UNSTABLE**
---@field background? copydesk.protocol.BackgroundWork[]|vim.NIL Work running independently of foreground work, as a complete snapshot.
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field stopReason? string|vim.NIL Why foreground work stopped. The value selects one of this type's variants, which may add fields of their own.
---@field stopReason "end_turn"

---The active work ended because the Agent reached the maximum number of tokens.
---@class copydesk.protocol.IdleStateUpdate.max_tokens
---@field usage? copydesk.protocol.Usage|vim.NIL **UNSTABLE**
---@field background? copydesk.protocol.BackgroundWork[]|vim.NIL Work running independently of foreground work, as a complete snapshot.
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field stopReason? string|vim.NIL Why foreground work stopped. The value selects one of this type's variants, which may add fields of their own.
---@field stopReason "max_tokens"

---The active work ended because the Agent reached the maximum number of model requests for the foreground work.
---@class copydesk.protocol.IdleStateUpdate.max_turn_requests
---@field usage? copydesk.protocol.Usage|vim.NIL **UNSTABLE**
---@field background? copydesk.protocol.BackgroundWork[]|vim.NIL Work running independently of foreground work, as a complete snapshot.
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field stopReason? string|vim.NIL Why foreground work stopped. The value selects one of this type's variants, which may add fields of their own.
---@field stopReason "max_turn_requests"

---The active work ended because the Agent refused to continue.
---@class copydesk.protocol.IdleStateUpdate.refusal
---@field usage? copydesk.protocol.Usage|vim.NIL **UNSTABLE**
---@field background? copydesk.protocol.BackgroundWork[]|vim.NIL Work running independently of foreground work, as a complete snapshot.
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field stopReason? string|vim.NIL Why foreground work stopped. The value selects one of this type's variants, which may add fields of their own.
---@field stopReason "refusal"

---The user or Client chose to stop the work: via `session/cancel`, by closing the session, or through an interaction the Agent offers, such as a permission option that tells the Agent to stop. A child session also reports this reason when its parent cancels its work. Other work the Agent stops for its own reasons uses another reason, such as `error` for an internal timeout.
---@class copydesk.protocol.IdleStateUpdate.cancelled
---@field usage? copydesk.protocol.Usage|vim.NIL **UNSTABLE**
---@field background? copydesk.protocol.BackgroundWork[]|vim.NIL Work running independently of foreground work, as a complete snapshot.
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field stopReason? string|vim.NIL Why foreground work stopped. The value selects one of this type's variants, which may add fields of their own.
---@field stopReason "cancelled"

---The active work ended because something failed.
---@class copydesk.protocol.IdleStateUpdate.error: copydesk.protocol.ErrorStopReason
---@field usage? copydesk.protocol.Usage|vim.NIL **UNSTABLE**
---@field background? copydesk.protocol.BackgroundWork[]|vim.NIL Work running independently of foreground work, as a complete snapshot.
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field stopReason? string|vim.NIL Why foreground work stopped. The value selects one of this type's variants, which may add fields of their own.
---@field stopReason "error"

---No stop reason: `stopReason` is omitted or `null`.
---@class copydesk.protocol.IdleStateUpdate.7
---@field usage? copydesk.protocol.Usage|vim.NIL **UNSTABLE**
---@field background? copydesk.protocol.BackgroundWork[]|vim.NIL Work running independently of foreground work, as a complete snapshot.
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field stopReason? string|vim.NIL Why foreground work stopped. The value selects one of this type's variants, which may add fields of their own.
---@field stopReason? vim.NIL

---An image provided to or from an LLM.
---@class copydesk.protocol.ImageContent
---@field data string Base64-encoded media payload.
---@field mimeType copydesk.protocol.MediaType MIME type describing the encoded media payload.
---@field uri? string|vim.NIL URI associated with this resource or media payload.
---@field annotations? copydesk.protocol.Annotations|vim.NIL Optional annotations that help Clients decide how to display or route this content.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---One job.
---@class copydesk.protocol.JobInfo
---@field jobId string `job-N`, or `term-N` for a program on a terminal.
---@field sessionId string Its session.
---@field toolCallId string The card of the call that started it.
---@field terminalId string The terminal whose output `session/update` carries.
---@field label string What it is called.
---@field command string The command.
---@field status string `running`, `stopping`, `completed`, `failed`, `timed_out`, `stopped`, `killed` or `lost`.
---@field pid number Its process id.
---@field elapsedMs number Milliseconds since its start, until its end.
---@field quietMs number Milliseconds since its last output.
---@field deadlineLeftMs? number|vim.NIL Milliseconds until it is ended.
---@field exitCode? number|vim.NIL How it exited.
---@field signal? string|vim.NIL The signal that ended it.
---@field reason? string|vim.NIL Why it is being, or was, ended.
---@field unconfirmed boolean Some of its processes could not be shown to have ended.
---@field takesInput boolean Whether it is a terminal, which takes input and has a size.
---@field cols? number|vim.NIL Columns of a terminal that runs.
---@field rows? number|vim.NIL Rows of a terminal that runs.
---@field secretPrompt? string|vim.NIL What its program asks, if it waits for a password.

---`copydesk/job/kill` result.
---@class copydesk.protocol.JobKillResult
---@field status string `stopped`, `stopping`, `unconfirmed`, or how it had ended already.

---`copydesk/job/list` parameters.
---@class copydesk.protocol.JobListParams
---@field sessionId? string|vim.NIL The session; absent: all that are open, the person's own included.

---`copydesk/job/list` result.
---@class copydesk.protocol.JobListResult
---@field jobs copydesk.protocol.JobInfo[] Running ones, and ended ones as far as they are kept, in the order of their start.

---`copydesk/job/read` parameters.
---@class copydesk.protocol.JobReadParams
---@field sessionId? string|vim.NIL Its session; absent: the person's own.
---@field jobId string `job-N` or `term-N`, also of a command that has ended and was too long to be shown whole.
---@field offset? number The first byte.
---@field limit? number|vim.NIL Bytes at most; 32,768 unless given, and never more than that.

---`copydesk/job/read` result.
---@class copydesk.protocol.JobReadResult
---@field data string The raw bytes, base64.
---@field offset number Where they begin.
---@field next number Where the next page begins; the end when it equals `total`.
---@field total number Bytes kept so far.
---@field running boolean Whether more may come.

---Names one job: `copydesk/job/kill`.
---@class copydesk.protocol.JobRef
---@field sessionId? string|vim.NIL Its session; absent: the person's own.
---@field jobId string `job-N` or `term-N`; a command in the foreground goes by its `term-N`.

---`copydesk/job/resize` parameters.
---@class copydesk.protocol.JobResizeParams
---@field sessionId? string|vim.NIL Its session; absent: the person's own.
---@field jobId string The terminal.
---@field cols number Columns, 2 to 300.
---@field rows number Rows, 1 to 120.

---`copydesk/job/write` parameters.
---@class copydesk.protocol.JobWriteParams
---@field sessionId? string|vim.NIL Its session; absent: the person's own.
---@field jobId string The terminal.
---@field text string What the person typed, as a terminal sends it: the enter key is a carriage return.

---Request parameters for listing existing sessions.
---@class copydesk.protocol.ListSessionsRequest
---@field cwd? copydesk.protocol.AbsolutePath|vim.NIL Filter sessions by working directory. Must be an absolute path.
---@field cursor? copydesk.protocol.SessionListCursor|vim.NIL Opaque cursor token from a previous response's nextCursor field for cursor-based pagination
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Response from listing sessions.
---@class copydesk.protocol.ListSessionsResponse
---@field sessions copydesk.protocol.SessionInfo[] Array of session information objects.
---@field nextCursor? copydesk.protocol.SessionListCursor|vim.NIL Opaque cursor token. If present, pass this in the next request's cursor parameter to fetch the next page. Omitted and `null` are equivalent and mean there are no more results. An empty string is a valid cursor, not the end of results.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Configuration for connecting to an MCP (Model Context Protocol) server.
---@alias copydesk.protocol.McpServer copydesk.protocol.McpServer.http|copydesk.protocol.McpServer.stdio

---HTTP transport configuration
---@class copydesk.protocol.McpServer.http: copydesk.protocol.McpServerHttp
---@field type "http"

---Stdio transport configuration
---@class copydesk.protocol.McpServer.stdio: copydesk.protocol.McpServerStdio
---@field type "stdio"

---HTTP transport configuration for MCP.
---@class copydesk.protocol.McpServerHttp
---@field name string Human-readable name identifying this MCP server. MUST be unique within `mcpServers`.
---@field url string URL to the MCP server.
---@field headers? copydesk.protocol.HttpHeader[] HTTP headers to set when making requests to the MCP server. Headers the MCP transport defines are owned by the transport, and Agents use the transport's values for them.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Stdio transport configuration for MCP.
---@class copydesk.protocol.McpServerStdio
---@field name string Human-readable name identifying this MCP server. MUST be unique within `mcpServers`.
---@field command copydesk.protocol.AbsolutePath Path to the MCP server executable. Must be an absolute path.
---@field args? string[] Command-line arguments to pass to the MCP server.
---@field env? copydesk.protocol.EnvVariable[] Environment variables to set when launching the MCP server. Names SHOULD be unique. Agents MAY reject duplicates with `-32602`, and otherwise the last entry wins.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---An Internet media type identifying the format of protocol content.
---@alias copydesk.protocol.MediaType string

---Identifier for a message, unique among messages of the same type within a session.
---@alias copydesk.protocol.MessageId string

---What ACP's messages carry in `_meta.copydesk`; each key is optional.
---@class copydesk.protocol.MetaKeys
---@field seq? number|vim.NIL On the parameters of `session/update`: counts up by one in each session, so a client sees a gap.
---@field uri? string|vim.NIL On a card's location that has no path on disk: the document's URI; the path is for display.
---@field received? number|vim.NIL On a card whose arguments still arrive: characters so far.
---@field review? number|vim.NIL On a card that waits for the person's review: its hunks that are still pending.
---@field secretInput? copydesk.protocol.SecretInput|vim.NIL On a card: a program on a terminal waits for a password, which is the person's to give by `copydesk/job/write`. A later `_meta.copydesk` of the card without it says that the program waits no more.
---@field requestId? string|vim.NIL On the parameters of `session/request_permission`: names the question in `copydesk/request/resolved` and in the commands `copydesk.approve` and `copydesk.deny`.
---@field cut? boolean|vim.NIL On a hunk of `copydesk/review/didChange`: its texts are only their beginnings.
---@field omitted? number|vim.NIL On a file of `copydesk/review/didChange`: how many hunks it has beside those listed.
---@field files? string[]|vim.NIL On the offer to save files before a command: their names.
---@field rule? string|vim.NIL On a permission option: the rule it would remember, or several. On the answer's outcome: the rule to remember instead.
---@field feedback? string|vim.NIL On the answer's outcome, with any option: what the person says to the model.
---@field input? any On the answer's outcome: the whole changed input of the tool; it is judged again.
---@field delivery? string|vim.NIL On the parameters of `session/prompt`: `queue` (default) waits for the running turn, `steer` joins it at its next model request, `interrupt` cancels it first.
---@field rewound? string|vim.NIL On a `session_info_update`: the conversation was taken back to just before this prompt; drop it and everything after it. What follows is added as always.
---@field scope? string|vim.NIL On the parameters of `session/cancel`: `turn` (default), or `turnAndJobs` or `all` to end background jobs too.

---Request parameters for creating a new session.
---@class copydesk.protocol.NewSessionRequest
---@field cwd copydesk.protocol.AbsolutePath The working directory for this session. Must be an absolute path.
---@field additionalDirectories? copydesk.protocol.AbsolutePath[] Additional workspace roots for this session. Each path MUST be absolute.
---@field mcpServers? copydesk.protocol.McpServer[] List of MCP (Model Context Protocol) servers for the Agent to connect to.
---@field systemPrompt? copydesk.protocol.SystemPrompt|vim.NIL System-level instructions for the new session.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Response from creating a new session.
---@class copydesk.protocol.NewSessionResponse
---@field sessionId copydesk.protocol.SessionId Unique identifier for the created session.
---@field configOptions? copydesk.protocol.SessionConfigOption[] Initial session configuration options.
---@field availableCommands? copydesk.protocol.AvailableCommand[] Initial commands the Agent can execute in this session.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A cell as it is to be.
---@class copydesk.protocol.NotebookCellText
---@field kind string `code` or `markdown`.
---@field text string Its text, with `\n` between lines.

---`copydesk/editor/notebookEdit` parameters.
---@class copydesk.protocol.NotebookEditParams
---@field uri string The notebook, as it was opened by `notebookDocument/didOpen`.
---@field version number Its version that the edits are for; at any other one they are refused.
---@field label string A few words for the editor's undo list.
---@field edits copydesk.protocol.NotebookSplice[] The edits, of which no two overlap; places are those before all of them.

---`copydesk/editor/notebookEdit` result.
---@class copydesk.protocol.NotebookEditResult
---@field applied boolean Whether all edits were made. What became of them is seen by `notebookDocument/didChange`.
---@field failureReason? string|vim.NIL Why not.

---Cells that take the place of others.
---@class copydesk.protocol.NotebookSplice
---@field start number The index of the first cell that goes, or before which the new ones come.
---@field deleteCount number How many go.
---@field cells copydesk.protocol.NotebookCellText[] What comes. Where as many come as go, each keeps the metadata of the one it replaces, and none of its outputs.

---Fire-and-forget information for the user.
---@class copydesk.protocol.Notice
---@field severity copydesk.protocol.NoticeSeverity Presentation severity hint.
---@field title string Required non-empty plain-text title that can stand alone.
---@field description? string|vim.NIL Optional plain-text detail or guidance.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Severity hint for a session notice.
---@alias copydesk.protocol.NoticeSeverity "info"|"warning"|"error"|string

---`copydesk/permission/list` result.
---@class copydesk.protocol.PermissionListResult
---@field rules copydesk.protocol.RememberedRule[] Remembered rules.

---An option presented to the user when requesting permission.
---@class copydesk.protocol.PermissionOption
---@field optionId copydesk.protocol.PermissionOptionId Identifier for this permission option. MUST be unique within the request.
---@field name string Human-readable label to display to the user.
---@field kind copydesk.protocol.PermissionOptionKind What selecting this option means. Clients can also use it to choose how to display the option.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Unique identifier for a permission option.
---@alias copydesk.protocol.PermissionOptionId string

---The type of permission option being presented to the user.
---@alias copydesk.protocol.PermissionOptionKind "allow_once"|"allow_always"|"reject_once"|"reject_always"|string

---`copydesk/permission/remove` parameters.
---@class copydesk.protocol.PermissionRemoveParams
---@field id string The rule's id.

---A single entry in the execution plan.
---@class copydesk.protocol.PlanEntry
---@field content string Human-readable description of what this task aims to accomplish. May contain Markdown.
---@field priority copydesk.protocol.PlanEntryPriority The relative importance of this task. Used to indicate which tasks are most critical to the overall goal.
---@field status copydesk.protocol.PlanEntryStatus Current execution status of this task.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Priority levels for plan entries.
---@alias copydesk.protocol.PlanEntryPriority "high"|"medium"|"low"|string

---Status of a plan entry in the execution flow.
---@alias copydesk.protocol.PlanEntryStatus "pending"|"in_progress"|"completed"|"cancelled"|string

---Unique identifier for a plan within a session.
---@alias copydesk.protocol.PlanId string

---A plan represented as structured entries.
---@class copydesk.protocol.PlanItems
---@field planId copydesk.protocol.PlanId The plan ID to update.
---@field entries copydesk.protocol.PlanEntry[] The list of tasks to be accomplished.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A plan represented as Markdown.
---@class copydesk.protocol.PlanMarkdown
---@field planId copydesk.protocol.PlanId The plan ID to update.
---@field content string The complete plan as Markdown, not just the text that changed.
---@field path? copydesk.protocol.AbsolutePath|vim.NIL The absolute path of the file that holds this plan.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Removal notice for a plan identified by ID.
---@class copydesk.protocol.PlanRemoved
---@field planId copydesk.protocol.PlanId The plan ID to remove. Clients MUST ignore a removal for an unknown ID.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A content update for a plan identified by ID.
---@class copydesk.protocol.PlanUpdate
---@field plan copydesk.protocol.PlanUpdateContent Replaces the whole plan with this `planId`, even if its `type` changes.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Updated content for a plan.
---@alias copydesk.protocol.PlanUpdateContent copydesk.protocol.PlanUpdateContent.items|copydesk.protocol.PlanUpdateContent.markdown

---Structured plan entries.
---@class copydesk.protocol.PlanUpdateContent.items: copydesk.protocol.PlanItems
---@field type "items"

---The complete plan as Markdown.
---@class copydesk.protocol.PlanUpdateContent.markdown: copydesk.protocol.PlanMarkdown
---@field type "markdown"

---A zero-based place in a document, in the position encoding negotiated at `initialize`.
---@class copydesk.protocol.Position
---@field line number Zero-based line.
---@field character number Zero-based column in units of the negotiated encoding.

---Request parameters for sending a user prompt to the Agent.
---@class copydesk.protocol.PromptRequest
---@field sessionId copydesk.protocol.SessionId The ID of the session to send this user message to
---@field prompt copydesk.protocol.ContentBlock[] The blocks of content that compose the user's message.
---@field idempotencyKey? copydesk.protocol.IdempotencyKey|vim.NIL Identifies one prompt submission within this session.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Response acknowledging that a user prompt was inserted into the ACP conversation.
---@class copydesk.protocol.PromptResponse
---@field messageId copydesk.protocol.MessageId Identifies the user message inserted into the ACP conversation.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Protocol version identifier.
---@alias copydesk.protocol.ProtocolVersion number

---A half-open range of a document.
---@class copydesk.protocol.Range
---@field start copydesk.protocol.Position First position inside.
---@field end copydesk.protocol.Position First position outside.

---One remembered rule.
---@class copydesk.protocol.RememberedRule
---@field id string Names the rule for `copydesk/permission/remove`.
---@field rule string The rule as written, e.g. `Bash(cargo test:*)`.
---@field decision string `allow`, `ask` or `deny`.
---@field scope string `session`, `kept` (by "Always", for the folder), `local`, `project` or `user`.

---Marks the end of the history replay requested by `session/resume`.
---@class copydesk.protocol.ReplayComplete
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Inclusive cursor describing where replayed session history begins.
---@alias copydesk.protocol.ReplayFrom copydesk.protocol.ReplayFrom.start

---Replay all retained conversation history from its first replayable entry.
---@class copydesk.protocol.ReplayFrom.start: copydesk.protocol.ReplayFromStart
---@field type "start"

---Inclusive replay cursor requesting replay from the start of retained conversation history.
---@class copydesk.protocol.ReplayFromStart
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Why a request failed: `error.data` of every `copydesk` error.
---@class copydesk.protocol.RequestFailure
---@field kind string `stale`, `dirty-conflict`, `unrepresentable`, `outside-workspace`, `denied`, `too-large`, `binary`, `busy`, `not-found` or `invalid`.

---The outcome of a permission request.
---@alias copydesk.protocol.RequestPermissionOutcome copydesk.protocol.RequestPermissionOutcome.cancelled|copydesk.protocol.RequestPermissionOutcome.selected

---The request was not approved and no option was selected: the session's work was cancelled, the user dismissed the prompt, or the Client declined it by policy. Agents MUST NOT proceed with the operation.
---@class copydesk.protocol.RequestPermissionOutcome.cancelled: copydesk.protocol.CancelledPermissionOutcome
---@field outcome "cancelled"

---The user selected an option. Selection is not approval by itself.
---@class copydesk.protocol.RequestPermissionOutcome.selected: copydesk.protocol.SelectedPermissionOutcome
---@field outcome "selected"

---Request for user permission to proceed with an operation.
---@class copydesk.protocol.RequestPermissionRequest
---@field sessionId copydesk.protocol.SessionId The session ID for this request.
---@field title string Human-readable title for the permission prompt.
---@field description? string|vim.NIL Optional human-readable explanation of why permission is needed.
---@field subject? copydesk.protocol.RequestPermissionSubject|vim.NIL Optional structured context about the operation requiring permission.
---@field options copydesk.protocol.PermissionOption[] Available permission options for the user to choose from. Must contain at least one option.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Response to a permission request.
---@class copydesk.protocol.RequestPermissionResponse
---@field outcome copydesk.protocol.RequestPermissionOutcome The user's decision on the permission request.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---The operation requiring permission.
---@alias copydesk.protocol.RequestPermissionSubject copydesk.protocol.RequestPermissionSubject.tool_call|copydesk.protocol.RequestPermissionSubject.command

---Permission is requested before executing a tool call.
---@class copydesk.protocol.RequestPermissionSubject.tool_call: copydesk.protocol.ToolCallPermissionSubject
---@field type "tool_call"

---Permission is requested before running a command.
---@class copydesk.protocol.RequestPermissionSubject.command: copydesk.protocol.CommandPermissionSubject
---@field type "command"

---`copydesk/request/resolved` parameters: a prompt was answered, close it elsewhere.
---@class copydesk.protocol.RequestResolvedParams
---@field requestId string `_meta.copydesk.requestId` of the prompt.
---@field by string `client`, `policy` or `cancel`.
---@field outcome string The option chosen, or `cancelled`.

---The foreground workflow as a whole is blocked on user action.
---@class copydesk.protocol.RequiresActionStateUpdate
---@field background? copydesk.protocol.BackgroundWork[]|vim.NIL Work running independently of foreground work, as a complete snapshot.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A link to a resource that the receiver may be able to read, included in a prompt or tool call result.
---@class copydesk.protocol.ResourceLink
---@field name string Human-readable name shown for this protocol object.
---@field uri string URI associated with this resource or media payload.
---@field title? string|vim.NIL Optional display title for end-user UI.
---@field description? string|vim.NIL Optional human-readable details shown with this protocol object.
---@field icons? copydesk.protocol.Icon[]|vim.NIL Optional set of sized icons that the Client can display in a user interface.
---@field mimeType? copydesk.protocol.MediaType|vim.NIL MIME type describing the encoded media payload.
---@field size? number|vim.NIL Optional size of the linked resource in bytes, if known.
---@field annotations? copydesk.protocol.Annotations|vim.NIL Optional annotations that help Clients decide how to display or route this content.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---What is to be said of one file.
---@class copydesk.protocol.RestoreConflict
---@field uri string The file.
---@field reason string In words, for the person.

---Result of `copydesk/checkpoint/restore` and `copydesk/session/rewind`.
---@class copydesk.protocol.RestoreResult
---@field files string[] URIs of the files that changed, or would.
---@field conflicts copydesk.protocol.RestoreConflict[] Files that are not wholly as they were before the prompt.
---@field undoToken? string|vim.NIL Takes it back: for `copydesk/review/undo`. Absent after a dry run.

---Request parameters for resuming an existing session.
---@class copydesk.protocol.ResumeSessionRequest
---@field sessionId copydesk.protocol.SessionId The ID of the session to resume.
---@field cwd copydesk.protocol.AbsolutePath The working directory for this session. Must be an absolute path.
---@field additionalDirectories? copydesk.protocol.AbsolutePath[] Additional workspace roots to activate for this session. Each path MUST be absolute.
---@field mcpServers? copydesk.protocol.McpServer[] List of MCP servers to connect to for this session.
---@field replayFrom? copydesk.protocol.ReplayFrom|vim.NIL Inclusive cursor describing where conversation replay begins.
---@field systemPrompt? copydesk.protocol.SystemPrompt|vim.NIL System-level instructions for the resumed session.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Response from resuming an existing session.
---@class copydesk.protocol.ResumeSessionResponse
---@field configOptions? copydesk.protocol.SessionConfigOption[] Current session configuration options.
---@field availableCommands? copydesk.protocol.AvailableCommand[] Current commands the Agent can execute in this session.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---`copydesk/review/base` parameters.
---@class copydesk.protocol.ReviewBaseParams
---@field uri string The document.

---`copydesk/review/base` result.
---@class copydesk.protocol.ReviewBaseResult
---@field text string Its text without the pending changes.

---`copydesk/review/didChange` parameters.
---@class copydesk.protocol.ReviewChangedParams
---@field rev number Counts up with every change of the hunks.
---@field files copydesk.protocol.ReviewFile[] The files that changed.

---What is to be said of one hunk.
---@class copydesk.protocol.ReviewConflict
---@field hunkId string The hunk.
---@field reason string In words, for the person.

---A file with pending hunks.
---@class copydesk.protocol.ReviewFile
---@field uri string The document.
---@field change string `add`, `modify`, `delete` or `rename`.
---@field oldUri? string|vim.NIL Its name before a rename.
---@field version? number|vim.NIL The version the ranges hold for; absent for a file that is not open.
---@field hunks copydesk.protocol.Hunk[] Its hunks, in the order of the text.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Hunks, by one of: `hunkId`; `uri`; `uri` and `range`; `sessionId`; `all`.
---@class copydesk.protocol.ReviewItem
---@field hunkId? string|vim.NIL One hunk.
---@field uri? string|vim.NIL All of a document, or those in `range`.
---@field range? copydesk.protocol.Range|vim.NIL Only hunks that touch it.
---@field sessionId? string|vim.NIL All a session has a part in.
---@field all? boolean|vim.NIL All.

---`copydesk/review/list` parameters.
---@class copydesk.protocol.ReviewListParams
---@field uri? string|vim.NIL Only this document's.
---@field sessionId? string|vim.NIL Only those a session has a part in.

---`copydesk/review/list` result.
---@class copydesk.protocol.ReviewListResult
---@field rev number Counts up with every change of the hunks.
---@field files copydesk.protocol.ReviewFile[] Files with pending hunks.

---`copydesk/review/resolve` parameters.
---@class copydesk.protocol.ReviewResolveParams
---@field action string `accept` or `reject`.
---@field items copydesk.protocol.ReviewItem[] Which hunks.
---@field comment? string|vim.NIL Words for the agent.
---@field expectedRev? number|vim.NIL Fails as stale when the hunks have changed since this revision.

---`copydesk/review/resolve` result.
---@class copydesk.protocol.ReviewResolveResult
---@field rev number The revision after it.
---@field resolved string[] The hunks that were decided on.
---@field conflicts copydesk.protocol.ReviewConflict[] Hunks that could not be decided on, and decided ones that kept text of the person's.
---@field undoToken? string|vim.NIL Takes the decision back. Absent where there is nothing to take back.

---`copydesk/review/undo` parameters.
---@class copydesk.protocol.ReviewUndoParams
---@field undoToken string From the result of the decision.

---`copydesk/review/undo` result.
---@class copydesk.protocol.ReviewUndoResult
---@field rev number The revision after it.

---`copydesk/session/rewind` parameters.
---@class copydesk.protocol.RewindParams
---@field sessionId string An open session.
---@field messageId string A prompt of the person's that was given to the model.
---@field scope "conversation"|"files"|"both" `conversation`, `files` or `both`.
---@field dryRun? boolean Says what would happen; nothing does.

---The sender or recipient of messages and data in a conversation.
---@alias copydesk.protocol.Role "assistant"|"user"|string

---Foreground work is in progress.
---@class copydesk.protocol.RunningStateUpdate
---@field background? copydesk.protocol.BackgroundWork[]|vim.NIL Work running independently of foreground work, as a complete snapshot.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---`copydesk/editor/save` parameters.
---@class copydesk.protocol.SaveParams
---@field uris string[] Documents to save.

---`copydesk/editor/save` result.
---@class copydesk.protocol.SaveResult
---@field results copydesk.protocol.SavedDocument[] One entry a document.

---What became of one document that was to be saved.
---@class copydesk.protocol.SavedDocument
---@field uri string The document.
---@field saved boolean Whether it is on disk now.
---@field reason? string|vim.NIL Why not.

---A password that a program on a terminal waits for.
---@class copydesk.protocol.SecretInput
---@field jobId string The terminal.
---@field prompt string What the program asks.

---Identifies the option the user chose, whether it allows or rejects the operation.
---@class copydesk.protocol.SelectedPermissionOutcome
---@field optionId copydesk.protocol.PermissionOptionId The ID of the option the user selected from this request's `options`.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---What the server offers: `capabilities.experimental.copydesk` of the `initialize` result.
---@class copydesk.protocol.ServerMarkers
---@field protocolVersion number The version of `copydesk/*` the server speaks.
---@field version string The server's own version.
---@field session any ACP v2 session capabilities.
---@field jobs? table<string, any>|vim.NIL Answers `copydesk/job/*` and `terminal/cancel`.

---Capability to cancel work in a subagent session without ending that session.
---@class copydesk.protocol.SessionCancelCapabilities
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A boolean on/off toggle session configuration option payload.
---@class copydesk.protocol.SessionConfigBoolean
---@field currentValue boolean The current value of the boolean option.

---Unique identifier for a session configuration option value group.
---@alias copydesk.protocol.SessionConfigGroupId string

---Unique identifier for a session configuration option.
---@alias copydesk.protocol.SessionConfigId string

---A session configuration option selector and its current state.
---@alias copydesk.protocol.SessionConfigOption copydesk.protocol.SessionConfigOption.select|copydesk.protocol.SessionConfigOption.boolean

---Single-value selector (dropdown).
---@class copydesk.protocol.SessionConfigOption.select: copydesk.protocol.SessionConfigSelect
---@field configId copydesk.protocol.SessionConfigId Identifier for the configuration option. MUST be unique within `configOptions`.
---@field name string Human-readable label for the option.
---@field description? string|vim.NIL Optional description for the Client to display to the user.
---@field category? copydesk.protocol.SessionConfigOptionCategory|vim.NIL Optional semantic category for this option (UX only).
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field type "select"

---Boolean on/off toggle.
---@class copydesk.protocol.SessionConfigOption.boolean: copydesk.protocol.SessionConfigBoolean
---@field configId copydesk.protocol.SessionConfigId Identifier for the configuration option. MUST be unique within `configOptions`.
---@field name string Human-readable label for the option.
---@field description? string|vim.NIL Optional description for the Client to display to the user.
---@field category? copydesk.protocol.SessionConfigOptionCategory|vim.NIL Optional semantic category for this option (UX only).
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field type "boolean"

---Semantic category for a session configuration option.
---@alias copydesk.protocol.SessionConfigOptionCategory "mode"|"model"|"model_config"|"thought_level"|string

---A single-value selector (dropdown) session configuration option payload.
---@class copydesk.protocol.SessionConfigSelect
---@field currentValue copydesk.protocol.SessionConfigValueId The currently selected value. MUST be one of the `value`s in `options`.
---@field options copydesk.protocol.SessionConfigSelectOptions The set of selectable options. MUST contain at least one value, and each `value` MUST be unique within the option, including across groups.

---A group of possible values for a session configuration option.
---@class copydesk.protocol.SessionConfigSelectGroup
---@field groupId copydesk.protocol.SessionConfigGroupId Identifier for this group. MUST be unique within the option.
---@field name string Human-readable label for this group.
---@field options copydesk.protocol.SessionConfigSelectOption[] The set of option values in this group. MUST contain at least one value.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A possible value for a session configuration option.
---@class copydesk.protocol.SessionConfigSelectOption
---@field value copydesk.protocol.SessionConfigValueId Unique identifier for this option value.
---@field name string Human-readable label for this option value.
---@field description? string|vim.NIL Optional description for this option value.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Possible values for a session configuration option.
---@alias copydesk.protocol.SessionConfigSelectOptions copydesk.protocol.SessionConfigSelectOption[]|copydesk.protocol.SessionConfigSelectGroup[]

---Unique identifier for a session configuration option value.
---@alias copydesk.protocol.SessionConfigValueId string

---A unique identifier for a conversation session between a Client and Agent.
---@alias copydesk.protocol.SessionId string

---Information about a session returned by session/list
---@class copydesk.protocol.SessionInfo
---@field sessionId copydesk.protocol.SessionId Unique identifier for the session
---@field cwd copydesk.protocol.AbsolutePath The working directory for this session. Must be an absolute path.
---@field additionalDirectories? copydesk.protocol.AbsolutePath[] Additional workspace roots reported for this session. Each path MUST be absolute.
---@field title? string|vim.NIL Human-readable title for the session
---@field updatedAt? string|vim.NIL RFC 3339 timestamp of last activity.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Update to session metadata. All fields are optional to support partial updates.
---@class copydesk.protocol.SessionInfoUpdate
---@field title? string|vim.NIL Human-readable title for the session. Set to null to clear.
---@field updatedAt? string|vim.NIL RFC 3339 timestamp of last activity. Set to null to clear.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---An opaque cursor used to paginate `session/list` results.
---@alias copydesk.protocol.SessionListCursor string

---An upsert for an inter-session message.
---@class copydesk.protocol.SessionMessage
---@field messageId copydesk.protocol.MessageId Identifier of this message within the enclosing session's transcript.
---@field senderSessionId? copydesk.protocol.SessionId|vim.NIL The sending session.
---@field recipientSessionId? copydesk.protocol.SessionId|vim.NIL The receiving session.
---@field senderMessageId? copydesk.protocol.MessageId|vim.NIL On an incoming view, the `messageId` of the same message's outgoing view in the sender's transcript.
---@field recipientMessageId? copydesk.protocol.MessageId|vim.NIL On an outgoing view, the `messageId` of the same message's incoming view in the recipient's transcript.
---@field content? copydesk.protocol.ContentBlock[]|vim.NIL Omitted leaves content unchanged. `null` clears it. A concrete array replaces the whole content collection.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A streamed content block of an inter-session message.
---@class copydesk.protocol.SessionMessageChunk
---@field messageId copydesk.protocol.MessageId Identifier of this message within the enclosing session's transcript.
---@field content copydesk.protocol.ContentBlock A single content block appended to the message.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Data for the `-32002` (Resource not found) error when a session-scoped request names a session that does not exist or is not active.
---@class copydesk.protocol.SessionNotFoundErrorData
---@field sessionId copydesk.protocol.SessionId The session ID from the request.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A display-only reference to another session that this tool call operates on, such as a subagent it created, delegated to, or is waiting on.
---@class copydesk.protocol.SessionReference
---@field sessionId copydesk.protocol.SessionId The referenced session.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Different types of updates that can be sent while a session exists.
---@alias copydesk.protocol.SessionUpdate copydesk.protocol.SessionUpdate.user_message_chunk|copydesk.protocol.SessionUpdate.user_message|copydesk.protocol.SessionUpdate.agent_message_chunk|copydesk.protocol.SessionUpdate.agent_message|copydesk.protocol.SessionUpdate.agent_thought_chunk|copydesk.protocol.SessionUpdate.agent_thought|copydesk.protocol.SessionUpdate.state_update|copydesk.protocol.SessionUpdate.tool_call_content_chunk|copydesk.protocol.SessionUpdate.tool_call_update|copydesk.protocol.SessionUpdate.terminal_update|copydesk.protocol.SessionUpdate.terminal_output_chunk|copydesk.protocol.SessionUpdate.plan_update|copydesk.protocol.SessionUpdate.plan_removed|copydesk.protocol.SessionUpdate.available_commands_update|copydesk.protocol.SessionUpdate.config_option_update|copydesk.protocol.SessionUpdate.session_info_update|copydesk.protocol.SessionUpdate.usage_update|copydesk.protocol.SessionUpdate.notice|copydesk.protocol.SessionUpdate.compaction_update|copydesk.protocol.SessionUpdate.compaction_summary_chunk|copydesk.protocol.SessionUpdate.replay_complete|copydesk.protocol.SessionUpdate.subagent_update|copydesk.protocol.SessionUpdate.session_message|copydesk.protocol.SessionUpdate.session_message_chunk

---A chunk of the user's message being streamed.
---@class copydesk.protocol.SessionUpdate.user_message_chunk: copydesk.protocol.ContentChunk
---@field sessionUpdate "user_message_chunk"

---A user message has been created or updated.
---@class copydesk.protocol.SessionUpdate.user_message: copydesk.protocol.UserMessage
---@field sessionUpdate "user_message"

---A chunk of the Agent's response being streamed.
---@class copydesk.protocol.SessionUpdate.agent_message_chunk: copydesk.protocol.ContentChunk
---@field sessionUpdate "agent_message_chunk"

---An Agent message has been created or updated.
---@class copydesk.protocol.SessionUpdate.agent_message: copydesk.protocol.AgentMessage
---@field sessionUpdate "agent_message"

---A chunk of the Agent's internal reasoning being streamed.
---@class copydesk.protocol.SessionUpdate.agent_thought_chunk: copydesk.protocol.ContentChunk
---@field sessionUpdate "agent_thought_chunk"

---An Agent thought or reasoning message has been created or updated.
---@class copydesk.protocol.SessionUpdate.agent_thought: copydesk.protocol.AgentThought
---@field sessionUpdate "agent_thought"

---A snapshot of the session's aggregate foreground activity.
---@class copydesk.protocol.SessionUpdate.state_update: copydesk.protocol.StateUpdate
---@field sessionUpdate "state_update"

---A chunk of tool-call content being streamed.
---@class copydesk.protocol.SessionUpdate.tool_call_content_chunk: copydesk.protocol.ToolCallContentChunk
---@field sessionUpdate "tool_call_content_chunk"

---A tool call has been created or updated.
---@class copydesk.protocol.SessionUpdate.tool_call_update: copydesk.protocol.ToolCallUpdate
---@field sessionUpdate "tool_call_update"

---An Agent-owned terminal has been created or updated.
---@class copydesk.protocol.SessionUpdate.terminal_update: copydesk.protocol.TerminalUpdate
---@field sessionUpdate "terminal_update"

---A chunk of bytes appended to an Agent-owned terminal's output.
---@class copydesk.protocol.SessionUpdate.terminal_output_chunk: copydesk.protocol.TerminalOutputChunk
---@field sessionUpdate "terminal_output_chunk"

---A content update for a plan identified by ID. See protocol docs: [Agent Plan](https://agentclientprotocol.com/protocol/v2/agent-plan)
---@class copydesk.protocol.SessionUpdate.plan_update: copydesk.protocol.PlanUpdate
---@field sessionUpdate "plan_update"

---Removal notice for a plan identified by ID.
---@class copydesk.protocol.SessionUpdate.plan_removed: copydesk.protocol.PlanRemoved
---@field sessionUpdate "plan_removed"

---Available commands are ready or have changed
---@class copydesk.protocol.SessionUpdate.available_commands_update: copydesk.protocol.AvailableCommandsUpdate
---@field sessionUpdate "available_commands_update"

---Session configuration options have been updated.
---@class copydesk.protocol.SessionUpdate.config_option_update: copydesk.protocol.ConfigOptionUpdate
---@field sessionUpdate "config_option_update"

---Session metadata has been updated (title, timestamps, custom metadata)
---@class copydesk.protocol.SessionUpdate.session_info_update: copydesk.protocol.SessionInfoUpdate
---@field sessionUpdate "session_info_update"

---Context window and cost update for the session.
---@class copydesk.protocol.SessionUpdate.usage_update: copydesk.protocol.UsageUpdate
---@field sessionUpdate "usage_update"

---Information for the user that is not part of session history.
---@class copydesk.protocol.SessionUpdate.notice: copydesk.protocol.Notice
---@field sessionUpdate "notice"

---A context compaction has been created or updated.
---@class copydesk.protocol.SessionUpdate.compaction_update: copydesk.protocol.CompactionUpdate
---@field sessionUpdate "compaction_update"

---A content block appended to a context compaction's retained summary.
---@class copydesk.protocol.SessionUpdate.compaction_summary_chunk: copydesk.protocol.CompactionSummaryChunk
---@field sessionUpdate "compaction_summary_chunk"

---The history replay requested by `session/resume` is complete for this session.
---@class copydesk.protocol.SessionUpdate.replay_complete: copydesk.protocol.ReplayComplete
---@field sessionUpdate "replay_complete"

---Announces a child session created and owned by this session, or updates that ownership association's metadata.
---@class copydesk.protocol.SessionUpdate.subagent_update: copydesk.protocol.SubagentUpdate
---@field sessionUpdate "subagent_update"

---A message upsert observed in this session's transcript, sent to or received from another session.
---@class copydesk.protocol.SessionUpdate.session_message: copydesk.protocol.SessionMessage
---@field sessionUpdate "session_message"

---One content block appended to a sent or received session message.
---@class copydesk.protocol.SessionUpdate.session_message_chunk: copydesk.protocol.SessionMessageChunk
---@field sessionUpdate "session_message_chunk"

---Request parameters for setting a session configuration option.
---@alias copydesk.protocol.SetSessionConfigOptionRequest copydesk.protocol.SetSessionConfigOptionRequest.id|copydesk.protocol.SetSessionConfigOptionRequest.boolean

---A `SessionConfigValueId` string value (`type: "id"`).
---@class copydesk.protocol.SetSessionConfigOptionRequest.id
---@field sessionId copydesk.protocol.SessionId The ID of the session to set the configuration option for.
---@field configId copydesk.protocol.SessionConfigId The ID of the configuration option to set.
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field type "id"
---@field value copydesk.protocol.SessionConfigValueId The value ID.

---A boolean value (`type: "boolean"`).
---@class copydesk.protocol.SetSessionConfigOptionRequest.boolean
---@field sessionId copydesk.protocol.SessionId The ID of the session to set the configuration option for.
---@field configId copydesk.protocol.SessionConfigId The ID of the configuration option to set.
---@field _meta? copydesk.protocol.Meta|vim.NIL
---@field type "boolean"
---@field value boolean The boolean value.

---Response to `session/set_config_option` method.
---@class copydesk.protocol.SetSessionConfigOptionResponse
---@field configOptions copydesk.protocol.SessionConfigOption[] The full set of configuration options and their current values.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A snapshot of the session's aggregate foreground activity.
---@alias copydesk.protocol.StateUpdate copydesk.protocol.StateUpdate.running|copydesk.protocol.StateUpdate.idle|copydesk.protocol.StateUpdate.requires_action|copydesk.protocol.StateUpdate.unknown

---Foreground work is in progress.
---@class copydesk.protocol.StateUpdate.running: copydesk.protocol.RunningStateUpdate
---@field state "running"

---No foreground work is active. Background activity may continue.
---@class copydesk.protocol.StateUpdate.idle: copydesk.protocol.IdleStateUpdate
---@field state "idle"

---Foreground work is blocked on user action.
---@class copydesk.protocol.StateUpdate.requires_action: copydesk.protocol.RequiresActionStateUpdate
---@field state "requires_action"

---The Agent cannot currently determine foreground activity. This replaces previously confirmed activity without ending the work or session.
---@class copydesk.protocol.StateUpdate.unknown: copydesk.protocol.UnknownStateUpdate
---@field state "unknown"

---`copydesk/status/didChange` parameters.
---@class copydesk.protocol.StatusParams
---@field kind string `normal`, `warning` or `error`.
---@field busy boolean Whether a turn runs.
---@field message? string|vim.NIL One line for a status bar.
---@field pendingPermissions number Questions that wait for the person, and calls that wait for their review.
---@field pendingHunks number Hunks waiting for the person.

---`copydesk/status` result: the facts a health check prints.
---@class copydesk.protocol.StatusResult
---@field version string The server's version.
---@field pid number Its process id.
---@field logPath? string|vim.NIL The log file.
---@field config string[] Configuration files read.
---@field model? string|vim.NIL `provider/model` in use.
---@field languageServers any[] Language servers started by us.
---@field mcpServers any[] MCP servers.
---@field jobs any[] Running jobs.
---@field sessions any[] Open sessions.
---@field problems string[] Configuration errors and parts that did not start.

---Client-initiated session mutations permitted for a specific subagent session.
---@class copydesk.protocol.SubagentSessionCapabilities
---@field cancel? copydesk.protocol.SessionCancelCapabilities|vim.NIL Permits the Client to cancel this child's current work without ending the session. Omitted and `null` are equivalent and mean unsupported. An object (including `{}`) means supported.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Notification that the enclosing parent session created and owns a child session.
---@class copydesk.protocol.SubagentUpdate
---@field sessionId copydesk.protocol.SessionId The opaque session ID identifying the child in all ACP messages.
---@field title? string|vim.NIL The parent's human-readable display title for this child. It need not be unique.
---@field description? string|vim.NIL The parent's human-readable description of the child's role or purpose.
---@field capabilities? copydesk.protocol.SubagentSessionCapabilities|vim.NIL Client-initiated session mutations permitted for this subagent session.
---@field state? copydesk.protocol.StateUpdate|vim.NIL The child's current foreground state, mirrored onto its parent association.
---@field cwd? copydesk.protocol.AbsolutePath|vim.NIL The child's working directory. Must be an absolute path.
---@field additionalDirectories? copydesk.protocol.AbsolutePath[]|vim.NIL Additional workspace roots for the child. Each path MUST be absolute.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Client-provided system-level instructions for a session.
---@class copydesk.protocol.SystemPrompt
---@field mode copydesk.protocol.SystemPromptMode How the Agent combines `content` with its own instructions.
---@field content copydesk.protocol.ContentBlock[] The system prompt content.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---How the Agent combines a Client-provided system prompt with its own instructions.
---@alias copydesk.protocol.SystemPromptMode "append"|"override"|string

---A display-only reference to an Agent-owned terminal.
---@class copydesk.protocol.Terminal
---@field terminalId copydesk.protocol.TerminalId The ID of the terminal to display.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Capability to cancel a terminal with `terminal/cancel`.
---@class copydesk.protocol.TerminalCancelCapabilities
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Client-initiated controls a terminal currently supports.
---@class copydesk.protocol.TerminalCapabilities
---@field cancel? copydesk.protocol.TerminalCancelCapabilities|vim.NIL Permits the Client to cancel this terminal with `terminal/cancel`.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Exit information for an Agent-owned terminal.
---@class copydesk.protocol.TerminalExitStatus
---@field exitCode? number|vim.NIL Process exit code as the platform reports it, when known. Negative values are allowed, for example signed Windows exit codes. Omitted and `null` are equivalent.
---@field signal? string|vim.NIL Signal that terminated the process, when known.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Unique identifier for an Agent-owned terminal within a session.
---@alias copydesk.protocol.TerminalId string

---An authoritative replacement snapshot of terminal output bytes.
---@class copydesk.protocol.TerminalOutput
---@field data string Base64-encoded replacement terminal output bytes.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A chunk of bytes appended to an Agent-owned terminal's output.
---@class copydesk.protocol.TerminalOutputChunk
---@field terminalId copydesk.protocol.TerminalId The terminal receiving these bytes.
---@field data string Independently base64-encoded terminal output bytes.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---The size of an Agent-owned terminal in character cells.
---@class copydesk.protocol.TerminalSize
---@field cols number Number of columns. At least 1.
---@field rows number Number of rows. At least 1.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---An upsert for the stored state of an Agent-owned terminal.
---@class copydesk.protocol.TerminalUpdate
---@field terminalId copydesk.protocol.TerminalId Unique identifier for this terminal within the session.
---@field command? string|vim.NIL The command being run.
---@field cwd? copydesk.protocol.AbsolutePath|vim.NIL The absolute working directory of the command.
---@field output? copydesk.protocol.TerminalOutput|vim.NIL An authoritative replacement snapshot of terminal output bytes.
---@field exitStatus? copydesk.protocol.TerminalExitStatus|vim.NIL Exit information. A concrete object marks the terminal as exited.
---@field size? copydesk.protocol.TerminalSize|vim.NIL The terminal size the command runs with, when known.
---@field capabilities? copydesk.protocol.TerminalCapabilities|vim.NIL Client-initiated controls this terminal currently supports, such as cancellation.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---All text that was typed after the command name is provided as input.
---@class copydesk.protocol.TextCommandInput
---@field hint string A hint to display when the input hasn't been provided yet
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Text provided to or from an LLM.
---@class copydesk.protocol.TextContent
---@field text string Text payload carried by this content block.
---@field annotations? copydesk.protocol.Annotations|vim.NIL Optional annotations that help Clients decide how to display or route this content.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Text-based resource contents.
---@class copydesk.protocol.TextResourceContents
---@field text string Text payload carried by this content block.
---@field uri string URI associated with this resource or media payload.
---@field mimeType? copydesk.protocol.MediaType|vim.NIL MIME type describing the encoded media payload.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Capability to cancel a tool call with `tool_call/cancel`.
---@class copydesk.protocol.ToolCallCancelCapabilities
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Client-initiated controls a tool call currently supports.
---@class copydesk.protocol.ToolCallCapabilities
---@field cancel? copydesk.protocol.ToolCallCancelCapabilities|vim.NIL Permits the Client to cancel this tool call with `tool_call/cancel`.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Content produced by a tool call.
---@alias copydesk.protocol.ToolCallContent copydesk.protocol.ToolCallContent.content|copydesk.protocol.ToolCallContent.diff|copydesk.protocol.ToolCallContent.terminal|copydesk.protocol.ToolCallContent.session

---Standard content block (text, images, resources).
---@class copydesk.protocol.ToolCallContent.content: copydesk.protocol.Content
---@field type "content"

---File modification shown as a diff.
---@class copydesk.protocol.ToolCallContent.diff: copydesk.protocol.Diff
---@field type "diff"

---A display-only reference to an Agent-owned terminal.
---@class copydesk.protocol.ToolCallContent.terminal: copydesk.protocol.Terminal
---@field type "terminal"

---A display-only reference to another session, such as a subagent.
---@class copydesk.protocol.ToolCallContent.session: copydesk.protocol.SessionReference
---@field type "session"

---A streamed item of tool-call content.
---@class copydesk.protocol.ToolCallContentChunk
---@field toolCallId copydesk.protocol.ToolCallId The ID of the tool call this content belongs to.
---@field content copydesk.protocol.ToolCallContent A single item of content produced by the tool call.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Unique identifier for a tool call within a session.
---@alias copydesk.protocol.ToolCallId string

---A file location being accessed or modified by a tool.
---@class copydesk.protocol.ToolCallLocation
---@field path copydesk.protocol.AbsolutePath The absolute file path being accessed or modified.
---@field line? number|vim.NIL Optional 1-based line number within the file. Omitted and `null` are equivalent and mean no specific line. `0` is invalid.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---`copydesk/tool/call` parameters.
---@class copydesk.protocol.ToolCallParams
---@field sessionId? string|vim.NIL The session the call belongs to; absent: the person's own session of the workspace.
---@field name string Canonical name or an alias.
---@field input? any The tool's input.
---@field dialect? string|vim.NIL The dialect whose names and fields the call uses, and whose formats the result has; absent: the canonical ones.

---Permission request details for a tool call.
---@class copydesk.protocol.ToolCallPermissionSubject
---@field toolCall copydesk.protocol.ToolCallUpdate Details about the tool call requiring permission.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Names one tool call of a session: `copydesk/toolCall/cancel` and `copydesk/toolCall/background`.
---@class copydesk.protocol.ToolCallRef
---@field sessionId string The session.
---@field toolCallId string The card's id.

---`copydesk/tool/call` result.
---@class copydesk.protocol.ToolCallResult
---@field content copydesk.protocol.ContentBlock[] What the model would read.
---@field isError boolean Whether the tool failed, was denied or rejected.
---@field toolCallId string The id of the card.

---Execution status of a tool call.
---@alias copydesk.protocol.ToolCallStatus "pending"|"in_progress"|"paused"|"completed"|"failed"|"cancelled"|string

---Represents an upsert for a tool call that the language model has requested.
---@class copydesk.protocol.ToolCallUpdate
---@field toolCallId copydesk.protocol.ToolCallId Unique identifier for this tool call within the session.
---@field name? string|vim.NIL Programmatic name of the tool being invoked.
---@field title? string|vim.NIL Human-readable plain-text title describing what the tool is doing.
---@field kind? copydesk.protocol.ToolKind|vim.NIL The category of tool being invoked. Helps Clients choose appropriate icons and UI treatment.
---@field status? copydesk.protocol.ToolCallStatus|vim.NIL Current execution status of the tool call.
---@field content? copydesk.protocol.ToolCallContent[]|vim.NIL Content produced by the tool call.
---@field locations? copydesk.protocol.ToolCallLocation[]|vim.NIL File locations affected by this tool call. Enables "follow-along" features in Clients.
---@field rawInput? any Raw input parameters sent to the tool.
---@field rawOutput? any Raw output returned by the tool.
---@field capabilities? copydesk.protocol.ToolCallCapabilities|vim.NIL Client-initiated controls this tool call currently supports, such as cancellation.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---One tool as the model sees it.
---@class copydesk.protocol.ToolInfo
---@field name string The name in the dialect.
---@field canonicalName string The name that rules, hooks and logs use.
---@field description string What the model reads.
---@field inputSchema any JSON Schema of the input.
---@field kind string ACP tool kind (`read`, `edit`, `search`, `execute`, …).
---@field deferred boolean Whether only the name is shown until the tool is loaded.

---Categories of tools that can be invoked.
---@alias copydesk.protocol.ToolKind "read"|"edit"|"delete"|"move"|"search"|"execute"|"think"|"fetch"|"switch_mode"|"other"|string

---`copydesk/tool/list` parameters.
---@class copydesk.protocol.ToolListParams
---@field sessionId? string|vim.NIL The session whose tools are listed, as its model sees them; absent: every tool under its canonical name.
---@field dialect? string|vim.NIL The dialect to show them in; absent: the session's own.

---`copydesk/tool/list` result.
---@class copydesk.protocol.ToolListResult
---@field tools copydesk.protocol.ToolInfo[] Every tool the session can call.

---`copydesk/trust` parameters.
---@class copydesk.protocol.TrustParams
---@field root string URI of the folder.
---@field trusted boolean Whether the person trusts it.

---The Agent cannot currently determine foreground activity.
---@class copydesk.protocol.UnknownStateUpdate
---@field background? copydesk.protocol.BackgroundWork[]|vim.NIL Work running independently of foreground work, as a complete snapshot.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Data for the `-32022` (Unsupported protocol version) error.
---@class copydesk.protocol.UnsupportedProtocolVersionErrorData
---@field requested copydesk.protocol.ProtocolVersion The protocol version the Client requested.
---@field supported copydesk.protocol.ProtocolVersion[] The protocol versions the Agent supports.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Notification containing a session update from the Agent.
---@class copydesk.protocol.UpdateSessionNotification
---@field sessionId copydesk.protocol.SessionId The ID of the session this update pertains to.
---@field update copydesk.protocol.SessionUpdate The actual update content.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---**UNSTABLE**
---@class copydesk.protocol.Usage
---@field totalTokens number Sum of all token types for the completed work.
---@field inputTokens number Input tokens for the completed work.
---@field outputTokens number Output tokens for the completed work.
---@field thoughtTokens? number|vim.NIL Thought/reasoning tokens for the completed work.
---@field cachedReadTokens? number|vim.NIL Cache read tokens for the completed work.
---@field cachedWriteTokens? number|vim.NIL Cache write tokens for the completed work.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Context window and cost update for a session.
---@class copydesk.protocol.UsageUpdate
---@field used number Tokens currently in context.
---@field size number Total context window size in tokens.
---@field cost? copydesk.protocol.Cost|vim.NIL Cumulative session cost.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---A user message upsert.
---@class copydesk.protocol.UserMessage
---@field messageId copydesk.protocol.MessageId A unique identifier for the message.
---@field content? copydesk.protocol.ContentBlock[]|vim.NIL Complete replacement content for this message.
---@field _meta? copydesk.protocol.Meta|vim.NIL

---Every method by name.
---@class copydesk.protocol.Methods
---@field ["session/new"] { params: copydesk.protocol.NewSessionRequest, result: copydesk.protocol.NewSessionResponse } Begins a session in a folder. `cwd` is an absolute path of a folder that exists.
---@field ["session/prompt"] { params: copydesk.protocol.PromptRequest, result: copydesk.protocol.PromptResponse } Hands the agent a prompt and is answered at once; the turn itself ends with a `state_update` of kind `idle`. A prompt sent while a turn runs is listed and waits.
---@field ["session/cancel"] { params: copydesk.protocol.CancelSessionNotification } Ends the running turn: no further model request, its commands are gone within a second, its prompts are withdrawn and its cards end as cancelled.
---@field ["session/set_config_option"] { params: copydesk.protocol.SetSessionConfigOptionRequest, result: copydesk.protocol.SetSessionConfigOptionResponse } Sets `mode` or `model` of a session. `type` is `id`.
---@field ["session/list"] { params: copydesk.protocol.ListSessionsRequest, result: copydesk.protocol.ListSessionsResponse } Lists the sessions of a folder, or of all open folders, newest first.
---@field ["session/resume"] { params: copydesk.protocol.ResumeSessionRequest, result: copydesk.protocol.ResumeSessionResponse } Joins an open session or begins one again from disk. With `replayFrom` every update is sent again in order first; questions that wait are asked again.
---@field ["session/close"] { params: copydesk.protocol.CloseSessionRequest, result: copydesk.protocol.CloseSessionResponse } Ends a session's turn and processes. It stays on disk and can be resumed.
---@field ["session/delete"] { params: copydesk.protocol.DeleteSessionRequest, result: copydesk.protocol.DeleteSessionResponse } Closes a session and removes it from disk.
---@field ["tool_call/cancel"] { params: copydesk.protocol.CancelToolCallRequest, result: copydesk.protocol.CancelToolCallResponse } Ends one running tool call; the turn goes on.
---@field ["copydesk/session/fork"] { params: copydesk.protocol.ForkParams, result: copydesk.protocol.ForkResult } Begins a session with another's conversation, up to a message of it. Files stay as they are.
---@field ["copydesk/session/rewind"] { params: copydesk.protocol.RewindParams, result: copydesk.protocol.RestoreResult } Takes a conversation, the files the agent changed since, or both back to just before a prompt. Refused as `busy` while a turn or a call runs. Clients are told by a `session_info_update` with `_meta.copydesk.rewound`.
---@field ["copydesk/session/export"] { params: copydesk.protocol.ExportParams, result: copydesk.protocol.ExportResult } Gives the whole conversation of an open session as text.
---@field ["copydesk/tool/list"] { params: copydesk.protocol.ToolListParams, result: copydesk.protocol.ToolListResult } Lists the tools as the model sees them.
---@field ["copydesk/tool/call"] { params: copydesk.protocol.ToolCallParams, result: copydesk.protocol.ToolCallResult } Calls a tool through the same gate as a call of the model, and stays open until it ends. A tool that fails or is denied is a result with `isError`, not an error.
---@field ["copydesk/toolCall/cancel"] { params: copydesk.protocol.ToolCallRef, result: copydesk.protocol.Empty } The same as `tool_call/cancel`, for clients that know the extension alone.
---@field ["copydesk/toolCall/background"] { params: copydesk.protocol.ToolCallRef, result: copydesk.protocol.BackgroundResult } Turns a command that runs in the foreground into a job; the call ends at once.
---@field ["copydesk/job/list"] { params: copydesk.protocol.JobListParams, result: copydesk.protocol.JobListResult } Lists jobs, servers and terminals.
---@field ["copydesk/job/read"] { params: copydesk.protocol.JobReadParams, result: copydesk.protocol.JobReadResult } Gives a page of what a job or a command printed. No reader of the agent's loses its place.
---@field ["copydesk/job/write"] { params: copydesk.protocol.JobWriteParams, result: copydesk.protocol.Empty } Types into a terminal as the person, passwords included. It is kept nowhere.
---@field ["copydesk/job/resize"] { params: copydesk.protocol.JobResizeParams, result: copydesk.protocol.Empty } Sets the size of a terminal.
---@field ["copydesk/job/kill"] { params: copydesk.protocol.JobRef, result: copydesk.protocol.JobKillResult } Stops a job with all it started, or the command in the foreground; the agent is told of its end and who stopped it.
---@field ["terminal/cancel"] { params: copydesk.protocol.CancelTerminalRequest, result: copydesk.protocol.CancelTerminalResponse } The same as `copydesk/job/kill`, by the terminal of a card.
---@field ["copydesk/status"] { params: copydesk.protocol.Empty, result: copydesk.protocol.StatusResult } Gives the facts a health check prints.
---@field ["copydesk/trust"] { params: copydesk.protocol.TrustParams, result: copydesk.protocol.Empty } Says whether the person trusts a folder's own settings. It is remembered.
---@field ["copydesk/permission/list"] { params: copydesk.protocol.Empty, result: copydesk.protocol.PermissionListResult } Lists the permission rules in force: remembered ones and those of configuration files.
---@field ["copydesk/permission/remove"] { params: copydesk.protocol.PermissionRemoveParams, result: copydesk.protocol.Empty } Forgets a remembered rule. A rule of a configuration file is removed in the file.
---@field ["copydesk/review/list"] { params: copydesk.protocol.ReviewListParams, result: copydesk.protocol.ReviewListResult } Lists the agent's changes that wait for the person, by file. Ids are stable while hunks move; ranges hold for the version beside them.
---@field ["copydesk/review/resolve"] { params: copydesk.protocol.ReviewResolveParams, result: copydesk.protocol.ReviewResolveResult } Accepts or rejects hunks, in any order. Answered when the text is in the document. What the person typed inside a rejected hunk stays, and is said in `conflicts`.
---@field ["copydesk/review/undo"] { params: copydesk.protocol.ReviewUndoParams, result: copydesk.protocol.ReviewUndoResult } Takes a decision, a restore or a rewind back. Answered when the text is in the document.
---@field ["copydesk/review/base"] { params: copydesk.protocol.ReviewBaseParams, result: copydesk.protocol.ReviewBaseResult } Gives a file's text without the pending changes, for diff editors.
---@field ["copydesk/checkpoint/list"] { params: copydesk.protocol.CheckpointListParams, result: copydesk.protocol.CheckpointListResult } Lists the states a session can be taken back to: one before each prompt.
---@field ["copydesk/checkpoint/restore"] { params: copydesk.protocol.CheckpointRestoreParams, result: copydesk.protocol.RestoreResult } Takes back what the session's agent did to files since a prompt. Answered when the text is in the documents. What anybody else wrote stays; where that is inside a change of the agent's, the change stays too and the file is in `conflicts`.
---@field ["copydesk/editor/didChangeState"] { params: copydesk.protocol.EditorStateParams } Tells what only the editor knows: where the person is, which documents are unsaved, and how they are stored. It lists all open documents each time.
---@field ["session/update"] { params: copydesk.protocol.UpdateSessionNotification } Something happened in a session: text, a tool's card, a state, options.
---@field ["session/request_permission"] { params: copydesk.protocol.RequestPermissionRequest, result: copydesk.protocol.RequestPermissionResponse } Asks the person before a tool runs. The subject is complete: the whole command, or every path of an edit with its diff. Needs the marker `permission`.
---@field ["copydesk/editor/save"] { params: copydesk.protocol.SaveParams, result: copydesk.protocol.SaveResult } Asks the editor to save documents. Needs the marker `save`.
---@field ["copydesk/editor/notebookEdit"] { params: copydesk.protocol.NotebookEditParams, result: copydesk.protocol.NotebookEditResult } Changes the cells of an open notebook, all edits or none, as one step of undo and without taking the focus. Needs the marker `notebook`.
---@field ["copydesk/review/didChange"] { params: copydesk.protocol.ReviewChangedParams } Hunks came, went or moved: the files that changed, each with all its hunks; a file without hunks has none left. At most 64 KB: where a file has more, long texts are cut and further hunks left out, which `_meta.copydesk` says (`cut`, `omitted`); `copydesk/review/list` with its `uri` has all of it. Needs the marker `review`.
---@field ["copydesk/request/resolved"] { params: copydesk.protocol.RequestResolvedParams } A question no longer needs an answer: close it.
---@field ["copydesk/status/didChange"] { params: copydesk.protocol.StatusParams } What a status bar shows, of all sessions together.
