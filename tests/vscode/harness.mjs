// A real VS Code for one test: code-server with the packaged extension, a folder, a browser page.
// Everything it starts and writes is gone when `close` has returned.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { chromium } from 'playwright-core';

const here = import.meta.dirname;
const root = join(here, '..', '..');
const cache = process.env.COPYDESK_TEST_CACHE ?? join(here, '..', '.cache');
const codeServer = join(cache, 'vscode', 'code-server');
const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
export const artifacts = join(here, 'artifacts');
export const realServer = process.env.COPYDESK_BIN ?? join(root, 'target', 'debug', 'copydesk');
export const fakeServer = join(here, 'fake-server.mjs');
export const PATIENCE = 30_000;

/**
 * A folder of installed extensions with ours in it; `run.mjs` makes one for all files and names it
 * in the environment.
 */
export function installedExtension() {
  if (process.env.COPYDESK_TEST_EXTENSIONS) return process.env.COPYDESK_TEST_EXTENSIONS;
  for (const needed of [codeServer, chromiumPath]) {
    if (!existsSync(needed)) throw new Error(`${needed} is missing; run tests/setup first`);
  }
  const dir = mkdtempSync(join(tmpdir(), 'copydesk-ext-'));
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
  const extension = join(root, 'vscode-extension');
  if (!existsSync(join(extension, 'node_modules'))) execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: extension, stdio: 'pipe' });
  // Without the binary inside: each test says which server it wants.
  const vsix = join(dir, 'copydesk.vsix');
  execFileSync(process.execPath, ['package.mjs', '--no-server', vsix], { cwd: extension, stdio: 'pipe' });
  execFileSync(codeServer, ['--config', join(dir, 'config.yaml'), '--user-data-dir', join(dir, 'user'), '--extensions-dir', join(dir, 'extensions'), '--install-extension', vsix], { stdio: 'pipe' });
  process.env.COPYDESK_TEST_EXTENSIONS = join(dir, 'extensions');
  return process.env.COPYDESK_TEST_EXTENSIONS;
}

async function freePort() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

export async function until(what, condition, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${patience} ms in vain: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

const QUIET = {
  'files.autoSave': 'off',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'chat.disableAIFeatures': true,
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'editor.minimap.enabled': false,
  'editor.acceptSuggestionOnEnter': 'off',
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.wordBasedSuggestions': 'off',
  'editor.autoClosingBrackets': 'never',
  'editor.autoIndent': 'none',
  'files.hotExit': 'off',
  'security.workspace.trust.enabled': false,
  'window.title': '${dirty}${activeEditorShort}',
};

/**
 * One code-server and one browser page. `server`: the program to run. `settings`: more settings of
 * the person. `env`: for the editor and with it for the server. `files` (path → text), `open` (the
 * file to show): the folder of `openFolder`, which can be called again for another.
 */
export async function openEditor({ files = {}, server = realServer, settings = {}, env = {}, theme = 'Default Dark Modern', size = { width: 1280, height: 900 }, open } = {}) {
  const extensionsDir = installedExtension();
  const dir = mkdtempSync(join(tmpdir(), 'copydesk-vscode-'));
  const machine = Object.fromEntries(Object.entries({ 'copydesk.server.path': server, ...settings }).filter(([key]) => key.startsWith('copydesk.')));
  const person = { ...QUIET, 'workbench.colorTheme': theme, ...Object.fromEntries(Object.entries(settings).filter(([key]) => !key.startsWith('copydesk.'))) };
  for (const [scope, values] of [['User', person], ['Machine', machine]]) {
    mkdirSync(join(dir, 'user', scope), { recursive: true });
    writeFileSync(join(dir, 'user', scope, 'settings.json'), JSON.stringify(values));
  }
  const port = await freePort();
  // Its own home: no configuration or session of whoever runs the tests is read or written.
  const home = join(dir, 'home');
  mkdirSync(home);
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:XDG_|COPYDESK_|VSCODE_)|_API_KEY$/.test(name)));
  const args = ['--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--config', join(dir, 'config.yaml'), '--user-data-dir', join(dir, 'user'), '--extensions-dir', extensionsDir, '--disable-telemetry', '--disable-update-check', '--disable-workspace-trust', '--disable-getting-started-override'];
  const host = spawn(codeServer, args, { env: { ...inherited, HOME: home, ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let log = '';
  for (const stream of [host.stdout, host.stderr]) stream.on('data', data => (log += data));
  let browser;
  const close = async () => {
    await browser?.close().catch(() => undefined);
    if (host.exitCode === null && host.signalCode === null) {
      const ended = once(host, 'exit');
      process.kill(-host.pid, 'SIGTERM');
      const late = setTimeout(() => process.kill(-host.pid, 'SIGKILL'), 5_000);
      await ended;
      clearTimeout(late);
    }
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await until('code-server listens', () => /HTTP server listening/.test(log) || (host.exitCode !== null && Promise.reject(new Error(log))));
    browser = await chromium.launch({ executablePath: chromiumPath, headless: true, env: { ...inherited, HOME: home }, args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
    const page = await (await browser.newContext({ viewport: size })).newPage();
    page.setDefaultTimeout(PATIENCE);
    // Leaving a folder with unsaved text is what tests do.
    page.on('dialog', dialog => void dialog.accept().catch(() => undefined));
    const editor = new Editor(page);
    let folders = 0;
    const session = {
      editor,
      page,
      close,
      folder: '',
      get panel() {
        return editor.panel;
      },
      async openFolder({ files: contents = {}, open: shown } = {}) {
        folders += 1;
        session.folder = join(dir, `work-${folders}`);
        mkdirSync(session.folder);
        for (const [name, text] of Object.entries(contents)) {
          mkdirSync(dirname(join(session.folder, name)), { recursive: true });
          writeFileSync(join(session.folder, name), text);
        }
        const payload = shown ? `&payload=${encodeURIComponent(JSON.stringify([['openFile', `vscode-remote://127.0.0.1:${port}${join(session.folder, shown)}`]]))}` : '';
        await page.goto('about:blank');
        await page.goto(`http://127.0.0.1:${port}/?folder=${session.folder}${payload}`);
        await page.locator('.monaco-workbench').waitFor();
        if (shown) await page.locator('.editor-instance .view-lines').first().waitFor();
      },
    };
    await session.openFolder({ files, open });
    return session;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Runs `body` in an editor of its own; a failure tells what could be seen. */
export async function withEditor(options, body) {
  const session = await openEditor(options);
  try {
    await seen(session, () => body(session));
  } finally {
    await session.close();
  }
}

/** Runs `body`; a failure leaves a picture and says in words what the window and the panel showed. */
export async function seen({ page, panel }, body) {
  try {
    return await body();
  } catch (error) {
    mkdirSync(artifacts, { recursive: true });
    const picture = join(artifacts, `failure-${Date.now()}.png`);
    await page.screenshot({ path: picture }).catch(() => undefined);
    const words = async (part, what) => `${part}: ${await what.catch(problem => problem.message.split('\n')[0])}`;
    const visible = locator => locator.evaluate(node => node.innerText.slice(-1_500), { timeout: 2_000 });
    error.message += `\n${[
      `picture: ${picture}`,
      await words('keys go to', page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.className}`)),
      await words('quick input', visible(page.locator('.quick-input-widget').first())),
      await words('notifications', visible(page.locator('.notifications-toasts'))),
      await words('panel', visible(panel.locator('body'))),
    ].join('\n')}`;
    throw error;
  }
}

class Editor {
  constructor(page) {
    this.page = page;
  }

  /** The panel's own document. */
  get panel() {
    return this.page.frameLocator('iframe.webview').first().frameLocator('#active-frame');
  }

  /** Runs a command of the palette by its full name. */
  async command(name, patience = PATIENCE) {
    // The list does not grow when a command is registered late, so it is opened anew.
    await until(`the command ${name}`, async () => {
      try {
        await this.page.keyboard.press('F1');
        const input = this.page.locator('.quick-input-widget input').first();
        await input.waitFor({ timeout: 2_000 });
        await input.fill(`>${name}`);
        const row = this.page.locator('.quick-input-list .monaco-list-row').filter({ hasText: name }).first();
        await row.waitFor({ timeout: 2_000 });
        await row.click({ timeout: 2_000 });
        return true;
      } catch (error) {
        if (this.page.isClosed()) throw error;
        await this.page.keyboard.press('Escape');
        // The page of a panel that is just being replaced keeps the keys to itself.
        await this.page.evaluate(() => document.activeElement?.blur());
        return false;
      }
    }, patience);
  }

  /** Opens the chat; the extension is activated by that. */
  async openChat() {
    await this.command('Copydesk: Focus Chat');
    await this.panel.locator('#prompt').waitFor();
  }

  async prompt(text) {
    const input = this.panel.locator('#prompt');
    await input.fill(text);
    await input.press('Enter');
  }

  /** Puts the cursor into the text and types; `at` is one of `start` and `end`. */
  async type(text, at = 'end') {
    await this.page.locator('.editor-instance .view-lines').first().click();
    await this.page.keyboard.press(at === 'end' ? 'Control+End' : 'Control+Home');
    await this.page.keyboard.type(text);
  }

  /** Makes the panel start anew, as a move to another side bar does, and waits for the new one. */
  async reloadPanel() {
    await this.panel.locator('body').evaluate(body => body.setAttribute('data-old', ''));
    await this.command('Developer: Reload Webviews');
    await this.panel.locator('body:not([data-old]) #prompt').waitFor();
  }

  /** Replaces the text of the open editor, as a person who pastes. */
  async setText(text) {
    await this.page.locator('.editor-instance .view-lines').first().click();
    await this.page.keyboard.press('Control+a');
    await this.page.keyboard.insertText(text);
    await until('the text is there', async () => (await this.text()) === text);
  }

  /** Answers every request with the option of a kind until something holds. */
  async answerUntil(kind, condition) {
    const option = this.panel.locator(`.permission button[data-kind=${kind}]`).first();
    await until('the turn goes on', async () => {
      if ((await option.count()) > 0) await option.click({ timeout: 2_000 }).catch(() => undefined);
      return condition();
    });
  }

  /** The text of the open editor as it is drawn. */
  async text() {
    const lines = await this.page.locator('.editor-instance .view-line').evaluateAll(nodes =>
      nodes
        .map(node => [node.getBoundingClientRect().top, node.textContent.replaceAll('\u00a0', ' ')])
        .sort((a, b) => a[0] - b[0])
        .map(([, text]) => text),
    );
    return lines.join('\n');
  }

  /** Whether the tab shows unsaved text. */
  async dirty() {
    return (await this.page.locator('.tabs-container .tab.dirty').count()) > 0;
  }

  async idle() {
    await this.panel.locator('main.panel:not(.busy)').waitFor();
  }
}
