/** How long any frame may take after a wake-up where nothing is pinged, in ms. */
const grace = 1_000;
/** The longest wait between two looks, in ms: this is how soon a leap of the clock is noticed. */
const tick = 5_000;
const longestIdle = 300_000;

/** What to do now, and in how many ms to look again; nothing to look for without `next`. */
export interface LivenessStep {
  readonly act?: 'ping' | 'swap' | undefined;
  readonly next?: number;
}

/** Tells a quiet socket from a dead one, by received frames alone. Has no timer: it is told the time. */
export interface Liveness {
  /** A new socket is open: what was known of the one before is forgotten, the idle time in force is not. */
  open(now: number): void;
  /** Any frame was received. */
  frame(now: number): void;
  /** Ping after `interval` ms of silence; swap when nothing came `timeout` ms after the ping. */
  setPing(ping: { readonly interval: number; readonly timeout: number }, now: number): void;
  /** Swap after this silence, in ms, where nothing is pinged. Doubles up to 5 min while it stays quiet. */
  setIdle(ms: number | undefined, now: number): void;
  /** `woken`: the page woke up. `hidden`: its timers may be throttled, so that a late look means nothing. */
  look(now: number, woken: boolean, hidden: boolean): LivenessStep;
}

/** Make the liveness check of one client. */
export function createLiveness(): Liveness {
  let ping: { readonly interval: number; readonly timeout: number } | undefined;
  let idleBase: number | undefined;
  let idle = 0;
  // The last frame, or the last probe: a question that any frame answers.
  let since = 0;
  let probes = 0;
  // The last look and the next one that was planned; 0 where there was nothing to look for.
  let looked = 0;
  let due = 0;

  const frame = (now: number) => {
    since = now;
    probes = 0;
    idle = idleBase ?? 0;
  };

  return {
    open(now) {
      ping = undefined;
      since = now;
      probes = due = 0;
    },
    frame,
    setPing(next, now) {
      ping = next;
      frame(now);
    },
    setIdle(ms, now) {
      if (ms === idleBase) return;
      idleBase = ms;
      frame(now);
    },
    look(now, woken, hidden) {
      if (!ping && idleBase === undefined) {
        due = 0;
        return {};
      }
      const getLimit = () => (probes ? (ping ? ping.timeout : grace) : ping ? ping.interval : idle);
      // Timers run late after sleep, and the wall clock may be set back.
      const late = due && Math.max(now - due, looked - now);
      let act: LivenessStep['act'];
      since = Math.min(since, now);
      const isOver = now - since >= getLimit();
      // A late look may come before frames that arrived meanwhile: it asks once more.
      if (isOver && (probes ? probes > 1 || late < grace : !ping && late < grace)) {
        act = 'swap';
        if (!probes) idle = Math.min(idle * 2, longestIdle);
      } else if (isOver || (late >= tick && !hidden) || (woken && !probes)) {
        probes++;
        since = now;
        if (ping) act = 'ping';
      }
      looked = now;
      due = now + Math.min(getLimit() - now + since, tick);
      return { act, next: due - now };
    },
  };
}
