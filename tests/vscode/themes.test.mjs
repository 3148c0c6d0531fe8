// The panel in the four themes: no violations by axe, and a screenshot of each to look at.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { artifacts, fakeServer, openEditor } from './harness.mjs';

/** File name → the theme's label and the class the panel gets. */
const THEMES = {
  dark: ['Dark Modern', 'vscode-dark'],
  light: ['Light Modern', 'vscode-light'],
  'hc-dark': ['Dark High Contrast', 'vscode-high-contrast'],
  'hc-light': ['Light High Contrast', 'vscode-high-contrast-light'],
};
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

test('the panel in four themes', async t => {
  mkdirSync(artifacts, { recursive: true });
  const { editor, page, panel, close } = await openEditor({
    server: fakeServer,
    files: { 'hello.js': "function hello() {\n  return 'hello world';\n}\n" },
    open: 'hello.js',
    size: { width: 1300, height: 1300 },
  });
  try {
    await editor.openChat();
    await page.screenshot({ path: join(artifacts, 'empty.png') });
    await editor.prompt('show me everything');
    await panel.locator('.permission').waitFor();
    await panel.locator('.password:visible').scrollIntoViewIfNeeded();
    await panel.locator('.typing:visible').waitFor();
    for (const [name, [theme, bodyClass]] of Object.entries(THEMES)) {
      await t.test(theme, async () => {
        await editor.command('Preferences: Color Theme');
        await page.locator('.quick-input-widget input').first().fill(theme);
        await page.locator('.quick-input-list .monaco-list-row', { hasText: theme }).first().click();
        await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
        await panel.locator(`body.${bodyClass}`).waitFor();
        await page.screenshot({ path: join(artifacts, `${name}.png`) });
        const violations = await panel.locator('body').evaluate(async (_body, source) => {
          // The page's policy forbids foreign scripts; this one is the test's own.
          (0, eval)(source);
          // The panel lets its container show through, which axe cannot see.
          document.body.style.background = 'var(--vscode-sideBar-background)';
          const result = await globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] });
          return result.violations.map(v => `${v.id}: ${v.nodes.map(n => `${n.target} ${n.failureSummary}`).slice(0, 3).join(' | ')}`);
        }, AXE);
        assert.deepEqual(violations, []);
      });
    }
  } finally {
    await close();
  }
});
