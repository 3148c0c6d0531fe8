// Packages and installs the extension once, then runs the test files named, or all.
// Usage: node run.mjs [FILE.test.mjs…]
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { installedExtension } from './harness.mjs';

const here = import.meta.dirname;
const files = process.argv.length > 2 ? process.argv.slice(2) : readdirSync(here).filter(file => file.endsWith('.test.mjs'));
installedExtension();
const tests = spawn(process.execPath, ['--test', '--test-concurrency=2', '--test-reporter=spec', ...files], { cwd: here, stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => tests.kill(signal));
tests.on('exit', (code, signal) => process.exit(signal ? 1 : code));
