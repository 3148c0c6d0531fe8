// Wires the features together. Nothing runs and no server starts until the panel or a command is used.

import * as vscode from 'vscode';
import * as chat from './chat';
import { Server } from './client';
import * as compare from './compare';
import * as conversation from './conversation';
import * as decide from './decide';
import * as editing from './editing';
import * as editorState from './editorState';
import * as hunks from './hunks';
import * as jobList from './jobList';
import * as jobs from './jobs';
import * as notebook from './notebook';
import * as permissions from './permissions';
import * as review from './review';
import * as save from './save';
import * as settings from './settings';
import * as status from './status';

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Copydesk', { log: true });
  server = new Server(context.extensionPath, log);
  context.subscriptions.push(log);
  settings.activate(context, server);
  editing.activate(context, server);
  notebook.activate(context, server);
  save.activate(context, server);
  editorState.activate(context, server);
  const pending = permissions.activate(context, server);
  const open = conversation.activate(context, server);
  const changes = review.activate(context, server);
  hunks.activate(context, server, changes);
  compare.activate(context, changes);
  decide.activate(context, server, changes, open);
  const programs = jobs.activate(context, server, open);
  jobList.activate(context, server, programs);
  chat.activate(context, { server, conversation: open, permissions: pending, review: changes, jobs: programs });
  status.activate(context, { server, conversation: open, permissions: pending, review: changes });
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
}
