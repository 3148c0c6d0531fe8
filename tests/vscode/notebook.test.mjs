// A notebook in a real VS Code: its cells are changed where they are shown, what is saved
// differs in nothing else, and all of it can be rejected.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Model } from './model.mjs';
import { until, withEditor } from './harness.mjs';

const code = (id, source, outputs = [], count = null) => ({ cell_type: 'code', execution_count: count, id, metadata: { tags: ['kept'] }, outputs, source });
const text = (id, source) => ({ cell_type: 'markdown', id, metadata: {}, source });
const notebook = cells => `${JSON.stringify({ cells, metadata: { language_info: { name: 'python' } }, nbformat: 4, nbformat_minor: 5 }, null, 1)}\n`;
const printed = [{ name: 'stdout', output_type: 'stream', text: ['1\n'] }];
const edit = (input = {}) => ({ name: 'NotebookEdit', input: { notebook_path: 'n.ipynb', ...input } });
const source = cell => [cell.source].flat().join('');

test('cells of an open notebook are replaced, inserted and deleted', async () => {
  const model = await Model.start();
  const files = { 'n.ipynb': notebook([code('one', ['print(1)'], printed, 4), text('two', ['# Title']), text('three', ['The end'])]) };
  try {
    await withEditor({ files, settings: model.settings }, async session => {
      const { editor, page } = session;
      const disk = () => JSON.parse(readFileSync(join(session.folder, 'n.ipynb'), 'utf8'));
      // The notebook draws its outputs in a webview of its own, so the panel is found by what it shows.
      const panel = () =>
        until('the panel', async () => {
          for (const frame of page.frames()) if ((await frame.locator('#prompt').count().catch(() => 0)) > 0) return frame;
          return undefined;
        });
      // Until its extensions are known the editor takes a notebook for text.
      await editor.command('Copydesk: Focus Chat');
      const chat = await panel();
      await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'n.ipynb' }).dblclick();
      await page.locator('.notebookOverlay .cell-list-container .view-lines', { hasText: 'print(1)' }).waitFor();
      const tabs = page.locator('.tabs-container .tab');
      model.play([
        { calls: [{ name: 'Read', input: { file_path: 'n.ipynb' } }] },
        { calls: [edit({ cell_id: 'one', new_source: 'print(2)\nprint(3)' })] },
        { calls: [edit({ cell_id: 'one', new_source: 'x = 1', cell_type: 'code', edit_mode: 'insert' })] },
        { calls: [edit({ cell_id: 'two', edit_mode: 'delete' })] },
        { text: 'The notebook is changed.' },
      ]);
      await chat.locator('#prompt').fill('change it');
      await chat.locator('#prompt').press('Enter');
      await until('the turn ends', async () => {
        const allow = chat.locator('.permission').getByRole('button', { name: /^Allow once/ }).first();
        if ((await allow.count()) > 0) await allow.click({ timeout: 2_000 }).catch(() => undefined);
        return (await chat.locator('.agent', { hasText: 'The notebook is changed.' }).count()) > 0;
      });
      const told = model.toolResults().join('\n');
      assert.match(told, /Replaced the cell one/);
      assert.match(told, /Deleted the cell two/);
      assert.equal(await tabs.count(), 1, 'no tab opens');
      const save = async () => {
        await page.locator('.tabs-container .tab').first().click();
        await editor.command('File: Save');
      };
      await save();
      const saved = await until('the notebook is saved', () => {
        const now = disk();
        return now.cells.length === 3 && source(now.cells[1]) === 'x = 1' && now;
      });
      assert.deepEqual(saved.cells.map(source), ['print(2)\nprint(3)', 'x = 1', 'The end']);
      const { id, metadata, outputs, execution_count } = saved.cells[0];
      assert.deepEqual({ id, metadata, outputs, execution_count }, { id: 'one', metadata: { tags: ['kept'] }, outputs: [], execution_count: null });
      assert.deepEqual(saved.cells[2], disk().cells[2]);
      // All of it can be rejected.
      await chat.getByRole('button', { name: 'Reject all' }).click();
      await until('the cells are as they were', async () => {
        await save();
        return disk().cells.map(source).join('|') === 'print(1)|# Title|The end';
      });
      assert.equal(disk().cells[0].id, 'one');
    });
  } finally {
    await model.close();
  }
});
