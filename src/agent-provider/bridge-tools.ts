import type { WireEvent } from '../ag-ui/thread-edits.ts';
import { isText, textOf } from '../internal/json-values.ts';
import { toAgentContent } from './bridge-content.ts';
import {
  type BridgeDraft,
  close,
  entityIdOf,
  find,
  open,
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
  const { toolCallId: id, toolCallName, parentMessageId } = event;
  if (!isText(id)) return undefined;
  const old = find(draft, 'tool', id);
  if (old?.open) return old;
  const name = textOf(toolCallName) || draft.state.names.get(id) || 'unknown';
  const again = old && { attempt: (old.attempt ?? 1) + 1, retryOf: old.id };
  return Object.assign(
    open(
      draft,
      event,
      'tool.requested',
      `tool${id}`,
      id,
      { name, arguments: text || undefined, ...again },
      entityIdOf(draft, 'message', parentMessageId),
    ),
    { name, attempt: again?.attempt, content: text },
  );
}

/** `TOOL_CALL_END`: a tool runs once. */
export function runTool(
  draft: BridgeDraft,
  event: WireEvent,
  entity: BridgeEntity | undefined,
): void {
  if (!entity?.open || entity.ran) return;
  entity.ran = true;
  tell(draft, event, entity, 'running');
}

/** End a tool call with its result or its failure; only the first one counts. */
export function answerTool(
  draft: BridgeDraft,
  event: WireEvent,
  entity: BridgeEntity,
  result: unknown,
  failure: unknown,
  details?: unknown,
): void {
  const { id, key, name = '', content } = entity;
  runTool(draft, event, entity);
  if (failure == null) {
    close(draft, event, entity, 'completed', { result });
    return;
  }
  draft.state.failed.set(id, { id: key.slice(4), name, arguments: content as string });
  close(draft, event, entity, 'failed', { error: toAgentError(failure, 'The tool', details) });
}

/** `TOOL_CALL_RESULT`, also before the end of the call or without one; and a snapshot's tool message. */
export function applyResult(draft: BridgeDraft, event: WireEvent): void {
  const { toolCallId: id, content, messageId, error } = event;
  const { toolFailure, toolMessages } = draft.options;
  if (!isText(id)) return;
  const old = find(draft, 'tool', id);
  if (old && !old.open) return;
  const name = old?.name || draft.state.names.get(id) || 'unknown';
  // Asked before anything is told: it may throw.
  const failure = textOf(error) ?? toolFailure?.({ toolCallId: id, name, content });
  const entity = startTool(draft, event)!;
  answerTool(draft, event, entity, content, failure, content);
  if (toolMessages) {
    const base = textOf(messageId) ?? `${id}:result`;
    const payload = { role: 'tool', content: toAgentContent(content) };
    const key = `answer${entity.id}`;
    close(
      draft,
      event,
      open(draft, event, 'message.started', key, base, payload, entity.id),
      'completed',
    );
  }
}
