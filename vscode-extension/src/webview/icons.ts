// The codicons in use, drawn inline so that they take the text colour and need no font.

import add from '@vscode/codicons/src/icons/add.svg';
import arrowSwap from '@vscode/codicons/src/icons/arrow-swap.svg';
import background from '@vscode/codicons/src/icons/server-process.svg';
import check from '@vscode/codicons/src/icons/check.svg';
import chevronRight from '@vscode/codicons/src/icons/chevron-right.svg';
import circleSlash from '@vscode/codicons/src/icons/circle-slash.svg';
import clock from '@vscode/codicons/src/icons/clockface.svg';
import copy from '@vscode/codicons/src/icons/copy.svg';
import diff from '@vscode/codicons/src/icons/diff.svg';
import edit from '@vscode/codicons/src/icons/edit.svg';
import error from '@vscode/codicons/src/icons/error.svg';
import file from '@vscode/codicons/src/icons/file.svg';
import globe from '@vscode/codicons/src/icons/globe.svg';
import info from '@vscode/codicons/src/icons/info.svg';
import insert from '@vscode/codicons/src/icons/insert.svg';
import key from '@vscode/codicons/src/icons/key.svg';
import loading from '@vscode/codicons/src/icons/loading.svg';
import move from '@vscode/codicons/src/icons/move.svg';
import pause from '@vscode/codicons/src/icons/debug-pause.svg';
import refresh from '@vscode/codicons/src/icons/refresh.svg';
import search from '@vscode/codicons/src/icons/search.svg';
import send from '@vscode/codicons/src/icons/send.svg';
import shield from '@vscode/codicons/src/icons/shield.svg';
import stop from '@vscode/codicons/src/icons/debug-stop.svg';
import terminal from '@vscode/codicons/src/icons/terminal.svg';
import thinking from '@vscode/codicons/src/icons/thinking.svg';
import tools from '@vscode/codicons/src/icons/tools.svg';
import trash from '@vscode/codicons/src/icons/trash.svg';
import warning from '@vscode/codicons/src/icons/warning.svg';

const SOURCES = {
  add, 'arrow-swap': arrowSwap, background, check, 'chevron-right': chevronRight, 'circle-slash': circleSlash, clock, copy, diff, edit, error, file, globe, info, insert, key,
  loading, move, pause, refresh, search, send, shield, stop, terminal, thinking, tools, trash, warning,
};

export type IconName = keyof typeof SOURCES;

const drawn = new Map<IconName, SVGElement>();

export function icon(name: IconName): SVGElement {
  let svg = drawn.get(name);
  if (!svg) {
    svg = draw(name);
    drawn.set(name, svg);
  }
  return svg.cloneNode(true) as SVGElement;
}

function draw(name: IconName): SVGElement {
  const parsed = new DOMParser().parseFromString(SOURCES[name], 'image/svg+xml').documentElement;
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', parsed.getAttribute('viewBox') ?? '0 0 16 16');
  svg.setAttribute('class', `icon icon-${name}`);
  svg.setAttribute('aria-hidden', 'true');
  for (const source of Array.from(parsed.querySelectorAll('path'))) {
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    for (const attribute of ['d', 'fill-rule', 'clip-rule']) {
      const value = source.getAttribute(attribute);
      if (value) path.setAttribute(attribute, value);
    }
    svg.append(path);
  }
  return svg;
}

/** Icon of a kind of call; a kind that is not known has one too. */
export function kindIcon(kind: string): SVGElement {
  const names: Record<string, IconName> = {
    read: 'file', edit: 'edit', delete: 'trash', move: 'move', search: 'search', execute: 'terminal', think: 'thinking', fetch: 'globe', switch_mode: 'arrow-swap',
  };
  return icon(names[kind] ?? 'tools');
}
