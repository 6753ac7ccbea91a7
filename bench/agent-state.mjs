// Cost of an event in `reduceAgentState` and in a store with a listener: `node bench/agent-state.mjs`.
// Times are those of the processor, the collection of garbage included, and sizes take turns round by
// round, so that what else runs on the machine counts little; medians.
// Environment: ROUNDS (7).

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const rounds = Number(process.env.ROUNDS ?? 7);

const bundle = await build({
  stdin: {
    contents: `
      export { createAgentEventFactory } from './src/agent-provider/event-factory.ts';
      export { isAgentEvent } from './src/agent-provider/event-guards.ts';
      export { reduceAgentState, replayAgentEvents } from './src/agent-provider/reducer.ts';
      export { createInitialAgentState, getAgentEntityKey } from './src/agent-provider/state-node.ts';
      export { createAgentStore } from './src/agent-provider/store.ts';
    `,
    resolveDir: fileURLToPath(new URL('..', import.meta.url)),
    loader: 'ts',
  },
  bundle: true,
  format: 'esm',
  minify: true,
  write: false,
});
const code = Buffer.from(bundle.outputFiles[0].contents).toString('base64');
const {
  createAgentEventFactory,
  isAgentEvent,
  reduceAgentState,
  replayAgentEvents,
  createInitialAgentState,
  getAgentEntityKey,
  createAgentStore,
} = await import(`data:text/javascript;base64,${code}`);

/** Milliseconds of processor time. */
const now = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const sessionId = 'b3b7f6f2-3c1e-4f57-8a53-0d4a2b1c9e77';
let runs = 0;

/**
 * A run whose events are made in slices, as they come from a socket: none of their strings was seen
 * before, and they do not all lie in memory beside what is measured.
 */
function makeRun(deltas, opened = 0) {
  const runId = `5f0c8a52-6f0e-4b65-9a57-${String(runs++).padStart(12, '0')}`;
  const factory = createAgentEventFactory({ sessionId, runId });
  const head = [factory.create('run.started', {})];
  for (let index = 0; index < opened; index++) {
    const messageId = `m${index}`;
    head.push(
      factory.create('message.started', { messageId, role: 'user', content: 'a question' }),
      factory.create('message.completed', { messageId }),
    );
  }
  head.push(factory.create('message.started', { messageId: 'answer', role: 'assistant' }));
  const slices = Array.from({ length: Math.ceil(deltas / 5_000) }, () => () => {
    const slice = Array.from({ length: Math.min(deltas, 5_000) }, () =>
      factory.create('message.delta', { messageId: 'answer', delta: 'a word ' }),
    );
    return JSON.parse(JSON.stringify(slice));
  });
  return { head: JSON.parse(JSON.stringify(head)), slices };
}

/** The time that `take` needs for each delta. */
function timeDeltas(slices, take) {
  let time = 0;
  for (const slice of slices) {
    const events = slice();
    const start = now();
    for (const event of events) take(event);
    time += now() - start;
  }
  return time;
}

function reduceAll({ head, slices }) {
  let state = replayAgentEvents(head);
  const time = timeDeltas(slices, (event) => {
    state = reduceAgentState(state, event);
  });
  return { time, state };
}

/** As a page does it: each event notifies, and what is shown is read once a frame. */
function storeAll({ head, slices }, frame = 4_000) {
  const store = createAgentStore();
  store.batch(head);
  let heard = 0;
  let seen = 0;
  store.subscribe(() => {
    const state = store.getSnapshot();
    if (++heard % frame) return;
    const { id, runId } = state.order.at(-1);
    seen += state.messages[getAgentEntityKey(runId, id)].content.length;
  });
  const time = timeDeltas(slices, store.dispatch);
  if (!heard || !seen) throw new Error('Nothing was heard.');
  return { time, state: store.getSnapshot() };
}

const perEvent = (time, count) => (time * 1_000) / count;
const perSecond = (micro) => Math.round(1e6 / micro).toLocaleString('en');

if (!makeRun(3, 3).slices[0]().every(isAgentEvent)) throw new Error('Not events.');

const sizes = [5_000, 20_000, 100_000];
const sides = { reduce: reduceAll, store: storeAll };
const costs = { reduce: sizes.map(() => []), store: sizes.map(() => []) };
const bytes = [];
for (let round = -1; round < rounds; round++) {
  for (const [name, run] of Object.entries(sides)) {
    sizes.forEach((size, index) => {
      // Small sizes as often as it takes to see as many events.
      const times = Math.ceil(20_000 / size);
      let sum = 0;
      for (let time = 0; time < times; time++) sum += run(makeRun(size)).time;
      if (round >= 0) costs[name][index].push(perEvent(sum, size * times));
    });
  }
}
console.log(`Deltas of 7 characters in one run, medians of ${rounds} rounds`);
console.log('events    reduce µs    events/s     store µs    events/s');
const medians = {
  reduce: costs.reduce.map(median),
  store: costs.store.map(median),
};
sizes.forEach((size, index) => {
  const cells = ['reduce', 'store'].map((name) => {
    const micro = medians[name][index];
    return `${micro.toFixed(2).padStart(11)}  ${perSecond(micro).padStart(10)}`;
  });
  console.log(`${String(size).padStart(6)}  ${cells.join('  ')}`);
});
const growth = Object.fromEntries(
  ['reduce', 'store'].map((name) => [
    name,
    // The best rounds: what disturbs them only adds.
    Math.min(...costs[name][2]) / Math.min(...costs[name][0]),
  ]),
);
console.log(
  `100,000 against 5,000: reduce ${growth.reduce.toFixed(2)}x, store ${growth.store.toFixed(2)}x`,
);

// As many events as fit into 16 ms are a frame; fewer, and the reading weighs more.
const frame = Math.round(16_000 / medians.store[1]);
console.log('\nA delta with 5,000 finished messages in the state, against none');
const crowding = [frame, 1_000, 100].map((every) => {
  const ratios = [];
  for (let round = -1; round < rounds; round++) {
    const alone = storeAll(makeRun(20_000), every).time;
    const among = storeAll(makeRun(20_000, 5_000), every).time;
    if (round >= 0) ratios.push(among / alone);
  }
  console.log(`all read after every ${every} deltas: ${median(ratios).toFixed(2)}x`);
  return median(ratios);
});

for (const size of [5_000, 100_000]) {
  const { state } = reduceAll(makeRun(size));
  const [message] = Object.values(state.messages);
  bytes.push(JSON.stringify(state).length - message.content.length);
}
console.log(`\nSerialised, without the text: ${bytes.join(' and ')} characters`);

const opening = [5_000, 50_000].map((count) => {
  const costs = [];
  for (let round = -1; round < 3; round++) {
    const { head } = makeRun(0, count);
    let state = createInitialAgentState();
    const start = now();
    for (const event of head) state = reduceAgentState(state, event);
    if (round >= 0) costs.push(perEvent(now() - start, head.length));
  }
  return median(costs);
});
console.log(
  `Opening and ending 5,000 and 50,000 messages: ${opening.map((cost) => cost.toFixed(2)).join(' and ')} µs an event`,
);

// A busy machine makes every absolute figure worse; only what is relative can fail.
const figures = [
  [
    'at least 200,000 events/s at 20,000 and at 100,000',
    // The first 5,000 pay for the engine's own start.
    [...medians.reduce.slice(1), ...medians.store.slice(1)].every((cost) => cost <= 5),
  ],
];
const checks = [
  ['at 100,000 at most 1.3x the cost at 5,000', growth.reduce <= 1.3 && growth.store <= 1.3],
  ['with 5,000 finished messages at most 2x', crowding[0] <= 2],
  ['the serialised state does not grow with the deltas', bytes[1] - bytes[0] <= 2],
  ['openers cost at 50,000 at most 2x that at 5,000', opening[1] <= opening[0] * 2],
];
console.log('');
for (const [name, ok] of figures) console.log(`${ok ? 'ok  ' : 'slow'} ${name}`);
for (const [name, ok] of checks) console.log(`${ok ? 'ok  ' : 'FAIL'} ${name}`);
if (checks.some(([, ok]) => !ok)) process.exitCode = 1;
