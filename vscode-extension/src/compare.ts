// The files' text without the pending changes, as `copydesk-base:` documents: for the editor's own
// gutter, peek and diff views. The list of pending files is a source control of its own, there only
// while something is pending. Closing any of these views decides nothing.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { type Review, lineCounts } from './review';

const SCHEME = 'copydesk-base';
/** Stands for the current text of a file that the agent deleted. */
const GONE = 'gone';

/** The document with the text of a file before the pending changes, by the name it had then. */
export function baseOf(review: Review, uri: vscode.Uri): vscode.Uri {
  return nameBefore(review, uri).with({ scheme: SCHEME, query: uri.toString(), fragment: '' });
}

function nameBefore(review: Review, uri: vscode.Uri): vscode.Uri {
  const before = review.file(uri)?.oldUri;
  return before ? vscode.Uri.parse(before, true) : uri;
}

function goneOf(uri: vscode.Uri): vscode.Uri {
  return uri.with({ scheme: SCHEME, query: '', fragment: GONE });
}

class BaseDocuments implements vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;

  constructor(private readonly review: Review) {}

  refresh(uris: readonly vscode.Uri[]): void {
    for (const uri of uris) {
      // A comparison that is open keeps the name it was opened by.
      for (const { uri: shown } of vscode.workspace.textDocuments) {
        if (shown.scheme === SCHEME && shown.query === uri.toString()) this.changed.fire(shown);
      }
    }
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    if (uri.query === '') return '';
    const file = vscode.Uri.parse(uri.query, true);
    if (this.review.file(file)) return this.review.base(file);
    // Nothing is pending any more: an open comparison shows no difference.
    return vscode.workspace.textDocuments.find(document => document.uri.toString() === file.toString())?.getText() ?? '';
  }
}

/** The two sides of a file: before the pending changes and now. */
function sides(review: Review, uri: vscode.Uri): { base: vscode.Uri | undefined; now: vscode.Uri | undefined } {
  const change = review.file(uri)?.change;
  return { base: change === 'add' ? undefined : baseOf(review, uri), now: change === 'delete' ? undefined : uri };
}

async function compare(review: Review, uri: vscode.Uri): Promise<void> {
  const { base, now } = sides(review, uri);
  const before = nameBefore(review, uri);
  const name = before === uri ? path.basename(uri.path) : `${vscode.workspace.asRelativePath(before)} → ${vscode.workspace.asRelativePath(uri)}`;
  await vscode.commands.executeCommand('vscode.diff', base ?? goneOf(uri), now ?? goneOf(uri), `${name} (pending changes)`, { preview: true });
}

async function compareAll(review: Review): Promise<void> {
  const files = review.pending.map(({ uri }) => {
    const { base, now } = sides(review, uri);
    return [uri, base, now];
  });
  if (files.length === 0) {
    void vscode.window.showInformationMessage('Copydesk: nothing is pending.');
    return;
  }
  await vscode.commands.executeCommand('vscode.changes', 'Pending changes of Copydesk', files);
}

class PendingList {
  private control: vscode.SourceControl | undefined;
  private group: vscode.SourceControlResourceGroup | undefined;

  constructor(private readonly review: Review) {}

  refresh(): void {
    const { pending } = this.review;
    if (pending.length === 0) {
      this.dispose();
      return;
    }
    if (!this.control) {
      this.control = vscode.scm.createSourceControl('copydesk', 'Copydesk');
      this.control.inputBox.visible = false;
      this.control.quickDiffProvider = { provideOriginalResource: uri => (this.review.file(uri) ? baseOf(this.review, uri) : undefined) };
      this.group = this.control.createResourceGroup('pending', 'Pending Changes');
    }
    this.control.count = this.review.count;
    if (!this.group) return;
    this.group.resourceStates = pending.map(({ uri, file }) => {
      const { added, removed } = lineCounts(file);
      const before = file.oldUri ? ` from ${vscode.workspace.asRelativePath(vscode.Uri.parse(file.oldUri, true))}` : '';
      const word = { add: 'New file', delete: 'Deleted', rename: `Moved${before}` }[file.change] ?? 'Changed';
      return {
        resourceUri: uri,
        command: { title: 'Open', command: 'copydesk.compare', arguments: [{ uri }] },
        contextValue: file.change,
        decorations: { tooltip: `${word}: +${added} −${removed}`, strikeThrough: file.change === 'delete' },
      };
    });
  }

  dispose(): void {
    this.control?.dispose();
    this.control = undefined;
    this.group = undefined;
  }
}

/** The file a command is about: its argument, else the active editor's. */
export function target(argument: unknown): vscode.Uri | undefined {
  if (typeof argument === 'object' && argument !== null) {
    const { uri, resourceUri } = argument as { uri?: unknown; resourceUri?: unknown };
    for (const found of [argument, uri, resourceUri]) {
      if (found instanceof vscode.Uri) return found;
    }
  }
  return vscode.window.activeTextEditor?.document.uri;
}

export function activate(context: vscode.ExtensionContext, review: Review): void {
  const documents = new BaseDocuments(review);
  const list = new PendingList(review);
  context.subscriptions.push(
    list,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, documents),
    review.onDidChange(uris => {
      documents.refresh(uris);
      list.refresh();
    }),
    vscode.commands.registerCommand('copydesk.compare', async (argument?: unknown) => {
      const uri = target(argument);
      if (uri && review.file(uri)) await compare(review, uri);
      else await compareAll(review);
    }),
    vscode.commands.registerCommand('copydesk.compareAll', () => compareAll(review)),
  );
}
