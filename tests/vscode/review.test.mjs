// Review in a real VS Code with the real server: hunks in the buffer, decisions from lens, command,
// panel and peek, undo, comparing, and what a closed view and a reload leave pending.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { artifacts, openEditor, seen, until } from './harness.mjs';
import { Model } from './model.mjs';

const BEFORE = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n';
const AFTER = 'ONE\ntwo\nthree\nFOUR\nfive\nsix\nSEVEN\n';
const rewrite = (name, text) => [
  { calls: [{ name: 'Read', input: { file_path: name } }] },
  { calls: [{ name: 'Write', input: { file_path: name, content: text } }] },
  { text: 'Rewritten.' },
];
let model;
let session;

before(async () => {
  mkdirSync(artifacts, { recursive: true });
  model = await Model.start();
  session = await openEditor({ settings: { ...model.settings, 'copydesk.mode': 'edit' }, size: { width: 1400, height: 900 } });
});

after(async () => {
  await session?.close();
  await model?.close();
});

/** A test in a folder of its own, after the agent rewrote `a.txt`. */
function story(name, body, { text = BEFORE, after: wanted = AFTER, steps = rewrite('a.txt', wanted) } = {}) {
  test(name, async () => {
    await session.openFolder({ files: { 'a.txt': text }, open: 'a.txt' });
    const { editor, page, panel } = session;
    const lens = (title, nth) => page.locator('.codelens-decoration a', { hasText: title }).nth(nth);
    const lenses = count => until(`${count} lenses`, async () => (await page.locator('.codelens-decoration').count()) === count);
    const pending = count =>
      until(`${count} pending`, async () => {
        const bar = panel.locator('.review');
        if (count === 0) return !(await bar.isVisible());
        return (await bar.isVisible()) && (await bar.textContent()).startsWith(`${count} change`);
      });
    const holds = expected => until(`the text is ${JSON.stringify(expected)}`, async () => (await editor.text()) === expected);
    await seen(session, async () => {
      model.play(steps);
      await editor.openChat();
      await editor.prompt('rewrite it');
      await panel.locator('.agent', { hasText: 'Rewritten.' }).waitFor();
      await editor.idle();
      await holds(wanted);
      await body({ editor, page, panel, lens, lenses, pending, holds, disk: () => readFileSync(join(session.folder, 'a.txt'), 'utf8') });
    });
  });
}

story('hunks are accepted, rejected and brought back one by one, beside typing', async ({ editor, page, lens, lenses, pending, holds, disk }) => {
  await pending(3);
  await lenses(3);
  await page.screenshot({ path: join(artifacts, 'review.png') });
  await editor.type('typed', 'end');
  await lens('Accept', 0).click();
  await pending(2);
  await lenses(2);
  await lens('Reject', 0).click();
  await pending(1);
  await holds('ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\ntyped');
  await editor.command('Copydesk: Undo Last Review Decision');
  await pending(2);
  await holds('ONE\ntwo\nthree\nFOUR\nfive\nsix\nSEVEN\ntyped');
  await editor.command('Copydesk: Reject All Changes in File');
  await pending(0);
  await holds('ONE\ntwo\nthree\nfour\nfive\nsix\nseven\ntyped');
  await lenses(0);
  assert.equal(disk(), BEFORE, 'a buffer with the person’s own text is never saved for them');
});

story('from hunk to hunk by keys, round the file, and the one at the cursor is decided on', async ({ editor, page, pending, holds }) => {
  await page.locator('.editor-instance .view-lines').first().click();
  await page.keyboard.press('Control+Home');
  const line = () => page.locator('.editor-status-selection, [id="status.editor.selection"]').first().textContent();
  for (const expected of ['Ln 4', 'Ln 7', 'Ln 1', 'Ln 4']) {
    await page.keyboard.press('Control+k');
    await page.keyboard.press('j');
    await until(`the cursor is at ${expected}`, async () => (await line()).includes(`${expected},`));
  }
  await page.keyboard.press('Control+k');
  await page.keyboard.press('x');
  await pending(2);
  await holds('ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n');
  await page.keyboard.press('Control+k');
  await page.keyboard.press('k');
  await until('the cursor is at the first', async () => (await line()).includes('Ln 1,'));
  await page.keyboard.press('Control+k');
  await page.keyboard.press('a');
  await pending(1);
});

story('a comparison is asked for, and closing it decides nothing', async ({ editor, page, panel, pending, holds, disk }) => {
  assert.equal(await page.locator('.tabs-container .tab').count(), 1, 'nothing opens by itself');
  await editor.command('Copydesk: Compare File with Text Before Changes');
  await page.locator('.tab.active', { hasText: 'a.txt (pending changes)' }).waitFor();
  await page.locator('.monaco-diff-editor .view-line', { hasText: 'seven' }).first().waitFor();
  await page.screenshot({ path: join(artifacts, 'review-compare.png') });
  await editor.command('View: Close Editor');
  await pending(3);
  await panel.getByRole('button', { name: 'Compare' }).click();
  await page.locator('.tab.active', { hasText: 'Pending changes of Copydesk' }).waitFor();
  await page.screenshot({ path: join(artifacts, 'review-compare-all.png') });
  await editor.command('View: Close Editor');
  await pending(3);
  await panel.getByRole('button', { name: 'Accept all' }).click();
  await pending(0);
  await holds(AFTER);
  await until('accepted text is saved where the file was clean', () => disk() === AFTER);
});

story('saving decides nothing, a reload of the window brings pending hunks back; the source control lists them', async ({ editor, page, lens, lenses, pending, holds, disk }) => {
  await page.locator('.editor-instance .view-lines').first().click();
  await page.keyboard.press('Control+s');
  await until('it is saved', () => disk() === AFTER);
  await pending(3);
  await page.reload();
  await page.locator('.editor-instance .view-lines').first().waitFor();
  await editor.openChat();
  await pending(3);
  await lenses(3);
  await page.locator('.activitybar .badge[aria-label^="Source Control"]').first().click();
  const row = page.locator('.scm-view .resource', { hasText: 'a.txt' });
  await row.waitFor();
  await page.screenshot({ path: join(artifacts, 'review-list.png') });
  await lens('Reject', 1).click();
  await pending(2);
  await editor.command('Copydesk: Reject All Pending Changes');
  await pending(0);
  await holds(BEFORE);
  await page.getByRole('button', { name: 'Undo' }).click();
  await pending(2);
});

story(
  'removed lines are said, a removal is decided on from its line',
  async ({ page, lens, lenses, pending, holds }) => {
    await pending(1);
    await lenses(1);
    const notes = () => page.locator('.view-line span').evaluateAll(nodes => nodes.map(node => getComputedStyle(node, '::after').content));
    await until('what went is said', async () => (await notes()).some(note => note.includes('2 lines removed above')));
    await page.screenshot({ path: join(artifacts, 'review-removed.png') });
    await lens('Reject', 0).click();
    await pending(0);
    await holds(BEFORE);
  },
  { after: 'one\ntwo\nfive\nsix\nseven\n' },
);

const MOVE = '*** Begin Patch\n*** Update File: a.txt\n*** Move to: sub/b.txt\n@@\n-seven\n+SEVEN\n*** End Patch\n';

story(
  'a file that is open moves with its tab, is compared under both names, and goes back',
  async ({ editor, page, lenses, pending, holds, disk }) => {
    const tabs = async () => (await page.locator('.tabs-container .tab').allTextContents()).map(it => it.trim());
    await until('the tab has the new name', async () => (await tabs()).join() === 'b.txt');
    await pending(2);
    await lenses(2);
    const notes = () => page.locator('.view-line span').evaluateAll(nodes => nodes.map(node => getComputedStyle(node, '::after').content));
    await until('the old name is said', async () => (await notes()).some(note => note.includes('moved from a.txt')));
    await page.screenshot({ path: join(artifacts, 'review-moved.png') });
    await editor.command('Copydesk: Compare File with Text Before Changes');
    await page.locator('.tab.active', { hasText: 'a.txt → sub/b.txt (pending changes)' }).waitFor();
    await page.locator('.monaco-diff-editor .view-line', { hasText: 'seven' }).first().waitFor();
    await page.screenshot({ path: join(artifacts, 'review-moved-compare.png') });
    await editor.command('View: Close Editor');
    await editor.command('Copydesk: Reject All Pending Changes');
    await pending(0);
    await until('the tab has the old name', async () => (await tabs()).join() === 'a.txt');
    await holds(BEFORE);
    await until('the file is back', () => disk() === BEFORE);
  },
  {
    after: 'one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n',
    steps: [{ calls: [{ name: 'Read', input: { file_path: 'a.txt' } }] }, { calls: [{ name: 'ApplyPatch', input: { patch: MOVE } }] }, { text: 'Rewritten.' }],
  },
);

story('hunks are seen in every theme', async ({ editor, page, panel, lenses, pending }) => {
  await pending(3);
  for (const [name, theme, bodyClass] of [['dark', 'Dark Modern', 'vscode-dark'], ['light', 'Light Modern', 'vscode-light'], ['hc-dark', 'Dark High Contrast', 'vscode-high-contrast'], ['hc-light', 'Light High Contrast', 'vscode-high-contrast-light']]) {
    await editor.command('Preferences: Color Theme');
    await page.locator('.quick-input-widget input').first().fill(theme);
    await page.locator('.quick-input-list .monaco-list-row', { hasText: theme }).first().click();
    await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
    await panel.locator(`body.${bodyClass}`).waitFor();
    await lenses(3);
    const marked = () => page.locator('.view-overlays [class*="ced-"]').evaluateAll(nodes => nodes.filter(node => { const { backgroundColor, borderTopStyle } = getComputedStyle(node); return backgroundColor !== 'rgba(0, 0, 0, 0)' || borderTopStyle !== 'none'; }).length);
    await until(`three changes are marked in ${theme}`, async () => (await marked()) >= 3);
    await page.screenshot({ path: join(artifacts, `review-${name}.png`) });
  }
});
