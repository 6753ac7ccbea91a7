import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from './consumer.ts';

const dist = join(root, 'dist');
const directive = /^(['"])use client\1/;

const read = (name: string) => readFile(join(dist, name), 'utf8');

async function listCode(): Promise<string[]> {
  return (await readdir(dist)).filter((name) => /\.c?js$/.test(name));
}

describe("'use client'", () => {
  it.each(['react.js', 'react.cjs'])('is the very first thing in %s', async (name) => {
    expect(await read(name)).toMatch(directive);
  });

  it('begins every file that React code landed in', async () => {
    const users: string[] = [];
    for (const name of await listCode()) {
      const code = await read(name);
      if (!/(from|require\(|import)\s*['"]react(\/[\w-]+)?['"]/.test(code)) continue;
      users.push(name);
      expect(code, name).toMatch(directive);
    }
    expect(users).toEqual(expect.arrayContaining(['react.cjs', 'react.js']));
  });

  it('is in no file that a server component may import', async () => {
    for (const name of ['index.js', 'index.cjs', 'ag-ui.js', 'ag-ui.cjs']) {
      expect(await read(name), name).not.toMatch(/(['"])use client\1|['"]react['"]/);
    }
  });
});

it('needs the global of no module system in ESM files', async () => {
  for (const name of await listCode()) {
    if (name.endsWith('.cjs')) continue;
    expect(await read(name), name).not.toMatch(/\brequire\(|\bmodule\.exports\b|__dirname/);
  }
});
