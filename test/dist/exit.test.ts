import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type AgentServer, startAgentServer } from './agent-server.ts';
import { type Consumer, createConsumer, moduleText } from './consumer.ts';

let consumer: Consumer;
let server: AgentServer | undefined;
let silent: Server | undefined;
const silentSockets = new Set<Socket>();

beforeAll(async () => {
  consumer = await createConsumer();
});
afterEach(async () => {
  await server?.close();
  for (const socket of silentSockets) socket.destroy();
  silentSockets.clear();
  await new Promise((resolve) => (silent ? silent.close(resolve) : resolve(undefined)));
  server = silent = undefined;
});
afterAll(() => consumer?.remove());

/** The address of a TCP server that takes connections and never says a word. */
async function startSilence(): Promise<string> {
  const net = createServer((socket) => {
    silentSockets.add(socket);
    socket.on('error', () => {});
    socket.resume();
  });
  silent = net;
  await new Promise<void>((resolve) => net.listen(0, '127.0.0.1', resolve));
  const address = net.address();
  return `ws://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}

/** The shortest wait that a forgotten timer of the package could keep Node alive for is 5 s. */
const patience = 4_000;

/** How long Node lives on after `end`, in ms, and how many timers it then still had. */
async function liveOn(name: string, body: string, end: string): Promise<number> {
  const output = await consumer.run(
    `${name}.mjs`,
    moduleText(
      'mjs',
      {
        runsocket: '{ createRuns, createWebSocketClient }',
        'runsocket/ag-ui': '{ createAgUiAgent }',
        ws: '{ WebSocket }',
      },
      `${body}
       ${end}
       const ended = performance.now();
       process.on('exit', () => console.log(performance.now() - ended));`,
    ),
  );
  return Number(output);
}

const untilStatus = (status: string) =>
  `await new Promise((go) => {
     const look = () => client.getSnapshot().status === '${status}' && go();
     client.subscribe(look);
     look();
   });`;

describe('Node ends by itself', () => {
  it('after close() of an open client', async () => {
    server = await startAgentServer({ whole: true });
    const body = `const client = createWebSocketClient('${server.url}', { WebSocket });
      client.hold();
      await client.ready;`;
    expect(await liveOn('open', body, 'client.close();')).toBeLessThan(patience);
  });

  it('after close() in the middle of a backoff', async () => {
    const body = `const client = createWebSocketClient('ws://127.0.0.1:1', {
        WebSocket, backoff: { first: 1e6, min: 5e5 },
      });
      client.hold();
      ${untilStatus('waiting')}`;
    expect(await liveOn('backoff', body, 'client.close();')).toBeLessThan(patience);
  });

  it('after close() while the url provider hangs', async () => {
    const body = `const client = createWebSocketClient(() => new Promise(() => {}), { WebSocket });
      client.hold();
      ${untilStatus('connecting')}`;
    expect(await liveOn('provider', body, 'client.close();')).toBeLessThan(patience);
  });

  it('after close() while a server never upgrades the connection', async () => {
    const url = await startSilence();
    const body = `let client;
      await new Promise((dialled) => {
        class Watched extends WebSocket {
          constructor(...args) {
            super(...args);
            setImmediate(dialled);
          }
        }
        client = createWebSocketClient('${url}', { WebSocket: Watched });
        client.hold();
      });`;
    expect(await liveOn('upgrade', body, 'client.close();')).toBeLessThan(patience);
  });

  it('after dispose() of an agent whose run streams, without cancelling the run', async () => {
    server = await startAgentServer({ whole: false });
    const body = `const client = createWebSocketClient('${server.url}', {
        WebSocket, heartbeat: { interval: 5_000, message: { type: 'resume', runId: 'none' } },
      });
      const agent = createAgUiAgent(client, { storage: null, silenceTimeout: 60_000 });
      agent.run({ messages: [{ role: 'user', content: 'Say it.' }] });
      await new Promise((go) => agent.on('event', go));`;
    expect(await liveOn('agent', body, 'agent.dispose();')).toBeLessThan(patience);
    expect(server.received.map(({ type }) => type)).toEqual(['run']);
  });

  it('after dispose() of runs that wait for a connection', async () => {
    const body = `const client = createWebSocketClient('ws://127.0.0.1:1', {
        WebSocket, backoff: { first: 1e6, min: 5e5 },
      });
      const runs = createRuns(client);
      runs.start({});
      ${untilStatus('waiting')}`;
    expect(await liveOn('queued', body, 'runs.dispose();')).toBeLessThan(patience);
  });

  it('after the last holder has let go, and the linger is over', async () => {
    server = await startAgentServer({ whole: true });
    const body = `const client = createWebSocketClient('${server.url}', { WebSocket, linger: 200 });
      const release = client.hold();
      await client.ready;`;
    const lived = await liveOn('linger', body, 'release();');
    expect(lived).toBeGreaterThan(150);
    expect(lived).toBeLessThan(patience);
  });
});
