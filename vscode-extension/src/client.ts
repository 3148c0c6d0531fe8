// The server process: where it is, its start on first use, its end. Everything that waits for the
// server goes through `ready()`; what has gone wrong is one `ServerView` with an action to fix it.

import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { type ClientCapabilities, CloseAction, ErrorAction, LanguageClient, type Middleware, RevealOutputChannelOn, type StaticFeature } from 'vscode-languageclient/node';
import { type ClientMarkers, type ClientRequests, PROTOCOL_VERSION, type ServerMarkers } from './protocol';
import { initializationOptions } from './settings';
import type { FixAction, ServerView } from './view';

const MAX_CRASHES = 3;
const CRASH_WINDOW_MS = 180_000;
const STDERR_TAIL = 2_000;

/** What the features of this extension answer; a marker must not stand here unless it is handled. */
const MARKERS: ClientMarkers = { protocolVersion: PROTOCOL_VERSION, permission: {}, save: {}, editorState: {}, review: {}, notebook: {} };

/** A problem the person can do something about. */
export class ServerProblem extends Error {
  constructor(
    readonly title: string,
    readonly detail: string,
    readonly actions: FixAction[],
  ) {
    super(`${title}. ${detail}`);
  }
}

/** What the person typed, passwords too: its text is in no log. */
const TYPED = 'copydesk/job/write';

/** Problems reach the person through `ServerView`, never as the client's own notifications. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

export class Server implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<ServerView>();
  private readonly connected = new vscode.EventEmitter<LanguageClient>();
  private readonly lost = new vscode.EventEmitter<void>();
  private readonly setups: ((client: LanguageClient) => void)[] = [];
  private current: ServerView = { state: 'idle' };
  private starting: Promise<LanguageClient> | undefined;
  private client: LanguageClient | undefined;
  private crashes: number[] = [];
  private generation = 0;

  readonly onDidChange = this.changed.event;
  /** A new server has answered `initialize`. */
  readonly onDidConnect = this.connected.event;
  /** The server has gone, with everything it knew that was not on disk. */
  readonly onDidLose = this.lost.event;
  readonly middleware: Middleware = {};

  constructor(
    private readonly extensionPath: string,
    readonly log: vscode.LogOutputChannel,
  ) {}

  get view(): ServerView {
    return this.current;
  }

  /** The client if it is running; features that only inform the server use this and never start it. */
  get running(): LanguageClient | undefined {
    return this.client;
  }

  /** Handlers of requests and notifications, put on every client before it starts. */
  onSetup(setup: (client: LanguageClient) => void): void {
    this.setups.push(setup);
  }

  /** The running client, started if need be. Throws `ServerProblem`. */
  ready(): Promise<LanguageClient> {
    this.starting ??= this.start().catch((error: unknown) => {
      this.starting = undefined;
      throw this.fail(error);
    });
    return this.starting;
  }

  async request<M extends keyof ClientRequests>(method: M, params: ClientRequests[M]['params']): Promise<ClientRequests[M]['result']> {
    return (await this.ready()).sendRequest<ClientRequests[M]['result']>(method, params);
  }

  async restart(): Promise<void> {
    this.crashes = [];
    await this.stop();
    await this.ready();
  }

  async stop(): Promise<void> {
    this.generation += 1;
    const client = this.client;
    const starting = this.starting;
    this.client = undefined;
    this.starting = undefined;
    if (client) {
      this.lost.fire();
      await client.stop(3_000).catch((error: unknown) => this.log.warn('The server did not stop by itself', error));
    } else if (starting) {
      await starting.then(late => late.stop(3_000)).catch(() => undefined);
    }
    this.set({ state: 'idle' });
  }

  async dispose(): Promise<void> {
    await this.stop();
    this.changed.dispose();
    this.connected.dispose();
    this.lost.dispose();
  }

  private async start(): Promise<LanguageClient> {
    const generation = ++this.generation;
    this.set({ state: 'starting' });
    const command = await findServer(this.extensionPath);
    this.log.info(`Starting ${command} lsp`);
    let child: ChildProcess | undefined;
    let stderr = '';
    const launch = async (): Promise<ChildProcess> => {
      const started = await spawned(command, vscode.workspace.workspaceFolders?.[0]?.uri);
      started.stderr?.on('data', (data: Buffer) => {
        stderr = (stderr + data.toString()).slice(-STDERR_TAIL);
      });
      child = started;
      return started;
    };
    const client = new QuietClient('copydesk', 'Copydesk', launch, {
      documentSelector: [{ scheme: 'file' }, { scheme: 'untitled' }, { scheme: 'vscode-notebook-cell' }],
      initializationOptions: () => initializationOptions(),
      outputChannel: this.log,
      traceOutputChannel: withoutTyped(this.log),
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      middleware: this.middleware,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          if (this.client === client) this.crashed(stderr);
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    });
    client.registerFeature(new Markers());
    for (const setup of this.setups) setup(client);
    try {
      await client.start();
    } catch (error) {
      child?.kill();
      if (error instanceof ServerProblem) throw error;
      throw new ServerProblem('The Copydesk server did not start', stderr.trim() || message(error), ['restart', 'log', 'settings']);
    }
    const experimental = client.initializeResult?.capabilities.experimental as { copydesk?: Partial<ServerMarkers> } | undefined;
    const theirs = experimental?.copydesk?.protocolVersion;
    if (theirs !== PROTOCOL_VERSION) {
      await client.stop().catch(() => undefined);
      throw new ServerProblem(
        'The Copydesk server does not fit this extension',
        `${command} speaks protocol version ${theirs ?? 'none'}, this extension speaks version ${PROTOCOL_VERSION}. Update the older of the two, or clear copydesk.server.path to use the program that came with the extension.`,
        ['settings', 'restart', 'log'],
      );
    }
    if (generation !== this.generation) {
      await client.stop().catch(() => undefined);
      throw new ServerProblem('The Copydesk server was stopped', 'It was stopped while it was starting.', ['restart']);
    }
    this.client = client;
    this.connected.fire(client);
    this.set({ state: 'running' });
    return client;
  }

  private crashed(stderr: string): void {
    this.client = undefined;
    this.starting = undefined;
    this.lost.fire();
    const now = Date.now();
    this.crashes = [...this.crashes.filter(t => now - t < CRASH_WINDOW_MS), now];
    this.log.error(`The server ended unexpectedly (${this.crashes.length} of ${MAX_CRASHES})`, stderr);
    if (this.crashes.length < MAX_CRASHES) {
      this.ready().catch(() => undefined);
      return;
    }
    this.fail(new ServerProblem(`The Copydesk server ended ${MAX_CRASHES} times in a row`, stderr.trim() || 'It left no message; the log may say more.', ['restart', 'log']));
  }

  private fail(error: unknown): ServerProblem {
    const problem = error instanceof ServerProblem ? error : new ServerProblem('The Copydesk server did not start', message(error), ['restart', 'log', 'settings']);
    this.log.error(problem.message);
    this.set({ state: 'failed', title: problem.title, detail: problem.detail, actions: problem.actions });
    return problem;
  }

  private set(view: ServerView): void {
    this.current = view;
    this.changed.fire(view);
  }
}

/** The log, without the text of messages that carry what the person typed. */
function withoutTyped(log: vscode.LogOutputChannel): vscode.LogOutputChannel {
  const trace = (text: string): void => log.trace(text.includes(TYPED) ? `${TYPED}: what was typed is not written here.` : text);
  return Object.create(log, { trace: { value: trace } }) as vscode.LogOutputChannel;
}

class Markers implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), copydesk: MARKERS };
  }
  initialize(): void {
    // Nothing is registered with the server.
  }
  getState(): { kind: 'static' } {
    return { kind: 'static' };
  }
  clear(): void {
    // Holds nothing.
  }
}

/** The setting, else the bundled program, else the one on PATH. */
async function findServer(extensionPath: string): Promise<string> {
  const name = process.platform === 'win32' ? 'copydesk.exe' : 'copydesk';
  const configured = vscode.workspace.getConfiguration('copydesk').inspect<string>('server.path')?.globalValue?.trim();
  if (configured) {
    if (!path.isAbsolute(configured)) throw new ServerProblem('The Copydesk server was not found', `copydesk.server.path is "${configured}", which is not an absolute path.`, ['settings', 'restart']);
    if (await isProgram(configured)) return configured;
    throw new ServerProblem('The Copydesk server was not found', `copydesk.server.path names ${configured}, which is not a program that can be run.`, ['settings', 'restart']);
  }
  const places = [path.join(extensionPath, 'bin'), ...(process.env.PATH ?? '').split(path.delimiter).filter(dir => path.isAbsolute(dir))];
  for (const place of places) {
    const candidate = path.join(place, name);
    if (await isProgram(candidate)) return candidate;
  }
  throw new ServerProblem('The Copydesk server was not found', `There is no ${name} in this extension or on PATH. Install it, or set copydesk.server.path to the program.`, ['settings', 'restart']);
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** The started process; a program that cannot be run is an error here, not a hanging client. */
function spawned(command: string, folder: vscode.Uri | undefined): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, ['lsp'], { cwd: folder?.scheme === 'file' ? folder.fsPath : undefined, stdio: 'pipe' });
    child.once('spawn', () => resolve(child));
    child.once('error', reject);
  });
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
