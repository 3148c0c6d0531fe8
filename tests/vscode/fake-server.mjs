#!/usr/bin/env node
// A stand-in for `copydesk lsp` that needs no model: what it does depends on the words of the
// prompt. It lets the panel be tested for what a real server seldom does: crash, speak another
// version, send every kind of card.
import { Buffer } from 'node:buffer';

import { fileURLToPath } from 'node:url';

const version = Number(process.env.FAKE_PROTOCOL_VERSION ?? 1);
const docs = new Map();
const jobs = [];
const answers = new Map();
let nextId = 1;
let seq = 0;
let sessions = 0;
let cwd = '/';
let permissions = 0;
let settings;
let client;
const options = [
  { configId: 'mode', name: 'Mode', category: 'mode', type: 'select', currentValue: 'ask', options: ['Ask', 'Plan', 'Edit', 'Auto'].map(name => ({ value: name.toLowerCase(), name })) },
  { configId: 'model', name: 'Model', category: 'model', type: 'select', currentValue: 'fake/one', options: [{ value: 'fake/one', name: 'One' }, { value: 'fake/two', name: 'Two' }] },
];

function write(message) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
  process.stdout.write(`Content-Length: ${body.length}\r\n\r\n`);
  process.stdout.write(body);
}
const notify = (method, params) => write({ method, params });
function ask(method, params) {
  const id = nextId++;
  write({ id, method, params });
  return new Promise(resolve => answers.set(id, resolve));
}
const update = (sessionId, kind, fields) => notify('session/update', { sessionId, update: { sessionUpdate: kind, ...fields }, _meta: { copydesk: { seq: seq++ } } });
const say = (sessionId, messageId, text) => update(sessionId, 'agent_message_chunk', { messageId, content: { type: 'text', text } });
const base64 = text => Buffer.from(text).toString('base64');

const patch = (name, removed, added) => `diff --git a/${name} b/${name}\n--- a/${name}\n+++ b/${name}\n@@ -1,3 +1,3 @@\n-${removed}\n+${added}\n }\n`;
const permissionOptions = [
  { optionId: 'once', name: 'Allow once', kind: 'allow_once' },
  { optionId: 'always', name: 'Always allow in this session', kind: 'allow_always' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
];

async function editTurn(sessionId, n, text) {
  const [uri, doc] = [...docs].find(([key]) => key.startsWith('file:')) ?? [];
  if (!uri) return say(sessionId, `a${n}`, 'No file is open.');
  const line = doc.text.split('\n').findIndex(l => l.includes('world'));
  const path = fileURLToPath(uri);
  const content = [{ type: 'diff', changes: [{ operation: 'modify', path }], patch: { format: 'git_patch', text: patch(path.slice(1), 'hello world', 'hello Copydesk') } }];
  const call = { toolCallId: `t${n}`, title: 'Edit hello.js +1 −1', kind: 'edit', content, locations: [{ path, line: line + 1 }] };
  update(sessionId, 'tool_call_update', { ...call, status: 'pending' });
  update(sessionId, 'state_update', { state: 'requires_action' });
  const { outcome } = (await ask('session/request_permission', {
    sessionId, title: 'Edit hello.js?', description: 'The buffer has unsaved text; it is kept.', subject: { type: 'tool_call', toolCall: call }, options: permissionOptions, _meta: { copydesk: { requestId: `r${++permissions}` } },
  })).result;
  update(sessionId, 'state_update', { state: 'running' });
  if (outcome.optionId !== 'once') {
    update(sessionId, 'tool_call_update', { toolCallId: `t${n}`, status: 'failed', content: [{ type: 'content', content: { type: 'text', text: `Rejected. ${outcome._meta?.copydesk?.feedback ?? ''}` } }] });
    return say(sessionId, `a${n}`, 'Not done.');
  }
  update(sessionId, 'tool_call_update', { toolCallId: `t${n}`, status: 'in_progress' });
  const now = docs.get(uri);
  const at = now.text.split('\n').findIndex(l => l.includes('world'));
  const character = now.text.split('\n')[at].indexOf('world');
  const stale = text.includes('stale') ? 1 : 0;
  const range = { start: { line: at, character }, end: { line: at, character: character + 5 } };
  const { result } = await ask('workspace/applyEdit', { edit: { documentChanges: [{ textDocument: { uri, version: now.version - stale }, edits: [{ range, newText: 'Copydesk' }] }] } });
  update(sessionId, 'tool_call_update', { toolCallId: `t${n}`, status: result.applied ? 'completed' : 'failed', ...(result.applied ? {} : { content: [{ type: 'content', content: { type: 'text', text: result.failureReason } }] }) });
  say(sessionId, `a${n}`, result.applied ? 'The greeting says **Copydesk** now.' : 'The edit was refused.');
}

async function showTurn(sessionId, n) {
  const path = `${cwd}/hello.js`;
  const wait = ms => new Promise(resolve => setTimeout(resolve, ms));
  update(sessionId, 'agent_thought_chunk', { messageId: `th${n}`, content: { type: 'text', text: 'The test fails because `greet` trims twice. I look at the caller first.' } });
  say(sessionId, `a${n}`, 'I found the cause: `greet` is called with a name that is **already trimmed**.\n\n');
  say(sessionId, `a${n}`, '1. read the caller\n2. change one line\n3. run the tests\n\n```js\nfunction greet(name) {\n  return `hello ${name}`;\n}\n```\n\nSee [the notes](https://example.org/notes) or [hello.js](hello.js:2).\n\n| file | change |\n|---|---:|\n| hello.js | +1 −1 |\n');
  update(sessionId, 'plan_update', { plan: { type: 'items', planId: 'p', entries: [{ content: 'Read the caller', priority: 'medium', status: 'completed' }, { content: 'Change one line', priority: 'medium', status: 'in_progress' }, { content: 'Run the tests', priority: 'medium', status: 'pending' }] } });
  update(sessionId, 'tool_call_update', { toolCallId: `r${n}`, title: 'Read hello.js', kind: 'read', status: 'completed', locations: [{ path, line: 2 }] });
  update(sessionId, 'tool_call_update', { toolCallId: `s${n}`, title: 'Search “greet” in src', kind: 'search', status: 'completed', content: [{ type: 'content', content: { type: 'text', text: 'hello.js:2:  return greet(name.trim())' } }] });
  update(sessionId, 'tool_call_update', { toolCallId: `e${n}`, title: 'Edit hello.js +1 −1', kind: 'edit', status: 'completed', locations: [{ path, line: 2 }], _meta: { copydesk: { fold: 'always-open' } }, content: [{ type: 'diff', changes: [{ operation: 'modify', path }], patch: { format: 'git_patch', text: patch('hello.js', "  return 'hello ' + name.trim().trim();", "  return 'hello ' + name.trim();") } }] });
  update(sessionId, 'terminal_update', { terminalId: `term${n}`, command: 'npm test', cwd });
  update(sessionId, 'tool_call_update', { toolCallId: `x${n}`, title: 'Run npm test', kind: 'execute', status: 'in_progress', content: [{ type: 'terminal', terminalId: `term${n}` }] });
  for (const line of ['> test\n', '> node --test\n\n', '\u001b[32m✔ greets (0.4ms)\u001b[0m\n', 'progress 10%\rprogress 100%\n', '\u001b[31m✖ trims\u001b[0m\n']) {
    update(sessionId, 'terminal_output_chunk', { terminalId: `term${n}`, data: base64(line) });
    await wait(30);
  }
  update(sessionId, 'terminal_update', { terminalId: `term${n}`, exitStatus: { exitCode: 1 } });
  update(sessionId, 'tool_call_update', { toolCallId: `x${n}`, status: 'failed' });
  const programs = [['typed', 'python3 -q', '>>> '], ['asking', 'ssh example.org', 'Password: ', 'Password:']];
  for (const [name, command, output, secretPrompt] of programs) {
    const terminalId = `${name}${n}`;
    jobs.push({ jobId: terminalId, terminalId, sessionId, toolCallId: terminalId, label: command, command, status: 'running', pid: 1, elapsedMs: 1, quietMs: 1, unconfirmed: false, takesInput: true, secretPrompt });
    update(sessionId, 'terminal_update', { terminalId, command, cwd });
    update(sessionId, 'terminal_output_chunk', { terminalId, data: base64(output) });
    update(sessionId, 'tool_call_update', { toolCallId: terminalId, title: `Terminal \`${command}\``, kind: 'execute', status: 'completed', content: [{ type: 'terminal', terminalId }] });
  }
  update(sessionId, 'tool_call_update', { toolCallId: `u${n}`, title: 'Something new', kind: 'hovercraft', status: 'completed', content: [{ type: 'eels', count: 3 }] });
  update(sessionId, 'usage_update', { used: 24_000, size: 200_000, cost: { amount: 0.12, currency: 'USD' } });
  update(sessionId, 'state_update', { state: 'requires_action' });
  await ask('session/request_permission', { sessionId, title: 'Run npm test -- --grep "trims"?', description: 'Runs in the workspace, without a sandbox.', subject: { type: 'command', command: 'npm test -- --grep "trims" \\\n  && rm -rf build', cwd }, options: permissionOptions, _meta: { copydesk: { requestId: `r${++permissions}` } } });
}

/** `apply EDIT`: sends the edit (`version: "now"` is filled in) and says what the editor answered. */
async function applyTurn(sessionId, n, text) {
  const edit = JSON.parse(text.slice('apply '.length));
  for (const { textDocument } of edit.documentChanges) if (textDocument?.version === 'now') textDocument.version = docs.get(textDocument.uri)?.version ?? -1;
  const { result } = await ask('workspace/applyEdit', { edit });
  say(sessionId, `a${n}`, `${result.applied ? 'applied' : `refused ${result.failedChange}: ${result.failureReason}`}`);
}

/** `save URI`: asks the editor to save and says what it answered. */
async function saveTurn(sessionId, n, text) {
  const { result } = await ask('copydesk/editor/save', { uris: [text.slice('save '.length)] });
  say(sessionId, `a${n}`, result.results.map(({ saved, reason }) => (saved ? 'saved' : `not saved: ${reason}`)).join());
}

async function turn(sessionId, n, text) {
  update(sessionId, 'user_message', { messageId: `u${n}`, content: [{ type: 'text', text }] });
  update(sessionId, 'state_update', { state: 'running' });
  let stop = { stopReason: 'end_turn' };
  if (text.includes('crash')) process.exit(3);
  else if (text.startsWith('apply ')) await applyTurn(sessionId, n, text);
  else if (text.startsWith('save ')) await saveTurn(sessionId, n, text);
  else if (text === 'settings') say(sessionId, `a${n}`, `\`${JSON.stringify({ settings, client })}\``);
  else if (text === 'state') say(sessionId, `a${n}`, `\`${JSON.stringify(state)}\``);
  else if (text.includes('fail')) stop = { stopReason: 'error', error: { code: -32603, message: 'The endpoint http://127.0.0.1:9 does not answer.' } };
  else if (text.includes('everything')) await showTurn(sessionId, n);
  else if (text.includes('edit')) await editTurn(sessionId, n, text);
  else say(sessionId, `a${n}`, `You said: ${text}`);
  update(sessionId, 'state_update', { state: 'idle', ...stop });
}

const handlers = {
  initialize: params => {
    settings = params.initializationOptions;
    client = params.capabilities.experimental.copydesk;
    return { capabilities: { positionEncoding: 'utf-16', textDocumentSync: { openClose: true, change: 2, save: true }, experimental: { copydesk: { protocolVersion: version, version: 'fake', session: {} } } } };
  },
  shutdown: () => null,
  'copydesk/status': () => ({ version: 'fake', problems: process.env.FAKE_PROBLEM ? [process.env.FAKE_PROBLEM] : [] }),
  'copydesk/job/list': () => ({ jobs }),
  'session/new': params => {
    cwd = params.cwd;
    return { sessionId: `s${++sessions}`, configOptions: options };
  },
  'session/prompt': params => {
    const n = ++seq;
    queueMicrotask(() => void turn(params.sessionId, n, params.prompt[0].text));
    return { messageId: `u${n}` };
  },
  'session/set_config_option': params => {
    options.find(o => o.configId === params.configId).currentValue = params.value;
    return { configOptions: options };
  },
};

const offset = (text, { line, character }) => text.split('\n').slice(0, line).reduce((sum, l) => sum + l.length + 1, 0) + character;
let state = {};
const events = {
  'copydesk/editor/didChangeState': params => (state = params),
  'workspace/didChangeConfiguration': params => (settings = params.settings),
  exit: () => process.exit(0),
  'textDocument/didOpen': ({ textDocument }) => docs.set(textDocument.uri, { text: textDocument.text, version: textDocument.version }),
  'textDocument/didChange': ({ textDocument, contentChanges }) => {
    const doc = docs.get(textDocument.uri);
    for (const { range, text } of contentChanges) doc.text = range ? doc.text.slice(0, offset(doc.text, range.start)) + text + doc.text.slice(offset(doc.text, range.end)) : text;
    doc.version = textDocument.version;
  },
  'textDocument/didClose': ({ textDocument }) => docs.delete(textDocument.uri),
};

let input = Buffer.alloc(0);
process.stdin.on('data', data => {
  input = Buffer.concat([input, data]);
  for (;;) {
    const end = input.indexOf('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(input.subarray(0, Math.max(0, end)).toString())?.[1]);
    if (end < 0 || input.length < end + 4 + length) return;
    const message = JSON.parse(input.subarray(end + 4, end + 4 + length).toString());
    input = input.subarray(end + 4 + length);
    if (message.method && message.id !== undefined) {
      const handler = handlers[message.method];
      write(handler ? { id: message.id, result: handler(message.params) } : { id: message.id, error: { code: -32601, message: `no method ${message.method}` } });
    } else if (message.method) {
      events[message.method]?.(message.params);
    } else {
      answers.get(message.id)?.(message);
      answers.delete(message.id);
    }
  }
});
process.stdin.on('end', () => process.exit(0));
