import { createTally, explain, runSeed } from './campaign.ts';
import type { Profile } from './schedule.ts';
import { shrink } from './shrink.ts';

// A worker of `npm run chaos`: `from`, `count` and `step` name its seeds.
const [from = '1', count = '1', step = '1', profile = '', shown = '3'] = process.argv.slice(2);
const say = (message: unknown) => void process.stdout.write(`${JSON.stringify(message)}\n`);

// Stacks cost more than the simulation.
Error.stackTraceLimit = 0;
process.on('unhandledRejection', (error) => {
  say({ type: 'failed', text: `unhandled rejection: ${String(error)}` });
});
for (const name of ['log', 'info', 'warn', 'error', 'debug'] as const) {
  console[name] = (...words: unknown[]) => say({ type: 'failed', text: `console: ${words}` });
}

let explained = 0;
let tally = createTally();
for (let n = 0; n < Number(count); n++) {
  await runSeed(tally, Number(from) + n * Number(step), (profile || undefined) as Profile);
  const [failure] = tally.failures;
  if (failure) {
    const { seed, profile: of } = failure.schedule;
    const [first] = failure.violations;
    const text =
      ++explained <= Number(shown)
        ? await explain(failure, shrink)
        : `seed ${seed}, profile ${of}: ${first?.assertion}: ${first?.text.slice(0, 150)}`;
    say({ type: 'failed', text });
  }
  if (failure || tally.schedules >= 100 || n === Number(count) - 1) {
    const { failures, ...rest } = tally;
    say({ type: 'tally', tally: { ...rest, failures: [] }, failures: failures.length });
    tally = createTally();
  }
}
