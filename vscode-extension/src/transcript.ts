// One conversation as the panel shows it: session updates in, view items and small changes out.
// Knows nothing of tools or models; an update it does not know changes nothing.

import { copydeskMeta } from './meta';
import type { AgentMessage, ContentBlock, DiffChange, JobInfo, SessionUpdate, TerminalUpdate, ToolCallContent, ToolCallLocation, ToolCallUpdate } from './protocol';
import { TerminalDecoder, overwrite, visible } from './terminalText';
import type { Block, Change, Item, Location, PlanView, TerminalView, ToolItem } from './view';

const TERMINAL_TAIL = 50_000;
const LEFT_OUT = /^\[\d+ bytes not shown\]$/m;
const BLOCK_LIMIT = 200_000;
const RUNNING = new Set(['pending', 'in_progress', 'paused']);

export type Shorten = (path: string) => string;

interface TerminalState {
  view: TerminalView;
  decoder: TerminalDecoder;
  /** Lines that have ended, as they are shown. */
  lines: string;
  /** The last line as it came, still to be overwritten perhaps. */
  open: string;
}

export class Transcript {
  private readonly items = new Map<string, Item>();
  private readonly terminals = new Map<string, TerminalState>();
  private readonly plans = new Map<string, PlanView>();
  private notices = 0;

  /** `shorten`: how a path is shown. */
  constructor(
    private readonly emit: (change: Change) => void,
    private readonly shorten: Shorten = path => path,
    private readonly now: () => number = Date.now,
  ) {}

  get isEmpty(): boolean {
    return this.items.size === 0;
  }

  view(): { items: Item[]; terminals: TerminalView[]; plans: PlanView[] } {
    return {
      items: [...this.items.values()],
      terminals: [...this.terminals.values()].map(t => t.view),
      plans: [...this.plans.values()],
    };
  }

  /** Takes one update of the session; returns false for a kind that is not part of a transcript. */
  apply(update: SessionUpdate): boolean {
    switch (update.sessionUpdate) {
      case 'user_message':
        this.message('user', update);
        return true;
      case 'agent_message':
        this.message('agent', update);
        return true;
      case 'agent_thought':
        this.message('thought', update);
        return true;
      case 'user_message_chunk':
        this.chunk('user', update.messageId, update.content);
        return true;
      case 'agent_message_chunk':
        this.chunk('agent', update.messageId, update.content);
        return true;
      case 'agent_thought_chunk':
        this.chunk('thought', update.messageId, update.content);
        return true;
      case 'tool_call_update':
        this.toolCall(update);
        return true;
      case 'tool_call_content_chunk': {
        const item = this.tool(update.toolCallId);
        item.blocks.push(block(update.content, this.shorten));
        this.put(item);
        return true;
      }
      case 'terminal_update':
        this.terminal(update);
        return true;
      case 'terminal_output_chunk':
        this.output(this.terminalState(update.terminalId), update.data);
        return true;
      case 'plan_update': {
        const plan: PlanView =
          update.plan.type === 'items'
            ? { id: update.plan.planId, entries: update.plan.entries }
            : { id: update.plan.planId, entries: [], markdown: update.plan.content };
        this.plans.set(plan.id, plan);
        this.emit({ type: 'plan', plan });
        return true;
      }
      case 'plan_removed':
        this.plans.delete(update.planId);
        this.emit({ type: 'planRemoved', id: update.planId });
        return true;
      case 'notice':
        this.notice(update.severity, update.title, update.description ?? '');
        return true;
      case 'session_info_update': {
        const { rewound } = copydeskMeta(update._meta);
        if (rewound) this.rewind(rewound);
        return false;
      }
      default:
        return false;
    }
  }

  /** The person's own message, unless the server has already shown it. */
  userMessage(messageId: string, text: string): void {
    const id = itemId('user', messageId);
    if (!this.items.has(id)) this.put({ kind: 'user', id, text });
  }

  notice(severity: string, title: string, text: string, retry?: 'retry'): void {
    this.notices += 1;
    this.put({ kind: 'notice', id: itemId('notice', String(this.notices)), severity, title, text, retry: retry === 'retry' });
  }

  /** The turn ended with an error; where a notice has said it already, that one offers the retry. */
  turnFailed(reason: string): void {
    const last = [...this.items.values()].at(-1);
    if (last?.kind === 'notice' && last.severity === 'error' && (last.title === reason || last.text === reason)) this.put({ ...last, retry: true });
    else this.notice('error', 'The turn failed', reason, 'retry');
  }

  /** Nothing runs any more: calls that never got their end are shown as cancelled. */
  endOpenCalls(): void {
    for (const item of this.items.values()) {
      if (item.kind === 'tool' && RUNNING.has(item.status)) {
        this.put({ ...item, status: 'cancelled', endedAt: this.now() });
      }
    }
    for (const { view } of this.terminals.values()) {
      if (view.exit !== undefined) continue;
      view.exit = 'ended with the server';
      view.secret = undefined;
      this.emit({ type: 'terminal', terminal: { ...view } });
    }
  }

  /** Terminals whose program has not ended. */
  get runningTerminals(): string[] {
    return [...this.terminals.values()].filter(({ view }) => view.exit === undefined).map(({ view }) => view.id);
  }

  /** The call whose card shows this terminal. */
  callOf(terminalId: string): string | undefined {
    for (const item of this.items.values()) {
      if (item.kind === 'tool' && item.blocks.some(it => it.type === 'terminal' && it.terminalId === terminalId)) return item.id.slice(itemId('tool', '').length);
    }
    return undefined;
  }

  get asksForPassword(): boolean {
    return [...this.terminals.values()].some(({ view }) => view.secret !== undefined);
  }

  /** What the server says of the jobs; a running terminal that is not among them is no job. */
  jobs(list: JobInfo[]): void {
    for (const id of this.runningTerminals) {
      const job = list.find(it => it.terminalId === id);
      const secret = job?.secretPrompt ? visible(job.secretPrompt) : undefined;
      this.know(id, { secret, role: !job ? 'command' : job.takesInput ? 'program' : 'job' });
    }
  }

  /** The password is on its way. */
  passwordGiven(terminalId: string): void {
    this.know(terminalId, { secret: undefined });
  }

  /** The conversation ends just before this prompt now. */
  private rewind(messageId: string): void {
    const ids = [...this.items.keys()];
    const from = ids.indexOf(itemId('user', messageId));
    if (from < 0) return;
    const gone = ids.slice(from);
    for (const id of gone) this.items.delete(id);
    this.emit({ type: 'removed', ids: gone });
  }

  private message(kind: 'user' | 'agent' | 'thought', update: AgentMessage): void {
    const id = itemId(kind, update.messageId);
    const old = this.items.get(id);
    const text = update.content === undefined ? (old && 'text' in old ? old.text : '') : (update.content ?? []).map(contentText).join('');
    this.put({ kind, id, text });
  }

  private chunk(kind: 'user' | 'agent' | 'thought', messageId: string, content: ContentBlock): void {
    const id = itemId(kind, messageId);
    const text = contentText(content);
    const old = this.items.get(id);
    if (old?.kind === kind) {
      old.text += text;
      this.emit({ type: 'append', id, text });
    } else {
      this.put({ kind, id, text });
    }
  }

  private tool(toolCallId: string): ToolItem {
    const id = itemId('tool', toolCallId);
    const old = this.items.get(id);
    if (old?.kind === 'tool') return old;
    return { kind: 'tool', id, title: '', toolKind: 'other', status: 'pending', blocks: [], locations: [], startedAt: this.now(), alwaysOpen: false };
  }

  private toolCall(update: ToolCallUpdate): void {
    const item = { ...this.tool(update.toolCallId) };
    if (update.title !== undefined) item.title = update.title ?? '';
    if (update.kind !== undefined) item.toolKind = update.kind ?? 'other';
    if (update.content !== undefined) item.blocks = (update.content ?? []).map(content => block(content, this.shorten));
    if (update.locations !== undefined) item.locations = (update.locations ?? []).map(place);
    if (update.status !== undefined) {
      item.status = update.status ?? 'pending';
      if (!RUNNING.has(item.status)) item.endedAt ??= this.now();
    }
    const extra = copydeskMeta(update._meta);
    if (extra.fold !== undefined) item.alwaysOpen = extra.fold === 'always-open';
    if (update._meta !== undefined) item.received = extra.received ?? undefined;
    if (extra.secretInput) item.asking = extra.secretInput.jobId;
    this.put(item);
    if (extra.secretInput) this.know(extra.secretInput.jobId, { secret: visible(extra.secretInput.prompt) });
    else if (item.asking !== undefined && update._meta?.copydesk !== undefined) this.know(item.asking, { secret: undefined });
  }

  private know(terminalId: string, facts: Pick<TerminalView, 'secret' | 'role'>): void {
    const { view } = this.terminalState(terminalId);
    const { secret, role } = { ...view, ...facts };
    if (view.exit !== undefined || (view.secret === secret && view.role === role)) return;
    Object.assign(view, { secret, role });
    this.emit({ type: 'terminal', terminal: { ...view } });
  }

  private terminalState(id: string): TerminalState {
    let state = this.terminals.get(id);
    if (!state) {
      state = { view: { id, command: '', cwd: '', text: '', cut: false }, decoder: new TerminalDecoder(), lines: '', open: '' };
      this.terminals.set(id, state);
    }
    return state;
  }

  private terminal(update: TerminalUpdate): void {
    const state = this.terminalState(update.terminalId);
    if (update.command !== undefined) state.view.command = update.command ?? '';
    if (update.cwd !== undefined) state.view.cwd = update.cwd ?? '';
    if (update.exitStatus) {
      state.view.exit = update.exitStatus.signal ?? `exit code ${update.exitStatus.exitCode ?? 'unknown'}`;
      state.view.secret = undefined;
    }
    if (update.output !== undefined) {
      state.decoder = new TerminalDecoder();
      state.lines = '';
      state.open = '';
      state.view.cut = false;
      this.fill(state, update.output ? state.decoder.decode(update.output.data) : '');
    }
    this.emit({ type: 'terminal', terminal: { ...state.view } });
  }

  private output(state: TerminalState, data: string): void {
    const text = state.decoder.decode(data);
    if (text === '') return;
    const { text: before, cut } = state.view;
    this.fill(state, text);
    if (state.view.cut === cut && state.view.text.startsWith(before)) {
      this.emit({ type: 'output', id: state.view.id, text: state.view.text.slice(before.length) });
    } else {
      this.emit({ type: 'terminal', terminal: { ...state.view } });
    }
  }

  private fill(state: TerminalState, text: string): void {
    const whole = state.open + text;
    const end = whole.lastIndexOf('\n') + 1;
    state.lines += overwrite(whole.slice(0, end));
    state.open = whole.slice(end).slice(-TERMINAL_TAIL);
    // Of a flood the server sends only ends, each after such a line.
    if (LEFT_OUT.test(whole)) state.view.cut = true;
    // Cut seldom: each cut is sent whole.
    if (state.lines.length > 2 * TERMINAL_TAIL) {
      state.lines = state.lines.slice(state.lines.indexOf('\n', state.lines.length - TERMINAL_TAIL) + 1);
      state.view.cut = true;
    }
    state.view.text = state.lines + overwrite(state.open);
  }

  private put(item: Item): void {
    this.items.set(item.id, item);
    // A copy: the item goes on growing while the change waits to be sent.
    this.emit({ type: 'item', item: { ...item } });
  }
}

/** Messages are unique among those of their kind only, and calls are counted by themselves. */
function itemId(kind: Item['kind'], id: string): string {
  return `${kind}:${id}`;
}

export function block(content: ToolCallContent, shorten: Shorten): Block {
  switch (content.type) {
    case 'content':
      return contentView(content.content);
    case 'diff':
      return {
        type: 'diff',
        files: content.changes.map(change => paths(change).map(shorten).join(' → ')),
        patch: bounded(content.patch?.text ?? ''),
      };
    case 'terminal':
      return { type: 'terminal', terminalId: content.terminalId };
    default:
      return { type: 'other', text: bounded(JSON.stringify(content, null, 2)) };
  }
}

export function place(location: ToolCallLocation): Location {
  return { path: location.path, target: copydeskMeta(location._meta).uri ?? location.path, line: location.line ?? undefined };
}

function paths(change: DiffChange): string[] {
  return 'oldPath' in change ? [change.oldPath, change.path] : [change.path];
}

function contentView(content: ContentBlock): Block {
  switch (content.type) {
    case 'text':
      return { type: 'text', text: bounded(content.text) };
    case 'image':
      return { type: 'image', mimeType: content.mimeType, data: content.data };
    case 'resource_link':
      return { type: 'link', uri: content.uri, name: content.title ?? content.name };
    case 'resource':
      return 'text' in content.resource
        ? { type: 'text', text: bounded(content.resource.text) }
        : { type: 'link', uri: content.resource.uri, name: content.resource.uri };
    default:
      return { type: 'other', text: bounded(JSON.stringify(content, null, 2)) };
  }
}

function contentText(content: ContentBlock): string {
  switch (content.type) {
    case 'text':
      return content.text;
    case 'image':
      return '\n\n*[image]*\n\n';
    case 'resource_link':
      return `[${content.title ?? content.name}](${content.uri})`;
    case 'resource':
      return `[${content.resource.uri}](${content.resource.uri})`;
    default:
      return '';
  }
}

function bounded(text: string): string {
  return text.length <= BLOCK_LIMIT ? text : `${text.slice(0, BLOCK_LIMIT)}\n… ${text.length - BLOCK_LIMIT} more characters`;
}
