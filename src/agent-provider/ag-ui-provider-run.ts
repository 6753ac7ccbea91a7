import { getAgentAccess } from '../ag-ui/agent-access.ts';
import type { AgUiEvent } from '../ag-ui/events.ts';
import type { RunInput } from '../ag-ui/input.ts';
import { toPlainTools } from '../ag-ui/plain-tools.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createAgUiListener } from './ag-ui-provider-listener.ts';
import { createAgUiChunkReader } from './ag-ui-provider-reader.ts';
import type { AgUiRun, SavedAgUiRun } from './ag-ui-provider-run-types.ts';
import { createPageTools } from './ag-ui-provider-tools.ts';
import type { AgUiClientTool } from './ag-ui-provider-types.ts';
import type { AgUiBridge } from './bridge-types.ts';

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

  const reader = createAgUiChunkReader({
    get ready() {
      return access.ready;
    },
    get paused() {
      return !!self.paused;
    },
    get known() {
      return ids.length > 0;
    },
    begin,
    follow: () => listener.follow(ids.at(-1)!, place, behind),
    isOver,
    connect() {
      const stopWatch = runs.subscribe(() => self.bridge?.phase === 'held' && wake());
      const letGo = agent.connect();
      return () => {
        stopWatch();
        letGo();
      };
    },
    cancel: () => cancel(),
    end,
  });
  const { push, fail, wake } = reader;
  const tools = createPageTools(env, clientTools, { sessionId, runId }, wake, (tool) => {
    push({ runId: ids.at(-1)!, event: { type: 'RAW', event: tool }, cursor: place, tool });
  });
  const listener = createAgUiListener(
    agent,
    access,
    (id, event, offset) =>
      push({ runId: id, offset, event, cursor: { runId: id, offset: offset ?? null } }),
    wake,
    fail,
  );

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
    tools.callOff();
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
    tools.claim();
    if (!ids.length) {
      const { input } = self;
      const { tools: offered, context, forwardedProps } = input ?? {};
      offer = {
        ...(offered && { tools: toPlainTools(offered) }),
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
      if (!wasSent && !reader.aborted) agent.run(unsent, { runId: id });
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
      tools.forgo();
    } else if (resume) goOn();
    else tools.run(pendingTools);
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

  function letGo(forGood: boolean) {
    listener.stop();
    tools.release(forGood);
    writing = undefined;
  }

  function end() {
    letGo(true);
    reader.close();
    others.delete(self);
  }

  const self: AgUiRun = {
    ...identity,
    key: saved?.key,
    get current() {
      return listener.run;
    },
    get reading() {
      return reader.reading;
    },
    owns: (id) => ids.includes(id),
    read: reader.read,
    transform(chunk) {
      const { runId: id, event, cursor, tool } = chunk;
      const bridge = self.bridge!;
      const { type } = event;
      reader.told(chunk);
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
    wake,
    rest() {
      letGo(false);
      reader.drop();
    },
    save: () => ({
      ids: [...ids],
      place,
      behind,
      key: self.key,
      messages,
      offer,
      unsent:
        reader.begun &&
        place?.runId === ids.at(-1) &&
        listener.run?.getSnapshot().status !== 'queued'
          ? undefined
          : unsent,
    }),
    end,
  };
  return self;
}
