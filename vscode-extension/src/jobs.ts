// Programs that run: what the server knows of them, asked when something about them changed, and
// what the person does with them. A password passes through here once and is kept nowhere.

import * as vscode from 'vscode';
import { type Server, message } from './client';
import type { Conversation } from './conversation';
import type { JobInfo } from './protocol';
import { TerminalDecoder, overwrite } from './terminalText';
import type { Change } from './view';

const OUTPUT = 'copydesk-output';
/** Output that has paused this long may end in a question. */
const PAUSE_MS = 300;
/** Larger texts are slow to show in an editor. */
const ALL_BYTES = 20_000_000;

export class Jobs implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly more = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.more.event;
  readonly asked = new vscode.EventEmitter<void>();
  /** A program began to wait for a password. */
  readonly onDidAsk = this.asked.event;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly server: Server,
    private readonly conversation: Conversation,
  ) {}

  /** Answers the password prompt of a terminal in the shown chat. */
  async givePassword(terminalId: string, password: string): Promise<void> {
    const sessionId = this.conversation.shownSession;
    if (sessionId && this.server.running && (await this.typePassword({ sessionId, jobId: terminalId }, password))) return;
    await this.refresh();
    this.conversation.transcript.notice('warning', 'The password was not sent', 'The program does not ask for it any more.');
  }

  /**
   * Types the password, unless the program has stopped asking: elsewhere it would be shown. With a prompt, only as
   * the answer to that one. Gives whether it was typed.
   */
  async typePassword({ sessionId, jobId, secretPrompt }: Pick<JobInfo, 'sessionId' | 'jobId' | 'secretPrompt'>, password: string): Promise<boolean> {
    const { jobs } = await this.server.request('copydesk/job/list', { sessionId });
    const now = jobs.find(job => job.jobId === jobId)?.secretPrompt;
    if (!now || (secretPrompt && secretPrompt !== now)) return false;
    if (sessionId === this.conversation.shownSession) this.conversation.transcript.passwordGiven(jobId);
    await this.type(sessionId, jobId, password);
    return true;
  }

  /** Types a line and the enter key. */
  async typeLine(terminalId: string, line: string): Promise<void> {
    const sessionId = this.conversation.shownSession;
    if (sessionId) await this.type(sessionId, terminalId, line);
  }

  /** Types a line and the enter key into a program of any chat. */
  async type(sessionId: string, jobId: string, line: string): Promise<void> {
    await this.server.request('copydesk/job/write', { sessionId, jobId, text: `${line}\r` });
  }

  /** Shows all that was printed so far in an editor tab that asks nothing when it is closed. */
  async showAll(terminalId: string, sessionId = this.conversation.shownSession): Promise<void> {
    if (!sessionId) return;
    const uri = vscode.Uri.from({ scheme: OUTPUT, path: `/Output of ${terminalId}.log`, query: JSON.stringify([sessionId, terminalId]) });
    // A tab that shows it already is read anew.
    this.more.fire(uri);
    await vscode.window.showTextDocument(uri, { preview: true });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const [sessionId, terminalId] = JSON.parse(uri.query) as [string, string];
    try {
      return await this.readAll(sessionId, terminalId);
    } catch (error) {
      return `This output is not there any more: ${message(error)}\n`;
    }
  }

  private async readAll(sessionId: string, jobId: string): Promise<string> {
    const decoder = new TerminalDecoder();
    let text = '';
    for (let offset = 0; ; ) {
      const page = await this.server.request('copydesk/job/read', { sessionId, jobId, offset });
      text += decoder.decode(page.data);
      if (page.next >= page.total || page.next <= offset) return overwrite(text);
      if (page.next > ALL_BYTES) return `${overwrite(text)}\n… ${page.total - page.next} more bytes are not shown.\n`;
      offset = page.next;
    }
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
    this.more.dispose();
    this.asked.dispose();
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
    if (asking) jobs.asked.fire();
    void vscode.commands.executeCommand('setContext', 'copydesk.password', asking);
  };
  context.subscriptions.push(
    jobs,
    vscode.workspace.registerTextDocumentContentProvider(OUTPUT, jobs),
    conversation.onDidChange(change => {
      jobs.changed(change);
      if (change.type === 'terminal') tell();
    }),
    conversation.onDidReset(tell),
  );
  return jobs;
}
