// The chat that is open: its session on the server, its transcript and the state of the header.
// What the server sends is kept and passed on; nothing is decided here.

import { homedir } from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { type Server, ServerProblem, message } from './client';
import type { NewSessionResponse, StateUpdate, StatusResult, UpdateSessionNotification } from './protocol';
import { Transcript } from './transcript';
import type { Change, HeaderView } from './view';

const EARLY_UPDATES = 1_000;

const STOP_WORDS: Record<string, string> = {
  cancelled: 'Stopped',
  max_tokens: 'The answer reached the output limit of the model',
  max_turn_requests: 'The turn reached its limit of model requests',
  refusal: 'The model refused to go on',
};

export class Conversation {
  private readonly changes = new vscode.EventEmitter<Change>();
  private readonly headers = new vscode.EventEmitter<HeaderView>();
  private readonly resets = new vscode.EventEmitter<void>();
  private sessionId: string | undefined;
  private opening: Promise<string> | undefined;
  private lost: string | undefined;
  /** Updates that came before the answer to `session/new` named the session. */
  private early: UpdateSessionNotification[] = [];
  private lastPrompt = '';
  /** How often the server has told the state of the session. */
  private statesTold = 0;
  /** The server took a prompt and has not told of the turn yet. */
  private awaitsTurn = false;
  private chat = 0;

  transcript = this.newTranscript();
  header: HeaderView = emptyHeader();
  readonly onDidChange = this.changes.event;
  readonly onDidChangeHeader = this.headers.event;
  /** The transcript was replaced by another. */
  readonly onDidReset = this.resets.event;

  constructor(private readonly server: Server) {}

  /** The session of the open chat, once it has one. */
  get shownSession(): string | undefined {
    return this.sessionId;
  }

  get folder(): string {
    const active = vscode.window.activeTextEditor?.document.uri;
    const folder = (active && vscode.workspace.getWorkspaceFolder(active)) ?? vscode.workspace.workspaceFolders?.[0];
    if (folder) return folder.uri.fsPath;
    return active?.scheme === 'file' ? path.dirname(active.fsPath) : homedir();
  }

  /** Starts the server and opens a session; problems are shown by the panel. */
  async open(): Promise<void> {
    try {
      await this.session();
    } catch (error) {
      if (!(error instanceof ServerProblem)) this.transcript.notice('error', 'The chat could not be opened', message(error));
    }
  }

  /** Returns whether the server took the prompt. */
  async send(text: string): Promise<boolean> {
    const chat = this.chat;
    try {
      const sessionId = await this.session();
      const statesBefore = this.statesTold;
      const { messageId } = await this.server.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
      this.lastPrompt = text;
      if (chat === this.chat) {
        this.awaitsTurn = statesBefore === this.statesTold;
        this.transcript.userMessage(messageId, text);
      }
      return true;
    } catch (error) {
      if (!(error instanceof ServerProblem)) this.transcript.notice('error', 'The message was not sent', message(error));
      return false;
    }
  }

  retry(): Promise<boolean> {
    return this.lastPrompt ? this.send(this.lastPrompt) : Promise.resolve(false);
  }

  stop(): void {
    if (this.sessionId) void this.server.running?.sendNotification('session/cancel', { sessionId: this.sessionId });
  }

  async newChat(): Promise<void> {
    this.stop();
    this.chat += 1;
    this.sessionId = undefined;
    this.opening = undefined;
    this.lost = undefined;
    this.lastPrompt = '';
    this.awaitsTurn = false;
    this.transcript = this.newTranscript();
    this.header = { ...emptyHeader(), problems: this.header.problems };
    this.resets.fire();
    await this.open();
  }

  async setOption(configId: string, value: string): Promise<void> {
    try {
      const sessionId = await this.session();
      const { configOptions } = await this.server.request('session/set_config_option', { sessionId, configId, type: 'id', value });
      this.setHeader({ options: configOptions });
    } catch (error) {
      if (!(error instanceof ServerProblem)) this.transcript.notice('error', 'The setting was not changed', message(error));
      this.setHeader({});
    }
  }

  receive(params: UpdateSessionNotification): void {
    if (params.sessionId === this.sessionId) this.apply(params);
    else if (this.opening && !this.sessionId && this.early.length < EARLY_UPDATES) this.early.push(params);
  }

  serverLost(): void {
    this.lost = this.transcript.isEmpty ? undefined : this.sessionId;
    this.sessionId = undefined;
    this.opening = undefined;
    this.transcript.endOpenCalls();
    if (this.header.busy || this.awaitsTurn) this.transcript.notice('error', 'The server ended while the agent was working', 'What it had not written into a file or buffer yet is lost.', 'retry');
    this.awaitsTurn = false;
    this.setHeader({ busy: false });
  }

  async refreshStatus(): Promise<void> {
    try {
      const status = await this.server.running?.sendRequest<StatusResult>('copydesk/status', {});
      if (status) this.setHeader({ problems: status.problems });
    } catch (error) {
      this.server.log.warn('The server did not tell its status', error);
    }
  }

  private session(): Promise<string> {
    this.opening ??= this.openSession(this.chat).catch((error: unknown) => {
      this.opening = undefined;
      this.early = [];
      throw error;
    });
    return this.opening;
  }

  private async openSession(chat: number): Promise<string> {
    await this.server.ready();
    const cwd = this.folder;
    const additionalDirectories = (vscode.workspace.workspaceFolders ?? []).map(folder => folder.uri.fsPath).filter(folder => folder !== cwd);
    const where = { cwd, mcpServers: [], ...(additionalDirectories.length > 0 ? { additionalDirectories } : {}) };
    const resumed = this.lost ? await this.resume(this.lost, where) : undefined;
    const result = resumed ?? (await this.server.request('session/new', where));
    if (this.lost && !resumed) this.transcript.notice('info', 'A new session begins here', 'The agent does not remember what is above.');
    if (chat !== this.chat) return result.sessionId;
    this.lost = undefined;
    this.sessionId = result.sessionId;
    if (result.configOptions) this.setHeader({ options: result.configOptions });
    const early = this.early.filter(params => params.sessionId === result.sessionId);
    this.early = [];
    for (const params of early) this.apply(params);
    return result.sessionId;
  }

  private async resume(sessionId: string, where: { cwd: string }): Promise<NewSessionResponse | undefined> {
    try {
      const result = await this.server.request('session/resume', { sessionId, ...where });
      return { ...result, sessionId };
    } catch (error) {
      this.server.log.warn(`Session ${sessionId} could not be resumed`, error);
      return undefined;
    }
  }

  private apply({ update }: UpdateSessionNotification): void {
    if (this.transcript.apply(update)) return;
    switch (update.sessionUpdate) {
      case 'state_update':
        this.stateUpdate(update);
        break;
      case 'config_option_update':
        this.setHeader({ options: update.configOptions });
        break;
      case 'session_info_update':
        if (update.title !== undefined) this.setHeader({ title: update.title ?? '' });
        break;
      case 'usage_update': {
        const cost = update.cost ? `${update.cost.amount.toFixed(2)} ${update.cost.currency}` : undefined;
        this.setHeader({ usage: { used: update.used, size: update.size, cost } });
        break;
      }
      default:
        this.server.log.trace(`Not shown: ${update.sessionUpdate}`);
    }
  }

  private stateUpdate(update: StateUpdate): void {
    this.statesTold += 1;
    this.awaitsTurn = false;
    const wasBusy = this.header.busy;
    const busy = update.state === 'running' || update.state === 'requires_action';
    this.setHeader({ busy });
    if (update.state !== 'idle' || !wasBusy || !update.stopReason || update.stopReason === 'end_turn') return;
    if (update.stopReason === 'error') {
      const reason = 'error' in update ? update.error?.message : undefined;
      this.transcript.turnFailed(reason ?? 'The server gave no reason; see the log.');
    } else {
      this.transcript.notice('info', STOP_WORDS[update.stopReason] ?? `The turn ended: ${update.stopReason}`, '');
    }
  }

  private setHeader(part: Partial<HeaderView>): void {
    this.header = { ...this.header, ...part };
    this.headers.fire(this.header);
  }

  private newTranscript(): Transcript {
    const transcript: Transcript = new Transcript(change => {
      if (transcript === this.transcript) this.changes.fire(change);
    }, shortPath);
    return transcript;
  }
}

/** A path as the person knows it: from its workspace folder on. */
export function shortPath(file: string): string {
  return vscode.workspace.asRelativePath(file);
}

function emptyHeader(): HeaderView {
  return { title: '', busy: false, options: [], problems: [] };
}

export function activate(context: vscode.ExtensionContext, server: Server): Conversation {
  const conversation = new Conversation(server);
  server.onSetup(client => {
    client.onNotification('session/update', (params: UpdateSessionNotification) => conversation.receive(params));
  });
  context.subscriptions.push(
    server.onDidConnect(() => void conversation.refreshStatus()),
    server.onDidLose(() => conversation.serverLost()),
    conversation.onDidChangeHeader(header => void vscode.commands.executeCommand('setContext', 'copydesk.busy', header.busy)),
    vscode.commands.registerCommand('copydesk.stop', () => conversation.stop()),
  );
  return conversation;
}
