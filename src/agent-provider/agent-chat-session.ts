import type { Environment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createAgentChatActions, interrupted } from './agent-chat-actions.ts';
import { createDefaultMessages } from './agent-chat-defaults.ts';
import { createAgentChatInputs } from './agent-chat-inputs.ts';
import { createAgentChatMemory } from './agent-chat-memory.ts';
import { createNotifier } from './agent-chat-notifier.ts';
import type { UnparsedSnapshot } from './agent-chat-parser.ts';
import { createAgentChatPresence } from './agent-chat-presence.ts';
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
  const notifier = createNotifier(env);

  let snapshot: UnparsedSnapshot | undefined;
  let serverSnapshot: UnparsedSnapshot | undefined;
  let used = false;
  let disposed = false;
  /** `abort()` was called while it was not known yet what runs. */
  let aborting = false;

  const isReady = () => memory.phase === 'ready';

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
      if (!disposed) inputs.drain();
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
      presence.forget();
    },
  });
  const memory = createAgentChatMemory({
    env,
    storage,
    sessionId,
    getState: store.getSnapshot,
    save: () => ({ ...runs.save(), pendingCommands: commands.pending() }),
    onReady: restore,
  });
  const { writer, begin } = memory;
  const presence = createAgentChatPresence({
    provider,
    sessionId,
    isOwn: conversationKey === undefined,
    env,
    runs,
    writer,
    onEnter() {
      onActive();
      begin();
      defaults.load();
    },
    onLeave: () => onIdle(disposed),
    attach() {
      if (isReady()) notifier.atOnce(runs.attach);
    },
    onRest: () => changed(true),
  });
  const inputs = createAgentChatInputs(isReady, () => defaults.waiting, start);

  function restore(checkpoint: AgentCheckpoint | undefined) {
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
      else if (presence.shown && !presence.resting) runs.attach();
      inputs.drain();
      changed(true);
    });
  }

  function start(input: unknown) {
    used = true;
    presence.watch();
    memory.check(input);
    notifier.atOnce(() => runs.start(input));
  }

  function check() {
    if (disposed) throw new RunSocketError('closed', 'The conversation was disposed.');
    begin();
    presence.use();
  }

  function getSnapshot(): UnparsedSnapshot {
    begin();
    snapshot ??= {
      messages: projection.getMessages(),
      agentState: store.getSnapshot(),
      ...commands.getSnapshot(),
      connectionState:
        memory.phase === 'restoring' ? memory.phase : presence.resting ? 'idle' : runs.connection,
      isRequesting: runs.size + inputs.waiting > 0,
      isDefaultMessagesRequesting: defaults.waiting,
    };
    return snapshot;
  }

  function onRequest(input: unknown) {
    check();
    if (isReady()) return start(input);
    inputs.request(input);
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
      if (!disposed) presence.enter();
      return () => {
        remove();
        // React leaves and comes back at once where it checks effects or renders anew.
        if (!notifier.size) presence.leaveSoon();
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
        if (isReady()) return store.getSnapshot();
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
      inputs.clear();
      if (isReady()) notifier.atOnce(runs.abort);
      else aborting = true;
      presence.wake();
      changed(true);
    },
    queueRequest,
    queue(input) {
      check();
      defaults.load();
      used = true;
      inputs.queue(input);
    },
    setMessages: projection.setMessages,
    setMessage: projection.setMessage,
    removeMessage: projection.removeMessage,
    dispose() {
      if (disposed) return;
      disposed = true;
      inputs.clear();
      presence.leave();
    },
  };
}
