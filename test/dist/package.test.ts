import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { listPackedFiles, root } from './consumer.ts';
import { publicNames } from './public-names.ts';

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

let files: readonly string[];
let manifest: Manifest;

beforeAll(async () => {
  files = await listPackedFiles();
  manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest;
});

/** The strings in a tree of objects. */
function leaves(value: unknown): string[] {
  return typeof value === 'string' ? [value] : Object.values(value as object).flatMap(leaves);
}

describe('the published package', () => {
  it('holds the entries in both formats with types and maps, and the documents', () => {
    const built = Object.keys(publicNames).flatMap((entry) =>
      ['js', 'js.map', 'cjs', 'cjs.map', 'd.ts', 'd.cts'].map((end) => `dist/${entry}.${end}`),
    );
    const documents = [
      'CHANGELOG.md',
      'LICENSE',
      'PROTOCOL.md',
      'README.md',
      'docs/recipes.md',
      'docs/agent-provider.md',
      'docs/server.md',
      'package.json',
    ];
    expect([...documents, ...built].filter((file) => !files.includes(file))).toEqual([]);
  });

  it('holds nothing else but chunks that entries share', () => {
    const others = files.filter(
      (file) =>
        !/^(LICENSE|(CHANGELOG|PROTOCOL|README)\.md|package\.json|docs\/.*)$/.test(file) &&
        !/^dist\/(index|ag-ui|agent-provider|ag-kit|react|client|server(\/\w+)?)\.(js|cjs)(\.map)?$/.test(
          file,
        ) &&
        !/^dist\/server\/\w+\.d\.c?ts$/.test(file) &&
        !/^dist\/chunk-\w+\.(js|cjs)(\.map)?$/.test(file) &&
        !/^dist\/[\w-]+\.d\.c?ts$/.test(file),
    );
    expect(others).toEqual([]);
  });

  it('exports only files that it holds', () => {
    const targets = [...leaves(manifest.exports), manifest.main, manifest.module, manifest.types];
    for (const target of targets) {
      expect(files).toContain(String(target).replace('./', ''));
    }
  });

  it('keeps no path of the machine that built it', async () => {
    for (const file of files) {
      const text = await readFile(join(root, file), 'utf8');
      expect(text.includes(root.replace(/\/$/, '')), file).toBe(false);
    }
  });

  it('depends on two packages, and on React and Redis only where there is one', () => {
    const dependencies = { partysocket: expect.any(String), 'fast-json-patch': expect.any(String) };
    expect(manifest.dependencies).toEqual(dependencies);
    expect(manifest.peerDependencies).toEqual({
      react: '^18 || ^19',
      redis: '>=5',
      zod: '^3.25 || ^4',
    });
    const optional = { optional: true };
    expect(manifest.peerDependenciesMeta).toEqual({
      react: optional,
      redis: optional,
      zod: optional,
    });
    expect(manifest.optionalDependencies).toBeUndefined();
  });

  it('promises that importing has no side effects, and runs no script when installed', () => {
    expect(manifest.sideEffects).toBe(false);
    expect(Object.keys(manifest.scripts as object)).not.toContain('postinstall');
    expect(Object.keys(manifest.scripts as object)).not.toContain('install');
    expect(Object.keys(manifest.scripts as object)).not.toContain('prepare');
  });
});
