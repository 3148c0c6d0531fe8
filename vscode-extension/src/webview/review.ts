// The bar above the input while changes wait for review: how many, and what can be done with all.

import type { ReviewAction, ReviewView } from '../view';
import { button, h } from './dom';
import { icon } from './icons';

export class ReviewBar {
  readonly element = h('div', { class: 'review', role: 'group', 'aria-label': 'Pending changes' });
  private readonly text = h('span', { class: 'review-text' });

  constructor(act: (action: ReviewAction) => void) {
    const actions: [ReviewAction, string, string][] = [
      ['show', 'Next', 'Go to the next pending change'],
      ['compare', 'Compare', 'Show all files beside their text before the changes'],
      ['accept', 'Accept all', 'Keep all pending changes'],
      ['reject', 'Reject all', 'Bring the text before all pending changes back'],
    ];
    const buttons = actions.map(([action, label, title]) =>
      button({ label, title, class: action === 'accept' ? 'primary' : 'secondary' }, () => act(action)),
    );
    this.element.append(icon('diff'), this.text, h('span', { class: 'review-actions' }, ...buttons));
    this.element.hidden = true;
  }

  set({ hunks, files, added, removed }: ReviewView): void {
    this.element.hidden = hunks === 0;
    const changes = hunks === 1 ? '1 change' : `${hunks} changes`;
    this.text.textContent = `${changes} in ${files === 1 ? '1 file' : `${files} files`} · +${added} −${removed}`;
  }
}
