// What the client adds to each event over a bare `ws` socket with JSON.parse: `node bench/client.mjs`.
// One server sends the same events to both in this one process, in pairs of rounds whose order
// alternates; what counts is the median of the paired differences.
// Environment: ROUNDS (pairs; 41), EVENTS (per round; 20000).
import { once } from 'node:events';
import { build } from 'esbuild';
import { WebSocket, WebSocketServer } from 'ws';

const rounds = Number(process.env.ROUNDS ?? 41);
const events = Number(process.env.EVENTS ?? 20_000);

const bundle = await build({
  entryPoints: [new URL('../src/client/websocket-client.ts', import.meta.url).pathname],
  bundle: true,
  format: 'esm',
  minify: true,
  platform: 'neutral',
  mainFields: ['module', 'main'],
  write: false,
});
const { createWebSocketClient } = await import(
  `data:text/javascript;base64,${Buffer.from(bundle.outputFiles[0].contents).toString('base64')}`
);

const frames = Array.from({ length: events }, (_, offset) =>
  JSON.stringify({
    runId: '5f0c8a52-6f0e-4b65-9a57-0d6c3f9f2a11',
    offset,
    event: { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'a few words ' },
  }),
);

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
await once(server, 'listening');
const url = `ws://127.0.0.1:${server.address().port}`;
server.on('connection', (socket) => {
  socket.on('message', () => {
    // In slices, as a run arrives, and so that the buffer of the socket stays small.
    let sent = 0;
    const send = () => {
      const end = Math.min(sent + 500, events);
      while (sent < end) socket.send(frames[sent++]);
      if (sent < events) setImmediate(send);
    };
    send();
  });
});

// Each takes an event for what it is, so that neither may leave anything out.
let sum = 0;
let onLast;
function take(message) {
  sum += message.event.delta.length;
  if (message.offset === events - 1) onLast();
}

const bare = new WebSocket(url, { perMessageDeflate: false });
bare.binaryType = 'arraybuffer';
bare.addEventListener('message', ({ data }) => take(JSON.parse(data)));
await once(bare, 'open');

const client = createWebSocketClient(url, { WebSocket, on: { message: take } });
client.hold();
await client.ready;

async function measure(go) {
  const done = new Promise((resolve) => {
    onLast = resolve;
  });
  globalThis.gc?.();
  const start = performance.now();
  go();
  await done;
  return ((performance.now() - start) * 1000) / events;
}
const sides = {
  bare: () => measure(() => bare.send('go')),
  client: () => measure(() => client.send('go')),
};
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

for (let i = 0; i < 5; i++) for (const side of Object.values(sides)) await side();
const results = { bare: [], client: [] };
for (let round = 0; round < rounds; round++) {
  for (const name of round % 2 ? ['bare', 'client'] : ['client', 'bare']) {
    results[name].push(await sides[name]());
  }
}
const added = results.client.map((value, i) => value - results.bare[i]);
const format = (value) => `${value.toFixed(2)} µs`;
console.log(`${rounds} pairs of rounds with ${events} events, medians per event`);
console.log(`bare ws + JSON.parse   ${format(median(results.bare))}`);
console.log(`createWebSocketClient  ${format(median(results.client))}`);
console.log(`added by the client    ${format(median(added))}`);
if (!(sum > 0)) throw new Error('Nothing was received.');

client.close();
bare.close();
server.close();
