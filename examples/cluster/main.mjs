// @ts-check
import { runCluster } from './run.mjs';

await runCluster({});
