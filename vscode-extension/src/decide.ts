// The commands of review: from hunk to hunk, accept and reject at every level, undo. Each names
// what it means by the cursor, the selection or its argument.

import * as vscode from 'vscode';
import type { Server } from './client';
import { target } from './compare';
import type { Conversation } from './conversation';
import { isAt, rangeOf } from './hunks';
import type { Hunk, ReviewItem } from './protocol';
import type { Action, Review } from './review';

/** What a menu of the gutter's peek view hands over, one-based. */
interface LineChange {
  modifiedStartLineNumber: number;
  modifiedEndLineNumber: number;
}

/** The hunk of a lens, of a change in the peek view, or at the cursor. */
function hunkItem(review: Review, args: unknown[]): ReviewItem | undefined {
  const [first, changes, index] = args;
  if (typeof first === 'object' && first !== null && 'hunkId' in first && typeof first.hunkId === 'string') return { hunkId: first.hunkId };
  if (first instanceof vscode.Uri && Array.isArray(changes) && typeof index === 'number') {
    const change = changes[index] as LineChange | undefined;
    // A removal has no lines of its own: it is named by the line before.
    const line = change && Math.max(0, change.modifiedStartLineNumber - (change.modifiedEndLineNumber === 0 ? 0 : 1));
    const found = line === undefined ? undefined : review.hunks(first).find(hunk => isAt(hunk, line));
    return found && { hunkId: found.hunkId };
  }
  const editor = vscode.window.activeTextEditor;
  const found = editor && review.hunks(editor.document.uri).find(hunk => isAt(hunk, editor.selection.active.line));
  return found && { hunkId: found.hunkId };
}

/** All of a file, or what is selected in it. */
function fileItem(review: Review, argument: unknown): ReviewItem | undefined {
  const uri = target(argument);
  const file = uri && review.file(uri);
  return file && { uri: file.uri };
}

function selectionItem(review: Review, server: Server): ReviewItem | undefined {
  const editor = vscode.window.activeTextEditor;
  const file = editor && review.file(editor.document.uri);
  if (!file || !server.running) return undefined;
  return { uri: file.uri, range: server.running.code2ProtocolConverter.asRange(editor.selection) };
}

/** The next hunk from a place, in this file or the next one, and round again. */
function neighbour(review: Review, step: 1 | -1): { uri: vscode.Uri; hunk: Hunk } | undefined {
  const all = review.pending.flatMap(({ uri, file }) => (file.change === 'delete' ? [] : file.hunks.map(hunk => ({ uri, hunk }))));
  if (all.length === 0) return undefined;
  const editor = vscode.window.activeTextEditor;
  const here = editor?.document.uri.toString();
  const line = editor?.selection.active.line ?? 0;
  const own = all.filter(it => it.uri.toString() === here);
  const inFile = step === 1 ? own.find(it => it.hunk.range.start.line > line) : own.findLast(it => it.hunk.range.start.line < line && !isAt(it.hunk, line));
  if (inFile) return inFile;
  const edge = own.length > 0 ? all.indexOf((step === 1 ? own.at(-1) : own[0]) as (typeof all)[number]) : step === 1 ? -1 : all.length;
  return all[(edge + step + all.length) % all.length];
}

async function go(review: Review, step: 1 | -1): Promise<void> {
  const found = neighbour(review, step);
  if (!found) {
    vscode.window.setStatusBarMessage('Copydesk: nothing is pending', 5_000);
    return;
  }
  const at = rangeOf(found.hunk).start;
  const editor = await vscode.window.showTextDocument(found.uri, { preview: true });
  const place = editor.document.validatePosition(at);
  editor.selection = new vscode.Selection(place, place);
  editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

async function decide(review: Review, action: Action, item: ReviewItem | undefined, what: string, comment?: string): Promise<void> {
  if (item) await review.resolve(action, [item], comment);
  else vscode.window.setStatusBarMessage(`Copydesk: no pending change ${what}`, 5_000);
}

export function activate(context: vscode.ExtensionContext, server: Server, review: Review, conversation: Conversation): void {
  const command = (name: string, run: (...args: unknown[]) => Promise<void>): void => {
    context.subscriptions.push(vscode.commands.registerCommand(`copydesk.${name}`, run));
  };
  for (const action of ['accept', 'reject'] as const) {
    command(`${action}Hunk`, (...args) => decide(review, action, hunkItem(review, args), 'at the cursor'));
    command(`${action}Selection`, () => decide(review, action, selectionItem(review, server), 'in the selection'));
    command(`${action}File`, argument => decide(review, action, fileItem(review, argument), 'in this file'));
    command(`${action}Chat`, () => {
      const sessionId = conversation.shownSession;
      return decide(review, action, sessionId === undefined ? undefined : { sessionId }, 'of this chat');
    });
    command(`${action}All`, () => decide(review, action, review.count > 0 ? { all: true } : undefined, 'anywhere'));
  }
  command('rejectHunkWith', async () => {
    const item = hunkItem(review, []);
    if (!item) return decide(review, 'reject', undefined, 'at the cursor');
    const comment = await vscode.window.showInputBox({ title: 'Reject Change', prompt: 'What should the agent know?', placeHolder: 'Why it is wrong, or what to do instead' });
    if (comment !== undefined) await decide(review, 'reject', item, 'at the cursor', comment);
  });
  command('nextHunk', () => go(review, 1));
  command('previousHunk', () => go(review, -1));
  command('undoDecision', () => review.undo());
}
