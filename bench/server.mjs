// What a run server costs beside a bare `ws` broadcast of the same bytes: `node --expose-gc bench/server.mjs`.
// Server and clients share this one process, so both sides pay for the same clients; the sides take
// turns, and medians of the rounds count.
// Environment: FOLLOWERS (100), EVENTS (10000 in a burst), PACED (2000, one every 2 ms), RUNS (2000
// idle ones), ROUNDS (5).
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { WebSocket, WebSocketServer } from 'ws';

const number = (name, value) => Number(process.env[name] ?? value);
const followers = number('FOLLOWERS', 100);
const events = number('EVENTS', 10_000);
const paced = number('PACED', 2_000);
const runs = number('RUNS', 2_000);
const rounds = number('ROUNDS', 5);

const bundle = await build({
  entryPoints: [new URL('../src/server/index.ts', import.meta.url).pathname],
  bundle: true,
  format: 'esm',
  minify: true,
  platform: 'neutral',
  mainFields: ['module', 'main'],
  write: false,
});
const { createRunServer } = await import(
  `data:text/javascript;base64,${Buffer.from(bundle.outputFiles[0].contents).toString('base64')}`
);

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const createEvent = (value) => ({
  type: 'TEXT_MESSAGE_CONTENT',
  messageId: 'm1',
  delta: `${value} a few words `,
});

async function* burst() {
  for (let n = 0; n < events; n++) yield createEvent(performance.now());
}
async function* pace() {
  for (let n = 0; n < paced; n++) {
    await sleep(2);
    yield createEvent(performance.now());
  }
}

async function listen(onConnection) {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  await once(wss, 'listening');
  wss.on('connection', onConnection);
  const sockets = await Promise.all(
    Array.from({ length: followers }, async () => {
      const socket = new WebSocket(`ws://127.0.0.1:${wss.address().port}`);
      await once(socket, 'open');
      return socket;
    }),
  );
  return {
    sockets,
    close() {
      for (const socket of sockets) socket.terminate();
      wss.close();
    },
  };
}

/** Counts events, and keeps how late each was, until all followers have `total` of them. */
function receive(sockets, total) {
  const delays = [];
  let left = sockets.length;
  let bytes = 0;
  const done = new Promise((resolve) => {
    for (const socket of sockets) {
      let count = 0;
      socket.removeAllListeners('message');
      socket.on('message', (data) => {
        const now = performance.now();
        bytes += data.length;
        const value = JSON.parse(data);
        for (const { event } of Array.isArray(value) ? value : [value]) {
          if (event?.type !== 'TEXT_MESSAGE_CONTENT') continue;
          delays.push(now - Number.parseFloat(event.delta));
          if (++count === total && --left === 0) resolve();
        }
      });
    }
  });
  return { done, delays, bytes: () => bytes };
}

/** Each side makes what plays one run to all followers. */
const sides = {
  async 'bare ws'() {
    const served = new Set();
    const { sockets, close } = await listen((socket) => served.add(socket));
    return {
      sockets,
      close,
      async play(agent, runId) {
        let offset = 0;
        for await (const event of agent()) {
          const frame = JSON.stringify({ runId, offset: offset++, event });
          for (const socket of served) socket.send(frame);
          // A broadcast that never waits would only measure its own memory.
          if (agent === burst && offset % 100 === 0) await new Promise(setImmediate);
        }
      },
    };
  },
  plain: () => ours(true),
  'version 1, batches': () => ours(false),
};

async function ours(plain) {
  const agents = new Map();
  const server = createRunServer({ plain, run: ({ runId }) => agents.get(runId)() });
  const { sockets, close } = await listen((socket) => server.accept(socket));
  if (!plain) for (const socket of sockets) socket.send('{"type":"hello","caps":["batch"]}');
  return {
    sockets,
    async close() {
      await server.dispose({ grace: 0 });
      close();
    },
    async play(agent, runId) {
      agents.set(runId, async function* wait() {
        while (server.getSnapshot().following < followers) await sleep(1);
        yield* agent();
      });
      for (const socket of sockets) socket.send(JSON.stringify({ type: 'run', runId, input: {} }));
    },
  };
}

const made = {};
for (const [name, make] of Object.entries(sides)) made[name] = await make();

async function measure(agent, total) {
  const results = {};
  for (let round = 0; round <= rounds; round++) {
    for (const [name, { sockets, play }] of Object.entries(made)) {
      globalThis.gc?.();
      const { done, delays, bytes } = receive(sockets, total);
      const start = performance.now();
      await play(agent, `${agent.name} ${round}`);
      await done;
      const ms = performance.now() - start;
      await sleep(20);
      // The first round warms up.
      if (!round) continue;
      delays.sort((a, b) => a - b);
      results[name] ??= { ms: [], p50: [], p99: [], bytes: [] };
      results[name].ms.push(ms);
      results[name].p50.push(delays[delays.length >> 1]);
      results[name].p99.push(delays[Math.floor(delays.length * 0.99)]);
      results[name].bytes.push(bytes());
    }
  }
  return results;
}

console.log(
  `${followers} followers of one run, ${events} events at once; median of ${rounds} rounds`,
);
for (const [name, { ms, bytes }] of Object.entries(await measure(burst, events))) {
  const perSecond = (followers * events * 1000) / median(ms);
  const size = (median(bytes) / 2 ** 20).toFixed(1);
  console.log(
    `${name.padEnd(20)} ${Math.round(perSecond).toLocaleString('en')} events/s, ${size} MB`,
  );
}

console.log(`\n${paced} events, one every 2 ms: from the agent's yield to the client`);
for (const [name, { p50, p99 }] of Object.entries(await measure(pace, paced))) {
  const [a, b] = [median(p50), median(p99)].map((value) => value.toFixed(2));
  console.log(`${name.padEnd(20)} p50 ${a} ms, p99 ${b} ms`);
}
for (const { close } of Object.values(made)) await close();

/** The heap in bytes, once what is free has been freed. */
async function heap() {
  for (let n = 0; n < 3; n++) {
    globalThis.gc?.();
    await sleep(5);
  }
  return process.memoryUsage().heapUsed;
}

async function* idle({ signal }) {
  yield createEvent(0);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
}

if (globalThis.gc) {
  console.log(`\n${runs} idle runs: agents that said one thing and wait`);
  const ids = Array.from({ length: runs }, (_, n) => `5f0c8a52-6f0e-4b65-9a57-${n}`);
  let before = await heap();
  const bare = new Map();
  for (const runId of ids) {
    const stop = new AbortController();
    const agent = idle({ signal: stop.signal });
    const run = { agent, stop, log: [] };
    bare.set(runId, run);
    run.log.push(JSON.stringify({ runId, offset: 0, event: (await agent.next()).value }));
    run.next = agent.next();
  }
  console.log(`agent, signal, log   ${Math.round(((await heap()) - before) / runs)} bytes a run`);
  bare.clear();
  before = await heap();
  const server = createRunServer({ run: idle });
  for (const runId of ids) await server.start({}, { runId });
  await sleep(100);
  console.log(`run server           ${Math.round(((await heap()) - before) / runs)} bytes a run`);
  if (server.getSnapshot().running !== runs) throw new Error('Not all runs are idle.');
  await server.dispose({ grace: 0 });
}
