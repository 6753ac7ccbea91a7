import type { AgUiMessage, AssistantMessage, ToolCall, ToolMessage } from './messages.ts';
import { findText } from './text-events.ts';
import {
  callsOf,
  change,
  field,
  findMessage,
  including,
  isText,
  lastIndex,
  only,
  replaced,
  setMessage,
  setMessages,
  setOpen,
  type Thread,
  textOf,
  type WireEvent,
  withMetadata,
} from './thread-edits.ts';

function findOwner(messages: readonly AgUiMessage[], callId: unknown): number {
  return lastIndex(messages, (message) => callsOf(message).some((call) => call?.id === callId));
}

/** Whether the thread has this tool call. */
export function hasCall(thread: Thread, callId: unknown): boolean {
  return findOwner(thread.messages, callId) >= 0;
}

/** The thread with another form of a tool call, where it has one of that id. */
export function updateCall(
  thread: Thread,
  callId: unknown,
  update: (call: ToolCall) => ToolCall,
): Thread {
  const index = findOwner(thread.messages, callId);
  const message = thread.messages[index] as AssistantMessage | undefined;
  if (!message) return thread;
  const calls = callsOf(message);
  const at = calls.findIndex((call) => call?.id === callId);
  const toolCalls = replaced(calls, at, update(calls[at] as ToolCall));
  return toolCalls === calls
    ? thread
    : setMessage(thread, index, { ...message, toolCalls: toolCalls as ToolCall[] });
}

/** The call with a function that surely has a name and arguments, changed. */
function withFunction(call: ToolCall, changes: Partial<ToolCall['function']>): ToolCall {
  const { name = '', arguments: text = '' } = call.function ?? {};
  return { ...call, function: { ...call.function, name, arguments: text, ...changes } };
}

/** `TOOL_CALL_START`: attach a call to its message, or to a new one. */
export function startCall(thread: Thread, event: WireEvent): Thread {
  const { toolCallId: id, toolCallName: name, parentMessageId } = event;
  const { messages } = thread;
  if (!isText(id) || !isText(name)) return thread;
  const known = hasCall(thread, id);
  let next: Thread;
  if (known) {
    next = updateCall(thread, id, (call) =>
      withMetadata(call.function?.name === name ? call : withFunction(call, { name }), event),
    );
  } else {
    const call = withMetadata<ToolCall>(
      { id, type: 'function', function: { name, arguments: '' } },
      event,
    );
    const parentId = textOf(parentMessageId);
    const index = parentId ? findText(messages, parentId, 'text') : -1;
    const parent = messages[index];
    next =
      parent?.role === 'assistant'
        ? setMessage(thread, index, { ...parent, toolCalls: [...callsOf(parent), call] })
        : setMessages(thread, [
            ...messages,
            {
              // A parent that is no assistant cannot take the call: the call's own id then names a new one.
              id: parentId && findMessage(messages, parentId) < 0 ? parentId : id,
              role: 'assistant',
              toolCalls: [call],
              ...field('subagentRunId', textOf(event.subagentRunId)),
            },
          ]);
  }
  const answered =
    known && messages.some((message) => message.role === 'tool' && message.toolCallId === id);
  return answered
    ? next
    : setOpen(next, {
        calls: including(thread.open?.calls, id),
        unended: including(thread.open?.unended, id),
      });
}

/** `TOOL_CALL_ARGS`: append to the JSON text of the arguments, which nobody parses here. */
export function appendArguments(thread: Thread, event: WireEvent): Thread {
  const { delta } = event;
  return updateCall(thread, event.toolCallId, (call) =>
    withMetadata(
      isText(delta) && delta
        ? withFunction(call, { arguments: (textOf(call.function?.arguments) ?? '') + delta })
        : call,
      event,
    ),
  );
}

/** The thread without a call among those that go on. */
export function closeCall(thread: Thread, id: unknown): Thread {
  const unended = only(thread.open?.unended, (other) => other !== id);
  return unended === thread.open?.unended ? thread : setOpen(thread, { unended });
}

/** `TOOL_CALL_END`. */
export function endCall(thread: Thread, event: WireEvent): Thread {
  const id = event.toolCallId;
  return closeCall(
    updateCall(thread, id, (call) => withMetadata(call, event)),
    id,
  );
}

/** `TOOL_CALL_RESULT`: a tool message right behind the call's own and the results already there. */
export function addResult(thread: Thread, event: WireEvent): Thread {
  const { toolCallId, content } = event;
  if (!isText(toolCallId)) return thread;
  const messages = thread.messages.slice();
  const id = textOf(event.messageId) ?? `${toolCallId}:result`;
  const index = lastIndex(
    messages,
    (message) => message.id === id && message.role === 'tool' && message.toolCallId === toolCallId,
  );
  const result = withMetadata(
    change<ToolMessage>(
      { ...(messages[index] as ToolMessage), id, role: 'tool', toolCallId } as ToolMessage,
      {
        content: isText(content) || Array.isArray(content) ? content : '',
        ...field('subagentRunId', textOf(event.subagentRunId)),
      },
    ),
    event,
  );
  if (index < 0) {
    let at = findOwner(messages, toolCallId) + 1 || messages.length;
    while (messages[at]?.role === 'tool') at++;
    messages.splice(at, 0, result);
  } else messages[index] = result;
  const { open } = thread;
  const next = { ...thread, messages };
  return open?.calls || open?.unended
    ? setOpen(closeCall(next, toolCallId), {
        calls: only(open.calls, (other) => other !== toolCallId),
      })
    : next;
}

/** `REASONING_ENCRYPTED_VALUE`: what the agent wants back with a message or a tool call. */
export function setEncryptedValue(thread: Thread, event: WireEvent): Thread {
  const { entityId, encryptedValue } = event;
  const { messages } = thread;
  if (!isText(encryptedValue)) return thread;
  if (event.subtype === 'tool-call') {
    return updateCall(thread, entityId, (call) =>
      call.encryptedValue === encryptedValue ? call : { ...call, encryptedValue },
    );
  }
  // Where thoughts and answer share an id, it belongs to the thoughts.
  let index = findText(messages, entityId, 'reasoning');
  if (index < 0) index = findMessage(messages, entityId);
  const message = messages[index];
  return !message || message.role === 'activity' || message.encryptedValue === encryptedValue
    ? thread
    : setMessage(thread, index, { ...message, encryptedValue });
}
