// The status bar item: idle, busy, waiting for the person, or what is wrong.

import * as vscode from 'vscode';
import type { Server } from './client';
import type { Conversation } from './conversation';
import type { Permissions } from './permissions';
import type { StatusParams } from './protocol';
import type { Review } from './review';

/** What the item tells of. */
interface Told {
  server: Server;
  conversation: Conversation;
  permissions: Permissions;
  review: Review;
}

export function activate(context: vscode.ExtensionContext, { server, conversation, permissions, review }: Told): void {
  const item = vscode.window.createStatusBarItem('copydesk.status', vscode.StatusBarAlignment.Right, 90);
  item.name = 'Copydesk';
  let status: StatusParams | undefined;
  const show = (): void => {
    const pending = permissions.views.length;
    const view = server.view;
    const hunks = review.count;
    item.command = pending > 0 ? 'copydesk.showPending' : hunks > 0 ? 'copydesk.nextHunk' : 'copydesk.focusChat';
    item.backgroundColor = undefined;
    if (view.state === 'failed') {
      item.text = '$(error) Copydesk';
      item.tooltip = `${view.title}. ${view.detail}`;
      item.backgroundColor = new vscode.ThemeColor('statusBarItem.errorBackground');
    } else if (pending > 0) {
      item.text = `$(bell-dot) Copydesk: ${pending}`;
      item.tooltip = pending === 1 ? '1 request waits for you' : `${pending} requests wait for you`;
      item.backgroundColor = new vscode.ThemeColor('statusBarItem.warningBackground');
    } else if (view.state === 'starting' || conversation.header.busy || status?.busy) {
      item.text = '$(loading~spin) Copydesk';
      item.tooltip = status?.message ?? (view.state === 'starting' ? 'Copydesk is starting' : 'Copydesk is working');
    } else if (hunks > 0) {
      item.text = `$(diff) Copydesk: ${hunks}`;
      item.tooltip = hunks === 1 ? '1 change waits for your review' : `${hunks} changes wait for your review`;
    } else {
      item.text = status?.kind === 'error' || status?.kind === 'warning' ? '$(warning) Copydesk' : '$(comment-discussion) Copydesk';
      item.tooltip = status?.message ?? 'Open the Copydesk chat';
    }
    item.accessibilityInformation = { label: typeof item.tooltip === 'string' ? `Copydesk: ${item.tooltip}` : 'Copydesk' };
    item.show();
  };
  server.onSetup(client => {
    client.onNotification('copydesk/status/didChange', (params: StatusParams) => {
      const worse = params.kind !== status?.kind || params.message !== status.message;
      status = params;
      show();
      if (worse) void conversation.refreshStatus();
    });
  });
  context.subscriptions.push(
    item,
    server.onDidChange(show),
    server.onDidLose(() => {
      status = undefined;
    }),
    permissions.onDidChange(show),
    review.onDidChange(show),
    conversation.onDidChangeHeader(show),
  );
  show();
}
