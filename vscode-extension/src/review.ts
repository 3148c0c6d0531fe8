// The agent's pending changes as the server tells them, and the person's decisions on them.
// The server's list is the truth; nothing here computes hunks. Closing a view decides nothing.

import * as vscode from 'vscode';
import { type Server, ServerProblem, message } from './client';
import { copydeskMeta } from './meta';
import type { Hunk, ReviewChangedParams, ReviewFile, ReviewItem } from './protocol';

export type Action = 'accept' | 'reject';

const UNDO_KEPT = 100;
const SAID_MS = 5_000;

export class Review {
  private readonly changed = new vscode.EventEmitter<vscode.Uri[]>();
  private readonly files = new Map<string, ReviewFile>();
  /** Decisions that can be taken back, the newest last. */
  private readonly tokens: string[] = [];

  /** Hunks of these documents came, went or moved. */
  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {}

  get pending(): { uri: vscode.Uri; file: ReviewFile }[] {
    return [...this.files].map(([uri, file]) => ({ uri: vscode.Uri.parse(uri, true), file }));
  }

  get count(): number {
    return [...this.files.values()].reduce((sum, file) => sum + hunkCount(file), 0);
  }

  file(uri: vscode.Uri): ReviewFile | undefined {
    return this.files.get(uri.toString());
  }

  hunks(uri: vscode.Uri): Hunk[] {
    return this.file(uri)?.hunks ?? [];
  }

  /** What the server has left from before, in full. */
  async list(): Promise<void> {
    const { files } = await this.server.request('copydesk/review/list', {});
    const known = [...this.files.keys()];
    this.files.clear();
    this.put(files, known);
  }

  receive(params: ReviewChangedParams): void {
    this.put(params.files, []);
    for (const file of params.files) {
      if (isShortened(file)) void this.complete(file.uri).catch((error: unknown) => this.server.log.warn('The pending changes of a file could not be read', error));
    }
  }

  forget(): void {
    const known = [...this.files.keys()];
    this.files.clear();
    this.tokens.length = 0;
    this.put([], known);
  }

  /** Decides and says what came of it; a problem is shown to the person. */
  async resolve(action: Action, items: ReviewItem[], comment?: string): Promise<void> {
    await this.shown('The changes were not decided on', async () => {
      const { resolved, conflicts, undoToken } = await this.server.request('copydesk/review/resolve', { action, items, comment: comment ?? null });
      if (resolved.length > 0) {
        if (undoToken) this.tokens.push(undoToken);
        if (this.tokens.length > UNDO_KEPT) this.tokens.shift();
        void vscode.commands.executeCommand('setContext', 'copydesk.decisions', this.tokens.length > 0);
        this.say(action, resolved.length);
      }
      const failed = conflicts.find(conflict => !resolved.includes(conflict.hunkId));
      const kept = conflicts.find(conflict => resolved.includes(conflict.hunkId));
      if (failed) void vscode.window.showWarningMessage(`Copydesk did not decide on a change: ${failed.reason}`);
      else if (kept) void vscode.window.showInformationMessage(`Rejected; ${kept.reason}.`);
    });
  }

  /** Takes the last decision back. */
  async undo(): Promise<void> {
    const undoToken = this.tokens.pop();
    void vscode.commands.executeCommand('setContext', 'copydesk.decisions', this.tokens.length > 0);
    if (undoToken === undefined) {
      vscode.window.setStatusBarMessage('Copydesk: there is no decision to undo', SAID_MS);
      return;
    }
    await this.shown('The decision was not undone', async () => {
      await this.server.request('copydesk/review/undo', { undoToken });
      vscode.window.setStatusBarMessage('$(discard) The decision was undone', SAID_MS);
    });
  }

  /** The text without the pending changes. */
  async base(uri: vscode.Uri): Promise<string> {
    const name = this.file(uri)?.uri;
    return name === undefined ? '' : (await this.server.request('copydesk/review/base', { uri: name })).text;
  }

  /** One change is seen to go; many rejected at once offer the way back. */
  private say(action: Action, count: number): void {
    const done = action === 'accept' ? 'Accepted' : 'Rejected';
    if (action === 'reject' && count > 1) {
      void vscode.window.showInformationMessage(`Rejected ${count} changes.`, 'Undo').then(choice => choice && this.undo());
    } else {
      vscode.window.setStatusBarMessage(`$(check) ${done} ${count === 1 ? '1 change' : `${count} changes`}`, SAID_MS);
    }
  }

  private async complete(uri: string): Promise<void> {
    const { files } = await this.server.request('copydesk/review/list', { uri });
    this.put(files, []);
  }

  private put(files: ReviewFile[], gone: string[]): void {
    const client = this.server.running;
    const touched = new Set(gone);
    for (const file of files) {
      const uri = (client ? client.protocol2CodeConverter.asUri(file.uri) : vscode.Uri.parse(file.uri)).toString();
      touched.add(uri);
      if (file.hunks.length > 0) this.files.set(uri, file);
      else this.files.delete(uri);
    }
    if (touched.size === 0) return;
    void vscode.commands.executeCommand('setContext', 'copydesk.hunks', this.files.size > 0);
    this.changed.fire([...touched].map(uri => vscode.Uri.parse(uri, true)));
  }

  private async shown(title: string, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof ServerProblem)) void vscode.window.showErrorMessage(`${title}: ${message(error)}`);
    }
  }
}

/** Hunks of a file, those left out of a notification included. */
export function hunkCount(file: ReviewFile): number {
  return file.hunks.length + (copydeskMeta(file._meta).omitted ?? 0);
}

/** Lines that came and lines that went. */
export function lineCounts(file: ReviewFile): { added: number; removed: number } {
  return file.hunks.reduce((sum, hunk) => ({ added: sum.added + lineCount(hunk.newText), removed: sum.removed + lineCount(hunk.oldText) }), { added: 0, removed: 0 });
}

/** A last line counts whether it is ended or not. */
export function lineCount(text: string): number {
  return text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

/** A notification is bounded; whoever needs all of a file asks. */
function isShortened(file: ReviewFile): boolean {
  return typeof copydeskMeta(file._meta).omitted === 'number' || file.hunks.some(hunk => copydeskMeta(hunk._meta).cut === true);
}

export function activate(context: vscode.ExtensionContext, server: Server): Review {
  const review = new Review(server);
  server.onSetup(client => {
    client.onNotification('copydesk/review/didChange', (params: ReviewChangedParams) => review.receive(params));
  });
  context.subscriptions.push(
    server.onDidConnect(() => void review.list().catch((error: unknown) => server.log.warn('The pending changes could not be listed', error))),
    server.onDidLose(() => review.forget()),
  );
  return review;
}
