import type { Environment, PageGlobals } from '../../src/internal/environment.ts';
import { createRandom } from '../helpers/random.ts';

// Kept here, so that a test runner's fake timers do not reach it.
const realSetImmediate = setImmediate;

/** One machine of the simulation: its timers stop with it, and its wall clock may be wrong. */
export interface Host {
  readonly environment: Environment;
  /** How many timers are pending, what the network brings left out. */
  readonly timers: number;
  readonly isAlive: boolean;
  readonly isFrozen: boolean;
  /** How far its wall clock is off. */
  readonly offset: number;
  /** What was handed to `environment.report`. */
  readonly reports: unknown[];
  /** As a timer of the machine, but brought by the network: it is no timer of its program. */
  deliver(task: () => void, ms: number): void;
  /** Nothing of the machine happens until `thaw`. */
  freeze(): void;
  /** What fell due meanwhile happens now; `networkFirst` tells what of it comes first. */
  thaw(networkFirst: boolean): void;
  /** The machine is gone, with all that it planned. */
  kill(): void;
  /** Moves the wall clock alone. */
  shiftWall(ms: number): void;
  /** The machine slept, and the world did not wait: its clocks leap, and its timers are late. */
  leap(ms: number): void;
}

/** Virtual time for several machines. */
export interface Timeline {
  /** Since the start, in ms. */
  now(): number;
  /** `clockOf`: another program on the same machine, with the same wall clock. */
  host(page?: PageGlobals, clockOf?: Host): Host;
  /** Does something at a time, whatever machines there are. */
  at(time: number, task: () => void): void;
  /** Runs all that is due up to `until`, in order, and all promise callbacks after each. */
  run(until: number): Promise<void>;
}

interface Entry {
  at: number;
  readonly serial: number;
  readonly task: () => void;
  readonly owner: Owner | undefined;
  readonly isNetwork: boolean;
  isOff: boolean;
}

interface Owner {
  isAlive: boolean;
  isFrozen: boolean;
  timers: number;
  late: Entry[];
}

const start = Date.UTC(2026, 0, 1);

/** Make a timeline; the same seed gives the same chance on every machine. */
export function createTimeline(seed: number): Timeline {
  const heap: Entry[] = [];
  let time = 0;
  let serial = 0;
  let hosts = 0;

  const isBefore = (a: Entry, b: Entry) => a.at < b.at || (a.at === b.at && a.serial < b.serial);

  function push(entry: Entry) {
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Entry;
      if (isBefore(above, entry)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  function pop(): Entry {
    const top = heap[0] as Entry;
    const last = heap.pop() as Entry;
    const { length } = heap;
    if (!length) return top;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= length) break;
      const right = heap[child + 1];
      if (right && isBefore(right, heap[child] as Entry)) child++;
      const below = heap[child] as Entry;
      if (!isBefore(below, last)) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
    return top;
  }

  function plan(
    owner: Owner | undefined,
    task: () => void,
    ms: number,
    isNetwork: boolean,
  ): () => void {
    const wait = Math.min(Math.max(ms, 0) || 0, 2 ** 31 - 1);
    const entry: Entry = {
      at: time + wait,
      serial: ++serial,
      task,
      owner,
      isNetwork,
      isOff: false,
    };
    push(entry);
    const counts = owner && !isNetwork;
    if (counts) owner.timers++;
    return () => {
      if (entry.isOff) return;
      entry.isOff = true;
      if (counts) owner.timers--;
    };
  }

  function run(entry: Entry) {
    const { owner } = entry;
    if (entry.isOff || owner?.isAlive === false) return false;
    if (owner?.isFrozen) {
      owner.late.push(entry);
      return false;
    }
    entry.isOff = true;
    if (owner && !entry.isNetwork) owner.timers--;
    entry.task();
    return true;
  }

  const flush = () => new Promise<void>((resolve) => realSetImmediate(resolve));

  return {
    now: () => time,
    at(at, task) {
      plan(undefined, task, at - time, true);
    },
    host(page = {}, clockOf) {
      const random = createRandom(seed * 31 + hosts++);
      const owner: Owner = { isAlive: true, isFrozen: false, timers: 0, late: [] };
      const reports: unknown[] = [];
      let offset = clockOf?.offset ?? 0;
      const setTimer = (task: () => void, ms: number) => plan(owner, task, ms, false);
      return {
        environment: {
          now: () => start + time + offset,
          setTimer,
          setFrame: (task) => setTimer(task, 16),
          random,
          randomId: () => `${hosts}-${Math.floor(random() * 2 ** 48).toString(36)}`,
          report: (error) => {
            reports.push(error);
          },
          page,
        },
        get timers() {
          return owner.timers;
        },
        get isAlive() {
          return owner.isAlive;
        },
        get offset() {
          return offset;
        },
        get isFrozen() {
          return owner.isFrozen;
        },
        reports,
        deliver(task, ms) {
          plan(owner, task, ms, true);
        },
        freeze() {
          owner.isFrozen = true;
        },
        thaw(networkFirst) {
          if (!owner.isFrozen) return;
          owner.isFrozen = false;
          const late = owner.late.splice(0);
          late.sort(
            (a, b) =>
              Number(a.isNetwork !== networkFirst) - Number(b.isNetwork !== networkFirst) ||
              a.at - b.at ||
              a.serial - b.serial,
          );
          for (const entry of late) push(Object.assign(entry, { at: time, serial: ++serial }));
        },
        kill() {
          owner.isAlive = false;
        },
        shiftWall(ms) {
          offset += ms;
        },
        leap(ms) {
          offset += ms;
          const own = heap.filter((entry) => entry.owner === owner && !entry.isNetwork);
          const rest = heap.filter((entry) => entry.owner !== owner || entry.isNetwork);
          heap.length = 0;
          for (const entry of rest) push(entry);
          for (const entry of own) {
            entry.at = Math.max(time, entry.at - ms);
            push(entry);
          }
        },
      };
    },
    async run(until) {
      await flush();
      while (heap.length && (heap[0] as Entry).at <= until) {
        const entry = pop();
        time = Math.max(time, entry.at);
        if (run(entry)) await flush();
      }
      time = Math.max(time, until);
    },
  };
}
