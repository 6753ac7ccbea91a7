import { readFile, writeFile } from 'node:fs/promises';
import { defineConfig } from 'tsup';

// tsup puts `"use strict";…` before `"use client"` in the CJS file, where it is no directive any more.
async function moveClientDirectiveFirst() {
  const file = 'dist/react.cjs';
  const code = await readFile(file, 'utf8');
  const rest = code.replace(/["']use client["'];?/, '');
  await writeFile(file, `'use client';${rest}`);
}

export default defineConfig({
  entry: { index: 'src/index.ts', 'ag-ui': 'src/ag-ui/index.ts', react: 'src/react/index.ts' },
  format: ['esm', 'cjs'],
  target: 'es2022',
  platform: 'neutral',
  dts: true,
  splitting: true,
  sourcemap: true,
  clean: true,
  external: ['react'],
  onSuccess: moveClientDirectiveFirst,
});
