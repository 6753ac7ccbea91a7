import { describe, expect, it } from 'vitest';
import type { RedisCalls } from '../../src/server/redis-calls.ts';
import { createRedisKeys } from '../../src/server/redis-keys.ts';
import { createRedisProducers } from '../../src/server/redis-producers.ts';
import { createRedisTails } from '../../src/server/redis-tails.ts';
import type { LoggedEvent } from '../../src/server/run-log.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';

const lease = 1e6;

/** Tails over a Redis that answers when the test says so, and over messages that the test sends. */
function setUp({ poll = 5_000 } = {}) {
  const clock = createVirtualClock();
  const calls: {
    readonly from: number;
    answer(value: unknown): void;
    fail(error: unknown): void;
  }[] = [];
  let send = (_: string) => {};
  let expired = 0;
  const tails = createRedisTails({
    call: (_, __, [from]) =>
      new Promise((resolve, reject) => {
        calls.push({ from: Number(from), answer: resolve, fail: reject });
      }),
    keys: createRedisKeys('test'),
    channels: {
      listen(_, onMessage) {
        send = onMessage;
        return () => {};
      },
      dispose() {},
    },
    environment: clock.environment,
    poll,
    async expire() {
      expired++;
      return false;
    },
  });
  return {
    clock,
    calls,
    tails,
    send: (message: string) => send(message),
    expired: () => expired,
    read(after?: number, signal = new AbortController().signal) {
      const events: LoggedEvent[] = [];
      const state = {
        events,
        outcome: undefined as unknown,
        pause: undefined as Promise<void> | undefined,
      };
      const run = async () => {
        for await (const batch of tails.read('a', after, signal)) {
          events.push(...batch);
          await state.pause;
        }
      };
      run().then(
        () => {
          state.outcome = 'ended';
        },
        (error) => {
          state.outcome = error.code ?? error;
        },
      );
      return state;
    },
  };
}

/** What Redis answers: the events from `first` on, of a log that has `next` events. */
const answer = (first: number, next: number, status = 'running', left = lease) => [
  'epoch',
  status,
  `${next}`,
  left,
  `${first}`,
  ...Array.from({ length: next - first }, (_, index) => `{"value":${first + index}}`),
];
const offsets = ({ events }: { readonly events: readonly LoggedEvent[] }) =>
  events.map(({ offset }) => offset);

describe('reading the end of a log', () => {
  it('wakes a follower whose news another one read first', async () => {
    const { calls, clock, read, send } = setUp();
    const waits = read();
    await clock.flush();
    calls[0]?.answer(answer(0, 600));
    await clock.flush();
    // It starts where nothing is remembered, and sees an event whose message is still on its way.
    read();
    await clock.flush();
    expect(calls.map(({ from }) => from)).toEqual([0, 0]);
    calls[1]?.answer(answer(0, 601));
    await clock.flush();
    send('601');
    await clock.flush();
    expect(waits.events).toHaveLength(601);
    expect(calls).toHaveLength(2);
  });

  it('asks no second time for what an answer had before its message came', async () => {
    const { calls, clock, read, send } = setUp();
    const follower = read();
    await clock.flush();
    calls[0]?.answer(answer(0, 5));
    await clock.flush();
    for (const next of ['3', '4', '5']) send(next);
    await clock.flush();
    expect(calls).toHaveLength(1);
    send('6');
    await clock.flush();
    expect(calls.map(({ from }) => from)).toEqual([0, 5]);
    calls[1]?.answer(answer(5, 6));
    await clock.flush();
    expect(offsets(follower)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('asks again where a message came while the answer was on its way', async () => {
    const { calls, clock, read, send } = setUp();
    const follower = read();
    await clock.flush();
    send('3');
    calls[0]?.answer(answer(0, 2));
    await clock.flush();
    expect(calls.map(({ from }) => from)).toEqual([0, 2]);
    calls[1]?.answer(answer(2, 3, 'finished'));
    await clock.flush();
    expect(offsets(follower)).toEqual([0, 1, 2]);
    expect(follower.outcome).toBe('ended');
  });

  it('gives a follower that was busy what came meanwhile, and asks for the rest', async () => {
    const { calls, clock, read, send } = setUp();
    const quick = read();
    const busy = read();
    let go = () => {};
    busy.pause = new Promise((resolve) => {
      go = resolve;
    });
    await clock.flush();
    calls[0]?.answer(answer(0, 2));
    await clock.flush();
    send('4');
    await clock.flush();
    quick.pause = new Promise(() => {});
    calls[1]?.answer(answer(2, 4));
    await clock.flush();
    // Both are busy, so that nobody asks for the fifth yet.
    send('5');
    busy.pause = undefined;
    go();
    await clock.flush();
    expect(offsets(busy)).toEqual([0, 1, 2, 3]);
    calls.at(-1)?.answer(answer(4, 5, 'finished'));
    await clock.flush();
    expect(offsets(busy)).toEqual([0, 1, 2, 3, 4]);
    expect(busy.outcome).toBe('ended');
    expect(calls.map(({ from }) => from)).toEqual([0, 2, 4]);
  });

  it('stops at once when its signal aborts: while it asks, while it waits, and in between', async () => {
    for (const moment of ['asks', 'waits', 'handles'] as const) {
      const { calls, clock, read, tails } = setUp();
      const stop = new AbortController();
      if (moment === 'handles') {
        const handle = async () => {
          for await (const _ of tails.read('a', undefined, stop.signal)) stop.abort();
          return 'ended';
        };
        const ended = handle();
        await clock.flush();
        calls[0]?.answer(answer(0, 1));
        expect(await ended).toBe('ended');
      } else {
        const follower = read(undefined, stop.signal);
        await clock.flush();
        if (moment === 'waits') calls[0]?.answer(answer(0, 1));
        await clock.flush();
        stop.abort();
        await clock.flush();
        expect([moment, follower.outcome]).toEqual([moment, 'ended']);
        calls[0]?.fail(new Error('too late'));
        await clock.flush();
      }
      expect(clock.timers).toBe(0);
    }
  });

  it('passes over what a trimmed log has lost, without asking for it again and again', async () => {
    const { calls, clock, read, send } = setUp();
    const follower = read();
    await clock.flush();
    calls[0]?.answer(['epoch', 'running', '9', lease, 0]);
    await clock.flush();
    expect(calls).toHaveLength(1);
    send('10');
    await clock.flush();
    calls[1]?.answer(answer(9, 10, 'finished'));
    await clock.flush();
    expect(offsets(follower)).toEqual([9]);
  });

  it('looks again after `poll`, or as soon as the lease has run out', async () => {
    const { calls, clock, expired, read } = setUp({ poll: 5_000 });
    read();
    await clock.flush();
    calls[0]?.answer(answer(0, 1));
    await clock.advance(4_999);
    expect(calls).toHaveLength(1);
    await clock.advance(1);
    expect(calls).toHaveLength(2);
    calls[1]?.answer(answer(1, 1, 'running', 300));
    await clock.advance(330);
    expect(calls).toHaveLength(3);
    expect(expired()).toBe(0);
    calls[2]?.answer(answer(1, 1, 'running', -20));
    await clock.flush();
    expect(expired()).toBe(1);
    // Not ended, as after an outage: it is looked at again, and not all the time.
    expect(calls).toHaveLength(3);
    await clock.advance(1_000);
    expect(calls).toHaveLength(4);
  });

  it('throws what Redis says, to every follower that waited for it', async () => {
    const { calls, clock, read } = setUp();
    const followers = [read(), read()];
    await clock.flush();
    calls[0]?.fail(Object.assign(new Error('away'), { code: 'storage' }));
    await clock.flush();
    expect(followers.map(({ outcome }) => outcome)).toEqual(['storage', 'storage']);
    expect(clock.timers).toBe(0);
  });
});

describe('writing', () => {
  it('writes nothing of what was appended behind a call that failed', async () => {
    const clock = createVirtualClock();
    const calls: {
      readonly args: readonly unknown[];
      answer(value: unknown): void;
      fail(error: unknown): void;
    }[] = [];
    const call: RedisCalls = (_, __, args) =>
      new Promise((resolve, reject) => {
        calls.push({ args, answer: resolve, fail: reject });
      });
    const producers = createRedisProducers({
      call,
      keys: createRedisKeys('test'),
      retention: 1,
      tombstones: 1,
      abandoned: 1,
      maxLength: 0,
      lostEvent: '{}',
      onCancelled() {},
    });
    producers.start('a', 'e', false);
    const outcomes: unknown[] = [];
    const append = (text: string) =>
      producers.append('a', 'e', [text]).then(
        (next) => outcomes.push(next),
        (error) => outcomes.push(error.message),
      );
    void append('0');
    await clock.flush();
    void append('1');
    void append('2');
    calls[0]?.fail(new Error('away'));
    await clock.flush();
    expect(outcomes).toEqual(['away', 'away', 'away']);
    expect(calls).toHaveLength(1);
    // What comes now first asks how far the log is.
    void append('3');
    await clock.flush();
    calls[1]?.answer(['e', '0', '1', 'running', '{}']);
    await clock.flush();
    expect(calls[2]?.args.slice(0, 2)).toEqual(['e', 1]);
    calls[2]?.answer([2, 0]);
    await clock.flush();
    expect(outcomes.at(-1)).toBe(2);
  });
});
