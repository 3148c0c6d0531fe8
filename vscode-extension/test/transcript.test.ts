import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionUpdate } from '../src/protocol';
import { TerminalDecoder, overwrite, visible } from '../src/terminalText';
import { Transcript } from '../src/transcript';
import type { Change } from '../src/view';

function play(...updates: SessionUpdate[]): { transcript: Transcript; changes: Change[] } {
  const changes: Change[] = [];
  const transcript = new Transcript(
    change => changes.push(change),
    path => path.replace('/work/', ''),
    () => 1_000,
  );
  for (const update of updates) transcript.apply(update);
  return { transcript, changes };
}

const text = (value: string): { type: 'text'; text: string } => ({ type: 'text', text: value });
const base64 = (value: string | Uint8Array): string => Buffer.from(value).toString('base64');

test('chunks of one message grow one item and are sent as what was added', () => {
  const { transcript, changes } = play(
    { sessionUpdate: 'agent_message_chunk', messageId: 'm', content: text('Hel') },
    { sessionUpdate: 'agent_message_chunk', messageId: 'm', content: text('lo') },
  );
  assert.deepEqual(transcript.view().items, [{ kind: 'agent', id: 'agent:m', text: 'Hello' }]);
  assert.deepEqual(changes[0], { type: 'item', item: { kind: 'agent', id: 'agent:m', text: 'Hel' } });
  assert.deepEqual(changes.at(-1), { type: 'append', id: 'agent:m', text: 'lo' });
});

const ALWAYS_OPEN: Record<string, object> = { copydesk: { fold: 'always-open' } };

test('a call keeps what an update leaves out and loses what it clears', () => {
  const { transcript } = play(
    { sessionUpdate: 'tool_call_update', toolCallId: 't', title: 'Edit a', kind: 'edit', status: 'pending', locations: [{ path: '/a', line: 2 }] },
    { sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'completed', locations: null, _meta: ALWAYS_OPEN },
    { sessionUpdate: 'tool_call_content_chunk', toolCallId: 't', content: { type: 'content', content: text('x') } },
  );
  const [item] = transcript.view().items;
  assert.deepEqual(item, {
    kind: 'tool', id: 'tool:t', title: 'Edit a', toolKind: 'edit', status: 'completed', blocks: [{ type: 'text', text: 'x' }], locations: [], startedAt: 1_000, endedAt: 1_000, alwaysOpen: true, received: undefined,
  });
});

test('a message of the person is shown once, whoever tells of it first', () => {
  const { transcript } = play({ sessionUpdate: 'user_message', messageId: 'u', content: [text('hi')] });
  transcript.userMessage('u', 'hi');
  transcript.userMessage('v', 'ho');
  transcript.apply({ sessionUpdate: 'user_message', messageId: 'v', content: [text('ho')] });
  assert.deepEqual(transcript.view().items.map(item => item.id), ['user:u', 'user:v']);
});

test('a conversation that was taken back ends before the prompt', () => {
  const { transcript, changes } = play(
    { sessionUpdate: 'user_message', messageId: 'u', content: [text('one')] },
    { sessionUpdate: 'agent_message_chunk', messageId: 'm', content: text('1') },
    { sessionUpdate: 'user_message', messageId: 'v', content: [text('two')] },
    { sessionUpdate: 'agent_message_chunk', messageId: 'n', content: text('2') },
    { sessionUpdate: 'session_info_update', _meta: { copydesk: { rewound: 'nothing' } } },
    { sessionUpdate: 'session_info_update', _meta: { copydesk: { rewound: 'v' } } },
    { sessionUpdate: 'user_message', messageId: 'w', content: [text('three')] },
  );
  assert.deepEqual(transcript.view().items.map(item => item.id), ['user:u', 'agent:m', 'user:w']);
  assert.deepEqual(changes.filter(change => change.type === 'removed'), [{ type: 'removed', ids: ['user:v', 'agent:n'] }]);
});

test('unknown updates and contents do no harm', () => {
  const { transcript } = play(
    { sessionUpdate: 'hovercraft', eels: true } as unknown as SessionUpdate,
    { sessionUpdate: 'tool_call_update', toolCallId: 't', content: [{ type: 'eels' } as never] },
  );
  const [item] = transcript.view().items;
  assert.equal(item?.kind, 'tool');
  assert.match(JSON.stringify(item), /eels/);
});

test('what still ran when the server ended is shown as cancelled', () => {
  const { transcript } = play({ sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'in_progress' });
  transcript.endOpenCalls();
  assert.match(JSON.stringify(transcript.view().items), /"status":"cancelled"/);
});

test('a program that ran when the server ended runs no more and asks for nothing', () => {
  const { transcript } = play({ sessionUpdate: 'terminal_update', terminalId: 'x' }, { sessionUpdate: 'tool_call_update', toolCallId: 't', _meta: { copydesk: { secretInput: { jobId: 'x', prompt: 'PIN:' } } } });
  transcript.endOpenCalls();
  assert.deepEqual(transcript.view().terminals, [{ id: 'x', command: '', cwd: '', text: '', cut: false, exit: 'ended with the server', secret: undefined, role: undefined }]);
});

test('terminal output is bytes cut anywhere, and only its tail is kept', () => {
  const euro = Buffer.from('10 €\n');
  const { transcript } = play(
    { sessionUpdate: 'terminal_update', terminalId: 'x', command: 'cat' },
    { sessionUpdate: 'terminal_output_chunk', terminalId: 'x', data: base64(euro.subarray(0, 4)) },
    { sessionUpdate: 'terminal_output_chunk', terminalId: 'x', data: base64(euro.subarray(4)) },
  );
  assert.equal(transcript.view().terminals[0]?.text, '10 €\n');
  for (let i = 0; i < 3_000; i += 1) transcript.apply({ sessionUpdate: 'terminal_output_chunk', terminalId: 'x', data: base64(`line ${i} ${'-'.repeat(40)}\n`) });
  const [terminal] = transcript.view().terminals;
  assert.ok(terminal && terminal.text.length <= 101_000 && terminal.cut);
  assert.match(terminal.text, /^line \d+ .*line 2999 -+\n$/s);
});

test('output that the server left out is known to be cut', () => {
  const { transcript } = play({ sessionUpdate: 'terminal_update', terminalId: 'x' }, { sessionUpdate: 'terminal_output_chunk', terminalId: 'x', data: base64('a\n') });
  assert.equal(transcript.view().terminals[0]?.cut, false);
  transcript.apply({ sessionUpdate: 'terminal_output_chunk', terminalId: 'x', data: base64('\r\n[12 bytes not shown]\r\nb\n') });
  assert.equal(transcript.view().terminals[0]?.cut, true);
});

test('control sequences disappear, carriage returns and backspaces act, hidden characters show', () => {
  const decoder = new TerminalDecoder();
  const read = (...parts: string[]): string => overwrite(parts.map(part => decoder.decode(base64(part))).join(''));
  assert.equal(read('\u001b[1;3', '1mred\u001b[0m\n'), 'red\n');
  assert.equal(read('\u001b]0;title\u0007after\n'), 'after\n');
  assert.equal(read('10%\r100%\n'), '100%\n');
  assert.equal(read('abc\b\bX\n'), 'aX\n');
  assert.equal(read('a\r', '\nb\n'), 'a\nb\n');
  assert.equal(visible('rm\u202e/ab\u0000'), 'rm⟨U+202E⟩/ab⟨U+0000⟩');
});

test('an error is told once, with a way to try again', () => {
  const { transcript } = play({ sessionUpdate: 'notice', severity: 'error', title: 'No key' });
  transcript.turnFailed('No key');
  transcript.turnFailed('Another');
  assert.deepEqual(transcript.view().items.map(item => item.kind === 'notice' && [item.title, item.text, item.retry]), [['No key', '', true], ['The turn failed', 'Another', true]]);
});

test('a diff names its files as the person knows them', () => {
  const { transcript } = play({
    sessionUpdate: 'tool_call_update',
    toolCallId: 't',
    content: [{ type: 'diff', changes: [{ operation: 'modify', path: '/work/a.js' }, { operation: 'move', oldPath: '/work/b', path: '/work/c' }], patch: { format: 'git_patch', text: '' } }],
  });
  const [item] = transcript.view().items;
  assert.deepEqual(item?.kind === 'tool' && item.blocks, [{ type: 'diff', files: ['a.js', 'b → c'], patch: '' }]);
});

test('a message, a thought and a call may have the same id', () => {
  const { transcript } = play(
    { sessionUpdate: 'user_message', messageId: '1', content: [text('a')] },
    { sessionUpdate: 'agent_thought_chunk', messageId: '1', content: text('b') },
    { sessionUpdate: 'agent_message_chunk', messageId: '1', content: text('c') },
    { sessionUpdate: 'tool_call_update', toolCallId: '1', title: 'd' },
  );
  assert.deepEqual(transcript.view().items.map(item => item.kind), ['user', 'thought', 'agent', 'tool']);
});

const JOB = { sessionId: 's', toolCallId: 't', label: '', command: '', status: 'running', pid: 1, elapsedMs: 1, quietMs: 1, unconfirmed: false, takesInput: true };

test('a password is wanted from when the server says so until it is given, the program goes on, or ends', () => {
  const ask: SessionUpdate = { sessionUpdate: 'tool_call_update', toolCallId: 't', _meta: { copydesk: { secretInput: { jobId: 'term-1', prompt: 'PIN\u202e:' } } } };
  const { transcript } = play({ sessionUpdate: 'terminal_update', terminalId: 'term-1' }, ask);
  const secret = (): string | undefined => transcript.view().terminals[0]?.secret;
  assert.equal(secret(), 'PIN⟨U+202E⟩:');
  assert.match(JSON.stringify(transcript.view().items), /"asking":"term-1"/);
  transcript.passwordGiven('term-1');
  assert.equal(secret(), undefined);
  transcript.jobs([{ ...JOB, jobId: 'term-1', terminalId: 'term-1', secretPrompt: 'Again:' }]);
  assert.equal(secret(), 'Again:');
  transcript.jobs([]);
  assert.equal(secret(), undefined);
  transcript.apply(ask);
  transcript.apply({ sessionUpdate: 'tool_call_update', toolCallId: 't', title: 'Log in' });
  assert.equal(secret(), 'PIN⟨U+202E⟩:');
  transcript.apply({ sessionUpdate: 'tool_call_update', toolCallId: 't', _meta: { copydesk: {} } });
  assert.equal(secret(), undefined);
  transcript.apply(ask);
  transcript.apply({ sessionUpdate: 'terminal_update', terminalId: 'term-1', exitStatus: { exitCode: 0 } });
  assert.equal(secret(), undefined);
  transcript.apply(ask);
  assert.equal(secret(), undefined);
});

test('what runs on a terminal is a command until the server lists it as a job', () => {
  const { transcript } = play(
    { sessionUpdate: 'terminal_update', terminalId: 'term-1' },
    { sessionUpdate: 'tool_call_update', toolCallId: 'call', status: 'in_progress', content: [{ type: 'terminal', terminalId: 'term-1' }] },
  );
  const role = (): string | undefined => transcript.view().terminals[0]?.role;
  assert.equal(role(), undefined);
  transcript.jobs([]);
  assert.equal(role(), 'command');
  assert.equal(transcript.callOf('term-1'), 'call');
  assert.equal(transcript.callOf('term-2'), undefined);
  const job = { ...JOB, jobId: 'job-1', terminalId: 'term-1' };
  transcript.jobs([{ ...job, takesInput: false }]);
  assert.equal(role(), 'job');
  transcript.jobs([job]);
  assert.equal(role(), 'program');
});
