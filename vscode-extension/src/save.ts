// `copydesk/editor/save`: saves exactly the documents named, through the editor's own save.

import * as vscode from 'vscode';
import { type Server, message } from './client';
import { openNotebook } from './notebook';
import type { SaveParams, SaveResult, SavedDocument } from './protocol';

export function activate(_context: vscode.ExtensionContext, server: Server): void {
  server.onSetup(client => {
    client.onRequest('copydesk/editor/save', async (params: SaveParams): Promise<SaveResult> => {
      const results: SavedDocument[] = [];
      for (const uri of params.uris) results.push({ uri, ...(await save(client.protocol2CodeConverter.asUri(uri))) });
      return { results };
    });
  });
}

async function save(uri: vscode.Uri): Promise<{ saved: boolean; reason?: string }> {
  const document = openNotebook(uri) ?? vscode.workspace.textDocuments.find(d => !d.isClosed && d.uri.toString() === uri.toString());
  if (!document) return { saved: false, reason: 'not open' };
  // Saving an untitled document would ask for a name, which blocks the person.
  if (document.isUntitled) return { saved: false, reason: 'untitled: it has no file yet' };
  if (!document.isDirty) return { saved: true };
  try {
    return (await document.save()) ? { saved: true } : { saved: false, reason: 'the editor did not save it' };
  } catch (error) {
    return { saved: false, reason: message(error) };
  }
}
