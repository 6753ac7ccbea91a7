import { createClient } from 'redis';
import { afterAll, beforeAll } from 'vitest';
import { type RedisRunLogOptions, redisRunLog } from '../../src/server/redis-run-log.ts';
import { describeRedis, type RedisServer, startRedisServer } from '../helpers/redis-server.ts';
import { describeRunLog } from './run-log-contract.ts';

describeRedis('redisRunLog', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server?.close());

  async function open(options?: RedisRunLogOptions) {
    const redis = createClient({ url: server.url });
    await redis.connect();
    const log = redisRunLog(redis, options);
    return {
      log,
      redis,
      async close() {
        await log.dispose();
        redis.destroy();
      },
    };
  }

  let prefixes = 0;
  describeRunLog('redisRunLog', async () => {
    const opened: Awaited<ReturnType<typeof open>>[] = [];
    const prefix = `contract-${prefixes++}`;
    return {
      async open() {
        const one = await open({ prefix });
        opened.push(one);
        return one.log;
      },
      async close() {
        await Promise.all(opened.map((one) => one.close()));
      },
    };
  });
});
