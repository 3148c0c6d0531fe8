// The person's settings, in the server's own keys. Keys that grant power are read from user and
// machine scope alone, whatever a workspace says.

import * as vscode from 'vscode';
import type { Server } from './client';

const POWER_KEYS = ['mode', 'providers', 'models', 'permissions', 'hooks', 'mcp_servers', 'tools', 'shell', 'edits'];
const OTHER_KEYS = ['model'];

export function initializationOptions(): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration('copydesk');
  const settings: Record<string, unknown> = { trusted: vscode.workspace.isTrusted };
  for (const key of POWER_KEYS) put(settings, key, configuration.inspect(key)?.globalValue);
  for (const key of OTHER_KEYS) put(settings, key, configuration.get(key));
  return settings;
}

function put(settings: Record<string, unknown>, key: string, value: unknown): void {
  if (value !== undefined && value !== null && value !== '') settings[key] = value;
}

export function activate(context: vscode.ExtensionContext, server: Server): void {
  const send = (): void => {
    void server.running?.sendNotification('workspace/didChangeConfiguration', { settings: initializationOptions() });
  };
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(event => {
      if (event.affectsConfiguration('copydesk')) send();
      if (event.affectsConfiguration('copydesk.server.path') && server.view.state !== 'idle') {
        server.restart().catch(() => undefined);
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      send();
      for (const folder of vscode.workspace.workspaceFolders ?? []) {
        server.running
          ?.sendRequest('copydesk/trust', { root: folder.uri.toString(), trusted: true })
          .catch((error: unknown) => server.log.warn('The server did not take the trust decision', error));
      }
    }),
    vscode.commands.registerCommand('copydesk.restartServer', () => server.restart().catch(() => undefined)),
    vscode.commands.registerCommand('copydesk.showLog', () => server.log.show()),
    vscode.commands.registerCommand('copydesk.openSettings', () => vscode.commands.executeCommand('workbench.action.openSettings', '@ext:copydesk.copydesk')),
  );
}
