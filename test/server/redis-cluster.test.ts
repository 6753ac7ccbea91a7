import { spawnSync } from 'node:child_process';
import { createCluster } from 'redis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { redisRunLog } from '../../src/server/redis-run-log.ts';
import { describeRedis, type RedisServer, startRedisServer } from '../helpers/redis-server.ts';
import { events } from './redis-set-up.ts';
import { describeRunLog, follow } from './run-log-contract.ts';

describeRedis('redisRunLog on a cluster', () => {
  let servers: RedisServer[] = [];
  let prefixes = 0;
  const opened = new Set<() => Promise<void>>();

  beforeAll(async () => {
    const settings = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'];
    servers = await Promise.all(Array.from({ length: 3 }, () => startRedisServer(settings)));
    const nodes = servers.map(({ port }) => `127.0.0.1:${port}`);
    const create = ['--cluster', 'create', ...nodes, '--cluster-yes'];
    const { status, stdout } = spawnSync('redis-cli', create, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`redis-cli makes no cluster: ${stdout}`);
  }, 60_000);
  afterAll(async () => {
    for (const close of opened) await close();
    await Promise.all(servers.map((server) => server.close()));
  });

  async function open(prefix: string) {
    const redis = createCluster({ rootNodes: servers.map(({ url }) => ({ url })) });
    redis.on('error', () => {});
    await redis.connect();
    const log = redisRunLog(redis, { prefix });
    const close = async () => {
      opened.delete(close);
      await log.dispose();
      redis.destroy();
    };
    opened.add(close);
    return log;
  }

  describeRunLog('redisRunLog on a cluster', async () => {
    const prefix = `contract-${prefixes++}`;
    return {
      open: () => open(prefix),
      async close() {
        for (const close of opened) await close();
      },
    };
  });

  it('spreads runs over all nodes, and finds the lost ones', async () => {
    const log = await open('spread');
    const ids = Array.from({ length: 60 }, (_, index) => `run-${index}`);
    for (const id of ids) {
      const { epoch } = await log.create(id, {});
      await log.append(id, epoch, events(0, 1));
      await log.lease(id, epoch, 1);
    }
    const lost: string[] = [];
    while (lost.length < ids.length) lost.push(...(await log.sweep()));
    expect(lost.sort()).toEqual([...ids].sort());
    const { events: read, done } = follow(log, ids[7]!);
    expect(await done).toBe('ended');
    expect(read.map(({ offset }) => offset)).toEqual([0, 1]);
    for (const { port } of servers) {
      const { stdout } = spawnSync('redis-cli', ['-p', `${port}`, 'dbsize'], { encoding: 'utf8' });
      expect(Number(stdout)).toBeGreaterThan(10);
    }
  });
});
