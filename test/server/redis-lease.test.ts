import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createRedisKeys } from '../../src/server/redis-keys.ts';
import { describeRedis, type RedisServer, startRedisServer } from '../helpers/redis-server.ts';
import { until } from '../helpers/until.ts';
import { createOpener, events, listOf, listUpTo } from './redis-set-up.ts';
import { follow, hostileIds } from './run-log-contract.ts';

describeRedis('redisRunLog leases, expiry and trimming', () => {
  const { open, closeAll } = createOpener();
  let server: RedisServer;
  let tests = 0;
  let prefix: string;

  beforeAll(async () => {
    server = await startRedisServer();
  });
  beforeEach(() => {
    prefix = `test-${tests++}`;
  });
  afterEach(closeAll);
  afterAll(() => server?.close());

  const member = (id: string) => [createRedisKeys(prefix).lease(id), id] as const;

  it('ends a run whose producer is gone once, however many processes look', async () => {
    const producer = await open(server.url, { prefix, lease: 100 });
    const others = await Promise.all(
      Array.from({ length: 4 }, () => open(server.url, { prefix, poll: 60_000 })),
    );
    const ids = Array.from({ length: 150 }, (_, index) => `run-${index}`);
    await Promise.all(
      ids.map(async (id) => {
        const { epoch } = await producer.log.create(id, {});
        await producer.log.append(id, epoch, events(0, 2));
      }),
    );
    await producer.close();
    const ended: string[] = [];
    while (ended.length < ids.length) {
      const found = await Promise.all(others.map(({ log }) => log.sweep()));
      ended.push(...found.flat());
    }
    for (const { log } of others) ended.push(...(await log.sweep()));
    expect(ended.sort()).toEqual([...ids].sort());
    for (const id of ids) {
      expect(await others[0]?.log.head(id)).toMatchObject({ status: 'lost', next: 3 });
    }
    const { events: all, done } = follow(others[0]!.log, ids[0]!);
    expect(await done).toBe('ended');
    expect(all.at(-1)).toMatchObject({
      offset: 2,
      event: { type: 'RUN_ERROR', code: 'run-lost', message: expect.any(String) },
    });
  });

  it('tells followers that a run is lost when its lease runs out, without a sweep', async () => {
    const producer = await open(server.url, { prefix });
    const reader = await open(server.url, { prefix, poll: 60_000 });
    const { epoch } = await producer.log.create('a', {});
    await producer.log.append('a', epoch, events(0, 3));
    expect(await producer.log.lease('a', epoch, 300)).toBe(true);
    const followers = [follow(reader.log, 'a'), follow(reader.log, 'a', 1)];
    await until(() => followers[0]!.events.length === 3);
    await producer.close();
    for (const { done } of followers) expect(await done).toBe('ended');
    expect(followers[0]!.events.at(-1)).toMatchObject({ offset: 3, event: { type: 'RUN_ERROR' } });
    expect(await reader.log.head('a')).toMatchObject({ status: 'lost' });
  });

  it('leaves a run alone that is renewed', async () => {
    const producer = await open(server.url, { prefix, lease: 1 });
    const reader = await open(server.url, { prefix });
    const { epoch } = await producer.log.create('a', {});
    expect(await producer.log.lease('a', epoch, 60_000)).toBe(true);
    await expect.poll(() => reader.redis.zScore(...member('a'))).toBeGreaterThan(1e12);
    await reader.redis.zAdd(member('a')[0], { score: 1, value: 'a' });
    expect(await reader.log.sweep()).toEqual([]);
    // Put back to when the lease runs out.
    const score = await reader.redis.zScore(...member('a'));
    const lease = await reader.redis.hGet(`${prefix}:{a}`, 'lease');
    expect(Math.abs(Number(score) - Number(lease))).toBeLessThan(1_000);
    expect(await producer.log.append('a', epoch, events(0, 1))).toBe(1);
  });

  it('takes nothing more from a producer that lost its run', async () => {
    const producer = await open(server.url, { prefix, lease: 1 });
    const reader = await open(server.url, { prefix });
    const { epoch } = await producer.log.create('a', {});
    await producer.log.append('a', epoch, events(0, 1));
    const ended: string[] = [];
    while (!ended.length) ended.push(...(await reader.log.sweep()));
    expect(ended).toEqual(['a']);
    await expect(producer.log.append('a', epoch, events(1, 2))).rejects.toMatchObject({
      code: 'run-lost',
    });
    expect(await producer.log.lease('a', epoch, 10_000)).toBe(false);
    await producer.log.end('a', epoch, 'finished');
    expect(await reader.log.head('a')).toMatchObject({ status: 'lost', next: 2 });
  });

  it('finds runs of any id, and forgets those that have ended', async () => {
    const producer = await open(server.url, { prefix, lease: 1 });
    const found: string[] = [];
    for (const id of hostileIds) await producer.log.create(id, {});
    while (found.length < hostileIds.length) found.push(...(await producer.log.sweep()));
    expect(found.sort()).toEqual([...hostileIds].sort());
    const { epoch } = await producer.log.create('b', {});
    await producer.log.end('b', epoch, 'finished');
    for (const set of createRedisKeys(prefix).leases) {
      await expect.poll(() => producer.redis.zCard(set)).toBe(0);
    }
  });

  it('tells a producer of a cancel that it did not hear, with the next answer of Redis', async () => {
    const producer = await open(server.url, { prefix });
    const other = await open(server.url, { prefix });
    const heard: unknown[] = [];
    const ids = ['appends', 'renews'];
    const epochs = new Map<string, string>();
    for (const id of ids) epochs.set(id, (await producer.log.create(id, {})).epoch);
    // Nobody listens while they are cancelled.
    for (const id of ids) await other.log.control(id, { type: 'cancel' });
    producer.log.onControl((runId, message) => heard.push([runId, message.type]));
    await producer.log.append('appends', epochs.get('appends')!, events(0, 1));
    await producer.log.append('appends', epochs.get('appends')!, events(1, 2));
    await producer.log.lease('renews', epochs.get('renews')!, 10_000);
    await producer.log.lease('renews', epochs.get('renews')!, 10_000);
    expect(heard).toEqual([
      ['appends', 'cancel'],
      ['renews', 'cancel'],
    ]);
  });

  it('keeps a cancel for an unknown run at least 60 s, and not for ever', async () => {
    const { log, redis } = await open(server.url, { prefix });
    await log.control('a', { type: 'cancel' });
    const left = await redis.pTTL(`${prefix}:{a}:cancel`);
    expect(left).toBeGreaterThan(60_000);
    expect(left).toBeLessThan(600_000);
    const { epoch } = await log.create('b', {});
    await log.end('b', epoch, 'finished');
    await log.control('b', { type: 'cancel' });
    expect(await redis.exists(`${prefix}:{b}:cancel`)).toBe(0);
  });

  it('lets the log of a run go after its retention, and its id later', async () => {
    const long = await open(server.url, { prefix, retention: 1, tombstones: 600_000 });
    const short = await open(server.url, { prefix: `${prefix}s`, retention: 1, tombstones: 1 });
    for (const { log } of [long, short]) {
      const { epoch } = await log.create('a', {});
      const empty = await log.create('empty', {});
      await log.append('a', epoch, events(0, 3));
      await log.end('a', epoch, 'finished');
      await log.end('empty', empty.epoch, 'cancelled');
    }
    for (const id of ['a', 'empty']) {
      await expect.poll(() => long.log.head(id)).toEqual({ unknown: 'evicted' });
      await expect(long.log.create(id, {})).rejects.toMatchObject({ code: 'run-unknown' });
      expect(await follow(long.log, id).done).toMatchObject({ code: 'run-lost' });
      await expect.poll(() => short.log.head(id)).toEqual({ unknown: 'never' });
      expect(await short.log.create(id, {})).toMatchObject({ created: true });
    }
  });

  it('gives every key of a run a time to live, so that nothing stays for ever', async () => {
    const { log, redis } = await open(server.url, { prefix });
    const { epoch } = await log.create('a', {});
    await log.append('a', epoch, events(0, 3));
    const lives = async () => {
      const keys = (await redis.keys(`${prefix}:*`)).filter((key) => !key.includes(':leases:'));
      expect(keys).toHaveLength(2);
      return Promise.all(keys.sort().map((key) => redis.pTTL(key)));
    };
    for (const left of await lives()) expect(left).toBeGreaterThan(86_000_000);
    await log.lease('a', epoch, 10_000);
    for (const left of await lives()) expect(left).toBeGreaterThan(86_000_000);
    await log.end('a', epoch, 'finished');
    const [run, events_] = await lives();
    expect(events_).toBeLessThanOrEqual(86_400_000);
    expect(run).toBeGreaterThan(7 * 86_400_000);
  });

  it('reads a trimmed log from the first event that is left', async () => {
    const { log, redis } = await open(server.url, { prefix, maxLength: 100 });
    const { epoch } = await log.create('a', {});
    for (let next = 0; next < 1_000; next += 50) {
      await log.append('a', epoch, events(next, next + 50));
    }
    const head = await log.head('a');
    if ('unknown' in head) throw new Error('The log is gone.');
    expect(head.from).toBeGreaterThan(500);
    expect(head.from).toBeLessThanOrEqual(900);
    const { events: read } = follow(log, 'a', 3);
    await until(() => read.length === 1_000 - head.from);
    expect(read[0]?.offset).toBe(head.from);
    expect(listOf(read)).toBe(listUpTo(1_000).split(' ').slice(head.from).join(' '));
    // Nothing is left at all.
    await redis.xTrim(`${prefix}:{a}:log`, 'MAXLEN', 0);
    expect(await log.head('a')).toMatchObject({ from: 1_000, next: 1_000 });
    const late = follow(log, 'a');
    await log.append('a', epoch, events(1_000, 1_001));
    await until(() => late.events.length === 1);
    expect(late.events[0]?.offset).toBe(1_000);
  });

  it('shows a hole as a jump of the offset, and never moves an event', async () => {
    const { log, redis } = await open(server.url, { prefix });
    const { epoch } = await log.create('a', {});
    await log.append('a', epoch, events(0, 30));
    await redis.xDel(`${prefix}:{a}:log`, ['6-0', '7-0']);
    await log.end('a', epoch, 'finished');
    const { events: read, done } = follow(log, 'a');
    await done;
    expect(listOf(read)).toBe(
      listUpTo(30)
        .split(' ')
        .filter((pair) => pair !== '5:5' && pair !== '6:6')
        .join(' '),
    );
  });

  it('keeps logs of different prefixes apart, and refuses one with braces', async () => {
    const one = await open(server.url, { prefix });
    const two = await open(server.url, { prefix: `${prefix}b` });
    const heard: string[] = [];
    two.log.onControl((runId) => heard.push(runId));
    await one.log.create('a', {});
    expect(await two.log.head('a')).toEqual({ unknown: 'never' });
    await expect(open(server.url, { prefix: 'a{b}' })).rejects.toMatchObject({
      code: 'invalid-argument',
    });
  });

  it('asks Redis once for followers side by side', async () => {
    const producer = await open(server.url, { prefix });
    const reader = await open(server.url, { prefix, poll: 60_000 });
    const { epoch } = await producer.log.create('a', {});
    await producer.log.lease('a', epoch, 600_000);
    const followers = Array.from({ length: 200 }, () => follow(reader.log, 'a'));
    await producer.log.append('a', epoch, events(0, 1));
    await until(() => followers.every(({ events: read }) => read.length === 1));
    const calls = async () => {
      const info = await producer.redis.info('commandstats');
      return Number(/cmdstat_xrange:calls=(\d+)/.exec(info)?.[1] ?? 0);
    };
    const before = await calls();
    for (let next = 1; next <= 50; next++) {
      await producer.log.append('a', epoch, events(next, next + 1));
      await until(() => followers.every(({ events: read }) => read.length === next + 1));
    }
    expect((await calls()) - before).toBeLessThanOrEqual(60);
    for (const { events: read } of followers) expect(listOf(read)).toBe(listUpTo(51));
    // One object for all, so that it is parsed and sent on once.
    expect(new Set(followers.map(({ events: read }) => read[50])).size).toBe(1);
  });

  it('follows the same run again and again', async () => {
    const { log } = await open(server.url, { prefix, poll: 60_000 });
    const { epoch } = await log.create('a', {});
    for (let next = 0; next < 100; next++) {
      const stop = new AbortController();
      const short = follow(log, 'a', undefined, stop.signal);
      if (next % 3) stop.abort();
      const stays = follow(log, 'a', next - 1);
      await log.append('a', epoch, events(next, next + 1));
      await until(() => stays.events.length === 1);
      stop.abort();
      expect(await short.done).toBe('ended');
    }
    await log.end('a', epoch, 'finished');
  });
});
