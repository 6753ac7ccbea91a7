import { runCluster } from '../examples/cluster/run.mjs';
import { buildLibrary, buildPages, pages } from './examples.mjs';

process.stdout.write('Building the library and the pages …\n');
buildLibrary();
buildPages();
await runCluster(pages);
