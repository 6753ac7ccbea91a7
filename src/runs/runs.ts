import type { WebSocketClient } from '../client/types.ts';
import { getWire } from '../client/wire.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createListeners } from '../internal/observable.ts';
import { cancelOn } from './cancel-on.ts';
import type { RunPosition } from './feed.ts';
import { createLiveRun } from './live-run.ts';
import type { LiveRun, RunContext, RunHooks, RunOrigin } from './live-run-types.ts';
import {
  agUiEventStatus,
  defaultMessages,
  isOffset,
  type RunControl,
  recogniseEvent,
} from './protocol.ts';
import { createRunStore, type Remembered, type RunRecord, type RunStore } from './run-storage.ts';
import { getSession } from './session.ts';
import type { Run, RunEvent, RunSnapshot, Runs, RunsOptions } from './types.ts';

/** The runs of a client with what the layer above needs besides the public interface. */
export interface RunsCore<Input, E, Offset extends number | string> extends Runs<Input, E, Offset> {
  readonly store: RunStore;
  /** As the public `start()`; `beforeStart` is called once nothing can fail any more. */
  start(
    input: Input,
    options?: Parameters<Runs<Input, E, Offset>['start']>[1],
    beforeStart?: () => void,
  ): Run<E, Offset>;
  /** Whether a run is over, or was never here. */
  isOver(runId: string): boolean;
  /** Whether the server was asked to stop a run, here or by an earlier page. */
  isCancelling(runId: string): boolean;
  /** Read a run under way from its start again; its listeners are told by `restart`. */
  rewind(runId: string): void;
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
 * the last offset that was applied. With `storage`, the runs that an earlier page left under way are
 * taken up at once; `getSnapshot()` lists them. Throws `unsupported` for a client that
 * `createWebSocketClient` did not make.
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
  const core = createRunsCore(client, options, {});
  const take = ({ runs }: Remembered) => {
    for (const record of runs) {
      if (core.get(record.runId)) continue;
      const { input } = record;
      core.adopt(record, { makeInput: input === undefined ? undefined : () => input as Input });
    }
  };
  const remembered = core.store.read();
  if (remembered instanceof Promise) remembered.then(take);
  else take(remembered);
  return core;
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
    if (hooks.error) hooks.error(error);
    else wire.report(error);
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
      silenceTimeout: options.silenceTimeout,
      get ends() {
        return session.has('end');
      },
      status: options.status ?? agUiEventStatus,
      translate: options.translate,
    },
    hooks,
    batched: false,
    reconnect: () => client.reconnect(),
    join(live) {
      core.attach();
      // Whoever read it may have left alone.
      if (!live.listening) live.attach();
    },
    changed() {
      snapshot = undefined;
      if (listeners.size) listeners.emit();
    },
  };
  let snapshot: readonly RunSnapshot<Offset>[] | undefined;
  let leave: (() => void) | undefined;
  /** `dispose()` has let go of the runs. */
  let isAway = false;
  let newest = '';

  function recognise(message: unknown): readonly RunEvent<E, Offset>[] {
    const { event } = options;
    if (!event) {
      const found = recogniseEvent(message);
      return found ? [found] : [];
    }
    const current = runs.get(newest);
    const offset = current?.state.cursor;
    const found = event(
      message as In,
      current?.state.live ? { runId: newest, ...(offset !== undefined && { offset }) } : {},
    );
    if (!found) return [];
    return Array.isArray(found) ? found : [found as RunEvent<E, Offset>];
  }

  const member = {
    runs: () => [...runs.values()].filter((run) => run.listening && !run.over),
    control(control: RunControl) {
      const run = runs.get(control.runId);
      if (run?.listening) run.control(control);
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
      if (!run?.listening) continue;
      const own = frame.length > 1 ? frame.filter((one) => one.runId === runId) : frame;
      // Servers in typed languages write `null` where there is none.
      const offset = own.filter((one) => (one.offset ?? undefined) !== undefined).pop()?.offset;
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
    origin: RunOrigin<Input, E, Offset>,
    sentAt?: number,
    aborted?: boolean,
  ): LiveRun<E, Offset> {
    leave ??= session.join(member);
    const live = createLiveRun(context, origin, session.stamp(sentAt));
    runs.delete(origin.id);
    // One that an earlier page has stopped may be taken up behind it.
    if (!(Number(runs.get(newest)?.since) > live.since)) newest = origin.id;
    runs.set(origin.id, live);
    const over = [...runs.values()].filter((run) => run.over);
    for (const old of over.slice(0, -overLimit)) runs.delete(old.id);
    // One that is not wanted any more is not sent.
    if (aborted) live.run.cancel();
    live.attach();
    context.changed();
    return live;
  }

  function known(runId: string): Run<E, Offset> | undefined {
    const live = runs.get(runId);
    if (!live || live.over) return undefined;
    context.join(live);
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
      const makeInput = () => input;
      const origin = { id: runId, policy, startable: true, makeInput, message, data };
      const { run } = add(origin, undefined, signal?.aborted);
      cancelOn(signal, run, run.cancel);
      return run;
    },
    follow(runId, { after } = {}) {
      if (!runId || (after !== undefined && !isOffset(after))) {
        throw new RunSocketError('invalid-argument', 'follow() takes a run id and an offset.');
      }
      const existing = known(runId);
      if (existing) return existing;
      const live = add({
        id: runId,
        policy: options.policy ?? 'keep',
        startable: false,
        sent: true,
        confirmed: true,
        position: { offset: after },
      });
      live.remember();
      return live.run;
    },
    adopt(record, { from, makeInput }) {
      const { runId, policy, acked, cancel, epoch, sentAt } = record;
      return add(
        {
          id: runId,
          policy: 'keep',
          startable: makeInput !== undefined,
          sent: true,
          // What it has told stands in the checkpoint, whatever else could be written down.
          confirmed: acked === true || from !== undefined,
          cancelling: !!cancel,
          // That of the checkpoint is of what is known, whatever was written since.
          epoch: from?.epoch ?? epoch,
          position: from,
          makeInput,
          cancelWhenOwned: policy === 'cancel',
        },
        sentAt,
      ).run;
    },
    isOver: (runId) => runs.get(runId)?.over ?? true,
    isCancelling: (runId) => runs.get(runId)?.state.cancelling ?? false,
    rewind: (runId) => runs.get(runId)?.rewind(),
    position(runId) {
      const position = runs.get(runId)?.state.position;
      if (!position || options.overlap) return position;
      const { last, previous, ...rest } = position;
      return rest;
    },
    get: (runId) => runs.get(runId)?.run,
    getSnapshot() {
      snapshot ??= [...runs.values()].flatMap(({ state, run }) =>
        state.live ? run.getSnapshot() : [],
      );
      return snapshot;
    },
    subscribe: (listener) => listeners.add(listener),
    attach() {
      leave ??= session.join(member);
      if (!isAway) return;
      isAway = false;
      for (const run of runs.values()) if (!run.listening) run.attach();
    },
    dispose() {
      for (const run of runs.values()) run.detach();
      leave?.();
      leave = undefined;
      isAway = true;
    },
  };
  return core;
}
