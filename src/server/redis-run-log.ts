import { type Environment, serverEnvironment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createListeners } from '../internal/observable.ts';
import { createRedisCalls } from './redis-calls.ts';
import { createRedisChannels } from './redis-channels.ts';
import { createRedisKeys, escapeId, unescapeId } from './redis-keys.ts';
import type { RedisLike } from './redis-like.ts';
import { createRedisProducers, toTexts } from './redis-producers.ts';
import {
  cancelScript,
  createScript,
  dueScript,
  endScript,
  expireScript,
  headScript,
  leaseScript,
  publishScript,
  type RedisScript,
  watchScript,
} from './redis-scripts.ts';
import { createRedisTails } from './redis-tails.ts';
import type { RunLog, RunLogControl, RunLogHead, RunMeta } from './run-log.ts';

/** What {@link redisRunLog} takes besides the client; all durations in ms. */
export interface RedisRunLogOptions {
  /** What every key and channel begins with; two servers with different ones never see each other. No braces. @default 'runsocket' */
  readonly prefix?: string;
  /** How long a log is kept behind its end. @default 86_400_000 (24 h) */
  readonly retention?: number;
  /** How much longer a run's id is remembered, so that it is never run again. @default 604_800_000 (7 days) */
  readonly tombstones?: number;
  /** How long a new run is its producer's before the first renewal. @default 15_000 */
  readonly lease?: number;
  /** How long a follower waits for a message about something new before it asks by itself: the longest delay where a message is lost. @default 5_000 */
  readonly poll?: number;
  /** How long a call waits for a Redis that is away, until it rejects with `storage`. @default 30_000 */
  readonly patience?: number;
  /** About how many events of a run are kept at most, the newest; 0 keeps all. @default 0 */
  readonly maxLength?: number;
}

// At least the 60 s of the protocol.
const cancelTime = 120_000;
// After an outage, producers first get the time to renew what ran out meanwhile.
const graceTime = 5_000;
const dueCount = 100;
// A log that has not ended is kept this long at least behind the last renewal, whatever its retention.
const abandonedTime = 3_600_000;

const lostEvent = JSON.stringify({
  type: 'RUN_ERROR',
  message: 'The server that ran this was lost.',
  code: 'run-lost',
});

/**
 * Keeps runs on Redis, so that several processes behind one balancer serve them together: one Redis
 * Stream a run, a lease that closes the runs of a process that died, and messages between processes.
 *
 * `redis` is a connected client of node-redis, alone or of a cluster. A second connection listens to
 * channels; it is made when it is needed and closed by `dispose()`, which leaves `redis` open. Calls
 * wait up to `patience` for a Redis that is away, and then reject with `storage`. A Redis that comes
 * back with its data goes on where it was; one that comes back without rejects with `run-lost`.
 *
 * Needs Redis 6.2 or newer, and a `maxmemory-policy` that throws nothing away (`noeviction`).
 * Throws `invalid-argument` for a prefix with braces: they would put one run on several nodes.
 */
export function redisRunLog(redis: RedisLike, options: RedisRunLogOptions = {}): Required<RunLog> {
  return createRedisRunLog(redis, options);
}

/** As {@link redisRunLog}, with time and chance in the caller's hand. */
export function createRedisRunLog(
  redis: RedisLike,
  options: RedisRunLogOptions = {},
  environment: Environment = serverEnvironment,
): Required<RunLog> {
  const {
    prefix = 'runsocket',
    lease: firstLease = 15_000,
    patience = 30_000,
    poll = 5_000,
    maxLength = 0,
  } = options;
  const retention = Math.round(options.retention ?? 86_400_000);
  const tombstones = retention + Math.round(options.tombstones ?? 604_800_000);
  const abandoned = Math.max(retention, abandonedTime);
  if (/[{}]/.test(prefix)) {
    throw new RunSocketError('invalid-argument', 'The prefix of a run log has no braces.');
  }
  const keys = createRedisKeys(prefix);
  const { call, close } = createRedisCalls(redis, patience, environment);
  const channels = createRedisChannels(redis, environment);
  const controls = createListeners<readonly [string, RunLogControl]>(environment.report);
  const producers = createRedisProducers({
    call,
    keys,
    retention,
    tombstones,
    abandoned,
    maxLength,
    lostEvent,
    onCancelled(runId, epoch) {
      if (producers.cancel(runId, epoch)) controls.emit([runId, { type: 'cancel' }]);
    },
  });
  const tails = createRedisTails({ call, keys, channels, environment, poll, expire });
  let stopControl: (() => void) | undefined;

  let troubledAt: number | undefined;

  // Each failed call says so itself; without a listener node-redis ends the process over it.
  const onError = () => {
    troubledAt = environment.now();
  };
  const onReady = () => {
    if (troubledAt !== undefined) onError();
  };
  redis.on('error', onError);
  redis.on('ready', onReady);

  const ask = (script: RedisScript, runId: string, ...args: (string | number)[]) =>
    call(script, [keys.run(runId), keys.log(runId)], args);
  const watch = (runId: string, wait: number) =>
    call(watchScript, [keys.lease(runId)], [escapeId(runId), Math.round(wait)]);

  function onControlMessage(text: string) {
    try {
      const [runId, message] = JSON.parse(text) as [string, RunLogControl];
      if (message.type === 'cancel') producers.cancel(runId);
      controls.emit([runId, message]);
    } catch {
      // Somebody else's message.
    }
  }

  /** Ends a run whose lease has run out; `true` where nobody else did. */
  async function expire(runId: string): Promise<boolean> {
    if (troubledAt !== undefined && environment.now() - troubledAt < graceTime) return false;
    const args = [lostEvent, retention, tombstones, keys.wake(runId)];
    const [ended, rest] = (await ask(expireScript, runId, ...args)) as readonly unknown[];
    await watch(runId, Number(ended) === 0 ? Number(rest) : -1);
    return Number(ended) === 1;
  }

  async function sweep(set: string): Promise<string[]> {
    const ended: string[] = [];
    const looked = new Set<string>();
    for (;;) {
      const due = (await call(dueScript, [set], [dueCount])) as readonly unknown[];
      const runIds = due.map((id) => unescapeId(`${id}`)).filter((id) => !looked.has(id));
      for (const runId of runIds) looked.add(runId);
      const results = await Promise.all(runIds.map(expire));
      ended.push(...runIds.filter((_, index) => results[index]));
      if (!runIds.length || due.length < dueCount) return ended;
    }
  }

  return {
    async create(runId: string, meta: RunMeta) {
      const epoch = environment.randomId();
      // Before the run: there must be none that nobody would look at.
      await watch(runId, firstLease);
      const answer = await call(
        createScript,
        [keys.run(runId), keys.log(runId), keys.cancel(runId)],
        [epoch, JSON.stringify(meta), Math.round(firstLease), Math.max(tombstones, abandoned)],
      );
      const [found, created, cancelled] = answer as readonly unknown[];
      if (found === undefined) {
        throw new RunSocketError('run-unknown', `The log of '${runId}' was there once.`);
      }
      if (!Number(created)) return { epoch: `${found}`, created: false };
      const isCancelled = Number(cancelled) === 1;
      producers.start(runId, epoch, isCancelled);
      return { epoch, created: true, ...(isCancelled && { cancelled: true }) };
    },

    async append(runId, epoch, events, json = toTexts(events)) {
      return producers.append(runId, epoch, json);
    },

    read: tails.read,

    async end(runId, epoch, status) {
      await producers.flush(runId, epoch);
      await ask(endScript, runId, epoch, status, keys.wake(runId), retention, tombstones);
      producers.forget(runId, epoch);
      // A run that is looked at in vain costs one call.
      watch(runId, -1).catch(() => {});
    },

    async head(runId): Promise<RunLogHead> {
      const answer = (await ask(headScript, runId)) as readonly unknown[];
      if (answer.length < 2) return { unknown: answer.length ? 'evicted' : 'never' };
      const [epoch, from, next, status, meta] = answer.map(String) as [
        string,
        string,
        string,
        'running',
        string,
      ];
      return { epoch, from: Number(from), next: Number(next), status, meta: JSON.parse(meta) };
    },

    async lease(runId, epoch, ttl) {
      const time = Math.round(ttl);
      const answer = await ask(
        leaseScript,
        runId,
        epoch,
        time,
        abandoned,
        Math.max(tombstones, abandoned),
      );
      const [kept, cancelled] = answer as readonly unknown[];
      if (!Number(kept)) {
        producers.forget(runId, epoch);
        return false;
      }
      if (Number(cancelled) && producers.cancel(runId, epoch)) {
        controls.emit([runId, { type: 'cancel' }]);
      }
      await watch(runId, time);
      return true;
    },

    async sweep() {
      return (await Promise.all(keys.leases.map(sweep))).flat();
    },

    async control(runId, message) {
      const text = JSON.stringify([runId, message]);
      if (message.type === 'cancel') {
        const names = [keys.run(runId), keys.log(runId), keys.cancel(runId)];
        await call(cancelScript, names, [keys.control, text, cancelTime]);
      } else {
        await call(publishScript, [keys.control], [keys.control, text]);
      }
    },

    onControl(listener) {
      stopControl ??= channels.listen(keys.control, onControlMessage);
      const remove = controls.add(([runId, message]) => listener(runId, message));
      return () => {
        remove();
        if (controls.size) return;
        stopControl?.();
        stopControl = undefined;
      };
    },

    async dispose() {
      close();
      tails.close();
      channels.dispose();
      redis.off('error', onError);
      redis.off('ready', onReady);
    },
  };
}
