import type { WebSocketClient } from '../client/types.ts';
import { getWire } from '../client/wire.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createListeners } from '../internal/observable.ts';
import { cancelOn } from '../runs/cancel-on.ts';
import type { RunPosition } from '../runs/feed.ts';
import type { Remembered, RunRecord } from '../runs/run-storage.ts';
import { createRunsCore } from '../runs/runs.ts';
import type { RunPolicy } from '../runs/types.ts';
import { type AgentAccess, accessKey } from './agent-access.ts';
import {
  findRecords,
  findSessionStorage,
  getClaims,
  isForgotten,
  isWritable,
  readBase,
  readCheckpoint,
  readThread,
  restore,
} from './agent-memory.ts';
import type { AgUiAgent, AgUiAgentOptions } from './agent-types.ts';
import { applyAgUiEvent } from './apply-event.ts';
import type { AgUiEvent } from './events.ts';
import {
  createRunInput,
  type RunAgentInput,
  type RunInput,
  type RunInputRest,
  restOfInput,
} from './input.ts';
import { createResume } from './interrupts.ts';
import type { AgUiMessage } from './messages.ts';
import { endRun, errorOf } from './run-events.ts';
import { type AgUiThread, emptyThread } from './thread.ts';

/** The run that the thread shows. */
interface Current<S> {
  readonly id: string;
  /** What the run's events are applied to. */
  base: AgUiThread<S>;
  readonly rest?: RunInputRest | undefined;
  /** Its events still change the thread. */
  followed: boolean;
}

/**
 * Run AG-UI agents over a WebSocket, one thread at a time.
 *
 * Nothing connects until the agent is subscribed to, run or `connect()`ed. A run that streams is
 * remembered, so that the next page goes on with it. Throws `unsupported` for a client that
 * `createWebSocketClient` did not make.
 *
 * @example
 * const agent = createAgUiAgent(createWebSocketClient('wss://example.com/agent'));
 * agent.subscribe(() => render(agent.getSnapshot()));
 * agent.run({ messages: [{ role: 'user', content: 'Hello' }] });
 */
export function createAgUiAgent<
  S = unknown,
  In = unknown,
  Out = unknown,
  Offset extends number | string = number,
>(
  client: WebSocketClient<In, Out>,
  options: AgUiAgentOptions<S, In, Out, Offset> = {},
): AgUiAgent<S> {
  const wire = getWire(client);
  const { environment: env } = wire;
  const storage = options.storage === undefined ? findSessionStorage(env) : options.storage;
  const claims = getClaims(storage);
  const { name = 'ag-ui', remember, resync } = options;
  const reduce = options.reduce ?? applyAgUiEvent;
  const initial = emptyThread<S>(options as { readonly state?: S });
  const changes = createListeners<void>(env.report);
  const on = {
    event: createListeners<AgUiEvent>(env.report),
    error: createListeners<RunSocketError>(env.report),
  };

  let thread = initial;
  let threadId = options.threadId ?? env.randomId();
  let current: Current<S> | undefined;
  /** A remembered run that this agent shows, and takes as soon as it is used. */
  let found: readonly RunRecord[] = [];
  let stopFrame: (() => void) | undefined;
  const holds = new Set<(now?: boolean) => void>();

  function notify(inFrame = false) {
    if (inFrame) {
      stopFrame ??= env.setFrame(() => notify());
      return;
    }
    stopFrame?.();
    stopFrame = undefined;
    changes.emit();
  }

  function show(next: AgUiThread<S>, inFrame?: boolean) {
    if (next === thread) return;
    const wasStale = thread.stale;
    thread = next;
    if (!wasStale && thread.stale) askForSnapshot();
    notify(inFrame);
  }

  function askForSnapshot() {
    if (!resync || !current) return;
    try {
      const message = resync(current.id);
      if (message !== undefined) wire.transmit(wire.encode(message), message);
    } catch (error) {
      fail('invalid-argument', 'The resync message could not be made.', error);
    }
  }

  function fail(code: RunSocketError['code'], text: string, cause?: unknown) {
    on.error.emit(new RunSocketError(code, text, cause));
  }

  const isShown = (runId: string) => current?.id === runId && current.followed;

  function restart(runId: string) {
    if (isShown(runId) && current) show(current.base, true);
  }

  const runs = createRunsCore<RunAgentInput, AgUiEvent, In, Out, Offset>(
    client,
    { ...options, name, storage },
    {
      event(runId, event, replay) {
        if (!isShown(runId)) return;
        const { stale } = thread;
        try {
          const next = reduce(thread, event);
          show(next, replay);
          if (next.stale && !stale) {
            fail('patch-failed', 'A STATE_DELTA could not be applied; the state is stale.');
          }
        } catch (error) {
          show({ ...thread, stale: true }, replay);
          fail('bad-message', `The reducer threw on ${String(event?.type)}.`, error);
        }
        on.event.emit(event);
      },
      restart,
      hole(runId, error) {
        if (!isShown(runId)) return;
        on.error.emit(error);
        show({ ...thread, stale: true });
      },
      aborted(runId) {
        if (isShown(runId)) stopShowing();
      },
      opened(runId) {
        if (isShown(runId) && thread.stale) askForSnapshot();
      },
      revived(runId) {
        if (!isShown(runId) || !/^(closed|start-un|run-unr)/.test(thread.error?.code ?? '')) return;
        const { error, ...rest } = thread;
        show({ ...rest, status: 'running' });
      },
      end(runId, { status, error }) {
        if (error?.code !== 'closed') claims.delete(runId);
        if (!isShown(runId)) return;
        if (thread.status === 'running' || error?.code === 'run-lost') {
          show(
            status === 'failed'
              ? endRun(thread, 'error', errorOf((error ?? {}) as never))
              : endRun(thread, status === 'finished' ? status : 'aborted'),
          );
        }
        saveThread();
      },
      describe: (runId) => ({
        threadId,
        ...(current?.id === runId && { base: current.base, input: current.rest }),
      }),
      hide: saveCheckpoint,
      error: (error) => on.error.emit(error),
    },
  );

  function saveThread() {
    if (remember !== 'thread') return;
    runs.store.change((now) => ({ ...now, thread: { threadId, thread } }));
  }

  function saveCheckpoint() {
    if (!current || runs.isOver(current.id) || options.checkpoint === false) return;
    if (thread.status === 'error') return;
    const position = runs.position(current.id);
    if (position?.offset === undefined) return;
    const checkpoint = { ...position, thread };
    if (!isWritable(checkpoint)) return;
    runs.store.amend(current.id, { checkpoint });
  }

  function consider(remembered: Remembered) {
    if (current) {
      // A run was faster than slow storage, and stops what streams like any other.
      const [newest, ...others] = findRecords(remembered, options.threadId, claims);
      if (!newest) return;
      take(newest, false);
      if (!newest.cancel) runs.get(newest.runId)?.cancel();
      leaveBehind(others, newest.threadId);
      return;
    }
    const { runs: records } = remembered;
    const now = env.now();
    const isKept = (one: RunRecord) => !isForgotten(one, options.threadId, now);
    if (!records.every(isKept)) {
      runs.store.change((all) => ({ ...all, runs: all.runs.filter(isKept) }));
    }
    found = findRecords(remembered, options.threadId, claims);
    const newest = found[0];
    const kept = remembered.thread as { threadId?: unknown; thread?: unknown } | undefined;
    if (newest) {
      threadId = newest.threadId;
      show(restore(newest, initial));
    } else if (remember === 'thread' && kept && typeof kept.threadId === 'string') {
      if ((options.threadId ?? kept.threadId) !== kept.threadId) return;
      threadId = kept.threadId;
      const read = readThread(kept.thread, initial) ?? initial;
      show(read.status === 'running' ? endRun(read, 'aborted') : read);
    }
    // Somebody was there before slow storage answered.
    if (holds.size) activate();
  }

  // Takes what was found, unless another agent of the page was faster.
  function activate() {
    const records = found;
    found = [];
    const [newest, ...others] = records;
    if (newest) {
      if (claims.has(newest.runId)) {
        threadId = options.threadId ?? env.randomId();
        show(initial);
      } else {
        take(newest);
        // What they said is in the newest one's base.
        leaveBehind(others, threadId);
      }
    }
    if (current) claims.add(current.id);
    runs.attach();
  }

  // Forgets runs that newer ones have followed; those that were stopped still want their cancel to arrive.
  function leaveBehind(records: readonly RunRecord[], ofThread: string | undefined) {
    for (const one of records) {
      if (one.threadId !== ofThread || claims.has(one.runId)) continue;
      if (one.cancel) take(one, false);
      else runs.store.edit(one.runId, () => undefined);
    }
  }

  function take(record: RunRecord, shown = true) {
    const { runId, acked } = record;
    claims.add(runId);
    const base = readBase(record, initial);
    if (shown) {
      current = { id: runId, base, followed: !record.cancel };
    }
    const input = record.input as RunInput | undefined;
    runs.adopt(record, {
      from: readCheckpoint(record, initial) && (record.checkpoint as RunPosition<never, Offset>),
      makeInput:
        acked || !record.base
          ? undefined
          : () => createRunInput(base, { threadId: record.threadId, runId, input }),
    });
  }

  function stopShowing() {
    if (!current?.followed) return;
    current.followed = false;
    show(endRun(thread, 'aborted'));
    // The run is under way until its server has heard of it: what it said is kept until then.
    saveCheckpoint();
    saveThread();
  }

  /** Its own events have not told its end, or a final close stands in their way. */
  const isRunning = () => thread.status === 'running' || thread.error?.code === 'closed';

  const isStreaming = () => !!current?.followed && !runs.isOver(current.id);

  const isUnderWay = () => isStreaming() && isRunning();

  function abort(runId = current?.id) {
    activate();
    if (!current || current.id !== runId || !isUnderWay()) return;
    stopShowing();
    runs.get(current.id)?.cancel();
  }

  function begin(from: AgUiThread<S>, runId: string, input?: RunInput): AgUiThread<S> {
    return applyAgUiEvent(from, {
      type: 'RUN_STARTED',
      threadId,
      runId,
      parentRunId: input?.parentRunId,
      input: input && { resume: input.resume ?? [] },
    } as AgUiEvent);
  }

  const access: { -readonly [Key in keyof AgentAccess]: AgentAccess[Key] } = {
    environment: env,
    runs: runs as never,
    isShown,
    restart,
    abort,
  };

  const agent: AgUiAgent<S> & { readonly [accessKey]: AgentAccess } = {
    [accessKey]: access,
    get threadId() {
      return threadId;
    },
    run(input = {}, { policy, signal, runId = env.randomId() } = {}) {
      activate();
      const streaming = isUnderWay();
      const from = streaming ? endRun(thread, 'aborted') : thread;
      const added = (input.messages ?? []).map(
        (message) => ({ ...message, id: message.id ?? env.randomId() }) as AgUiMessage,
      );
      const started = begin({ ...from, messages: [...from.messages, ...added] }, runId, input);
      const next: Current<S> = {
        id: runId,
        base: started,
        rest: restOfInput(input),
        followed: true,
      };
      const unwanted = new AbortController();
      if (signal?.aborted) unwanted.abort();
      runs.start(
        createRunInput(started, { threadId, runId, input }),
        { runId, policy: policy as RunPolicy, signal: unwanted.signal },
        () => {
          const old = current;
          current = next;
          claims.add(runId);
          thread = started;
          if (old && streaming) runs.get(old.id)?.cancel();
          // Who heard of that has started another one.
          if (current !== next) unwanted.abort();
        },
      );
      cancelOn(signal, runs.get(runId), () => abort(runId));
      notify();
      return runId;
    },
    answer(responses, input) {
      if (!thread.interrupts) {
        throw new RunSocketError('invalid-argument', 'There is no open interrupt.');
      }
      const resume = createResume(thread.interrupts, responses, env.now());
      return agent.run({ ...input, resume });
    },
    follow(runId) {
      if (!runId) throw new RunSocketError('invalid-argument', 'follow() takes a run id.');
      // The thread has this run already, or will have it.
      if (thread.runId === runId && (isStreaming() || thread.status === 'finished')) return;
      abort();
      const base = current?.id === runId ? current.base : begin(thread, runId);
      current = { id: runId, base, followed: true };
      claims.add(runId);
      show(base);
      runs.follow(runId);
    },
    abort: () => abort(),
    getSnapshot: () => thread,
    getServerSnapshot: () => initial,
    subscribe(listener) {
      const remove = changes.add(listener);
      const release = agent.connect();
      return () => {
        remove();
        release();
      };
    },
    on: (type, listener) => on[type].add(listener as never),
    connect() {
      const release = wire.hold();
      holds.add(release);
      activate();
      return () => {
        holds.delete(release);
        release();
      };
    },
    setState(next) {
      edit((one) => ({
        ...one,
        state: typeof next === 'function' ? (next as (state: S) => S)(one.state) : next,
      }));
    },
    setMessages(next) {
      const { base = thread } = current ?? {};
      const own = (message: AgUiMessage) =>
        base.messages.some(({ id }) => id === message.id) ||
        !thread.messages.some(({ id }) => id === message.id);
      edit((one) => ({
        ...one,
        messages:
          typeof next === 'function'
            ? next(one.messages)
            : // What the run itself has said comes again when it is replayed.
              one === base
              ? next.filter(own)
              : next,
      }));
    },
    reset() {
      abort();
      if (current) claims.delete(current.id);
      current = undefined;
      threadId = options.threadId ?? env.randomId();
      runs.store.change(() => ({ runs: [] }));
      show(initial);
    },
    runs: runs as never,
    client: client as never,
    dispose() {
      stopFrame?.();
      stopFrame = undefined;
      if (current) claims.delete(current.id);
      runs.dispose();
      for (const release of holds) release(true);
      holds.clear();
    },
  };

  function edit(change: (thread: AgUiThread<S>) => AgUiThread<S>) {
    activate();
    if (isStreaming() && current) {
      current.base = change(current.base);
      runs.store.amend(current.id, { base: current.base });
    }
    show(change(thread));
    if (!isStreaming()) saveThread();
  }

  const remembered = runs.store.read();
  if (remembered instanceof Promise) access.ready = remembered.then(consider);
  else consider(remembered);
  return agent;
}
