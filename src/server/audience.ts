import type { Environment } from '../internal/environment.ts';
import type { RunLog, RunLogControl } from './run-log.ts';

/** Who follows which run here, and which runs stop when nobody does any more. */
export interface Audience {
  /** How many readers there are. */
  readonly size: number;
  join(runId: string): void;
  leave(runId: string): void;
  /** The run stops once its last follower has been gone for a while. */
  stopWithout(runId: string): void;
  /** The run is over. */
  forget(runId: string): void;
  /** What a process told of a run. */
  hear(runId: string, message: RunLogControl): void;
  dispose(): void;
}

interface Listeners {
  count: number;
  stops: boolean;
  timer: (() => void) | undefined;
}

/** How long nobody may be there, in ms: first silently, and then while other processes are asked. */
const absence = { before: 8_000, asked: 2_000 };

/** Make the audience of one process. */
export function createAudience(
  { setTimer, setIdleTimer = setTimer }: Environment,
  log: RunLog,
  report: (error: unknown, runId: string) => void,
): Audience {
  const runs = new Map<string, Listeners>();
  let size = 0;

  const get = (runId: string): Listeners => {
    let found = runs.get(runId);
    if (!found) {
      found = { count: 0, stops: false, timer: undefined };
      runs.set(runId, found);
    }
    return found;
  };

  const tell = (runId: string, type: RunLogControl['type']) => {
    // It may throw as well as reject.
    (async () => log.control(runId, { type }))().catch((error) => report(error, runId));
  };

  function drop(runId: string) {
    runs.get(runId)?.timer?.();
    runs.delete(runId);
  }

  function watch(runId: string, run: Listeners) {
    run.timer = setIdleTimer(() => {
      // The answer may come before `tell` returns.
      run.timer = setIdleTimer(() => {
        runs.delete(runId);
        tell(runId, 'cancel');
      }, absence.asked);
      tell(runId, 'followers');
    }, absence.before);
  }

  return {
    get size() {
      return size;
    },
    join(runId) {
      const run = get(runId);
      run.count++;
      size++;
      run.timer?.();
      run.timer = undefined;
    },
    leave(runId) {
      size--;
      const run = runs.get(runId);
      if (!run || --run.count > 0) return;
      if (run.stops) watch(runId, run);
      else runs.delete(runId);
    },
    stopWithout(runId) {
      const run = runs.get(runId);
      if (run) run.stops = true;
    },
    forget(runId) {
      const run = runs.get(runId);
      if (!run) return;
      run.stops = false;
      if (!run.count) drop(runId);
    },
    hear(runId, { type }) {
      const run = runs.get(runId);
      if (!run) return;
      if (type === 'followers' && run.count) {
        // Who answers looks after the run from now on.
        run.stops = true;
        tell(runId, 'followed');
      } else if (type === 'followed' && !run.count) drop(runId);
    },
    dispose() {
      for (const runId of [...runs.keys()]) drop(runId);
    },
  };
}
