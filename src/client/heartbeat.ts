/** How long any frame may take after a wake-up where nothing is pinged, in ms. */
const grace = 1_000;
/** The longest wait between two looks, in ms: this is how soon a leap of the clock is noticed. */
const tick = 5_000;
const longestIdle = 300_000;

/** The silence before a probe, or before a swap where nothing is pinged, and before a swap after a probe. */
interface Watch {
  readonly interval: number;
  readonly timeout: number;
}

/** Tells a quiet socket from a dead one, by received frames alone. Has no timer: it is told the time. */
export interface Liveness {
  /** A new socket is open: what was known of the one before is forgotten, the idle time in force is not. */
  open(now: number): void;
  /** Any frame was received. */
  frame(now: number): void;
  /** Ping after `interval` ms of silence; swap when nothing came `timeout` ms after the ping. */
  setPing(interval: number, timeout: number, now: number): void;
  /** Swap after this silence, in ms, where nothing is pinged. Doubles up to 5 min while it stays quiet. */
  setIdle(ms: number | undefined, now: number): void;
  /**
   * What to do now, and in how many ms to look again, if at all. `woken`: the page woke up. `hidden`:
   * its timers may be throttled, so that a late look means nothing.
   */
  look(
    now: number,
    woken: boolean,
    hidden: boolean,
  ): readonly [act?: 'ping' | 'swap' | undefined, next?: number];
}

/** Make the liveness check of one client. */
export function createLiveness(): Liveness {
  let ping: Watch | undefined;
  let idle: Watch | undefined;
  // As `idle`, with the silence that is allowed by now.
  let quiet: Watch | undefined;
  // The last frame, or the last probe: a question that any frame answers.
  let since = 0;
  let probes = 0;
  // When the next look was planned; 0 where there was nothing to look for.
  let due = 0;

  const frame = (now: number) => {
    since = now;
    probes = 0;
    quiet = idle;
  };

  return {
    open(now) {
      ping = undefined;
      since = now;
      probes = due = 0;
    },
    frame,
    setPing(interval, timeout, now) {
      ping = { interval, timeout };
      frame(now);
    },
    setIdle(interval, now) {
      if (interval === idle?.interval) return;
      quiet = idle = interval === undefined ? interval : { interval, timeout: grace };
      // A run that starts or ends is no sign of life: an unanswered ping stays one.
      if (!ping) frame(now);
    },
    look(now, woken, hidden) {
      const watch = ping ?? quiet;
      // Timers run late after sleep.
      const late = due && now - due;
      let act: 'ping' | 'swap' | undefined;
      due = 0;
      if (!watch) return [];
      let { interval } = watch;
      // The wall clock may be set back.
      since = Math.min(since, now);
      const isOver = now - since >= (probes ? watch.timeout : interval);
      // A late look may come before frames that arrived meanwhile: it asks once more.
      if (isOver && (probes > 1 || (late < grace && (probes || !ping)))) {
        act = 'swap';
        interval = Math.min(interval * 2, longestIdle);
        if (!probes) quiet = { ...watch, interval };
      } else if (isOver || (late >= tick && !hidden) || (woken && !probes)) {
        probes++;
        since = now;
        if (ping) act = 'ping';
      }
      due = Math.min((probes ? watch.timeout : interval) + since, now + tick);
      return [act, due - now];
    },
  };
}
