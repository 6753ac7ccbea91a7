import { readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, isAbsolute } from 'node:path';
import { defineConfig } from 'tsup';

// tsup puts `"use strict";…` before `"use client"` in the CJS file, where it is no directive any more.
async function moveClientDirectiveFirst() {
  const file = 'dist/react.cjs';
  const code = await readFile(file, 'utf8');
  const rest = code.replace(/["']use client["'];?/, '');
  await writeFile(file, `'use client';${rest}`);
}

// tsup lists the built CJS file among the sources of its own map, by its path on this machine.
async function forgetPaths() {
  for (const name of await readdir('dist', { recursive: true })) {
    if (!name.endsWith('.cjs.map')) continue;
    const map = JSON.parse(await readFile(`dist/${name}`, 'utf8'));
    map.file = basename(map.file ?? '');
    map.sources = map.sources.map((path) => (isAbsolute(path) ? basename(path) : path));
    await writeFile(`dist/${name}`, JSON.stringify(map));
  }
}

const entry = {
  index: 'src/index.ts',
  'ag-ui': 'src/ag-ui/index.ts',
  'agent-provider': 'src/agent-provider/index.ts',
  'ag-kit': 'src/ag-kit/index.ts',
  react: 'src/react/index.ts',
  server: 'src/server/index.ts',
  'server/conformance': 'src/server/conformance/index.ts',
  'server/redis': 'src/server/redis.ts',
};

export default defineConfig({
  // `client` is no public entry: it keeps partysocket out of `index.js` itself, so that who takes
  // RunSocketError alone does not get a socket with it.
  entry: { ...entry, client: 'src/client/websocket-client.ts' },
  format: ['esm', 'cjs'],
  target: 'es2022',
  platform: 'neutral',
  dts: { entry },
  splitting: true,
  sourcemap: true,
  clean: true,
  external: ['react', 'zod'],
  async onSuccess() {
    await moveClientDirectiveFirst();
    await forgetPaths();
  },
});
