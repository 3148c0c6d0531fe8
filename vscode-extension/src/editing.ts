// `workspace/applyEdit`, handled here and not by the language client: everything is checked before
// anything is touched, one undo step, no focus or tab moves, and a refusal says why.

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import * as vscode from 'vscode';
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditResult, CreateFile, DeleteFile, LanguageClient, RenameFile, TextDocumentEdit, WorkspaceEdit } from 'vscode-languageclient/node';
import { type Server, message } from './client';

type Operation = TextDocumentEdit | CreateFile | RenameFile | DeleteFile;
type Refusal = { reason: string };

export function activate(_context: vscode.ExtensionContext, server: Server): void {
  let queue: Promise<unknown> = Promise.resolve();
  server.middleware.workspace = {
    ...server.middleware.workspace,
    handleApplyEdit: params => {
      const client = server.running;
      if (!client) return { applied: false, failureReason: 'the client is stopping' };
      const result = queue.then(() => applyEdit(client, params));
      queue = result;
      return result;
    },
  };
}

/** Never rejects: what goes wrong is the reason of a refusal. */
async function applyEdit(client: LanguageClient, params: ApplyWorkspaceEditParams): Promise<ApplyWorkspaceEditResult> {
  const operations = operationsOf(params.edit);
  try {
    const edit = new vscode.WorkspaceEdit();
    const closed: vscode.TextDocument[] = [];
    const created = new Set<string>();
    for (const [index, operation] of operations.entries()) {
      const refusal = TextEdits.is(operation) ? await addTextEdits(client, edit, operation, closed, created) : await addFileOperation(client, edit, operation, created);
      if (refusal) return { applied: false, failureReason: refusal.reason, failedChange: index };
    }
    // Opening closed files takes time, in which the person may type.
    for (const [index, operation] of operations.entries()) {
      const refusal = TextEdits.is(operation) ? stale(client, operation) : undefined;
      if (refusal) return { applied: false, failureReason: refusal.reason, failedChange: index };
    }
    if (!(await vscode.workspace.applyEdit(edit))) return { applied: false, failureReason: 'the editor refused the edit: a document changed meanwhile or is read-only' };
    // A closed file had no unsaved text; saved at once it needs no tab to show that it is dirty.
    for (const document of [...closed, ...vscode.workspace.textDocuments.filter(d => created.has(d.uri.toString()))]) {
      if (document.isDirty && !(await document.save())) return { applied: true, failureReason: `${document.uri.toString()} could not be saved` };
    }
    return { applied: true };
  } catch (error) {
    return { applied: false, failureReason: message(error) };
  }
}

const TextEdits = {
  is(operation: Operation): operation is TextDocumentEdit {
    return 'edits' in operation;
  },
};

function operationsOf(edit: WorkspaceEdit): Operation[] {
  if (edit.documentChanges) return edit.documentChanges;
  return Object.entries(edit.changes ?? {}).map(([uri, edits]) => ({ textDocument: { uri, version: null }, edits }));
}

function openDocument(client: LanguageClient, protocolUri: string): vscode.TextDocument | undefined {
  const uri = client.protocol2CodeConverter.asUri(protocolUri).toString();
  return vscode.workspace.textDocuments.find(document => !document.isClosed && document.uri.toString() === uri);
}

function stale(client: LanguageClient, operation: TextDocumentEdit): Refusal | undefined {
  const { uri, version } = operation.textDocument;
  const document = openDocument(client, uri);
  if (typeof version !== 'number') return undefined;
  if (!document) return { reason: `${uri} is not open` };
  return document.version === version ? undefined : { reason: `${uri} is at version ${document.version}, the edit was made for version ${version}` };
}

async function addTextEdits(client: LanguageClient, edit: vscode.WorkspaceEdit, operation: TextDocumentEdit, closed: vscode.TextDocument[], created: Set<string>): Promise<Refusal | undefined> {
  const refusal = stale(client, operation);
  if (refusal) return refusal;
  const uri = client.protocol2CodeConverter.asUri(operation.textDocument.uri);
  let document = openDocument(client, operation.textDocument.uri);
  if (!document && !created.has(uri.toString())) {
    if (uri.scheme !== 'file') return { reason: `${uri.toString()} is not open` };
    document = await vscode.workspace.openTextDocument(uri);
    closed.push(document);
  }
  if (await isReadOnly(uri)) return { reason: `${uri.toString()} is read-only` };
  const edits: vscode.TextEdit[] = [];
  for (const change of operation.edits) {
    if (!('newText' in change)) return { reason: 'snippet edits are not supported' };
    const range = client.protocol2CodeConverter.asRange(change.range);
    if (document && !document.validateRange(range).isEqual(range)) return { reason: `${uri.toString()} has no such range as the edit names` };
    edits.push(new vscode.TextEdit(range, change.newText));
  }
  edit.set(uri, [...edit.get(uri), ...edits]);
  return undefined;
}

async function addFileOperation(client: LanguageClient, edit: vscode.WorkspaceEdit, operation: CreateFile | RenameFile | DeleteFile, created: Set<string>): Promise<Refusal | undefined> {
  const asUri = (uri: string): vscode.Uri => client.protocol2CodeConverter.asUri(uri);
  switch (operation.kind) {
    case 'create': {
      const uri = asUri(operation.uri);
      const there = await fileAt(uri);
      if (there && (there.type !== vscode.FileType.File || there.size > 0)) return { reason: `${operation.uri} is already there` };
      created.add(uri.toString());
      edit.createFile(uri, { overwrite: false, ignoreIfExists: true });
      return undefined;
    }
    case 'rename': {
      const to = asUri(operation.newUri);
      if (openDocument(client, operation.oldUri)?.isDirty) return { reason: `${operation.oldUri} has unsaved text` };
      if (await fileAt(to)) return { reason: `${operation.newUri} is already there` };
      edit.renameFile(asUri(operation.oldUri), to, { overwrite: false });
      return undefined;
    }
    case 'delete': {
      const uri = asUri(operation.uri);
      if (openDocument(client, operation.uri)?.isDirty) return { reason: `${operation.uri} has unsaved text` };
      const there = await fileAt(uri);
      if (there?.type === vscode.FileType.Directory) return { reason: `${operation.uri} is a folder` };
      edit.deleteFile(uri, { ignoreIfNotExists: true, recursive: false });
      return undefined;
    }
  }
}

async function fileAt(uri: vscode.Uri): Promise<vscode.FileStat | undefined> {
  try {
    return await vscode.workspace.fs.stat(uri);
  } catch {
    return undefined;
  }
}

/** Whether the editor could not write the file back. */
export async function isReadOnly(uri: vscode.Uri): Promise<boolean> {
  if (uri.scheme !== 'file') return vscode.workspace.fs.isWritableFileSystem(uri.scheme) === false;
  try {
    // Without the owner's write bit the editor asks before it saves, whoever runs it.
    if (((await stat(uri.fsPath)).mode & 0o200) === 0) return true;
    await access(uri.fsPath, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}
