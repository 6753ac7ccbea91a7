// @ts-check
import { memoryRunLog } from 'runsocket/server';

/**
 * Where runs are kept: in this process, or on the Redis at `url`, where other processes find them too.
 *
 * @param {string} [url]
 * @returns {Promise<import('runsocket/server').RunLog>}
 */
export async function openLog(url) {
  if (!url) return memoryRunLog();
  const [{ createClient }, { redisRunLog }] = await Promise.all([
    import('redis'),
    import('runsocket/server/redis'),
  ]);
  const redis = createClient({ url });
  await redis.connect();
  const log = redisRunLog(redis);
  return {
    ...log,
    async dispose() {
      await log.dispose?.();
      await redis.close();
    },
  };
}
