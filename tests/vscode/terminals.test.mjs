// Programs that run, in a real VS Code with the real server: what the person sees of them and does.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { artifacts, openEditor, seen, until } from './harness.mjs';
import { Model } from './model.mjs';

const PASSWORD = 'hunter2-of-the-test';
let model;
let session;

before(async () => {
  mkdirSync(artifacts, { recursive: true });
  model = await Model.start();
  session = await openEditor({ settings: { ...model.settings, 'copydesk.mode': 'auto', 'copydesk.trace.server': 'verbose' } });
});

after(async () => {
  await session?.close();
  await model?.close();
});

function story(name, body) {
  test(name, async () => {
    await session.openFolder();
    const { editor, panel } = session;
    await seen(session, async () => {
      await editor.openChat();
      await body(editor, panel);
    });
  });
}

const shot = name => session.page.screenshot({ path: join(artifacts, `${name}.png`) });
const terminal = input => ({ calls: [{ name: 'Terminal', input }] });
const asks = 'import getpass; print("got", len(getpass.getpass("Password: "))); print("more", len(getpass.getpass("Again: ")))';

/** Files below a folder that hold a text. */
function holding(dir, text) {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(file => readFileSync(file).includes(text));
}

story('a password is typed on the card, goes to the program alone, and Escape takes it back', async (editor, panel) => {
  await editor.command('Developer: Set Log Level...');
  await session.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Copydesk' }).first().click();
  await session.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Trace' }).first().click();
  model.play([terminal({ action: 'start', command: `python3 -c '${asks}'`, wait_for: 'got' }), { text: 'It waits for you.' }]);
  await editor.prompt('Log in');
  await panel.locator('.agent', { hasText: 'It waits for you.' }).waitFor();
  await editor.idle();
  const field = panel.getByLabel('Password:');
  await field.waitFor();
  assert.equal(await field.getAttribute('type'), 'password');
  await shot('password');

  await session.page.keyboard.press('Control+k');
  await session.page.keyboard.press('y');
  await until('the field has the keys', () => field.evaluate(node => node === document.activeElement));
  await field.fill('not this');
  await field.press('Escape');
  await field.waitFor({ state: 'hidden' });
  await panel.getByRole('button', { name: 'Type the password…' }).press('Enter');
  assert.equal(await field.inputValue(), '');
  await field.fill(PASSWORD);
  await field.press('Enter');
  await panel.locator('.output', { hasText: `got ${PASSWORD.length}` }).waitFor();

  const again = panel.getByLabel('Again:');
  await again.waitFor();
  assert.equal(await again.inputValue(), '');
  await again.fill('xyz');
  await panel.locator('.password').getByRole('button', { name: 'Send' }).click();
  await panel.locator('.terminal-foot', { hasText: 'exit code 0' }).waitFor();
  await panel.locator('.output', { hasText: 'more 3' }).waitFor();
  await panel.locator('.password').waitFor({ state: 'hidden' });

  const logs = join(session.folder, '..', 'user', 'logs');
  await until('the log tells of the typing', () => holding(logs, 'copydesk/job/write').length > 0);
  assert.deepEqual(holding(join(session.folder, '..'), PASSWORD), []);
  assert.ok(!JSON.stringify(model.requests).includes(PASSWORD));
});

story('a command goes to the background by its card, the agent goes on, and the job is stopped there', async (editor, panel) => {
  model.play([{ calls: [{ name: 'Bash', input: { command: 'echo begun; sleep 4242' } }] }, { text: 'It runs on.' }]);
  await editor.prompt('Start it');
  const card = panel.locator('.terminal');
  await card.locator('.output', { hasText: 'begun' }).waitFor();
  const background = card.getByRole('button', { name: 'To background' });
  await background.waitFor();
  await shot('running');
  await background.click();
  await panel.locator('.agent', { hasText: 'It runs on.' }).waitFor();
  assert.ok(model.toolResults().some(text => text.includes('job-1')), 'the agent knows the job');
  const details = panel.locator('.card', { has: panel.locator('.terminal') });
  if (!(await details.evaluate(node => node.open))) await details.locator('summary').click();
  await card.getByText('running in the background').waitFor();
  await background.waitFor({ state: 'hidden' });
  const stop = card.getByRole('button', { name: 'Stop' });
  await stop.focus();
  await stop.press('Enter');
  await card.locator('.terminal-foot.failed').waitFor();
  await stop.waitFor({ state: 'hidden' });
  assert.doesNotMatch(await card.locator('.terminal-foot').textContent(), /running/);
});

story('a command is stopped by its card, and the agent is told and goes on', async (editor, panel) => {
  model.play([{ calls: [{ name: 'Bash', input: { command: 'echo begun; sleep 4242' } }] }, { text: 'I see that it was stopped.' }]);
  await editor.prompt('Start it');
  await panel.locator('.output', { hasText: 'begun' }).waitFor();
  await panel.locator('.terminal').getByRole('button', { name: 'Stop' }).click();
  await panel.locator('.agent', { hasText: 'I see that it was stopped.' }).waitFor();
  await panel.locator('.terminal-foot.failed').waitFor({ state: 'attached' });
  assert.equal(model.toolResults().length, 1);
});

story('the person types a line into a program and its output can be opened whole', async (editor, panel) => {
  const program = 'import sys; name = input("Name? "); print("hello", name); [print("line", n, "-" * 40) for n in range(4000)]; input("End? ")';
  model.play([terminal({ action: 'start', command: `python3 -c '${program}'`, wait_for: 'Name?' }), { text: 'It asks for a name.' }]);
  await editor.prompt('Start it');
  await panel.locator('.agent', { hasText: 'It asks for a name.' }).waitFor();
  const line = panel.getByLabel('Type into the program');
  await line.fill('not this');
  await line.press('Escape');
  assert.equal(await line.inputValue(), '');
  await shot('typing');
  await line.fill('Ada');
  await line.press('Enter');
  await panel.locator('.output', { hasText: 'line 3999' }).waitFor();
  assert.equal(await line.inputValue(), '');
  await panel.getByRole('button', { name: 'Show all' }).click();
  await until('the beginning is in a tab', async () => /Name\? Ada\nhello Ada\nline 0 -/.test(await editor.text().catch(() => '')));
  assert.equal(await editor.dirty(), false);
  await shot('whole');
  await line.press('Enter');
  await panel.locator('.terminal-foot', { hasText: 'exit code 0' }).waitFor();
  await line.waitFor({ state: 'hidden' });
});

story('colours of commands are never shown raw', async (editor, panel) => {
  const command = "printf '\\033[1;31mred\\033[0m \\033]0;a title\\007 and \\033[38;5;2mgreen\\033[m\\n10%%\\r100%%\\n\\033[2K\\033[1A\\033(Bend\\n'; seq 30000; sleep 0.1; printf '\\033[32'; sleep 0.2; printf 'mcut\\033[0m\\n'";
  model.play([{ calls: [{ name: 'Bash', input: { command } }] }, { text: 'Done.' }]);
  await editor.prompt('Print');
  await panel.locator('.agent', { hasText: 'Done.' }).waitFor();
  const raw = /\u001b|\[\d*(?:;\d+)*m|a title|⟨U\+001B⟩|10%/;
  const card = await panel.locator('.output').textContent();
  assert.match(card, /30000\ncut\n/);
  assert.doesNotMatch(card, raw);
  const details = panel.locator('.card', { has: panel.locator('.terminal') });
  if (!(await details.evaluate(node => node.open))) await details.locator('summary').click();
  await panel.getByRole('button', { name: 'Show all' }).click();
  await until('the beginning is in a tab', async () => /red {2}and green\n100%\n/.test(await editor.text().catch(() => '')));
  assert.doesNotMatch((await editor.text()).replace('100%', ''), raw);
});

story('a password that is asked for while the panel is hidden is told, and one click leads to its field', async (editor, panel) => {
  const go = join(session.folder, 'go');
  model.play([terminal({ action: 'start', command: `mkfifo go; read line < go; python3 -c '${asks}'`, wait_for: 'got', timeout: 60_000 }), { text: 'It waits for you.' }]);
  await editor.prompt('Log in');
  await panel.locator('.terminal').waitFor();
  await until('the program waits', () => existsSync(go));
  await editor.command('View: Toggle Secondary Side Bar Visibility');
  await session.page.locator('iframe.webview').first().waitFor({ state: 'hidden' });
  writeFileSync(go, '\n');
  const toast = session.page.locator('.notification-toast', { hasText: 'asks for a password' });
  await toast.getByRole('button', { name: 'Show' }).click();
  const field = panel.getByLabel('Password:');
  await field.waitFor();
  await until('the field has the keys', () => field.evaluate(node => node === document.activeElement));
});

story('what runs is listed, typed into, given another size and stopped from the list', async (editor, panel) => {
  model.play([
    terminal({ action: 'start', command: 'cat', quiet: 100 }),
    { calls: [{ name: 'Bash', input: { command: 'sleep 4243', description: 'wait', run_in_background: true } }] },
    { text: 'Both run.' },
  ]);
  await editor.prompt('Start them');
  await panel.locator('.agent', { hasText: 'Both run.' }).waitFor();
  await editor.idle();
  const row = text => session.page.locator('.quick-input-list .monaco-list-row', { hasText: text });
  const input = session.page.locator('.quick-input-widget input').first();
  const act = async (text, button) => {
    await row(text).waitFor();
    await row(text).hover();
    await row(text).getByRole('button', { name: button }).or(row(text).locator(`[aria-label="${button}"]`)).first().click();
  };
  await editor.command('Copydesk: Show Running Programs');
  await act('term-1 · running', 'Type a line');
  await session.page.locator('.quick-input-title', { hasText: 'Type into term-1' }).waitFor();
  await input.fill('from the list');
  await input.press('Enter');
  await panel.locator('.output', { hasText: /from the list\s+from the list/ }).waitFor({ state: 'attached' });

  await editor.command('Copydesk: Show Running Programs');
  await act('term-1 · running', 'Set the size');
  await until('the size is offered', async () => (await input.inputValue()) === '80×24');
  await input.fill('wide');
  const refusal = session.page.locator('.quick-input-message', { hasText: 'Two numbers' });
  await refusal.waitFor();
  await input.fill('100x30');
  await refusal.waitFor({ state: 'hidden' });
  await input.press('Enter');
  await editor.command('Copydesk: Show Running Programs');
  await act('term-1 · running', 'Set the size');
  await until('the new size is known', async () => (await input.inputValue()) === '100×30');
  await input.press('Escape');

  await editor.command('Copydesk: Show Running Programs');
  await shot('running-programs');
  await act('job-1 · running', 'Stop');
  await row('job-1 · stop').waitFor();
  await row('term-1 · running').click();
  await until('its output is in a tab', async () => /from the list/.test(await editor.text().catch(() => '')));
});
