import type { Environment } from '../internal/environment.ts';
import { isRunSocketError } from '../internal/errors.ts';
import type { LoggedEvent, RunEndStatus, RunLog, RunLogHead } from './run-log.ts';

/** Where a follower's events go. */
export interface FollowerSink {
  /** Sends events; a promise, if any, says when there is room for more. */
  events(batch: readonly LoggedEvent[]): Promise<void> | undefined;
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
      const room = give(batch);
      if (room) await room;
      if (signal.aborted) return;
    }
  }

  function give(batch: readonly LoggedEvent[]): Promise<void> | undefined {
    const first = batch[0]?.offset ?? next;
    // Most logs give exactly what was asked for, and then the batch is shared with other readers.
    const fresh = first < next ? batch.filter(({ offset }) => offset >= next) : batch;
    const last = fresh.at(-1);
    if (!last) return undefined;
    if (first > next) sink.truncated(first);
    next = last.offset + 1;
    return sink.events(fresh);
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
