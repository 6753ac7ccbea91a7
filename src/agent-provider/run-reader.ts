import type { BaseEnvironment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { toAbortError } from './abortable.ts';
import type { RunFollower, RunSink } from './run-follower.ts';

/** A place in the log of a run, as plain JSON. */
export interface RunCursor<Offset extends number | string = number> {
  readonly runId: string;
  /** The last offset that was read. */
  readonly offset: Offset;
  /** The end that the event there told. */
  readonly ended?: 'finished' | 'cancelled' | 'failed';
}

/** One event of a run, with its place in the run's log where it has one. */
export interface RunChunk<E = unknown, Offset extends number | string = number> {
  readonly runId: string;
  readonly offset?: Offset;
  readonly event: E;
}

/** What a reader reads. */
export interface RunSource<E, Offset extends number | string> {
  readonly runId: string;
  /** The place behind which it begins. */
  readonly after: RunCursor<Offset> | undefined;
  /** Stops the run when aborted, also one that is only to be resumed. */
  readonly signal: AbortSignal;
  /** The run is under way, whether it is followed or not. */
  readonly underWay: boolean;
  readonly limit: number;
  readonly environment: Pick<BaseEnvironment, 'setTimer'>;
  getCursor(chunk: RunChunk<E, Offset>): RunCursor<Offset> | undefined;
  /** Begins to follow: at first as the run came here, later behind a place. */
  follow(
    sink: RunSink<E, Offset>,
    again: { readonly after: RunCursor<Offset> | undefined } | undefined,
  ): RunFollower<E, Offset>;
}

interface Waiter<E, Offset extends number | string> {
  resolve(result: IteratorResult<RunChunk<E, Offset>, undefined>): void;
  reject(error: unknown): void;
}

/**
 * Read one run, each event once, through a queue of about `limit` events.
 *
 * Nothing happens before the first `next()`. A consumer that leaves the queue to grow past the limit
 * is not followed for: the queue goes, and the events come again when the consumer does.
 */
export function createRunReader<E, Offset extends number | string>(
  source: RunSource<E, Offset>,
): AsyncIterableIterator<RunChunk<E, Offset>> {
  const { runId, signal, limit, environment, getCursor } = source;
  const waiters: Waiter<E, Offset>[] = [];
  let queue: { readonly chunk: RunChunk<E, Offset>; readonly isLast: boolean }[] = [];
  /** How many of the queue were given out. */
  let head = 0;
  let follower: RunFollower<E, Offset> | undefined;
  let begun = false;
  /** It came back after it had left the queue to grow: slow, not gone. */
  let slow = false;
  let over = false;
  /** The run has come to its end, and the queue is too long to say so yet. */
  let ending = false;
  let failure: { readonly error: unknown } | undefined;
  /** The places up to which the queue and the consumer have got. */
  let received = source.after;
  let delivered = source.after;
  /** The consumer has got the first events of a place, and not its last. */
  let inside = false;
  let stopTimer: (() => void) | undefined;

  function drop() {
    queue = [];
    head = 0;
  }

  function pump() {
    while (waiters.length && head < queue.length) {
      const { chunk, isLast } = queue[head++]!;
      delivered = getCursor(chunk) ?? delivered;
      inside = !isLast;
      waiters.shift()!.resolve({ done: false, value: chunk });
    }
    if (head === queue.length) drop();
    if (!over) return;
    for (const { resolve, reject } of waiters.splice(0)) {
      if (failure) reject(failure.error);
      else resolve({ done: true, value: undefined });
      failure = undefined;
    }
  }

  function finish(error?: unknown) {
    if (over) return;
    over = true;
    if (error !== undefined) failure = { error };
    stopTimer?.();
    signal.removeEventListener('abort', onAbort);
    pump();
  }

  const sink: RunSink<E, Offset> = {
    take(events, offset) {
      events.forEach((event, index) => {
        const isLast = index === events.length - 1;
        const placed = isLast && offset !== undefined && { offset };
        const chunk = { runId, ...placed, event };
        received = getCursor(chunk) ?? received;
        queue.push({ chunk, isLast });
      });
      pump();
      // A burst may be longer than the queue; only what is left when the consumer had its turn counts.
      if (queue.length - head > limit) stopTimer ??= environment.setTimer(check, 0);
    },
    end(error) {
      // The end of a log that is not kept comes again with the rest of it.
      if (!error && stopTimer) ending = true;
      else finish(error);
    },
  };

  function check() {
    stopTimer = undefined;
    if (queue.length - head > limit) {
      if (received === undefined) {
        const text = `Run ${runId} is read too slowly, and its events have no offsets.`;
        return finish(new RunSocketError('queue-full', text));
      }
      follower?.leave();
      follower = undefined;
      queue = queue.slice(head);
      head = 0;
      // The rest of a place that the consumer is inside of would come again with its first events.
      const least = slow ? limit : Number(inside);
      const end = least && queue.findIndex(({ isLast }, at) => isLast && at >= least - 1) + 1;
      // What has no place of its own would not come again.
      if (
        queue.every(({ chunk, isLast }, at) => at < end || !isLast || chunk.offset !== undefined)
      ) {
        queue.length = end;
        received = delivered;
        for (const { chunk } of queue) received = getCursor(chunk) ?? received;
        ending = false;
      }
    }
    if (ending) finish();
  }

  function follow() {
    if (follower) return;
    if (!begun) signal.addEventListener('abort', onAbort);
    const again = begun ? { after: received } : undefined;
    slow = begun;
    begun = true;
    follower = source.follow(sink, again);
  }

  function onAbort() {
    if (over) return;
    drop();
    if (begun || source.underWay) {
      try {
        follow();
        follower!.sink = undefined;
        follower!.cancel();
      } catch {
        // It cannot even be asked for; the abort is what counts.
      }
    }
    finish(toAbortError(signal));
  }

  return {
    next: () =>
      new Promise((resolve, reject) => {
        waiters.push({ resolve, reject });
        if (signal.aborted) onAbort();
        pump();
        if (over || !waiters.length) return;
        try {
          follow();
        } catch (error) {
          finish(error);
        }
      }),
    return() {
      drop();
      if (!over) follower?.leave();
      finish();
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
