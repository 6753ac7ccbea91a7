import { isRecord, isText, textOf } from '../internal/json-values.ts';
import { applyPatch } from './apply-patch.ts';
import type { ActivityMessage } from './messages.ts';
import {
  type Draft,
  findById,
  merge,
  putMessage,
  type WireEvent,
  withMetadata,
} from './thread-edits.ts';

/** `ACTIVITY_SNAPSHOT`: new content, unless the activity is there and keeps its own. */
export function applyActivitySnapshot(draft: Draft, event: WireEvent): void {
  const { messageId: id, activityType, content } = event;
  const index = findById(draft.messages, id);
  const message = (draft.messages[index] ?? { id, role: 'activity' }) as ActivityMessage;
  // Another message has the id: its content is not for an activity to destroy.
  if (!isText(id) || !isText(activityType) || !isRecord(content) || message.role !== 'activity') {
    return;
  }
  putMessage(
    draft,
    index,
    withMetadata(
      index >= 0 && event.replace === false
        ? message
        : merge(message, {
            activityType,
            content,
            subagentRunId: textOf(event.subagentRunId),
            stale: undefined,
          }),
      event,
    ),
  );
}

/** `ACTIVITY_DELTA`: one that fails makes the activity stale, and those after it wait for a snapshot. */
export function applyActivityDelta(draft: Draft, event: WireEvent): void {
  const index = findById(draft.messages, event.messageId);
  let message = draft.messages[index];
  if (message?.role !== 'activity') return;
  if (!message.stale) {
    let content: unknown;
    try {
      content = applyPatch(message.content, event.patch as never);
    } catch {}
    message = merge(
      message,
      isRecord(content)
        ? { content, activityType: textOf(event.activityType) ?? message.activityType }
        : { stale: true },
    );
  }
  putMessage(draft, index, withMetadata(message, event));
}
