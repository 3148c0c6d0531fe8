// `copydesk/editor/notebookEdit`: changes the cells of an open notebook. Everything is checked before
// anything is touched, one undo step, no focus moves, and a refusal says why.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { type Server, message } from './client';
import type { NotebookCellText, NotebookEditParams, NotebookEditResult, NotebookSplice } from './protocol';

export function activate(_context: vscode.ExtensionContext, server: Server): void {
  let queue: Promise<unknown> = Promise.resolve();
  server.onSetup(client => {
    client.onRequest('copydesk/editor/notebookEdit', (params: NotebookEditParams) => {
      const result = queue.then(() => editNotebook(client, params));
      queue = result;
      return result;
    });
  });
}

/** Never rejects: what goes wrong is the reason of a refusal. */
async function editNotebook(client: LanguageClient, params: NotebookEditParams): Promise<NotebookEditResult> {
  const refused = (failureReason: string): NotebookEditResult => ({ applied: false, failureReason });
  try {
    const uri = client.protocol2CodeConverter.asUri(params.uri);
    const notebook = openNotebook(uri);
    if (!notebook) return refused(`${params.uri} is not open as a notebook`);
    if (notebook.version !== params.version) return refused(`${params.uri} is at version ${notebook.version}, the edit was made for version ${params.version}`);
    if (params.edits.some(edit => edit.start + edit.deleteCount > notebook.cellCount)) return refused(`${params.uri} has no such cells as the edit names`);
    const edit = new vscode.WorkspaceEdit();
    edit.set(
      notebook.uri,
      params.edits.map(splice => vscode.NotebookEdit.replaceCells(new vscode.NotebookRange(splice.start, splice.start + splice.deleteCount), cellsOf(notebook, splice))),
    );
    if (!(await vscode.workspace.applyEdit(edit))) return refused('the editor refused the edit: the notebook changed meanwhile or is read-only');
    return { applied: true };
  } catch (error) {
    return refused(message(error));
  }
}

export function openNotebook(uri: vscode.Uri): vscode.NotebookDocument | undefined {
  return vscode.workspace.notebookDocuments.find(notebook => !notebook.isClosed && notebook.uri.toString() === uri.toString());
}

function cellsOf(notebook: vscode.NotebookDocument, splice: NotebookSplice): vscode.NotebookCellData[] {
  const keeps = splice.cells.length === splice.deleteCount;
  return splice.cells.map((cell, nth) => {
    const old = keeps ? notebook.cellAt(splice.start + nth) : undefined;
    const kind = cell.kind === 'markdown' ? vscode.NotebookCellKind.Markup : vscode.NotebookCellKind.Code;
    const data = new vscode.NotebookCellData(kind, cell.text, old?.kind === kind ? old.document.languageId : languageOf(notebook, cell));
    if (old) data.metadata = withoutCount(old.metadata);
    return data;
  });
}

/** Jupyter's notebooks keep the execution count among the metadata. */
function withoutCount(metadata: vscode.NotebookCell['metadata']): Record<string, unknown> {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => name !== 'execution_count'));
}

/** A new code cell is in the language of the others. */
function languageOf(notebook: vscode.NotebookDocument, cell: NotebookCellText): string {
  if (cell.kind === 'markdown') return 'markdown';
  return notebook.getCells().find(it => it.kind === vscode.NotebookCellKind.Code)?.document.languageId ?? 'python';
}
