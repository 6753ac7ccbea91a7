import type { ActivityMessage } from './messages.ts';
import { tryPatch } from './state-events.ts';
import {
  change,
  findMessage,
  isObject,
  isText,
  setMessage,
  setMessages,
  type Thread,
  textOf,
  type WireEvent,
  withMetadata,
} from './thread-edits.ts';

/** `ACTIVITY_SNAPSHOT`: new content, unless the activity is there and keeps its own. */
export function applyActivitySnapshot(thread: Thread, event: WireEvent): Thread {
  const { messageId: id, activityType, content, subagentRunId } = event;
  const { messages } = thread;
  if (!isText(id) || !isText(activityType) || !isObject(content)) return thread;
  const index = findMessage(messages, id);
  const message = messages[index] ?? ({ id, role: 'activity' } as ActivityMessage);
  // Another message holds the id: its content is not for an activity to destroy.
  if (message.role !== 'activity') return thread;
  const next = withMetadata(
    index < 0 || event.replace !== false
      ? change<ActivityMessage>(message, {
          activityType,
          content,
          subagentRunId: textOf(subagentRunId),
          stale: undefined,
        })
      : message,
    event,
  );
  return index < 0 ? setMessages(thread, [...messages, next]) : setMessage(thread, index, next);
}

/** `ACTIVITY_DELTA`: one that fails makes the activity stale, and those after it wait for a snapshot. */
export function applyActivityDelta(thread: Thread, event: WireEvent): Thread {
  const index = findMessage(thread.messages, event.messageId);
  const message = thread.messages[index];
  if (message?.role !== 'activity') return thread;
  let next = message;
  if (!message.stale) {
    const { value: content } = tryPatch(message.content, event.patch) ?? {};
    const activityType = textOf(event.activityType) ?? message.activityType;
    if (!isObject(content)) next = { ...message, stale: true };
    else if (content !== message.content || activityType !== message.activityType) {
      next = { ...message, content, activityType };
    }
  }
  return setMessage(thread, index, withMetadata(next, event));
}
