// The other process of soak.mjs: a run server behind the proxy, told by messages what to do.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WebSocketServer } from 'ws';
import { importSources } from '../bench/bundle.mjs';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');

const { createServer, startTcpProxy } = await importSources(
  'src/server/run-server.ts',
  'test/helpers/tcp-proxy.ts',
);

/** The runs of late, oldest first, with how often each was executed. */
const executions = new Map();
const twice = [];
let isDoubling = false;

const server = createServer({
  plain: process.env.PLAIN === '1',
  // Kept shortly, so that what is kept is the same all the time.
  limits: { retention: 30_000, tombstones: 30_000 },
  async *run({ runId, input, signal }) {
    if (executions.has(runId)) twice.push(runId);
    executions.set(runId, true);
    if (executions.size > 2_000) executions.delete(executions.keys().next().value);
    const { words, pause } = JSON.parse(input.messages.at(-1).content);
    yield { type: 'TEXT_MESSAGE_START', messageId: 'm' };
    for (let n = 0; n < words && !signal.aborted; n++) {
      yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: `${n} ` };
      if (n % 4 === 0) await sleep(pause);
    }
  },
  onError: (error) => console.log(`✗ server: ${error?.stack ?? error}`),
});

const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
await once(wss, 'listening');
wss.on('connection', (socket) => {
  socket.on('error', () => {});
  server.accept({
    get readyState() {
      return socket.readyState;
    },
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    send(data) {
      socket.send(data);
      if (isDoubling) socket.send(data);
    },
    close: (code, reason) => socket.close(code, reason),
    addEventListener: (type, listener) => socket.addEventListener(type, listener),
  });
});
const proxy = await startTcpProxy(wss.address().port);

const sendAll = (data) => {
  for (const socket of wss.clients) socket.send(data);
};
const calls = {
  getPort: () => proxy.port,
  cut: proxy.cut,
  cutAfter: proxy.cutAfter,
  blackHole: proxy.blackHole,
  refuse: proxy.refuse,
  setDelay: proxy.setDelay,
  closeAll(code) {
    for (const socket of wss.clients) {
      if (code === 1006) socket.terminate();
      else if (code === 1005) socket.close();
      else socket.close(code);
    }
  },
  sendAll,
  sendMegabyte: () => sendAll(JSON.stringify({ type: 'moon', text: 'x'.repeat(2 ** 20) })),
  sendBinary: () => sendAll(Buffer.from([0, 1, 2, 255])),
  double(on) {
    isDoubling = on;
  },
  async heal() {
    isDoubling = false;
    proxy.setDelay(0);
    proxy.blackHole(false);
    await proxy.refuse(false);
    proxy.cut();
  },
  async measure() {
    for (let n = 0; n < 2; n++) {
      gc();
      await sleep(2);
    }
    return {
      heap: process.memoryUsage().heapUsed / 2 ** 20,
      handles: process.getActiveResourcesInfo().length,
      sockets: [...wss.clients].filter(({ readyState }) => readyState === 1).length,
      running: server.getSnapshot().running,
      twice: twice.splice(0),
    };
  },
};
process.on('message', async ({ id, name, values }) => {
  const value = await calls[name](...values.map((one) => one ?? undefined));
  if (process.connected) process.send({ id, value });
});
process.on('disconnect', () => process.exit());
