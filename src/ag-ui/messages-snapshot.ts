import { isEqual } from './is-equal.ts';
import type { AgUiMessage } from './messages.ts';
import { kindOf } from './text-events.ts';
import { areTexts, isObject, itemsOf, type Thread, type WireEvent } from './thread-edits.ts';

/** A message of more members than this is not compared: the new one is taken. */
const comparedMembers = 1e5;

/** Which activity types the snapshot decides about: `null` = all, absent = it does not say. */
function authoritativeTypes({ metadata }: WireEvent): readonly unknown[] | null | undefined {
  const declared = isObject(metadata) ? metadata['@ag-ui/client'] : undefined;
  if (declared === undefined) return undefined;
  if (!isObject(declared) || Array.isArray(declared)) return [];
  const types = declared.authoritativeActivityTypes;
  return types == null ? (types as null | undefined) : areTexts(types) ? types : [];
}

/** `MESSAGES_SNAPSHOT`: merge the server's messages in, each in the place of the local one. */
export function applyMessagesSnapshot(thread: Thread, event: WireEvent): Thread {
  if (!Array.isArray(event.messages)) return thread;
  const snapshot = itemsOf(event.messages);
  const has = (role: string): boolean => snapshot.some((message) => message.role === role);
  const types = authoritativeTypes(event);
  const isComplete = { reasoning: has('reasoning'), activity: has('activity') };
  const isKept = (message: AgUiMessage): boolean =>
    message.role === 'activity'
      ? types
        ? !types.includes(message.activityType)
        : types === undefined && !isComplete.activity
      : message.role === 'reasoning' && !isComplete.reasoning;

  const kinds = new Map<string, unknown>();
  for (const { id, role } of thread.messages) {
    if (role === 'reasoning' && !isComplete.reasoning) kinds.set(id, role);
  }
  const incoming = new Map<string, AgUiMessage>();
  for (const message of snapshot) {
    const kind = kindOf(message.role);
    const holder = kinds.get(message.id);
    // Thoughts and answer under one id stay apart, as they do while they stream.
    const id = kind && holder && holder !== kind ? `${message.id}~${message.role}` : message.id;
    kinds.set(id, kind);
    incoming.set(id, id === message.id ? message : { ...message, id });
  }

  const messages: AgUiMessage[] = [];
  for (const message of thread.messages) {
    const other = incoming.get(message.id);
    // An equal message stays the same object, so that views of a long thread need not render again.
    if (other) messages.push(isEqual(message, other, comparedMembers) ? message : other);
    else if (isKept(message)) messages.push(message);
    incoming.delete(message.id);
  }
  messages.push(...incoming.values());
  return messages.length === thread.messages.length &&
    messages.every((message, index) => message === thread.messages[index])
    ? thread
    : { ...thread, messages };
}
