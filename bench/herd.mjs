// 300 clients lose their server in one moment: when do they dial? `node bench/herd.mjs`.
// Real sockets; time and chance are those of a virtual clock with a fixed seed, so that a busy
// machine changes nothing. Counted are attempts in fixed bins of 100 ms from the drop.
// Environment: CLIENTS (300), SEED (20260101), SPREAD (what the server asks for, in ms; none).
import { once } from 'node:events';
import { WebSocket, WebSocketServer } from 'ws';
import { importSources } from './bundle.mjs';

const size = Number(process.env.CLIENTS ?? 300);
const spread = process.env.SPREAD && Number(process.env.SPREAD);
const { createClient, createVirtualClock, getWire } = await importSources(
  'src/client/websocket-client.ts',
  'src/client/wire.ts',
  'test/helpers/virtual-clock.ts',
);
const clock = createVirtualClock({ seed: Number(process.env.SEED ?? 20_260_101) });

const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
await once(wss, 'listening');

const bins = Array(Math.ceil((spread || 1_000) / 100)).fill(0);
let dropped;
let others = 0;
const dial = () => {
  if (dropped !== undefined) {
    const bin = Math.floor((clock.now() - dropped) / 100);
    if (bin < bins.length) bins[bin]++;
    else others++;
  }
  return `ws://127.0.0.1:${wss.address().port}`;
};
const clients = Array.from({ length: size }, () =>
  createClient(dial, { WebSocket }, { environment: clock.environment }),
);
const until = async (isDone) => {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 1));
};
const all = (status) => clients.every((client) => client.getSnapshot().status === status);

for (const client of clients) client.hold();
await until(() => all('open'));
if (spread) for (const client of clients) getWire(client).setRetryHint({ spread });
await clock.advance(10_000);
dropped = clock.now();
for (const socket of wss.clients) socket.terminate();
await until(() => all('waiting'));
await clock.advance(bins.length * 100);
await until(() => all('open'));

console.log(
  `${size} clients, attempts per 100 ms: ${bins.join(' ')}${others ? `, ${others} later` : ''}`,
);
console.log(`peak ${Math.max(...bins)}, all open again with their first attempt`);
for (const client of clients) client.close();
wss.close();
