import { expect, it } from 'vitest';
import { createRedisChannels } from '../../src/server/redis-channels.ts';
import type { RedisLike, RedisSubscriberLike } from '../../src/server/redis-like.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';

interface FakeSubscriber extends RedisSubscriberLike {
  readonly log: string[];
  /** Settles what is waited for, oldest first. */
  settle(error?: Error): void;
  emit(type: string): void;
  send(message: string, channel: string): void;
}

/** Connections to listen with, each step of which the test settles. */
function setUp() {
  const clock = createVirtualClock();
  const made: FakeSubscriber[] = [];
  const duplicate = () => {
    const log: string[] = [];
    const waiting: ((error?: Error) => void)[] = [];
    const listeners = new Map<string, () => void>();
    let onMessage = (_: string, __: string) => {};
    const wait = (entry: string) => {
      log.push(entry);
      return new Promise<void>((resolve, reject) => {
        waiting.push((error) => (error ? reject(error) : resolve()));
      });
    };
    const subscriber: FakeSubscriber = {
      log,
      settle: (error) => waiting.shift()?.(error),
      emit: (type) => listeners.get(type)?.(),
      send: (message, channel) => onMessage(message, channel),
      connect: () => wait('connect'),
      subscribe(channel, listener) {
        onMessage = listener;
        return wait(`+${channel}`);
      },
      unsubscribe: (channel) => wait(`-${channel}`),
      on: (type, listener) => listeners.set(type, listener),
      destroy: () => log.push('destroy'),
    };
    made.push(subscriber);
    return subscriber;
  };
  const redis = { duplicate } as unknown as RedisLike;
  return { clock, made, channels: createRedisChannels(redis, clock.environment) };
}

it('makes no connection before somebody listens, and subscribes when it is open', async () => {
  const { channels, clock, made } = setUp();
  expect(made).toHaveLength(0);
  channels.listen('a', () => {});
  channels.listen('b', () => {});
  await clock.flush();
  expect(made.map(({ log }) => log)).toEqual([['connect']]);
  made[0]?.settle();
  await clock.flush();
  expect(made[0]?.log).toEqual(['connect', '+a', '+b']);
});

it('takes one step at a time for a channel, however fast listeners come and go', async () => {
  const { channels, clock, made } = setUp();
  const stop = channels.listen('a', () => {});
  await clock.flush();
  made[0]?.settle();
  await clock.flush();
  stop();
  channels.listen('a', () => {})();
  const heard: string[] = [];
  channels.listen('a', (message) => heard.push(message));
  await clock.flush();
  expect(made[0]?.log).toEqual(['connect', '+a']);
  made[0]?.settle();
  await clock.flush();
  expect(made[0]?.log).toEqual(['connect', '+a']);
  made[0]?.send('x', 'a');
  made[0]?.send('x', 'b');
  expect(heard).toEqual(['x']);
});

it('unsubscribes when nobody listens any more, and subscribes again behind that', async () => {
  const { channels, clock, made } = setUp();
  const stop = channels.listen('a', () => {});
  await clock.flush();
  made[0]?.settle();
  await clock.flush();
  made[0]?.settle();
  await clock.flush();
  stop();
  await clock.flush();
  channels.listen('a', () => {});
  await clock.flush();
  expect(made[0]?.log).toEqual(['connect', '+a', '-a']);
  made[0]?.settle();
  await clock.flush();
  expect(made[0]?.log).toEqual(['connect', '+a', '-a', '+a']);
});

it('tells listeners when nothing can be missed any more, and each time that something was', async () => {
  const { channels, clock, made } = setUp();
  let told = 0;
  channels.listen(
    'a',
    () => {},
    () => told++,
  );
  await clock.flush();
  made[0]?.emit('ready');
  made[0]?.settle();
  await clock.flush();
  expect(told).toBe(0);
  made[0]?.settle();
  await clock.flush();
  expect(told).toBe(1);
  made[0]?.emit('ready');
  expect(told).toBe(2);
});

it('tries again after a subscription that failed, and with a new connection after one that ended', async () => {
  const { channels, clock, made } = setUp();
  let told = 0;
  channels.listen(
    'a',
    () => {},
    () => told++,
  );
  await clock.flush();
  made[0]?.settle();
  await clock.flush();
  made[0]?.settle(new Error('lost'));
  await clock.flush();
  await clock.advance(500);
  expect(made[0]?.log).toEqual(['connect', '+a', '+a']);
  made[0]?.settle();
  await clock.flush();
  expect(told).toBe(1);
  made[0]?.emit('end');
  await clock.advance(500);
  expect(made).toHaveLength(2);
  made[1]?.settle(new Error('refused'));
  await clock.advance(500);
  expect(made).toHaveLength(3);
  made[2]?.settle();
  await clock.flush();
  made[2]?.settle();
  await clock.flush();
  expect(told).toBe(2);
  channels.dispose();
  expect(made[2]?.log.at(-1)).toBe('destroy');
  channels.listen('b', () => {});
  await clock.advance(5_000);
  expect(made).toHaveLength(3);
  expect(clock.timers).toBe(0);
});
