import type { Environment } from '../internal/environment.ts';

/** Ids that go after a while, oldest first, by one timer for all. */
export interface Expiry {
  readonly size: number;
  has(id: string): boolean;
  /** An id that is in already keeps its time. */
  add(id: string): void;
  /** Takes an id out without `expired`; whether it was in. */
  remove(id: string): boolean;
  /** Lets the oldest go before its time; `false`: there is none. */
  takeOldest(): boolean;
  dispose(): void;
}

/** Make a set whose ids go after `time` ms, or when there are more than `limit`; each is told to `expired`. */
export function createExpiry(
  { now, setTimer, setIdleTimer = setTimer }: Environment,
  time: number,
  limit: number,
  expired: (id: string) => void,
): Expiry {
  // A Map keeps the order of insertion, which is the order of the times.
  const ids = new Map<string, number>();
  let stop: (() => void) | undefined;

  function take(): boolean {
    const oldest = ids.keys().next();
    if (oldest.done) return false;
    ids.delete(oldest.value);
    expired(oldest.value);
    return true;
  }

  function run() {
    stop = undefined;
    for (const at of ids.values()) {
      // A clock that was set back would keep everything for longer than the timer says.
      if (at > now() && at <= now() + time) break;
      take();
    }
    arm();
  }

  function arm() {
    const first = ids.values().next();
    if (stop || first.done || time === Infinity) return;
    stop = setIdleTimer(run, Math.max(1, Math.min(time, first.value - now())));
  }

  return {
    get size() {
      return ids.size;
    },
    has: (id) => ids.has(id),
    add(id) {
      if (ids.has(id)) return;
      ids.set(id, now() + time);
      if (ids.size > limit) take();
      arm();
    },
    remove: (id) => ids.delete(id),
    takeOldest: take,
    dispose() {
      stop?.();
      stop = undefined;
      ids.clear();
    },
  };
}
