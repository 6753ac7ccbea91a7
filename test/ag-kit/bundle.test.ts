import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const root = `${import.meta.dirname}/../..`;

/** A bundle of code that imports from the entry; `packages` are those that it holds code of. */
async function bundle(contents: string, external: string[] = []) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: `${root}/src/ag-kit`, loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    external,
    metafile: true,
    write: false,
  });
  const { inputs = {} } = Object.values(metafile.outputs)[0] ?? {};
  return {
    size: gzipSync(outputFiles[0]!.text, { level: 9 }).length,
    zod: Object.entries(inputs).some(
      ([path, { bytesInOutput }]) => /node_modules\/zod/.test(path) && bytesInOutput > 0,
    ),
  };
}

describe('a bundle', () => {
  it.each([
    ['agKitRuns', 2500],
    ['agKitToAgUi', 1500],
    ['agUiToAgKit', 1100],
    ['toSendMessageInput', 1200],
    ['fromSendMessageInput', 600],
  ])('of %s has no zod and at most %i bytes', async (name, limit) => {
    const { size, zod } = await bundle(`export { ${name} } from './index.ts';`);
    expect({ zod, isSmall: size <= limit, size }).toEqual({ zod: false, isSmall: true, size });
  });

  it('of a schema has zod', async () => {
    const { zod } = await bundle(`export { toolSchema } from './index.ts';`);
    expect(zod).toBe(true);
  });

  it('of all but zod is small', async () => {
    const { size } = await bundle(`export * from './index.ts';`, ['zod']);
    expect(size).toBeLessThan(3600);
  });
});

// A compiler takes its time on a busy machine.
describe('the types of the schemas', { timeout: 120_000 }, () => {
  it.each([['zod'], ['zod-3']])('are right with %s', (zod) => {
    const program = ts.createProgram([`${root}/src/ag-kit/schemas.ts`], {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2022.d.ts'],
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      types: [],
      paths: { zod: [`${root}/node_modules/${zod}`] },
    });
    const messages = ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    expect(messages).toEqual([]);
    const files = program.getSourceFiles().map(({ fileName }) => fileName);
    expect(files.some((file) => file.includes(`/node_modules/${zod}/`))).toBe(true);
  });
});
