import { buildLibrary, buildPages, pages } from './examples.mjs';

process.stdout.write('Building the library and the pages …\n');
buildLibrary();
buildPages();
// It imports the library, which is there only now.
const { runAgKit } = await import('../examples/ag-kit/run.mjs');
await runAgKit(pages);
