import { equalJson } from '../internal/equal-json.ts';
import { isRecord, isText } from '../internal/json-values.ts';
import type { AgUiMessage } from './messages.ts';
import { kindOf } from './text-events.ts';
import { type Draft, itemsOf, merge, type WireEvent } from './thread-edits.ts';

/** What is nested deeper in a message is not compared: the new message is taken. */
const comparedDepth = 20;

/** Which activity types the snapshot decides about: `null` = all, absent = it does not say. */
function authoritativeTypes(metadata: Readonly<Record<string, unknown>> | undefined): unknown {
  const declared = metadata?.['@ag-ui/client'];
  return declared === undefined
    ? declared
    : isRecord(declared)
      ? declared.authoritativeActivityTypes
      : [];
}

/** `MESSAGES_SNAPSHOT`: merge the server's messages in, each in the place of the local one. */
export function applyMessagesSnapshot(draft: Draft, event: WireEvent): void {
  if (!Array.isArray(event.messages)) return;
  const old = draft.messages;
  const snapshot = itemsOf(event.messages);
  const has = (role: string): boolean => snapshot.some((message) => message.role === role);
  const hasReasoning = has('reasoning');
  const hasActivity = has('activity');
  const types = authoritativeTypes(event.metadata as never);
  const isKept = (message: AgUiMessage): boolean | undefined =>
    message.role === 'reasoning'
      ? !hasReasoning
      : message.role === 'activity' &&
        !(Array.isArray(types)
          ? types.every(isText) && types.includes(message.activityType)
          : types === undefined
            ? hasActivity
            : types === null);

  const kinds = new Map<string, unknown>();
  for (const { id, role } of old) {
    if (role === 'reasoning' && !hasReasoning) kinds.set(id, role);
  }
  const incoming = new Map<string, AgUiMessage>();
  for (const message of snapshot) {
    const kind = kindOf(message.role);
    const holder = kinds.get(message.id);
    // Thoughts and answer under one id stay apart, as they do while they stream.
    const id = kind && holder && holder !== kind ? `${message.id}~${message.role}` : message.id;
    kinds.set(id, kind);
    incoming.set(id, merge(message, { id }));
  }

  const messages: AgUiMessage[] = [];
  for (const message of old) {
    const other = incoming.get(message.id);
    // An equal message stays the same object, so that views of a long thread need not render again.
    if (other) messages.push(equalJson(message, other, comparedDepth) ? message : other);
    else if (isKept(message)) messages.push(message);
    incoming.delete(message.id);
  }
  messages.push(...incoming.values());
  if (messages.length !== old.length || messages.some((message, index) => message !== old[index])) {
    draft.messages = messages;
  }
}
