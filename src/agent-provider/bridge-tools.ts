import { isText, textOf, type WireEvent } from '../ag-ui/thread-edits.ts';
import { toAgentContent } from './bridge-content.ts';
import {
  type BridgeDraft,
  close,
  emit,
  entityIdOf,
  find,
  isOpen,
  open,
  takeId,
  taskOf,
  tell,
  toAgentError,
} from './bridge-entities.ts';
import type { BridgeEntity } from './bridge-state.ts';

/** `TOOL_CALL_START`: a call that nobody answered goes on; one that was answered is tried again. */
export function startTool(
  draft: BridgeDraft,
  event: WireEvent,
  text = '',
): BridgeEntity | undefined {
  const { toolCallId: id, parentMessageId } = event;
  if (!isText(id)) return undefined;
  const { known, names } = draft.state;
  const old = find(draft, 'tool', id);
  // AG-UI makes a message for the call, which a snapshot then has.
  const owner = textOf(parentMessageId) || id;
  known.set(owner, !!known.get(owner));
  const again = old && { attempt: (old.attempt ?? 1) + 1, retryOf: old.id };
  if (isOpen(draft, old)) return old;
  const name = textOf(event.toolCallName) || names.get(id) || 'unknown';
  const entity = open(
    draft,
    event,
    'tool',
    `tool${id}`,
    id,
    { name, ...(text && { arguments: text }), ...again },
    entityIdOf(draft, 'message', parentMessageId) ?? taskOf(draft, event),
  );
  return Object.assign(entity, { name, attempt: again?.attempt, content: text });
}

/** `TOOL_CALL_END`: a tool runs once. */
export function runTool(
  draft: BridgeDraft,
  event: WireEvent,
  entity: BridgeEntity | undefined,
): void {
  if (!isOpen(draft, entity) || entity.ran) return;
  entity.ran = true;
  tell(draft, event, entity, 'running');
}

/** End a tool call with its answer; only the first one counts. */
export function answerTool(
  draft: BridgeDraft,
  event: WireEvent,
  id: string,
  answer: { readonly result: unknown } | { readonly error: unknown },
): void {
  const entity = find(draft, 'tool', id);
  if (!isOpen(draft, entity)) return;
  runTool(draft, event, entity);
  if ('error' in answer) {
    const { name = '', content } = entity;
    draft.state.failed.set(entity.id, { id, name, arguments: content as string });
    close(draft, event, entity, 'failed', { error: answer.error });
  } else close(draft, event, entity, 'completed', answer);
}

/** `TOOL_CALL_RESULT`, also before the end of the call or without one; and a snapshot's tool message. */
export function applyResult(draft: BridgeDraft, event: WireEvent): void {
  const { toolCallId: id, content, messageId } = event;
  const { toolFailure, toolMessages } = draft.options;
  if (!isText(id)) return;
  const old = find(draft, 'tool', id);
  if (old && !isOpen(draft, old)) return;
  const name = old?.name || draft.state.names.get(id) || 'unknown';
  // Asked before anything is told: it may throw.
  const failure = isText(event.error)
    ? event.error
    : toolFailure?.({ toolCallId: id, name, content });
  const entity = startTool(draft, event)!;
  answerTool(
    draft,
    event,
    id,
    failure == null
      ? { result: content }
      : { error: toAgentError(failure, 'The tool failed.', content) },
  );
  if (toolMessages) {
    const base = textOf(messageId) ?? `${id}:result`;
    const message = { messageId: takeId(draft, 'message', base) };
    emit(
      draft,
      event,
      'message.started',
      { ...message, role: 'tool', content: toAgentContent(content) },
      entity.id,
      message.messageId === base ? undefined : base,
    );
    emit(draft, event, 'message.completed', message);
  }
}
