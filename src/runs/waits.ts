import type { Environment } from '../internal/environment.ts';

/** Named timers, some of which stand still while there is no connection. */
export interface Waits<Name extends string> {
  /** Starts a wait, or (no `ms`) calls it off; `keep` leaves one that is under way alone. */
  set(name: Name, ms?: number, keep?: boolean): void;
  /** Stops the clock of the waits that count time on open connections. */
  pause(): void;
  resume(): void;
  /** Calls everything off. */
  clear(): void;
}

interface Wait {
  left: number;
  since: number;
  slept?: boolean;
  /** Absent while it is paused. */
  stop?: (() => void) | undefined;
}

/** How late a timer may come that did not sleep, in ms. */
const slack = 1_000;

/** A long wait is made of steps of so many ms: a page that sleeps loses one of them at most. */
const longest = 5_000;

/** Make a run's waits; `pausable` names those that `pause()` stops, `onEnd` is told each that ran out. */
export function createWaits<Name extends string>(
  { now, setTimer }: Environment,
  pausable: readonly Name[],
  onEnd: (name: Name) => void,
): Waits<Name> {
  const waits = new Map<Name, Wait>();

  function start(name: Name, wait: Wait) {
    waits.set(name, wait);
    wait.since = now();
    const step = Math.min(wait.left, longest);
    wait.stop = setTimer(() => {
      if (wait.left > step) {
        wait.left -= step;
        return start(name, wait);
      }
      // One that comes this late slept with its page, and what arrived meanwhile may still be unread.
      if (!wait.slept && now() - wait.since > wait.left + slack) {
        wait.slept = true;
        return start(name, wait);
      }
      waits.delete(name);
      onEnd(name);
    }, step);
  }

  return {
    set(name, ms, keep) {
      const old = waits.get(name);
      if (old && keep) return;
      old?.stop?.();
      waits.delete(name);
      if (ms !== undefined) start(name, { left: ms, since: 0 });
    },
    pause() {
      for (const name of pausable) {
        const wait = waits.get(name);
        if (!wait?.stop) continue;
        wait.stop();
        wait.stop = undefined;
        // More than was left has not passed while the timer ran: the page slept, or its clock was set.
        const passed = now() - wait.since;
        if (passed > 0 && passed < wait.left) wait.left -= Math.min(passed, longest);
      }
    },
    resume() {
      for (const name of pausable) {
        const wait = waits.get(name);
        if (wait && !wait.stop) start(name, wait);
      }
    },
    clear() {
      for (const { stop } of waits.values()) stop?.();
      waits.clear();
    },
  };
}
