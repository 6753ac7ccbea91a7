import { Server as MockServer, WebSocket as MockWebSocket } from 'mock-socket';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket as WS } from 'ws';
import type { ConnectReason, WebSocketClientOptions } from '../../src/client/types.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { getWire } from '../../src/client/wire.ts';
import { createRandom } from '../helpers/random.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { until } from '../helpers/until.ts';
import { startWsServer, type WsServerOptions } from '../helpers/ws-server.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function start(options: WebSocketClientOptions = {}, serverOptions?: WsServerOptions) {
  const server = await startWsServer(serverOptions);
  const proxy = await startTcpProxy(server.port);
  const reasons: ConnectReason[] = [];
  const client = createWebSocketClient(
    ({ reason }) => {
      reasons.push(reason);
      return `ws://127.0.0.1:${proxy.port}`;
    },
    { WebSocket: WS, ...options },
  );
  const wire = getWire(client as never);
  cleanUps.push(server.close, proxy.close, () => client.close());
  return { server, proxy, client, wire, reasons };
}

describe('random calls', () => {
  it.each([1, 2, 3, 4, 5, 6])(
    'of reconnect, close, hold and release never make two live sockets (seed %i)',
    async (seed) => {
      const random = createRandom(seed);
      const server = await startWsServer();
      const client = createWebSocketClient(server.url, {
        WebSocket: WS,
        backoff: { first: 2, min: 1, max: 4 },
        linger: 2,
      });
      cleanUps.push(server.close, () => client.close());
      const releases: (() => void)[] = [];
      for (let call = 0; call < 1_000; call++) {
        const chance = random();
        if (chance < 0.35) client.reconnect();
        else if (chance < 0.55) client.close(random() < 0.5 ? 1000 : 4000, 'bye');
        else if (chance < 0.8) releases.push(client.hold());
        else releases.splice(Math.floor(random() * releases.length), 1)[0]?.();
        if (random() < 0.5) await pause(random() * 3);
        expect(server.live.length).toBeLessThanOrEqual(1);
      }
      client.hold();
      await client.ready;
      await until(() => server.live.length === 1);
      expect([client.getSnapshot().status, server.mostLive]).toEqual(['open', 1]);
      client.close();
      await until(() => server.live.length === 0);
    },
  );
});

describe('reconnect()', () => {
  it('opens at once in the middle of a long wait', async () => {
    const { server, proxy, client } = await start({ backoff: { first: 60_000, min: 60_000 } });
    client.hold();
    await client.ready;
    proxy.cut();
    await until(() => client.getSnapshot().status === 'waiting');
    const lives: number[] = [];
    for (let i = 0; i < 5; i++) {
      const before = performance.now();
      client.reconnect();
      await client.ready;
      lives.push(performance.now() - before);
      proxy.cut();
      await until(() => client.getSnapshot().status === 'waiting' && server.live.length === 0);
    }
    // The machine may be busy, but hardly five times in a row.
    expect(Math.min(...lives)).toBeLessThan(100);
  });
});

describe('a half-open connection', () => {
  it('is found within the idle timeout while a run streams, and late frames are lost', async () => {
    const { server, proxy, client, wire, reasons } = await start();
    const seen: unknown[] = [];
    client.on('message', (message) => seen.push(message));
    client.hold();
    await client.ready;
    await until(() => server.live.length === 1);
    wire.setIdleTimeout(300);
    proxy.blackHole(true);
    const [old] = server.live;
    const before = Date.now();
    await until(() => client.getSnapshot().status === 'connecting');
    expect(Date.now() - before).toBeGreaterThanOrEqual(290);
    expect(client.getSnapshot().error).toMatchObject({ code: 'timeout' });
    old?.send('"late"');
    proxy.blackHole(false);
    await client.ready;
    old?.send('"later"');
    await until(() => server.requests.length === 2);
    wire.setIdleTimeout(undefined);
    server.live.at(-1)?.send('"new"');
    await until(() => seen.length > 0);
    expect([seen, reasons]).toEqual([['new'], ['first', 'idle']]);
  });

  it('is found three times in a row by pings, which the server answers otherwise', async () => {
    const { server, proxy, client, reasons } = await start(
      { heartbeat: { interval: 100, timeout: 200, message: 'ping' } },
      { onMessage: (_, socket) => socket.send('"pong"') },
    );
    client.hold();
    // The next handshake must not be swallowed: the hole closes before its first byte leaves.
    client.subscribe(() => {
      if (client.getSnapshot().status === 'connecting') proxy.blackHole(false);
    });
    for (let round = 1; round <= 3; round++) {
      await client.ready;
      const { length } = server.received;
      await until(() => server.received.length > length + 2);
      expect(reasons.length).toBe(round);
      proxy.blackHole(true);
      await until(() => reasons.length > round);
    }
    await client.ready;
    expect(reasons).toEqual(['first', 'idle', 'idle', 'idle']);
  });

  it('in one direction only is found too', async () => {
    for (const direction of ['up', 'down'] as const) {
      const { server, proxy, client } = await start(
        { heartbeat: { interval: 50, timeout: 100, message: 'ping' } },
        { onMessage: (_, socket) => socket.send('"pong"') },
      );
      client.hold();
      await client.ready;
      await until(() => server.received.length > 1);
      proxy.blackHole(true, direction);
      await until(() => client.getSnapshot().status === 'connecting');
      proxy.blackHole(false);
      await client.ready;
    }
  });
});

describe('ten cuts with tokens that are good once', () => {
  it('need ten tokens more, and all messages arrive once and in order', async () => {
    const used = new Set<string>();
    let token = 0;
    const server = await startWsServer({
      admit({ url = '' }) {
        if (used.has(url)) return 401;
        used.add(url);
        return undefined;
      },
    });
    cleanUps.push(server.close);
    const client = createWebSocketClient(async () => `${server.url}/${++token}`, {
      WebSocket: WS,
      backoff: { first: 5, min: 1, max: 5 },
    });
    cleanUps.push(() => client.close());
    for (let cut = 0; cut < 10; cut++) {
      client.send(cut);
      await until(() => server.received.length === cut + 1 && server.live.length === 1);
      server.live[0]?.terminate();
      await until(() => client.getSnapshot().status !== 'open');
    }
    await client.ready;
    expect(server.received).toEqual(Array.from({ length: 10 }, (_, i) => `${i}`));
    expect(server.requests.map(({ url }) => url)).toEqual(
      Array.from({ length: 11 }, (_, i) => `/${i + 1}`),
    );
  });
});

describe('large frames', () => {
  it('of 20 MB go both ways', async () => {
    const { server, client } = await start(
      {},
      { onMessage: (message, socket) => socket.send(message) },
    );
    const seen: string[] = [];
    client.on('message', (message) => seen.push(message as string));
    const text = 'ü'.repeat(10_000_000);
    client.send(text);
    await until(() => seen.length === 1);
    expect(seen[0] === text).toBe(true);
    expect(server.live.length).toBe(1);
  });
});

describe('mock-socket', () => {
  it('works as the WebSocket: open, send, receive, close', async () => {
    const url = 'ws://mock.test/agent';
    const server = new MockServer(url);
    cleanUps.push(() => server.close());
    const received: unknown[] = [];
    server.on('connection', (socket) => {
      socket.on('message', (data) => {
        received.push(data);
        socket.send(JSON.stringify({ echo: JSON.parse(String(data)) }));
      });
    });
    const seen: unknown[] = [];
    const client = createWebSocketClient(url, {
      WebSocket: MockWebSocket,
      on: { message: (message) => seen.push(message) },
    });
    client.send({ n: 1 });
    await client.ready;
    await until(() => seen.length === 1);
    expect([received, seen]).toEqual([['{"n":1}'], [{ echo: { n: 1 } }]]);
    server.clients()[0]?.close({ code: 4400, reason: 'no', wasClean: true });
    await until(() => client.getSnapshot().status === 'closed');
    expect(client.getSnapshot().error?.message).toBe('Connection failed: 4400 no');
  });
});
