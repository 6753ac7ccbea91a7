import { describe, expect, it } from 'vitest';
import type { CloseInfo, ConnectContext } from '../../src/client/types.ts';
import { createClient } from '../../src/client/websocket-client.ts';
import { isRunSocketError } from '../../src/internal/errors.ts';
import { createFakeDialer } from '../helpers/fake-dialer.ts';
import { createFakePage } from '../helpers/fake-page.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { setUp } from './set-up.ts';

describe('creation', () => {
  it('does nothing', async () => {
    let asked = 0;
    const { client, clock, page, dialer } = setUp({}, { url: () => `ws://${++asked}` });
    client.subscribe(() => {});
    await clock.advance(60_000);
    expect([asked, dialer.dials.length, page.listeners, clock.timers]).toEqual([0, 0, 0, 0]);
    expect(client.getSnapshot()).toEqual({ status: 'idle', attempt: 0 });
  });

  it('closes as unsupported where there is no WebSocket', async () => {
    const clock = createVirtualClock({ page: {} });
    const client = createClient('ws://x', {}, { environment: clock.environment });
    client.hold();
    const { status, error } = client.getSnapshot();
    expect([status, error?.code]).toEqual(['closed', 'unsupported']);
    await expect(client.ready).rejects.toMatchObject({ code: 'unsupported' });
    expect(() => client.send(1)).toThrow(expect.objectContaining({ code: 'closed' }));
    expect(clock.timers).toBe(0);
  });
});

describe('hold', () => {
  it('dials once for many holders and lingers after the last', async () => {
    const { client, clock, dialer, open, page } = setUp();
    const releases = [client.hold(), client.hold()];
    await open();
    for (const release of [...releases, ...releases]) release();
    await clock.advance(999);
    expect(client.getSnapshot().status).toBe('open');
    await clock.advance(1);
    expect(client.getSnapshot()).toEqual({ status: 'idle', attempt: 0 });
    expect(dialer.stops).toEqual([{ code: 1000, reason: '' }]);
    expect([dialer.dials.length, clock.timers, page.listeners]).toEqual([1, 0, 0]);
  });

  it('keeps the connection over a release and a new hold at once', async () => {
    const { client, clock, dialer, open } = setUp();
    client.hold()();
    client.hold();
    await open();
    await clock.advance(5_000);
    expect([client.getSnapshot().status, dialer.dials.length]).toEqual(['open', 1]);
  });

  it('is released once, however often that is said', async () => {
    const { client, clock, dialer, open } = setUp();
    const release = client.hold();
    await open();
    release();
    release();
    client.hold();
    await clock.advance(5_000);
    expect([client.getSnapshot().status, dialer.dials.length]).toEqual(['open', 1]);
  });

  it('skips lingering when the layer above asks for it', async () => {
    const { client, wire, clock, open } = setUp();
    const release = wire.hold();
    await open();
    release(true);
    expect(client.getSnapshot().status).toBe('idle');
    expect(clock.timers).toBe(0);
  });

  it('goes idle instead of retrying when nobody holds', async () => {
    const { client, clock, dialer, open } = setUp();
    const release = client.hold();
    await open();
    release();
    dialer.end(1001);
    expect(client.getSnapshot()).toEqual({ status: 'idle', attempt: 1 });
    await clock.advance(60_000);
    expect([dialer.dials.length, clock.timers]).toEqual([1, 0]);
  });

  it('is taken over by send(), until close()', async () => {
    const { client, clock, open } = setUp();
    expect(client.send('a')).toBe(false);
    await open();
    client.hold()();
    await clock.advance(60_000);
    expect(client.getSnapshot().status).toBe('open');
    client.close();
    expect(client.getSnapshot().status).toBe('closed');
  });
});

describe('send', () => {
  it('keeps nothing where somebody holds', async () => {
    const { client, clock, open } = setUp();
    const release = client.hold();
    await open();
    client.send('a');
    client.reconnect();
    await open();
    release();
    await clock.advance(1_000);
    expect(client.getSnapshot().status).toBe('idle');
  });
});

describe('retries', () => {
  it('waits as the backoff says and resets only after stable life', async () => {
    const { client, clock, dialer, untilDial } = setUp();
    client.hold();
    await untilDial();
    for (const [attempt, max] of [1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000].entries()) {
      dialer.open();
      await clock.advance(4_999);
      dialer.end();
      const { status, retryAt = 0, ...state } = client.getSnapshot();
      expect([status, state.attempt]).toEqual(['waiting', attempt + 1]);
      expect(retryAt - clock.now()).toBeLessThanOrEqual(max);
      const waited = await untilDial();
      expect(waited).toBeGreaterThanOrEqual(attempt ? 500 : 0);
      expect(waited).toBeLessThanOrEqual(max + 1);
    }
    dialer.open();
    await clock.advance(5_000);
    expect(client.getSnapshot()).toEqual({ status: 'open', attempt: 0 });
    dialer.end();
    expect(client.getSnapshot().attempt).toBe(1);
    expect(await untilDial()).toBeLessThanOrEqual(1_001);
  });

  it('spreads the first attempt of 300 clients evenly over a second', async () => {
    const clock = createVirtualClock({ seed: 20260101 });
    const bins = Array<number>(10).fill(0);
    let late = 0;
    let dropped = 0;
    const dialers = Array.from({ length: 300 }, () => {
      const dialer = createFakeDialer();
      const client = createClient(
        'ws://x',
        {},
        {
          environment: clock.environment,
          dialer: dialer.create,
        },
      );
      client.hold();
      return dialer;
    });
    await clock.flush();
    for (const dialer of dialers) {
      dialer.open();
      dialer.onDial = () => {
        const bin = Math.floor((clock.now() - dropped) / 100);
        if (bin < 10) bins[bin] = (bins[bin] ?? 0) + 1;
        else late++;
      };
    }
    await clock.advance(10_000);
    dropped = clock.now();
    for (const dialer of dialers) dialer.end(1012);
    await clock.advance(1_000);
    expect(bins.reduce((sum, count) => sum + count)).toBe(300);
    expect(late).toBe(0);
    expect(Math.max(...bins)).toBeLessThanOrEqual(50);
    expect(Math.min(...bins)).toBeGreaterThanOrEqual(15);
  });

  it('makes no storm against a server that accepts and closes at once', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { client, clock, dialer } = setUp({}, { seed });
      dialer.onDial = () => {
        dialer.open();
        dialer.end(1011);
      };
      client.hold();
      await clock.advance(60_000);
      expect(dialer.dials.length).toBeLessThanOrEqual(25);
      expect(dialer.dials.length).toBeGreaterThanOrEqual(5);
    }
  });

  it('takes the spread and the delay that a server asks for', async () => {
    const { client, wire, dialer, clock, open, untilDial } = setUp();
    client.hold();
    await open();
    await clock.advance(5_000);
    wire.setRetryHint({ spread: 0, after: 7_000 });
    dialer.end(1012);
    expect(await untilDial()).toBe(7_000);
    dialer.open();
    await clock.advance(5_000);
    dialer.end(1012);
    expect(await untilDial()).toBeLessThanOrEqual(1);
  });

  it('ends after maxRetries with the first cause', async () => {
    const { client, clock, dialer } = setUp({ maxRetries: 2 });
    const closes: CloseInfo[] = [];
    client.on('close', (close) => closes.push(close));
    client.hold();
    await clock.flush();
    dialer.end(1006, '', new Error('first'));
    await clock.advance(1_000);
    dialer.end(1006, '', new Error('second'));
    await clock.advance(2_000);
    dialer.end(1006, '', new Error('third'));
    const { status, error } = client.getSnapshot();
    expect([status, error?.code, error?.message]).toEqual([
      'closed',
      'closed',
      'Connection failed: first',
    ]);
    expect(closes.map((close) => close.error.message)).toEqual([
      'Connection failed: first',
      'Connection failed: second',
      'Connection failed: third',
    ]);
    await clock.advance(100_000);
    expect([dialer.dials.length, clock.timers]).toEqual([3, 0]);
  });

  it('asks shouldReconnect first, and survives that it throws', async () => {
    const seen: number[] = [];
    const { client, clock, dialer, open, untilDial } = setUp({
      shouldReconnect(close) {
        seen.push(close.code);
        if (close.code === 4400) return true;
        if (close.code === 1001) throw new Error('mine');
        return close.code === 1012 ? false : undefined;
      },
    });
    client.hold();
    await open();
    dialer.end(4400);
    await untilDial();
    dialer.open();
    dialer.end(1001);
    await untilDial();
    expect(clock.reports).toEqual([new Error('mine')]);
    dialer.open();
    dialer.end(1012);
    expect(client.getSnapshot().status).toBe('closed');
    expect(seen).toEqual([4400, 1001, 1012]);
  });

  it('does not retry where shouldReconnect closes the client', async () => {
    const { client, clock, dialer, open } = setUp({
      shouldReconnect() {
        client.close();
        return true;
      },
    });
    client.hold();
    await open();
    dialer.end(1001);
    expect(client.getSnapshot().status).toBe('closed');
    await clock.advance(60_000);
    expect([dialer.dials.length, clock.timers]).toEqual([1, 0]);
  });

  it('dials at once on reconnect() and leaves the backoff as it is', async () => {
    const { client, clock, dialer } = setUp();
    client.hold();
    await clock.flush();
    for (let attempt = 1; attempt < 8; attempt++) {
      dialer.end();
      const { retryAt = 0 } = client.getSnapshot();
      expect(retryAt).toBeGreaterThan(clock.now());
      client.reconnect();
      await clock.flush();
      expect(client.getSnapshot().attempt).toBe(attempt);
      expect(dialer.dials.length).toBe(attempt + 1);
    }
    expect(client.getSnapshot().error?.message).toBe('Connection failed: 1006');
  });

  it('replaces an open socket on reconnect(): the old one first, and says so', async () => {
    const { client, wire, clock, dialer, open } = setUp();
    const log: string[] = [];
    wire.peer = createPeer(log);
    client.on('close', (close) => log.push(`close ${close.code} ${close.error.message}`));
    client.on('open', () => log.push('open'));
    client.hold();
    await open();
    client.reconnect();
    expect(dialer.stops).toEqual([{ code: undefined, reason: '' }]);
    await open();
    expect(log).toEqual([
      'peer open first',
      'open',
      'peer close false',
      'close 1000 reconnect()',
      'peer open manual',
      'open',
    ]);
    expect([client.getSnapshot(), clock.timers]).toEqual([{ status: 'open', attempt: 0 }, 1]);
  });

  it('connects an idle client on reconnect() and keeps it', async () => {
    const { client, clock, open } = setUp();
    client.reconnect();
    await open();
    client.hold()();
    await clock.advance(10_000);
    expect(client.getSnapshot().status).toBe('open');
  });
});

describe('credentials', () => {
  it('asks once more after 4401, then stops', async () => {
    for (const code of [4401, 4403]) {
      const contexts: ConnectContext[] = [];
      const { client, clock, dialer, untilDial } = setUp(
        {},
        {
          url(context) {
            contexts.push(context);
            return 'ws://x';
          },
        },
      );
      client.hold();
      await untilDial();
      dialer.open();
      dialer.end(code, 'expired');
      expect(await untilDial()).toBeLessThanOrEqual(1_001);
      expect(contexts.map(({ reason, attempt }) => [reason, attempt])).toEqual([
        ['first', 0],
        ['auth', 1],
      ]);
      dialer.open();
      expect(client.getSnapshot().status).toBe('open');
      dialer.end(code, 'expired');
      const { status, error } = client.getSnapshot();
      expect([status, error?.message]).toEqual(['closed', `Connection failed: ${code} expired`]);
      await clock.advance(60_000);
      expect(contexts.length).toBe(2);
    }
  });

  it('has the extra question again after stable life', async () => {
    const { client, clock, dialer, untilDial } = setUp();
    client.hold();
    for (let round = 0; round < 3; round++) {
      await untilDial();
      dialer.open();
      await clock.advance(5_000);
      dialer.end(4401);
      expect(client.getSnapshot().status).toBe('waiting');
    }
  });

  it('says auth also when the wait is cut short', async () => {
    const reasons: string[] = [];
    const { client, page, dialer, open, clock } = setUp(
      {},
      {
        url({ reason }) {
          reasons.push(reason);
          return 'ws://x';
        },
      },
    );
    client.hold();
    await open();
    dialer.end(4401);
    page.setVisible(true);
    await clock.flush();
    expect(reasons).toEqual(['first', 'auth']);
  });

  it('asks the providers of url and protocols anew for every attempt', async () => {
    let asked = 0;
    const { client, dialer, untilDial } = setUp(
      { protocols: async () => ['v1', `token-${asked}`] },
      { url: async () => new URL(`ws://x/${++asked}`) },
    );
    client.hold();
    for (let cut = 0; cut < 10; cut++) {
      await untilDial();
      dialer.open();
      dialer.end();
    }
    await untilDial();
    expect(dialer.dials).toEqual(
      Array.from({ length: 11 }, (_, i) => ({
        url: `ws://x/${i + 1}`,
        protocols: ['v1', `token-${i + 1}`],
      })),
    );
  });
});

describe('url providers', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('no token');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no token'))],
    ['rejects with nothing', () => Promise.reject()],
  ] as [string, () => never][])('that %s fails the attempt', async (name, url) => {
    const { client, clock, dialer } = setUp({}, { url });
    client.hold();
    await clock.flush();
    const { status, error } = client.getSnapshot();
    expect(status).toBe('waiting');
    expect(error?.message).toBe(
      name.endsWith('nothing') ? 'Connection failed: 1006' : 'Connection failed: no token',
    );
    if (!name.endsWith('nothing')) expect(error?.cause).toEqual(new Error('no token'));
    await clock.advance(60_000);
    expect(client.getSnapshot().attempt).toBeGreaterThan(5);
    expect(dialer.dials).toEqual([]);
  });

  it('that hangs ends at the connect timeout, is told so, and is not listened to later', async () => {
    const pending: { resolve(url: string): void; signal: AbortSignal }[] = [];
    const { client, clock, dialer } = setUp(
      { connectTimeout: 3_000 },
      {
        url: ({ signal }) =>
          new Promise((resolve) => {
            pending.push({ resolve, signal });
          }),
      },
    );
    client.hold();
    await clock.advance(2_999);
    expect([client.getSnapshot().status, pending[0]?.signal.aborted]).toEqual([
      'connecting',
      false,
    ]);
    await clock.advance(1);
    const { status, error } = client.getSnapshot();
    expect([status, error?.code, error?.message]).toEqual([
      'waiting',
      'timeout',
      'Connect timeout.',
    ]);
    expect(pending[0]?.signal.aborted).toBe(true);
    pending[0]?.resolve('ws://late');
    await clock.advance(1_000);
    expect([pending.length, dialer.dials.length]).toEqual([2, 0]);
    pending[1]?.resolve('ws://in-time');
    await clock.flush();
    expect(dialer.dials).toEqual([{ url: 'ws://in-time', protocols: undefined }]);
  });

  it('that rejects after it was given up ends nothing', async () => {
    const rejects: ((error: Error) => void)[] = [];
    const { client, clock } = setUp(
      {},
      {
        url: () =>
          new Promise((_, reject) => {
            rejects.push(reject);
          }),
      },
    );
    client.hold();
    client.reconnect();
    rejects[0]?.(new Error('late'));
    await clock.flush();
    expect(client.getSnapshot()).toEqual({ status: 'connecting', attempt: 0 });
  });

  it('shares the connect timeout with the handshake', async () => {
    const { client, clock, dialer } = setUp(
      {},
      {
        url: () =>
          new Promise((resolve) => {
            clock.environment.setTimer(() => resolve('ws://slow'), 5_000);
          }),
      },
    );
    client.hold();
    await clock.advance(7_999);
    expect([dialer.status, client.getSnapshot().status]).toEqual(['dialling', 'connecting']);
    await clock.advance(1);
    expect([dialer.status, client.getSnapshot().status]).toEqual(['none', 'waiting']);
  });

  it('has its signal aborted by reconnect(), close() and going offline', async () => {
    const signals: AbortSignal[] = [];
    const { client, clock, page } = setUp(
      {},
      {
        url({ signal }) {
          signals.push(signal);
          return new Promise(() => {});
        },
      },
    );
    client.hold();
    client.reconnect();
    page.setOnline(false);
    page.setOnline(true);
    client.close();
    await clock.flush();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
  });
});

describe('close', () => {
  it('closes for good with code and reason, until hold() or reconnect()', async () => {
    const { client, wire, clock, dialer, open, page } = setUp();
    const log: string[] = [];
    wire.peer = createPeer(log);
    client.on('close', (close) => log.push(`close ${close.code} ${close.reason}`));
    client.hold();
    await open();
    client.close(4000, 'bye');
    client.close(4000, 'bye');
    expect(dialer.stops).toEqual([{ code: 4000, reason: 'bye' }]);
    expect(client.getSnapshot()).toMatchObject({ status: 'closed', error: { code: 'closed' } });
    expect(log).toEqual(['peer open first', 'peer close true', 'close 4000 bye']);
    await clock.advance(60_000);
    expect([dialer.dials.length, clock.timers, page.listeners]).toEqual([1, 0, 0]);
    expect(() => client.send('x')).toThrow(expect.objectContaining({ code: 'closed' }));
    client.hold();
    expect(client.getSnapshot()).toEqual({ status: 'connecting', attempt: 0 });
    await open();
    client.close();
    client.reconnect();
    await open();
    expect(client.getSnapshot().status).toBe('open');
  });

  it.each([999, 1001, 1006, 2999, 5000, 3000.5, Number.NaN, -1000, '1000x'])(
    'refuses the code %s before anything changes',
    async (code) => {
      const { client, open } = setUp();
      client.hold();
      await open();
      expect(() => client.close(code as number)).toThrow(
        expect.objectContaining({ code: 'invalid-argument' }),
      );
      expect(client.getSnapshot().status).toBe('open');
    },
  );

  it('refuses a reason that no close frame can hold', async () => {
    const { client, open } = setUp();
    client.hold();
    await open();
    expect(() => client.close(1000, 'ü'.repeat(62))).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
    client.close(1000, 'ü'.repeat(61));
    expect(client.getSnapshot().status).toBe('closed');
  });

  it('keeps the first cause of an outage', async () => {
    const { client, clock, dialer } = setUp();
    client.hold();
    await clock.flush();
    dialer.end(1006, '', new Error('ECONNREFUSED'));
    client.close();
    expect(client.getSnapshot().error?.message).toBe('Connection failed: ECONNREFUSED');
  });

  it('keeps what is queued for the next connection', async () => {
    const { client, dialer, open } = setUp();
    client.send('kept');
    client.close();
    client.hold();
    await open();
    expect(dialer.sent).toEqual(['"kept"']);
  });

  it('tells the layer above also where nothing was open', () => {
    const { client, wire } = setUp();
    const log: string[] = [];
    wire.peer = createPeer(log);
    client.close();
    expect(log).toEqual(['peer close true']);
  });
});

describe('ready', () => {
  it('resolves on open, rejects when closed for good, and is new after that', async () => {
    const { client, dialer, open, clock } = setUp();
    const { ready } = client;
    client.hold();
    expect(client.ready).toBe(ready);
    await open();
    await ready;
    dialer.end(1001);
    const again = client.ready;
    expect(again).not.toBe(ready);
    client.close();
    await expect(again).rejects.toSatisfy((error) => isRunSocketError(error, 'closed'));
    await expect(client.ready).rejects.toSatisfy((error) => isRunSocketError(error, 'closed'));
    client.hold();
    const third = client.ready;
    await open();
    await third;
    await clock.flush();
  });
});

describe('the page', () => {
  it('is detached offline and dialled at once when it is back', async () => {
    const reasons: string[] = [];
    const { client, clock, page, dialer, open } = setUp(
      {},
      {
        url({ reason }) {
          reasons.push(reason);
          return 'ws://x';
        },
      },
    );
    client.hold();
    await open();
    page.setOnline(false);
    expect([dialer.status, client.getSnapshot()]).toMatchObject([
      'none',
      { status: 'waiting', retryAt: clock.now() + 30_000, error: { message: 'offline' } },
    ]);
    await clock.advance(10_000);
    page.setOnline(true);
    await clock.flush();
    expect(dialer.status).toBe('dialling');
    expect(reasons).toEqual(['first', 'wake']);
    expect(client.getSnapshot().attempt).toBe(0);
  });

  it('makes one attempt every 30 s while the browser says that it is offline', async () => {
    const { client, clock, page, dialer, open } = setUp();
    client.hold();
    await open();
    page.setOnline(false);
    const at: number[] = [];
    const start = clock.now();
    dialer.onDial = () => {
      at.push(clock.now() - start);
      dialer.end();
    };
    await clock.advance(120_000);
    expect(at).toEqual([30_000, 60_000, 90_000, 120_000]);
    dialer.onDial = () => dialer.open();
    await clock.advance(30_000);
    expect(client.getSnapshot().status).toBe('open');
  });

  it('starts an attempt anew when the network is back in the middle of it', async () => {
    const { client, clock, page, dialer } = setUp();
    client.hold();
    await clock.flush();
    page.setOnline(true);
    await clock.flush();
    expect([dialer.dials.length, dialer.stops.length]).toEqual([2, 1]);
  });

  it('cuts a wait short when it is seen again', async () => {
    const { client, clock, page, dialer, open } = setUp();
    client.hold();
    await open();
    dialer.end();
    page.setVisible(false);
    expect(client.getSnapshot().status).toBe('waiting');
    page.setVisible(true);
    expect(client.getSnapshot().status).toBe('connecting');
    page.setVisible(false);
    page.setVisible(true);
    await clock.flush();
    expect(dialer.dials.length).toBe(2);
  });

  it('closes when it is left and dials when it is shown again', async () => {
    const { client, wire, clock, page, dialer, open } = setUp();
    const log: string[] = [];
    wire.peer = {
      ...createPeer(log),
      page: (type) => log.push(`${type} ${dialer.status} ${client.getSnapshot().status}`),
    };
    client.hold();
    await open();
    page.dispatch('pageshow', { persisted: false });
    page.dispatch('pagehide', { persisted: true });
    expect(client.getSnapshot()).toMatchObject({ status: 'waiting', attempt: 0 });
    expect(client.getSnapshot().retryAt).toBeUndefined();
    expect(clock.timers).toBe(0);
    await clock.advance(600_000);
    // Comes before `pageshow` where a page is restored.
    page.setVisible(true);
    page.setOnline(true);
    page.dispatch('pageshow', { persisted: true });
    await open();
    expect(dialer.dials.length).toBe(2);
    expect(log).toEqual([
      'peer open first',
      'hide open open',
      'peer close false',
      'show none waiting',
      'peer open wake',
    ]);
  });

  it('that closes the client as it is left, and opens it as it is shown again, has its retries', async () => {
    const { client, clock, page, dialer, open, untilDial } = setUp();
    client.hold();
    await open();
    page.dispatch('pagehide', { persisted: true });
    client.close();
    await clock.advance(10_000);
    page.dispatch('pageshow', { persisted: true });
    client.reconnect();
    await open();
    expect(client.getSnapshot().status).toBe('open');
    dialer.end();
    expect(await untilDial()).toBeLessThanOrEqual(1_000);
    expect(dialer.dials.length).toBe(3);
  });

  it('is listened to only while there is something to do', async () => {
    const { client, page, clock } = setUp();
    const release = client.hold();
    expect(page.listeners).toBe(5);
    release();
    await clock.advance(1_000);
    expect(page.listeners).toBe(0);
    client.reconnect();
    expect(page.listeners).toBe(5);
    client.close();
    expect(page.listeners).toBe(0);
  });

  it('may lack every event', async () => {
    const clock = createVirtualClock({
      page: { document: {}, navigator: {}, WebSocket: 'a WebSocket class' },
    });
    const dialer = createFakeDialer();
    const client = createClient(
      'ws://x',
      {},
      { environment: clock.environment, dialer: dialer.create },
    );
    client.hold();
    await clock.flush();
    dialer.open();
    client.close();
    expect(clock.reports).toEqual([]);
  });
});

describe('reentrancy', () => {
  it('survives listeners that call everything at every moment', async () => {
    const page = createFakePage();
    const clock = createVirtualClock({ seed: 5, page: page.globals });
    const { random } = clock.environment;
    const dialer = createFakeDialer();
    let depth = 0;
    const act = () => {
      if (depth > 3) return;
      depth++;
      const chance = random();
      if (chance < 0.1) client.close();
      else if (chance < 0.3) client.reconnect();
      else if (chance < 0.4) client.hold()();
      else if (chance < 0.5 && client.getSnapshot().status !== 'closed') client.send('x');
      else if (chance < 0.55) page.setOnline(random() < 0.5);
      depth--;
    };
    const client = createClient(
      ({ signal }) => {
        signal.addEventListener('abort', act);
        act();
        return 'ws://x';
      },
      { on: { open: act, close: act, message: act, error: act }, inspect: act },
      { environment: clock.environment, dialer: dialer.create },
    );
    client.subscribe(act);
    for (let step = 0; step < 3_000; step++) {
      client.hold();
      await clock.flush();
      if (dialer.status === 'dialling') random() < 0.7 ? dialer.open() : dialer.end();
      if (dialer.status === 'open') {
        if (random() < 0.5) dialer.receive(1);
        else dialer.end(random() < 0.2 ? 4400 : 1006);
      }
      const { status } = client.getSnapshot();
      expect(dialer.status === 'open').toBe(status === 'open');
      if (random() < 0.1) await clock.advance(random() * 30_000);
    }
    const own = clock.reports.filter(
      (error) => !isRunSocketError(error, 'closed') && !isRunSocketError(error, 'queue-full'),
    );
    expect(own).toEqual([]);
    depth = 9;
    page.setOnline(true);
    client.reconnect();
    await clock.flush();
    dialer.open();
    expect(client.getSnapshot().status).toBe('open');
    client.close();
    expect([clock.timers, page.listeners]).toEqual([0, 0]);
  });
});

function createPeer(log: string[]) {
  return {
    open: (reason: string) => log.push(`peer open ${reason}`),
    close: ({ final }: { final: boolean }) => log.push(`peer close ${final}`),
    unpack: () => undefined,
    control: () => false,
    message: () => {},
    tooLarge: () => {},
    page: () => {},
  } as unknown as NonNullable<ReturnType<typeof setUp>['wire']['peer']>;
}
