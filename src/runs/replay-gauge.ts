/** Tells the events that a log repeats after a resume from those that happen now. */
export interface ReplayGauge {
  /** The log was asked for: what comes next may be a replay. */
  start(): void;
  /** `next`: the first offset that was not written when the log was asked for, where the server says so. */
  isReplay(offset: unknown, next: number | undefined): boolean;
}

/** In ms. */
const replayGap = 50;

/** Make the gauge of one run; without a `next` the first pause of more than 50 ms ends a replay. */
export function createReplayGauge(now: () => number): ReplayGauge {
  /** When the last event came; Infinity before the first, undefined where the replay is over. */
  let lastAt: number | undefined;
  return {
    start() {
      lastAt = 1 / 0;
    },
    isReplay(offset, next) {
      if (lastAt === undefined) return false;
      const at = now();
      const isOld = next === undefined ? at - lastAt <= replayGap : Number(offset) < next;
      // A server may not say how far its log goes, and its replay may falter on the way.
      lastAt = isOld || next === undefined ? at : undefined;
      return isOld;
    },
  };
}
