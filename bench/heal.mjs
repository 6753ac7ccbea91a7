// How long after a fault the next event is applied, in real time over loopback: `node bench/heal.mjs`.
// One process has the server, the proxies and the clients, all with the default options. The server
// says a word every 5 ms; what counts is the time from the fault to the first word behind it.
// Environment: DROPS (200 unexpected closes, on CLIENTS (5) clients at a time), WAKES (50 of each other kind).
import { once } from 'node:events';
import { WebSocket, WebSocketServer } from 'ws';
import { importSources } from './bundle.mjs';

const drops = Number(process.env.DROPS ?? 200);
const clients = Number(process.env.CLIENTS ?? 5);
const wakes = Number(process.env.WAKES ?? 50);

const { createClient, createAgUiAgent, createServer, createFakePage, startTcpProxy, ...given } =
  await importSources(
    'src/client/websocket-client.ts',
    'src/ag-ui/agent.ts',
    'src/server/run-server.ts',
    'src/internal/environment.ts',
    'test/helpers/fake-page.ts',
    'test/helpers/tcp-proxy.ts',
  );
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A process that gets no time from the machine heals late: how late is said beside the figures.
let stall = 0;
let lastTick = performance.now();
setInterval(() => {
  stall = Math.max(stall, performance.now() - lastTick - 5);
  lastTick = performance.now();
}, 5).unref();

const stops = [];

async function openServer(plain) {
  const server = createServer({
    plain,
    async *run({ signal }) {
      yield { type: 'TEXT_MESSAGE_START', messageId: 'm' };
      while (!signal.aborted) {
        yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: '.' };
        await sleep(5);
      }
    },
  });
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(wss, 'listening');
  wss.on('connection', (socket) => server.accept(socket));
  stops.push(() => server.dispose({ grace: 0 }).then(() => wss.close()));
  return wss.address().port;
}

async function openPage(port) {
  const proxy = await startTcpProxy(port);
  const page = createFakePage();
  const client = createClient(
    `ws://127.0.0.1:${proxy.port}`,
    { WebSocket },
    { environment: { ...given.defaultEnvironment, page: page.globals } },
  );
  let onEvent = () => {};
  const agent = createAgUiAgent(client, { storage: null });
  agent.on('event', () => onEvent());
  agent.run({ messages: [] });
  const nextEvent = () =>
    new Promise((resolve) => {
      onEvent = resolve;
    });
  const close = () => {
    agent.dispose();
    client.close();
    return proxy.close();
  };
  await nextEvent();
  return { proxy, page, client, nextEvent, close };
}

/** From `fault()`, which has ended the connection when it returns, to the next event. */
async function time({ nextEvent }, fault) {
  await fault();
  const start = performance.now();
  await nextEvent();
  return performance.now() - start;
}

const untilWaiting = async ({ client }) => {
  while (client.getSnapshot().status !== 'waiting') await sleep(1);
};

function report(title, times) {
  const sorted = times.toSorted((a, b) => a - b);
  const show = (at) => `${sorted[Math.min(sorted.length - 1, at)].toFixed(0).padStart(5)} ms`;
  console.log(
    `${title.padEnd(40)} ${String(sorted.length).padStart(4)} × median ${show(sorted.length >> 1)}, worst ${show(sorted.length)}; the process stood still for ${stall.toFixed(0)} ms`,
  );
  stall = 0;
}

for (const kind of ['v1', 'plain']) {
  const port = await openServer(kind === 'plain');
  console.log(`\n${kind} server, default options`);

  // Each client has dropped once before the next drop, and lived for longer than the backoff remembers.
  const times = [];
  const drop = async () => {
    const page = await openPage(port);
    times.push(
      await time(page, async () => {
        page.proxy.cut(times.length % 2 ? 'fin' : 'rst');
        while (page.client.getSnapshot().status === 'open') await sleep(0);
      }),
    );
    await page.close();
  };
  for (let n = 0; n < drops; n += clients) {
    await Promise.all(Array.from({ length: Math.min(clients, drops - n) }, drop));
  }
  report('an unexpected close', times);

  const page = await openPage(port);
  const kinds = {
    'online after offline': () => {
      page.page.setOnline(false);
      page.page.setOnline(true);
    },
    'a tab looked at again, while waiting': async () => {
      page.proxy.cut();
      await untilWaiting(page);
      page.page.setVisible(true);
    },
    'pageshow from the back/forward cache': () => {
      page.page.dispatch('pagehide', { persisted: true });
      page.page.dispatch('pageshow', { persisted: true });
    },
    'reconnect()': () => page.client.reconnect(),
  };
  for (const [name, fault] of Object.entries(kinds)) {
    const all = [];
    for (let n = 0; n < wakes; n++) {
      await page.nextEvent();
      all.push(await time(page, fault));
    }
    report(name, all);
  }
  await page.close();

  // What the watchdog takes until it gives a socket up, and what the swap itself takes then.
  const found = [];
  const swaps = [];
  await Promise.all(
    Array.from({ length: 10 }, async (_, n) => {
      // Not all at once: each swap is measured alone.
      await sleep(n * 500);
      const half = await openPage(port);
      half.proxy.blackHole(true);
      const start = performance.now();
      await new Promise((resolve) => {
        const stop = half.client.subscribe(() => {
          half.proxy.blackHole(false);
          stop();
          resolve();
        });
      });
      found.push(performance.now() - start);
      swaps.push(await time(half, () => {}));
      await half.close();
    }),
  );
  report('half-open: until it is given up', found);
  report('half-open: from there to the next event', swaps);
}
for (const stop of stops) await stop();
process.exit();
