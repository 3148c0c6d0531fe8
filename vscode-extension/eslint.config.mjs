import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'src/protocol.ts'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { project: ['./tsconfig.json', './src/webview/tsconfig.json'], tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      'no-restricted-properties': ['error', { property: 'innerHTML', message: 'Build nodes; never parse HTML.' }, { property: 'outerHTML' }, { property: 'insertAdjacentHTML' }],
      eqeqeq: 'error',
    },
  },
  { files: ['**/*.mjs'], ...tseslint.configs.disableTypeChecked },
  {
    // A test may read back what the renderer produced, and floating test() promises are the runner's.
    files: ['test/**'],
    rules: { 'no-restricted-properties': 'off', '@typescript-eslint/no-floating-promises': 'off' },
  },
);
