// Events per second of `applyAgUiEvent` beside `@ag-ui/client`, in one process.
//   node bench/reducer.mjs [--quick]

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

process.env.NODE_ENV = 'production';
console.warn = () => {};

const quick = process.argv.includes('--quick');
const rounds = quick ? 3 : 7;

const bundle = await build({
  stdin: {
    contents: `
      export { applyAgUiEvent } from './src/ag-ui/apply-event.ts';
      export { emptyThread } from './src/ag-ui/thread.ts';
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
const { applyAgUiEvent, emptyThread } = await import(`data:text/javascript;base64,${code}`);
const { defaultApplyEvents } = await import('@ag-ui/client');
const { from } = await import('rxjs');

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const earlier = (count, size = 2_000) =>
  Array.from({ length: count }, (_, index) => ({
    id: `old${index}`,
    role: index % 2 ? 'assistant' : 'user',
    content: 'x'.repeat(size),
  }));

function textEvents(count, size) {
  const delta = 'abcdef'.repeat(Math.ceil(size / 6)).slice(0, size);
  return [
    { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
    ...Array.from({ length: count }, () => ({
      type: 'TEXT_MESSAGE_CONTENT',
      messageId: 'm',
      delta,
    })),
  ];
}

function ours(events, messages, state = {}) {
  let thread = emptyThread({ messages, state });
  for (const event of events) thread = applyAgUiEvent(thread, event);
  return thread;
}

function theirs(events, messages, state = {}) {
  const agent = { messages, state, pendingInterrupts: [] };
  const input = { threadId: 't', runId: 'r', messages, state, tools: [], context: [] };
  return new Promise((resolve, reject) => {
    let last;
    defaultApplyEvents(input, from(events), agent, []).subscribe({
      next: (mutation) => {
        last = mutation;
      },
      error: reject,
      complete: () => resolve(last),
    });
  });
}

async function time(run) {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** Medians of rounds in which both take turns. */
async function compare(first, second) {
  const times = [[], []];
  await first();
  if (second) await second();
  for (let round = 0; round < rounds; round++) {
    times[0].push(await time(first));
    if (second) times[1].push(await time(second));
  }
  return times.map((list) => (list.length ? median(list) : Number.NaN));
}

const perSecond = (count, ms) =>
  Math.round((count / ms) * 1_000)
    .toLocaleString('en')
    .padStart(11);
const results = [];

console.log('Text deltas of 6 characters, by earlier messages of 2 kB');
console.log('messages  runsocket ev/s  µs/event  @ag-ui/client ev/s   ratio');
for (const [count, ownEvents, refEvents] of [
  [0, 20_000, 4_000],
  [100, 20_000, 1_500],
  [1_000, 10_000, 150],
]) {
  const messages = earlier(count);
  const own = textEvents(ownEvents, 6);
  const ref = textEvents(refEvents, 6);
  const [a, b] = await compare(
    () => ours(own, messages),
    () => theirs(ref, messages),
  );
  const micro = (a / ownEvents) * 1_000;
  const ratio = ownEvents / a / (refEvents / b);
  results.push({ count, micro, perSecond: (ownEvents / a) * 1_000, ratio });
  console.log(
    `${String(count).padStart(8)}  ${perSecond(ownEvents, a).padStart(14)}  ${micro.toFixed(2).padStart(8)}  ${perSecond(refEvents, b).padStart(18)}  ${`${ratio.toFixed(0)}x`.padStart(6)}`,
  );
}

console.log('\nGrowth with text length, deltas of 200 characters');
console.log('events   final text  runsocket µs/event');
const growth = [];
for (const count of [1_000, 5_000, 20_000]) {
  const events = textEvents(count, 200);
  const [a] = await compare(() => ours(events, []));
  growth.push((a / count) * 1_000);
  console.log(
    `${String(count).padStart(6)}  ${`${(count * 200) / 1e6} MB`.padStart(10)}  ${growth.at(-1).toFixed(2).padStart(18)}`,
  );
}

function replay(messages, tokens) {
  const events = [{ type: 'RUN_STARTED', threadId: 't', runId: 'r' }];
  for (let index = 0; index < messages; index++) {
    const messageId = `m${index}`;
    events.push({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' });
    for (let token = 0; token < tokens; token++) {
      events.push({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'token ' });
    }
    events.push({ type: 'TEXT_MESSAGE_END', messageId });
  }
  events.push({ type: 'RUN_FINISHED', threadId: 't', runId: 'r' });
  return events;
}

console.log('\nReplays');
for (const [messages, tokens] of [
  [200, 100],
  [1_000, 40],
]) {
  const events = replay(messages, tokens);
  const [a] = await compare(() => ours(events, []));
  results.push({ replay: messages, ms: a });
  console.log(
    `${messages} messages of ${tokens} tokens, ${events.length} events: ${a.toFixed(0)} ms, ${perSecond(events.length, a).trim()} ev/s`,
  );
}

const rows = Array.from({ length: 8_000 }, (_, index) => ({ id: index, text: 'x'.repeat(100) }));
const state = { rows, meta: { n: 0 } };
const deltas = Array.from({ length: 1_000 }, (_, index) => ({
  type: 'STATE_DELTA',
  delta: [
    { op: 'replace', path: `/rows/${(index * 7) % rows.length}/text`, value: `changed ${index}` },
    { op: 'replace', path: '/meta/n', value: index },
  ],
}));
const few = deltas.slice(0, quick ? 20 : 60);
const [own, ref] = await compare(
  () => ours(deltas, [], state),
  () => theirs(few, [], structuredClone(state)),
);
console.log(
  `\n1,000 state deltas of 2 operations on ${(JSON.stringify(state).length / 1e6).toFixed(2)} MB: ${own.toFixed(0)} ms; ` +
    `@ag-ui/client ${perSecond(few.length, ref).trim()} ev/s, ${(ref / few.length / (own / 1_000)).toFixed(0)}x slower`,
);

// A busy machine makes every absolute figure worse; only what is relative can fail.
const figures = [
  ['at least 200,000 text events/s at 100 messages', results[1].perSecond >= 200_000],
  ['at most 10 µs an event at 1,000 messages', results[2].micro <= 10],
  ['a replay of 20,000 events in at most 200 ms', results[3].ms <= 200],
  ['1,000 deltas on 1 MB in at most 100 ms', own <= 100],
];
const checks = [
  ['no growth with text length (20,000 events cost at most 3x 1,000)', growth[2] <= growth[0] * 3],
  ['at least 10x @ag-ui/client at 100 messages', results[1].ratio >= 10],
  ['at least 100x @ag-ui/client at 1,000 messages', results[2].ratio >= 100],
];
console.log('');
for (const [name, ok] of figures) console.log(`${ok ? 'ok  ' : 'slow'} ${name}`);
for (const [name, ok] of checks) console.log(`${ok ? 'ok  ' : 'FAIL'} ${name}`);
if (checks.some(([, ok]) => !ok)) process.exitCode = 1;
