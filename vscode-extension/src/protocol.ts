// The `copydesk/*` messages of the wire. Types only.

/** A zero-based place in a document, UTF-16 columns. */
export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

/** What the client can do beyond LSP: `capabilities.experimental.copydesk` of `initialize`. */
export interface ClientMarkers {
  protocolVersion: number;
  permission?: object;
  elicitation?: object;
  save?: object;
  editorState?: object;
}

/** What the server offers: `capabilities.experimental.copydesk` of the `initialize` result. */
export interface ServerMarkers {
  protocolVersion: number;
  version: string;
  session: unknown;
}

/** `copydesk/editor/save` parameters. */
export interface SaveParams {
  uris: string[];
}

/** `copydesk/editor/save` result. */
export interface SaveResult {
  results: SavedDocument[];
}

export interface SavedDocument {
  uri: string;
  saved: boolean;
  reason?: string;
}

/** `copydesk/editor/didChangeState` parameters. */
export interface EditorStateParams {
  active?: ActiveEditor;
  documents: DocumentState[];
}

export interface ActiveEditor {
  uri: string;
  selections: Range[];
  visibleRanges: Range[];
}

/** One open document; the entry holds for its version only. */
export interface DocumentState {
  uri: string;
  version: number;
  dirty: boolean;
  /** WHATWG label of the encoding the editor saves in. */
  encoding?: string;
  bom: boolean;
  eol?: string;
  finalNewline: boolean;
  readOnly: boolean;
}

/** `copydesk/request/resolved` parameters. */
export interface RequestResolvedParams {
  requestId: string;
  by: string;
  outcome: string;
}

/** `copydesk/status/didChange` parameters. */
export interface StatusParams {
  kind: string;
  busy: boolean;
  message?: string;
  pendingPermissions: number;
  pendingHunks: number;
}

/** The part of the `copydesk/status` result that is shown. */
export interface StatusResult {
  version: string;
  model?: string | null;
  problems: string[];
}
