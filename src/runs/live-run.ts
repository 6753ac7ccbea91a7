import type { Wire } from '../client/wire.ts';
import { type AsyncQueue, createAsyncQueue } from '../internal/async-queue.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createListeners } from '../internal/observable.ts';
import { defaultMessages } from './protocol.ts';
import {
  advance,
  isUnderWay,
  type RunEffect,
  type RunInput,
  type RunRules,
  type RunState,
  type RunTimer,
  toSnapshot,
} from './run.ts';
import { type RunLock, requestRunLock } from './run-lock.ts';
import type { RunRecord, RunStore } from './run-storage.ts';
import type { Session, SessionRun } from './session.ts';
import type { Run, RunSnapshot, RunsOptions } from './types.ts';

/** What the layer above does with the runs; all of it optional. */
export interface RunHooks<E, Offset extends number | string> {
  /** An event that is next; `replay`: many come at once, out of the log or in one frame. */
  event?(runId: string, event: E, replay: boolean): void;
  /** The run is replayed from its start. */
  restart?(runId: string): void;
  /** Events are missing for good. */
  hole?(runId: string, error: RunSocketError): void;
  /** The policy has stopped the run. */
  aborted?(runId: string): void;
  /** A connection is there again, or a run that was given up came back. */
  revived?(runId: string): void;
  end?(runId: string, snapshot: RunSnapshot<Offset>): void;
  /** A socket is open and the run was asked for. */
  opened?(runId: string): void;
  /** What is remembered of a run besides its own state. */
  describe?(runId: string): Pick<RunRecord, 'threadId' | 'base' | 'input'>;
  /** The page is left; what is written now may be all that stays. */
  hide?(): void;
  /** A failure in the background. */
  error?(error: RunSocketError): void;
}

/** What all runs of one `createRuns` share. */
export interface RunContext<Input, E, Offset extends number | string> {
  readonly wire: Wire;
  readonly session: Session;
  readonly store: RunStore;
  readonly options: RunsOptions<Input, E, never, unknown, Offset>;
  readonly rules: RunRules<E>;
  readonly idleTimeout: number;
  readonly hooks: RunHooks<E, Offset>;
  /** The message that is being read came with others in one frame. */
  batched: boolean;
  /** Replaces the socket. */
  reconnect(): void;
  /** The run is another than it was. */
  changed(run: LiveRun<E, Offset>): void;
}

/** A run together with its place in the world: sockets, timers, storage, listeners. */
export interface LiveRun<E, Offset extends number | string> extends SessionRun {
  readonly run: Run<E, Offset>;
  /** Holds the connection. */
  readonly attached: boolean;
  readonly state: RunState<E, Offset>;
  receive(offset: Offset | undefined, events: readonly E[]): void;
  /** Write down that the run is under way. */
  remember(): void;
  dispatch(input: RunInput<E, Offset>): void;
  /** Hold the connection, own the run, and take it up where a socket is open. */
  attach(): void;
  /** Let go of everything but what is known of the run; nothing is cancelled. */
  detach(): void;
  page(type: 'hide' | 'show'): void;
}

interface Wait {
  left: number;
  since: number;
  stop(): void;
}

const writeWait = 250;
const replayGap = 50;

/** Make a run live. `makeInput` gives what its `run` message carries, when it has to be sent. */
export function createLiveRun<Input, E, Offset extends number | string>(
  context: RunContext<Input, E, Offset>,
  initial: RunState<E, Offset>,
  order: number,
  first: {
    readonly makeInput?: (() => Input) | undefined;
    readonly message?: unknown;
    readonly data?: ReturnType<Wire['encode']>;
    /** Cancel the run once this page owns it: its policy said so, and its page is gone. */
    readonly cancelWhenOwned?: boolean | undefined;
  },
): LiveRun<E, Offset> {
  const { wire, session, store, options, rules, hooks } = context;
  const { environment: env } = wire;
  const { id } = initial;
  let state = initial;
  let { message, data } = first;
  let snapshot: RunSnapshot<Offset> | undefined;
  let release: ((now?: boolean) => void) | undefined;
  let lock: RunLock | undefined;
  let writing = false;
  let settled = false;
  let catchingUp = false;
  let lastAt: number | undefined;
  const waits = new Map<RunTimer, Wait>();
  const queues = new Set<AsyncQueue<E>>();
  const listeners = {
    event: createListeners<E>(env.report),
    restart: createListeners<RunSnapshot<Offset>>(env.report),
    end: createListeners<RunSnapshot<Offset>>(env.report),
  };
  let resolveDone: (snapshot: RunSnapshot<Offset>) => void = () => {};
  const newDone = () =>
    new Promise<RunSnapshot<Offset>>((resolve) => {
      resolveDone = resolve;
    });
  let done = newDone();

  const getSnapshot = () => {
    snapshot ??= toSnapshot(state);
    return snapshot;
  };

  function dispatch(input: RunInput<E, Offset>) {
    const before = state;
    const [next, effects] = advance(state, input, rules);
    if (next !== before) {
      state = next;
      snapshot = undefined;
    }
    if (!isUnderWay(before) && isUnderWay(state)) revive(before.phase === 'over');
    for (const effect of effects) perform(effect);
    if (!settled && !isUnderWay(state)) settle();
    if (next === before) return;
    if (
      before.phase !== next.phase ||
      before.end !== next.end ||
      before.terminal !== next.terminal
    ) {
      session.refresh();
    }
    context.changed(live);
  }

  function perform(effect: RunEffect<E, Offset>) {
    switch (effect.type) {
      case 'event':
        return emit(effect.event, effect.offset);
      case 'wait':
        return wait(effect.name, effect.ms, effect.keep);
      case 'resume':
        return resume(effect.after);
      case 'send':
        return effect.message === 'run' ? resend() : sendCancel();
      case 'swap':
        return context.reconnect();
      case 'restart':
        hooks.restart?.(id);
        return listeners.restart.emit(getSnapshot());
      case 'hole':
        return hooks.hole?.(id, effect.error);
      case 'aborted':
        return hooks.aborted?.(id);
      case 'remember': {
        const { change } = effect;
        store.change(
          ({ runs, ...rest }) => ({
            ...rest,
            runs: runs.map((record) => {
              if (record.runId !== id) return record;
              const { input, ...plain } = record;
              return { ...(change.acked ? plain : record), ...change };
            }),
          }),
          id,
        );
        return;
      }
      case 'forget':
        return forget();
    }
  }

  function emit(event: E, offset: Offset | undefined) {
    let replay = false;
    if (catchingUp) {
      const now = env.now();
      // A server that does not say how far its log goes is caught up with when it pauses.
      replay =
        state.next !== undefined ? Number(offset) < state.next : now - (lastAt ?? now) <= replayGap;
      lastAt = now;
      catchingUp = replay;
    }
    hooks.event?.(id, event, replay || context.batched);
    for (const queue of queues) queue.push(event);
    if (listeners.event.size) listeners.event.emit(event);
  }

  function wait(name: RunTimer, ms: number | undefined, keep?: boolean) {
    const old = waits.get(name);
    if (old && keep) return;
    old?.stop();
    waits.delete(name);
    if (ms === undefined) return;
    const entry: Wait = { left: ms, since: 0, stop() {} };
    waits.set(name, entry);
    run(name, entry);
  }

  function run(name: RunTimer, entry: Wait) {
    entry.since = env.now();
    entry.stop = env.setTimer(() => {
      waits.delete(name);
      dispatch({ type: 'timer', name });
    }, entry.left);
  }

  // Patience is counted in time with an open connection.
  function pause() {
    for (const name of ['patience', 'silence'] as const) {
      const entry = waits.get(name);
      if (!entry) continue;
      entry.stop();
      entry.left = Math.max(0, entry.left - Math.max(0, env.now() - entry.since));
    }
  }

  function stopWaits() {
    for (const entry of waits.values()) entry.stop();
    waits.clear();
  }

  function attempt(make: () => unknown, owner?: string): boolean {
    let made: unknown;
    let frame: ReturnType<Wire['encode']>;
    try {
      made = make();
      if (made === undefined) return false;
      frame = wire.encode(made);
    } catch (error) {
      dispatch({
        type: 'fail',
        error: new RunSocketError(
          'invalid-argument',
          `A message of run ${id} could not be made.`,
          error,
        ),
      });
      return false;
    }
    return wire.transmit(frame, made, owner);
  }

  function resume(after: Offset | undefined) {
    catchingUp = true;
    lastAt = undefined;
    const make = options.resume ?? defaultMessages.resume;
    session.ask({
      runId: id,
      after,
      send() {
        wire.inspect({ type: 'resume', runId: id, after });
        attempt(() => make(id, after));
      },
    });
  }

  function sendCancel() {
    attempt(() => (options.cancel ?? defaultMessages.cancel)(id));
  }

  function resend() {
    if (data !== undefined) wire.transmit(data, message, id);
    else attempt(() => (options.run ?? defaultMessages.run)(first.makeInput?.() as Input, id), id);
  }

  function remember(): Promise<void> | undefined {
    const record: RunRecord = {
      threadId: '',
      ...(hooks.describe ? hooks.describe(id) : first.makeInput && { input: first.makeInput() }),
      runId: id,
      sentAt: env.now(),
      policy: initial.policy,
      acked: state.confirmed,
      ...(state.cancelling && { cancel: true }),
      ...(state.epoch !== undefined && { epoch: state.epoch }),
    };
    return store.change(
      ({ runs, ...rest }) => ({
        ...rest,
        runs: [...runs.filter((one) => one.runId !== id), record],
      }),
      id,
    );
  }

  function forget() {
    store.change(({ runs, ...rest }) => ({
      ...rest,
      runs: runs.filter((record) => record.runId !== id),
    }));
  }

  // Remembered first, sent second: a reload in between finds a run to ask for.
  function start() {
    if (state.phase !== 'unsent' || !session.open || writing || !release) return;
    const { maxMessage } = session;
    if (maxMessage !== undefined && data !== undefined && sizeOf(data) > maxMessage) {
      const text = `The start of run ${id} is larger than the server's limit of ${maxMessage} bytes.`;
      return dispatch({ type: 'fail', error: new RunSocketError('too-large', text) });
    }
    const written = remember();
    if (!written) return transmitStart();
    writing = true;
    const go = () => {
      if (!writing) return;
      writing = false;
      stop();
      transmitStart();
    };
    const stop = env.setTimer(go, writeWait);
    written.then(go);
  }

  function transmitStart() {
    if (state.phase !== 'unsent') return forget();
    if (!release || data === undefined || !wire.transmit(data, message, id)) return forget();
    dispatch({ type: 'sent' });
    live.announcePolicy();
  }

  function settle() {
    settled = true;
    const { error } = state;
    if (state.phase === 'over') {
      stopWaits();
      lock?.release();
      lock = undefined;
      release?.();
      release = undefined;
      data = undefined;
      message = undefined;
    } else pause();
    const last = getSnapshot();
    hooks.end?.(id, last);
    listeners.end.emit(last);
    endQueues(error);
    resolveDone(last);
  }

  function revive(over: boolean) {
    settled = false;
    done = newDone();
    if (over) {
      hold();
      remember();
    }
    hooks.revived?.(id);
  }

  function endQueues(error?: RunSocketError) {
    const ended = [...queues];
    queues.clear();
    for (const queue of ended) queue.end(error);
  }

  function hold() {
    release ??= wire.hold();
    if (lock) return;
    lock = requestRunLock(id, env, () => {
      if (!first.cancelWhenOwned || state.cancelling || !isUnderWay(state)) return;
      hooks.aborted?.(id);
      dispatch({ type: 'cancel' });
    });
  }

  const live: LiveRun<E, Offset> = {
    id,
    order,
    get attached() {
      return release !== undefined;
    },
    get state() {
      return state;
    },
    get idleTimeout() {
      return state.phase === 'sent' && isUnderWay(state) && !state.terminal && release
        ? context.idleTimeout
        : undefined;
    },
    dispatch,
    receive: (offset, events) => dispatch({ type: 'event', offset, events }),
    remember,
    open(idle) {
      if (!release) return;
      dispatch({ type: 'open', idle });
      for (const [name, entry] of waits) {
        if (name === 'patience' || name === 'silence') {
          entry.stop();
          run(name, entry);
        }
      }
      if (state.phase === 'sent' && isUnderWay(state)) hooks.opened?.(id);
    },
    repeatCancel() {
      if (state.cancelling && state.phase === 'sent' && isUnderWay(state) && release) sendCancel();
    },
    start,
    announcePolicy() {
      if (initial.policy === 'cancel' && state.phase === 'sent' && session.has('policy')) {
        attempt(() => ({ type: 'policy', runId: id, policy: 'cancel' }));
      }
    },
    close({ error, final }) {
      if (!release) return;
      pause();
      dispatch({ type: 'close', error, final });
    },
    tooLarge: (error) => dispatch({ type: 'fail', error }),
    attach() {
      if (!isUnderWay(state)) return;
      hold();
      if (!session.open) return;
      if (state.phase === 'unsent') start();
      else live.open(false);
      live.repeatCancel();
    },
    detach() {
      if (!release) return;
      // Nobody is left to see whether it goes on behind its end.
      if (state.terminal) dispatch({ type: 'timer', name: 'after' });
      stopWaits();
      state = { ...state, connected: false };
      lock?.release();
      lock = undefined;
      const releaseNow = release;
      release = undefined;
      endQueues();
      session.refresh();
      releaseNow?.(true);
    },
    page(type) {
      if (!release || !isUnderWay(state)) return;
      lock?.release();
      lock = undefined;
      if (type === 'show') hold();
    },
    run: {
      id,
      get done() {
        return done;
      },
      getSnapshot,
      on: (type, listener) => listeners[type].add(listener as never),
      cancel: () => dispatch({ type: 'cancel' }),
      [Symbol.asyncIterator]() {
        const queue = createAsyncQueue<E>(() => {
          queues.delete(queue);
          // Nobody listens any more: the connection is not needed for this run.
          if (!queues.size && !listeners.event.size && !hooks.event) live.detach();
        });
        if (settled) queue.end(state.error);
        else queues.add(queue);
        return queue;
      },
    },
  };
  return live;
}

function sizeOf(data: ReturnType<Wire['encode']>): number {
  return typeof data === 'string' ? data.length : data.byteLength;
}
