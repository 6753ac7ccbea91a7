import { createClient, type RedisClientType } from 'redis';
import { createRedisRunLog, type RedisRunLogOptions } from '../../src/server/redis-run-log.ts';
import type { LoggedEvent, RunLog } from '../../src/server/run-log.ts';

/** A run log on a client of its own, as one process has it. */
export interface OpenedLog {
  readonly log: Required<RunLog>;
  readonly redis: RedisClientType;
  close(): Promise<void>;
}

/** Opens run logs on `url`; `closeAll` closes those that are still open. */
export function createOpener(): {
  open(url: string, options?: RedisRunLogOptions): Promise<OpenedLog>;
  closeAll(): Promise<void>;
} {
  const opened = new Set<OpenedLog>();
  return {
    async open(url, options) {
      const redis = createClient({
        url,
        socket: { reconnectStrategy: (retries) => Math.min(retries * 10, 200) },
      }) as RedisClientType;
      const log = createRedisRunLog(redis, options);
      await redis.connect();
      const one: OpenedLog = {
        log,
        redis,
        async close() {
          if (!opened.delete(one)) return;
          await log.dispose();
          if (redis.isOpen) redis.destroy();
        },
      };
      opened.add(one);
      return one;
    },
    async closeAll() {
      await Promise.all([...opened].map((one) => one.close()));
    },
  };
}

/** Events with a number each. */
export const events = (from: number, to: number): readonly { readonly value: number }[] =>
  Array.from({ length: to - from }, (_, index) => ({ value: from + index }));

/** Offset and number of each event, as one string. */
export const listOf = (logged: readonly LoggedEvent[]): string =>
  logged.map(({ offset, event }) => `${offset}:${(event as { value: number }).value}`).join(' ');

/** {@link listOf} of {@link events} that were written once each, in order. */
export const listUpTo = (to: number): string =>
  events(0, to)
    .map(({ value }) => `${value}:${value}`)
    .join(' ');
