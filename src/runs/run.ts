import { RunSocketError, type RunSocketErrorCode } from '../internal/errors.ts';
import {
  acceptHole,
  createFeed,
  type Feed,
  holdLimit,
  type Received,
  receive,
  skipTo,
} from './feed.ts';
import { equalJson, type RunControl } from './protocol.ts';
import type { RunEventStatus, RunPolicy, RunSnapshot } from './types.ts';

type End = 'finished' | 'cancelled' | 'failed';

/** Everything that is known of one run. */
export interface RunState<E, Offset extends number | string> {
  readonly id: string;
  readonly policy: RunPolicy;
  /** Its `run` message can be made here. */
  readonly startable: boolean;
  readonly phase: 'unsent' | 'sent' | 'over';
  /** The server has the run: it said so, or an event came. */
  readonly confirmed: boolean;
  /** Something of the run came in this page. */
  readonly heard: boolean;
  readonly cancelling: boolean;
  readonly connected: boolean;
  readonly feed: Feed<E, Offset>;
  readonly epoch?: string | undefined;
  /** The first offset that the server had not written when the run was last resumed. */
  readonly next?: number | undefined;
  /** The next event answers an overlapping resume. */
  readonly comparing: boolean;
  /** The cursor at which a hole was asked for again. */
  readonly askedAt?: Offset | undefined;
  /** The id in the last `started` event. */
  readonly startedId?: string | undefined;
  /** The end that the run's own events tell. */
  readonly terminal?: End | undefined;
  /** The end that the server told, while events before it are missing. */
  readonly told?: Extract<RunControl, { type: 'run.end' }> | undefined;
  readonly end?: End | undefined;
  readonly error?: RunSocketError | undefined;
}

/** The times and promises that a run's transitions depend on. */
export interface RunRules<E> {
  readonly restart: boolean;
  readonly overlap: boolean;
  readonly startTimeout: number;
  readonly orphanTimeout: number;
  readonly silenceTimeout: number;
  /** The server says itself when a log ends, so that its events need not tell. */
  readonly ends: boolean;
  readonly status: (
    event: E,
    runId: string,
    startedId: string | undefined,
  ) => RunEventStatus | undefined;
}

/** What can happen to a run. */
export type RunInput<E, Offset extends number | string> =
  /** A socket is open; `idle`: in place of one that this side gave up. */
  | { readonly type: 'open'; readonly idle: boolean }
  /** Its `run` message was handed to the socket. */
  | { readonly type: 'sent' }
  | { readonly type: 'event'; readonly offset: Offset | undefined; readonly events: readonly E[] }
  | { readonly type: 'control'; readonly control: RunControl }
  /** The socket is gone; `final`: and none will follow by itself. */
  | { readonly type: 'close'; readonly final: boolean; readonly error: RunSocketError }
  | { readonly type: 'cancel' }
  | { readonly type: 'fail'; readonly error: RunSocketError }
  | { readonly type: 'timer'; readonly name: RunTimer };

/**
 * The waits of a run. `patience`: for a first sign of a start, of a remembered or of a cancelled run;
 * `silence`: for any event; both count time on open connections. `hole`: for missing events.
 * `after`: for a run that goes on behind a terminal event.
 */
export type RunTimer = 'patience' | 'silence' | 'hole' | 'after';

/** Starts or (undefined) calls off a wait; `keep` leaves one that is under way alone. */
export interface WaitEffect {
  readonly type: 'wait';
  readonly name: RunTimer;
  readonly ms: number | undefined;
  readonly keep?: boolean;
}

/** What a transition asks of the world. */
export type RunEffect<E, Offset> =
  | { readonly type: 'send'; readonly message: 'run' | 'cancel' }
  | { readonly type: 'resume'; readonly after: Offset | undefined }
  | { readonly type: 'event'; readonly event: E; readonly offset: Offset | undefined }
  | { readonly type: 'restart' }
  /** Replaces the socket: what it still brings belongs to another execution. */
  | { readonly type: 'swap' }
  /** Events are missing for good. */
  | { readonly type: 'hole'; readonly error: RunSocketError }
  /** The policy has stopped the run. */
  | { readonly type: 'aborted' }
  | WaitEffect
  | { readonly type: 'remember'; readonly change: { acked?: true; cancel?: true; epoch?: string } }
  | { readonly type: 'forget' };

type Step<E, Offset extends number | string> = [RunState<E, Offset>, RunEffect<E, Offset>[]];

const holeWait = 250;
const afterWait = 1000;
// A hole that was asked for again is given up after this, if no repetition proves it before.
const holePatience = 5000;

/** A run before anything happened to it. */
export function createRunState<E, Offset extends number | string>(
  given: Pick<RunState<E, Offset>, 'id' | 'policy' | 'startable' | 'phase'> &
    Partial<RunState<E, Offset>>,
): RunState<E, Offset> {
  return {
    confirmed: false,
    heard: false,
    cancelling: false,
    connected: false,
    comparing: false,
    feed: createFeed<E, Offset>(),
    ...given,
  };
}

/** What the world may see of a run. */
export function toSnapshot<E, Offset extends number | string>(
  run: RunState<E, Offset>,
): RunSnapshot<Offset> {
  const { end, phase, confirmed, feed, next, error } = run;
  const live = phase === 'unsent' ? 'queued' : confirmed ? 'streaming' : 'starting';
  return {
    id: run.id,
    status: end ?? live,
    ...(feed.cursor !== undefined && { offset: feed.cursor }),
    ...(next !== undefined && { caughtUp: !isBehind(run) }),
    ...(error && { error }),
  };
}

/** Whether the run has yet to read what was written before it was last resumed. */
export function isBehind<E, Offset extends number | string>(run: RunState<E, Offset>): boolean {
  return run.next !== undefined && Number(run.feed.cursor ?? -1) + 1 < run.next;
}

/** Whether events of the run are expected. */
export function isUnderWay<E, Offset extends number | string>(run: RunState<E, Offset>): boolean {
  return run.phase !== 'over' && !run.end;
}

/** Whether a late event, or a new connection, brings a run back that was given up. */
export function isRevivable<E, Offset extends number | string>(run: RunState<E, Offset>): boolean {
  return /^(start-unknown|run-unreachable|closed)$/.test(run.error?.code ?? '');
}

/** The state and the effects that follow when `input` happens to `run`. Pure: no timer, no socket, no clock. */
export function advance<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  input: RunInput<E, Offset>,
  rules: RunRules<E>,
): Step<E, Offset> {
  switch (input.type) {
    case 'open':
      return onOpen(run, input.idle, rules);
    case 'sent':
      return [{ ...run, phase: 'sent' }, []];
    case 'event':
      return onEvent(run, input, rules);
    case 'control':
      return onControl(run, input.control, rules);
    case 'close':
      return onClose(run, input);
    case 'cancel':
      return onCancel(run, rules);
    case 'fail':
      return finish(run, 'failed', input.error);
    case 'timer':
      return onTimer(run, input.name, rules);
  }
}

function onOpen<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  idle: boolean,
  rules: RunRules<E>,
): Step<E, Offset> {
  // A final close leaves a run waiting for a connection that somebody asks for again.
  const woken = run.error?.code === 'closed' ? { ...run, end: undefined, error: undefined } : run;
  const state = { ...woken, connected: true };
  if (state.phase !== 'sent' || state.end) return [state, []];
  const { confirmed, heard, cancelling, startable } = state;
  if (!confirmed && rules.restart && startable && !cancelling) {
    return [state, [{ type: 'send', message: 'run' }]];
  }
  const effects: RunEffect<E, Offset>[] = [];
  const resumed = resume(state, rules, effects);
  if (cancelling) effects.push(patience(rules.orphanTimeout));
  else if (!heard && !idle) {
    effects.push({ ...patience(confirmed ? rules.orphanTimeout : rules.startTimeout), keep: true });
  }
  if (heard) effects.push(...waitForSilence(rules));
  return [resumed, effects];
}

function resume<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  rules: RunRules<E>,
  effects: RunEffect<E, Offset>[],
): RunState<E, Offset> {
  const { cursor, previous, last } = run.feed;
  const comparing = rules.overlap && last !== undefined && previous !== undefined;
  effects.push({ type: 'resume', after: comparing ? previous : cursor });
  return { ...run, comparing };
}

function onEvent<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  input: { readonly offset: Offset | undefined; readonly events: readonly E[] },
  rules: RunRules<E>,
): Step<E, Offset> {
  const effects: RunEffect<E, Offset>[] = [];
  let state = run;
  if (run.phase === 'unsent' || (run.end && !isRevivable(run))) return [run, effects];
  if (run.end) state = { ...state, phase: 'sent', end: undefined, error: undefined };
  if (!state.heard || !state.confirmed) {
    if (!state.confirmed) effects.push({ type: 'remember', change: { acked: true } });
    state = { ...state, heard: true, confirmed: true };
    effects.push({ type: 'wait', name: 'patience', ms: undefined });
  }
  if (state.cancelling) effects.push(patience(rules.orphanTimeout));
  effects.push(...waitForSilence(rules));
  if (state.comparing && input.offset !== undefined) {
    const { cursor, last } = state.feed;
    state = { ...state, comparing: false };
    // Another execution answers: nothing of the first one may stay.
    if (input.offset !== cursor || !equalJson(input.events, last)) {
      effects.push({ type: 'restart' }, { type: 'swap' });
      return [reset(state), effects];
    }
  }
  const received = receive(state.feed, input);
  if (received.again && state.askedAt !== undefined) {
    return give(state, acceptHole(state.feed, state.epoch !== undefined), effects, rules, true);
  }
  return give(state, received, effects, rules);
}

// Hands out what a feed has ready, and looks at what is left behind a hole.
function give<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  received: Received<E, Offset>,
  effects: RunEffect<E, Offset>[],
  rules: RunRules<E>,
  holed = false,
): Step<E, Offset> {
  const { feed, ready } = received;
  let state = feed === run.feed ? run : { ...run, feed };
  if (holed) effects.push({ type: 'hole', error: lostEvents(state.id) });
  for (const { events, offset } of ready) {
    for (const event of events) {
      effects.push({ type: 'event', event, offset });
      state = readStatus(state, event, effects, rules);
    }
  }
  if (ready.length && (state.askedAt !== undefined || run.feed.held.length) && !feed.held.length) {
    state = { ...state, askedAt: undefined };
    effects.push({ type: 'wait', name: 'hole', ms: undefined });
  }
  if (state.told && !isMissing(state, state.told)) return finishAsTold(state, state.told, effects);
  if (!feed.held.length) return [state, effects];
  if (state.askedAt === undefined) {
    if (feed.held.length < holdLimit) {
      effects.push({ type: 'wait', name: 'hole', ms: holeWait, keep: true });
      return [state, effects];
    }
    return [askAgain(state, effects), effects];
  }
  // Behind one hole that was accepted there is another one.
  if (ready.length) {
    state = { ...state, askedAt: undefined };
    effects.push({ type: 'wait', name: 'hole', ms: holeWait });
  } else if (feed.held.length > holdLimit) {
    return give(state, acceptHole(feed, state.epoch !== undefined), effects, rules, true);
  }
  return [state, effects];
}

function readStatus<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  event: E,
  effects: RunEffect<E, Offset>[],
  rules: RunRules<E>,
): RunState<E, Offset> {
  const status = rules.status(event, run.id, run.startedId);
  if (!status) return run;
  if (status === 'started') {
    const { runId } = event as { readonly runId?: unknown };
    effects.push({ type: 'wait', name: 'after', ms: undefined });
    return { ...run, terminal: undefined, startedId: typeof runId === 'string' ? runId : run.id };
  }
  if (!rules.ends) effects.push({ type: 'wait', name: 'after', ms: afterWait });
  return { ...run, terminal: status };
}

function askAgain<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  effects: RunEffect<E, Offset>[],
): RunState<E, Offset> {
  effects.push({ type: 'resume', after: run.feed.cursor });
  effects.push({ type: 'wait', name: 'hole', ms: holePatience });
  return { ...run, askedAt: run.feed.cursor ?? (-1 as Offset) };
}

// As if nothing of the log had been read.
function reset<E, Offset extends number | string>(run: RunState<E, Offset>): RunState<E, Offset> {
  return {
    ...run,
    feed: createFeed<E, Offset>(undefined, run.epoch !== undefined),
    askedAt: undefined,
    comparing: false,
    terminal: undefined,
    told: undefined,
    startedId: undefined,
  };
}

function onControl<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  control: RunControl,
  rules: RunRules<E>,
): Step<E, Offset> {
  const effects: RunEffect<E, Offset>[] = [];
  if (run.phase === 'unsent' || (run.end && !isRevivable(run))) return [run, effects];
  switch (control.type) {
    case 'run.accepted': {
      const { epoch = '', next } = control;
      const moved = run.epoch !== undefined && run.epoch !== epoch;
      if (!run.confirmed || run.epoch !== epoch) {
        effects.push({ type: 'remember', change: { acked: true, epoch } });
      }
      effects.push({ type: 'wait', name: 'patience', ms: undefined });
      if (run.cancelling) effects.push(patience(rules.orphanTimeout));
      const state: RunState<E, Offset> = {
        ...run,
        phase: 'sent',
        end: undefined,
        error: undefined,
        confirmed: true,
        heard: true,
        epoch,
        next: Number.isSafeInteger(next) ? next : undefined,
        comparing: false,
        feed: { ...run.feed, dense: true, sparse: false },
      };
      if (!moved || run.feed.cursor === undefined) return [state, effects];
      effects.push({ type: 'restart' });
      return [resume(reset(state), rules, effects), effects];
    }
    case 'run.unknown':
      return onUnknown(run, control.reason, rules);
    case 'run.truncated': {
      const before = control.from - 1;
      if (Number(run.feed.cursor ?? -1) >= before) return [run, effects];
      effects.push({
        type: 'hole',
        error: new RunSocketError(
          'log-truncated',
          `The server keeps run ${run.id} only from offset ${control.from} on.`,
        ),
      });
      return give(run, skipTo(run.feed, before as Offset), effects, rules);
    }
    case 'run.end': {
      const again = run.told !== undefined;
      const state = { ...run, told: control };
      if (!again && isMissing(run, control)) {
        effects.push({ type: 'wait', name: 'hole', ms: holeWait, keep: true });
        return [state, effects];
      }
      if (isMissing(run, control)) effects.push({ type: 'hole', error: lostEvents(run.id) });
      return finishAsTold(state, control, effects);
    }
  }
}

function onUnknown<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  reason: string,
  rules: RunRules<E>,
): Step<E, Offset> {
  if (run.terminal) return finish(run, run.terminal);
  if (run.cancelling) return finish(run, 'cancelled');
  if (reason === 'never' && run.startable && (!run.confirmed || rules.restart)) {
    const effects: RunEffect<E, Offset>[] = [];
    if (run.confirmed) effects.push({ type: 'restart' });
    effects.push({ type: 'send', message: 'run' });
    return [reset({ ...run, epoch: undefined }), effects];
  }
  const [code, text]: [RunSocketErrorCode, string] =
    reason === 'forbidden'
      ? ['run-forbidden', 'may not be read with these credentials']
      : reason === 'never' && run.confirmed
        ? ['run-lost', 'was lost by the server']
        : ['run-unknown', 'is not known to the server'];
  return finish(run, 'failed', new RunSocketError(code, `Run ${run.id} ${text}.`));
}

function onClose<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  input: { readonly final: boolean; readonly error: RunSocketError },
): Step<E, Offset> {
  const effects: RunEffect<E, Offset>[] = [];
  const { feed } = run;
  let state: RunState<E, Offset> = {
    ...run,
    connected: false,
    comparing: false,
    askedAt: undefined,
    // The next connection brings them again, behind what is missing.
    feed: feed.held.length ? { ...feed, held: [] } : feed,
  };
  if (!isUnderWay(run)) return [state, effects];
  effects.push({ type: 'wait', name: 'hole', ms: undefined });
  if (run.policy === 'cancel' && run.phase === 'sent' && !run.cancelling) {
    effects.push({ type: 'aborted' }, { type: 'remember', change: { cancel: true } });
    state = { ...state, cancelling: true };
  }
  if (input.final) state = { ...state, end: 'failed', error: input.error };
  return [state, effects];
}

function onCancel<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  rules: RunRules<E>,
): Step<E, Offset> {
  if (run.phase === 'over') return [run, []];
  // The server never heard of it.
  if (run.phase === 'unsent') return finish(run, 'cancelled');
  const effects: RunEffect<E, Offset>[] = [{ type: 'remember', change: { cancel: true } }];
  if (run.connected) {
    effects.push({ type: 'send', message: 'cancel' }, patience(rules.orphanTimeout));
  }
  return [{ ...run, cancelling: true }, effects];
}

function onTimer<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  name: RunTimer,
  rules: RunRules<E>,
): Step<E, Offset> {
  if (!isUnderWay(run)) return [run, []];
  const { id, confirmed, cancelling, terminal } = run;
  switch (name) {
    case 'after':
      return terminal ? finish(run, terminal) : [run, []];
    case 'silence':
      return finish(run, 'failed', new RunSocketError('run-lost', `Run ${id} went silent.`));
    case 'patience':
      if (cancelling) return finish(run, 'cancelled');
      return finish(
        run,
        'failed',
        confirmed
          ? new RunSocketError('run-unreachable', `The server does not answer about run ${id}.`)
          : new RunSocketError(
              'start-unknown',
              `The server never confirmed the start of run ${id}.`,
            ),
      );
    case 'hole': {
      const effects: RunEffect<E, Offset>[] = [];
      if (run.askedAt === undefined) return [askAgain(run, effects), effects];
      if (run.feed.held.length) {
        return give(run, acceptHole(run.feed, run.epoch !== undefined), effects, rules, true);
      }
      if (!run.told) return [run, effects];
      effects.push({ type: 'hole', error: lostEvents(id) });
      return finishAsTold(run, run.told, effects);
    }
  }
}

function finish<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  end: End,
  error?: RunSocketError,
  effects: RunEffect<E, Offset>[] = [],
): Step<E, Offset> {
  if (run.phase === 'over') return [run, effects];
  effects.push({ type: 'forget' });
  const cancelled = run.cancelling && end !== 'finished';
  return [
    {
      ...run,
      phase: 'over',
      end: cancelled ? 'cancelled' : end,
      error: cancelled ? undefined : error,
      feed: { ...run.feed, held: [] },
    },
    effects,
  ];
}

function finishAsTold<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  { status }: { readonly status: string },
  effects: RunEffect<E, Offset>[],
): Step<E, Offset> {
  if (status === 'lost') {
    return finish(
      run,
      'failed',
      new RunSocketError('run-lost', `The server lost run ${run.id}.`),
      effects,
    );
  }
  const told = status === 'finished' || status === 'cancelled' ? status : 'failed';
  return finish(run, run.terminal ?? told, undefined, effects);
}

// The last event's offset and the number of events are both found as the `offset` of an end.
function isMissing<E, Offset extends number | string>(
  run: RunState<E, Offset>,
  end: { readonly offset?: number },
): boolean {
  return run.feed.held.length > 0 || Number(run.feed.cursor ?? -1) < (end.offset ?? 0) - 1;
}

function lostEvents(id: string): RunSocketError {
  return new RunSocketError('run-lost', `Events of run ${id} are missing.`);
}

function patience(ms: number): WaitEffect {
  return { type: 'wait', name: 'patience', ms };
}

function waitForSilence({ silenceTimeout: ms }: { silenceTimeout: number }): WaitEffect[] {
  return ms < Number.POSITIVE_INFINITY ? [{ type: 'wait', name: 'silence', ms }] : [];
}
