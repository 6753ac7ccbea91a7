// What commands need of the sources and of the helpers of the tests, as one module.
import { build } from 'esbuild';

/** Imports TypeScript modules, by their paths from the root of the package. */
export async function importSources(...paths) {
  const { outputFiles } = await build({
    stdin: {
      contents: paths.map((path) => `export * from './${path}';`).join('\n'),
      resolveDir: new URL('..', import.meta.url).pathname,
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    mainFields: ['module', 'main'],
    write: false,
  });
  const code = Buffer.from(outputFiles[0].contents).toString('base64');
  return import(`data:text/javascript;base64,${code}`);
}
