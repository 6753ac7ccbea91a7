import { useMemo, useState } from 'react';
import { createSnapshotParser } from '../agent-provider/agent-chat-parser.ts';
import {
  type AgentChatSessionConfig,
  openAgentChatSession,
} from '../agent-provider/agent-chat-registry.ts';
import type { AgentChatSession } from '../agent-provider/agent-chat-session.ts';
import type {
  AgentChatMethods,
  AgentChatSnapshot,
  AgentXChatConfig,
} from '../agent-provider/chat-types.ts';
import type { AgentMessageState } from '../agent-provider/state-types.ts';
import { defaultEnvironment } from '../internal/environment.ts';
import { useStore } from './use-store.ts';

/** What {@link useXChat} returns: what a conversation shows, and what it can be told. */
export interface UseXChatResult<Input, ParsedMessage = AgentMessageState>
  extends AgentChatSnapshot<ParsedMessage>,
    AgentChatMethods<Input> {}

/**
 * A conversation with an agent, re-rendering when it changes.
 *
 * Components that name one `conversationKey` at one provider share the conversation. One without a key
 * belongs to its component. The provider must be the same object in every render; a `parser` written
 * inline is one that has changed, and parses all messages in every render.
 *
 * When the last component leaves, runs of a resumable provider go on at the server and are taken up
 * again by the next; those of other providers, and of conversations without a key, are aborted. Server
 * rendering and hydration show the default messages. Throws `unsupported` for anything but an
 * AgentProvider.
 *
 * @example
 * const { messages, onRequest, abort, isRequesting } = useXChat({ provider, conversationKey: 'support' });
 */
export function useXChat<
  Input,
  Request,
  Chunk,
  Context = unknown,
  ParsedMessage = AgentMessageState,
>(
  config: AgentXChatConfig<Input, Request, Chunk, Context, ParsedMessage>,
): UseXChatResult<Input, ParsedMessage> {
  const { provider, conversationKey, parser } = config;
  // React may forget what it has memoised, and a conversation without a key is found nowhere else.
  const [own] = useState(() => new WeakMap<object, AgentChatSession>());
  const isOwn = conversationKey === undefined || conversationKey === '';
  // biome-ignore lint/correctness/useExhaustiveDependencies: a conversation keeps the default messages that it began with.
  const session = useMemo(() => {
    const known = isOwn && own.get(Object(provider));
    const opened =
      known || openAgentChatSession(config as AgentChatSessionConfig, defaultEnvironment);
    if (isOwn) own.set(provider, opened);
    return opened;
  }, [own, isOwn, provider, conversationKey]);
  const parse = useMemo(() => createSnapshotParser(parser), [parser]);
  const snapshot = useStore(session, parse);
  return useMemo(() => {
    const { agentActions, onRequest, onReload, abort, queueRequest } = session;
    const { setMessages, setMessage, removeMessage } = session;
    return {
      ...snapshot,
      agentActions,
      onRequest,
      onReload,
      abort,
      queueRequest,
      setMessages,
      setMessage,
      removeMessage,
    };
  }, [session, snapshot]);
}
