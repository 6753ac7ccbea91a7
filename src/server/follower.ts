import type { Environment } from '../internal/environment.ts';
import { isRunSocketError } from '../internal/errors.ts';
import type { LoggedEvent, RunEndStatus, RunLog, RunLogHead } from './run-log.ts';

/** Where a follower's events go. */
export interface FollowerSink {
  /** A promise where `count` events must wait for room, and look again then. */
  room(count: number): Promise<void> | undefined;
  events(batch: readonly LoggedEvent[]): void;
  /** Nothing before `from` is left. */
  truncated(from: number): void;
  /** The log has ended, and all of it was sent. */
  end(status: RunEndStatus, offset: number): void;
  /** The log is gone: evicted, or another's. `next` is the first offset that was not sent. */
  lost(reason: 'evicted' | 'lost', next: number): void;
  /** The log cannot be read. */
  failed(error: unknown): void;
}

/** Reads a run's log from one place on, as fast as its socket takes it. */
export interface Follower {
  /** Nothing is sent from here on. */
  stop(): void;
}

/** How often in a row reading may fail. */
const attempts = 8;

/** Make a follower of a run that sends from the offset `next` on. */
export function createFollower(
  { setTimer }: Pick<Environment, 'setTimer'>,
  log: RunLog,
  run: { readonly runId: string; readonly epoch: string; readonly next: number },
  sink: FollowerSink,
): Follower {
  const { runId, epoch } = run;
  const abort = new AbortController();
  const { signal } = abort;
  let { next } = run;
  let failures = 0;

  async function read() {
    const after = next ? next - 1 : undefined;
    for await (const batch of log.read(runId, after, signal, epoch)) {
      if (signal.aborted) return;
      failures = 0;
      // Before they are sent: others that read into the same socket may have filled it.
      for (let room = sink.room(batch.length); room; room = sink.room(0)) {
        await room;
        if (signal.aborted) return;
      }
      give(batch);
    }
  }

  function give(batch: readonly LoggedEvent[]) {
    const first = batch[0]?.offset ?? next;
    // Most logs give exactly what was asked for, and then the batch is shared with other readers.
    const fresh = first < next ? batch.filter(({ offset }) => offset >= next) : batch;
    const last = fresh.at(-1);
    if (!last) return;
    if (first > next) sink.truncated(first);
    next = last.offset + 1;
    sink.events(fresh);
  }

  /** Whether all is said. */
  function conclude(head: RunLogHead): boolean {
    if ('unknown' in head || head.epoch !== epoch) {
      sink.lost('unknown' in head && head.unknown === 'evicted' ? 'evicted' : 'lost', next);
      return true;
    }
    if (head.status === 'running' || next < head.next) return false;
    sink.end(head.status, head.next - 1);
    return true;
  }

  async function follow() {
    while (!signal.aborted) {
      try {
        await read();
        if (signal.aborted) return;
        const head = await log.head(runId);
        if (signal.aborted || conclude(head)) return;
        failures++;
      } catch (error) {
        if (signal.aborted) return;
        if (isRunSocketError(error, 'run-lost')) return explain();
        if (++failures >= attempts) return sink.failed(error);
      }
      await new Promise<void>((resolve) => setTimer(resolve, Math.min(1_000, 10 * 2 ** failures)));
    }
  }

  async function explain() {
    const head = await log.head(runId).catch(() => undefined);
    if (!signal.aborted && !(head && conclude(head))) sink.lost('lost', next);
  }

  void follow();
  return { stop: () => abort.abort() };
}
