import type { WebSocketClient } from '../client/types.ts';
import { getWire } from '../client/wire.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createListeners } from '../internal/observable.ts';
import { createFeed, type Feed } from './feed.ts';
import { createLiveRun, type LiveRun, type RunContext, type RunHooks } from './live-run.ts';
import { agUiEventStatus, defaultMessages, isOffset, recogniseEvent } from './protocol.ts';
import { createRunState, isUnderWay, type RunState } from './run.ts';
import { createRunStore, type RunRecord, type RunStore } from './run-storage.ts';
import { getSession } from './session.ts';
import type { Run, RunEvent, RunEventContext, RunSnapshot, Runs, RunsOptions } from './types.ts';

/** A place in a run's log. */
export type RunPosition<E, Offset extends number | string> = Pick<
  Feed<E, Offset>,
  'cursor' | 'previous' | 'last'
>;

/** The runs of a client with what the layer above needs besides the public interface. */
export interface RunsCore<Input, E, Offset extends number | string> extends Runs<Input, E, Offset> {
  readonly store: RunStore;
  /** As the public `start()`; `beforeStart` is called once nothing can fail any more. */
  start(
    input: Input,
    options?: Parameters<Runs<Input, E, Offset>['start']>[1],
    beforeStart?: () => void,
  ): Run<E, Offset>;
  /** Where a run stands, with what an overlapping resume needs. */
  position(runId: string): RunPosition<E, Offset> | undefined;
  /** Take up a remembered run; `makeInput` gives the input of its start, `after` a place whose thread is known. */
  adopt(
    record: RunRecord,
    options: {
      readonly from?: RunPosition<E, Offset> | undefined;
      readonly makeInput?: (() => Input) | undefined;
    },
  ): Run<E, Offset>;
  /** Follow again what `dispose()` let go of. */
  attach(): void;
}

/** How many runs that are over can still be looked up. */
const overLimit = 100;

/**
 * Make the runs of a client: start them, follow them, resume them after each reconnect, stop them.
 *
 * Any kind of event can ride on it. A run is sent once, and asked for again after each reconnect from
 * the last offset that was applied.
 *
 * @example
 * const runs = createRuns<{ prompt: string }, { text: string }>(client);
 * for await (const event of runs.start({ prompt: 'Hello' })) console.log(event.text);
 */
export function createRuns<
  Input = unknown,
  E = unknown,
  In = unknown,
  Out = unknown,
  Offset extends number | string = number,
>(
  client: WebSocketClient<In, Out>,
  options: RunsOptions<Input, E, In, Out, Offset> = {},
): Runs<Input, E, Offset> {
  return createRunsCore(client, options, {});
}

/** As {@link createRuns}, for a layer above that watches every run. */
export function createRunsCore<Input, E, In, Out, Offset extends number | string>(
  client: WebSocketClient<In, Out>,
  options: RunsOptions<Input, E, In, Out, Offset>,
  hooks: RunHooks<E, Offset>,
): RunsCore<Input, E, Offset> {
  const wire = getWire(client);
  const { environment: env } = wire;
  const session = getSession(wire);
  const runs = new Map<string, LiveRun<E, Offset>>();
  const listeners = createListeners<void>(env.report);
  const report = (error: RunSocketError) => {
    hooks.error?.(error);
    wire.report(error);
  };
  const context: RunContext<Input, E, Offset> = {
    wire,
    session,
    store: createRunStore(options.storage ?? undefined, options.name ?? 'runs', report),
    options: options as never,
    rules: {
      restart: options.restart ?? false,
      overlap: options.overlap ?? false,
      startTimeout: options.startTimeout ?? 60_000,
      orphanTimeout: options.orphanTimeout ?? 60_000,
      silenceTimeout: options.silenceTimeout ?? Number.POSITIVE_INFINITY,
      get ends() {
        return session.has('end');
      },
      status: options.status ?? agUiEventStatus,
    },
    idleTimeout: options.idleTimeout ?? 30_000,
    hooks,
    batched: false,
    reconnect: () => client.reconnect(),
    changed() {
      snapshot = undefined;
      if (listeners.size) listeners.emit();
    },
  };
  let snapshot: readonly RunSnapshot<Offset>[] | undefined;
  let leave: (() => void) | undefined;
  let newest: string | undefined;
  let order = 0;

  const underWay = () => [...runs.values()].filter(({ state }) => isUnderWay(state));

  function recognise(message: unknown): readonly RunEvent<E, Offset>[] {
    const { event } = options;
    if (!event) {
      const found = recogniseEvent(message);
      return found ? [found] : [];
    }
    const current = newest === undefined ? undefined : runs.get(newest);
    const told: RunEventContext<Offset> =
      current && isUnderWay(current.state)
        ? {
            runId: current.id,
            ...(current.state.feed.cursor !== undefined && { offset: current.state.feed.cursor }),
          }
        : {};
    const found = event(message as In, told);
    if (!found) return [];
    return Array.isArray(found) ? found : [found as RunEvent<E, Offset>];
  }

  const member = {
    runs: () => [...runs.values()].filter((run) => run.attached),
    control(control: { readonly runId: string }) {
      const run = runs.get(control.runId);
      if (run?.attached || run?.state.phase === 'over') {
        run.dispatch({ type: 'control', control: control as never });
      }
    },
    message(message: unknown, batched: boolean) {
      let events: readonly RunEvent<E, Offset>[];
      try {
        const control = options.control?.(message as In);
        if (control) return member.control(control);
        events = recognise(message);
      } catch (error) {
        return report(new RunSocketError('bad-message', 'A message could not be read.', error));
      }
      context.batched = batched;
      receive(events);
      context.batched = false;
    },
    page(type: 'hide' | 'show') {
      if (type === 'hide') hooks.hide?.();
      for (const run of runs.values()) run.page(type);
    },
  };

  // The events of one frame stand at one place of the log, its last offset: one step of the cursor.
  function receive(frame: readonly RunEvent<E, Offset>[]) {
    for (const runId of new Set(frame.map((one) => one.runId))) {
      const run = runs.get(runId);
      if (!run || !(run.attached || run.state.phase === 'over')) continue;
      const own = frame.length > 1 ? frame.filter((one) => one.runId === runId) : frame;
      const offset = own.filter((one) => one.offset !== undefined).pop()?.offset;
      if (offset === undefined || isOffset(offset)) {
        run.receive(
          offset,
          own.map(({ event }) => event),
        );
      } else {
        report(new RunSocketError('bad-message', `An event of run ${runId} has no usable offset.`));
      }
    }
  }

  function add(
    state: Parameters<typeof createRunState<E, Offset>>[0],
    first: Parameters<typeof createLiveRun<Input, E, Offset>>[3],
    at = env.now(),
  ): LiveRun<E, Offset> {
    leave ??= session.join(member);
    // A counter below one keeps the order of runs made within one millisecond.
    order = (order + 1e-6) % 1;
    const live = createLiveRun(context, createRunState<E, Offset>(state), at + order, first);
    runs.delete(live.id);
    runs.set(live.id, live);
    newest = live.id;
    const over = [...runs.values()].filter((run) => run.state.phase === 'over');
    for (const old of over.slice(0, -overLimit)) runs.delete(old.id);
    live.attach();
    context.changed(live);
    return live;
  }

  function known(runId: string): Run<E, Offset> | undefined {
    const live = runs.get(runId);
    if (!live || live.state.phase === 'over') return undefined;
    core.attach();
    return live.run;
  }

  const core: RunsCore<Input, E, Offset> = {
    store: context.store,
    start(
      input,
      { runId = env.randomId(), policy = options.policy ?? 'keep', signal } = {},
      beforeStart = () => {},
    ) {
      const message = (options.run ?? defaultMessages.run)(input, runId);
      const data = wire.encode(message);
      const existing = known(runId);
      if (existing) return existing;
      beforeStart();
      const { run } = add(
        { id: runId, policy, startable: true, phase: 'unsent' },
        { makeInput: () => input, message, data },
      );
      if (signal) {
        if (signal.aborted) run.cancel();
        else {
          signal.addEventListener('abort', run.cancel);
          run.on('end', () => signal.removeEventListener('abort', run.cancel));
        }
      }
      return run;
    },
    follow(runId, { after } = {}) {
      const existing = known(runId);
      if (existing) return existing;
      const live = add(
        {
          id: runId,
          policy: options.policy ?? 'keep',
          startable: false,
          phase: 'sent',
          confirmed: true,
          feed: createFeed<E, Offset>(after),
        },
        {},
      );
      live.remember();
      return live.run;
    },
    adopt(record, { from, makeInput }) {
      const { runId, policy, acked, cancel, epoch, sentAt } = record;
      const state: Partial<RunState<E, Offset>> = {
        confirmed: acked === true,
        cancelling: cancel === true,
        feed: { ...createFeed<E, Offset>(undefined, epoch !== undefined), ...from },
        ...(typeof epoch === 'string' && { epoch }),
      };
      return add(
        { id: runId, policy: 'keep', startable: makeInput !== undefined, phase: 'sent', ...state },
        { makeInput, cancelWhenOwned: policy === 'cancel' },
        sentAt,
      ).run;
    },
    position(runId) {
      const { cursor, previous, last } = runs.get(runId)?.state.feed ?? {};
      if (cursor === undefined) return undefined;
      return options.overlap ? { cursor, previous, last } : { cursor };
    },
    get: (runId) => runs.get(runId)?.run,
    getSnapshot() {
      snapshot ??= underWay().map(({ run }) => run.getSnapshot());
      return snapshot;
    },
    subscribe: (listener) => listeners.add(listener),
    attach() {
      if (leave) return;
      leave = session.join(member);
      for (const run of runs.values()) if (run.state.phase !== 'over') run.attach();
    },
    dispose() {
      for (const run of runs.values()) run.detach();
      leave?.();
      leave = undefined;
    },
  };
  return core;
}
