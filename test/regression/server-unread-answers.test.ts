import { describe, expect, it } from 'vitest';
import { createServer } from '../../src/server/run-server.ts';
import type { CarriedConnection } from '../../src/server/types.ts';
import { createVirtualClock, type VirtualClock } from '../helpers/virtual-clock.ts';
import { ask, createPuppet, later, type Message } from '../server/set-up.ts';

const limit = 100_000;
/** About the longest frame or batch that one follower sends. */
const batch = 80_000;

interface Reader extends CarriedConnection {
  /** Bytes that wait in the socket. */
  waiting: number;
  readonly messages: Message[];
  /** How the server closed. */
  readonly code: number | undefined;
  ask(...messages: object[]): void;
}

/** A server, and clients whose sockets keep what is sent until the test lets it go. */
function start() {
  const clock: VirtualClock = createVirtualClock();
  const puppet = createPuppet();
  const server = createServer(
    { run: puppet.run, limits: { maxBuffered: limit, maxRequestsPerSecond: 1_000 } },
    clock.environment,
  );
  later(async () => {
    const done = server.dispose({ grace: 0 });
    await clock.advance(1);
    await done;
  });
  const dial = (): Reader => {
    const codes: number[] = [];
    const reader = {
      waiting: 0,
      messages: [] as Message[],
      get code() {
        return codes[0];
      },
    };
    const connection = server.connect(
      (text) => {
        reader.waiting += text.length;
        reader.messages.push(JSON.parse(text));
      },
      (code) => codes.push(code),
      { bufferedAmount: () => reader.waiting },
    );
    return Object.assign(reader, connection, {
      ask: (...all: object[]) => {
        for (const one of all) connection.receive(JSON.stringify(one));
      },
    }) as never;
  };
  return { clock, puppet, server, dial };
}

/** A server with a run of about 200 kB. */
async function startWithRun(count = 1) {
  const started = start();
  const { clock, puppet, dial } = started;
  const owner = dial();
  for (let n = 0; n < count; n++) {
    owner.ask(ask(`run ${n}`));
    puppet.say(`run ${n}`, ...Array.from({ length: 200 }, () => 'x'.repeat(1_000)));
  }
  await clock.advance(100);
  return started;
}

describe('a client that does not read', () => {
  it('is sent no more however often it asks for a run', async () => {
    const { clock, dial } = await startWithRun();
    const evil = dial();
    for (let n = 0; n < 900; n++) {
      evil.ask({ type: 'resume', runId: 'run 0' });
      if (n % 10 === 0) await clock.advance(1);
    }
    await clock.advance(1_000);
    expect(evil.waiting).toBeLessThan(limit + batch);
  });

  it('is sent no more however many runs it follows', async () => {
    const { clock, dial } = await startWithRun(40);
    const evil = dial();
    for (let n = 0; n < 40; n++) evil.ask({ type: 'resume', runId: `run ${n}` });
    await clock.advance(1_000);
    expect(evil.waiting).toBeLessThan(limit + batch);
    // All that wait go on at the same moment.
    evil.waiting = 0;
    await clock.advance(1_000);
    expect(evil.waiting).toBeGreaterThan(0);
    expect(evil.waiting).toBeLessThan(limit + batch);
  });

  it.each([
    ['runs that nobody knows', (n: number) => ({ type: 'resume', runId: `unknown ${n}` })],
    ['runs that are known', () => ask('run 0')],
    ['signs of life', (n: number) => ({ type: 'ping', n })],
    ['runs with ids that are too long', () => ask('x'.repeat(5_000))],
  ])('is not answered without end when it asks for %s', async (_, make) => {
    const { clock, dial } = await startWithRun();
    const evil = dial();
    for (let n = 0; n < 20_000 && evil.waiting < 2 * limit; n++) {
      evil.ask(make(n));
      if (n % 100 === 0) await clock.advance(100);
    }
    await clock.advance(1_000);
    expect(evil.waiting).toBeLessThan(limit + batch);
  });

  it('is left in the end, though it goes on asking', async () => {
    const { clock, dial } = await startWithRun();
    const evil = dial();
    for (let n = 0; n < 120 && evil.code === undefined; n++) {
      evil.ask({ type: 'resume', runId: 'run 0' });
      await clock.advance(1_000);
    }
    expect(evil.code).toBe(4408);
  });

  it('gets all of its answers, in order, once it reads', async () => {
    const { clock, dial, puppet } = await startWithRun();
    const slow = dial();
    slow.ask({ type: 'resume', runId: 'run 0' });
    await clock.advance(100);
    slow.ask({ type: 'resume', runId: 'other' }, ask('new'), { type: 'resume', runId: 'run 0' });
    await clock.advance(100);
    const before = slow.messages.length;
    expect(puppet.starts.get('new')).toBe(1);
    for (let n = 0; n < 20; n++) {
      slow.waiting = 0;
      await clock.advance(500);
    }
    const later = slow.messages.slice(before);
    expect(later.filter(({ type }) => type === 'run.unknown')).toEqual([
      { type: 'run.unknown', runId: 'other', reason: 'never' },
    ]);
    expect(later.find(({ runId }) => runId === 'new')).toMatchObject({ type: 'run.accepted' });
    const again = later.findIndex(
      ({ type, runId }) => type === 'run.accepted' && runId === 'run 0',
    );
    const offsets = later.slice(again).filter(({ event, runId }) => event && runId === 'run 0');
    expect(offsets.map(({ offset }) => offset)).toEqual(Array.from({ length: 202 }, (_, n) => n));
  });

  it('can still cancel a run at once', async () => {
    const { clock, dial, puppet } = await startWithRun();
    const slow = dial();
    slow.ask({ type: 'resume', runId: 'run 0' });
    await clock.advance(100);
    expect(slow.waiting).toBeGreaterThan(limit);
    slow.ask({ type: 'cancel', runId: 'run 0' });
    await clock.advance(10);
    expect(puppet.signals.get('run 0')?.aborted).toBe(true);
  });
});
