import { defaultEnvironment, type Environment } from '../internal/environment.ts';
import { createSnapshotParser } from './agent-chat-parser.ts';
import { type AgentChatSessionConfig, openAgentChatSession } from './agent-chat-registry.ts';
import type { AgentChat, AgentXChatConfig } from './chat-types.ts';
import type { AgentMessageState } from './state-types.ts';

/**
 * Make a conversation with an agent, for any framework or none.
 *
 * A conversation with a key is shared by all who name it at the same provider on a page; of its
 * default messages, those of the first count. Nothing connects before it is subscribed to or asked.
 * Whatever becomes of a run, it comes to exactly one end. Throws `unsupported` for anything but an
 * AgentProvider.
 *
 * @example
 * const chat = createAgentChat({ provider, conversationKey: 'support' });
 * chat.subscribe(() => render(chat.getSnapshot().messages));
 * chat.onRequest({ prompt: 'Analyze this report' });
 */
export function createAgentChat<
  Input,
  Request,
  Chunk,
  Context = unknown,
  ParsedMessage = AgentMessageState,
>(
  config: AgentXChatConfig<Input, Request, Chunk, Context, ParsedMessage>,
  environment: Environment = defaultEnvironment,
): AgentChat<Input, ParsedMessage> {
  const session = openAgentChatSession(config as AgentChatSessionConfig, environment);
  const parse = createSnapshotParser(config.parser);
  const parseForServer = createSnapshotParser(config.parser);
  const { used: _, queue: __, ...shared } = session;
  return {
    ...shared,
    getSnapshot: () => parse(session.getSnapshot()),
    getServerSnapshot: () => parseForServer(session.getServerSnapshot()),
  };
}
