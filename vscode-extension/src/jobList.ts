// All programs that run for the agent, in every chat: a list to pick from, made anew each time it is
// opened and after each thing done in it. A password passes through here once and is kept nowhere.

import * as vscode from 'vscode';
import { type Server, message } from './client';
import type { Jobs } from './jobs';
import type { JobInfo } from './protocol';
import { visible } from './terminalText';

interface JobItem extends vscode.QuickPickItem {
  job?: JobInfo;
}

const TYPE: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('keyboard'), tooltip: 'Type a line' };
const PASSWORD: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('key'), tooltip: 'Type the password' };
const RESIZE: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('split-horizontal'), tooltip: 'Set the size' };
const STOP: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('debug-stop'), tooltip: 'Stop' };

function isRunning(job: JobInfo): boolean {
  return job.status === 'running' || job.status === 'stopping';
}

function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

function item(job: JobInfo): JobItem {
  const code = job.exitCode === undefined || job.exitCode === null ? '' : ` (${job.exitCode})`;
  const buttons: vscode.QuickInputButton[] = [];
  if (isRunning(job) && job.takesInput) buttons.push(job.secretPrompt ? PASSWORD : TYPE, RESIZE);
  if (isRunning(job)) buttons.push(STOP);
  return {
    job,
    buttons,
    // Icons are written in labels as $(name), which a command may hold.
    label: visible(job.command.replace(/\s+/g, ' ').slice(0, 200)).replaceAll('$(', '$\u200b('),
    description: `${job.jobId} · ${job.status}${code} · ${duration(job.elapsedMs)}`,
    ...(job.secretPrompt ? { detail: `asks: ${visible(job.secretPrompt)}` } : {}),
  };
}

class JobList {
  constructor(
    private readonly server: Server,
    private readonly jobs: Jobs,
  ) {}

  async show(): Promise<void> {
    const pick = vscode.window.createQuickPick<JobItem>();
    pick.title = 'Programs that run for the agent';
    pick.placeholder = 'Choose one to see what it printed';
    pick.matchOnDescription = true;
    const fill = async (): Promise<void> => {
      pick.busy = true;
      try {
        const jobs = this.server.running ? (await this.server.request('copydesk/job/list', {})).jobs : [];
        pick.items = jobs.length > 0 ? jobs.map(item) : [{ label: 'Nothing runs in the background.' }];
      } finally {
        pick.busy = false;
      }
    };
    pick.onDidHide(() => pick.dispose());
    pick.onDidAccept(() => {
      const job = pick.selectedItems[0]?.job;
      pick.hide();
      if (job) void tell(this.jobs.showAll(job.terminalId, job.sessionId));
    });
    pick.onDidTriggerItemButton(({ item: { job }, button }) => {
      if (!job) return;
      if (button === STOP) void tell(this.stop(job).then(fill));
      else {
        pick.hide();
        void tell(button === RESIZE ? this.resize(job) : button === PASSWORD ? this.password(job) : this.type(job));
      }
    });
    pick.show();
    await fill();
  }

  private async stop({ sessionId, jobId }: JobInfo): Promise<void> {
    await this.server.request('copydesk/job/kill', { sessionId, jobId });
  }

  private async type({ sessionId, jobId, command }: JobInfo): Promise<void> {
    const line = await vscode.window.showInputBox({ title: `Type into ${jobId}`, prompt: visible(command.slice(0, 200)) });
    if (line !== undefined) await this.jobs.type(sessionId, jobId, line);
  }

  private async password(job: JobInfo): Promise<void> {
    const { jobId, secretPrompt } = job;
    const password = await vscode.window.showInputBox({ title: `${jobId} asks: ${visible(secretPrompt ?? '')}`, password: true, ignoreFocusOut: true });
    if (password === undefined || (await this.jobs.typePassword(job, password))) return;
    void vscode.window.showInformationMessage(`${jobId} does not ask for the password any more; nothing was typed.`);
  }

  private async resize({ sessionId, jobId, cols, rows }: JobInfo): Promise<void> {
    const size = await vscode.window.showInputBox({
      title: `Columns × rows of ${jobId}`,
      value: cols && rows ? `${cols}×${rows}` : '',
      validateInput: text => (parsed(text) ? undefined : 'Two numbers, as in 100×30'),
    });
    const wanted = size === undefined ? undefined : parsed(size);
    if (wanted) await this.server.request('copydesk/job/resize', { sessionId, jobId, ...wanted });
  }
}

function parsed(text: string): { cols: number; rows: number } | undefined {
  const [, cols, rows] = /^\s*(\d{1,5})\s*[x×, ]\s*(\d{1,5})\s*$/.exec(text) ?? [];
  return cols && rows ? { cols: Number(cols), rows: Number(rows) } : undefined;
}

async function tell(doing: Promise<void>): Promise<void> {
  try {
    await doing;
  } catch (error) {
    void vscode.window.showErrorMessage(message(error));
  }
}

export function activate(context: vscode.ExtensionContext, server: Server, jobs: Jobs): void {
  const list = new JobList(server, jobs);
  context.subscriptions.push(vscode.commands.registerCommand('copydesk.showJobs', () => tell(list.show())));
}
