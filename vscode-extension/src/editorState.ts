// `copydesk/editor/didChangeState`: what only the editor knows of its open documents.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import type { Server } from './client';
import { isReadOnly } from './editing';
import { encodingLabel, eolOf } from './documentFacts';
import type { DocumentState, EditorStateParams } from './protocol';

const CHANGE_DELAY_MS = 50;
const CURSOR_DELAY_MS = 200;
const MIXED_EOL_LIMIT = 4_000_000;
const SCHEMES = new Set(['file', 'untitled', 'vscode-notebook-cell']);

interface DiskFacts {
  bom: boolean;
  /** Line endings the editor cannot write back: several kinds, or lone carriage returns. */
  mixed: boolean;
  readOnly: boolean;
}

/** Facts of the file behind a document, read at open and after each save. */
type Facts = Map<string, DiskFacts>;

export function activate(context: vscode.ExtensionContext, server: Server): void {
  const facts: Facts = new Map();
  let timer: NodeJS.Timeout | undefined;
  let due = Infinity;
  const within = (delay: number): void => {
    const at = Date.now() + delay;
    if (!server.running || at >= due) return;
    clearTimeout(timer);
    due = at;
    timer = setTimeout(now, delay);
  };
  const soon = (): void => within(CHANGE_DELAY_MS);
  const later = (): void => within(CURSOR_DELAY_MS);
  const now = (): void => {
    clearTimeout(timer);
    due = Infinity;
    const client = server.running;
    if (client) void client.sendNotification('copydesk/editor/didChangeState', state(client, facts));
  };
  const look = async (document: vscode.TextDocument): Promise<void> => {
    if (!SCHEMES.has(document.uri.scheme)) return;
    facts.set(document.uri.toString(), await diskFacts(document));
    now();
  };
  const lookAll = (): void => {
    for (const document of vscode.workspace.textDocuments) void look(document);
  };
  const dirty = new WeakMap<vscode.TextDocument, boolean>();
  context.subscriptions.push(
    server.onDidConnect(() => {
      lookAll();
      soon();
    }),
    vscode.workspace.onDidOpenTextDocument(document => {
      if (server.running) void look(document);
    }),
    vscode.workspace.onDidSaveTextDocument(document => {
      if (server.running) void look(document);
    }),
    vscode.workspace.onDidCloseTextDocument(document => {
      facts.delete(document.uri.toString());
      if (server.running) now();
    }),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (dirty.get(document) === document.isDirty) return;
      dirty.set(document, document.isDirty);
      soon();
    }),
    vscode.workspace.onDidOpenNotebookDocument(soon),
    vscode.workspace.onDidChangeNotebookDocument(soon),
    vscode.workspace.onDidSaveNotebookDocument(soon),
    vscode.window.onDidChangeActiveTextEditor(soon),
    vscode.window.onDidChangeTextEditorSelection(later),
    vscode.window.onDidChangeTextEditorVisibleRanges(later),
    { dispose: () => clearTimeout(timer) },
  );
}

function state(client: LanguageClient, facts: Facts): EditorStateParams {
  const editor = vscode.window.activeTextEditor;
  const convert = client.code2ProtocolConverter;
  return {
    active:
      editor && SCHEMES.has(editor.document.uri.scheme)
        ? { uri: convert.asUri(editor.document.uri), selections: editor.selections.map(s => convert.asRange(s)), visibleRanges: editor.visibleRanges.map(r => convert.asRange(r)) }
        : undefined,
    documents: vscode.workspace.textDocuments
      .filter(document => !document.isClosed && SCHEMES.has(document.uri.scheme))
      .map((document): DocumentState => {
        const disk = facts.get(document.uri.toString());
        const last = document.lineAt(document.lineCount - 1);
        return {
          uri: convert.asUri(document.uri),
          version: document.version,
          dirty: document.isDirty,
          encoding: encodingLabel(document.encoding),
          bom: disk?.bom ?? document.encoding.endsWith('bom'),
          eol: disk?.mixed ? 'mixed' : document.eol === vscode.EndOfLine.CRLF ? 'crlf' : 'lf',
          finalNewline: document.lineCount > 1 && last.text === '',
          readOnly: disk?.readOnly ?? false,
        };
      })
      .concat(
        vscode.workspace.notebookDocuments
          .filter(notebook => !notebook.isClosed)
          .map((notebook): DocumentState => ({ uri: convert.asUri(notebook.uri), version: notebook.version, dirty: notebook.isDirty })),
      ),
  };
}

/** The editor shows one line ending whatever the file holds, so the bytes are asked. */
async function diskFacts(document: vscode.TextDocument): Promise<DiskFacts> {
  const { uri, encoding } = document;
  if (uri.scheme !== 'file') return { bom: false, mixed: false, readOnly: false };
  const readOnly = await isReadOnly(uri);
  const bom = encoding === 'utf8bom';
  try {
    if ((await vscode.workspace.fs.stat(uri)).size > MIXED_EOL_LIMIT) return { bom, mixed: false, readOnly };
    const bytes = await vscode.workspace.fs.readFile(uri);
    return { bom: bom || hasUtf16Bom(bytes), mixed: ['mixed', 'cr'].includes(eolOf(bytes, encoding.startsWith('utf16'))), readOnly };
  } catch {
    return { bom, mixed: false, readOnly };
  }
}

function hasUtf16Bom(bytes: Uint8Array): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}
