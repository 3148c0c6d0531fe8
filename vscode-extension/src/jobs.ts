// Programs that run: what the server knows of them, asked when something about them changed, and
// what the person does with them. A password passes through here once and is kept nowhere.

import * as vscode from 'vscode';
import type { Server } from './client';
import type { Conversation } from './conversation';
import type { JobInfo } from './protocol';
import type { Change } from './view';

/** Output that has paused this long may end in a question. */
const PAUSE_MS = 300;

export class Jobs implements vscode.Disposable {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly server: Server,
    private readonly conversation: Conversation,
  ) {}

  /** Types the password, unless the program has stopped asking: elsewhere it would be shown. */
  async givePassword(terminalId: string, password: string): Promise<void> {
    const sessionId = this.conversation.shownSession;
    const { transcript } = this.conversation;
    const list = await this.list();
    if (!sessionId || !list?.some(job => job.terminalId === terminalId && job.secretPrompt)) {
      if (list) transcript.jobs(list);
      transcript.notice('warning', 'The password was not sent', 'The program does not ask for it any more.');
      return;
    }
    transcript.passwordGiven(terminalId);
    await this.server.request('copydesk/job/write', { sessionId, jobId: terminalId, text: `${password}\r` });
  }

  async stop(terminalId: string): Promise<void> {
    const sessionId = this.conversation.shownSession;
    if (sessionId) await this.server.request('terminal/cancel', { sessionId, terminalId });
  }

  async toBackground(terminalId: string): Promise<void> {
    const sessionId = this.conversation.shownSession;
    const toolCallId = this.conversation.transcript.callOf(terminalId);
    if (sessionId && toolCallId) await this.server.request('copydesk/toolCall/background', { sessionId, toolCallId });
  }

  changed(change: Change): void {
    const running = this.conversation.transcript.runningTerminals;
    if (running.length === 0) return;
    if (change.type === 'terminal' && change.terminal.exit === undefined) this.askSoon(0);
    else if (change.type === 'output') this.askSoon(PAUSE_MS);
    else if (change.type === 'item' && change.item.kind === 'tool' && change.item.endedAt !== undefined && change.item.blocks.some(block => block.type === 'terminal')) this.askSoon(0);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }

  private askSoon(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), ms);
  }

  private async refresh(): Promise<void> {
    const { transcript } = this.conversation;
    try {
      const list = await this.list();
      if (list) transcript.jobs(list);
    } catch (error) {
      this.server.log.warn('The server did not list the jobs', error);
    }
  }

  private async list(): Promise<JobInfo[] | undefined> {
    const sessionId = this.conversation.shownSession;
    if (!sessionId || !this.server.running) return undefined;
    return (await this.server.request('copydesk/job/list', { sessionId })).jobs;
  }
}

export function activate(context: vscode.ExtensionContext, server: Server, conversation: Conversation): Jobs {
  const jobs = new Jobs(server, conversation);
  let asking = false;
  const tell = (): void => {
    if (conversation.transcript.asksForPassword === asking) return;
    asking = !asking;
    void vscode.commands.executeCommand('setContext', 'copydesk.password', asking);
  };
  context.subscriptions.push(
    jobs,
    conversation.onDidChange(change => {
      jobs.changed(change);
      if (change.type === 'terminal') tell();
    }),
    conversation.onDidReset(tell),
  );
  return jobs;
}
