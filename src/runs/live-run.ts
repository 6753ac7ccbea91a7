import type { Wire } from '../client/wire.ts';
import { type AsyncQueue, createAsyncQueue } from '../internal/async-queue.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createListeners } from '../internal/observable.ts';
import type { RunPosition } from './feed.ts';
import { defaultMessages } from './protocol.ts';
import {
  createRunMachine,
  type RunMachine,
  type RunRules,
  type RunStart,
  type RunTimer,
} from './run.ts';
import { type RunLock, requestRunLock } from './run-lock.ts';
import type { RunRecord, RunStore } from './run-storage.ts';
import type { Session, SessionRun } from './session.ts';
import type { Run, RunSnapshot, RunsOptions } from './types.ts';
import { createWaits } from './waits.ts';

/** What the layer above does with the runs; all of it optional. */
export interface RunHooks<E, Offset extends number | string> {
  /** An event that is next; `replay`: many come at once, out of the log or in one frame. */
  event?(runId: string, event: E, replay: boolean): void;
  /** The run is read from its start again. */
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
  readonly hooks: RunHooks<E, Offset>;
  /** The message that is being read came with others in one frame. */
  batched: boolean;
  /** Replaces the socket. */
  reconnect(): void;
  /** A run is another than it was. */
  changed(): void;
}

/** How a run came here. */
export interface RunOrigin<Input, E, Offset> extends RunStart<E, Offset> {
  /** What its `run` message carries, when it has to be sent. */
  readonly makeInput?: (() => Input) | undefined;
  readonly message?: unknown;
  /** `message` as a frame. */
  readonly data?: ReturnType<Wire['encode']>;
  /** Cancel the run once this page owns it: its policy said so, and its page is gone. */
  readonly cancelWhenOwned?: boolean | undefined;
}

/** A run together with its place in the world: sockets, timers, storage, listeners. */
export interface LiveRun<E, Offset extends number | string> extends SessionRun {
  readonly run: Run<E, Offset>;
  readonly over: boolean;
  readonly live: boolean;
  /** It holds the connection, or a late event may bring it back. */
  readonly listening: boolean;
  readonly position: RunPosition<E, Offset>;
  /** The server was asked to stop it. */
  readonly cancelling: boolean;
  receive: RunMachine<E, Offset>['receive'];
  control: RunMachine<E, Offset>['control'];
  /** Write down that the run is under way. */
  remember(): Promise<unknown> | undefined;
  /** Hold the connection, own the run, and take it up where a socket is open. */
  attach(): void;
  /** Let go of everything but what is known of the run; nothing is cancelled. */
  detach(): void;
  /** Read the run from its start again. */
  rewind(): void;
  page(type: 'hide' | 'show'): void;
}

const writeWait = 250;
const replayGap = 50;

/** Connect the state machine of a run, started at `since`, to the world. */
export function createLiveRun<Input, E, Offset extends number | string>(
  context: RunContext<Input, E, Offset>,
  origin: RunOrigin<Input, E, Offset>,
  since: number,
): LiveRun<E, Offset> {
  const { wire, session, store, options, rules, hooks } = context;
  const { environment: env } = wire;
  const { id, policy, makeInput, message, cancelWhenOwned } = origin;
  let { data } = origin;
  let snapshot: RunSnapshot<Offset> | undefined;
  let held = false;
  let release: ((now?: boolean) => void) | undefined;
  let lock: RunLock | undefined;
  /** Ends the wait for what is being written down before the run is sent. */
  let writing: (() => void) | undefined;
  let settled = false;
  let catchingUp = false;
  let lastAt: number | undefined;
  // Patience and silence are counted in time with an open connection.
  const waits = createWaits<RunTimer>(env, ['patience', 'silence'], (name) =>
    step(() => machine.timer(name)),
  );
  const queues = new Set<AsyncQueue<E>>();
  const listeners = {
    event: createListeners<E>(env.report),
    restart: createListeners<RunSnapshot<Offset>>(env.report),
    end: createListeners<RunSnapshot<Offset>>(env.report),
  };
  let resolveDone: (snapshot: RunSnapshot<Offset>) => void = () => {};
  const createDone = () =>
    new Promise<RunSnapshot<Offset>>((resolve) => {
      resolveDone = resolve;
    });
  let done = createDone();

  const machine = createRunMachine<E, Offset>(origin, rules, {
    send: (kind) =>
      kind === 'cancel'
        ? sendCancel()
        : data === undefined
          ? attempt(() => (options.run ?? defaultMessages.run)(makeInput?.() as Input, id), id)
          : wire.transmit(data, message, id),
    resume(after) {
      catchingUp = true;
      lastAt = undefined;
      session.ask({
        runId: id,
        after,
        send() {
          wire.inspect({ type: 'resume', runId: id, after });
          attempt(() => (options.resume ?? defaultMessages.resume)(id, after));
        },
      });
    },
    swap: context.reconnect,
    event(event, offset) {
      let replay = false;
      if (catchingUp) {
        const now = env.now();
        const { next } = machine;
        // A server may not say how far its log goes, and its replay may falter on the way.
        replay = next === undefined ? now - (lastAt ?? now) <= replayGap : Number(offset) < next;
        lastAt = now;
        catchingUp = replay || next === undefined;
      }
      snapshot = undefined;
      hooks.event?.(id, event, replay || context.batched);
      for (const queue of queues) queue.push(event);
      if (listeners.event.size) listeners.event.emit(event);
    },
    restart() {
      snapshot = undefined;
      store.edit(id, (record) => record && { ...record, checkpoint: undefined });
      hooks.restart?.(id);
      listeners.restart.emit(getSnapshot());
    },
    hole: (error) => (hooks.hole ? hooks.hole(id, error) : wire.report(error)),
    aborted: () => hooks.aborted?.(id),
    wait(name, ms, keep) {
      if (held || ms === undefined) waits.set(name, ms, keep);
    },
    note(change) {
      store.edit(id, (record) => {
        const { input, ...rest } = record ?? {};
        return record && ({ ...(change.acked ? rest : record), ...change } as RunRecord);
      });
    },
    forget,
  });

  function getSnapshot() {
    snapshot ??= machine.snapshot();
    return snapshot;
  }

  // Does something to the run, and then what follows for the world.
  function step(task: () => void) {
    const { live: wasLive, phase, ended } = machine;
    task();
    snapshot = undefined;
    const { live: isLive } = machine;
    if (!wasLive && isLive) revive(phase === 'over');
    if (!settled && !isLive) settle();
    if (phase !== machine.phase || wasLive !== isLive || ended !== machine.ended) session.refresh();
    context.changed();
  }

  function attempt(make: () => unknown, owner?: string) {
    try {
      const made = make();
      if (made !== undefined) wire.transmit(wire.encode(made), made, owner);
    } catch (error) {
      const text = `A message of run ${id} could not be made.`;
      live.fail(new RunSocketError('invalid-argument', text, error));
    }
  }

  function sendCancel() {
    attempt(() => (options.cancel ?? defaultMessages.cancel)(id));
  }

  function remember() {
    const { confirmed, cancelling, epoch } = machine;
    return store.edit(id, () => ({
      threadId: '',
      ...(hooks.describe ? hooks.describe(id) : makeInput && { input: makeInput() }),
      runId: id,
      sentAt: env.now(),
      policy,
      acked: confirmed,
      ...(cancelling && { cancel: true }),
      ...(epoch !== undefined && { epoch }),
    }));
  }

  function forget() {
    store.edit(id, () => undefined);
  }

  // Remembered first, sent second: a reload in between finds a run to ask for.
  function start() {
    if (machine.phase !== 'unsent' || !session.open || writing || !held) return;
    const limit = session.maxMessage;
    if (limit !== undefined && isLarger(data, limit)) {
      const text = `The start of run ${id} is larger than the ${limit} bytes that the server takes.`;
      return live.fail(new RunSocketError('too-large', text));
    }
    const written = remember();
    if (!written) return transmitStart();
    const go = () => {
      if (writing === stop) transmitStart();
    };
    const stop = env.setTimer(go, writeWait);
    writing = stop;
    written.then(go);
  }

  function stopWriting() {
    writing?.();
    writing = undefined;
  }

  function transmitStart() {
    stopWriting();
    if (machine.phase !== 'unsent' || !held || !wire.transmit(data as string, message, id)) {
      return forget();
    }
    session.feed(id);
    step(machine.sent);
    live.announcePolicy();
  }

  function settle() {
    settled = true;
    const last = getSnapshot();
    if (machine.phase === 'over') {
      waits.clear();
      lock?.release();
      lock = undefined;
      letGo();
      if (!machine.error) session.end(id);
      data = undefined;
    } else waits.pause();
    hooks.end?.(id, last);
    listeners.end.emit(last);
    endQueues(machine.error);
    resolveDone(last);
  }

  function letGo(now?: boolean) {
    // It was not sent, and whatever was written of it is in the way of the next page.
    if (writing) forget();
    stopWriting();
    held = false;
    release?.(now);
    release = undefined;
  }

  function revive(over: boolean) {
    settled = false;
    done = createDone();
    if (over) {
      hold();
      remember();
    }
    hooks.revived?.(id);
  }

  function endQueues(error?: RunSocketError) {
    for (const queue of queues) queue.end(error);
    queues.clear();
  }

  function hold() {
    // Where there is no WebSocket, the final close comes before `wire.hold()` returns.
    held = true;
    release ??= wire.hold();
    if (!held) return letGo();
    lock ??= requestRunLock(id, env, () => {
      if (!cancelWhenOwned || machine.cancelling || !machine.live) return;
      hooks.aborted?.(id);
      step(machine.cancel);
    });
  }

  const live: LiveRun<E, Offset> = {
    id,
    since,
    serial: session.count(),
    get over() {
      return machine.phase === 'over';
    },
    get live() {
      return machine.live;
    },
    get listening() {
      return held || machine.phase === 'over';
    },
    get position() {
      return machine.position;
    },
    get cancelling() {
      return machine.cancelling;
    },
    get idleTimeout() {
      return held && machine.phase === 'sent' && machine.live && !machine.ended
        ? (options.idleTimeout ?? 30_000)
        : undefined;
    },
    receive: (offset, events) => step(() => machine.receive(offset, events)),
    control: (control) => step(() => machine.control(control)),
    fail: (error) => step(() => machine.fail(error)),
    open(idle) {
      step(() => machine.open(idle));
      waits.resume();
    },
    repeatCancel() {
      if (machine.cancelling && machine.phase === 'sent') sendCancel();
    },
    followUp() {
      if (machine.phase === 'sent') hooks.opened?.(id);
      else start();
    },
    announcePolicy() {
      if (policy === 'cancel' && machine.phase === 'sent' && session.has('policy')) {
        attempt(() => ({ type: 'policy', runId: id, policy }));
      }
    },
    close({ error, final, swapped }) {
      waits.pause();
      step(() => machine.close(final, error, swapped));
    },
    remember,
    attach() {
      if (machine.phase === 'over') return;
      hold();
      session.refresh();
      if (!session.open) return;
      // What this connection brings of the run by itself would come before what is asked for: only
      // a new one has both in order.
      if (session.isFed(id)) return context.reconnect();
      live.open(false);
      live.repeatCancel();
      live.followUp();
    },
    detach() {
      if (!held) return;
      // Nobody is left to see whether it goes on behind its end.
      if (machine.ended) step(() => machine.timer('after'));
      waits.clear();
      lock?.release();
      lock = undefined;
      endQueues();
      held = false;
      session.refresh();
      letGo(true);
    },
    rewind: () => step(machine.rewind),
    page(type) {
      lock?.release();
      lock = undefined;
      if (type === 'show' && held) hold();
    },
    run: {
      id,
      get done() {
        return done;
      },
      getSnapshot,
      on: (type, listener) => listeners[type].add(listener as never),
      cancel: () => step(machine.cancel),
      [Symbol.asyncIterator]() {
        const queue = createAsyncQueue<E>(() => {
          queues.delete(queue);
          // Nobody listens any more: the connection is not needed for this run.
          if (!queues.size && !listeners.event.size && !hooks.event) live.detach();
        });
        if (settled) queue.end(machine.error);
        else queues.add(queue);
        return queue;
      },
    },
  };
  return live;
}

// In bytes; text is measured in full only where its characters leave it open.
function isLarger(data: RunOrigin<never, never, never>['data'], limit: number): boolean {
  if (typeof data !== 'string') return Number(data?.byteLength) > limit;
  return data.length * 3 > limit && new TextEncoder().encode(data).length > limit;
}
