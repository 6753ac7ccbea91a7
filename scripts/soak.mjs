// One client, four agents, one fault a second, for as long as you like: `npm run soak -- --minutes 30`.
// Server and proxy are a process of their own. Each minute prints what happened and what is held;
// the exit code is 1 where a run came out wrong, or heap or handles grew.
// Options: --minutes (30), --seed (1), --plain (a server that knows the four messages alone).
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { importSources } from '../bench/bundle.mjs';
import { createFaults } from './soak-faults.mjs';
import { createPage } from './soak-page.mjs';
import { startPeer } from './soak-peer.mjs';
import { createPerson } from './soak-person.mjs';
import { createReport } from './soak-report.mjs';
import { createWatch } from './soak-watch.mjs';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    plain: { type: 'boolean', default: false },
  },
});
const minutes = Number(options.minutes);
const { plain } = options;

const report = createReport();
const { counts, fail } = report;
for (const type of ['uncaughtException', 'unhandledRejection']) {
  process.on(type, (error) => fail(`${type}: ${error?.stack ?? error}`));
}

const { createRandom } = await importSources('test/helpers/random.ts');
const random = createRandom(Number(options.seed));
const pick = (list) => list[Math.floor(random() * list.length)];
const between = (from, to) => from + random() * (to - from);

const { call, port, stop } = await startPeer({ plain });
const page = await createPage({ port, plain, counts, fail });
const watch = createWatch({ page, call });
const before = await watch.measure();

const names = ['ann', 'bob', 'cleo', 'dan'];
const people = names.map((name) => createPerson(name, { page, between, counts, fail }));
const faults = Object.entries(createFaults({ page, people, call, between, pick }));
const lives = people.map((person) => person.live());

console.log(`${minutes} min, seed ${options.seed}, a ${plain ? 'plain' : 'v1'} server`);
report.head();
const start = Date.now();
for (let second = 1; second <= minutes * 60; second++) {
  await sleep(Math.max(0, start + second * 1_000 - Date.now()));
  counts.faults++;
  const [name, strike] = pick(faults);
  Promise.resolve(strike()).catch((error) => fail(`${name}: ${error.stack}`));
  if (second % 15) continue;
  const sample = await watch.sample();
  if (second % 60) continue;
  report.minute(second / 60, sample);
  for (const runId of sample.server.twice) fail(`${runId} was executed twice`);
}

// The faults are over: everything has to come to rest.
for (const person of people) person.isDone = true;
await sleep(1_000);
page.heal();
await call('heal');
await Promise.all(lives);
for (const { agent } of people) agent.reset();
const untilRest = Date.now() + 90_000;
const isAtRest = async () =>
  people.every(({ agent }) => agent.runs.getSnapshot().length === 0) &&
  (await call('measure')).running === 0;
while (!(await isAtRest())) {
  if (Date.now() > untilRest) {
    fail(`not at rest: ${JSON.stringify(people.map(({ agent }) => agent.runs.getSnapshot()))}`);
    break;
  }
  await sleep(100);
}

// And nothing may be left of it.
for (const { agent } of people) agent.dispose();
page.client.close();
people.length = 0;
await sleep(2_000);
const after = await watch.measure();
if (page.keys.length) fail(`left in storage: ${page.keys}`);
if (after.timers || after.listeners) {
  fail(`${after.timers} timers and ${after.listeners} listeners are left`);
}
if (after.server.sockets) fail(`${after.server.sockets} sockets are left at the server`);
if (after.handles > before.handles) {
  fail(`handles: ${before.handles} before, ${after.handles} after`);
}
for (const half of watch.compare()) {
  report.half(half);
  if (!half.isFlat) fail(`${half.title} grew`);
}
report.sums();
await stop();
process.exit(report.wrong ? 1 : 0);
