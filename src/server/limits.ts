/** How much a server lets its clients have. */
export interface RunServerLimits {
  /** The largest frame taken, in bytes; a larger one closes its connection with 1009. @default 1 MiB */
  readonly maxMessage?: number;
  /** Connections in this process; more are sent away with 1013. @default Infinity */
  readonly maxConnections?: number;
  /** Runs at work in this process. Past this, and the next two, a start is answered by `RUN_ERROR`. @default 10000 */
  readonly maxRuns?: number;
  /** Runs at work that one connection has started. @default 64 */
  readonly maxRunsPerConnection?: number;
  /** Runs at work that one principal has started, in this process. @default 256 */
  readonly maxRunsPerPrincipal?: number;
  /** Runs that one connection follows at a time; more close it with 4429. @default 1000 */
  readonly maxFollowsPerConnection?: number;
  /** `run`, `resume`, `cancel` and `auth` that a connection may send each second, over 5 s; more close it with 4429. @default 100 */
  readonly maxRequestsPerSecond?: number;
  /** Bytes that may wait in a socket; its readers and the answers to it wait beyond, and go on at half of it. @default 1 MiB */
  readonly maxBuffered?: number;
  /** Events of one run; the next one ends it with `RUN_ERROR`. @default 1000000 */
  readonly maxEvents?: number;
  /** How long the memory log keeps a finished run, in ms. @default 30 minutes */
  readonly retention?: number;
  /** How much longer it remembers the run's id, in ms, so that it is never run again. @default 24 hours */
  readonly tombstones?: number;
  /** How many bytes of events the memory log keeps. @default 256 MiB */
  readonly maxBytes?: number;
}

/** {@link RunServerLimits} with all defaults filled in. */
export const defaultLimits: Required<RunServerLimits> = {
  maxMessage: 2 ** 20,
  maxConnections: Infinity,
  maxRuns: 10_000,
  maxRunsPerConnection: 64,
  maxRunsPerPrincipal: 256,
  maxFollowsPerConnection: 1_000,
  maxRequestsPerSecond: 100,
  maxBuffered: 2 ** 20,
  maxEvents: 1_000_000,
  retention: 30 * 60_000,
  tombstones: 24 * 3_600_000,
  maxBytes: 256 * 2 ** 20,
};

/** The longest run id that is taken, in UTF-16 units. */
export const longestRunId = 256;

/** Whether a value can be a run's id. */
export function isRunId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= longestRunId;
}

/** Make a bucket that holds `perSecond * 5` and fills by `perSecond`; `take()` is false while it is empty. */
export function createBucket(perSecond: number, now: () => number): { take(): boolean } {
  const size = perSecond * 5;
  let level = size;
  let at = now();
  return {
    take() {
      const time = now();
      // A clock that was set back fills nothing.
      level = Math.min(size, level + (Math.max(0, time - at) / 1000) * perSecond);
      at = time;
      if (level < 1) return false;
      level--;
      return true;
    },
  };
}
