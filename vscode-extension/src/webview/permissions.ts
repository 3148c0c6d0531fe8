// Requests that wait for the person, pinned above the input: the whole command or diff, the
// server's own options in its order, and words for the agent when something is rejected.

import type { PermissionOption } from '../protocol';
import type { PermissionView } from '../view';
import { type BlockActions, drawBlock, drawLocations } from './blocks';
import { button, h, inlineCode } from './dom';
import { icon } from './icons';

export type Answer = (id: string, optionId: string, feedback?: string) => void;

export class PermissionsView {
  readonly element = h('div', { class: 'permissions' });
  private readonly cards = new Map<string, HTMLElement>();

  constructor(
    private readonly answer: Answer,
    private readonly actions: BlockActions,
    private readonly terminal: (id: string) => HTMLElement,
  ) {}

  /** Returns the requests that were not shown before. */
  set(permissions: PermissionView[]): PermissionView[] {
    const hadFocus = this.element.contains(document.activeElement);
    const wanted = new Set(permissions.map(p => p.id));
    for (const [id, card] of this.cards) {
      if (!wanted.has(id)) {
        card.remove();
        this.cards.delete(id);
      }
    }
    const fresh = permissions.filter(p => !this.cards.has(p.id));
    for (const permission of fresh) {
      const card = this.draw(permission);
      this.cards.set(permission.id, card);
      this.element.append(card);
    }
    this.element.hidden = permissions.length === 0;
    // Only who was answering a request is taken to the next one.
    if (hadFocus && permissions.length > 0) this.focus();
    return fresh;
  }

  /** Puts the keys on the oldest request; returns whether there is one. */
  focus(): boolean {
    const card = this.element.querySelector<HTMLElement>('.permission');
    card?.focus();
    return card !== null;
  }

  private draw(permission: PermissionView): HTMLElement {
    const titleId = `permission-${permission.id}`;
    const feedback = h('input', { class: 'feedback', type: 'text', 'aria-label': 'Tell the agent what to do instead' });
    feedback.placeholder = 'Reject: what to do instead';
    const choose = (option: PermissionOption): void => {
      const words = feedback.value.trim();
      this.answer(permission.id, option.optionId, isReject(option) && words !== '' ? words : undefined);
    };
    const row = h('div', { class: 'options' });
    permission.options.forEach((option, index) => {
      const main = index === 0 && !isReject(option);
      const element = button({ label: option.name, class: main ? 'primary' : 'secondary', title: `${option.name} (${index + 1})` }, () => choose(option));
      element.setAttribute('data-kind', option.kind);
      element.append(h('kbd', { 'aria-hidden': 'true' }, String(index + 1)));
      row.append(element);
    });
    const body = h('div', { class: 'permission-body' });
    if (permission.command) {
      const { text, cwd } = permission.command;
      body.append(h('pre', { class: 'command', tabindex: '0' }, h('code', {}, text)));
      if (!permission.description.includes(cwd)) body.append(h('div', { class: 'quiet' }, `in ${cwd}`));
    }
    body.append(...permission.blocks.map(block => drawBlock(block, this.terminal, this.actions)));
    if (permission.locations.length > 0 && permission.blocks.length === 0) body.append(drawLocations(permission.locations, this.actions));
    const card = h(
      'section',
      { class: 'permission', role: 'group', tabindex: '-1', 'aria-labelledby': titleId, 'data-id': permission.id },
      h('h2', { id: titleId }, icon('shield'), h('span', {}, ...inlineCode(permission.title))),
      permission.description !== '' && h('p', { class: 'permission-description' }, ...inlineCode(permission.description)),
      body,
      row,
      feedback,
    );
    card.addEventListener('keydown', event => {
      if (!event.isTrusted || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target === feedback) {
        const reject = permission.options.find(isReject);
        if (event.key === 'Enter' && reject && !event.isComposing) choose(reject);
        return;
      }
      const option = permission.options[Number.parseInt(event.key, 10) - 1];
      if (option) {
        event.preventDefault();
        choose(option);
      }
    });
    return card;
  }
}

function isReject(option: PermissionOption): boolean {
  return option.kind.startsWith('reject');
}
