import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { root } from './consumer.ts';

interface Measured {
  readonly name: string;
  /** In bytes. */
  readonly size: number;
}

const limits = JSON.parse(readFileSync(join(root, '.size-limit.json'), 'utf8')) as readonly {
  readonly name: string;
}[];

let measured: readonly Measured[];
let stated: ReadonlyMap<string, string>;

/** The rows of a document's tables: the first cell, without code marks, and the second one. */
function readRows(name: string): Map<string, string> {
  const path = join(root, name);
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  const rows = lines
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.replaceAll('`', '').trim()));
  return new Map(rows.map(([, first = '', second = '']) => [first, second]));
}

beforeAll(async () => {
  const bin = join(root, 'node_modules/size-limit/bin.js');
  // It ends with 1 where a limit is passed, which is another check's affair.
  const { stdout } = await promisify(execFile)(process.execPath, [bin, '--json'], {
    cwd: root,
  }).catch((error: { readonly stdout: string }) => error);
  measured = JSON.parse(stdout) as Measured[];
  stated = readRows('README.md');
});

describe('the sizes in README.md', () => {
  it.each(limits)('say within 5 % what $name weighs', ({ name }) => {
    const size = measured.find((one) => one.name === name)?.size ?? Number.NaN;
    const now = `${(size / 1000).toFixed(1)} kB`;
    const cell = stated.get(name);
    if (!cell) throw new Error(`README.md has no row: | ${name} | ${now} |`);
    const kilobytes = Number(/^([\d.]+) kB$/.exec(cell)?.[1]);
    const difference = Math.abs(kilobytes * 1000 - size);
    // One decimal cannot be closer than 50 bytes.
    const isNear = difference <= Math.max(size * 0.05, 50);
    expect(isNear, `README.md says ${cell} for ${name}; it weighs ${now}`).toBe(true);
  });
});
