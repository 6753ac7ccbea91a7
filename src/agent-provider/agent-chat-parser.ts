import type { AgentChatSnapshot, MessageInfo } from './chat-types.ts';
import type { AgentMessageState } from './state-types.ts';

type Info = MessageInfo<AgentMessageState>;

/** What a conversation shows before a parser has looked at it. */
export type UnparsedSnapshot = Omit<AgentChatSnapshot, 'parsedMessages'>;

/** Makes what components show of each message. */
export type AgentMessageParser<ParsedMessage> = (
  message: AgentMessageState,
) => ParsedMessage | readonly ParsedMessage[];

/**
 * Make what adds the parsed messages to a snapshot: the parser is called once for each message object.
 *
 * What is made stays the same objects until the message changes. What the parser throws comes out.
 */
export function createSnapshotParser<ParsedMessage>(
  parser: AgentMessageParser<ParsedMessage> | undefined,
): (snapshot: UnparsedSnapshot) => AgentChatSnapshot<ParsedMessage> {
  const known = new WeakMap<Info, readonly MessageInfo<ParsedMessage>[]>();
  let messages: readonly Info[] = [];
  let parsed: readonly MessageInfo<ParsedMessage>[] = [];
  let last: AgentChatSnapshot<ParsedMessage> | undefined;
  let lastOf: UnparsedSnapshot | undefined;

  function parse(info: Info): readonly MessageInfo<ParsedMessage>[] {
    let made = known.get(info);
    if (!made) {
      const { id, message, status } = info;
      const result = parser!(message);
      made = Array.isArray(result)
        ? (result as readonly ParsedMessage[]).map((part, index, { length }) => ({
            id: length > 1 ? `${id}_${index}` : id,
            message: part,
            status,
          }))
        : [{ id, message: result as ParsedMessage, status }];
      known.set(info, made);
    }
    return made;
  }

  return (snapshot) => {
    if (snapshot !== lastOf || !last) {
      if (snapshot.messages !== messages) {
        parsed = parser
          ? snapshot.messages.flatMap(parse)
          : (snapshot.messages as readonly MessageInfo<unknown>[] as typeof parsed);
        ({ messages } = snapshot);
      }
      lastOf = snapshot;
      last = { ...snapshot, parsedMessages: parsed };
    }
    return last;
  };
}
