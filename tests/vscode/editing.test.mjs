// The editor's side of an edit: what `workspace/applyEdit` and `copydesk/editor/save` do to real
// documents, and what the server is told of them.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { fakeServer, until, withEditor } from './harness.mjs';

const at = (line, character, newText, length = 0) => ({ range: { start: { line, character }, end: { line, character: character + length } }, newText });

test('edits of open, closed, untitled and new documents', t =>
  withEditor({ server: fakeServer, files: { 'open.txt': 'open\r\nsecond\r\n', 'closed.txt': 'closed\n', 'locked.txt': 'locked\n' }, open: 'open.txt' }, async session => {
    const { editor, page, panel } = session;
    const path = name => join(session.folder, name);
    const uri = name => pathToFileURL(path(name)).href;
    const disk = name => readFileSync(path(name), 'utf8');
    const tabs = page.locator('.tabs-container .tab');
    const answer = async prompt => {
      const before = await panel.locator('.agent').count();
      await editor.prompt(prompt);
      await until('an answer', async () => (await panel.locator('.agent').count()) > before);
      return panel.locator('.agent').last().textContent();
    };
    const apply = (...documentChanges) => answer(`apply ${JSON.stringify({ documentChanges })}`);
    const text = (name, version, ...edits) => ({ textDocument: { uri: name.includes(':') ? name : uri(name), version }, edits });
    chmodSync(path('locked.txt'), 0o444);
    await editor.openChat();

    await t.test('an open document changes in the buffer alone, line endings kept', async () => {
      assert.equal(await apply(text('open.txt', 'now', at(1, 0, 'new\n'), at(0, 4, '!'))), 'applied');
      assert.equal(await editor.text(), 'open!\nnew\nsecond\n');
      assert.equal(disk('open.txt'), 'open\r\nsecond\r\n');
    });

    await t.test('saving writes what the buffer holds, and what cannot be saved says why', async () => {
      assert.equal(await answer(`save ${uri('open.txt')}`), 'saved');
      assert.equal(disk('open.txt'), 'open!\r\nnew\r\nsecond\r\n');
      assert.equal(await answer(`save ${uri('closed.txt')}`), 'not saved: not open');
    });

    await t.test('nothing is touched when any document of an edit is stale', async () => {
      const said = await apply(text('open.txt', 'now', at(0, 0, 'A')), text('open.txt', 1, at(0, 0, 'B')));
      assert.match(said, /^refused 1: .*open\.txt is at version \d+, the edit was made for version 1/);
      assert.equal(await editor.text(), 'open!\nnew\nsecond\n');
      assert.ok(!(await editor.dirty()));
    });

    await t.test('a range outside the document is refused', async () => {
      assert.match(await apply(text('open.txt', 'now', at(40, 0, 'x'))), /^refused 0: .*no such range/);
    });

    await t.test('a closed file is changed on disk and no tab opens', async () => {
      assert.match(await apply(text('closed.txt', 'now', at(0, 0, 'x'))), /^refused 0: .*is not open/);
      assert.equal(await apply(text('closed.txt', null, at(0, 0, 'still '))), 'applied');
      assert.equal(disk('closed.txt'), 'still closed\n');
      assert.equal(await tabs.count(), 1);
    });

    await t.test('a file is created with its text, never over another', async () => {
      assert.equal(await apply({ kind: 'create', uri: uri('new/a.txt') }, text('new/a.txt', null, at(0, 0, 'made\n'))), 'applied');
      await until('it is on disk', () => existsSync(path('new/a.txt')) && disk('new/a.txt') === 'made\n');
      assert.match(await apply({ kind: 'create', uri: uri('closed.txt'), options: { overwrite: true } }), /^refused 0: .*already there/);
      assert.match(await apply({ kind: 'rename', oldUri: uri('new/a.txt'), newUri: uri('closed.txt') }), /^refused 0: .*already there/);
      assert.equal(disk('closed.txt'), 'still closed\n');
    });

    await t.test('a document with unsaved text is not deleted, and a read-only file is not changed', async () => {
      await editor.type('mine', 'end');
      assert.match(await apply({ kind: 'delete', uri: uri('open.txt') }), /^refused 0: .*unsaved text/);
      assert.ok(existsSync(path('open.txt')));
      assert.match(await apply(text('locked.txt', null, at(0, 0, 'x'))), /^refused 0: .*read-only/);
      assert.equal(disk('locked.txt'), 'locked\n');
    });

    await t.test('an untitled document changes and stays untitled', async () => {
      await editor.command('Create: New File...');
      await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Text File' }).first().click();
      await page.locator('.tab.active', { hasText: 'Untitled' }).waitFor();
      await page.keyboard.type('draft');
      await until('the text is there', async () => (await editor.text()).includes('draft'));
      assert.equal(await apply(text('untitled:Untitled-1', 'now', at(0, 0, 'first '))), 'applied');
      await until('the text is changed', async () => (await editor.text()) === 'first draft');
      assert.equal(await answer('save untitled:Untitled-1'), 'not saved: untitled: it has no file yet');
    });

    await t.test('the server is told what only the editor knows', async () => {
      const state = await until('the state', async () => {
        const told = JSON.parse(await answer('state'));
        return told.documents.length >= 2 && told;
      });
      const open = state.documents.find(document => document.uri === uri('open.txt'));
      assert.deepEqual({ ...open, version: 0 }, { uri: uri('open.txt'), version: 0, dirty: true, encoding: 'utf-8', bom: false, eol: 'crlf', finalNewline: false, readOnly: false });
      const untitled = state.documents.find(document => document.uri === 'untitled:Untitled-1');
      assert.equal(untitled.dirty, true);
      assert.equal(state.active.uri, 'untitled:Untitled-1');
    });
  }));
