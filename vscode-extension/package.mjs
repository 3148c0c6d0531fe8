// Makes the VSIX. The server goes in as bin/copydesk if it has been built: $COPYDESK_BIN, else
// the release, else the debug build of this repository; not with --no-server.
// Usage: node package.mjs [--no-server] [FILE.vsix]
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createVSIX } from '@vscode/vsce';

const here = import.meta.dirname;
const exe = process.platform === 'win32' ? '.exe' : '';
const bare = process.argv.includes('--no-server');
const binary = bare ? undefined : [process.env.COPYDESK_BIN, join(here, '..', 'target', 'release', `copydesk${exe}`), join(here, '..', 'target', 'debug', `copydesk${exe}`)].find(file => file && existsSync(file));
rmSync(join(here, 'bin'), { recursive: true, force: true });
if (binary) {
  mkdirSync(join(here, 'bin'));
  copyFileSync(binary, join(here, 'bin', `copydesk${exe}`));
  chmodSync(join(here, 'bin', `copydesk${exe}`), 0o755);
}
for (const name of readdirSync(join(here, '..')).filter(file => file.startsWith('LICENSE'))) copyFileSync(join(here, '..', name), join(here, name));
const { version } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
const packagePath = process.argv.slice(2).find(arg => arg.endsWith('.vsix')) ?? join(here, `copydesk-${version}.vsix`);
const platform = { linux: 'linux', darwin: 'darwin', win32: 'win32' }[process.platform];
await createVSIX({ cwd: here, packagePath, dependencies: false, skipLicense: true, target: binary && platform ? `${platform}-${process.arch}` : undefined });
console.log(`${packagePath} ${Math.round(statSync(packagePath).size / 1024)} KB ${binary ? `with ${binary}` : 'without the server'}`);
