// The panel in a real VS Code, with a stand-in for the server: what does not depend on an agent.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { artifacts, fakeServer, openEditor, until } from './harness.mjs';

const HELLO = "function hello() {\n  return 'hello world';\n}\n";

async function withEditor(options, body) {
  const session = await openEditor({ server: fakeServer, files: { 'hello.js': HELLO }, open: 'hello.js', ...options });
  try {
    await body(session);
  } catch (error) {
    mkdirSync(artifacts, { recursive: true });
    await session.page.screenshot({ path: join(artifacts, 'failure.png') }).catch(() => undefined);
    throw error;
  } finally {
    await session.close();
  }
}

test('an approved edit lands in the buffer beside unsaved text, is one undo step, and the disk keeps its bytes', () =>
  withEditor({}, async ({ editor, page, panel, folder }) => {
    await editor.type('// mine', 'end');
    await editor.openChat();
    await editor.prompt('edit the greeting');
    const card = panel.locator('.permission');
    await card.waitFor();
    assert.match(await card.textContent(), /hello Copydesk/);
    assert.equal(await page.locator('.tabs-container .tab').count(), 1);
    await card.getByRole('button', { name: /^Allow once/ }).click();
    await panel.locator('.card[data-kind=edit][data-status=completed]').waitFor();
    await until('the edit is in the buffer', async () => (await editor.text()).includes('hello Copydesk'));
    assert.match(await editor.text(), /\/\/ mine/);
    assert.equal(readFileSync(join(folder, 'hello.js'), 'utf8'), HELLO);
    assert.ok(await editor.dirty());
    assert.equal(await page.locator('.tabs-container .tab').count(), 1);
    await page.locator('.editor-instance .view-lines').first().click();
    await page.keyboard.press('Control+z');
    await until('one undo takes the edit back', async () => (await editor.text()).includes('hello world'));
    assert.match(await editor.text(), /\/\/ mine/);
  }));

test('an edit for another version is refused and says why', () =>
  withEditor({}, async ({ editor, panel }) => {
    await editor.type('// mine', 'end');
    await editor.openChat();
    await editor.prompt('edit with a stale version');
    await panel.locator('.permission').getByRole('button', { name: /^Allow once/ }).click();
    const card = panel.locator('.card[data-kind=edit][data-status=failed]');
    await card.waitFor();
    assert.match(await card.textContent(), /is at version \d+, the edit was made for version \d+/);
    assert.match(await editor.text(), /hello world/);
  }));

test('a request survives a reload of the panel, is reached by keys, and takes words with a rejection', () =>
  withEditor({}, async ({ editor, page, panel }) => {
    await editor.openChat();
    await editor.prompt('edit the greeting');
    await panel.locator('.permission').waitFor();
    await editor.command('Developer: Reload Webviews');
    await panel.locator('.permission').waitFor();
    await panel.locator('.user', { hasText: 'edit the greeting' }).waitFor();
    await page.locator('.editor-instance .view-lines').first().click();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('y');
    await until('the card has the focus', () => panel.locator('.permission').evaluate(node => node === document.activeElement));
    await panel.locator('.feedback').fill('use single quotes');
    await panel.locator('.feedback').press('Enter');
    await panel.locator('.card[data-kind=edit][data-status=failed]', { hasText: 'use single quotes' }).waitFor();
    await panel.locator('.permission').waitFor({ state: 'detached' });
    assert.match(await editor.text(), /hello world/);
  }));

test('a missing server is a clear state with a way out', () =>
  withEditor({ server: '/nowhere/copydesk' }, async ({ editor, panel }) => {
    await editor.openChat();
    const problem = panel.locator('.problem');
    await problem.waitFor();
    assert.match(await problem.textContent(), /not found.*\/nowhere\/copydesk/s);
    await problem.getByRole('button', { name: 'Open settings' }).waitFor();
    await editor.prompt('are you there');
    await until('the words are not lost', async () => (await panel.locator('#prompt').inputValue()) === 'are you there');
  }));

test('a server of another protocol version is named', () =>
  withEditor({ env: { FAKE_PROTOCOL_VERSION: '7' } }, async ({ editor, panel }) => {
    await editor.openChat();
    await panel.locator('.problem', { hasText: 'speaks protocol version 7, this extension speaks version 1' }).waitFor();
  }));

test('a crash is followed by a new server, repeated crashes by one action that helps', () =>
  withEditor({}, async ({ editor, panel }) => {
    await editor.openChat();
    for (const round of [1, 2]) {
      await editor.prompt(`crash ${round}`);
      await until('the crash is told', async () => (await panel.locator('.notice.error').count()) === round);
      await editor.idle();
    }
    await editor.prompt('still there?');
    await panel.locator('.agent', { hasText: 'You said: still there?' }).waitFor();
    await editor.prompt('crash 3');
    const problem = panel.locator('.problem', { hasText: 'ended 3 times in a row' });
    await problem.waitFor();
    await problem.getByRole('button', { name: 'Start again' }).click();
    await problem.waitFor({ state: 'detached' });
    await editor.prompt('and now?');
    await panel.locator('.agent', { hasText: 'You said: and now?' }).waitFor();
  }));

test('what is wrong with the configuration, and a turn that failed, are said in the panel', () =>
  withEditor({ env: { FAKE_PROBLEM: 'No model provider is configured. Set `ANTHROPIC_API_KEY`.' } }, async ({ editor, panel }) => {
    await editor.openChat();
    await panel.locator('.problem-list', { hasText: 'Set ANTHROPIC_API_KEY' }).waitFor();
    await editor.prompt('fail please');
    const notice = panel.locator('.notice.error', { hasText: 'does not answer' });
    await notice.getByRole('button', { name: 'Try again' }).click();
    await until('it is tried again', async () => (await panel.locator('.user').count()) === 2);
  }));
