// Permission requests that wait for the person. They live here, not in the webview, so that
// hiding, moving or reloading the panel loses none, and an answer given elsewhere closes them.

import * as vscode from 'vscode';
import type { Server } from './client';
import { shortPath } from './conversation';
import { copydeskMeta } from './meta';
import type { RequestPermissionRequest, RequestPermissionResponse, RequestResolvedParams } from './protocol';
import { visible } from './terminalText';
import { block, place } from './transcript';
import type { PermissionView } from './view';

interface Pending {
  view: PermissionView;
  resolve: (result: RequestPermissionResponse) => void;
}

export class Permissions {
  private readonly pending = new Map<string, Pending>();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly asked = new vscode.EventEmitter<PermissionView>();
  private count = 0;

  readonly onDidChange = this.changed.event;
  readonly onDidAsk = this.asked.event;

  /** Oldest first. */
  get views(): PermissionView[] {
    return [...this.pending.values()].map(p => p.view);
  }

  ask(params: RequestPermissionRequest, token: vscode.CancellationToken): Promise<RequestPermissionResponse> {
    this.count += 1;
    const id = copydeskMeta(params._meta).requestId ?? `request-${this.count}`;
    return new Promise(resolve => {
      const view = permissionView(id, params);
      this.pending.set(id, { view, resolve });
      token.onCancellationRequested(() => this.close(id));
      this.changed.fire();
      this.asked.fire(view);
    });
  }

  answer(id: string, optionId: string, feedback?: string): void {
    const pending = this.pending.get(id);
    if (!pending?.view.options.some(option => option.optionId === optionId)) return;
    const meta = feedback ? { _meta: { copydesk: { feedback } } } : {};
    this.settle(id, { outcome: { outcome: 'selected', optionId, ...meta } });
  }

  /** Answers the oldest request with its first option of a kind; does nothing when there is none. */
  answerOldest(kind: 'allow_once' | 'reject_once'): void {
    const view = this.views[0];
    const option = view?.options.find(o => o.kind === kind);
    if (view && option) this.answer(view.id, option.optionId);
  }

  /** Answered elsewhere, or no longer wanted. */
  close(id: string): void {
    this.settle(id, { outcome: { outcome: 'cancelled' } });
  }

  closeAll(): void {
    for (const id of [...this.pending.keys()]) this.close(id);
  }

  private settle(id: string, result: RequestPermissionResponse): void {
    const pending = this.pending.get(id);
    if (!pending) return;
    this.pending.delete(id);
    pending.resolve(result);
    this.changed.fire();
  }
}

function permissionView(id: string, params: RequestPermissionRequest): PermissionView {
  const view: PermissionView = { id, title: visible(params.title), description: params.description ?? '', blocks: [], locations: [], options: params.options };
  const subject = params.subject;
  switch (subject?.type) {
    case 'command':
      view.command = { text: visible(subject.command), cwd: subject.cwd };
      break;
    case 'tool_call':
      view.blocks = (subject.toolCall.content ?? []).map(content => block(content, shortPath));
      view.locations = (subject.toolCall.locations ?? []).map(place);
      view.toolCallId = subject.toolCall.toolCallId;
      break;
    default:
      if (params.subject) view.blocks = [{ type: 'other', text: visible(JSON.stringify(params.subject, null, 2)) }];
  }
  return view;
}

export function activate(context: vscode.ExtensionContext, server: Server): Permissions {
  const permissions = new Permissions();
  server.onSetup(client => {
    client.onRequest('session/request_permission', (params: RequestPermissionRequest, token: vscode.CancellationToken) => permissions.ask(params, token));
    client.onNotification('copydesk/request/resolved', (params: RequestResolvedParams) => permissions.close(params.requestId));
  });
  context.subscriptions.push(
    server.onDidLose(() => permissions.closeAll()),
    permissions.onDidChange(() => void vscode.commands.executeCommand('setContext', 'copydesk.pending', permissions.views.length > 0)),
    vscode.commands.registerCommand('copydesk.allowPending', () => permissions.answerOldest('allow_once')),
    vscode.commands.registerCommand('copydesk.rejectPending', () => permissions.answerOldest('reject_once')),
  );
  return permissions;
}
