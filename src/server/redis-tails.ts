import type { BaseEnvironment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { parseBatch, type RedisBatch } from './redis-batch.ts';
import type { RedisCalls } from './redis-calls.ts';
import type { RedisChannels } from './redis-channels.ts';
import type { RedisKeys } from './redis-keys.ts';
import { readScript } from './redis-scripts.ts';
import type { LoggedEvent, RunLog } from './run-log.ts';

/** The end of one run's log, for all of its followers in this process. */
interface Tail {
  followers: number;
  /** Resolves as soon as there may be something new. */
  change: Promise<void>;
  /** Lets the followers that wait look again. */
  announce(): void;
  /** The same, and what is known of the log is out of date. */
  wake(): void;
  /** How often there was something new, and how much of it the last answer knows of. */
  wakes: number;
  seen: number;
  last: RedisBatch | undefined;
  /** The newest events, so that followers side by side read once. */
  recent: readonly LoggedEvent[];
  /** What of {@link recent} was given from an offset on: one array for all, so that it is sent on as one. */
  readonly parts: Map<number, readonly LoggedEvent[]>;
  readonly reads: Map<number, Promise<RedisBatch>>;
  stop(): void;
  stopPoll(): void;
}

const batchEvents = 500;
const batchBytes = 512 * 1024;
const recentEvents = 256;
const recentBytes = 128 * 1024;

/** What {@link createRedisTails} works with. */
export interface RedisTailsContext {
  readonly call: RedisCalls;
  readonly keys: RedisKeys;
  readonly channels: RedisChannels;
  readonly environment: BaseEnvironment;
  /** How long to trust that no message was missed, in ms. */
  readonly poll: number;
  /** Ends a run whose lease has run out; `true` where this call did. */
  readonly expire: (runId: string) => Promise<boolean>;
}

/** Make what reads logs; `close` ends all reading with `closed`. */
export function createRedisTails(context: RedisTailsContext): {
  readonly read: RunLog['read'];
  close(): void;
} {
  const { call, keys, channels, environment, poll, expire } = context;
  const tails = new Map<string, Tail>();
  let closed = false;

  function open(runId: string): Tail {
    let resolve = () => {};
    const renew = () =>
      new Promise<void>((done) => {
        resolve = done;
      });
    const tail: Tail = {
      followers: 0,
      change: renew(),
      announce() {
        const wakeAll = resolve;
        tail.change = renew();
        wakeAll();
      },
      wake() {
        tail.wakes++;
        tail.announce();
      },
      wakes: 0,
      seen: 0,
      last: undefined,
      recent: [],
      parts: new Map(),
      reads: new Map(),
      stop: () => {},
      stopPoll: () => {},
    };
    tails.set(runId, tail);
    tail.stop = channels.listen(
      keys.wake(runId),
      (message) => {
        // An append that the last answer had already.
        if (message && tail.last?.status === 'running' && Number(message) <= tail.last.next) return;
        tail.wake();
      },
      tail.wake,
    );
    return tail;
  }

  function remember(tail: Tail, batch: RedisBatch): void {
    const { events } = batch;
    const first = events[0];
    if (!first) return;
    const follows =
      tail.last?.epoch === batch.epoch && tail.recent.at(-1)?.offset === first.offset - 1;
    const all = follows ? [...tail.recent, ...events] : events;
    let start = all.length;
    for (let bytes = 0; start > 0 && all.length - start < recentEvents; start--) {
      bytes += all[start - 1]!.json!.length;
      if (bytes > recentBytes) break;
    }
    tail.recent = all.slice(start);
    tail.parts.clear();
  }

  async function fetch(runId: string, tail: Tail, from: number): Promise<RedisBatch> {
    const { wakes } = tail;
    const answer = await call(
      readScript,
      [keys.run(runId), keys.log(runId)],
      [from, batchEvents, batchBytes],
    );
    const batch = parseBatch(answer);
    if (wakes >= tail.seen) {
      remember(tail, batch);
      const isNews = tail.last && tail.last.next < batch.next;
      tail.last = batch;
      tail.seen = wakes;
      // The message about it may be yet to come, and is then none any more.
      if (isNews) tail.announce();
    }
    tail.stopPoll();
    if (batch.status === 'running' && tails.get(runId) === tail) {
      const { lease } = batch;
      if (lease <= 0) {
        const onExpired = (ended: boolean) => {
          if (ended) tail.wake();
        };
        expire(runId).then(onExpired, () => {});
      }
      // Looks again when the lease runs out, or when a message may have been missed.
      const wait = Math.min(poll, lease > 0 ? lease + 20 : 1_000);
      tail.stopPoll = environment.setTimer(tail.wake, wait);
    }
    return batch;
  }

  function next(runId: string, tail: Tail, from: number): Promise<RedisBatch> {
    const { last, recent } = tail;
    const isStale = tail.wakes > tail.seen;
    const index = recent.length ? from - recent[0]!.offset : -1;
    if (last && index >= 0 && (index < recent.length || (from >= last.next && !isStale))) {
      // What came since the last answer has to be asked for.
      const known = isStale ? Infinity : last.next;
      const events = tail.parts.get(from) ?? recent.slice(index);
      tail.parts.set(from, events);
      return Promise.resolve({ ...last, next: known, events });
    }
    let reading = tail.reads.get(from);
    if (!reading) {
      reading = fetch(runId, tail, from).finally(() => tail.reads.delete(from));
      tail.reads.set(from, reading);
    }
    return reading;
  }

  async function* read(
    runId: string,
    after: number | undefined,
    signal: AbortSignal,
    expected?: string,
  ): AsyncGenerator<readonly LoggedEvent[], void> {
    const tail = tails.get(runId) ?? open(runId);
    tail.followers++;
    let wakeUp = () => {};
    const onAbort = () => wakeUp();
    signal.addEventListener('abort', onAbort);
    // Waits for something, or for the abort. A race with one promise for all would pile up in it.
    const wait = <Value>(promise: Promise<Value>) =>
      new Promise<Value | undefined>((resolve, reject) => {
        wakeUp = () => resolve(undefined);
        promise.then(resolve, reject);
        if (signal.aborted) wakeUp();
      });
    let position = after === undefined ? 0 : after + 1;
    let epoch = expected;
    try {
      while (!signal.aborted) {
        const { change } = tail;
        const batch = await wait(next(runId, tail, position));
        if (!batch || signal.aborted) return;
        if (closed) throw new RunSocketError('closed', 'The run log is disposed.');
        epoch ??= batch.epoch;
        const { status } = batch;
        if (!epoch || batch.epoch !== epoch || status === 'evicted' || status === 'gone') {
          throw new RunSocketError('run-lost', `The log of '${runId}' is gone.`);
        }
        const last = batch.events.at(-1);
        if (last) {
          position = last.offset + 1;
          yield batch.events;
        } else {
          // Nothing is left before it.
          position = Math.max(position, batch.next);
        }
        if (position < batch.next) continue;
        if (status !== 'running') return;
        await wait(change);
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (--tail.followers === 0) {
        tails.delete(runId);
        tail.stop();
        tail.stopPoll();
      }
    }
  }

  return {
    read,
    close() {
      closed = true;
      for (const tail of tails.values()) {
        tail.stopPoll();
        tail.wake();
      }
    },
  };
}
