// A person's path in a real VS Code with the real server and a scripted model, then every
// scenario folder. Each part has a folder of its own.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { artifacts, openEditor, realServer, seen, until } from './harness.mjs';
import { Model } from './model.mjs';

const scenarios = join(import.meta.dirname, '..', 'scenarios');
const HELLO = "function hello() {\n  return 'hello world';\n}\n";
let model;
let session;

before(async () => {
  assert.ok(existsSync(realServer), `${realServer} is missing: build the server or set COPYDESK_BIN`);
  model = await Model.start();
  session = await openEditor({ settings: model.settings });
});

after(async () => {
  await session?.close();
  await model?.close();
});

/** A test in a folder of its own. */
function story(name, folder, body) {
  test(name, async () => {
    await session.openFolder(folder);
    await seen(session, () => body(session.editor, session.panel));
  });
}

const allow = panel => panel.locator('.permission').getByRole('button', { name: /^Allow once/ });
const edits = [
  { text: 'I look first.', calls: [{ name: 'Read', input: { file_path: 'hello.js' } }] },
  { calls: [{ name: 'Edit', input: { file_path: 'hello.js', old_string: 'hello world', new_string: 'hello Copydesk' } }] },
  { text: 'The greeting is **changed**.' },
];

story('an approved edit is in the buffer, the person’s unsaved text is kept, the disk is untouched', { files: { 'hello.js': HELLO }, open: 'hello.js' }, async (editor, panel) => {
  model.play(edits);
  await editor.type('// typed, not saved', 'end');
  await editor.openChat();
  await editor.prompt('Greet Copydesk instead');
  const card = panel.locator('.permission');
  await card.waitFor();
  assert.match(await card.textContent(), /hello Copydesk/);
  assert.match(await editor.text(), /hello world/);
  await allow(panel).click();
  await panel.locator('.agent', { hasText: 'The greeting is changed.' }).waitFor();
  await editor.idle();
  await until('the edit is in the buffer', async () => (await editor.text()) === `${HELLO.replace('world', 'Copydesk')}// typed, not saved`);
  assert.equal(readFileSync(join(session.folder, 'hello.js'), 'utf8'), HELLO);
  assert.ok(await editor.dirty());
  assert.ok(model.toolResults().some(text => text.includes('typed, not saved')), 'the model read the unsaved text');
});

story('a request survives a reload of the panel, and what was typed meanwhile survives the edit', { files: { 'hello.js': HELLO }, open: 'hello.js' }, async (editor, panel) => {
  model.play(edits);
  await editor.openChat();
  await editor.prompt('Greet Copydesk instead');
  await panel.locator('.permission').waitFor();
  await editor.reloadPanel();
  await panel.locator('.permission').waitFor();
  await panel.locator('.user', { hasText: 'Greet Copydesk instead' }).waitFor();
  await editor.type('// typed while it waited', 'end');
  await allow(panel).click();
  await panel.locator('.agent', { hasText: 'The greeting is changed.' }).waitFor();
  await until('both texts are in the buffer', async () => (await editor.text()) === `${HELLO.replace('world', 'Copydesk')}// typed while it waited`);
  assert.equal(readFileSync(join(session.folder, 'hello.js'), 'utf8'), HELLO);
});

story('a rejection with words reaches the model, and nothing is changed', { files: { 'hello.js': HELLO }, open: 'hello.js' }, async (editor, panel) => {
  model.play([edits[0], edits[1], { text: 'Understood.' }]);
  await editor.openChat();
  await editor.prompt('Greet Copydesk instead');
  await panel.locator('.permission .feedback').fill('leave the greeting alone');
  await panel.locator('.permission .feedback').press('Enter');
  await panel.locator('.agent', { hasText: 'Understood.' }).waitFor();
  assert.equal(await editor.text(), HELLO);
  assert.ok(model.toolResults().some(text => text.includes('leave the greeting alone')));
});

/** The server processes that work in the open folder. */
function servers() {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${realServer}\0lsp`) && readlinkSync(`/proc/${pid}/cwd`) === session.folder;
      } catch {
        return false; // It has ended meanwhile.
      }
    })
    .map(Number);
}

story('a killed server is replaced, and the chat goes on where it was', { files: { 'hello.js': HELLO }, open: 'hello.js' }, async (editor, panel) => {
  model.play([{ text: 'The first answer.' }, { text: 'The second answer.' }]);
  await editor.openChat();
  await editor.prompt('One');
  await panel.locator('.agent', { hasText: 'The first answer.' }).waitFor();
  await editor.idle();
  const killed = servers();
  assert.equal(killed.length, 1);
  process.kill(killed[0], 'SIGKILL');
  await until('another server', () => servers().some(pid => pid !== killed[0]));
  await editor.prompt('Two');
  await panel.locator('.agent', { hasText: 'The second answer.' }).waitFor();
  assert.match(JSON.stringify(model.requests.at(-1).messages), /The first answer\./);
  assert.equal(await panel.locator('.notice').count(), 0);
});

function tree(dir, prefix = '') {
  return readdirSync(dir, { withFileTypes: true }).flatMap(entry => (entry.isDirectory() ? tree(join(dir, entry.name), `${prefix}${entry.name}/`) : [`${prefix}${entry.name}`]));
}

for (const name of readdirSync(scenarios, { withFileTypes: true }).filter(entry => entry.isDirectory() && existsSync(join(scenarios, entry.name, 'story.json'))).map(entry => entry.name)) {
  const dir = join(scenarios, name);
  const json = file => JSON.parse(readFileSync(join(dir, file), 'utf8'));
  const [unsaved, told, expected] = [json('unsaved.json'), json('story.json'), json('expect.json')];
  const files = Object.fromEntries(tree(join(dir, 'workspace')).map(file => [file, readFileSync(join(dir, 'workspace', file), 'utf8')]));
  const [open] = Object.keys(unsaved);

  story(`scenario ${name}`, { files, open }, async (editor, panel) => {
    assert.ok(Object.keys(unsaved).length <= 1, 'this player shows one open document at a time');
    model.play(json('model.json'));
    if (open) await editor.setText(unsaved[open]);
    await editor.openChat();
    if (told.mode) await panel.locator('select[data-config=mode]').selectOption(told.mode);
    await editor.prompt(told.prompt);
    if (told.cancel_when) {
      const running = panel.locator(`.card[data-kind=${told.cancel_when}][data-status=in_progress]`);
      await editor.answerUntil(told.permission, async () => (await running.count()) > 0);
      await panel.locator('#prompt').press('Escape');
    }
    await panel.locator('.user').waitFor();
    await editor.answerUntil(told.permission, async () => (await panel.locator('main.panel.busy').count()) === 0 && model.script.length === (told.cancel_when ? model.script.length : 0) && (await panel.locator('.card, .agent').count()) > 0);
    const cards = await panel.locator('.card').evaluateAll(nodes => nodes.map(node => ({ kind: node.dataset.kind, status: node.dataset.status })));
    assert.deepEqual(cards, expected.cards);
    assert.equal((await panel.locator('.agent').allTextContents()).join(''), expected.said);
    assert.equal(await panel.locator('.notice').filter({ hasText: 'Stopped' }).count(), expected.stop === 'cancelled' ? 1 : 0);
    assert.equal(await panel.locator('.notice.error').count(), 0);
    for (const [file, text] of Object.entries(expected.buffers)) {
      assert.equal(file, open);
      await until(`the buffer of ${file}`, async () => (await editor.text()) === text, 5_000).catch(async () => assert.equal(await editor.text(), text));
    }
    for (const [file, text] of Object.entries(expected.disk)) {
      const path = join(session.folder, file);
      if (text === null) assert.ok(!existsSync(path), `${file} must not exist`);
      else assert.equal(readFileSync(path, 'utf8'), text);
    }
    for (const seen of expected.model_saw) assert.ok(model.toolResults().some(text => text.includes(seen)), `the model saw ${seen}`);
    if (expected.model_requests !== undefined) assert.equal(model.requests.length, expected.model_requests);
  });
}
