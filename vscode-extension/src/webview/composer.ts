// The input: a real textarea, the session's options as pickers, send and stop, usage.

import type { SessionConfigOption, SessionConfigSelectOption } from '../protocol';
import type { HeaderView } from '../view';
import { button, h } from './dom';
import { icon } from './icons';

export interface ComposerActions {
  send: (text: string) => void;
  stop: () => void;
  draft: (text: string) => void;
  setOption: (configId: string, value: string) => void;
}

const DRAFT_DELAY_MS = 300;

export class Composer {
  private readonly input = h('textarea', { id: 'prompt', 'aria-label': 'Message to the agent' });
  private readonly pickers = h('div', { class: 'pickers' });
  private readonly usage = h('span', { class: 'usage quiet' });
  private readonly sendButton: HTMLButtonElement;
  private readonly stopButton: HTMLButtonElement;
  readonly element: HTMLElement;
  private drawnOptions = '';
  private draftTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly actions: ComposerActions) {
    this.sendButton = button({ label: 'Send', icon: icon('send'), iconOnly: 'iconOnly', title: 'Send (Enter)', class: 'primary' }, () => this.submit());
    this.stopButton = button({ label: 'Stop', icon: icon('stop'), iconOnly: 'iconOnly', title: 'Stop (Escape)', class: 'secondary stop' }, () => this.actions.stop());
    this.stopButton.hidden = true;
    this.input.rows = 2;
    this.input.spellcheck = true;
    this.input.placeholder = 'Ask, or describe a change';
    this.input.addEventListener('input', () => {
      this.fit();
      clearTimeout(this.draftTimer);
      this.draftTimer = setTimeout(() => this.actions.draft(this.input.value), DRAFT_DELAY_MS);
    });
    this.input.addEventListener('keydown', event => this.key(event));
    this.element = h('div', { class: 'composer' }, h('div', { class: 'field' }, this.input, h('div', { class: 'bar' }, this.pickers, this.usage, this.stopButton, this.sendButton)));
  }

  get text(): string {
    return this.input.value;
  }

  setText(text: string): void {
    this.input.value = text;
    this.fit();
  }

  focus(): void {
    this.input.focus();
  }

  submit(): void {
    const text = this.input.value.trim();
    if (text === '') {
      this.input.focus();
      return;
    }
    clearTimeout(this.draftTimer);
    this.setText('');
    this.actions.draft('');
    this.actions.send(text);
  }

  setHeader(header: HeaderView): void {
    this.stopButton.hidden = !header.busy;
    this.input.placeholder = header.busy ? 'Add to what the agent is doing' : 'Ask, or describe a change';
    this.drawUsage(header);
    const options = JSON.stringify(header.options);
    if (options === this.drawnOptions) return;
    this.drawnOptions = options;
    this.pickers.replaceChildren(...header.options.filter(option => option.type === 'select').map(option => this.picker(option)));
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      if (event.isTrusted) this.submit();
    }
  }

  private fit(): void {
    this.input.style.height = 'auto';
    this.input.style.height = `${Math.min(this.input.scrollHeight, 240)}px`;
  }

  private picker(option: Extract<SessionConfigOption, { type: 'select' }>): HTMLElement {
    const select = h('select', { 'aria-label': option.name, title: option.description ?? option.name, 'data-config': option.configId });
    for (const choice of option.options) {
      if ('groupId' in choice) {
        const group = h('optgroup');
        group.label = choice.name;
        group.append(...choice.options.map(choiceElement));
        select.append(group);
      } else {
        select.append(choiceElement(choice));
      }
    }
    select.value = option.currentValue;
    select.addEventListener('change', event => {
      if (event.isTrusted) this.actions.setOption(option.configId, select.value);
    });
    return select;
  }

  private drawUsage(header: HeaderView): void {
    const usage = header.usage;
    if (!usage || usage.size === 0) {
      this.usage.textContent = '';
      return;
    }
    const percent = Math.round((usage.used / usage.size) * 100);
    this.usage.textContent = `${percent}%`;
    this.usage.title = `${usage.used.toLocaleString('en')} of ${usage.size.toLocaleString('en')} tokens of context used${usage.cost ? `, ${usage.cost} so far` : ''}`;
  }
}

function choiceElement(choice: SessionConfigSelectOption): HTMLOptionElement {
  const element = h('option', { title: choice.description ?? undefined }, choice.name);
  element.value = choice.value;
  return element;
}
