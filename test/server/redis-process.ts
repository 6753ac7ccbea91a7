// One server process of the tests with several: `node redis-process.mjs <redis url> <lease>`.
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { createClient } from 'redis';
import { WebSocketServer } from 'ws';
import { createRedisRunLog } from '../../src/server/redis-run-log.ts';
import { createRunServer } from '../../src/server/run-server.ts';

const [, , url = '', lease = ''] = process.argv;
const redis = createClient({
  url,
  socket: { reconnectStrategy: (retries) => Math.min(retries * 20, 200) },
});
const counter = redis.duplicate();
counter.on('error', () => {});
const log = createRedisRunLog(redis, { lease: Number(lease) });
await redis.connect();
await counter.connect();

const server = createRunServer({
  log,
  lease: Number(lease),
  heartbeat: 5_000,
  async *run({ input, runId, signal }) {
    await counter.incr(`executions:${runId}`);
    const { words, pace } = input.forwardedProps as { words: number; pace: number };
    try {
      for (let word = 0; word < words && !signal.aborted; word++) {
        if (word) await wait(pace);
        yield { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', role: 'assistant', delta: `${word} ` };
      }
    } finally {
      await counter.incr(`${signal.aborted ? 'stopped' : 'finished'}:${runId}`);
    }
  },
});
const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
sockets.on('connection', (socket) => server.accept(socket));
sockets.once('listening', () => {
  process.send?.({ port: (sockets.address() as AddressInfo).port });
});
process.once('message', async () => {
  sockets.close();
  await server.dispose({ grace: 10_000 });
  await log.dispose();
  redis.destroy();
  counter.destroy();
  process.disconnect();
});
