// All benchmarks, one after the other: `npm run bench`, or `npm run bench -- reducer` for some.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const all = ['reducer', 'patch', 'client', 'server', 'redis-log', 'agent-state', 'ag-ui-bridge'];
const chosen = process.argv.slice(2);

for (const name of chosen.length ? chosen : all) {
  if (!all.includes(name)) throw new Error(`No benchmark '${name}'; there are ${all.join(', ')}.`);
  console.log(`\n# ${name}\n`);
  const file = fileURLToPath(new URL(`${name}.mjs`, import.meta.url));
  const { status } = spawnSync(process.execPath, ['--expose-gc', file], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
