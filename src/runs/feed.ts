/** What stands at one place of the log: one event, or those that one frame expands to. */
export interface Numbered<E, Offset> {
  readonly offset: Offset | undefined;
  readonly events: readonly E[];
}

/**
 * Where a reader of one run's log stands: everything up to `cursor` was given out, in order, once.
 *
 * Pure but for `seen`, a set that grows with the string offsets of one feed.
 */
export interface Feed<E, Offset extends number | string> {
  /** The last offset given out. */
  readonly cursor?: Offset | undefined;
  /** The offset before it, and the events at it: what an overlapping resume is compared with. */
  readonly previous?: Offset | undefined;
  readonly last?: readonly E[] | undefined;
  /** Offsets are 0, 1, 2 … without holes: said by the server, or seen twice in a row and never otherwise. */
  readonly dense: boolean;
  /** A hole was accepted: from then on only the order counts. */
  readonly sparse: boolean;
  /** Events beyond a hole, by offset. */
  readonly held: readonly Numbered<E, Offset>[];
  /** Recent string offsets. */
  readonly seen: Set<Offset>;
}

/** How many events may wait behind a hole. */
export const holdLimit = 256;
const seenLimit = 10_000;

/** A feed that stands before the log's start, or behind `cursor`. */
export function createFeed<E, Offset extends number | string>(
  cursor?: Offset,
  dense = false,
): Feed<E, Offset> {
  return { cursor, dense, sparse: false, held: [], seen: new Set() };
}

/** What to do with what was received. */
export interface Received<E, Offset extends number | string> {
  readonly feed: Feed<E, Offset>;
  /** What is next, in order. */
  readonly ready: readonly Numbered<E, Offset>[];
  /** The item is the lowest one behind a hole, and comes again: the server has nothing to fill it with. */
  readonly again?: boolean;
}

/** Takes one item in: gives it out, drops it as known, or holds it behind a hole. */
export function receive<E, Offset extends number | string>(
  feed: Feed<E, Offset>,
  item: Numbered<E, Offset>,
): Received<E, Offset> {
  const { offset } = item;
  const { cursor, seen, held } = feed;
  if (offset === undefined) return { feed, ready: [item] };
  if (typeof offset === 'string') {
    if (seen.has(offset)) return { feed, ready: [] };
    seen.add(offset);
    if (seen.size > seenLimit) seen.delete(seen.values().next().value as Offset);
    return { feed: pass(feed, item), ready: [item] };
  }
  const known = typeof cursor === 'number';
  if (known && Number(offset) <= Number(cursor)) return { feed, ready: [] };
  const next = known ? (cursor as number) + 1 : 0;
  if ((offset as number) > next && feed.dense && !feed.sparse) {
    const index = held.findIndex((one) => (one.offset as Offset) >= offset);
    if (index >= 0 && held[index]?.offset === offset) {
      return { feed, ready: [], again: index === 0 };
    }
    const at = index < 0 ? held.length : index;
    return { feed: { ...feed, held: [...held.slice(0, at), item, ...held.slice(at)] }, ready: [] };
  }
  // Two offsets in a row tell that a log is dense, until a first jump tells otherwise.
  const dense = feed.dense || (known && !feed.sparse && offset === next);
  const sparse = feed.sparse || (known && offset !== next);
  return release({ ...pass(feed, item), dense, sparse }, [item]);
}

/** Gives out what is held, holes or not; a log that never said it was dense is sparse from here on. */
export function acceptHole<E, Offset extends number | string>(
  feed: Feed<E, Offset>,
  promised: boolean,
): Received<E, Offset> {
  const first = feed.held[0];
  if (!first) return { feed, ready: [] };
  return release({ ...pass(feed, first), sparse: !promised, held: feed.held.slice(1) }, [first]);
}

/** Moves the cursor behind events that are gone from the log. */
export function skipTo<E, Offset extends number | string>(
  feed: Feed<E, Offset>,
  cursor: Offset,
): Received<E, Offset> {
  return release({ ...feed, cursor, previous: undefined, last: undefined }, []);
}

function pass<E, Offset extends number | string>(
  feed: Feed<E, Offset>,
  item: Numbered<E, Offset>,
): Feed<E, Offset> {
  return { ...feed, cursor: item.offset, previous: feed.cursor, last: item.events };
}

// The held events that have become next.
function release<E, Offset extends number | string>(
  start: Feed<E, Offset>,
  given: readonly Numbered<E, Offset>[],
): Received<E, Offset> {
  if (!start.held.length) return { feed: start, ready: given };
  let feed = start;
  const ready = [...given];
  let index = 0;
  for (; index < start.held.length; index++) {
    const item = start.held[index] as Numbered<E, Offset>;
    const gap = (item.offset as number) - ((feed.cursor as number | undefined) ?? -1);
    if (gap > 1 && !feed.sparse) break;
    if (gap > 0) {
      feed = pass(feed, item);
      ready.push(item);
    }
  }
  return { feed: { ...feed, held: start.held.slice(index) }, ready };
}
