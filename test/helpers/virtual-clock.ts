import type { Environment, PageGlobals } from '../../src/internal/environment.ts';
import { fakeWebSocket } from './fake-page.ts';
import { createRandom } from './random.ts';

// Kept here, so that the clock also works under a test runner's fake timers.
const realSetImmediate = setImmediate;

/**
 * Time that moves only when the test says so, as an {@link Environment}.
 *
 * ```ts
 * const clock = createVirtualClock({ seed: 7 });
 * const client = createClient(url, options, { environment: clock.environment, dialer });
 * await clock.advance(1_000);      // runs every timer due within a second, in order
 * expect(clock.timers).toBe(0);    // nothing is left behind
 * ```
 */
export interface VirtualClock {
  readonly environment: Environment;
  /** What was handed to `environment.report`, oldest first. */
  readonly reports: unknown[];
  /** How many timers and frames are pending. */
  readonly timers: number;
  /** The wall clock, in ms. */
  now(): number;
  /** Lets `ms` pass: runs what falls due in order, and all promise callbacks after each. */
  advance(ms: number): Promise<void>;
  /** Sleep: `ms` pass at once, and timers that fell due meanwhile run late, at the new time. */
  sleep(ms: number): Promise<void>;
  /** Moves the wall clock alone, either way: timers keep the time that they had left. */
  shiftWall(ms: number): void;
  /** Runs all promise callbacks that are ready; no time passes. */
  flush(): Promise<void>;
}

/** Make a clock. It starts at `start` ms (2026-01-01 by default); the same `seed` gives the same chance. */
export function createVirtualClock(
  options: { readonly seed?: number; readonly start?: number; readonly page?: PageGlobals } = {},
): VirtualClock {
  const random = createRandom(options.seed ?? 1);
  const reports: unknown[] = [];
  const pending = new Map<number, { readonly at: number; readonly task: () => void }>();
  let wall = options.start ?? Date.UTC(2026, 0, 1);
  let time = 0;
  let lastId = 0;

  const setTimer = (task: () => void, ms: number): (() => void) => {
    const id = ++lastId;
    pending.set(id, { at: time + Math.min(Math.max(ms, 0) || 0, 2 ** 31 - 1), task });
    return () => {
      pending.delete(id);
    };
  };

  const flush = () => new Promise<void>((resolve) => realSetImmediate(() => resolve()));

  const runDue = async (until: number, move: boolean) => {
    await flush();
    for (;;) {
      let next: [number, { readonly at: number; readonly task: () => void }] | undefined;
      for (const entry of pending) {
        if (entry[1].at <= until && (!next || entry[1].at < next[1].at)) next = entry;
      }
      if (!next) return;
      pending.delete(next[0]);
      if (move && next[1].at > time) {
        wall += next[1].at - time;
        time = next[1].at;
      }
      next[1].task();
      await flush();
    }
  };

  return {
    environment: {
      now: () => wall,
      setTimer,
      setFrame: (task) => setTimer(task, 16),
      random,
      randomId: () =>
        Array.from({ length: 4 }, () =>
          Math.floor(random() * 2 ** 32)
            .toString(16)
            .padStart(8, '0'),
        ).join(''),
      report: (error) => {
        reports.push(error);
      },
      page: options.page ?? { WebSocket: fakeWebSocket },
    },
    reports,
    get timers() {
      return pending.size;
    },
    now: () => wall,
    async advance(ms) {
      const until = time + ms;
      await runDue(until, true);
      wall += until - time;
      time = until;
    },
    async sleep(ms) {
      time += ms;
      wall += ms;
      await runDue(time, false);
    },
    shiftWall(ms) {
      wall += ms;
    },
    flush,
  };
}
