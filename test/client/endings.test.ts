import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket as WS } from 'ws';
import type {
  CloseInfo,
  ConnectionState,
  ConnectReason,
  WebSocketClientOptions,
} from '../../src/client/types.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { until } from '../helpers/until.ts';
import { startWsServer, type WsServerOptions } from '../helpers/ws-server.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function startClient(url: string, options: WebSocketClientOptions = {}) {
  const closes: CloseInfo[] = [];
  // As each close left it: the next attempt may follow within a millisecond.
  const states: ConnectionState[] = [];
  const reasons: ConnectReason[] = [];
  const client = createWebSocketClient(
    ({ reason }) => {
      reasons.push(reason);
      return url;
    },
    {
      WebSocket: WS,
      backoff: { first: 100 },
      on: {
        close(close) {
          closes.push(close);
          states.push(client.getSnapshot());
        },
      },
      ...options,
    },
  );
  cleanUps.push(() => client.close());
  client.hold();
  return { client, closes, stateAt: (index: number) => states[index] as ConnectionState, reasons };
}

async function startOpen(options?: WsServerOptions) {
  const server = await startWsServer(options);
  const proxy = await startTcpProxy(server.port);
  cleanUps.push(server.close, proxy.close);
  const all = startClient(`ws://127.0.0.1:${proxy.port}`);
  await all.client.ready;
  await until(() => server.live.length === 1);
  return { ...all, server, proxy };
}

async function startRaw(onConnection: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets };
}

const codes: [code: number, verdict: 'retry' | 'auth' | 'final'][] = [
  [1000, 'retry'],
  [1001, 'retry'],
  [1002, 'final'],
  [1003, 'final'],
  [1007, 'final'],
  [1008, 'final'],
  [1009, 'retry'],
  [1010, 'final'],
  [1011, 'retry'],
  [1012, 'retry'],
  [1013, 'retry'],
  [1014, 'retry'],
  [3000, 'retry'],
  [3499, 'retry'],
  [3500, 'final'],
  [3999, 'final'],
  [4000, 'retry'],
  [4400, 'final'],
  [4401, 'auth'],
  [4403, 'auth'],
  [4404, 'final'],
  [4408, 'retry'],
  [4429, 'retry'],
  [4499, 'final'],
  [4500, 'retry'],
];

describe('an open connection', () => {
  it.each(codes)('closed with %i: %s', async (code, verdict) => {
    const { client, closes, stateAt, server, reasons } = await startOpen();
    server.live[0]?.close(code, 'because');
    await until(() => closes.length === 1);
    expect(closes).toMatchObject([{ code, reason: 'because', wasClean: true }]);
    const { status, error, attempt } = stateAt(0);
    expect([status, attempt]).toEqual([verdict === 'final' ? 'closed' : 'waiting', 1]);
    expect([error?.code, error?.message, error?.cause]).toMatchObject([
      'closed',
      `Connection failed: ${code} because`,
      { code, reason: 'because' },
    ]);
    if (verdict === 'final') return;
    await client.ready;
    expect(reasons).toEqual(['first', verdict]);
    expect(client.getSnapshot()).toEqual({ status: 'open', attempt: 1 });
  });

  it('closed without a code is retried', async () => {
    const { client, closes, stateAt, server } = await startOpen();
    server.live[0]?.close();
    await until(() => closes.length === 1);
    expect(closes).toMatchObject([{ code: 1005, reason: '' }]);
    expect(stateAt(0)).toMatchObject({
      status: 'waiting',
      error: { message: 'Connection failed: 1005' },
    });
    await client.ready;
  });

  it.each(['fin', 'rst'] as const)('cut by %s is retried', async (kind) => {
    const { client, closes, stateAt, proxy } = await startOpen();
    proxy.cut(kind);
    await until(() => closes.length === 1);
    expect(closes).toMatchObject([{ code: 1006, reason: '', wasClean: false }]);
    expect(stateAt(0)).toMatchObject({
      status: 'waiting',
      error: { message: 'Connection failed: 1006' },
    });
    await client.ready;
  });

  it('that gets a bad frame is retried, with the cause', async () => {
    const { client, closes, stateAt, server } = await startOpen();
    const { _socket: socket } = server.live[0] as unknown as { _socket: Socket };
    socket.write(Buffer.from([0xff, 0x00]));
    await until(() => closes.length === 1);
    expect(closes).toMatchObject([{ code: 1006, wasClean: false }]);
    const { status, error } = stateAt(0);
    expect(status).toBe('waiting');
    expect(error?.message).toContain('Invalid WebSocket frame');
    expect(error?.cause).toBeInstanceOf(RangeError);
    await client.ready;
  });

  it('that sends too much is closed by the server, blamed and retried', async () => {
    const { client, closes } = await startOpen({ maxPayload: 1_000 });
    const errors: string[] = [];
    client.on('error', (error) => errors.push(error.code));
    client.send('x'.repeat(2_000));
    await until(() => closes.length === 1);
    expect(closes).toMatchObject([{ code: 1009 }]);
    expect(errors).toEqual(['too-large']);
    await client.ready;
    expect(client.getSnapshot().status).toBe('open');
  });
});

describe('an attempt', () => {
  it('that is refused is retried', async () => {
    const { client, closes, stateAt, server, proxy } = await startOpen();
    await proxy.refuse(true);
    await until(() => closes.length === 2);
    expect(stateAt(1).status).toBe('waiting');
    expect(closes[1]?.error).toMatchObject({
      message: `Connection failed: connect ECONNREFUSED 127.0.0.1:${proxy.port}`,
      cause: { code: 'ECONNREFUSED' },
    });
    await proxy.refuse(false);
    client.reconnect();
    await client.ready;
    await until(() => server.live.length === 1);
    expect(client.getSnapshot().error).toBeUndefined();
  });

  it('that is refused first of all shows the cause', async () => {
    const server = await startWsServer();
    await server.close();
    const { closes, stateAt } = startClient(server.url);
    await until(() => closes.length === 1);
    expect(closes).toMatchObject([{ code: 1006, reason: '', wasClean: false }]);
    expect(stateAt(0)).toMatchObject({
      status: 'waiting',
      error: { cause: { code: 'ECONNREFUSED' } },
    });
  });

  it('that is never upgraded ends at the limit and is retried, without an uncaught error', async () => {
    const { url, sockets } = await startRaw((socket) => socket.resume());
    const { client, closes } = startClient(url, { connectTimeout: 100, backoff: { first: 0 } });
    await until(() => sockets.length >= 3);
    expect(closes[0]).toMatchObject({ code: 1006, error: { code: 'timeout' } });
    expect(client.getSnapshot().error).toMatchObject({
      code: 'timeout',
      message: 'Connect timeout.',
    });
    await until(() => sockets.filter((socket) => !socket.destroyed).length <= 1);
  });

  it.each([401, 403, 404, 503])(
    'answered with HTTP %i is retried, with the cause',
    async (status) => {
      const server = await startWsServer({ admit: () => status });
      cleanUps.push(server.close);
      const { closes, stateAt } = startClient(server.url);
      await until(() => closes.length === 1);
      expect(closes).toMatchObject([{ code: 1006, wasClean: false }]);
      expect(stateAt(0)).toMatchObject({
        status: 'waiting',
        error: { message: `Connection failed: Unexpected server response: ${status}` },
      });
    },
  );

  it('that is hung up on is retried', async () => {
    const { url } = await startRaw((socket) => socket.end());
    const { closes, stateAt } = startClient(url);
    await until(() => closes.length === 1);
    expect(stateAt(0)).toMatchObject({
      status: 'waiting',
      error: { message: 'Connection failed: socket hang up' },
    });
  });

  it('that gets rubbish for an answer is retried', async () => {
    const { url } = await startRaw((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n\r\n'));
    const { closes, stateAt } = startClient(url);
    await until(() => closes.length === 1);
    expect(stateAt(0)).toMatchObject({ status: 'waiting', error: { code: 'closed' } });
  });

  it('whose url is none is retried, with the cause, and later urls are taken', async () => {
    const server = await startWsServer();
    cleanUps.push(server.close);
    const urls = ['http://[bad', 'ftp://x', server.url];
    const closes: CloseInfo[] = [];
    const client = createWebSocketClient(() => urls.shift() ?? '', {
      WebSocket: WS,
      backoff: { first: 0, min: 0, max: 0 },
      on: { close: (close) => closes.push(close) },
    });
    cleanUps.push(() => client.close());
    client.hold();
    await client.ready;
    expect(closes.map(({ error }) => error.cause)).toEqual([
      expect.any(SyntaxError),
      expect.any(SyntaxError),
    ]);
  });

  it('that is cut at any byte of the handshake is retried', async () => {
    const server = await startWsServer();
    const proxy = await startTcpProxy(server.port);
    cleanUps.push(server.close, proxy.close);
    for (let bytes = 1; bytes < 120; bytes += 9) {
      await until(() => proxy.open === 0);
      proxy.cutAfter(bytes, 'down', bytes % 2 ? 'rst' : 'fin');
      const { client, closes } = startClient(`ws://127.0.0.1:${proxy.port}`, {
        backoff: { first: 0, min: 0, max: 0 },
      });
      await client.ready.catch(() => {});
      await until(() => client.getSnapshot().status === 'open' && closes.length > 0);
      client.close();
    }
  });
});
