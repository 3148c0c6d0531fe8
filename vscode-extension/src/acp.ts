// The session messages (ACP v2) this extension reads and writes. Enums are open: a server may
// send kinds that are not listed here, and they must still draw.

export type Meta = Record<string, unknown> & { copydesk?: Record<string, unknown> };

export type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; data: string; mimeType: string }
  | { type: 'resource_link'; name: string; uri: string; title?: string }
  | { type: 'resource'; resource: { uri: string; text?: string } };

export interface DiffChange {
  operation: string;
  path?: string;
  oldPath?: string;
}

export type ToolCallContent =
  | { type: 'content'; content: ContentBlock }
  | { type: 'diff'; changes: DiffChange[]; patch?: { format: string; text: string } }
  | { type: 'terminal'; terminalId: string };

export interface ToolCallLocation {
  path: string;
  /** One-based. */
  line?: number | null;
  _meta?: Meta | null;
}

/** Absent fields keep their value, null clears it. */
export interface ToolCallUpdate {
  toolCallId: string;
  title?: string | null;
  kind?: string | null;
  status?: string | null;
  content?: ToolCallContent[] | null;
  locations?: ToolCallLocation[] | null;
  _meta?: Meta | null;
}

export interface TerminalUpdate {
  terminalId: string;
  command?: string | null;
  cwd?: string | null;
  /** Base64, replaces what was sent before. */
  output?: { data: string } | null;
  exitStatus?: { exitCode?: number | null; signal?: string | null } | null;
}

export interface ConfigChoice {
  value: string;
  name: string;
  description?: string | null;
}

export interface ConfigOption {
  configId: string;
  name: string;
  description?: string | null;
  category?: string | null;
  type: string;
  currentValue?: string | boolean;
  options?: (ConfigChoice | { groupId: string; name: string; options: ConfigChoice[] })[];
}

export interface PlanEntry {
  content: string;
  status: string;
}

export type PlanContent =
  | { type: 'items'; planId: string; entries: PlanEntry[] }
  | { type: 'markdown'; planId: string; content: string };

export interface MessageUpdate {
  messageId: string;
  content?: ContentBlock[] | null;
  _meta?: Meta | null;
}

export interface MessageChunk {
  messageId: string;
  content: ContentBlock;
}

export interface StateUpdate {
  state: string;
  stopReason?: string;
  error?: { code?: number; message?: string } | null;
}

export type SessionUpdate =
  | ({ sessionUpdate: 'user_message' | 'agent_message' | 'agent_thought' } & MessageUpdate)
  | ({ sessionUpdate: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk' } & MessageChunk)
  | ({ sessionUpdate: 'tool_call_update' } & ToolCallUpdate)
  | { sessionUpdate: 'tool_call_content_chunk'; toolCallId: string; content: ToolCallContent }
  | ({ sessionUpdate: 'terminal_update' } & TerminalUpdate)
  | { sessionUpdate: 'terminal_output_chunk'; terminalId: string; data: string }
  | { sessionUpdate: 'plan_update'; plan: PlanContent }
  | { sessionUpdate: 'plan_removed'; planId: string }
  | { sessionUpdate: 'config_option_update'; configOptions: ConfigOption[] }
  | { sessionUpdate: 'session_info_update'; title?: string | null }
  | { sessionUpdate: 'usage_update'; used: number; size: number; cost?: { amount: number; currency: string } | null }
  | ({ sessionUpdate: 'state_update' } & StateUpdate)
  | { sessionUpdate: 'notice'; severity: string; title: string; description?: string | null };

export interface SessionUpdateParams {
  sessionId: string;
  update: SessionUpdate;
  _meta?: Meta | null;
}

export interface NewSessionResult {
  sessionId: string;
  configOptions?: ConfigOption[];
}

export interface PermissionOption {
  optionId: string;
  name: string;
  kind: string;
}

export type PermissionSubject =
  | { type: 'tool_call'; toolCall: ToolCallUpdate }
  | { type: 'command'; command: string; cwd: string };

export interface PermissionParams {
  sessionId: string;
  title: string;
  description?: string | null;
  subject?: PermissionSubject | null;
  options: PermissionOption[];
  _meta?: Meta | null;
}

export interface PermissionResult {
  outcome: { outcome: 'selected'; optionId: string; _meta?: Meta } | { outcome: 'cancelled' };
}
