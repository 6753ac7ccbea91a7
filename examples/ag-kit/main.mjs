// @ts-check
import { runAgKit } from './run.mjs';

await runAgKit({});
