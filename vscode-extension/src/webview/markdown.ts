// Markdown to nodes by allow-list: tokens that are not listed become their own text. No HTML is
// ever parsed, nothing is loaded, and a link is data until the person clicks it.

import MarkdownIt from 'markdown-it';
import type Token from 'markdown-it/lib/token.mjs';
import { button, h } from './dom';
import { icon } from './icons';

export interface MarkdownActions {
  openLink: (href: string) => void;
  copy: (text: string) => void;
  insert: (text: string) => void;
}

const LINK = /^(?:https?:|mailto:|file:|[^:]*$|[^:]*:\d+$)/i;
const TAGS = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'em', 'strong', 's', 'table', 'thead', 'tbody', 'tr', 'th', 'td']);

const parser = new MarkdownIt({ html: false, linkify: true, breaks: false });
parser.validateLink = href => LINK.test(href.replace(/[\u0000-\u0020\u007f]/g, ''));
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

/** Draws `text` into `into`, keeping the nodes of blocks whose source did not change. */
export class MarkdownView {
  readonly element = h('div', { class: 'markdown' });
  private blocks: string[] = [];

  constructor(private readonly actions: MarkdownActions) {}

  set(text: string): void {
    const lines = text.split('\n');
    const blocks = topLevel(parser.parse(text, {}));
    let same = 0;
    const sources = blocks.map(tokens => {
      const map = tokens[0]?.map;
      return map ? lines.slice(map[0], map[1]).join('\n') : '';
    });
    while (same < sources.length && same < this.blocks.length && sources[same] === this.blocks[same]) same += 1;
    while (this.element.childNodes.length > same) this.element.lastChild?.remove();
    for (const tokens of blocks.slice(same)) {
      const holder = h('div', { class: 'block' });
      this.draw(tokens, holder);
      this.element.append(holder);
    }
    this.blocks = sources;
  }

  private draw(tokens: Token[], into: Element): void {
    let at = into;
    const parents: Element[] = [];
    for (const token of tokens) {
      if (token.nesting === 1) {
        parents.push(at);
        const element = this.open(token);
        at.append(element);
        at = element;
      } else if (token.nesting === -1) {
        at = parents.pop() ?? into;
      } else {
        this.leaf(token, at);
      }
    }
  }

  private open(token: Token): Element {
    if (token.type === 'link_open') return this.link(token.attrGet('href') ?? '');
    // A heading of the answer must not outrank the headings of the transcript.
    const tag = /^h[1-6]$/.test(token.tag) ? `h${Math.min(6, Number(token.tag[1]) + 3)}` : token.tag;
    if (!TAGS.has(tag)) return h('div');
    const element = document.createElement(tag);
    if (tag === 'ol') {
      const start = token.attrGet('start');
      if (start && /^\d+$/.test(start)) element.setAttribute('start', start);
    }
    if (tag === 'p' && token.hidden) return h('span');
    const align = /text-align:(left|right|center)/.exec(token.attrGet('style') ?? '')?.[1];
    if (align) element.classList.add(`align-${align}`);
    return element;
  }

  private link(href: string): Element {
    const element = h('a', { title: href, role: 'link', tabindex: '0', 'data-href': href });
    const go = (event: Event): void => {
      event.preventDefault();
      if (event.isTrusted) this.actions.openLink(href);
    };
    element.addEventListener('click', go);
    element.addEventListener('keydown', event => {
      if (event.key === 'Enter') go(event);
    });
    return element;
  }

  private leaf(token: Token, at: Element): void {
    switch (token.type) {
      case 'inline':
        this.draw(token.children ?? [], at);
        return;
      case 'text':
      case 'text_special':
        at.append(token.content);
        return;
      case 'softbreak':
        at.append('\n');
        return;
      case 'hardbreak':
        at.append(h('br'));
        return;
      case 'hr':
        at.append(h('hr'));
        return;
      case 'code_inline':
        at.append(h('code', {}, token.content));
        return;
      case 'fence':
      case 'code_block':
        at.append(this.code(token.content, token.info.trim().split(/\s+/)[0] ?? ''));
        return;
      case 'image': {
        // Nothing remote is loaded; the description stays, as a link.
        const link = this.link(token.attrGet('src') ?? '');
        link.append(token.content || 'image');
        at.append(link);
        return;
      }
      default:
        at.append(token.content);
    }
  }

  private code(text: string, language: string): Element {
    const body = text.endsWith('\n') ? text.slice(0, -1) : text;
    return h(
      'div',
      { class: 'code' },
      h(
        'div',
        { class: 'code-head' },
        h('span', { class: 'language' }, language || 'text'),
        button({ label: 'Copy code', icon: icon('copy'), iconOnly: 'iconOnly' }, () => this.actions.copy(body)),
        button({ label: 'Insert code at the cursor', icon: icon('insert'), iconOnly: 'iconOnly' }, () => this.actions.insert(body)),
      ),
      h('pre', { tabindex: '0' }, h('code', {}, body)),
    );
  }
}

function topLevel(tokens: Token[]): Token[][] {
  const blocks: Token[][] = [];
  let depth = 0;
  for (const token of tokens) {
    if (depth === 0) blocks.push([]);
    blocks.at(-1)?.push(token);
    depth += token.nesting;
  }
  return blocks;
}
