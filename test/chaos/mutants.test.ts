import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mutants } from './mutants/list.ts';
import { countOf, makeTable, placeTable } from './mutants/table.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** The text of a test, and of what its folder registers tests with. */
function textAround(file: string): string {
  const folder = dirname(file);
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => read(`${folder}/${name}`))
    .concat(read(file))
    .join('\n')
    .replaceAll('\\', '');
}

describe('the list of removed rules', () => {
  it('has many, each under a name of its own', () => {
    expect(mutants.length).toBeGreaterThan(100);
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
    for (const { name } of mutants) expect(name).toMatch(/^[a-z0-9-]+$/);
  });

  it('finds each rule once in its file, and removes it', () => {
    const rotten = mutants.filter(
      ({ file, find, replace }) => countOf(read(file), find) !== 1 || replace === find,
    );
    expect(rotten.map(({ name }) => name)).toEqual([]);
  });

  it('names tests that there are', () => {
    const unguarded = mutants.filter(
      ({ killers }) =>
        !killers.length ||
        killers.some(
          ([file, title]) => !existsSync(join(root, file)) || !textAround(file).includes(title),
        ),
    );
    expect(unguarded.map(({ name }) => name)).toEqual([]);
  });

  it('stands in the README as it is', () => {
    const readme = read('test/chaos/README.md');
    expect(placeTable(readme, makeTable(mutants))).toBe(readme);
  });
});
