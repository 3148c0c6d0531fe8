// The body of a card: text, diffs, terminals, images, links. What is not known is drawn as text.

import type { Block, Location } from '../view';
import { button, h } from './dom';

export interface BlockActions {
  openLink: (href: string) => void;
  openLocation: (target: string, line?: number) => void;
  copy: (text: string) => void;
}

const IMAGE_TYPES = /^image\/(?:png|jpeg|gif|webp|bmp)$/;
const DIFF_PREAMBLE = /^(?:diff --git|index |--- |\+\+\+ |new file mode|deleted file mode|old mode|new mode|similarity index)/;
const FIRST_LINES = 400;

export function drawBlock(block: Block, terminal: (id: string) => HTMLElement, actions: BlockActions): HTMLElement {
  switch (block.type) {
    case 'text':
    case 'other':
      return folded(block.text, text => h('pre', { class: 'plain', tabindex: '0' }, text));
    case 'diff':
      return drawDiff(block.files, block.patch);
    case 'terminal':
      return terminal(block.terminalId);
    case 'image': {
      if (!IMAGE_TYPES.test(block.mimeType)) return h('p', { class: 'quiet' }, `An image of type ${block.mimeType} is not shown.`);
      const image = h('img', { class: 'image' });
      image.alt = 'Image from the agent';
      image.src = `data:${block.mimeType};base64,${block.data}`;
      return image;
    }
    case 'link':
      return h('p', {}, button({ label: block.name, class: 'link' }, () => actions.openLink(block.uri)));
  }
}

export function drawLocations(locations: Location[], actions: BlockActions): HTMLElement {
  const row = h('div', { class: 'locations' });
  for (const { path, target, line } of locations.slice(0, 50)) {
    const name = path.split(/[\\/]/).at(-1) ?? path;
    row.append(button({ label: line === undefined ? name : `${name}:${line}`, class: 'link', title: `Open ${path}` }, () => actions.openLocation(target, line)));
  }
  if (locations.length > 50) row.append(h('span', { class: 'quiet' }, `and ${locations.length - 50} more`));
  return row;
}

export function drawDiff(files: string[], patch: string): HTMLElement {
  const body = h('div', { class: 'diff', role: 'group', 'aria-label': `Changes to ${files.join(', ')}` });
  if (!/^diff --git/m.test(patch)) for (const file of files) body.append(h('div', { class: 'diff-file' }, file));
  const heads: string[] = [...(patch.match(/^diff --git .*$/gm) ?? [])];
  const draw = (text: string): HTMLElement => {
    const lines = h('pre', { tabindex: '0' });
    for (const line of text.split('\n')) {
      const head = heads.indexOf(line);
      // The changes name files as the person knows them, the patch by its own roots.
      if (head >= 0) lines.append(h('div', { class: 'diff-file' }, (heads.length === files.length ? files[head] : undefined) ?? line.slice('diff --git '.length)));
      if (DIFF_PREAMBLE.test(line)) continue;
      const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@@') || line.startsWith('\\') ? 'hunk' : 'same';
      lines.append(h('div', { class: `line ${kind}` }, line === '' ? ' ' : line));
    }
    return lines;
  };
  body.append(folded(patch.replace(/\n$/, ''), draw));
  return body;
}

/** Shows the first lines of a long text and a button for the rest. */
function folded(text: string, draw: (text: string) => HTMLElement): HTMLElement {
  const lines = text.split('\n');
  if (lines.length <= FIRST_LINES + 50) return draw(text);
  const holder = h('div', {}, draw(lines.slice(0, FIRST_LINES).join('\n')));
  const all = button({ label: `Show all ${lines.length} lines`, class: 'link' }, () => holder.replaceChildren(draw(text)));
  holder.append(all);
  return holder;
}
