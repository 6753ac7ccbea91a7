// Runs schedules of faults in virtual time: npm run chaos -- --seeds 50000 [--from 1] [--profile v1]
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5000' },
    from: { type: 'string', default: '1' },
    profile: { type: 'string', default: '' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    // Ends with the first failure.
    bail: { type: 'boolean', default: false },
    // How many failures are shrunk and shown with their trace, by each job.
    show: { type: 'string', default: '1' },
  },
});
const seeds = Number(values.seeds);
const from = Number(values.from);
const jobs = Math.max(1, Math.min(Number(values.jobs), seeds));

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'runsocket-chaos-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const outdir = join(folder, 'out');
await build({
  entryPoints: {
    main: join(root, 'test/chaos/main.ts'),
    kinds: join(root, 'test/chaos/campaign.ts'),
  },
  outdir,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  alias: { 'partysocket/ws': join(root, 'test/chaos/engine.ts') },
  logLevel: 'warning',
});
const { addTally, countFaults, createTally, findIdle } = await import(join(outdir, 'kinds.mjs'));

const total = createTally();
let wrong = 0;
const start = Date.now();
let shown = start;
const children = [];
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
process.on('exit', () => {
  for (const child of children) child.kill();
});

function progress() {
  const seconds = (Date.now() - start) / 1000;
  const rate = (total.schedules / seconds).toFixed(0);
  console.log(
    `${total.schedules} of ${seeds} schedules, ${countFaults(total)} faults, ${wrong} wrong, ${rate}/s`,
  );
}

function hear(line) {
  const message = JSON.parse(line);
  if (message.type === 'failed') {
    wrong++;
    console.log(`\nWRONG ${message.text}\n`);
    if (values.bail) process.exit(1);
  } else if (message.type === 'tally') addTally(total, message.tally);
  if (Date.now() - shown < 10_000) return;
  shown = Date.now();
  progress();
}

const results = await Promise.all(
  Array.from({ length: jobs }, (_, job) => {
    const count = Math.floor((seeds - job - 1) / jobs) + 1;
    const args = [from + job, count, jobs, values.profile, values.show].map(String);
    const child = spawn(process.execPath, [join(outdir, 'main.mjs'), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const lines = createInterface({ input: child.stdout });
    lines.on('line', hear);
    return new Promise((resolve) => {
      lines.on('close', () => resolve(child.exitCode ?? 0));
    });
  }),
);

const idle = findIdle(total);
console.log('');
for (const [kind, times] of Object.entries(total.counts).sort()) console.log(`  ${kind}: ${times}`);
console.log(`runs ended: ${JSON.stringify(total.ends)}`);
console.log(`full storage cost: ${JSON.stringify(total.losses)}`);
console.log(`longest healing: ${(total.healed / 1000).toFixed(1)} s of virtual time`);
console.log(`planned faults: ${total.planned}`);
if (idle.length) console.log(`never took effect: ${idle.join(', ')}`);
progress();
const isShort = total.schedules !== seeds || results.some((code) => code !== 0);
if (isShort) console.log('A job has died.');
process.exitCode = wrong || isShort || (idle.length && seeds >= 2_000 && !values.profile) ? 1 : 0;
