import { type AsyncQueue, createAsyncQueue } from '../internal/async-queue.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createListeners } from '../internal/observable.ts';
import { isLarger } from './frame-size.ts';
import type { LiveRun, RunContext, RunOrigin } from './live-run-types.ts';
import { defaultMessages } from './protocol.ts';
import { createReplayGauge } from './replay-gauge.ts';
import { createRunMachine } from './run.ts';
import { type RunLock, requestRunLock } from './run-lock.ts';
import type { RunTimer } from './run-machine-types.ts';
import type { RunRecord } from './run-storage.ts';
import type { RunSnapshot } from './types.ts';
import { createWaits } from './waits.ts';

const writeWait = 250;

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
  // Patience and silence are counted in time with an open connection.
  const waits = createWaits<RunTimer>(env, ['patience', 'silence'], (name) =>
    step(() => machine.timer(name)),
  );
  const gauge = createReplayGauge(env.now);
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
      gauge.start();
      session.ask({
        runId: id,
        after,
        send(from) {
          wire.inspect({ type: 'resume', runId: id, after: from });
          attempt(() => (options.resume ?? defaultMessages.resume)(id, from as Offset | undefined));
        },
      });
    },
    swap: context.reconnect,
    event(event, offset, next) {
      const replay = gauge.isReplay(offset, next);
      snapshot = undefined;
      hooks.event?.(id, event, replay || context.batched);
      for (const queue of queues) queue.push(event);
      if (listeners.event.size) listeners.event.emit(event);
    },
    restart() {
      snapshot = undefined;
      store.amend(id, { checkpoint: undefined });
      hooks.restart?.(id);
      listeners.restart.emit(getSnapshot());
    },
    hole: (error) => (hooks.hole ? hooks.hole(id, error) : wire.report(error)),
    aborted: () => hooks.aborted?.(id),
    wait(name, ms, keep) {
      if (held || ms === undefined) waits.set(name, ms, keep);
    },
    note(change) {
      // What only the start needs is needed no more.
      store.amend(id, change.acked ? { ...change, input: undefined } : change);
    },
    forget,
  });

  const getSnapshot = () => (snapshot ??= machine.snapshot());

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
    const { phase, cancelling, position } = machine;
    const make = () => ({
      ...(hooks.describe?.(id) ?? { threadId: '', input: makeInput?.() }),
      runId: id,
      sentAt: since,
      policy,
      // What is written down once more is followed, or was heard from.
      acked: phase !== 'unsent',
      cancel: cancelling || undefined,
      epoch: position.epoch,
    });
    return store.edit(id, make as () => RunRecord);
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
    session.fed.add(id);
    step(machine.sent);
    live.announcePolicy();
  }

  function settle() {
    settled = true;
    const last = getSnapshot();
    if (machine.phase === 'over') {
      waits.clear();
      unlock();
      letGo();
      if (!last.error) session.fed.delete(id);
      data = undefined;
    } else waits.pause();
    hooks.end?.(id, last);
    listeners.end.emit(last);
    endQueues(last.error);
    resolveDone(last);
  }

  function unlock() {
    lock?.release();
    lock = undefined;
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
    state: machine,
    get over() {
      return machine.phase === 'over';
    },
    get listening() {
      return held || machine.phase === 'over';
    },
    get idleTimeout() {
      return held && machine.phase === 'sent' && machine.live && !machine.ended
        ? (options.idleTimeout ?? 30_000)
        : undefined;
    },
    get isOwed() {
      const { status, caughtUp } = getSnapshot();
      return status === 'starting' || caughtUp === false;
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
      if (session.fed.has(id)) return context.reconnect();
      live.open(false);
      live.repeatCancel();
      live.followUp();
    },
    detach() {
      if (!held) return;
      // Nobody is left to see whether it goes on behind its end.
      if (machine.ended) step(() => machine.timer('after'));
      waits.clear();
      unlock();
      endQueues();
      held = false;
      session.refresh();
      letGo(true);
    },
    rewind: () => step(machine.rewind),
    page(type) {
      unlock();
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
        if (settled) queue.end(getSnapshot().error);
        else {
          queues.add(queue);
          context.join(live);
        }
        return queue;
      },
    },
  };
  return live;
}
