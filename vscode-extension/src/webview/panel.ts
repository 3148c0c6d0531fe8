// The whole panel: takes messages, draws, and sends what the person did.

import type { Change, FromWebview, HeaderView, PlanView, ServerView, Snapshot, ToWebview } from '../view';
import { Composer } from './composer';
import { button, h } from './dom';
import { icon } from './icons';
import { TranscriptView } from './items';
import { MarkdownView } from './markdown';
import { PermissionsView } from './permissions';
import { ReviewBar } from './review';

const FIX_LABELS = { restart: 'Start again', settings: 'Open settings', log: 'Show log' } as const;
const NEAR_END = 60;

export class Panel {
  readonly element = h('main', { class: 'panel' });
  private readonly transcript: TranscriptView;
  private readonly permissions: PermissionsView;
  private readonly composer: Composer;
  private readonly review = new ReviewBar(action => this.post({ type: 'review', action }));
  private readonly scroller = h('div', { class: 'scroller' });
  private readonly empty = h('div', { class: 'empty' });
  private readonly plans = h('div', { class: 'plans' });
  private readonly polite = h('div', { class: 'sr-only', role: 'status', 'aria-live': 'polite' });
  private readonly assertive = h('div', { class: 'sr-only', 'aria-live': 'assertive' });
  private readonly markdownActions;
  private server: ServerView = { state: 'idle' };
  private header: HeaderView = { title: '', busy: false, options: [], problems: [] };
  private planViews = new Map<string, PlanView>();
  private following = true;

  constructor(private readonly post: (message: FromWebview) => void) {
    const actions = {
      openLink: (href: string) => this.post({ type: 'openLink', href }),
      openLocation: (target: string, line?: number) => this.post({ type: 'openLocation', target, line }),
      copy: (text: string) => this.post({ type: 'copy', text }),
      insert: (text: string) => this.post({ type: 'insert', text }),
      retry: () => this.post({ type: 'retry' }),
      typeLine: (terminalId: string, line: string) => this.post({ type: 'typeLine', terminalId, line }),
      showAll: (terminalId: string) => this.post({ type: 'showAll', terminalId }),
      stopProgram: (terminalId: string) => this.post({ type: 'stopProgram', terminalId }),
      toBackground: (terminalId: string) => this.post({ type: 'toBackground', terminalId }),
      password: (terminalId: string, password: string) => this.post({ type: 'password', terminalId, password }),
    };
    this.markdownActions = actions;
    this.transcript = new TranscriptView(actions);
    this.permissions = new PermissionsView(
      (id, optionId, feedback) => this.post({ type: 'answer', id, optionId, feedback }),
      actions,
      () => h('div'),
    );
    this.composer = new Composer({
      send: text => {
        this.following = true;
        this.post({ type: 'send', text });
      },
      stop: () => this.post({ type: 'stop' }),
      draft: text => this.post({ type: 'draft', text }),
      setOption: (configId, value) => this.post({ type: 'setOption', configId, value }),
    });
    this.permissions.element.hidden = true;
    this.plans.hidden = true;
    this.scroller.append(this.empty, this.transcript.element);
    this.scroller.addEventListener('scroll', () => {
      this.following = this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight < NEAR_END;
    });
    this.element.append(h('h1', { class: 'sr-only' }, 'Copydesk chat'), this.scroller, this.plans, this.permissions.element, this.review.element, this.composer.element, this.polite, this.assertive);
    const resized = new ResizeObserver(() => this.follow());
    resized.observe(this.transcript.element);
    resized.observe(this.scroller);
    this.element.addEventListener('keydown', event => {
      // In a request Escape could be meant for the request alone.
      if (event.key !== 'Escape' || !this.header.busy || event.isComposing || this.permissions.element.contains(document.activeElement)) return;
      event.preventDefault();
      this.post({ type: 'stop' });
    });
    this.drawEmpty();
  }

  receive(message: ToWebview): void {
    switch (message.type) {
      case 'snapshot':
        this.snapshot(message.snapshot);
        break;
      case 'changes':
        for (const change of message.changes) this.change(change);
        this.drawEmpty();
        break;
      case 'permissions': {
        const fresh = this.permissions.set(message.permissions);
        for (const permission of fresh) this.assertive.textContent = `Permission needed: ${permission.title}. ${permission.command?.text ?? ''}`;
        break;
      }
      case 'review':
        this.review.set(message.review);
        break;
      case 'header':
        this.setHeader(message.header);
        break;
      case 'server':
        this.server = message.server;
        this.drawEmpty();
        break;
      case 'focus':
        if (message.target === 'input' || !(this.permissions.focus() || this.transcript.focusPassword())) this.composer.focus();
        break;
      case 'submit':
        this.composer.submit();
        break;
      case 'sendFailed':
        if (this.composer.text === '') this.composer.setText(message.text);
        this.post({ type: 'draft', text: this.composer.text });
        break;
    }
    this.follow();
  }

  private snapshot(snapshot: Snapshot): void {
    this.transcript.clear();
    this.planViews = new Map(snapshot.plans.map(plan => [plan.id, plan]));
    for (const terminal of snapshot.terminals) this.transcript.terminal(terminal);
    for (const item of snapshot.items) this.transcript.put(item);
    this.server = snapshot.server;
    this.permissions.set(snapshot.permissions);
    this.review.set(snapshot.review);
    if (this.composer.text === '') this.composer.setText(snapshot.draft);
    this.following = true;
    this.drawPlans();
    this.setHeader(snapshot.header);
  }

  private change(change: Change): void {
    switch (change.type) {
      case 'item':
        this.transcript.put(change.item);
        break;
      case 'append':
        this.transcript.append(change.id, change.text);
        break;
      case 'removed':
        this.transcript.remove(change.ids);
        break;
      case 'terminal':
        this.transcript.terminal(change.terminal);
        if (change.terminal.secret !== undefined) this.assertive.textContent = `Password needed: ${change.terminal.secret}`;
        break;
      case 'output':
        this.transcript.output(change.id, change.text);
        break;
      case 'plan':
        this.planViews.set(change.plan.id, change.plan);
        this.drawPlans();
        break;
      case 'planRemoved':
        this.planViews.delete(change.id);
        this.drawPlans();
        break;
    }
  }

  private setHeader(header: HeaderView): void {
    if (this.header.busy && !header.busy) this.polite.textContent = `Finished. ${this.transcript.lastAnswer()}`;
    this.header = header;
    this.element.classList.toggle('busy', header.busy);
    this.composer.setHeader(header);
    this.drawEmpty();
  }

  private follow(): void {
    if (this.following) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  /** What to do when there is nothing to read, and what is wrong in any case. */
  private drawEmpty(): void {
    const parts: Node[] = [];
    if (this.server.state === 'failed') {
      const { title, detail, actions } = this.server;
      const row = h('div', { class: 'row' });
      actions.forEach((action, index) => row.append(button({ label: FIX_LABELS[action], class: index === 0 ? 'primary' : 'secondary' }, () => this.post({ type: 'fix', action }))));
      parts.push(h('section', { class: 'problem', role: 'alert' }, h('h2', {}, icon('error'), h('span', {}, title)), h('p', { class: 'problem-text' }, detail), row));
    } else if (this.transcript.isEmpty) {
      parts.push(
        h('section', { class: 'welcome' }, h('h2', {}, 'What should change?'), h('p', {}, 'Describe it below. The agent reads your files as they are in the editor, unsaved text included, and asks before it changes or runs anything.')),
      );
    }
    if (this.server.state === 'starting') parts.push(h('p', { class: 'quiet row' }, icon('loading'), h('span', {}, 'Starting the server…')));
    if (this.server.state !== 'failed' && this.header.problems.length > 0 && this.transcript.isEmpty) {
      const list = h('div', { class: 'problem-list' });
      for (const problem of this.header.problems) {
        const view = new MarkdownView(this.markdownActions);
        view.set(problem);
        list.append(h('div', { class: 'notice warning' }, icon('warning'), view.element));
      }
      list.append(h('div', { class: 'row' }, button({ label: 'Open settings', class: 'secondary' }, () => this.post({ type: 'fix', action: 'settings' })), button({ label: 'Start again', class: 'secondary' }, () => this.post({ type: 'fix', action: 'restart' }))));
      parts.push(list);
    }
    this.empty.hidden = parts.length === 0;
    this.empty.classList.toggle('alone', this.transcript.isEmpty);
    this.empty.replaceChildren(...parts);
  }

  private drawPlans(): void {
    this.plans.hidden = this.planViews.size === 0;
    this.plans.replaceChildren();
    for (const plan of this.planViews.values()) {
      const done = plan.entries.filter(entry => entry.status === 'completed').length;
      const details = h('details', { class: 'plan' });
      details.open = true;
      details.append(h('summary', {}, icon('chevron-right'), h('span', {}, plan.markdown === undefined ? `Plan: ${done} of ${plan.entries.length} done` : 'Plan')));
      if (plan.markdown !== undefined) {
        const view = new MarkdownView(this.markdownActions);
        view.set(plan.markdown);
        details.append(view.element);
      }
      const list = h('ul');
      for (const entry of plan.entries) {
        const [glyph, word] = entry.status === 'completed' ? (['check', 'done'] as const) : entry.status === 'in_progress' ? (['loading', 'in progress'] as const) : entry.status === 'cancelled' ? (['circle-slash', 'cancelled'] as const) : (['clock', 'to do'] as const);
        list.append(h('li', { class: `plan-${entry.status}` }, icon(glyph), h('span', { class: 'sr-only' }, `${word}: `), h('span', {}, entry.content)));
      }
      if (plan.entries.length > 0) details.append(list);
      this.plans.append(details);
    }
  }
}
