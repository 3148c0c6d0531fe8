// Builds the two bundles (extension host, webview) and, with --tests, the unit tests.
import { context, build } from 'esbuild';
import { readdirSync } from 'node:fs';

const production = process.argv.includes('--production');
const common = {
  bundle: true,
  minify: production,
  sourcemap: production ? false : 'linked',
  logLevel: 'warning',
  legalComments: 'none',
  loader: { '.svg': 'text' },
};
const targets = process.argv.includes('--tests')
  ? [
      {
        ...common,
        entryPoints: readdirSync('test').filter(f => f.endsWith('.test.ts')).map(f => `test/${f}`),
        outdir: 'dist/test',
        platform: 'node',
        target: 'node20',
        format: 'cjs',
        external: ['happy-dom'],
      },
    ]
  : [
      { ...common, entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js', platform: 'node', target: 'node20', format: 'cjs', external: ['vscode'] },
      { ...common, entryPoints: { webview: 'src/webview/main.ts' }, outdir: 'dist', platform: 'browser', target: 'es2022', format: 'iife' },
      { ...common, entryPoints: { style: 'src/webview/style.css' }, outdir: 'dist' },
    ];

for (const target of targets) {
  if (process.argv.includes('--watch')) await (await context(target)).watch();
  else await build(target);
}
