import PartySocket, { CloseEvent as MadeUpCloseEvent } from 'partysocket/ws';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket as WS } from 'ws';
import { createPartyDialer, type DialEnd } from '../../src/client/dialer.ts';
import type { CloseInfo } from '../../src/client/types.ts';
import { createClient, createWebSocketClient } from '../../src/client/websocket-client.ts';
import { getWire } from '../../src/client/wire.ts';
import { createManualWebSocket } from '../helpers/manual-socket.ts';
import { until } from '../helpers/until.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { startWsServer } from '../helpers/ws-server.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Longer than any dial of a stopped partysocket could still take: its wait is a `setTimeout(0)`. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 30));

function startDialer(WebSocket = createManualWebSocket()) {
  const log: string[] = [];
  const ends: (DialEnd & { cause: unknown })[] = [];
  const dialer = createPartyDialer(WebSocket.WebSocket, {
    onOpen: () => log.push('open'),
    onMessage: (data) => log.push(`message ${data}`),
    onEnd(end, cause) {
      log.push(`end ${end.code}`);
      ends.push({ ...end, cause });
    },
  });
  cleanUps.push(() => dialer.stop());
  const { sockets } = WebSocket;
  const dial = async (url = 'ws://x', protocols?: string | string[]) => {
    const { length } = sockets;
    dialer.dial(url, protocols);
    await until(() => sockets.length > length);
    return sockets[length]!;
  };
  return { dialer, log, ends, sockets, dial };
}

async function startServer(options?: Parameters<typeof startWsServer>[0]) {
  const server = await startWsServer(options);
  cleanUps.push(server.close);
  return server;
}

describe('the end of a socket', () => {
  it('that failed is no clean close, and carries the cause', async () => {
    const { dial, ends, log } = startDialer();
    const socket = await dial();
    const error = new Error('connect ECONNREFUSED');
    socket.fire('error', { error });
    socket.fire('close', { code: 1006, reason: '', wasClean: false });
    expect(ends).toEqual([{ code: 1006, reason: '', wasClean: false, cause: error }]);
    const next = await dial();
    next.fire('open');
    next.fire('error', { message: 'Invalid frame' });
    expect(ends[1]).toEqual({ code: 1006, reason: '', wasClean: false, cause: 'Invalid frame' });
    expect(log).toEqual(['end 1006', 'open', 'end 1006']);
  });

  it('is known from on… properties only: listeners of partysocket get made-up events', async () => {
    const listen = vi.spyOn(PartySocket.prototype, 'addEventListener');
    const { dial, log } = startDialer();
    const socket = await dial();
    socket.fire('open');
    socket.fire('close', { code: 4000, reason: 'x', wasClean: true });
    expect([log, listen.mock.calls]).toEqual([['open', 'end 4000'], []]);
  });

  it('is the real one where the peer closed', async () => {
    const { dial, ends } = startDialer();
    const socket = await dial();
    socket.fire('open');
    socket.fire('close', { code: 1000, reason: 'done', wasClean: true });
    expect(ends).toEqual([{ code: 1000, reason: 'done', wasClean: true, cause: undefined }]);
  });

  it('is told once where the constructor throws, also after an earlier socket', async () => {
    let isBroken = true;
    const { WebSocket, sockets } = createManualWebSocket();
    class Fragile {
      constructor(url: string) {
        if (isBroken) throw new SyntaxError('bad url');
        // biome-ignore lint/correctness/noConstructorReturn: stands for the class of a browser.
        return new WebSocket(url);
      }
    }
    const { dialer, ends, dial } = startDialer({ WebSocket: Fragile as never, sockets });
    dialer.dial('x');
    await until(() => ends.length === 1);
    isBroken = false;
    const socket = await dial();
    socket.fire('open');
    socket.fire('close', { code: 1001, reason: '', wasClean: true });
    isBroken = true;
    dialer.dial('y');
    await until(() => ends.length === 3);
    await settle();
    expect(ends.map(({ code, cause }) => [code, cause])).toEqual([
      [1006, new SyntaxError('bad url')],
      [1001, undefined],
      [1006, new SyntaxError('bad url')],
    ]);
  });
});

describe('messages', () => {
  it('are taken from the socket itself: partysocket clones none', async () => {
    const { dial, log } = startDialer();
    const socket = await dial();
    socket.fire('open');
    let clones = 0;
    vi.stubGlobal(
      'MessageEvent',
      class {
        constructor() {
          clones++;
        }
      },
    );
    for (let i = 0; i < 100; i++) socket.fire('message', { data: 'm' });
    expect([clones, log.filter((line) => line === 'message m').length]).toEqual([0, 100]);
  });

  it('come as text or ArrayBuffer', async () => {
    const server = await startServer({
      onConnection(socket) {
        socket.send('text');
        socket.send(Buffer.from([1, 2]));
      },
    });
    const seen: unknown[] = [];
    const client = createWebSocketClient(server.url, {
      WebSocket: WS,
      parse: (data) => data,
      on: { message: (message) => seen.push(message) },
    });
    cleanUps.push(() => client.close());
    client.hold();
    await until(() => seen.length === 2);
    expect(seen).toEqual(['text', new Uint8Array([1, 2]).buffer]);
  });
});

describe('send', () => {
  it('takes nothing but on an open socket', async () => {
    const { dialer, dial } = startDialer();
    const socket = await dial();
    expect(dialer.send('early')).toBe(false);
    socket.fire('open');
    expect(dialer.send('in time')).toBe(true);
    socket.readyState = 2;
    expect(dialer.send('late')).toBe(false);
    expect(socket.sent).toEqual(['in time']);
  });
});

describe('providers', () => {
  it('that reject with nothing do not stop partysocket for ever', async () => {
    const server = await startServer();
    let asked = 0;
    const client = createWebSocketClient(() => (++asked < 3 ? Promise.reject() : server.url), {
      WebSocket: WS,
      backoff: { first: 0, min: 0, max: 0 },
    });
    cleanUps.push(() => client.close());
    client.hold();
    await client.ready;
    expect(asked).toBe(3);
  });

  it('that hang are overtaken by reconnect() and ended by close()', async () => {
    const server = await startServer();
    const pending: ((url: string) => void)[] = [];
    const client = createWebSocketClient(
      () =>
        new Promise<string>((resolve) => {
          pending.push(resolve);
        }),
      { WebSocket: WS },
    );
    cleanUps.push(() => client.close());
    client.hold();
    client.reconnect();
    pending[1]?.(`${server.url}/second`);
    await client.ready;
    pending[0]?.(`${server.url}/first`);
    client.reconnect();
    client.close();
    pending[2]?.(`${server.url}/third`);
    await settle();
    expect(server.requests.map(({ url }) => url)).toEqual(['/second']);
  });

  it('of protocols are not asked before the wait', async () => {
    const server = await startServer();
    let asked = 0;
    const client = createWebSocketClient(server.url, {
      WebSocket: WS,
      protocols: async () => `token-${++asked}`,
      backoff: { first: 0, min: 0, max: 0 },
    });
    cleanUps.push(() => client.close());
    client.hold();
    for (let round = 1; round <= 4; round++) {
      await until(() => server.live.length === 1 && client.getSnapshot().status === 'open');
      expect(asked).toBe(round);
      server.live[0]?.close(1012);
      await until(() => server.requests.length > round);
    }
    expect(server.requests.map(({ headers }) => headers['sec-websocket-protocol'])).toEqual(
      Array.from({ length: 5 }, (_, i) => `token-${i + 1}`),
    );
  });
});

describe('stop', () => {
  it('is in time at any moment before the socket is made', async () => {
    for (let moment = 0; moment < 12; moment++) {
      const { dialer, sockets, log } = startDialer();
      dialer.dial('ws://x');
      if (moment > 8) await new Promise((resolve) => setTimeout(resolve, 0));
      for (let i = 0; i < moment; i++) await undefined;
      const { length } = sockets;
      dialer.stop();
      await settle();
      expect(sockets.length).toBe(length);
      expect(log).toEqual([]);
    }
  });

  it('detaches first: nothing of the old socket is looked at, also when it is closing', async () => {
    const { dialer, dial, log } = startDialer();
    const old = await dial();
    old.fire('open');
    dialer.stop(4000, 'bye');
    expect([old.closed, old.isTerminated]).toEqual([[[4000, 'bye']], false]);
    old.fire('message', { data: 'late' });
    const fresh = await dial();
    old.fire('error', { error: new Error('late') });
    old.fire('close', { code: 4000, reason: 'bye', wasClean: true });
    fresh.fire('open');
    fresh.fire('message', { data: 'new' });
    expect(log).toEqual(['open', 'open', 'message new']);
    expect(fresh.closed).toEqual([]);
  });

  it('detaches before it closes: an end that a socket tells inside close() is not heard', async () => {
    const { dialer, dial, log } = startDialer();
    const socket = await dial();
    socket.fire('open');
    Object.assign(socket, {
      close: () => socket.fire('close', { code: 1000, reason: '', wasClean: true }),
    });
    dialer.stop(1000);
    expect([socket.readyState, log]).toEqual([3, ['open']]);
  });

  it('without a code waits for nobody', async () => {
    const { dialer, dial } = startDialer();
    const socket = await dial();
    socket.fire('open');
    dialer.stop();
    expect([socket.closed, socket.isTerminated]).toEqual([[[1000, undefined]], true]);
  });

  it('in the middle of a handshake leaves no timer that hits the next socket', async () => {
    const timers = () =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const { dialer, dial } = startDialer();
    const before = timers();
    for (let i = 0; i < 20; i++) {
      const old = await dial();
      dialer.stop();
      old.fire('error', { error: new Error('closed before the connection was established') });
      old.fire('close', { code: 1006, reason: '', wasClean: false });
    }
    const last = await dial();
    last.fire('open');
    last.fire('close', { code: 1001, reason: '', wasClean: true });
    dialer.stop();
    await settle();
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it('may come from every callback', async () => {
    for (const moment of ['open', 'message', 'end']) {
      const { WebSocket, sockets } = createManualWebSocket();
      const log: string[] = [];
      const note = (name: string) => () => {
        log.push(name);
        if (name === moment) dialer.stop();
      };
      const dialer = createPartyDialer(WebSocket, {
        onOpen: note('open'),
        onMessage: note('message'),
        onEnd: note('end'),
      });
      dialer.dial('ws://x');
      await until(() => sockets.length === 1);
      sockets[0]?.fire('open');
      sockets[0]?.fire('message', { data: '' });
      sockets[0]?.fire('close', { code: 1001, reason: '', wasClean: true });
      const names = ['open', 'message', 'end'];
      expect(log).toEqual(names.slice(0, names.indexOf(moment) + 1));
      await settle();
      expect(sockets.length).toBe(1);
    }
  });
});

describe('partysocket', () => {
  it('keeps its own connect timeout out of the way', async () => {
    const { dial, log } = startDialer();
    const socket = await dial();
    await settle();
    socket.fire('open');
    expect(log).toEqual(['open']);
  });

  it('never waits: hundreds of failures do not slow it down', async () => {
    const { dial, ends } = startDialer();
    for (let i = 0; i < 200; i++) {
      (await dial(`ws://x/${i}`)).fire('close', { code: 1006, reason: '', wasClean: false });
    }
    expect(ends.length).toBe(200);
  });

  it('is never asked with a bad close code, so that there is one socket after it', async () => {
    const server = await startServer();
    const client = createWebSocketClient(server.url, { WebSocket: WS });
    cleanUps.push(() => client.close());
    client.hold();
    await client.ready;
    expect(() => client.close(999)).toThrow(expect.objectContaining({ code: 'invalid-argument' }));
    client.reconnect();
    await client.ready;
    await until(() => server.live.length === 1 && server.requests.length === 2);
    client.close();
    await until(() => server.live.length === 0);
  });

  it('reconnects an open socket also where shouldReconnect says no to every close', async () => {
    const server = await startServer();
    const client = createWebSocketClient(server.url, {
      WebSocket: WS,
      shouldReconnect: () => false,
    });
    cleanUps.push(() => client.close());
    client.hold();
    await client.ready;
    client.reconnect();
    await client.ready;
    await until(() => server.live.length === 1 && server.requests.length === 2);
  });

  it('swallows no listener of ours that throws, and prints nothing', async () => {
    const spies = (['log', 'warn', 'error'] as const).map((name) => vi.spyOn(console, name));
    const server = await startServer();
    const failure = new Error('mine');
    const clock = createVirtualClock();
    const closes: CloseInfo[] = [];
    const client = createClient(
      server.url,
      {
        WebSocket: WS,
        on: {
          close() {
            throw failure;
          },
        },
      },
      { environment: clock.environment },
    );
    client.on('close', (close) => closes.push(close));
    client.hold();
    await client.ready;
    client.close();
    expect([clock.reports, closes.length]).toEqual([[failure], 1]);
    expect(() => client.send('late')).toThrow(expect.objectContaining({ code: 'closed' }));
    await until(() => server.live.length === 0);
    expect(spies.flatMap((spy) => spy.mock.calls)).toEqual([]);
  });

  it('passes real time for each dial, whatever the injected clock says', async () => {
    const server = await startServer();
    const clock = createVirtualClock();
    const client = createClient(server.url, { WebSocket: WS }, { environment: clock.environment });
    client.hold();
    await client.ready;
    client.close();
    expect(clock.now()).toBe(createVirtualClock().now());
  });

  it('has no queue: the layer above comes first, then what was queued here', async () => {
    const server = await startServer();
    const client = createWebSocketClient(server.url, { WebSocket: WS });
    cleanUps.push(() => client.close());
    const wire = getWire(client as never);
    wire.peer = {
      open() {
        for (const type of ['resume', 'cancel']) {
          wire.transmit(wire.encode({ type }), { type });
        }
      },
      close() {},
      unpack: () => undefined,
      control: () => false,
      message() {},
      tooLarge() {},
      page() {},
    };
    client.send({ type: 'queued' });
    await until(() => server.received.length === 3);
    expect(server.received).toEqual([
      '{"type":"resume"}',
      '{"type":"cancel"}',
      '{"type":"queued"}',
    ]);
  });

  it('makes the events that the dialer tells apart', () => {
    const event = new MadeUpCloseEvent(1000, '', null);
    expect([event instanceof MadeUpCloseEvent, event.code, event.wasClean]).toEqual([
      true,
      1000,
      true,
    ]);
  });
});
