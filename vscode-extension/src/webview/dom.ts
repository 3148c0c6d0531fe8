// Builds nodes; the only way the webview makes any.

type Child = Node | string | undefined | false;

interface Attributes {
  class?: string;
  title?: string;
  role?: string;
  type?: string;
  [name: `aria-${string}`]: string | undefined;
  [name: `data-${string}`]: string | undefined;
  tabindex?: string;
  for?: string;
  id?: string;
  autocomplete?: string;
  spellcheck?: string;
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes) as [string, string | undefined][]) {
    if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter(child => child !== undefined && child !== false));
  return element;
}

export interface ButtonOptions {
  label: string;
  icon?: SVGElement;
  class?: string;
  title?: string;
  /** Only the icon is drawn; the label is its name. */
  iconOnly?: 'iconOnly';
}

/** A button that acts on the person's own clicks and keys alone, never on scripted events. */
export function button(options: ButtonOptions, act: () => void): HTMLButtonElement {
  const element = h('button', { type: 'button', class: options.class, title: options.title ?? (options.iconOnly && options.label), 'aria-label': options.iconOnly && options.label });
  if (options.icon) element.append(options.icon);
  if (!options.iconOnly) element.append(h('span', {}, options.label));
  element.addEventListener('click', event => {
    if (event.isTrusted) act();
  });
  return element;
}

/** Text in which `code` is drawn as code; nothing else is markup. */
export function inlineCode(text: string): Node[] {
  return text.split(/`([^`]+)`/).map((part, index) => (index % 2 === 1 ? h('code', {}, part) : document.createTextNode(part)));
}
