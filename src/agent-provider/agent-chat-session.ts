import type { Environment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createAgentChatActions, interrupted } from './agent-chat-actions.ts';
import { createCheckpointWriter, loadCheckpoint } from './agent-chat-checkpoint.ts';
import { createDefaultMessages } from './agent-chat-defaults.ts';
import { createNotifier } from './agent-chat-notifier.ts';
import type { UnparsedSnapshot } from './agent-chat-parser.ts';
import { createAgentChatProjection, toMessages } from './agent-chat-projection.ts';
import { createAgentChatRuns } from './agent-chat-runs.ts';
import type {
  AgentChatMethods,
  AgentChatOptions,
  AgentCheckpoint,
  AgentConversationKey,
  DefaultMessages,
} from './chat-types.ts';
import { createAgentCommandStore } from './command-store.ts';
import type { AnyAgentProvider } from './provider-types.ts';
import { createInitialAgentState, getAgentEntityKey, toNode } from './state-node.ts';
import { getIn } from './state-records.ts';
import type { AgentMessageState } from './state-types.ts';
import { createAgentStore } from './store.ts';

/** One conversation, shared by all who show it. */
export interface AgentChatSession extends AgentChatMethods<unknown> {
  readonly sessionId: string;
  /** Something was said, asked or edited. */
  readonly used: boolean;
  getSnapshot(): UnparsedSnapshot;
  getServerSnapshot(): UnparsedSnapshot;
  subscribe(listener: () => void): () => void;
  dispose(): void;
  /** Starts a run once all is loaded. */
  queue(input: unknown): void;
}

/** What a conversation works with. */
export interface AgentChatSessionOptions {
  readonly provider: AnyAgentProvider & AgentChatOptions;
  /** Absent for a conversation that nobody else can name. */
  readonly conversationKey: AgentConversationKey | undefined;
  readonly defaultMessages: DefaultMessages<AgentMessageState> | undefined;
  readonly env: Environment;
  /** Starts a run in another conversation. */
  readonly queueRequest: AgentChatMethods<unknown>['queueRequest'];
  /** Somebody shows the conversation. */
  readonly onActive: () => void;
  /** Nobody shows the conversation any more; `disposed`: nobody will. */
  readonly onIdle: (disposed?: boolean) => void;
}

/** Make a conversation; nothing happens before it is read. */
export function createAgentChatSession(options: AgentChatSessionOptions): AgentChatSession {
  const { provider, conversationKey, defaultMessages, env, queueRequest } = options;
  const { onActive, onIdle } = options;
  const hasName = typeof conversationKey === 'string' || typeof conversationKey === 'number';
  const sessionId = hasName ? String(conversationKey) : `session_${env.randomId()}`;
  // A random name is not found again by the next page.
  const storage = (hasName && provider.checkpointStorage) || undefined;
  const store = createAgentStore();
  const empty = store.getSnapshot();
  const notifier = createNotifier(env);

  let snapshot: UnparsedSnapshot | undefined;
  let serverSnapshot: UnparsedSnapshot | undefined;
  let phase: 'new' | 'restoring' | 'ready' = 'new';
  let used = false;
  let shown = false;
  let left = false;
  let disposed = false;
  /** The provider has let go, and nobody has come since. */
  let resting = false;
  /** An input was given that is no JSON. */
  let unsaveable = false;
  /** `abort()` was called while it was not known yet what runs. */
  let aborting = false;
  /** Inputs that wait until it is known what runs. */
  let requests: unknown[] = [];
  /** Inputs that wait for the default messages, too. */
  let queued: unknown[] = [];
  let stopIdle: (() => void) | undefined;
  let stopWatching: readonly ((() => void) | undefined)[] | undefined;

  function changed(now?: boolean) {
    snapshot = undefined;
    notifier.changed(now);
  }

  function progressed(now?: boolean) {
    writer?.changed(now);
    changed(now);
  }

  const projection = createAgentChatProjection(
    (key) => getIn(toNode(store.getSnapshot()).messages, key),
    () => {
      used = true;
      changed(true);
    },
  );
  const defaults = createDefaultMessages(defaultMessages, conversationKey, env, (list) => {
    notifier.atOnce(() => {
      projection.prepend(list);
      changed(true);
      if (!disposed) drain();
    });
  });
  projection.prepend(defaults.given);
  const commands = createAgentCommandStore(env.now, () => progressed());
  const runs = createAgentChatRuns({
    provider,
    sessionId,
    store,
    env,
    onEvent({ type, runId, payload }) {
      used = true;
      if (type.startsWith('message.')) {
        const { messageId } = payload as { readonly messageId: string };
        projection.touch(getAgentEntityKey(runId, messageId));
      }
      // What an answer starts must find the conversation as it was asked.
      progressed(type === 'approval.resolved' || type === 'approval.requested');
    },
    onCursor: () => writer?.changed(),
    onConnection: () => changed(),
    remember: () => writer?.remember(),
    onEnd(runId) {
      commands.endRun(runId);
      progressed(true);
      forget();
    },
  });
  const writer = storage && createCheckpointWriter(env, storage, makeCheckpoint);

  function makeCheckpoint(): AgentCheckpoint | undefined {
    const state = store.getSnapshot();
    if (unsaveable || phase !== 'ready' || state === empty) return undefined;
    return {
      schemaVersion: 1,
      protocolVersion: '0.1',
      commandProtocolVersion: '0.1',
      sessionId,
      state,
      ...runs.save(),
      pendingCommands: commands.pending(),
      savedAt: env.now(),
    };
  }

  function begin() {
    if (phase !== 'new') return;
    phase = 'restoring';
    if (storage) loadCheckpoint(env, storage, sessionId, restore);
    else restore(undefined);
  }

  function restore(checkpoint: AgentCheckpoint | undefined) {
    phase = 'ready';
    notifier.atOnce(() => {
      if (checkpoint) {
        used = true;
        for (const { kind, runId, id } of store.reset(checkpoint.state).order) {
          if (kind === 'message') projection.touch(getAgentEntityKey(runId, id));
        }
        runs.restore(checkpoint);
        for (const command of checkpoint.pendingCommands) {
          if (!runs.signalOf(command.runId)) continue;
          commands.add(command);
          commands.settle(command, interrupted);
        }
      }
      if (aborting) runs.abort();
      else if (shown && !resting) runs.attach();
      drain();
      changed(true);
    });
  }

  function drain() {
    if (phase !== 'ready') return;
    const inputs = defaults.waiting ? requests : [...requests, ...queued];
    requests = [];
    if (!defaults.waiting) queued = [];
    inputs.forEach(start);
  }

  function start(input: unknown) {
    used = true;
    watch();
    if (storage && input !== undefined) {
      try {
        unsaveable ||= JSON.stringify(input) === undefined;
      } catch {
        unsaveable = true;
      }
    }
    notifier.atOnce(() => runs.start(input));
  }

  function activate() {
    stopIdle?.();
    stopIdle = undefined;
    if (disposed) return;
    if (shown) return goOn();
    shown = true;
    left = resting = false;
    onActive();
    watch();
    begin();
    defaults.load();
    if (phase === 'ready') notifier.atOnce(runs.attach);
  }

  function watch() {
    stopWatching ??= [writer?.watch(), provider.onDispose?.(rest)];
  }

  function rest() {
    resting = true;
    runs.detach(false);
    writer?.flush();
    changed(true);
  }

  function goOn() {
    const wasResting = resting;
    resting = false;
    if (wasResting && phase === 'ready') notifier.atOnce(runs.attach);
  }

  function leave() {
    stopIdle = undefined;
    shown = resting = false;
    left = true;
    runs.detach(conversationKey === undefined);
    writer?.flush();
    for (const stop of stopWatching ?? []) stop?.();
    stopWatching = undefined;
    forget();
    onIdle(disposed);
  }

  /** A conversation that nobody can name does not come back. */
  function forget() {
    if (!left || conversationKey !== undefined || runs.size) return;
    try {
      provider.forgetSession?.(sessionId);
    } catch (error) {
      env.report(error);
    }
  }

  function check() {
    if (disposed) throw new RunSocketError('closed', 'The conversation was disposed.');
    begin();
    goOn();
  }

  function getSnapshot(): UnparsedSnapshot {
    begin();
    snapshot ??= {
      messages: projection.getMessages(),
      agentState: store.getSnapshot(),
      ...commands.getSnapshot(),
      connectionState: phase === 'restoring' ? phase : resting ? 'idle' : runs.connection,
      isRequesting: runs.size + requests.length > 0,
      isDefaultMessagesRequesting: defaults.waiting,
    };
    return snapshot;
  }

  function onRequest(input: unknown) {
    check();
    if (phase === 'ready') return start(input);
    requests.push(input);
    changed(true);
  }

  return {
    sessionId,
    get used() {
      return used;
    },
    getSnapshot,
    getServerSnapshot: () =>
      (serverSnapshot ??= {
        messages: toMessages(defaults.given),
        agentState: createInitialAgentState(),
        commandStates: {},
        latestCommandByAction: {},
        connectionState: 'idle',
        isRequesting: false,
        isDefaultMessagesRequesting: typeof defaultMessages === 'function',
      }),
    subscribe(listener) {
      const remove = notifier.add(listener);
      activate();
      return () => {
        remove();
        // React leaves and comes back at once where it checks effects or renders anew.
        if (shown && !notifier.size) stopIdle ??= env.setTimer(leave, 0);
      };
    },
    agentActions: createAgentChatActions({
      provider,
      sessionId,
      env,
      runs,
      commands,
      getState() {
        check();
        if (phase === 'ready') return store.getSnapshot();
        throw new RunSocketError('invalid-argument', 'The conversation is being restored.');
      },
    }),
    onRequest,
    onReload(id, input) {
      const found = getSnapshot().messages.find((info) => info.id === id);
      if (!found) throw new RunSocketError('invalid-argument', `There is no message '${id}'.`);
      const asked = input ?? runs.inputOf(found.message.runId);
      if (asked === undefined) {
        throw new RunSocketError('invalid-argument', `The message '${id}' came from no input.`);
      }
      onRequest(asked);
    },
    abort() {
      begin();
      requests = [];
      queued = [];
      if (phase === 'ready') notifier.atOnce(runs.abort);
      else aborting = true;
      resting = false;
      changed(true);
    },
    queueRequest,
    queue(input) {
      check();
      defaults.load();
      used = true;
      queued.push(input);
      drain();
    },
    setMessages: projection.setMessages,
    setMessage: projection.setMessage,
    removeMessage: projection.removeMessage,
    dispose() {
      if (disposed) return;
      disposed = true;
      requests = [];
      queued = [];
      stopIdle?.();
      leave();
    },
  };
}
