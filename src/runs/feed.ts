/** How the events of a run can end it. */
export type End = 'finished' | 'cancelled' | 'failed';

/** A place in a run's log, with what an overlapping resume is compared with. */
export interface RunPosition<E, Offset> {
  /** The last offset given out: the cursor. */
  readonly offset: Offset | undefined;
  /** The offset before it. */
  readonly previous?: Offset | undefined;
  /** The events at `offset`. */
  readonly last?: readonly E[] | undefined;
  /** The log has shown no holes so far. */
  readonly dense?: boolean | undefined;
  /** As JSON, the string offsets given out so far: no order tells them from new ones. */
  readonly seen?: unknown;
  /** The end that the events up to here tell. */
  readonly ended?: End | undefined;
  /** The execution whose log it is, where the server names it. */
  readonly epoch?: string | undefined;
}

/** Takes what stands at one place of a log: one event, or those that one frame expands to. */
export type Taker<E, Offset> = (events: readonly E[], offset: Offset | undefined) => void;

/**
 * A reader of one run's log: gives everything out in order, once.
 *
 * No timer in it: whoever uses it decides how long a hole is waited for.
 */
export interface Feed<E, Offset extends number | string> {
  /** The offset given out last: asked for with every event, unlike all of `position`. */
  readonly cursor: Offset | undefined;
  readonly position: RunPosition<E, Offset>;
  /** How many places wait behind a hole. */
  readonly held: number;
  /** The lowest of them. */
  readonly lowest: Offset | undefined;
  /** The server said that its offsets have no holes. */
  promise(): void;
  /** Gives out, drops as known, or holds behind a hole; `true`: the lowest held place came again, so the server has nothing to fill the hole with. */
  receive(offset: Offset | undefined, events: readonly E[]): boolean;
  /** Gives up the hole in front of what is held; a log that was not promised to be dense is sparse from here on. */
  accept(): void;
  /** Moves behind places that are gone from the log. */
  skipTo(cursor: Offset): void;
  /** Forgets what is held: the next connection brings it again. */
  drop(): void;
}

const seenLimit = 10_000;

/** How many places of a log may wait behind a hole; the others come again with what fills it. */
export const holdLimit = 256;

/** Make a reader that stands before a log's start, or at a position. */
export function createFeed<E, Offset extends number | string>(
  give: Taker<E, Offset>,
  from: RunPosition<E, Offset> = { offset: undefined },
): Feed<E, Offset> {
  // Undefined as long as nothing tells whether the log has holes.
  let { offset: cursor, previous, last, dense } = from;
  let held: (readonly [Offset, readonly E[]])[] = [];
  let promised = false;
  // From storage, and whatever stands there: what is no list is one more that never comes.
  const seen = new Set(([] as unknown[]).concat(from.seen, cursor));

  const after = () => Number(cursor ?? -1) + 1;

  function pass(offset: Offset, events: readonly E[]) {
    previous = cursor;
    cursor = offset;
    last = events;
    give(events, offset);
  }

  // Gives out what has become next.
  function release() {
    while (held[0] && (dense === false || Number(held[0][0]) <= after())) {
      const next = held.shift()!;
      if (Number(next[0]) >= after()) pass(...next);
    }
  }

  return {
    get cursor() {
      return cursor;
    },
    get position() {
      const at = cursor;
      return {
        offset: at,
        previous,
        last,
        dense,
        // Slow storage writes it later, when there are more of them.
        seen: { toJSON: () => [...seen].slice(0, [...seen].indexOf(at) + 1) },
      };
    },
    get held() {
      return held.length;
    },
    get lowest() {
      return held[0]?.[0];
    },
    promise() {
      promised = dense = true;
    },
    receive(offset, events) {
      if (offset === undefined) give(events, offset);
      else if (typeof offset === 'string') {
        if (seen.has(offset)) return false;
        seen.add(offset);
        if (seen.size > seenLimit) seen.delete(seen.values().next().value);
        pass(offset, events);
      } else {
        // A log that nobody promised to be whole may begin anywhere.
        if (promised || cursor !== undefined) {
          const ahead = Number(offset) - after();
          if (ahead < 0) return false;
          if (ahead && dense) return hold(offset, events);
          // Two offsets in a row tell that a log is dense, a jump that it is not.
          dense ??= !ahead;
        }
        pass(offset, events);
        release();
      }
      return false;
    },
    accept() {
      const next = held.shift();
      if (!next) return;
      dense = promised;
      pass(...next);
      release();
    },
    skipTo(to) {
      cursor = to;
      previous = last = undefined;
      release();
    },
    drop() {
      held = [];
    },
  };

  function hold(offset: Offset, events: readonly E[]): boolean {
    const at = held.findIndex(([other]) => other >= offset);
    if (held[at]?.[0] === offset) return at === 0;
    held.splice(at < 0 ? held.length : at, 0, [offset, events]);
    held.splice(holdLimit);
    return false;
  }
}
