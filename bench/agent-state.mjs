// Cost of an event in `reduceAgentState` and in a store with a listener: `node bench/agent-state.mjs`.
// Sizes take turns round by round, so that a busy machine slows all of them; medians.
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
      export { createInitialAgentState } from './src/agent-provider/state-node.ts';
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
  createAgentStore,
} = await import(`data:text/javascript;base64,${code}`);

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const sessionId = 'b3b7f6f2-3c1e-4f57-8a53-0d4a2b1c9e77';
let runs = 0;

/** New events each time, as they come from a socket: no string of them was hashed before. */
function makeRun(deltas, opened = 0) {
  const runId = `5f0c8a52-6f0e-4b65-9a57-${String(runs++).padStart(12, '0')}`;
  const factory = createAgentEventFactory({ sessionId, runId });
  const list = [factory.create('run.started', {})];
  for (let index = 0; index < opened; index++) {
    const messageId = `m${index}`;
    list.push(
      factory.create('message.started', { messageId, role: 'user', content: 'a question' }),
      factory.create('message.completed', { messageId }),
    );
  }
  list.push(factory.create('message.started', { messageId: 'answer', role: 'assistant' }));
  const head = list.length;
  for (let index = 0; index < deltas; index++) {
    list.push(factory.create('message.delta', { messageId: 'answer', delta: 'a word ' }));
  }
  const events = JSON.parse(JSON.stringify(list));
  return { head: events.slice(0, head), deltas: events.slice(head) };
}

function reduceAll({ head, deltas }, readEvery = Number.POSITIVE_INFINITY) {
  let state = replayAgentEvents(head, createInitialAgentState());
  let until = readEvery;
  let seen = Object.keys(state.messages).length;
  globalThis.gc?.();
  const start = performance.now();
  for (const event of deltas) {
    state = reduceAgentState(state, event);
    if (--until > 0) continue;
    until = readEvery;
    seen += Object.keys(state.messages).length;
  }
  const time = performance.now() - start;
  if (!(seen > 0)) throw new Error('Nothing was read.');
  return { time, state };
}

/** As a page does it: each event notifies, what is shown is read once a frame of 16 ms. */
function storeAll({ head, deltas }) {
  const store = createAgentStore();
  store.batch(head);
  let heard = 0;
  let seen = 0;
  let frame = 0;
  store.subscribe(() => {
    heard++;
    const state = store.getSnapshot();
    const now = performance.now();
    if (now < frame) return;
    frame = now + 16;
    seen += state.order.length;
    for (const key in state.messages) seen += state.messages[key].content.length;
  });
  globalThis.gc?.();
  const start = performance.now();
  for (const event of deltas) store.dispatch(event);
  const time = performance.now() - start;
  if (heard !== deltas.length || !seen) throw new Error('Not every event was heard.');
  return { time, state: store.getSnapshot() };
}

const perEvent = (time, count) => (time * 1_000) / count;
const perSecond = (micro) => Math.round(1e6 / micro).toLocaleString('en');

if (!makeRun(3, 3).deltas.every(isAgentEvent)) throw new Error('Not events.');

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
    median(costs[name][2].map((value, round) => value / costs[name][0][round])),
  ]),
);
console.log(
  `100,000 against 5,000: reduce ${growth.reduce.toFixed(2)}x, store ${growth.store.toFixed(2)}x`,
);

const crowd = { alone: [], among: [] };
for (let round = -1; round < rounds; round++) {
  const alone = storeAll(makeRun(20_000)).time;
  const among = storeAll(makeRun(20_000, 5_000)).time;
  if (round < 0) continue;
  crowd.alone.push(alone);
  crowd.among.push(among);
}
const crowding = median(crowd.among.map((value, round) => value / crowd.alone[round]));
console.log(`\nWith 5,000 finished messages, read once a frame: ${crowding.toFixed(2)}x`);
for (const every of [100, 1_000]) {
  const ratios = [];
  for (let round = -1; round < 3; round++) {
    const alone = reduceAll(makeRun(20_000), every).time;
    const among = reduceAll(makeRun(20_000, 5_000), every).time;
    if (round >= 0) ratios.push(among / alone);
  }
  console.log(`  read after every ${every} deltas: ${median(ratios).toFixed(2)}x`);
}

for (const size of [5_000, 100_000]) {
  const { state } = reduceAll(makeRun(size));
  const [message] = Object.values(state.messages);
  bytes.push(JSON.stringify(state).length - message.content.length);
}
console.log(`\nSerialised, without the text: ${bytes.join(' and ')} characters`);

const opening = [];
for (const count of [5_000, 50_000]) {
  const run = makeRun(0, count);
  const start = performance.now();
  let state = createInitialAgentState();
  for (const event of run.head) state = reduceAgentState(state, event);
  opening.push(perEvent(performance.now() - start, run.head.length));
}
console.log(
  `Opening 5,000 and 50,000 messages: ${opening.map((v) => v.toFixed(2)).join(' and ')} µs an event`,
);
