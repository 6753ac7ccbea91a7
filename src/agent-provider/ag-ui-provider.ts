import { createAgUiAgent } from '../ag-ui/agent.ts';
import { getAgentAccess } from '../ag-ui/agent-access.ts';
import type { AgUiAgent } from '../ag-ui/agent-types.ts';
import type { AgUiInputMessage, RunInput } from '../ag-ui/input.ts';
import { getWire } from '../client/wire.ts';
import { RunSocketError } from '../internal/errors.ts';
import { isRecord } from '../internal/json-values.ts';
import { createAgUiBridge } from './ag-ui-bridge.ts';
import { executeAgUiCommand } from './ag-ui-provider-commands.ts';
import type { AgUiCursor } from './ag-ui-provider-listener.ts';
import { createAgUiRun } from './ag-ui-provider-run.ts';
import type { AgUiRun, AgUiRunChunk, SavedAgUiRun } from './ag-ui-provider-run-types.ts';
import type {
  AgUiProvider,
  AgUiProviderInput,
  AgUiProviderOptions,
} from './ag-ui-provider-types.ts';
import type { AgUiBridgeOptions } from './bridge-types.ts';
import { createWebStorageAgentCheckpointStorage } from './checkpoint-storage.ts';
import {
  AGENT_EVENT_PROTOCOL,
  AGENT_EVENT_PROTOCOL_VERSION,
  agentEventTypes,
} from './event-guards.ts';
import type { AgentProviderContextOptions } from './provider-types.ts';

const invalid = (text: string) => new RunSocketError('invalid-argument', text);

/**
 * Make an AgentProvider over AG-UI agents, one for each session.
 *
 * `useAgUiAgent(provider.getAgent(sessionId))` shows the same runs, over the same connection. An
 * aborted run is cancelled at the server; a loop that is left goes on there, and `transport.resume`
 * takes it up again, also on the next page. No error is worth another try of the caller's: what helps
 * against lost connections was done before one is told. Throws `invalid-argument` without a client or
 * an agent.
 *
 * @example
 * const provider = createAgUiProvider({ client: createWebSocketClient('wss://example.com/agent') });
 * const { messages, onRequest } = useXChat({ provider, conversationKey: 'one' });
 */
export function createAgUiProvider<S = unknown>(options: AgUiProviderOptions<S>): AgUiProvider<S> {
  const { id = 'ag-ui', client, agent: given, agentOptions, clientTools } = options;
  const { checkpointStorage, reconnect } = options;
  if (!client && !given) throw invalid('createAgUiProvider() takes a client or an agent.');
  const agents = new Map<string, AgUiAgent<S>>();
  const runs = new Set<AgUiRun>();
  const listeners = new Set<() => void>();

  function getAgent(sessionId: string): AgUiAgent<S> {
    let agent = agents.get(sessionId);
    if (!agent) {
      agent =
        typeof given === 'function'
          ? given(sessionId)
          : (given ??
            createAgUiAgent<S, never, never>(client!, {
              remember: 'thread',
              // The store's own place in the log is often behind a thread's.
              checkpoint: false,
              ...agentOptions,
              name: `${agentOptions?.name ?? id}:${sessionId}`,
            }));
      agents.set(sessionId, agent);
    }
    return agent;
  }

  const isOf = (run: AgUiRun, { sessionId, runId }: Pick<AgUiRun, 'sessionId' | 'runId'>) =>
    run.sessionId === sessionId && run.runId === runId;

  function createRun(
    { sessionId, runId, events, remember }: AgentProviderContextOptions,
    saved?: SavedAgUiRun,
  ): AgUiRun {
    const agent = getAgent(sessionId) as AgUiAgent<unknown>;
    return createAgUiRun({ sessionId, runId, events, agent, remember }, runs, clientTools, saved);
  }

  // A run that nobody reads gives way to the next one of its session.
  function register(run: AgUiRun) {
    for (const one of [...runs]) {
      if (one !== run && (isOf(one, run) || (one.sessionId === run.sessionId && !one.reading))) {
        one.end();
      }
    }
    runs.add(run);
  }

  function find(isIt: (run: AgUiRun) => boolean): AgUiRun {
    const run = [...runs].reverse().find(isIt);
    if (!run) throw invalid('The run is not under way here.');
    return run;
  }

  // The bridge's options are the provider's.
  const createBridge = (run: AgUiRun, more: Partial<AgUiBridgeOptions>) => {
    run.bridge = createAgUiBridge({
      ...(options as Partial<AgUiBridgeOptions>),
      ...more,
      clientTools: !!clientTools,
      events: run.events,
    });
    return run.bridge;
  };

  // Asked again, a question is another message.
  function toRunInput(run: AgUiRun, input: AgUiProviderInput, ids: readonly string[]): RunInput {
    const { prompt, messages = [], ...rest } = (input ?? {}) as RunInput & { prompt?: string };
    const { randomId } = getAgentAccess(run.agent).environment;
    const asked: AgUiInputMessage[] = [...messages];
    const known = new Set(ids);
    if (prompt !== undefined) asked.push({ role: 'user', content: prompt });
    return {
      ...rest,
      messages: asked.map((message) => ({
        ...message,
        id: message.id === undefined || known.has(message.id) ? randomId() : message.id,
      })),
    };
  }

  return {
    id,
    protocol: { name: AGENT_EVENT_PROTOCOL, version: AGENT_EVENT_PROTOCOL_VERSION },
    capabilities: {
      eventTypes: agentEventTypes.filter(
        (type) => options.custom || (type !== 'session.started' && type !== 'task.updated'),
      ),
      transports: ['websocket'],
      commands: [
        ...(options.interrupts === 'settle' ? [] : (['approval.resolve'] as const)),
        'run.cancel',
        ...(options.toolFailure && options.retryTool ? (['tool.retry'] as const) : []),
      ],
      resumable: agentOptions?.policy !== 'cancel',
    },
    transport: {
      kind: 'websocket',
      open: (request, signal) => find((run) => isOf(run, request)).read(signal),
      getCursor: (chunk) => (chunk as AgUiRunChunk).cursor,
      resume: (request, cursor, signal) =>
        find((run) =>
          request
            ? isOf(run, request)
            : isRecord(cursor) && run.owns((cursor as unknown as AgUiCursor).runId),
        ).read(signal),
    },
    createContext: (given) => createRun(given),
    start(input, context) {
      const run = context as AgUiRun;
      const { messages, state, stale } = run.agent.getSnapshot();
      const knownMessageIds = messages.map((message) => message.id);
      run.input = toRunInput(run, input, knownMessageIds);
      return createBridge(run, {
        input: run.input,
        knownMessageIds,
        state: stale ? undefined : state,
      }).start();
    },
    prepareRequest(_input, context) {
      const run = context as AgUiRun;
      const { sessionId, runId, input = {} } = run;
      register(run);
      return { sessionId, runId, input };
    },
    transformChunk: (chunk, context) => (context as AgUiRun).transform(chunk),
    flush: (context) => (context as AgUiRun).flush(),
    transformError(error, context) {
      const run = context as AgUiRun;
      // An input that cannot be read has begun nothing.
      return (run.bridge ?? createBridge(run, {})).fail(error);
    },
    classifyError: () => ({ retryable: false }),
    executeCommand(command, { signal }) {
      const run = find((one) => isOf(one, command));
      const { environment } = getAgentAccess(run.agent);
      return executeAgUiCommand(run, command, signal, options, environment);
    },
    saveContext(context) {
      const run = context as AgUiRun;
      return run.bridge && { ...run.save(), bridge: run.bridge.snapshot() };
    },
    restoreContext(saved, given) {
      if (!isRecord(saved) || !Array.isArray(saved.ids) || !Array.isArray(saved.messages)) {
        throw invalid('This is no context of the provider.');
      }
      const run = createRun(given, saved as unknown as SavedAgUiRun);
      createBridge(run, { restore: saved.bridge });
      register(run);
      return run;
    },
    forgetSession(sessionId) {
      for (const run of [...runs]) if (run.sessionId === sessionId) run.end();
      const agent = agents.get(sessionId);
      agents.delete(sessionId);
      if (!agent || given) return;
      agent.reset();
      agent.dispose();
    },
    checkpointStorage:
      checkpointStorage === undefined
        ? createWebStorageAgentCheckpointStorage(
            undefined,
            { prefix: `runsocket:chat:${id}:` },
            client && getWire(client).environment,
          )
        : checkpointStorage,
    reconnect,
    clientTools,
    getAgent,
    onDispose(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    dispose() {
      for (const letGo of [...listeners]) letGo();
      for (const run of runs) run.rest();
      if (!given) for (const agent of agents.values()) agent.dispose();
    },
  };
}
