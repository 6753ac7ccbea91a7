import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createRedisKeys } from '../../src/server/redis-keys.ts';
import { redisRunLog } from '../../src/server/redis-run-log.ts';
import {
  describeRedis,
  findPort,
  type RedisServer,
  startRedisServer,
} from '../helpers/redis-server.ts';
import { startTcpProxy, type TcpProxy } from '../helpers/tcp-proxy.ts';
import { until } from '../helpers/until.ts';
import { createOpener, events, listOf, listUpTo } from './redis-set-up.ts';
import { follow } from './run-log-contract.ts';

describeRedis('redisRunLog over faults', () => {
  const { open, closeAll } = createOpener();
  let server: RedisServer;
  let proxy: TcpProxy;
  let viaProxy: string;
  let runs = 0;
  let id: string;

  beforeAll(async () => {
    server = await startRedisServer();
    proxy = await startTcpProxy(server.port);
    viaProxy = `redis://127.0.0.1:${proxy.port}`;
  });
  beforeEach(() => {
    id = `run-${runs++}`;
  });
  afterEach(closeAll);
  afterAll(async () => {
    await proxy?.close();
    await server?.close();
  });

  it('writes each event once, whatever byte the connection is cut at', async () => {
    const writer = await open(viaProxy);
    const reader = await open(server.url);
    const { epoch } = await writer.log.create(id, {});
    const follower = follow(reader.log, id);
    // One append to know how many bytes one takes.
    await writer.log.append(id, epoch, events(0, 1));
    const start = [proxy.bytes('up'), proxy.bytes('down')];
    await writer.log.append(id, epoch, events(1, 3));
    const up = proxy.bytes('up') - start[0]!;
    const down = proxy.bytes('down') - start[1]!;
    let next = 3;
    const appendUnderCut = async (bytes: number, direction: 'up' | 'down') => {
      // Else the greeting of a new connection would take the cut.
      await writer.log.head(id);
      proxy.cutAfter(bytes, direction);
      expect(await writer.log.append(id, epoch, events(next, next + 2))).toBe(next + 2);
      next += 2;
      // Without a cut so far, it comes now: the next append finds a new connection.
      proxy.cut();
    };
    for (let bytes = 1; bytes <= up + 1; bytes += 7) await appendUnderCut(bytes, 'up');
    for (let bytes = 1; bytes <= down + 1; bytes++) await appendUnderCut(bytes, 'down');
    await writer.log.end(id, epoch, 'finished');
    expect(await follower.done).toBe('ended');
    expect(listOf(follower.events)).toBe(listUpTo(next));
  });

  it('creates a run once, whatever byte of the answer the connection is cut at', async () => {
    const writer = await open(viaProxy);
    await writer.log.create(`${id}-0`, {});
    for (let bytes = 1; bytes < 90; bytes += 2) {
      const name = `${id}-${bytes}`;
      await writer.log.head(name);
      proxy.cutAfter(bytes, 'down');
      const { epoch, created } = await writer.log.create(name, {});
      expect(created).toBe(true);
      expect(await writer.log.append(name, epoch, events(0, 1))).toBe(1);
      proxy.cut();
    }
  });

  it('loses no event while the connections of a follower are cut all the time', async () => {
    const writer = await open(server.url);
    const reader = await open(viaProxy, { poll: 60_000 });
    const { epoch } = await writer.log.create(id, {});
    const follower = follow(reader.log, id);
    for (let next = 0; next < 300; next += 3) {
      await writer.log.append(id, epoch, events(next, next + 3));
      if (next % 30 === 0) {
        proxy.cut(next % 60 ? 'fin' : 'rst');
        await until(() => proxy.open >= 2);
      }
    }
    await writer.log.end(id, epoch, 'finished');
    expect(await follower.done).toBe('ended');
    expect(listOf(follower.events)).toBe(listUpTo(300));
  });

  it('asks by itself where no message comes through', async () => {
    const writer = await open(server.url);
    const reader = await open(server.url, { poll: 50 });
    await writer.log.create(id, {});
    const follower = follow(reader.log, id);
    for (const { value } of events(0, 5)) {
      const entry = { e: JSON.stringify({ value }) };
      await writer.redis.xAdd(`runsocket:{${id}}:log`, `${value + 1}-0`, entry);
      await writer.redis.hSet(`runsocket:{${id}}`, 'next', `${value + 1}`);
      await until(() => follower.events.length === value + 1);
    }
    await writer.redis.hSet(`runsocket:{${id}}`, { status: 'finished', until: '9e15' });
    expect(await follower.done).toBe('ended');
    expect(listOf(follower.events)).toBe(listUpTo(5));
  });

  it('goes on where it was when Redis comes back with its data', async () => {
    const writer = await open(server.url);
    const reader = await open(server.url, { poll: 60_000 });
    const { epoch } = await writer.log.create(id, {});
    const follower = follow(reader.log, id);
    await writer.log.append(id, epoch, events(0, 10));
    await until(() => follower.events.length === 10);
    await server.stop();
    const appended = writer.log.append(id, epoch, events(10, 20));
    const late = follow(reader.log, id, 4);
    await server.start();
    expect(await appended).toBe(20);
    expect(await writer.log.lease(id, epoch, 10_000)).toBe(true);
    await until(() => follower.events.length === 20 && late.events.length === 15);
    await writer.log.append(id, epoch, events(20, 25));
    await writer.log.end(id, epoch, 'finished');
    expect(await Promise.all([follower.done, late.done])).toEqual(['ended', 'ended']);
    expect(listOf(follower.events)).toBe(listUpTo(25));
  });

  it('leaves a producer the time to renew a lease that ran out in an outage', async () => {
    const writer = await open(server.url);
    const reader = await open(server.url, { poll: 60_000 });
    const { epoch } = await writer.log.create(id, {});
    const follower = follow(reader.log, id);
    await writer.log.append(id, epoch, events(0, 1));
    await until(() => follower.events.length === 1);
    await writer.redis.hSet(`runsocket:{${id}}`, 'lease', '1');
    await writer.redis.zAdd(createRedisKeys('runsocket').lease(id), { score: 1, value: id });
    await server.stop();
    await server.start();
    await until(() => reader.redis.isReady);
    expect(await reader.log.sweep()).toEqual([]);
    expect(await writer.log.lease(id, epoch, 60_000)).toBe(true);
    await writer.log.append(id, epoch, events(1, 2));
    await writer.log.end(id, epoch, 'finished');
    expect(await follower.done).toBe('ended');
    expect(listOf(follower.events)).toBe(listUpTo(2));
  });

  it('says run-lost to all when Redis comes back empty', async () => {
    const writer = await open(server.url);
    const reader = await open(server.url, { poll: 60_000 });
    const { epoch } = await writer.log.create(id, {});
    await writer.log.append(id, epoch, events(0, 10));
    const follower = follow(reader.log, id);
    const waiting = follow(reader.log, id, 9, undefined, epoch);
    await until(() => follower.events.length === 10);
    await server.stop();
    await server.start({ empty: true });
    expect(await follower.done).toMatchObject({ code: 'run-lost' });
    expect(await waiting.done).toMatchObject({ code: 'run-lost' });
    await expect(writer.log.append(id, epoch, events(10, 11))).rejects.toMatchObject({
      code: 'run-lost',
    });
    expect(await writer.log.lease(id, epoch, 10_000)).toBe(false);
    expect(await reader.log.head(id)).toEqual({ unknown: 'never' });
  });

  it('gives a follower no event of a second execution under the same id', async () => {
    const writer = await open(server.url);
    const reader = await open(server.url, { poll: 60_000 });
    const first = await writer.log.create(id, {});
    await writer.log.append(id, first.epoch, events(0, 5));
    const follower = follow(reader.log, id);
    await until(() => follower.events.length === 5);
    await writer.redis.flushAll();
    const second = await writer.log.create(id, {});
    expect(second).toMatchObject({ created: true });
    expect(second.epoch).not.toBe(first.epoch);
    await writer.log.append(id, second.epoch, events(100, 120));
    expect(await follower.done).toMatchObject({ code: 'run-lost' });
    expect(listOf(follower.events)).toBe(listUpTo(5));
    await expect(writer.log.append(id, first.epoch, events(5, 6))).rejects.toMatchObject({
      code: 'run-lost',
    });
    expect(await writer.log.head(id)).toMatchObject({ epoch: second.epoch, next: 20 });
  });

  it('ends a run as lost when Redis comes back with an older log', async () => {
    const writer = await open(server.url);
    const reader = await open(server.url, { poll: 60_000 });
    const { epoch } = await writer.log.create(id, {});
    await writer.log.append(id, epoch, events(0, 5));
    const old = await writer.redis.hGetAll(`runsocket:{${id}}`);
    await writer.log.append(id, epoch, events(5, 9));
    const follower = follow(reader.log, id);
    await until(() => follower.events.length === 9);
    await writer.redis.hSet(`runsocket:{${id}}`, old);
    await writer.redis.xDel(`runsocket:{${id}}:log`, ['6-0', '7-0', '8-0', '9-0']);
    await writer.redis.sendCommand(['XSETID', `runsocket:{${id}}:log`, '5-0']);
    await expect(writer.log.append(id, epoch, events(9, 10))).rejects.toMatchObject({
      code: 'run-lost',
    });
    expect(await follower.done).toBe('ended');
    expect(listOf(follower.events)).toBe(listUpTo(9));
    expect(await reader.log.head(id)).toMatchObject({ status: 'lost', next: 6 });
    const late = follow(reader.log, id);
    expect(await late.done).toBe('ended');
    expect(late.events.at(-1)).toMatchObject({ offset: 5, event: { type: 'RUN_ERROR' } });
  });

  it('says run-lost when the events of a running log are thrown away', async () => {
    const writer = await open(server.url);
    const { epoch } = await writer.log.create(id, {});
    await writer.log.append(id, epoch, events(0, 5));
    await writer.redis.del(`runsocket:{${id}}:log`);
    const follower = follow(writer.log, id);
    expect(await follower.done).toMatchObject({ code: 'run-lost' });
    await expect(writer.log.append(id, epoch, events(5, 6))).rejects.toMatchObject({
      code: 'run-lost',
    });
    expect(await writer.log.head(id)).toMatchObject({ status: 'lost' });
  });

  it('rejects with storage when Redis stays away, and works again when it is back', async () => {
    const writer = await open(viaProxy, { patience: 300 });
    const { epoch } = await writer.log.create(id, {});
    await writer.log.append(id, epoch, events(0, 3));
    const follower = follow(writer.log, id);
    await until(() => follower.events.length === 3);
    await proxy.refuse(true);
    const storage = { name: 'RunSocketError', code: 'storage' };
    const calls = [
      writer.log.append(id, epoch, events(3, 4)),
      writer.log.append(id, epoch, events(4, 5)),
      writer.log.head(id),
      writer.log.lease(id, epoch, 10_000),
      writer.log.create(`${id}-other`, {}),
      writer.log.control(id, { type: 'cancel' }),
      writer.log.sweep(),
    ];
    for (const result of await Promise.allSettled(calls)) {
      expect(result).toMatchObject({ status: 'rejected', reason: storage });
    }
    expect(await follow(writer.log, id).done).toMatchObject(storage);
    await proxy.refuse(false);
    await until(() => writer.redis.isReady);
    // Nothing of what was rejected is written, or all of it.
    const next = await writer.log.append(id, epoch, []);
    expect([3, 4, 5]).toContain(next);
    expect(await writer.log.append(id, epoch, events(next, next + 2))).toBe(next + 2);
  });

  it('rejects when a Redis that is connected does not answer any more', async () => {
    const writer = await open(viaProxy, { patience: 300 });
    const { epoch } = await writer.log.create(id, {});
    proxy.blackHole(true);
    await expect(writer.log.append(id, epoch, events(0, 1))).rejects.toMatchObject({
      code: 'storage',
    });
    proxy.blackHole(false);
    proxy.cut();
  });

  it('says at once what Redis refuses', async () => {
    const writer = await open(server.url, { patience: 60_000 });
    await writer.redis.set(`runsocket:{${id}}`, 'not a hash');
    await expect(writer.log.head(id)).rejects.toMatchObject({
      code: 'storage',
      message: expect.stringContaining('WRONGTYPE'),
    });
  });

  it('writes nothing of an append for which Redis has no memory', async () => {
    const writer = await open(server.url);
    const { epoch } = await writer.log.create(id, {});
    await writer.log.append(id, epoch, events(0, 3));
    await writer.redis.configSet('maxmemory', '1');
    try {
      await expect(writer.log.append(id, epoch, events(3, 6))).rejects.toMatchObject({
        code: 'storage',
        message: expect.stringContaining('OOM'),
      });
    } finally {
      await writer.redis.configSet('maxmemory', '0');
    }
    expect(await writer.log.append(id, epoch, events(3, 4))).toBe(4);
  });

  it('rejects, and leaves nothing open, where there never was a Redis', async () => {
    const redis = createClient({ url: `redis://127.0.0.1:${await findPort()}` });
    const log = redisRunLog(redis, { patience: 200 });
    void redis.connect().catch(() => {});
    log.onControl(() => {});
    await expect(log.create(id, {})).rejects.toMatchObject({ code: 'storage' });
    expect(await follow(log, id).done).toMatchObject({ code: 'storage' });
    await log.dispose();
    redis.destroy();
  });

  it('rejects at once on a client that is closed', async () => {
    const writer = await open(server.url, { patience: 60_000 });
    writer.redis.destroy();
    await expect(writer.log.head(id)).rejects.toMatchObject({ code: 'storage' });
    await writer.log.dispose();
  });

  it('ends everything with closed when it is disposed, and closes only its own connection', async () => {
    const writer = await open(server.url);
    const { epoch } = await writer.log.create(id, {});
    await writer.log.append(id, epoch, events(0, 3));
    const follower = follow(writer.log, id);
    writer.log.onControl(() => {});
    await until(() => follower.events.length === 3);
    const count = async () => {
      const list = await writer.redis.sendCommand<string>(['CLIENT', 'LIST']);
      return list.trim().split('\n').length;
    };
    const before = await count();
    await writer.log.dispose();
    expect(await follower.done).toMatchObject({ code: 'closed' });
    const closed = { code: 'closed' };
    await expect(writer.log.append(id, epoch, events(3, 4))).rejects.toMatchObject(closed);
    await expect(writer.log.head(id)).rejects.toMatchObject(closed);
    expect(await follow(writer.log, id).done).toMatchObject(closed);
    await expect.poll(count, { timeout: 10_000 }).toBe(before - 1);
  });
});
