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
  let messages: readonly Info[] = [];
  /** What was made of each of the messages, at the same place. */
  let parts: readonly (readonly MessageInfo<ParsedMessage>[])[] = [];
  /** Where that begins in `parsed`. */
  const starts: number[] = [];
  let parsed: readonly MessageInfo<ParsedMessage>[] = [];
  let last: AgentChatSnapshot<ParsedMessage> | undefined;
  let lastOf: UnparsedSnapshot | undefined;

  function parse({ id, message, status }: Info): readonly MessageInfo<ParsedMessage>[] {
    const result = parser!(message);
    return Array.isArray(result)
      ? (result as readonly ParsedMessage[]).map((part, index, { length }) => ({
          id: length > 1 ? `${id}_${index}` : id,
          message: part,
          status,
        }))
      : [{ id, message: result as ParsedMessage, status }];
  }

  function parseAll(next: readonly Info[]) {
    const changed: number[] = [];
    for (let i = 0; i < next.length; i++) if (next[i] !== messages[i]) changed.push(i);
    // One that has changed, or came at the end, is a new object; others may only have moved.
    const { length } = messages;
    const inside = changed.filter((i) => i < length).length;
    const isUsual = inside < (next.length === length ? 2 : 1) && next.length >= length;
    const before = isUsual ? undefined : new Map(messages.map((info, i) => [info, parts[i]!]));
    const made = parts.slice(0, next.length);
    let moved = next.length < length;
    for (const i of changed) {
      made[i] = before?.get(next[i]!) ?? parse(next[i]!);
      moved ||= i < length && made[i]!.length !== parts[i]!.length;
    }
    // Most stay where they were, and cost no more than the copy.
    const all = moved ? [] : parsed.slice();
    for (const i of moved ? made.keys() : changed) {
      if (moved || i >= length) starts[i] = all.length;
      made[i]!.forEach((part, offset) => {
        all[starts[i]! + offset] = part;
      });
    }
    parts = made;
    return all;
  }

  return (snapshot) => {
    if (snapshot !== lastOf || !last) {
      const next = snapshot.messages;
      if (next !== messages) {
        parsed = parser
          ? parseAll(next)
          : (next as readonly MessageInfo<unknown>[] as typeof parsed);
        messages = next;
      }
      lastOf = snapshot;
      last = { ...snapshot, parsedMessages: parsed };
    }
    return last;
  };
}
