import { nextFrame } from './dom';
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { encodingLabel, eolOf } from '../src/documentFacts';
import type { FromWebview, Snapshot } from '../src/view';
import { Panel } from '../src/webview/panel';

const EMPTY: Snapshot = { items: [], terminals: [], plans: [], permissions: [], review: { hunks: 0, files: 0, added: 0, removed: 0 }, header: { title: '', busy: false, options: [], problems: [] }, server: { state: 'running' }, draft: '' };

function panel(snapshot: Partial<Snapshot> = {}): { element: HTMLElement; sent: FromWebview[]; panel: Panel } {
  const sent: FromWebview[] = [];
  const made = new Panel(message => sent.push(message));
  made.receive({ type: 'snapshot', snapshot: { ...EMPTY, ...snapshot } });
  return { element: made.element, sent, panel: made };
}

/** Classes and texts, without icons and layout. */
function outline(element: Element): string {
  return element.innerHTML.replace(/<svg.*?<\/svg>/g, '').replace(/<button[^>]*>/g, '<button>');
}

test('a turn is an article with a heading, a log of what was said and done', () => {
  const { element } = panel({
    items: [
      { kind: 'user', id: 'u', text: 'do <b>it</b>' },
      { kind: 'thought', id: 'h', text: 'hm' },
      { kind: 'agent', id: 'a', text: 'Done.' },
      { kind: 'tool', id: 't', title: 'Read `a.js`', toolKind: 'read', status: 'completed', blocks: [], locations: [{ path: '/w/a.js', target: '/w/a.js', line: 3 }], alwaysOpen: false },
    ],
  });
  const log = element.querySelector('[role=log]');
  assert.ok(log);
  assert.equal(
    outline(log),
    '<article class="turn" aria-labelledby="turn-1"><h2 class="sr-only" id="turn-1">Turn 1: do &lt;b&gt;it&lt;/b&gt;</h2>' +
      '<div class="user"><span class="sr-only">You: </span><div class="user-text">do &lt;b&gt;it&lt;/b&gt;</div></div>' +
      '<details class="thought-fold"><summary><span>Thinking</span></summary><div class="thought"><div class="markdown"><div class="block"><p>hm</p></div></div></div></details>' +
      '<div class="agent"><div class="markdown"><div class="block"><p>Done.</p></div></div></div>' +
      '<details class="card" data-status="completed" data-kind="read"><summary><span class="card-title" title="Read `a.js`">Read <code>a.js</code></span><span class="status"><span>Done</span></span></summary>' +
      '<div class="card-body"><div class="locations"><button><span>a.js:3</span></button></div></div></details></article>',
  );
});

test('what was taken back goes from the panel, and turns count on from what is left', () => {
  const { element, panel: made } = panel({
    items: [
      { kind: 'user', id: 'u', text: 'one' },
      { kind: 'agent', id: 'a', text: '1' },
      { kind: 'user', id: 'v', text: 'two' },
      { kind: 'agent', id: 'b', text: '2' },
    ],
  });
  made.receive({ type: 'changes', changes: [{ type: 'removed', ids: ['v', 'b'] }, { type: 'item', item: { kind: 'user', id: 'w', text: 'three' } }] });
  const headings = [...element.querySelectorAll('.turn h2')].map(heading => heading.textContent);
  assert.deepEqual(headings, ['Turn 1: one', 'Turn 2: three']);
});

test('a failed card is open, a finished one folded, one that must stay open does, and a person’s choice holds', () => {
  const card = (id: string, status: string, alwaysOpen = false): Snapshot['items'][number] => ({ kind: 'tool', id, title: id, toolKind: 'edit', status, blocks: [{ type: 'text', text: 'x' }], locations: [], alwaysOpen });
  const { element, panel: made } = panel({ items: [card('failed', 'failed'), card('done', 'completed'), card('pinned', 'completed', true)] });
  const cards = [...element.querySelectorAll<HTMLDetailsElement>('.card')];
  assert.deepEqual(cards.map(c => c.open), [true, false, true]);
  const done = cards[1];
  assert.ok(done);
  done.open = true;
  made.receive({ type: 'changes', changes: [{ type: 'item', item: { ...card('done', 'completed'), title: 'renamed' } as never }] });
  assert.equal(done.open, true);
});

test('a diff is coloured by line and names its file', () => {
  const patch = 'diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n@@ -1 +1 @@\n-<old>\n+<new>\n same\n';
  const { element } = panel({ items: [{ kind: 'tool', id: 't', title: 'E', toolKind: 'edit', status: 'failed', blocks: [{ type: 'diff', files: ['src/a.js'], patch }], locations: [], alwaysOpen: false }] });
  const lines = [...element.querySelectorAll('.diff pre > *')].map(line => `${line.className}|${line.textContent}`);
  assert.deepEqual(lines, ['diff-file|src/a.js', 'line hunk|@@ -1 +1 @@', 'line removed|-<old>', 'line added|+<new>', 'line same| same']);
});

test('scripted clicks answer no permission', () => {
  const { element, sent } = panel({ permissions: [{ id: 'p', title: 'Run x?', description: '', command: { text: 'x', cwd: '/w' }, blocks: [], locations: [], options: [{ optionId: 'o', name: 'Allow once', kind: 'allow_once' }] }] });
  const allow = element.querySelector<HTMLButtonElement>('.options button');
  assert.ok(allow);
  allow.dispatchEvent(new window.Event('click'));
  assert.deepEqual(sent.filter(message => message.type === 'answer'), []);
});

test('a request answered elsewhere goes away, the others stay', () => {
  const request = (id: string): Snapshot['permissions'][number] => ({ id, title: id, description: '', blocks: [], locations: [], options: [] });
  const { element, panel: made } = panel({ permissions: [request('a'), request('b')] });
  made.receive({ type: 'permissions', permissions: [request('b')] });
  assert.deepEqual([...element.querySelectorAll('.permission')].map(card => card.getAttribute('data-id')), ['b']);
});

test('a bar says what waits for review, and scripted clicks decide nothing', () => {
  const { element, sent, panel: made } = panel();
  const bar = element.querySelector<HTMLElement>('.review');
  assert.ok(bar);
  assert.equal(bar.hidden, true);
  made.receive({ type: 'review', review: { hunks: 3, files: 2, added: 10, removed: 4 } });
  assert.equal(bar.hidden, false);
  assert.match(bar.textContent, /^3 changes in 2 files · \+10 −4/);
  for (const action of bar.querySelectorAll('button')) action.dispatchEvent(new window.Event('click'));
  assert.deepEqual(sent.filter(message => message.type === 'review'), []);
  made.receive({ type: 'review', review: { hunks: 0, files: 0, added: 0, removed: 0 } });
  assert.equal(bar.hidden, true);
});

test('streamed text and output arrive where they belong', () => {
  const { element, panel: made } = panel({
    items: [
      { kind: 'agent', id: 'a', text: 'Hel' },
      { kind: 'tool', id: 't', title: 'Run', toolKind: 'execute', status: 'in_progress', blocks: [{ type: 'terminal', terminalId: 'x' }], locations: [], alwaysOpen: false },
    ],
    terminals: [{ id: 'x', command: 'ls', cwd: '/', text: 'one\n', cut: false }],
  });
  made.receive({ type: 'changes', changes: [{ type: 'append', id: 'a', text: 'lo' }, { type: 'output', id: 'x', text: 'two\n' }] });
  nextFrame();
  assert.equal(element.querySelector('.agent')?.textContent, 'Hello');
  assert.equal(element.querySelector('.output')?.textContent, 'one\ntwo\n');
  assert.equal(element.querySelector('details.card')?.hasAttribute('open'), true);
});

test('when the turn is over, all that was said is there and is announced, without waiting for a frame', () => {
  const header = { ...EMPTY.header, busy: true };
  const { element, panel: made } = panel({ header, items: [{ kind: 'agent', id: 'a', text: 'Hel' }] });
  made.receive({ type: 'changes', changes: [{ type: 'append', id: 'a', text: 'lo' }] });
  made.receive({ type: 'header', header: { ...header, busy: false } });
  assert.equal(element.querySelector('.agent')?.textContent, 'Hello');
  assert.equal(element.querySelector('[role=status]')?.textContent, 'Finished. Hello');
});

test('an empty panel says what to do, a broken one what is wrong', () => {
  const { element, panel: made } = panel({ header: { ...EMPTY.header, problems: ['Set `X`.'] } });
  assert.match(element.querySelector('.empty')?.textContent ?? '', /What should change\?.*Set X\./);
  made.receive({ type: 'server', server: { state: 'failed', title: 'Not found', detail: 'There is none.', actions: ['settings'] } });
  assert.match(element.querySelector('.problem')?.textContent ?? '', /Not found.*There is none\..*Open settings/);
});

test('encodings have WHATWG labels and line endings are told apart', () => {
  assert.equal(encodingLabel('utf8bom'), 'utf-8');
  assert.equal(encodingLabel('iso88591'), 'iso-8859-1');
  assert.equal(new TextDecoder(encodingLabel('shiftjis')).encoding, 'shift_jis');
  const check = (text: string, expected: string): void => {
    assert.equal(eolOf(Buffer.from(text), false), expected);
    assert.equal(eolOf(Buffer.from(text, 'utf16le'), true), expected);
  };
  check('', 'lf');
  check('a\nb', 'lf');
  check('a\r\nb\r\n', 'crlf');
  check('a\rb\r', 'cr');
  check('a\r\nb\n', 'mixed');
  check('a\rb\n', 'mixed');
});

test('the bundles are small', () => {
  const size = (file: string): number => statSync(file).size;
  assert.ok(size('dist/extension.js') <= 600_000, `extension ${size('dist/extension.js')}`);
  assert.ok(size('dist/webview.js') <= 250_000, `webview ${size('dist/webview.js')}`);
});

test('a password that is asked for has a masked field on an open card, which a new question empties', () => {
  const call: Snapshot['items'][number] = { kind: 'tool', id: 't', title: 'Terminal', toolKind: 'execute', status: 'completed', blocks: [{ type: 'text', text: 'x' }], locations: [], alwaysOpen: false, asking: 'x' };
  const terminal = { id: 'x', command: 'ssh', cwd: '/', text: '', cut: false };
  const { element, sent, panel: made } = panel({ items: [call], terminals: [terminal] });
  const ask = (secret?: string): void => made.receive({ type: 'changes', changes: [{ type: 'terminal', terminal: { ...terminal, secret } }] });
  const form = element.querySelector<HTMLElement>('.password');
  const field = form?.querySelector('input');
  assert.ok(form && field);
  assert.equal(form.hidden, true);
  ask('PIN:');
  assert.deepEqual([form.hidden, field.type, form.querySelector('label')?.textContent, form.closest('details')?.open], [false, 'password', 'PIN:', true]);
  assert.match(element.querySelector('[aria-live=assertive]')?.textContent ?? '', /PIN:/);
  field.value = 'half';
  ask('Again:');
  assert.equal(field.value, '');
  field.dispatchEvent(Object.assign(new window.Event('keydown'), { key: 'Enter' }));
  assert.deepEqual(sent.filter(message => message.type === 'password'), []);
  ask();
  assert.equal(form.hidden, true);
});

test('what runs can be stopped, a command alone goes to the background, and scripted clicks do neither', () => {
  const terminal: Snapshot['terminals'][number] = { id: 'x', command: 'make', cwd: '/', text: '', cut: false };
  const { element, sent, panel: made } = panel({ items: [{ kind: 'tool', id: 't', title: 'Run', toolKind: 'execute', status: 'in_progress', blocks: [{ type: 'terminal', terminalId: 'x' }], locations: [], alwaysOpen: false }], terminals: [terminal] });
  const offered = (more: Partial<typeof terminal>): string[] => {
    made.receive({ type: 'changes', changes: [{ type: 'terminal', terminal: { ...terminal, ...more } }] });
    return [...element.querySelectorAll<HTMLButtonElement>('.terminal-foot button')].filter(it => !it.hidden).map(it => it.textContent);
  };
  assert.deepEqual(offered({}), ['Stop']);
  assert.deepEqual(offered({ role: 'job' }), ['Stop']);
  assert.deepEqual(offered({ role: 'command' }), ['Stop', 'To background']);
  for (const it of element.querySelectorAll('.terminal-foot button')) it.dispatchEvent(new window.Event('click'));
  assert.deepEqual(sent.filter(message => message.type === 'stopProgram' || message.type === 'toBackground'), []);
  assert.deepEqual(offered({ role: 'command', exit: 'exit code 0' }), []);
});

test('clearing the prompt stops nothing', () => {
  const { element, sent } = panel({ header: { ...EMPTY.header, busy: true } });
  const input = element.querySelector<HTMLTextAreaElement>('.composer textarea');
  assert.ok(input);
  const key = (key: string, more: Partial<KeyboardEvent> = {}): boolean => input.dispatchEvent(Object.assign(new window.Event('keydown', { bubbles: true }), { key, ...more }));
  input.value = 'half said';
  key('a', { ctrlKey: true });
  key('Delete');
  key('c', { ctrlKey: true });
  input.value = '';
  input.dispatchEvent(new window.Event('input', { bubbles: true }));
  key('Backspace');
  key('Enter');
  assert.deepEqual(sent.filter(message => message.type !== 'draft' && message.type !== 'ready'), []);
  key('Escape');
  assert.deepEqual(sent.at(-1), { type: 'stop' });
});

test('a program has a line to type into, but not while it asks for a password, and long output can be shown whole', () => {
  const terminal: Snapshot['terminals'][number] = { id: 'x', command: 'cat', cwd: '/', text: 'tail', cut: true, role: 'program' };
  const { element, sent, panel: made } = panel({ items: [{ kind: 'tool', id: 't', title: 'Terminal', toolKind: 'execute', status: 'completed', blocks: [{ type: 'terminal', terminalId: 'x' }], locations: [], alwaysOpen: false }], terminals: [terminal] });
  const become = (more: Partial<typeof terminal>): void => made.receive({ type: 'changes', changes: [{ type: 'terminal', terminal: { ...terminal, ...more } }] });
  const typing = element.querySelector<HTMLElement>('.typing');
  const line = typing?.querySelector('input');
  const cut = element.querySelector<HTMLElement>('.terminal-cut');
  assert.ok(typing && line && cut);
  assert.deepEqual([typing.hidden, cut.hidden], [false, false]);
  line.value = 'half a line';
  line.dispatchEvent(Object.assign(new window.Event('keydown'), { key: 'Enter' }));
  assert.deepEqual(sent.filter(message => message.type === 'typeLine'), []);
  const card = typing.closest('details');
  assert.ok(card);
  card.open = false;
  become({ text: 'more' });
  assert.equal(card.open, false);
  become({ secret: 'PIN:' });
  assert.equal(card.open, true);
  assert.deepEqual([typing.hidden, line.value], [true, '']);
  become({ role: 'job', cut: false });
  assert.deepEqual([typing.hidden, cut.hidden], [true, true]);
});
