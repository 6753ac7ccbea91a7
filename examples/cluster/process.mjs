// @ts-check
// One of the server processes: it knows nothing of the others but the Redis that they share.
import { createServer } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { createClient } from 'redis';
import { createRunServer } from 'runsocket/server';
import { redisRunLog } from 'runsocket/server/redis';
import { WebSocketServer } from 'ws';
import { createScriptedAgent } from '../server/scripted-agent.mjs';

const { REDIS_URL, PACE = '1', ORIGINS = '' } = process.env;

const redis = createClient({ url: REDIS_URL });
await redis.connect();

const log = redisRunLog(redis);
/** @type {(run: any) => AsyncIterable<any>} */
const agent = createScriptedAgent({ pace: Number(PACE) });
const origins = ORIGINS.split(',');

const server = createRunServer({
  log,
  // After a process dies its runs are closed within this time.
  lease: 5_000,
  origins: (origin) => isLocal(origin) || origins.includes(origin),
  run: (run) => agent({ ...run, hear }),
});

// This agent can wait for a word of the page; here none comes.
/** @param {string} _ @param {number} time */
async function hear(_, time) {
  await wait(time);
  return false;
}

const http = createServer((_, response) => response.writeHead(404).end());
const sockets = new WebSocketServer({ server: http, path: '/agent', maxPayload: 1024 * 1024 });
sockets.on('connection', (socket, request) => {
  socket.on('error', () => {}); // A bad frame or one over the limit; `close` follows.
  server.accept(socket, undefined, request);
});

http.listen(0, '127.0.0.1', () => {
  const address = /** @type {import('node:net').AddressInfo} */ (http.address());
  process.send?.({ port: address.port });
});

// Clients are sent to the other process, and runs get the time to end.
process.once('SIGTERM', async () => {
  http.close();
  await server.dispose({ grace: 10_000 });
  await log.dispose();
  process.exit(0);
});
process.once('disconnect', () => process.exit(0));
process.on('SIGINT', () => {}); // Ctrl+C reaches all processes; the first one says when to end.

/** @param {string} origin */
function isLocal(origin) {
  try {
    return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(origin).hostname);
  } catch {
    return false;
  }
}
