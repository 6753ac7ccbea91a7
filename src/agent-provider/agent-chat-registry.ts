import type { Environment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { type AgentChatSession, createAgentChatSession } from './agent-chat-session.ts';
import type { AgentConversationKey, AgentXChatConfig } from './chat-types.ts';
import { isAgentProvider } from './run-agent-provider.ts';

/** How long an unused conversation is kept for a render that has not come to its end, in ms. */
const renderTime = 30_000;

/** The conversations of one provider that others can name. */
interface Registry {
  readonly sessions: Map<string | symbol, AgentChatSession>;
  /** Inputs for conversations that are not there yet. */
  readonly queued: Map<string | symbol, unknown[]>;
}

const registries = new WeakMap<object, Registry>();

/** A configuration, of which only the conversation matters. */
export type AgentChatSessionConfig = Pick<
  AgentXChatConfig<never, never, never, never>,
  'provider' | 'conversationKey' | 'defaultMessages'
>;

/** A key as it is remembered: a number is the same as its digits, and nothing is no key. */
const normalize = (key: AgentConversationKey | undefined): string | symbol | undefined =>
  typeof key === 'symbol' ? key : key === undefined || key === '' ? undefined : String(key);

/**
 * Find the conversation of a key, or make it.
 *
 * A conversation without a key is a new one each time, and so is any on a server: what one visitor
 * says must not reach another. Throws `unsupported` for anything but an AgentProvider.
 */
export function openAgentChatSession(
  config: AgentChatSessionConfig,
  env: Environment,
): AgentChatSession {
  const { provider, defaultMessages } = config;
  if (!isAgentProvider(provider)) {
    throw new RunSocketError('unsupported', 'provider is required, and must be an AgentProvider.');
  }
  const key = normalize(config.conversationKey);
  const isPage = 'window' in env.page;
  const registry = (isPage && registries.get(provider)) || {
    sessions: new Map(),
    queued: new Map(),
  };
  if (isPage) registries.set(provider, registry);
  const { sessions, queued } = registry;
  const known = key !== undefined && sessions.get(key);
  if (known) return known;

  let stopTimer: (() => void) | undefined;
  const session = createAgentChatSession({
    provider,
    conversationKey: typeof key === 'symbol' ? key : key && config.conversationKey,
    defaultMessages,
    env,
    queueRequest(otherKey, input) {
      const other = normalize(otherKey);
      const there = other === key ? session : other !== undefined && sessions.get(other);
      if (there) there.queue(input);
      else if (isPage && other !== undefined) {
        queued.set(other, [...(queued.get(other) ?? []), input]);
      } else throw new RunSocketError('invalid-argument', 'There is no such conversation.');
    },
    onActive() {
      stopTimer?.();
      if (key === undefined) return;
      if (!sessions.has(key)) sessions.set(key, session);
      const inputs = queued.get(key) ?? [];
      queued.delete(key);
      inputs.forEach(session.queue);
    },
    onIdle: forget,
  });
  function forget(disposed?: boolean) {
    stopTimer?.();
    if (key !== undefined && sessions.get(key) === session && (disposed || !session.used)) {
      sessions.delete(key);
    }
  }
  if (isPage && key !== undefined) {
    sessions.set(key, session);
    // Where its first render comes to nothing, nobody else says that it is not wanted.
    stopTimer = env.setTimer(forget, renderTime);
  }
  return session;
}
