import './dom';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MarkdownView } from '../src/webview/markdown';

function render(text: string): string {
  const view = new MarkdownView({ openLink: () => undefined, copy: () => undefined, insert: () => undefined });
  view.set(text);
  return view.element.innerHTML;
}

function check(text: string, expected: string): void {
  assert.equal(render(text), expected);
}

test('ordinary Markdown becomes ordinary elements', () => {
  check('a *b* **c** `d`', '<div class="block"><p>a <em>b</em> <strong>c</strong> <code>d</code></p></div>');
  check('# Title', '<div class="block"><h4>Title</h4></div>');
  check('3. three\n4. four', '<div class="block"><ol start="3"><li><span>three</span></li><li><span>four</span></li></ol></div>');
  check('|a|b|\n|-|-:|\n|1|2|', '<div class="block"><table><thead><tr><th>a</th><th class="align-right">b</th></tr></thead><tbody><tr><td>1</td><td class="align-right">2</td></tr></tbody></table></div>');
  check('[x](https://e.org/)', '<div class="block"><p><a title="https://e.org/" role="link" tabindex="0" data-href="https://e.org/">x</a></p></div>');
});

test('code is shown with its language and is never highlighted from HTML', () => {
  const html = render('```js\n<b>1</b>\n```');
  assert.match(html, /<span class="language">js<\/span>/);
  assert.match(html, /<pre tabindex="0"><code>&lt;b&gt;1&lt;\/b&gt;<\/code><\/pre>/);
});

const HOSTILE = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  'text <b onmouseover=alert(1)>bold</b>',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](java\nscript:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](data:text/html,<script>alert(1)</script>)',
  '[x](command:workbench.action.terminal.new)',
  '[x](vbscript:x)',
  '![x](https://evil.example/pixel.png)',
  '![x](data:image/svg+xml,<svg onload=alert(1)>)',
  '<https://e.org/"onclick="x>',
  '[a](https://e.org "t\\" onclick=\\"x")',
  '```"><img src=x onerror=alert(1)>\ncode\n```',
  '<iframe srcdoc="<script>alert(1)</script>">',
  '<svg/onload=alert(1)>',
  '[x]: javascript:alert(1)\n\n[x]',
  '<style>body{display:none}</style>',
  '| <img src=x onerror=alert(1)> |\n|-|\n| [x](javascript:alert(1)) |',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '`<script>`',
];

test('hostile Markdown makes no element, attribute or address that could act', () => {
  const allowed = new Set(['DIV', 'P', 'SPAN', 'A', 'CODE', 'PRE', 'TABLE', 'THEAD', 'TBODY', 'TR', 'TH', 'TD', 'BUTTON', 'SVG', 'PATH', 'EM', 'STRONG', 'H4', 'BLOCKQUOTE']);
  const attributes = new Set(['class', 'title', 'role', 'tabindex', 'data-href', 'type', 'aria-label', 'aria-hidden', 'viewBox', 'd', 'fill-rule', 'clip-rule', 'start']);
  for (const text of HOSTILE) {
    const view = new MarkdownView({ openLink: () => undefined, copy: () => undefined, insert: () => undefined });
    view.set(text);
    for (const element of view.element.querySelectorAll('*')) {
      assert.ok(allowed.has(element.tagName.toUpperCase()), `${text} made <${element.tagName}>`);
      for (const { name } of element.attributes) assert.ok(attributes.has(name), `${text} made the attribute ${name}`);
      const href = element.getAttribute('data-href');
      if (href !== null) assert.match(href, /^(?:https?:|mailto:|file:|[^:]*$|[^:]*:\d+$)/i, text);
    }
  }
});

test('blocks that did not change keep their nodes while text streams in', () => {
  const view = new MarkdownView({ openLink: () => undefined, copy: () => undefined, insert: () => undefined });
  view.set('first\n\nsec');
  const first = view.element.firstChild;
  view.set('first\n\nsecond **and** more');
  assert.equal(view.element.firstChild, first);
  assert.match(view.element.innerHTML, /second <strong>and<\/strong> more/);
});
