import type { Environment } from '../internal/environment.ts';
import { isRunSocketError, RunSocketError } from '../internal/errors.ts';
import { batchLimit, batchSize } from './frames.ts';
import type { RunEndStatus, RunLog } from './run-log.ts';

/** Writes one run's log: events of one burst go together, and a store that is away for a while loses none. */
export interface LogWriter {
  /** Takes an event; the promise, if any, says when there is room for more. */
  push(event: unknown, json: string): Promise<void> | undefined;
  /** Writes what was taken. Rejects with what `append` rejected with. */
  flush(): Promise<void>;
  /** Forgets what was taken and could not be written. */
  clear(): void;
  /** Ends the log behind what was taken. */
  end(status: RunEndStatus): Promise<void>;
}

// An event waits for the next one this many promise callbacks long: enough for a generator that goes
// on at once, and far less than any timer.
const patience = 24;
/** How long a store may be away before a run is given up, in ms. */
const longestOutage = 60_000;

/** Make the writer of a run's log, which is empty; `failed` is told why no more is written. */
export function createLogWriter(
  { setTimer }: Pick<Environment, 'setTimer'>,
  log: RunLog,
  runId: string,
  epoch: string,
  report: (error: unknown) => void,
  failed: (error: unknown) => void,
): LogWriter {
  let events: unknown[] = [];
  let json: string[] = [];
  let size = 0;
  /** The first offset that is not written. */
  let next = 0;
  let left = 0;
  let isWaiting = false;
  let flushing: Promise<void> | undefined;
  /** Why no more is written: a hole in a log must not be. */
  let failure: Promise<never> | undefined;

  const pause = (ms: number) => new Promise<void>((resolve) => setTimer(resolve, ms));

  // Keeps trying what fails for reasons of the store's own.
  async function persist<Result>(attempt: () => Promise<Result>): Promise<Result> {
    for (let wait = 50, waited = 0; ; waited += wait, wait = Math.min(wait * 2, 1_000)) {
      try {
        return await attempt();
      } catch (error) {
        if (isRunSocketError(error)) throw error;
        report(error);
        if (waited > longestOutage) {
          throw new RunSocketError('run-lost', `Run ${runId} cannot be written.`, error);
        }
      }
      await pause(wait);
    }
  }

  async function write(batch: readonly unknown[], texts: readonly string[]) {
    let isAsked = false;
    await persist(async () => {
      if (isAsked) {
        // What was refused may have been written all the same.
        const head = await log.head(runId);
        const at = 'unknown' in head || head.epoch !== epoch ? undefined : head.next;
        if (at === next + batch.length) return;
        if (at !== next)
          throw new RunSocketError('run-lost', `The log of run ${runId} is another.`);
      }
      isAsked = true;
      await log.append(runId, epoch, batch, texts);
    });
    next += batch.length;
  }

  async function run() {
    try {
      while (events.length) {
        const batch = events;
        const texts = json;
        events = [];
        json = [];
        size = 0;
        await write(batch, texts);
      }
    } catch (error) {
      failure = Promise.reject(error);
      failure.catch(() => {});
      failed(error);
      throw error;
    } finally {
      flushing = undefined;
    }
  }

  function flush(): Promise<void> {
    if (failure) return failure;
    flushing ??= run();
    // Who does not wait for it is told by `failed`.
    flushing.catch(() => {});
    return flushing;
  }

  function wait() {
    if (left-- > 0) Promise.resolve().then(wait);
    else {
      isWaiting = false;
      if (events.length) flush();
    }
  }

  return {
    push(event, text) {
      events.push(event);
      json.push(text);
      size += text.length;
      if (events.length >= batchLimit || size >= batchSize) {
        // A generator that never waits must let others work: a timer does, a promise does not.
        return flush()
          .catch(() => {})
          .then(() => pause(0));
      }
      left = patience;
      if (!isWaiting) {
        isWaiting = true;
        wait();
      }
      return undefined;
    },
    flush,
    clear() {
      events = [];
      json = [];
      size = 0;
      failure = undefined;
    },
    async end(status) {
      await persist(() => log.end(runId, epoch, status));
    },
  };
}
