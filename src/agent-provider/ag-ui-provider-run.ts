import { getAgentAccess } from '../ag-ui/agent-access.ts';
import type { AgUiAgent } from '../ag-ui/agent-types.ts';
import type { AgUiEvent } from '../ag-ui/events.ts';
import type { AgUiInputMessage, RunInput } from '../ag-ui/input.ts';
import { RunSocketError } from '../internal/errors.ts';
import { type RunLock, requestRunLock } from '../runs/run-lock.ts';
import type { Run } from '../runs/types.ts';
import { toAbortError } from './abortable.ts';
import { type AgUiCursor, type AgUiOffset, createAgUiListener } from './ag-ui-provider-listener.ts';
import { runClientTools, type ToolAnswer } from './ag-ui-provider-tools.ts';
import type { AgUiChunk, AgUiClientTool } from './ag-ui-provider-types.ts';
import type { AgUiBridge } from './bridge-types.ts';
import type { AgentEvent, AgentEventFactory } from './event-types.ts';
import type { AgentProviderContextOptions } from './provider-types.ts';

/** A chunk with what only this provider's own functions look at. */
export interface AgUiRunChunk extends AgUiChunk {
  readonly cursor?: AgUiCursor | undefined;
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
  /** What each of its AG-UI runs is offered besides messages. */
  readonly offer?: RunInput | undefined;
  /** The answers that the last AG-UI run was made for, where it may not have left the page. */
  readonly unsent?: RunInput | undefined;
}

/** One AgentEvent run over the AG-UI runs that it spans: its transport, its parsing and its commands share it. */
export interface AgUiRun {
  readonly sessionId: string;
  readonly runId: string;
  readonly agent: AgUiAgent<unknown>;
  readonly events: AgentEventFactory;
  readonly remember: AgentProviderContextOptions['remember'];
  /** Absent until the run has begun. */
  bridge?: AgUiBridge;
  input?: RunInput;
  /** Why it was cancelled. */
  reason?: string | undefined;
  /** Names the AG-UI run that answers the interrupts. */
  key?: string | undefined;
  /** What a command tells comes before the next chunk. */
  paused?: boolean;
  /** The AG-UI run under way, or the last one. */
  readonly current: Run<AgUiEvent, AgUiOffset> | undefined;
  /** Somebody reads it. */
  readonly reading: boolean;
  owns(aguiRunId: string): boolean;
  /** Its chunks from the next one on; `signal` cancels, leaving the loop does not. */
  read(signal: AbortSignal): AsyncIterableIterator<AgUiChunk>;
  transform(chunk: AgUiRunChunk): readonly AgentEvent[];
  /** Ends it as its log has ended. */
  flush(): readonly AgentEvent[];
  /** Starts the AG-UI run that answers the interrupts, once all of them are. */
  goOn(): void;
  /** Asks the server to stop the AG-UI run under way; its thread shows that at once, or (`quietly`) once the server has. */
  cancel(quietly?: boolean): void;
  /** Looks again at what the reader waits for. */
  wake(): void;
  save(): SavedAgUiRun;
  /** Lets go of everything until somebody reads it again; what streams goes on at the server. */
  rest(): void;
  /** Lets go of everything for good; what streams goes on in the agent. */
  end(): void;
}

/** How long the page that owns a run may take to say so, in ms. */
const lockPatience = 1_000;

/** Make a run of an agent; `others` has every run of the provider. */
export function createAgUiRun(
  identity: Pick<AgUiRun, 'sessionId' | 'runId' | 'agent' | 'events' | 'remember'>,
  others: Set<AgUiRun>,
  clientTools: Readonly<Record<string, AgUiClientTool>> | undefined,
  saved?: SavedAgUiRun,
): AgUiRun {
  const { sessionId, runId, agent, remember } = identity;
  const access = getAgentAccess(agent);
  const { runs, environment: env } = access;
  // Written down before it was sent, a run has its first one ahead: it may have left the page.
  const ids = saved?.ids.length === 0 ? [runId] : [...(saved?.ids ?? [])];
  let messages = saved?.messages ?? [];
  let offer = saved?.offer;
  let unsent = saved?.unsent;
  /** The next AG-UI run waits until it is written down. */
  let writing: (() => void) | undefined;
  /** It is stopped as soon as it is sent. */
  let stopping = false;
  /** A tool's answer is told, and not written down yet. */
  let unkept = false;
  /** The last place whose events are told. */
  let place = saved?.place;
  let behind = saved?.behind ?? 0;
  let queue: AgUiRunChunk[] = [];
  /** How many chunks wait for a reader who is away; beyond, they are asked for again. */
  let limit = 10_000;
  let lost = false;
  /** The chunk that was given out last, and the event that was told last. */
  let given: AgUiRunChunk | undefined;
  let told: AgUiEvent | undefined;
  let begun = false;
  let failure: { readonly error: unknown } | undefined;
  let signal: AbortSignal | undefined;
  let reader: object | undefined;
  /** The reader who was there when the provider let go. */
  let dropped: object | undefined;
  let lock: RunLock | undefined;
  let stopTools: (() => void) | undefined;
  let stopPatience: (() => void) | undefined;
  let release = () => {};
  let wake = () => {};
  const look = () => wake();

  const listener = createAgUiListener(
    agent,
    access,
    (id, event, offset) =>
      push({ runId: id, offset, event, cursor: { runId: id, offset: offset ?? null } }),
    look,
    fail,
  );

  function push(chunk: AgUiRunChunk) {
    if (!lost) {
      queue.push(chunk);
      if (queue.length > limit) {
        lost = true;
        queue = [];
        // Were it always the same, a log that comes at once would never be through.
        limit *= 2;
      }
    }
    wake();
  }

  function fail(error: unknown) {
    failure ??= { error };
    wake();
  }

  // Tells the bridge by an event of `type` that it goes on with another AG-UI run.
  function announce(id: string, type: 'RUN_STARTED' | 'RAW') {
    const event = { type, threadId: agent.threadId, runId: id } as AgUiEvent;
    push({ runId: id, event, cursor: { runId: id } });
  }

  function join(id: string, type: 'RUN_STARTED' | 'RAW') {
    announce(id, type);
    listener.listen(id);
  }

  function leaveTools() {
    stopTools?.();
    stopTools = undefined;
    messages = [];
  }

  function start(input: RunInput, id: string) {
    const isFirst = !ids.length;
    // A first question that was never sent is the application's to ask again; answers are told as given.
    if (!isFirst) unsent = input;
    ids.push(id);
    leaveTools();
    const send = () => {
      // Whoever lets go of the run leaves it to the next reader, or to nobody.
      if (writing !== send || self.bridge?.phase === 'ended') return;
      writing = undefined;
      try {
        agent.run(input, { runId: id });
        // Held runs go on with it, whatever the server begins with.
        join(id, 'RUN_STARTED');
        if (stopping) cancel();
      } catch (error) {
        fail(error);
      }
    };
    // A page that dies in between has two steps of the conversation to ask for, and not the last alone.
    writing = send;
    const written = isFirst ? undefined : remember?.();
    if (written) written.then(send);
    else send();
  }

  function begin() {
    begun = true;
    if (clientTools) lock = requestRunLock(`tools:${runId}`, env, look);
    if (!ids.length) {
      const { input } = self;
      const { tools, context, forwardedProps } = input ?? {};
      offer = {
        ...(tools && { tools }),
        ...(context && { context }),
        ...(forwardedProps !== undefined && { forwardedProps }),
      };
      // AG-UI wants every open question answered, also one that nobody will answer any more.
      const resume = agent
        .getSnapshot()
        .interrupts?.map(({ id }) => ({ interruptId: id, status: 'cancelled' as const }));
      return start({ ...(resume && { resume }), ...input }, runId);
    }
    const id = ids.at(-1)!;
    if (unsent) {
      const { runId: last, messages: said } = agent.getSnapshot();
      const wasSent =
        runs.get(id) ||
        last === id ||
        unsent.messages?.some((one) => said.some((message) => message.id === one.id));
      if (!wasSent && !signal?.aborted) agent.run(unsent, { runId: id });
      if (place?.runId !== id) announce(id, 'RUN_STARTED');
    }
    const isTold = place?.runId === id && /^(held|end)/.test(self.bridge!.phase);
    if (!isTold || !runs.isOver(id)) {
      listener.follow(id, place, behind);
    }
  }

  // Nothing comes of the AG-UI runs any more before somebody answers.
  function hold({ pendingTools, resume }: AgUiBridge) {
    const other = runs
      .getSnapshot()
      .find(({ id }) => access.isShown(id) && ![...others].some((run) => run.owns(id)))?.id;
    if (other !== undefined) {
      // Another view of the thread has answered; what, only the server's own event says.
      ids.push(other);
      leaveTools();
      join(other, 'RAW');
      stopTools = () => {};
    } else if (resume) goOn();
    else if (pendingTools.length && !stopTools) {
      if (lock?.owned) {
        stopTools = runClientTools(pendingTools, clientTools!, { sessionId, runId }, (tool) => {
          push({ runId: ids.at(-1)!, event: { type: 'RAW', event: tool }, cursor: place, tool });
        });
      } else {
        // The tools of a duplicated tab's run are its original's.
        stopPatience ??= env.setTimer(() => {
          stopTools = () => {};
        }, lockPatience);
      }
    }
  }

  // Looks what follows once everything that came is told; `true`: nothing.
  function isOver(): boolean {
    const bridge = self.bridge!;
    const { phase } = bridge;
    if (phase === 'ended') return true;
    const { status = 'failed', error } = listener.run?.getSnapshot() ?? {};
    if (error) throw error;
    if (writing) return false;
    if (unkept && phase === 'held') remember?.();
    unkept = false;
    if (phase === 'held') hold(bridge);
    else if (phase === 'ending' && messages.length) start({ ...offer, messages }, env.randomId());
    else if (/^(fin|can|fai)/.test(status)) {
      if (phase !== 'ending' && (status === 'failed' || listener.stale)) {
        throw new RunSocketError('run-lost', `Run ${runId} ended before its end.`);
      }
      return true;
    }
    return false;
  }

  async function pull(mine: object): Promise<IteratorResult<AgUiChunk, undefined>> {
    // A run that begins before its history is read would be without it.
    if (!begun && access.ready) await access.ready;
    for (;;) {
      if (failure) {
        end();
        throw failure.error;
      }
      if (dropped === mine) throw new RunSocketError('closed', 'The provider was disposed.');
      if (reader !== mine) break;
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      try {
        if (!begun) begin();
        if (lost) {
          lost = false;
          listener.follow(ids.at(-1)!, place, behind);
        }
        const value = self.paused ? undefined : queue.shift();
        if (value) {
          const [next] = queue;
          given = value;
          // Behind one event of a frame is no place to go on from.
          const inFrame =
            next && next.cursor?.offset === value.offset && next.runId === value.runId;
          return { done: false, value: inFrame ? { ...value, cursor: undefined } : value };
        }
        if (!self.paused && isOver()) {
          end();
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
      if (ids.length && !begun) begin();
    } catch {
      // There is nothing to cancel.
    }
    cancel();
    fail(toAbortError(signal!));
    end();
  }

  function attach(mine: object, next: AbortSignal) {
    signal?.removeEventListener('abort', onAbort);
    signal = next;
    reader = mine;
    if (!lost && given && told !== given.event) queue.unshift(given);
    // A reader who was just left may still have to say so.
    const letGoBefore = release;
    if (ids.length || !next.aborted) {
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

  function goOn() {
    const { key, bridge } = self;
    const resume = bridge?.phase === 'held' && bridge.resume;
    // Its id makes it one run, however often it is started.
    if (resume && !writing) start({ ...offer, resume }, key!);
  }

  function cancel(quietly?: boolean) {
    const { id } = listener.run ?? {};
    stopping = !!writing;
    if (id === undefined || runs.isOver(id)) return;
    if (!quietly) access.abort(id);
    if (!runs.isCancelling(id)) runs.get(id)?.cancel();
  }

  function letGo() {
    reader = undefined;
    signal?.removeEventListener('abort', onAbort);
    listener.stop();
    release();
    stopTools?.();
    stopPatience?.();
    lock = stopTools = stopPatience = given = writing = undefined;
    queue = [];
    wake();
  }

  function end() {
    // A duplicated tab that asks at the same time must have given up before.
    if (lock) env.setTimer(lock.release, 2 * lockPatience);
    letGo();
    others.delete(self);
  }

  const self: AgUiRun = {
    ...identity,
    key: saved?.key,
    get current() {
      return listener.run;
    },
    get reading() {
      return !!reader;
    },
    owns: (id) => ids.includes(id),
    read(given) {
      let attached = false;
      return {
        next() {
          if (!attached) attach(this, given);
          attached = true;
          return pull(this);
        },
        async return() {
          attached = true;
          if (reader === this) {
            reader = undefined;
            release();
            wake();
          }
          return { done: true, value: undefined };
        },
        [Symbol.asyncIterator]() {
          return this;
        },
      };
    },
    transform({ runId: id, event, cursor, tool }) {
      const bridge = self.bridge!;
      const { type } = event;
      told = event;
      behind = cursor ? 0 : behind + 1;
      place = cursor ?? place;
      if (tool) {
        const { call, answer, message } = tool;
        if (bridge.phase !== 'held') return [];
        const { toolCallId } = call;
        unkept = true;
        if (message) {
          messages = [...messages, { ...message, role: 'tool', toolCallId, id: env.randomId() }];
        }
        return bridge.answerTool(toolCallId, answer);
      }
      if (!runs.isCancelling(id) || bridge.phase === 'ending') return bridge.push(event);
      // Once a run was cancelled, every end but success is its cancellation.
      const isEnd =
        type === 'RUN_ERROR' || (type === 'RUN_FINISHED' && event.outcome?.type === 'cancelled');
      const events = isEnd ? [] : bridge.push(event);
      return isEnd || bridge.phase === 'held' ? [...events, ...bridge.cancel(self.reason)] : events;
    },
    flush() {
      const bridge = self.bridge!;
      const { status } = listener.run?.getSnapshot() ?? {};
      const isUntold = bridge.phase === 'running';
      if (isUntold && status === 'cancelled') return bridge.cancel(self.reason);
      const last =
        isUntold && status === 'finished' ? bridge.push({ type: 'RUN_FINISHED' } as AgUiEvent) : [];
      return [...last, ...bridge.flush()];
    },
    goOn,
    cancel,
    wake: look,
    rest() {
      dropped = reader;
      lock?.release();
      letGo();
      // Whoever reads it again begins as the next page does.
      begun = lost = false;
    },
    save: () => ({
      ids: [...ids],
      place,
      behind,
      key: self.key,
      messages,
      offer,
      unsent:
        begun && place?.runId === ids.at(-1) && listener.run?.getSnapshot().status !== 'queued'
          ? undefined
          : unsent,
    }),
    end,
  };
  return self;
}
