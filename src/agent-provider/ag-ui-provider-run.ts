import { getAgentAccess } from '../ag-ui/agent-access.ts';
import type { AgUiAgent } from '../ag-ui/agent-types.ts';
import type { AgUiEvent } from '../ag-ui/events.ts';
import type { AgUiInputMessage, RunInput } from '../ag-ui/input.ts';
import { RunSocketError } from '../internal/errors.ts';
import { type RunLock, requestRunLock } from '../runs/run-lock.ts';
import type { Run } from '../runs/types.ts';
import { toAbortError } from './abortable.ts';
import { runClientTools, type ToolAnswer } from './ag-ui-provider-tools.ts';
import type { AgUiChunk, AgUiClientTool } from './ag-ui-provider-types.ts';
import type { AgUiBridge } from './bridge-types.ts';
import type { AgentEvent, AgentEventFactory } from './event-types.ts';

type Offset = number | string;

/** Where a chunk stands: nowhere yet in its AG-UI run, or (`null`) at a place that the server does not number. */
export interface AgUiCursor {
  readonly runId: string;
  readonly offset?: Offset | null;
}

/** A chunk with what only this provider's own functions look at. */
export interface AgUiRunChunk extends AgUiChunk {
  readonly cursor?: AgUiCursor | undefined;
  /** The server was asked to stop the run. */
  readonly cancelled?: boolean;
  /** What the page's own tool said. */
  readonly tool?: ToolAnswer;
}

/** What the next page needs of a run, besides its bridge. */
export interface SavedAgUiRun {
  /** Its AG-UI runs, oldest first. */
  readonly ids: readonly string[];
  readonly place?: AgUiCursor | undefined;
  /** How many events behind it, of one frame, are told too. */
  readonly behind: number;
  /** The id of the AG-UI run that answers the interrupts. */
  readonly key?: string | undefined;
  /** Answers of tools that the agent was not told yet. */
  readonly messages: readonly AgUiInputMessage[];
}

/** One AgentEvent run over the AG-UI runs that it spans: its transport, its parsing and its commands share it. */
export interface AgUiRun {
  readonly sessionId: string;
  readonly runId: string;
  readonly agent: AgUiAgent<unknown>;
  readonly events: AgentEventFactory;
  /** Absent until the run has begun. */
  bridge?: AgUiBridge;
  input?: RunInput;
  /** Why it was cancelled. */
  reason?: string | undefined;
  /** Names the AG-UI run that answers the interrupts. */
  key?: string | undefined;
  /** The AG-UI run under way, or the last one. */
  readonly current: Run<AgUiEvent, Offset> | undefined;
  /** Somebody reads it. */
  readonly reading: boolean;
  owns(aguiRunId: string): boolean;
  /** Its chunks from the next one on; `signal` cancels, leaving the loop does not. */
  read(signal: AbortSignal): AsyncIterableIterator<AgUiChunk>;
  transform(chunk: AgUiRunChunk): readonly AgentEvent[];
  /** Starts the AG-UI run that answers the interrupts, once all of them are. */
  goOn(): void;
  /** Asks the server to stop the AG-UI run under way; its thread shows that at once, or (`quietly`) once the server has. */
  cancel(quietly?: boolean): void;
  /** Looks again at what the reader waits for. */
  wake(): void;
  save(): SavedAgUiRun;
  /** Lets go of everything; what streams goes on in the agent. */
  end(): void;
}

/** How many chunks wait for a reader who is away; beyond, they are asked for again. */
const queueLimit = 10_000;

/** How long the page that owns a run may take to say so, in ms. */
const lockPatience = 1_000;

const isFailure = (event: AgUiEvent) =>
  event.type === 'RUN_ERROR' ||
  (event.type === 'RUN_FINISHED' && event.outcome?.type === 'cancelled');

/** Make a run of an agent; `others` has every run of the provider. */
export function createAgUiRun(
  identity: Pick<AgUiRun, 'sessionId' | 'runId' | 'agent' | 'events'>,
  options: {
    readonly clientTools?: Readonly<Record<string, AgUiClientTool>> | undefined;
    readonly others: ReadonlySet<AgUiRun>;
    readonly onEnd: (run: AgUiRun) => void;
  },
  saved?: SavedAgUiRun,
): AgUiRun {
  const { sessionId, runId, agent } = identity;
  const { clientTools } = options;
  const access = getAgentAccess(agent);
  const { runs, environment: env } = access;
  const ids = [...(saved?.ids ?? [])];
  let messages = saved?.messages ?? [];
  /** The last place whose events are told. */
  let place = saved?.place;
  let behind = saved?.behind ?? 0;
  let queue: AgUiRunChunk[] = [];
  let limit = queueLimit;
  /** Chunks were dropped. */
  let lost = false;
  /** The chunk that was given out last, and the event that was told last. */
  let given: AgUiRunChunk | undefined;
  let told: AgUiEvent | undefined;
  let current: AgUiRun['current'];
  /** The last event of `current` was of the part that is told already. */
  let stale = false;
  let begun = false;
  let failure: { readonly error: unknown } | undefined;
  let signal: AbortSignal | undefined;
  let reader: object | undefined;
  let lock: RunLock | undefined;
  let stops: (() => void)[] = [];
  let stopTools: (() => void) | undefined;
  let stopPatience: (() => void) | undefined;
  let release = () => {};
  let wake = () => {};

  function push(chunk: AgUiRunChunk) {
    if (lost) return;
    if (queue.length < limit) queue.push(chunk);
    else {
      lost = true;
      queue = [];
      // Were it always the same, a log that comes at once would never be through.
      limit *= 2;
    }
    wake();
  }

  function fail(error: unknown) {
    failure ??= { error };
    wake();
  }

  const loseRun = (what: string) => new RunSocketError('run-lost', `Run ${runId} ${what}.`);

  function unlisten() {
    for (const stop of stops) stop();
    stops = [];
  }

  // Takes a run's events behind `after`.
  function listen(id: string, after?: Offset) {
    unlisten();
    const run = runs.get(id)!;
    const { offset: at } = run.getSnapshot();
    let skip = at === after ? undefined : after;
    let met = false;
    let drop = after === undefined ? 0 : behind;
    let fresh = at === undefined && after === undefined;
    current = run;
    stale = false;
    stops = [
      run.on('event', (event) => {
        const { offset } = run.getSnapshot();
        fresh = false;
        if (skip !== undefined) {
          met ||= offset === skip;
          stale = typeof offset === 'number' ? offset <= (skip as number) : !met || offset === skip;
          if (stale) return;
          skip = undefined;
        }
        if (drop-- > 0) return;
        push({
          runId: id,
          ...(offset !== undefined && { offset }),
          event,
          cursor: { runId: id, offset: offset ?? null },
          cancelled: runs.isCancelling(id),
        });
      }),
      run.on('end', () => wake()),
    ];
    if (at !== undefined && at !== after && !(typeof at === 'number' && at < (after as number))) {
      runs.rewind(id);
    }
    stops.push(run.on('restart', () => fresh || fail(loseRun('was executed again'))));
  }

  // As `listen`, also for a run that is over, or that nobody here knows.
  function follow(id: string) {
    const after = place?.runId === id ? place.offset : undefined;
    if (after === null) throw loseRun('has events without an offset, and cannot be read again');
    if (runs.isOver(id)) {
      // The thread that shows it must see all of it, once.
      const offset = access.isShown(id) ? undefined : after;
      access.restart(id);
      runs.adopt(
        { runId: id, threadId: agent.threadId, sentAt: env.now(), policy: 'keep', acked: true },
        { from: { offset } },
      );
    }
    listen(id, after);
  }

  // Goes on with another AG-UI run, which `type` tells the bridge.
  function join(id: string, type: string) {
    stopTools?.();
    messages = [];
    const event = { type, threadId: agent.threadId, runId: id } as AgUiEvent;
    push({ runId: id, event, cursor: { runId: id } });
    listen(id);
  }

  function start(input: RunInput, id: string) {
    ids.push(id);
    try {
      agent.run(input, { runId: id });
      // Held runs go on with it, whatever the server begins with.
      join(id, 'RUN_STARTED');
      stopTools = undefined;
    } catch (error) {
      fail(error);
    }
  }

  function begin() {
    begun = true;
    if (clientTools) lock = requestRunLock(`tools:${runId}`, env, () => wake());
    const id = ids.at(-1);
    const { phase } = self.bridge!;
    if (!saved) {
      const { input = {} } = self;
      const { interrupts } = agent.getSnapshot();
      // AG-UI wants every open question answered, also one that nobody will answer any more.
      const resume = interrupts?.map((one) => ({
        interruptId: one.id,
        status: 'cancelled' as const,
      }));
      start(resume && !input.resume ? { ...input, resume } : input, runId);
    } else if (id === undefined || place?.offset === null) {
      throw new RunSocketError('invalid-argument', `Run ${runId} has no place to go on from.`);
    } else if (!runs.isOver(id) || !/^(held|end)/.test(phase)) follow(id);
  }

  // Nothing comes of the AG-UI runs any more before somebody answers.
  function hold({ pendingTools, resume }: AgUiBridge) {
    const other = runs
      .getSnapshot()
      .find(({ id }) => access.isShown(id) && ![...options.others].some((run) => run.owns(id)));
    if (other) {
      // Another view of the thread has answered; what, only the server's own event says.
      ids.push(other.id);
      join(other.id, 'RAW');
      stopTools = () => {};
    } else if (resume) self.goOn();
    else if (!pendingTools.length || stopTools) return;
    else if (lock?.owned) {
      stopTools = runClientTools(pendingTools, clientTools!, { sessionId, runId }, (tool) => {
        const { toolCallId } = tool.call;
        const event = {
          type: 'TOOL_CALL_RESULT',
          toolCallId,
          content: tool.message?.content ?? '',
        };
        push({ runId: ids.at(-1)!, event: event as AgUiEvent, cursor: place, tool });
      });
    } else {
      // The tools of a duplicated tab's run are its original's.
      stopPatience ??= env.setTimer(() => {
        stopTools = () => {};
      }, lockPatience);
    }
  }

  // Looks what follows once everything that came is told; `true`: nothing.
  function isOver(): boolean {
    const bridge = self.bridge!;
    const { phase } = bridge;
    if (phase === 'ended') return true;
    const { status = 'failed', error } = current?.getSnapshot() ?? {};
    if (error) throw error;
    if (phase === 'held') hold(bridge);
    else if (phase === 'ending' && messages.length) start({ messages }, env.randomId());
    else if (/^(fin|can|fai)/.test(status)) {
      if (phase === 'ending') return true;
      if (status === 'failed' || stale) throw loseRun('ended before its end');
      else {
        const id = ids.at(-1)!;
        const outcome = status === 'cancelled' && { outcome: { type: status } };
        const event = { type: 'RUN_FINISHED', threadId: agent.threadId, runId: id, ...outcome };
        push({
          runId: id,
          event: event as AgUiEvent,
          cursor: place,
          cancelled: runs.isCancelling(id),
        });
        stale = true;
      }
    }
    return false;
  }

  async function pull(mine: object): Promise<IteratorResult<AgUiChunk, undefined>> {
    // A run that begins before its history is read would be without it.
    if (!begun && access.ready) await access.ready;
    for (;;) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (failure) {
        self.end();
        throw failure.error;
      }
      if (reader !== mine) break;
      try {
        if (!begun) begin();
        if (lost) {
          lost = false;
          follow(ids.at(-1)!);
        }
        const value = queue.shift();
        if (value) {
          given = value;
          const next = queue[0];
          return {
            done: false,
            // Behind one event of a frame is no place to go on from.
            value:
              next?.cursor?.offset === value.offset && next?.runId === value.runId
                ? { ...value, cursor: undefined }
                : value,
          };
        }
        if (isOver()) {
          self.end();
          break;
        }
      } catch (error) {
        fail(error);
      }
      await woken;
    }
    return { done: true, value: undefined };
  }

  function onAbort() {
    try {
      if (saved && !begun) begin();
    } catch {
      // There is nothing to cancel.
    }
    self.cancel();
    fail(toAbortError(signal!));
    self.end();
  }

  function attach(mine: object, next: AbortSignal) {
    signal?.removeEventListener('abort', onAbort);
    signal = next;
    reader = mine;
    if (!lost && given && told !== given.event) queue.unshift(given);
    // A reader who was just left may still have to say so.
    const letGoBefore = release;
    if (begun || saved || !next.aborted) {
      const stopWatch = runs.subscribe(() => self.bridge?.phase === 'held' && wake());
      const letGo = agent.connect();
      release = () => {
        stopWatch();
        letGo();
      };
    }
    letGoBefore();
    if (next.aborted) onAbort();
    else next.addEventListener('abort', onAbort);
  }

  const self: AgUiRun = {
    ...identity,
    key: saved?.key,
    get current() {
      return current;
    },
    get reading() {
      return !!reader;
    },
    owns: (id) => ids.includes(id),
    read(signal) {
      const mine = {};
      let attached = false;
      return {
        next() {
          if (!attached) attach(mine, signal);
          attached = true;
          return pull(mine);
        },
        async return() {
          if (reader === mine) {
            reader = undefined;
            release();
            wake();
            if (self.bridge?.phase === 'ended') self.end();
          }
          attached = true;
          return { done: true, value: undefined };
        },
        [Symbol.asyncIterator]() {
          return this;
        },
      };
    },
    transform({ event, cursor, cancelled, tool }) {
      const bridge = self.bridge!;
      told = event;
      behind = cursor ? 0 : behind + 1;
      place = cursor ?? place;
      if (tool) {
        const { call, answer, message } = tool;
        if (bridge.phase !== 'held') return [];
        const { toolCallId } = call;
        if (message) {
          messages = [...messages, { ...message, role: 'tool', toolCallId, id: env.randomId() }];
        }
        return bridge.answerTool(toolCallId, answer);
      }
      // Once a run was cancelled, every end but success is its cancellation.
      if (cancelled && bridge.phase !== 'ending' && isFailure(event)) {
        return bridge.cancel(self.reason);
      }
      const events = bridge.push(event);
      return cancelled && bridge.phase === 'held'
        ? [...events, ...bridge.cancel(self.reason)]
        : events;
    },
    goOn() {
      const { key, bridge } = self;
      const resume = bridge?.phase === 'held' && bridge.resume;
      if (resume && key !== undefined && !ids.includes(key)) start({ resume }, key);
    },
    cancel(quietly) {
      const id = current?.id;
      if (id === undefined || runs.isOver(id)) return;
      if (!quietly) access.abort(id);
      if (!runs.isCancelling(id)) runs.get(id)?.cancel();
    },
    wake: () => wake(),
    save: () => ({ ids, place, behind, key: self.key, messages }),
    end() {
      reader = undefined;
      signal?.removeEventListener('abort', onAbort);
      unlisten();
      release();
      stopTools?.();
      stopPatience?.();
      // A duplicated tab that asks at the same time must have given up before.
      if (lock) env.setTimer(lock.release, 2 * lockPatience);
      lock = undefined;
      queue = [];
      wake();
      options.onEnd(self);
    },
  };
  return self;
}
