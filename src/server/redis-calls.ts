import type { BaseEnvironment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import type { RedisLike } from './redis-like.ts';
import type { RedisScript } from './redis-scripts.ts';

/**
 * Runs a script, again where the connection was lost or Redis is not ready: each script here may run
 * twice and does its work once. Rejects with `storage` where Redis refuses or stays away for
 * `patience`, and with `closed` after {@link close}.
 */
export type RedisCalls = (
  script: RedisScript,
  keys: string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

// Replies start with a word in capitals. All else is about the connection, and may work again later.
const isReply = (message: string) => /^[A-Z]{2,}\b/.test(message);
const isPassing = (message: string) =>
  isReply(message)
    ? /^(LOADING|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|READONLY|BUSY|NOREPLICAS|MOVED|ASK|UNBLOCKED)\b/.test(
        message,
      )
    : message !== 'The client is closed';

const messageOf = (error: unknown) => (error instanceof Error ? error.message : `${error}`);

/** Make the runner of scripts. `close` rejects what is under way and what comes. */
export function createRedisCalls(
  redis: RedisLike,
  patience: number,
  { setTimer }: BaseEnvironment,
): { readonly call: RedisCalls; close(): void } {
  const hashes = new Map<RedisScript, string>();
  const pending = new Set<(error: unknown) => void>();
  let closed = false;

  async function evaluate(script: RedisScript, keys: string[], args: string[]): Promise<unknown> {
    const options = { keys, arguments: args };
    let hash = hashes.get(script);
    if (!hash) {
      // Redis knows how it names scripts: no need of a digest here.
      hash = `${await redis.eval(`return redis.sha1hex(ARGV[1])`, { keys, arguments: [script.text] })}`;
      hashes.set(script, hash);
    }
    try {
      return await redis.evalSha(hash, options);
    } catch (error) {
      if (!/^NOSCRIPT\b/.test(messageOf(error))) throw error;
      return redis.eval(script.text, options);
    }
  }

  const call: RedisCalls = (script, keys, args) =>
    new Promise((resolve, reject) => {
      let wait = 25;
      let last: unknown;
      let stopRetry = () => {};
      const settle = () => {
        stopPatience();
        stopRetry();
        return pending.delete(fail);
      };
      const fail = (error: unknown) => {
        if (settle()) reject(error);
      };
      const giveUp = (error: unknown) => {
        const why = error === undefined ? 'no answer' : messageOf(error);
        fail(new RunSocketError('storage', `Redis: ${why}`, error));
      };
      const attempt = () => {
        evaluate(script, keys, args.map(String)).then(
          (value) => {
            if (settle()) resolve(value);
          },
          (error) => {
            if (!pending.has(fail)) return;
            if (!isPassing(messageOf(error))) return giveUp(error);
            last = error;
            stopRetry = setTimer(attempt, wait);
            wait = Math.min(wait * 2, 1_000);
          },
        );
      };
      const stopPatience = setTimer(() => giveUp(last), patience);
      pending.add(fail);
      if (closed) fail(new RunSocketError('closed', 'The run log is disposed.'));
      else attempt();
    });

  return {
    call,
    close() {
      closed = true;
      for (const fail of [...pending])
        fail(new RunSocketError('closed', 'The run log is disposed.'));
    },
  };
}
