// The panel: a webview that draws what the extension host holds. It can be hidden, moved and
// reloaded at any time; then it asks again and gets everything. Messages are a fixed list.

import { randomBytes } from 'node:crypto';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { type Server, message } from './client';
import type { Conversation } from './conversation';
import type { Jobs } from './jobs';
import type { Permissions } from './permissions';
import { type Review, lineCounts } from './review';
import type { Change, FixAction, FromWebview, ReviewView, Snapshot, ToWebview } from './view';

const VIEW = 'copydesk.chat';
const REVIEW_COMMANDS = { show: 'copydesk.nextHunk', compare: 'copydesk.compareAll', accept: 'copydesk.acceptAll', reject: 'copydesk.rejectAll' } as const;
const FRAME_MS = 16;
const DRAFT_KEY = 'copydesk.draft';
const EXTERNAL_SCHEMES = new Set(['http', 'https', 'mailto']);
const DOCUMENT_SCHEMES = new Set(['file', 'untitled', 'vscode-notebook-cell']);

/** What the panel shows. */
interface Shown {
  server: Server;
  conversation: Conversation;
  permissions: Permissions;
  review: Review;
  jobs: Jobs;
}

class ChatView implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  private listening = false;
  private changes: Change[] = [];
  private flushTimer: NodeJS.Timeout | undefined;
  private afterReady: ToWebview[] = [];

  private readonly server: Server;
  private readonly conversation: Conversation;
  private readonly permissions: Permissions;
  private readonly review: Review;
  private readonly jobs: Jobs;

  constructor(
    private readonly context: vscode.ExtensionContext,
    { server, conversation, permissions, review, jobs }: Shown,
  ) {
    this.server = server;
    this.conversation = conversation;
    this.permissions = permissions;
    this.review = review;
    this.jobs = jobs;
    context.subscriptions.push(
      conversation.onDidChange(change => this.queue(change)),
      conversation.onDidReset(() => this.postSnapshot()),
      conversation.onDidChangeHeader(header => {
        this.post({ type: 'header', header });
        if (this.view) this.view.description = header.title;
      }),
      server.onDidChange(view => this.post({ type: 'server', server: view })),
      permissions.onDidChange(() => this.permissionsChanged()),
      review.onDidChange(() => this.post({ type: 'review', review: reviewView(review) })),
      permissions.onDidAsk(asked => this.callFor(`Copydesk asks: ${asked.title}`)),
      jobs.onDidAsk(() => this.callFor('Copydesk: a program asks for a password.')),
    );
  }

  get isVisible(): boolean {
    return this.view?.visible ?? false;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.listening = false;
    view.webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(this.context.extensionUri, 'dist')] };
    view.webview.onDidReceiveMessage((received: FromWebview) => {
      this.receive(received).catch((error: unknown) => void vscode.window.showErrorMessage(message(error)));
    });
    // A hidden panel's page is gone; it says when there is another.
    view.onDidChangeVisibility(() => {
      if (!view.visible) this.listening = false;
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.listening = false;
    });
    view.webview.html = this.html(view.webview);
    this.permissionsChanged();
  }

  async focus(target: 'input' | 'permission'): Promise<void> {
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    this.whenReady({ type: 'focus', target });
  }

  /** Sends what is in the panel's input. */
  async submit(): Promise<void> {
    await this.focus('input');
    this.whenReady({ type: 'submit' });
  }

  /** Tells a person who does not look at the panel that it waits for them. */
  private callFor(words: string): void {
    if (this.view?.visible && vscode.window.state.focused) return;
    void vscode.window.showInformationMessage(words, 'Show').then(choice => choice && this.focus('permission'));
  }

  private async receive(received: FromWebview): Promise<void> {
    switch (received.type) {
      case 'ready':
        this.listening = true;
        this.postSnapshot();
        for (const waiting of this.afterReady.splice(0)) this.post(waiting);
        await this.conversation.open();
        return;
      case 'send':
        if (!(await this.conversation.send(received.text))) this.post({ type: 'sendFailed', text: received.text });
        return;
      case 'retry':
        await this.conversation.retry();
        return;
      case 'stop':
        this.conversation.stop();
        return;
      case 'newChat':
        await this.conversation.newChat();
        return;
      case 'draft':
        await this.context.workspaceState.update(DRAFT_KEY, received.text);
        return;
      case 'answer':
        this.permissions.answer(received.id, received.optionId, received.feedback);
        return;
      case 'setOption':
        await this.conversation.setOption(received.configId, received.value);
        return;
      case 'openLink':
        await this.openLink(received.href);
        return;
      case 'openLocation':
        await this.openDocument(received.target, received.line);
        return;
      case 'copy':
        await vscode.env.clipboard.writeText(received.text);
        return;
      case 'insert': {
        const editor = vscode.window.activeTextEditor;
        if (!editor) throw new Error('Open a file to insert the code into.');
        await editor.edit(edit => edit.replace(editor.selection, received.text));
        return;
      }
      case 'typeLine':
        await this.jobs.typeLine(received.terminalId, received.line);
        return;
      case 'showAll':
        await this.jobs.showAll(received.terminalId);
        return;
      case 'stopProgram':
        await this.jobs.stop(received.terminalId);
        return;
      case 'toBackground':
        await this.jobs.toBackground(received.terminalId);
        return;
      case 'password':
        await this.jobs.givePassword(received.terminalId, received.password);
        return;
      case 'review':
        await vscode.commands.executeCommand(REVIEW_COMMANDS[received.action]);
        return;
      case 'fix':
        await fix(this.server, this.conversation, received.action);
        return;
    }
  }

  private async openLink(href: string): Promise<void> {
    const place = /^([^:#]+)(?:(?:#L|:)(\d+))?$/.exec(href);
    const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(href)?.[1]?.toLowerCase();
    if (place) {
      await this.openDocument(decodeURI(place[1] ?? ''), place[2] ? Number.parseInt(place[2], 10) : undefined);
    } else if (scheme === undefined) {
      return;
    } else if (EXTERNAL_SCHEMES.has(scheme)) {
      await vscode.env.openExternal(vscode.Uri.parse(href, true));
    } else if (DOCUMENT_SCHEMES.has(scheme)) {
      await this.openDocument(href);
    }
  }

  private async openDocument(target: string, line?: number): Promise<void> {
    const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(target)?.[1]?.toLowerCase();
    if (scheme !== undefined && !DOCUMENT_SCHEMES.has(scheme)) return;
    const uri = scheme === undefined ? vscode.Uri.file(path.resolve(this.conversation.folder, target)) : vscode.Uri.parse(target, true);
    const at = new vscode.Position(Math.max(0, (line ?? 1) - 1), 0);
    await vscode.window.showTextDocument(uri, { preview: true, selection: line === undefined ? undefined : new vscode.Range(at, at) });
  }

  private permissionsChanged(): void {
    const permissions = this.permissions.views;
    if (this.view) {
      const tooltip = permissions.length === 1 ? '1 request waits for you' : `${permissions.length} requests wait for you`;
      this.view.badge = permissions.length > 0 ? { value: permissions.length, tooltip } : undefined;
    }
    this.post({ type: 'permissions', permissions });
  }

  private queue(change: Change): void {
    if (!this.listening) return;
    const last = this.changes.at(-1);
    if (change.type === 'append' && last?.type === 'append' && last.id === change.id) last.text += change.text;
    else if (change.type === 'output' && last?.type === 'output' && last.id === change.id) last.text += change.text;
    else if (change.type === 'item' && last?.type === 'item' && last.item.id === change.item.id) last.item = change.item;
    else if (change.type === 'terminal' && last?.type === 'terminal' && last.terminal.id === change.terminal.id) last.terminal = change.terminal;
    else this.changes.push({ ...change });
    this.flushTimer ??= setTimeout(() => this.flush(), FRAME_MS);
  }

  private flush(): void {
    clearTimeout(this.flushTimer);
    this.flushTimer = undefined;
    if (this.changes.length > 0) this.send({ type: 'changes', changes: this.changes.splice(0) });
  }

  /** Sends a message after all that happened before it. */
  private post(sent: ToWebview): void {
    this.flush();
    this.send(sent);
  }

  private send(sent: ToWebview): void {
    if (this.listening) void this.view?.webview.postMessage(sent);
  }

  private whenReady(sent: ToWebview): void {
    if (this.listening) this.post(sent);
    else this.afterReady.push(sent);
  }

  private postSnapshot(): void {
    this.changes = [];
    const snapshot: Snapshot = {
      ...this.conversation.transcript.view(),
      permissions: this.permissions.views,
      review: reviewView(this.review),
      header: this.conversation.header,
      server: this.server.view,
      draft: this.context.workspaceState.get(DRAFT_KEY, ''),
    };
    this.post({ type: 'snapshot', snapshot });
  }

  private html(webview: vscode.Webview): string {
    const nonce = randomBytes(16).toString('base64');
    const file = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(this.context.extensionUri, 'dist', name)).toString();
    const csp = `default-src 'none'; img-src data:; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${csp}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Copydesk chat</title>
<link rel="stylesheet" href="${file('style.css')}">
</head>
<body>
<script nonce="${nonce}" src="${file('webview.js')}"></script>
</body>
</html>`;
  }
}

function reviewView(review: Review): ReviewView {
  const sums = review.pending.map(({ file }) => lineCounts(file));
  return {
    hunks: review.count,
    files: sums.length,
    added: sums.reduce((sum, it) => sum + it.added, 0),
    removed: sums.reduce((sum, it) => sum + it.removed, 0),
  };
}

async function fix(server: Server, conversation: Conversation, action: FixAction): Promise<void> {
  switch (action) {
    case 'restart':
      await server.restart().catch(() => undefined);
      if (server.running) await conversation.open();
      return;
    case 'settings':
      await vscode.commands.executeCommand('copydesk.openSettings');
      return;
    case 'log':
      server.log.show();
      return;
  }
}

export function activate(context: vscode.ExtensionContext, shown: Shown): void {
  const { server, conversation } = shown;
  const chat = new ChatView(context, shown);
  context.subscriptions.push(
    vscode.window.registerWebviewViewProvider(VIEW, chat),
    server.onDidConnect(() => {
      if (chat.isVisible) void conversation.open();
    }),
    vscode.commands.registerCommand('copydesk.focusChat', () => chat.focus('input')),
    vscode.commands.registerCommand('copydesk.showPending', () => chat.focus('permission')),
    vscode.commands.registerCommand('copydesk.newChat', async () => {
      await chat.focus('input');
      await conversation.newChat();
    }),
    vscode.commands.registerCommand('copydesk.send', async (text?: unknown) => {
      if (typeof text === 'string') await conversation.send(text);
      else await chat.submit();
    }),
  );
}
