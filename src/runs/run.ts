import { equalJson } from '../internal/equal-json.ts';
import { RunSocketError, type RunSocketErrorCode } from '../internal/errors.ts';
import { createFeed, type End, holdLimit, type RunPosition } from './feed.ts';
import type { RunControl } from './protocol.ts';
import type { RunEventStatus, RunPolicy, RunSnapshot } from './types.ts';

/**
 * The waits of a run. `patience`: for a first sign of a start, of a remembered or of a cancelled run;
 * `silence`: for any event; both count time on open connections. `hole`: for missing events.
 * `after`: for a run that goes on behind a terminal event. `stop`: for a run to stop when it is told to.
 */
export type RunTimer = 'patience' | 'silence' | 'hole' | 'after' | 'stop';

/** The times and promises that a run depends on. */
export interface RunRules<E> {
  readonly restart: boolean;
  readonly overlap: boolean;
  readonly startTimeout: number;
  readonly orphanTimeout: number;
  readonly silenceTimeout: number | undefined;
  /** The server says itself when a log ends, so that its events need not tell. */
  readonly ends: boolean;
  readonly status: (
    event: E,
    runId: string,
    startedId: string | undefined,
  ) => RunEventStatus | undefined;
  /** Makes what turns the events of a log, read from its start, into those that are given out. */
  readonly translate: ((runId: string) => (event: E) => readonly E[]) | undefined;
}

/** What a run asks of the world. */
export interface RunWorld<E, Offset> {
  send(message: 'run' | 'cancel'): void;
  resume(after: Offset | undefined): void;
  /** Replaces the socket: what it still brings belongs to another execution. */
  swap(): void;
  event(event: E, offset: Offset | undefined): void;
  /** The run is read from its start again. */
  restart(): void;
  /** Events are missing for good. */
  hole(error: RunSocketError): void;
  /** The policy has stopped the run. */
  aborted(): void;
  /** Starts or (no `ms`) calls off a wait; `keep` leaves one that is under way alone. */
  wait(name: RunTimer, ms?: number, keep?: boolean): void;
  /** Writes down what has become known of the run. */
  note(change: { acked?: true; cancel?: true; epoch?: string }): void;
  /** The run is over and need not be remembered. */
  forget(): void;
}

/** What a run is made of. */
export interface RunStart<E, Offset> {
  readonly id: string;
  readonly policy: RunPolicy;
  /** Its `run` message can be made here. */
  readonly startable: boolean;
  /** Its `run` message has left, maybe from another page. */
  readonly sent?: boolean;
  /** The server has confirmed it. */
  readonly confirmed?: boolean;
  readonly cancelling?: boolean;
  readonly epoch?: string | undefined;
  readonly position?: RunPosition<E, Offset> | undefined;
}

/** One run's state machine: each function is something that happens to the run. */
export interface RunMachine<E, Offset> {
  readonly phase: 'unsent' | 'sent' | 'over';
  /** Events are expected. */
  readonly live: boolean;
  readonly confirmed: boolean;
  readonly cancelling: boolean;
  readonly epoch: string | undefined;
  /** The first offset that the server had not written when the run was last resumed. */
  readonly next: number | undefined;
  /** The run's own events told its end. */
  readonly ended: boolean;
  readonly error: RunSocketError | undefined;
  readonly position: RunPosition<E, Offset>;
  snapshot(): RunSnapshot<Offset & (number | string)>;
  /** A socket is open; `idle`: in place of one that this side gave up. */
  open(idle: boolean): void;
  /** Its `run` message was handed to the socket. */
  sent(): void;
  receive(offset: Offset | undefined, events: readonly E[]): void;
  control(control: RunControl): void;
  /** The socket is gone; `final`: and none will follow by itself; `swapped`: this side replaces it. */
  close(final: boolean, error: RunSocketError, swapped: boolean): void;
  cancel(): void;
  /** Reads the log from its start again, on another connection than one that may bring the rest of it. */
  rewind(): void;
  fail(error: RunSocketError): void;
  timer(name: RunTimer): void;
}

const holeWait = 250;
// How long what fills a hole may take once it was asked for, if no repetition proves before that nothing does.
const holePatience = 5000;
const afterWait = 1000;
// A run that still talks this long after its cancel may talk on a connection that is dead the other way.
const stopWait = 5000;

/** Make one run's state machine: no timer, no socket, no clock in it. */
export function createRunMachine<E, Offset extends number | string>(
  start: RunStart<E, Offset>,
  rules: RunRules<E>,
  world: RunWorld<E, Offset>,
): RunMachine<E, Offset> {
  const { id, startable } = start;
  const { wait } = world;
  let { confirmed = false, cancelling = false, epoch } = start;
  let phase: RunMachine<E, Offset>['phase'] = start.sent ? 'sent' : 'unsent';
  let end: End | undefined;
  /** A final close stands in the way, until somebody asks for the connection again. */
  let suspended = false;
  let error: RunSocketError | undefined;
  /** Something of the run came in this page. */
  let heard = false;
  let connected = false;
  let next: number | undefined;
  /** The next event answers an overlapping resume. */
  let comparing = false;
  /** A hole is waited for, and was asked for again. */
  let waiting = false;
  let asked = false;
  /** The server has begun to answer; one that does not say so has with the next event. */
  let answered = false;
  /** Where a hole was that nobody answered for on the last connection, which may be dead. */
  let doubted: Offset | null | undefined = null;
  /** Events came behind the cancel. */
  let unheeded = false;
  /** The lowest place that was held when the hole was asked for. */
  let lowest: Offset | undefined;
  let startedId: string | undefined;
  let terminal = start.position?.ended;
  /** The end that the server told, while events before it are missing. */
  let told: Extract<RunControl, { type: 'run.end' }> | undefined;
  let feed = createFeed(give, start.position);
  let translate: ReturnType<NonNullable<typeof rules.translate>> | undefined;
  if (epoch !== undefined) feed.promise();

  const isLive = () => phase !== 'over' && !end;
  const cursorOf = () => feed.position.offset;

  function give(raw: readonly E[], offset: Offset | undefined) {
    for (const event of rules.translate ? raw.flatMap(translated) : raw) {
      world.event(event, offset);
      const status = rules.status(event, id, startedId);
      if (!status) continue;
      const { runId } = event as { readonly runId?: unknown };
      if (status === 'started') {
        terminal = undefined;
        startedId = typeof runId === 'string' ? runId : id;
        wait('after');
      } else {
        terminal = status;
        if (!rules.ends) wait('after', afterWait);
      }
    }
  }

  function translated(event: E): readonly E[] {
    try {
      translate ??= rules.translate?.(id);
      return translate!(event);
    } catch (cause) {
      world.hole(new RunSocketError('bad-message', `An event of run ${id} is unusable.`, cause));
      return [];
    }
  }

  function resume() {
    const { offset, previous, last } = feed.position;
    comparing = rules.overlap && !!last && previous !== undefined;
    world.resume(comparing ? previous : offset);
  }

  // As if nothing of the log had been read.
  function reset() {
    feed = createFeed(give);
    if (epoch !== undefined) feed.promise();
    asked = comparing = false;
    terminal = told = startedId = translate = undefined;
    wait('after');
    wait('hole');
    world.restart();
  }

  function finish(how: End, why?: RunSocketError | false) {
    if (phase === 'over') return;
    phase = 'over';
    const cancelled = cancelling && how !== 'finished';
    end = cancelled ? 'cancelled' : how;
    error = (!cancelled && why) || undefined;
    feed.drop();
    world.forget();
  }

  function fail(code: RunSocketErrorCode, text: string) {
    finish('failed', new RunSocketError(code, `Run ${id} ${text}.`));
  }

  function revive() {
    phase = 'sent';
    suspended = false;
    end = error = undefined;
  }

  /** A run that was given up comes back with a late event. */
  const isOut = () =>
    phase === 'unsent' || (end && !suspended && !/^(start-un|run-unr)/.test(error?.code ?? ''));

  function hear() {
    if (!confirmed) world.note({ acked: true });
    confirmed = heard = true;
    wait('patience', cancelling ? rules.orphanTimeout : undefined);
  }

  function watchSilence(keep?: boolean) {
    if (rules.silenceTimeout !== undefined) wait('silence', rules.silenceTimeout, keep);
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
    if (told && !isMissing(told)) return finishAsTold(told);
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

  function finishAsTold({ status }: { readonly status: string }) {
    if (status === 'lost') fail('run-lost', 'was lost by the server');
    else {
      finish(terminal ?? (status === 'finished' || status === 'cancelled' ? status : 'failed'));
    }
  }

  // The server has no more than this. Some tell the number of events where the last offset belongs.
  function finishWithout(control: Extract<RunControl, { type: 'run.end' }>) {
    if (isMissing(control, 1)) loseEvents();
    while (feed.held) feed.accept();
    finishAsTold(control);
  }

  function onUnknown(reason: string) {
    const never = reason === 'never';
    if (terminal || cancelling) finish(terminal ?? 'cancelled');
    else if (never && startable && (!confirmed || rules.restart)) {
      epoch = undefined;
      if (confirmed) reset();
      world.send('run');
    } else if (reason === 'forbidden') fail('run-forbidden', 'is closed to these credentials');
    else if (never && confirmed) fail('run-lost', 'was lost by the server');
    else fail('run-unknown', 'is not known to the server');
  }

  return {
    get phase() {
      return phase;
    },
    get live() {
      return isLive();
    },
    get confirmed() {
      return confirmed;
    },
    get cancelling() {
      return cancelling;
    },
    get epoch() {
      return epoch;
    },
    get next() {
      return next;
    },
    get ended() {
      return terminal !== undefined;
    },
    get error() {
      return error;
    },
    get position() {
      return { ...feed.position, ended: terminal, epoch };
    },
    snapshot() {
      const cursor = cursorOf();
      return {
        id,
        status: end ?? (phase === 'unsent' ? 'queued' : confirmed ? 'streaming' : 'starting'),
        ...(cursor !== undefined && { offset: cursor }),
        ...(next !== undefined && { caughtUp: Number(cursor ?? -1) + 1 >= next }),
        ...(error && { error }),
      };
    },
    open(idle) {
      connected = true;
      if (suspended) end = error = undefined;
      suspended = false;
      if (phase !== 'sent') return;
      if (!confirmed && rules.restart && startable && !cancelling) {
        world.send('run');
        wait('patience', rules.startTimeout, true);
        return;
      }
      resume();
      // What follows a terminal event may have been on its way when the socket went.
      if (terminal) wait('after', afterWait);
      if (cancelling) wait('patience', rules.orphanTimeout, true);
      else if (heard) watchSilence(true);
      else if (!idle) wait('patience', confirmed ? rules.orphanTimeout : rules.startTimeout, true);
    },
    sent() {
      phase = 'sent';
      connected = true;
    },
    receive(offset, events) {
      if (isOut()) return;
      if (end) revive();
      if (!heard || !confirmed || cancelling) hear();
      const { offset: cursor, last } = feed.position;
      // What is known already is no sign that the run goes on.
      watchSilence(Number(offset) <= Number(cursor));
      if (cancelling && !unheeded) wait('stop', stopWait);
      unheeded = cancelling;
      // Another follower may have asked for more than this one needs.
      if (comparing && offset !== undefined && !(Number(offset) < Number(cursor))) {
        comparing = false;
        // Another execution answers: nothing of the first one may stay.
        if (offset !== cursor || !equalJson(events, last)) {
          reset();
          world.swap();
          return;
        }
      }
      if (feed.receive(offset, events) && asked && answered && offset === lowest) acceptHole();
      else if (feed.held || waiting || told) watchHole(cursorOf() !== cursor);
    },
    control(control) {
      if (isOut()) return;
      switch (control.type) {
        case 'run.accepted': {
          const old = epoch;
          epoch = control.epoch ?? '';
          if (end) revive();
          hear();
          if (old !== epoch) world.note({ epoch });
          feed.promise();
          comparing = false;
          answered = true;
          next = Number.isSafeInteger(control.next) ? control.next : undefined;
          if (old === undefined || old === epoch) return;
          // Nothing to read again, but what an earlier page has built must go.
          if (cursorOf() === undefined) return world.restart();
          reset();
          resume();
          return;
        }
        case 'run.unknown':
          return onUnknown(control.reason);
        case 'run.truncated': {
          const { from } = control;
          if (Number(cursorOf() ?? -1) >= from - 1) return;
          const text = `The server keeps run ${id} only from offset ${from} on.`;
          world.hole(new RunSocketError('log-truncated', text));
          feed.skipTo((from - 1) as Offset);
          return watchHole(true);
        }
        case 'run.end':
          if (!isMissing(control)) return finishAsTold(control);
          if (told && asked && answered) return finishWithout(control);
          told = control;
          waiting = true;
          return wait('hole', holeWait, true);
      }
    },
    close(final, why, swapped) {
      connected = comparing = asked = waiting = false;
      // The next connection brings them again, behind what is missing.
      feed.drop();
      if (!isLive()) return;
      wait('hole');
      wait('after');
      wait('stop');
      if (start.policy === 'cancel' && phase === 'sent' && !cancelling && !swapped) {
        cancelling = true;
        world.note({ cancel: true });
        world.aborted();
      }
      if (final && terminal) finish(terminal);
      else if (final) {
        suspended = true;
        end = 'failed';
        error = why.code === 'closed' ? why : new RunSocketError('closed', why.message, why);
      }
    },
    cancel() {
      if (phase === 'over') return;
      // The server never heard of one that was not sent.
      if (phase === 'unsent') return finish('cancelled');
      cancelling = true;
      world.note({ cancel: true });
      if (!connected) return;
      world.send('cancel');
      wait('patience', rules.orphanTimeout);
    },
    rewind() {
      reset();
      if (connected) world.swap();
    },
    fail: (why) => finish('failed', why),
    timer(name) {
      if (!isLive()) return;
      if (name === 'silence') fail('run-lost', 'went silent');
      else if (name === 'stop') world.swap();
      else if (name === 'after') terminal && finish(terminal);
      else if (name === 'patience') {
        if (cancelling) finish('cancelled');
        else if (confirmed) fail('run-unreachable', 'gets no answer from the server');
        else if (rules.restart && startable) {
          world.send('run');
          wait('patience', rules.startTimeout);
        } else fail('start-unknown', 'was never confirmed to have started');
      } else if (!asked) askAgain();
      else if (doubted !== cursorOf()) {
        doubted = cursorOf();
        world.swap();
      } else if (feed.held) acceptHole();
      else if (told) finishWithout(told);
    },
  };
}
