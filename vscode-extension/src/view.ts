// What the panel shows: the items of a transcript and the fixed list of messages between the
// extension host and the webview. Types only; both sides import it.

import type { PermissionOption, PlanEntry, SessionConfigOption } from './protocol';

export type Block =
  | { type: 'text'; text: string }
  | { type: 'image'; mimeType: string; data: string }
  | { type: 'link'; uri: string; name: string }
  | { type: 'diff'; files: string[]; patch: string }
  | { type: 'terminal'; terminalId: string }
  | { type: 'other'; text: string };

export interface Location {
  /** What is shown. */
  path: string;
  /** What is opened: a URI or an absolute path. */
  target: string;
  /** One-based. */
  line?: number;
}

export type Item =
  | { kind: 'user'; id: string; text: string }
  | { kind: 'agent'; id: string; text: string }
  | { kind: 'thought'; id: string; text: string }
  | {
      kind: 'tool';
      id: string;
      title: string;
      toolKind: string;
      status: string;
      blocks: Block[];
      locations: Location[];
      /** Milliseconds since the epoch. */
      startedAt?: number;
      endedAt?: number;
      alwaysOpen: boolean;
      /** Characters of arguments received while the call is still being written. */
      received?: number;
      /** A terminal that asked for a password while this call ran; it is shown here from then on. */
      asking?: string;
    }
  | { kind: 'notice'; id: string; severity: string; title: string; text: string; retry?: boolean };

export type ToolItem = Extract<Item, { kind: 'tool' }>;

export interface TerminalView {
  id: string;
  command: string;
  cwd: string;
  /** The tail of the output, control sequences removed. */
  text: string;
  cut: boolean;
  /** `exit code 0`, `SIGTERM`; absent while it runs. */
  exit?: string;
  /** What the program asks, while it waits for a password. */
  secret?: string;
  /** What runs there, once the server has said: a command that its call waits for, a job, or a program that takes input. */
  role?: 'command' | 'job' | 'program';
}

export interface PlanView {
  id: string;
  entries: PlanEntry[];
  markdown?: string;
}

export interface PermissionView {
  id: string;
  title: string;
  description: string;
  /** A command is shown whole, with its folder. */
  command?: { text: string; cwd: string };
  blocks: Block[];
  locations: Location[];
  options: PermissionOption[];
  /** The card it is about. */
  toolCallId?: string;
}

/** What waits for review, over all files. */
export interface ReviewView {
  hunks: number;
  files: number;
  /** Lines that came and lines that went. */
  added: number;
  removed: number;
}

/** How the server is doing; a problem names one action that may fix it. */
export type ServerView =
  | { state: 'idle' | 'starting' | 'running' }
  | { state: 'failed'; title: string; detail: string; actions: FixAction[] };

export type FixAction = 'restart' | 'settings' | 'log';

/** What the bar of pending changes offers. */
export type ReviewAction = 'show' | 'compare' | 'accept' | 'reject';

export interface HeaderView {
  title: string;
  busy: boolean;
  options: SessionConfigOption[];
  usage?: { used: number; size: number; cost?: string };
  /** Configuration errors and parts that did not start, in the server's words. */
  problems: string[];
}

export interface Snapshot {
  items: Item[];
  terminals: TerminalView[];
  plans: PlanView[];
  permissions: PermissionView[];
  review: ReviewView;
  header: HeaderView;
  server: ServerView;
  draft: string;
}

/** Something grew or changed since the last message. */
export type Change =
  | { type: 'item'; item: Item }
  | { type: 'append'; id: string; text: string }
  | { type: 'removed'; ids: string[] }
  | { type: 'terminal'; terminal: TerminalView }
  | { type: 'output'; id: string; text: string }
  | { type: 'plan'; plan: PlanView }
  | { type: 'planRemoved'; id: string };

export type ToWebview =
  | { type: 'snapshot'; snapshot: Snapshot }
  | { type: 'changes'; changes: Change[] }
  | { type: 'permissions'; permissions: PermissionView[] }
  | { type: 'review'; review: ReviewView }
  | { type: 'header'; header: HeaderView }
  | { type: 'server'; server: ServerView }
  | { type: 'focus'; target: 'input' | 'permission' }
  | { type: 'submit' }
  | { type: 'sendFailed'; text: string };

export type FromWebview =
  | { type: 'ready' }
  | { type: 'send'; text: string }
  | { type: 'retry' }
  | { type: 'stop' }
  | { type: 'newChat' }
  | { type: 'draft'; text: string }
  | { type: 'answer'; id: string; optionId: string; feedback?: string }
  | { type: 'setOption'; configId: string; value: string }
  | { type: 'openLink'; href: string }
  | { type: 'openLocation'; target: string; line?: number }
  | { type: 'copy'; text: string }
  | { type: 'insert'; text: string }
  | { type: 'typeLine'; terminalId: string; line: string }
  | { type: 'showAll'; terminalId: string }
  | { type: 'stopProgram'; terminalId: string }
  | { type: 'toBackground'; terminalId: string }
  | { type: 'password'; terminalId: string; password: string }
  | { type: 'review'; action: ReviewAction }
  | { type: 'fix'; action: FixAction };
