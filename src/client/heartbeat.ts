/** How long any frame may take after a wake-up, in ms. */
const grace = 1_000;
/** The longest wait between two looks, in ms: this is how soon a leap of the clock is noticed. */
const tick = 5_000;
const longestIdle = 300_000;

/** What to do now, and in how many ms to look again; nothing to look for without `next`. */
export interface LivenessStep {
  readonly act?: 'ping' | 'swap' | undefined;
  readonly next?: number | undefined;
}

/** Tells a quiet socket from a dead one, by received frames alone. Has no timer: it is told the time. */
export interface Liveness {
  /** A new socket is open: what was known of the one before is forgotten, the idle time in force is not. */
  open(now: number): void;
  /** Any frame was received. */
  frame(now: number): void;
  /** Ping after `interval` ms of silence; swap when `timeout` ms after the ping nothing came. */
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
  let quietSince = 0;
  let looked = 0;
  let due = 0;
  // While an answer is awaited: since when, and how long it may take.
  let probedAt: number | undefined;
  let patience = 0;
  let isLastChance = false;

  const probe = (now: number): 'ping' | undefined => {
    probedAt = now;
    patience = ping ? ping.timeout : grace;
    isLastChance = !ping;
    return ping && 'ping';
  };
  const frame = (now: number) => {
    quietSince = now;
    probedAt = undefined;
    idle = idleBase ?? 0;
  };

  return {
    open(now) {
      ping = undefined;
      quietSince = looked = due = now;
      probedAt = undefined;
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
      let act: LivenessStep['act'];
      if (now < looked) {
        // The wall clock was set back.
        const shift = now - looked;
        quietSince += shift;
        due += shift;
        if (probedAt !== undefined) probedAt += shift;
      }
      const late = now - due;
      looked = now;
      if (!ping && idleBase === undefined) {
        probedAt = undefined;
        return {};
      }
      if (late >= tick && !hidden) act = probe(now);
      else if (woken && probedAt === undefined) act = probe(now);
      else if (probedAt !== undefined) {
        if (now - probedAt >= patience) {
          // A late look may run before the frames that arrived meanwhile.
          if (late < grace || isLastChance) act = 'swap';
          else {
            probedAt = now;
            patience = grace;
            isLastChance = true;
          }
        }
      } else if (now - quietSince >= (ping ? ping.interval : idle)) {
        if (ping || late >= grace) act = probe(now);
        else {
          act = 'swap';
          idle = Math.min(idle * 2, longestIdle);
        }
      }
      const next =
        probedAt === undefined
          ? (ping ? ping.interval : idle) - now + quietSince
          : patience - now + probedAt;
      due = now + Math.min(next, tick);
      return { act, next: due - now };
    },
  };
}
