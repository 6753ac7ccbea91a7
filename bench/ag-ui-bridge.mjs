// Events per second of `createAgUiBridge`, alone and into a store.
//   node bench/ag-ui-bridge.mjs [--quick]

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const rounds = process.argv.includes('--quick') ? 3 : 7;

const bundle = await build({
  stdin: {
    contents: `
      export { createAgUiBridge } from './src/agent-provider/ag-ui-bridge.ts';
      export { createAgentEventFactory } from './src/agent-provider/event-factory.ts';
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
const { createAgUiBridge, createAgentEventFactory, createAgentStore } = await import(
  `data:text/javascript;base64,${code}`
);

/** Milliseconds of processor time, the collection of garbage included. */
const now = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

function textEvents(count) {
  const delta = { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'abcdef' };
  return [
    { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
    { type: 'TEXT_MESSAGE_START', messageId: 'm' },
    ...Array.from({ length: count }, () => delta),
    { type: 'TEXT_MESSAGE_END', messageId: 'm' },
    { type: 'RUN_FINISHED', threadId: 't', runId: 'r' },
  ];
}

/** One message each, as servers send that know chunks only. */
function messageEvents(count) {
  return Array.from({ length: count }, (_, index) => ({
    type: 'TEXT_MESSAGE_CHUNK',
    messageId: `m${index}`,
    delta: 'abcdef',
  }));
}

function run(events, withStore) {
  globalThis.gc?.();
  const bridge = createAgUiBridge({
    events: createAgentEventFactory({ sessionId: 's', runId: 'r' }),
  });
  const store = withStore ? createAgentStore() : undefined;
  store?.subscribe(() => {});
  const start = now();
  for (const event of events) {
    for (const made of bridge.push(event)) store?.dispatch(made);
  }
  for (const made of bridge.flush()) store?.dispatch(made);
  return ((now() - start) / events.length) * 1_000;
}

// The least disturbed round counts.
const best = (events, withStore) =>
  Math.min(...Array.from({ length: rounds }, () => run(events, withStore)));

console.log('events                          µs/event    events/s');
const results = new Map();
for (const [name, make, withStore] of [
  ['text deltas', textEvents, false],
  ['text deltas, into a store', textEvents, true],
  ['messages of one chunk', messageEvents, false],
]) {
  for (const count of [5_000, 20_000, 100_000]) {
    const micro = best(make(count), withStore);
    results.set(`${name} ${count}`, micro);
    console.log(
      `${`${count.toLocaleString('en')} ${name}`.padEnd(34)}${micro.toFixed(2).padStart(6)} ${Math.round(
        1e6 / micro,
      )
        .toLocaleString('en')
        .padStart(11)}`,
    );
  }
}

// A busy machine makes every absolute figure worse; only what is relative can fail.
const total = results.get('text deltas, into a store 100000');
const growth = (name, limit) =>
  results.get(`${name} 100000`) <= results.get(`${name} 5000`) * limit;
const checks = [
  ['100,000 text deltas cost at most 1.5x 5,000 each', growth('text deltas', 1.5)],
  ['100,000 messages cost at most 4x 5,000 each', growth('messages of one chunk', 4)],
];
console.log(
  `\n${total <= 5 ? 'ok  ' : 'slow'} at least 200,000 text deltas/s through bridge and store`,
);
for (const [name, ok] of checks) console.log(`${ok ? 'ok  ' : 'FAIL'} ${name}`);
if (checks.some(([, ok]) => !ok)) process.exitCode = 1;
