import { isText, textOf } from '../internal/json-values.ts';
import type { AgUiMessage, AssistantMessage, ToolCall, ToolMessage } from './messages.ts';
import { findText } from './text-events.ts';
import {
  callsOf,
  type Draft,
  findById,
  lastIndex,
  merge,
  only,
  putMessage,
  replaced,
  type WireEvent,
  withMetadata,
} from './thread-edits.ts';

/** The index of the message that made a call, or -1. */
export function findOwner(messages: readonly AgUiMessage[], callId: unknown): number {
  return lastIndex(messages, (message) => findById(callsOf(message), callId) >= 0);
}

function updateCall(draft: Draft, callId: unknown, update: (call: ToolCall) => ToolCall): void {
  const index = findOwner(draft.messages, callId);
  const message = draft.messages[index];
  if (!message) return;
  const calls = callsOf(message);
  const at = findById(calls, callId);
  const toolCalls = replaced(calls, at, update(calls[at] as ToolCall));
  putMessage(draft, index, merge(message, { toolCalls } as never));
}

/** Make a tool call in its message or in a new one; one that is there only takes the name. */
export function createCall(draft: Draft, event: WireEvent): void {
  const { toolCallId: id, toolCallName: name } = event;
  const { messages, open } = draft;
  const isKnown = findOwner(messages, id) >= 0;
  if (!isText(id) || !isText(name)) return;
  if (isKnown) {
    updateCall(draft, id, (call) => merge(call, { function: merge(call.function, { name }) }));
    if (messages.some((message) => message.role === 'tool' && message.toolCallId === id)) return;
  } else {
    const parentId = textOf(event.parentMessageId) || id;
    const index = findText(messages, parentId, 'text');
    const parent = messages[index]?.role === 'assistant' ? messages[index] : undefined;
    putMessage(
      draft,
      parent ? index : -1,
      merge((parent ?? {}) as AssistantMessage, {
        ...(!parent && {
          // A parent that is no assistant cannot take the call: the call's id then names a new one.
          id: findById(messages, parentId) < 0 ? parentId : id,
          role: 'assistant',
          subagentRunId: textOf(event.subagentRunId),
        }),
        toolCalls: [
          ...callsOf(parent),
          { id, type: 'function', function: { name, arguments: '' } },
        ],
      }),
    );
  }
  open.calls = [...(without(open.calls, id) ?? []), id];
  open.unended = [...(without(open.unended, id) ?? []), id];
}

/** The list without an id. */
export function without(
  list: readonly string[] | undefined,
  id: unknown,
): readonly string[] | undefined {
  return only(list, (other) => other !== id);
}

/** Append to the JSON text of a call's arguments; the event may bring metadata alone. */
export function extendCall(draft: Draft, event: WireEvent, delta: unknown): void {
  updateCall(draft, event.toolCallId, (call) =>
    withMetadata(
      isText(delta)
        ? merge(call, {
            function: merge(call.function, {
              arguments: (textOf(call.function?.arguments) ?? '') + delta,
            }),
          })
        : call,
      event,
    ),
  );
}

/** `TOOL_CALL_RESULT`: a tool message right behind the call's own and the results already there. */
export function addResult(draft: Draft, event: WireEvent): void {
  const { toolCallId, content } = event;
  const { messages, open } = draft;
  if (!isText(toolCallId)) return;
  const id = textOf(event.messageId) ?? `${toolCallId}:result`;
  const index = lastIndex(
    messages,
    (message) => message.id === id && message.role === 'tool' && message.toolCallId === toolCallId,
  );
  const old = messages[index] as ToolMessage | undefined;
  const result = withMetadata(
    merge(old ?? ({} as ToolMessage), {
      id,
      role: 'tool',
      toolCallId,
      content: isText(content) || Array.isArray(content) ? content : '',
      subagentRunId: textOf(event.subagentRunId),
    }),
    event,
  );
  if (old) putMessage(draft, index, result);
  else {
    let at = findOwner(messages, toolCallId) + 1 || messages.length;
    while (messages[at]?.role === 'tool') at++;
    draft.messages = [...messages.slice(0, at), result, ...messages.slice(at)];
  }
  open.calls = without(open.calls, toolCallId);
  open.unended = without(open.unended, toolCallId);
}

/** `REASONING_ENCRYPTED_VALUE`: what the agent wants back with a message or a tool call. */
export function setEncryptedValue(draft: Draft, event: WireEvent): void {
  const { entityId, encryptedValue } = event;
  const { messages } = draft;
  if (!isText(encryptedValue)) return;
  if (event.subtype === 'tool-call') {
    updateCall(draft, entityId, (call) => merge(call, { encryptedValue }));
    return;
  }
  // Where thoughts and answer share an id, it belongs to the thoughts.
  let index = findText(messages, entityId, 'reasoning');
  if (index < 0) index = findById(messages, entityId);
  const message = messages[index];
  if (message && message.role !== 'activity') {
    putMessage(draft, index, merge(message, { encryptedValue }));
  }
}
