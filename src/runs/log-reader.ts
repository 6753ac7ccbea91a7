import { equalJson } from '../internal/equal-json.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createFeed, holdLimit, type RunPosition, type Taker } from './feed.ts';
import type { RunControl } from './protocol.ts';
import type { RunRules, RunStart, RunWorld } from './run-machine-types.ts';

type End = Extract<RunControl, { type: 'run.end' }>;

/** A reader of one run's log over many connections: what to ask for, what is missing, and whose log it still is. */
export interface LogReader<E, Offset> {
  /** The offset given out last. */
  readonly cursor: Offset | undefined;
  readonly position: RunPosition<E, Offset>;
  /** Asks for what comes next. */
  resume(): void;
  receive(offset: Offset | undefined, events: readonly E[]): void;
  control(control: RunControl): void;
  /** The wait for a hole is over. */
  timer(): void;
  /** Forgets what is held: only another connection brings it again. */
  close(): void;
  /** Reads from the start again. */
  reset(): void;
}

const holeWait = 250;
// How long what fills a hole may take once it was asked for, if no repetition proves before that nothing does.
const holePatience = 5000;

/**
 * Make the reader of a run's log: no timer, no socket, no clock in it.
 *
 * `onReset` is told that all that was given is void, and `onEnd` that the server told the end and
 * nothing before it is waited for any more.
 */
export function createLogReader<E, Offset extends number | string>(
  start: RunStart<E, Offset>,
  rules: RunRules<E>,
  world: RunWorld<E, Offset>,
  give: Taker<E, Offset>,
  onReset: () => void,
  onEnd: (status: string) => void,
): LogReader<E, Offset> {
  const { wait } = world;
  const { id } = start;
  let { epoch } = start;
  /** The next event answers an overlapping resume. */
  let comparing = false;
  /** A hole is waited for, and was asked for again. */
  let waiting = false;
  let asked = false;
  /** This connection has brought another execution already. */
  let rebuilt = false;
  /** The server has begun to answer; one that does not say so has with the next event. */
  let answered = false;
  /** The lowest place that was held when the hole was asked for. */
  let lowest: Offset | undefined;
  /** Where a hole was that nobody answered for on the last connection, which may be dead. */
  let doubted: Offset | null | undefined = null;
  /** The end that the server told, while events before it are missing. */
  let told: End | undefined;
  let feed = createFeed(give, start.position);
  if (epoch !== undefined) feed.promise();

  const cursorOf = () => feed.cursor;

  function resume() {
    const { offset, previous, last } = feed.position;
    comparing = rules.overlap && !!last && previous !== undefined;
    world.resume(comparing ? previous : offset);
  }

  function reset() {
    // It may be in the middle of giving out what it held.
    feed.drop();
    feed = createFeed(give);
    if (epoch !== undefined) feed.promise();
    asked = comparing = false;
    told = undefined;
    wait('hole');
    onReset();
  }

  function askAgain() {
    asked = true;
    answered = epoch === undefined;
    lowest = feed.lowest;
    world.resume(cursorOf());
    wait('hole', holePatience);
  }

  // Looks at what is left behind a hole once the feed has moved, or has not.
  function watchHole(moved: boolean) {
    if (told && !isMissing(told)) return onEnd(told.status);
    if (moved) asked = false;
    if (feed.held || told) {
      if (asked) return;
      if (feed.held >= holdLimit) askAgain();
      else wait('hole', holeWait, waiting && !moved);
      waiting = true;
    } else if (waiting) {
      waiting = asked = false;
      wait('hole');
    }
  }

  function loseEvents() {
    world.hole(new RunSocketError('run-lost', `Events of run ${id} are missing.`));
  }

  function acceptHole() {
    loseEvents();
    feed.accept();
    watchHole(true);
  }

  const isMissing = ({ offset = -1 }: { readonly offset?: number }, slack = 0) =>
    feed.held > 0 || Number(cursorOf() ?? -1) < offset - slack;

  // The server has no more than this. Some tell the number of events where the last offset belongs.
  function endWithout(control: End) {
    if (isMissing(control, 1)) loseEvents();
    while (feed.held) feed.accept();
    onEnd(control.status);
  }

  return {
    get cursor() {
      return cursorOf();
    },
    get position() {
      return { ...feed.position, epoch };
    },
    resume,
    receive(offset, events) {
      const cursor = cursorOf();
      // Another follower may have asked for more than this one needs. Strings have no order.
      const isMore = typeof offset === 'number' && offset < Number(cursor);
      if (comparing && offset !== undefined && !isMore) {
        comparing = false;
        // Another execution answers: nothing of the first one may stay.
        if (offset !== cursor || !equalJson(events, feed.position.last)) {
          reset();
          world.swap();
          return;
        }
      }
      if (feed.receive(offset, events) && asked && answered && offset === lowest) acceptHole();
      else if (feed.held || waiting || told) watchHole(cursorOf() !== cursor);
    },
    control(control) {
      switch (control.type) {
        case 'run.accepted': {
          const old = epoch;
          epoch = control.epoch ?? '';
          if (old !== epoch) world.note({ epoch });
          feed.promise();
          comparing = false;
          answered = true;
          if (old === undefined || old === epoch) return;
          // Nothing to read again, but what an earlier page has built must go.
          if (cursorOf() === undefined) return world.restart();
          reset();
          // A server that names another one each time is asked at leisure.
          if (rebuilt) wait('hole', holeWait);
          else resume();
          rebuilt = true;
          return;
        }
        case 'run.unknown':
          // The run is started again: what answers is the execution to read.
          epoch = undefined;
          return;
        case 'run.truncated': {
          const { from } = control;
          if (Number(cursorOf() ?? -1) >= from - 1) return;
          const text = `The server keeps run ${id} only from offset ${from} on.`;
          world.hole(new RunSocketError('log-truncated', text));
          feed.skipTo((from - 1) as Offset);
          return watchHole(true);
        }
        case 'run.end':
          if (!isMissing(control)) return onEnd(control.status);
          if (told && asked && answered) return endWithout(control);
          told = control;
          waiting = true;
          return wait('hole', holeWait, true);
      }
    },
    timer() {
      if (!asked) askAgain();
      else if (doubted !== cursorOf()) {
        doubted = cursorOf();
        world.swap();
      } else if (feed.held) acceptHole();
      else if (told) endWithout(told);
    },
    close() {
      asked = waiting = rebuilt = false;
      feed.drop();
      wait('hole');
    },
    reset,
  };
}
