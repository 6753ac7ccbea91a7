import type { AgUiMessage } from './messages.ts';
import {
  field,
  findMessage,
  isText,
  lastIndex,
  setMessage,
  setMessages,
  type Thread,
  textOf,
  type WireEvent,
  withMetadata,
} from './thread-edits.ts';

/** What a streamed message is made of. */
export type TextKind = 'text' | 'reasoning';

const textRoles: readonly unknown[] = ['assistant', 'user', 'system', 'developer'];

/** What a message of this role is made of; absent for tools and activities. */
export function kindOf(role: unknown): TextKind | undefined {
  return role === 'reasoning' ? role : textRoles.includes(role) ? 'text' : undefined;
}

/** The message that text or reasoning of `id` goes to, or -1. */
export function findText(messages: readonly AgUiMessage[], id: unknown, kind: TextKind): number {
  const index = findMessage(messages, id);
  return index < 0 || kindOf(messages[index]?.role) === kind
    ? index
    : lastIndex(
        messages,
        (message) => kindOf(message.role) === kind && message.id === `${id}~${message.role}`,
      );
}

/** Begin a message; one that is there already only takes the metadata. */
export function startMessage(thread: Thread, event: WireEvent, kind: TextKind): Thread {
  const { messages } = thread;
  const { messageId } = event;
  if (!isText(messageId)) return thread;
  const index = findText(messages, messageId, kind);
  if (index >= 0) return endMessage(thread, event, kind);
  const holder = messages[findMessage(messages, messageId)];
  // A tool's message or an activity holds the id: text never goes there.
  if (holder && !kindOf(holder.role)) return thread;
  const role =
    kind === 'reasoning' ? kind : kindOf(event.role) === kind ? event.role : ('assistant' as const);
  const message = {
    // Thoughts and answer under one id stay apart.
    id: holder ? `${messageId}~${role}` : messageId,
    role,
    content: '',
    ...(kind === 'text' && field('name', textOf(event.name))),
    ...field('subagentRunId', textOf(event.subagentRunId)),
  } as AgUiMessage;
  return setMessages(thread, [...messages, withMetadata(message, event)]);
}

function grow(thread: Thread, event: WireEvent, kind: TextKind, delta: unknown): Thread {
  const index = findText(thread.messages, event.messageId, kind);
  const message = thread.messages[index];
  if (!message) return thread;
  const content = message.content ?? '';
  return setMessage(
    thread,
    index,
    withMetadata(
      // Text never replaces parts. `+` makes a rope: the cost does not grow with the text.
      isText(delta) && isText(content) && (delta || message.content == null)
        ? ({ ...message, content: content + delta } as AgUiMessage)
        : message,
      event,
    ),
  );
}

/** Append the event's text to its message. */
export function appendText(thread: Thread, event: WireEvent, kind: TextKind): Thread {
  return grow(thread, event, kind, event.delta);
}

/** End a message: only metadata comes with it. */
export function endMessage(thread: Thread, event: WireEvent, kind: TextKind): Thread {
  return grow(thread, event, kind, undefined);
}
