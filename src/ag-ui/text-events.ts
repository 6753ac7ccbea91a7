import { isText, textOf } from '../internal/json-values.ts';
import type { AgUiMessage } from './messages.ts';
import {
  type Draft,
  findById,
  lastIndex,
  merge,
  putMessage,
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
  const index = findById(messages, id);
  return index < 0 || kindOf(messages[index]?.role) === kind
    ? index
    : lastIndex(
        messages,
        (message) => kindOf(message.role) === kind && message.id === `${id}~${message.role}`,
      );
}

/** Make a message for what streams under `id`, unless it is there. */
export function createText(draft: Draft, event: WireEvent, kind: TextKind): void {
  const { messageId: id } = event;
  const holder = draft.messages[findById(draft.messages, id)];
  // A tool's message or an activity that has the id keeps it: text never goes there.
  if (!isText(id) || (holder && !kindOf(holder.role)) || findText(draft.messages, id, kind) >= 0) {
    return;
  }
  const role = kind === 'reasoning' ? kind : kindOf(event.role) === kind ? event.role : 'assistant';
  putMessage(
    draft,
    -1,
    merge(
      {} as AgUiMessage,
      {
        // Thoughts and answer under one id stay apart.
        id: holder ? `${id}~${role}` : id,
        role,
        content: '',
        name: kind === 'text' ? textOf(event.name) : undefined,
        subagentRunId: textOf(event.subagentRunId),
      } as never,
    ),
  );
}

/** Append text to its message; the event may bring metadata alone. */
export function extendText(draft: Draft, event: WireEvent, kind: TextKind, delta: unknown): void {
  const index = findText(draft.messages, event.messageId, kind);
  const message = draft.messages[index];
  const content = message?.content ?? '';
  if (!message) return;
  putMessage(
    draft,
    index,
    withMetadata(
      // Text never replaces parts. `+` makes a rope: the cost does not grow with the text.
      isText(delta) && isText(content)
        ? merge(message, { content: content + delta } as never)
        : message,
      event,
    ),
  );
}
