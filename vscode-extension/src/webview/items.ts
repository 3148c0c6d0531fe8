// The transcript: one article with a heading per turn, in it what was said and the cards of calls.

import type { Item, TerminalView, ToolItem } from '../view';
import { type BlockActions, drawBlock, drawLocations } from './blocks';
import { button, h, inlineCode } from './dom';
import { type IconName, icon, kindIcon } from './icons';
import { type MarkdownActions, MarkdownView } from './markdown';
import { type TerminalActions, TerminalElement } from './terminal';

export type ItemActions = BlockActions & MarkdownActions & TerminalActions & { retry: () => void };

const STATUS: Record<string, [IconName, string]> = {
  pending: ['clock', 'Waiting'],
  in_progress: ['loading', 'Running'],
  paused: ['pause', 'Paused'],
  completed: ['check', 'Done'],
  failed: ['error', 'Failed'],
  cancelled: ['circle-slash', 'Cancelled'],
};
/** Where the person can type into a program. */
const TAKES_INPUT = '.password:not([hidden]), .typing:not([hidden])';
const WORTH_SAYING_MS = 100;
const RUNNING = new Set(['pending', 'in_progress', 'paused']);

interface Drawn {
  element: HTMLElement;
  update: (item: Item) => void;
  append: (text: string) => void;
}

export class TranscriptView {
  readonly element = h('div', { class: 'transcript', role: 'log', 'aria-label': 'Conversation', 'aria-live': 'off', tabindex: '0' });
  private readonly drawn = new Map<string, Drawn>();
  private readonly terminals = new Map<string, TerminalElement>();
  /** Texts that have grown since they were drawn. */
  private readonly grown = new Set<() => void>();
  private frame = 0;
  private turn: HTMLElement | undefined;
  private turns = 0;

  constructor(private readonly actions: ItemActions) {}

  clear(): void {
    this.element.replaceChildren();
    this.drawn.clear();
    this.grown.clear();
    this.terminals.clear();
    this.turn = undefined;
    this.turns = 0;
  }

  get isEmpty(): boolean {
    return this.drawn.size === 0;
  }

  put(item: Item): void {
    const old = this.drawn.get(item.id);
    if (old) {
      old.update(item);
      return;
    }
    const drawn = this.draw(item);
    this.drawn.set(item.id, drawn);
    if (item.kind === 'user' || !this.turn) this.turn = this.newTurn(item);
    this.turn.append(drawn.element);
  }

  remove(ids: string[]): void {
    for (const id of ids) {
      this.drawn.get(id)?.element.remove();
      this.drawn.delete(id);
    }
    for (const turn of [...this.element.querySelectorAll('.turn')]) if (turn.children.length === 1) turn.remove();
    const left = [...this.element.querySelectorAll<HTMLElement>('.turn')];
    this.turn = left.at(-1);
    this.turns = left.length;
  }

  append(id: string, text: string): void {
    this.drawn.get(id)?.append(text);
  }

  terminal(view: TerminalView): void {
    let terminal = this.terminals.get(view.id);
    const took = terminal?.element.querySelector(TAKES_INPUT);
    if (terminal) {
      terminal.set(view);
    } else {
      terminal = new TerminalElement(view, this.actions);
      this.terminals.set(view.id, terminal);
    }
    const card = terminal.element.closest('details');
    const takes = terminal.element.querySelector(TAKES_INPUT);
    if (card && takes && takes !== took) card.open = true;
  }

  /** Puts the keys on a password that a program waits for; returns whether there is one. */
  focusPassword(): boolean {
    return [...this.terminals.values()].some(terminal => terminal.element.isConnected && terminal.focusPassword());
  }

  output(id: string, text: string): void {
    this.terminals.get(id)?.append(text);
  }

  /** Draws what would else wait for the next frame, which a hidden page may never get. */
  drawGrown(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    for (const draw of this.grown) draw();
    this.grown.clear();
  }

  /** The agent's text of the last turn, for the announcement that it is finished. */
  lastAnswer(): string {
    this.drawGrown();
    return this.turn?.querySelector('.agent:last-of-type')?.textContent.slice(0, 500) ?? '';
  }

  private newTurn(item: Item): HTMLElement {
    this.turns += 1;
    const heading = h('h2', { class: 'sr-only', id: `turn-${this.turns}` }, `Turn ${this.turns}${item.kind === 'user' ? `: ${item.text.slice(0, 80)}` : ''}`);
    const article = h('article', { class: 'turn', 'aria-labelledby': `turn-${this.turns}` }, heading);
    this.element.append(article);
    return article;
  }

  private draw(item: Item): Drawn {
    switch (item.kind) {
      case 'user':
        return this.drawUser(item.text);
      case 'agent':
        return this.drawText(item.text, 'agent');
      case 'thought':
        return this.drawThought(item.text);
      case 'tool':
        return this.drawTool(item);
      case 'notice':
        return this.drawNotice(item);
    }
  }

  private drawUser(text: string): Drawn {
    const body = h('div', { class: 'user-text' }, text);
    return {
      element: h('div', { class: 'user' }, h('span', { class: 'sr-only' }, 'You: '), body),
      update: item => {
        if (item.kind === 'user') body.textContent = item.text;
      },
      append: more => body.append(more),
    };
  }

  private drawText(text: string, kind: 'agent' | 'thought'): Drawn {
    const view = new MarkdownView(this.actions);
    let whole = text;
    const draw = (): void => view.set(whole);
    draw();
    const element = h('div', { class: kind }, view.element);
    return {
      element,
      update: item => {
        if ('text' in item) whole = item.text;
        draw();
      },
      append: more => {
        whole += more;
        // One parse a frame, however many pieces came.
        this.grown.add(draw);
        this.frame ||= requestAnimationFrame(() => this.drawGrown());
      },
    };
  }

  private drawThought(text: string): Drawn {
    const inner = this.drawText(text, 'thought');
    const details = h('details', { class: 'thought-fold' }, h('summary', {}, icon('chevron-right'), icon('thinking'), h('span', {}, 'Thinking')), inner.element);
    return { ...inner, element: details };
  }

  private drawTool(item: ToolItem): Drawn {
    const details = h('details', { class: 'card' });
    const summary = h('summary');
    const body = h('div', { class: 'card-body' });
    details.append(summary, body);
    let before: ToolItem | undefined;
    const update = (next: Item): void => {
      if (next.kind !== 'tool') return;
      const [glyph, word] = STATUS[next.status] ?? ['info', next.status];
      details.setAttribute('data-status', next.status);
      details.setAttribute('data-kind', next.toolKind);
      const parts: Node[] = [icon('chevron-right'), kindIcon(next.toolKind), h('span', { class: 'card-title', title: next.title }, ...inlineCode(next.title || 'Call'))];
      if (next.received !== undefined && RUNNING.has(next.status)) parts.push(h('span', { class: 'quiet' }, `${next.received} characters`));
      if (next.startedAt !== undefined && next.endedAt !== undefined && next.endedAt - next.startedAt >= WORTH_SAYING_MS) {
        parts.push(h('span', { class: 'quiet' }, duration(next.endedAt - next.startedAt)));
      }
      parts.push(h('span', { class: 'status' }, icon(glyph), h('span', {}, word)));
      summary.replaceChildren(...parts);
      if (!before || !sameBody(before, next)) {
        const focused = document.activeElement;
        const asking = next.asking !== undefined && !next.blocks.some(b => b.type === 'terminal' && b.terminalId === next.asking) && this.terminalElement(next.asking);
        body.replaceChildren(drawLocations(next.locations, this.actions), ...next.blocks.map(block => drawBlock(block, id => this.terminalElement(id), this.actions)), ...(asking ? [asking] : []));
        // Whoever types into a terminal of this card goes on typing.
        if (focused instanceof HTMLElement && body.contains(focused)) focused.focus({ preventScroll: true });
        details.classList.toggle('empty', next.blocks.length === 0 && next.locations.length === 0 && !asking);
      }
      // Folding is ours at status changes only; in between it is the person's.
      if (before?.status !== next.status) details.open = next.alwaysOpen || next.status === 'failed' || (RUNNING.has(next.status) && hasTerminal(next)) || body.querySelector(TAKES_INPUT) !== null;
      else if (RUNNING.has(next.status) && !hasTerminal(before) && hasTerminal(next)) details.open = true;
      before = next;
    };
    update(item);
    return { element: details, update, append: () => undefined };
  }

  private terminalElement(id: string): HTMLElement {
    let terminal = this.terminals.get(id);
    if (!terminal) {
      terminal = new TerminalElement({ id, command: '', cwd: '', text: '', cut: false }, this.actions);
      this.terminals.set(id, terminal);
    }
    return terminal.element;
  }

  private drawNotice(item: Extract<Item, { kind: 'notice' }>): Drawn {
    const element = h('div', { role: item.severity === 'error' ? 'alert' : 'note' });
    const update = (next: Item): void => {
      if (next.kind !== 'notice') return;
      element.className = `notice ${next.severity === 'error' || next.severity === 'warning' ? next.severity : 'info'}`;
      element.replaceChildren(
        icon(next.severity === 'error' ? 'error' : next.severity === 'warning' ? 'warning' : 'info'),
        h(
          'div',
          {},
          h('div', { class: next.text === '' ? 'notice-text' : 'notice-title' }, ...inlineCode(next.title)),
          next.text !== '' && h('div', { class: 'notice-text' }, ...inlineCode(next.text)),
          next.retry && button({ label: 'Try again', icon: icon('refresh'), class: 'secondary' }, this.actions.retry),
        ),
      );
    };
    update(item);
    return { element, update, append: () => undefined };
  }
}

function hasTerminal(item: ToolItem): boolean {
  return item.blocks.some(block => block.type === 'terminal');
}

function sameBody(a: ToolItem, b: ToolItem): boolean {
  return JSON.stringify([a.blocks, a.locations, a.asking]) === JSON.stringify([b.blocks, b.locations, b.asking]);
}

function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}
