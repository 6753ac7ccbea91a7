import type { AgUiEvent } from '../ag-ui/events.ts';
import type { Interrupt } from '../ag-ui/interrupts.ts';
import { isRecord, isText, textOf } from '../internal/json-values.ts';
import { flattenResult } from './content.ts';
import type { SendMessageEvent } from './types.ts';

/** Makes AG-Kit events of one AG-UI run. Made by {@link agUiToAgKit}. */
export interface AgUiToAgKit {
  /** What an event is in AG-Kit: often nothing. Throws an `Error` with the `code` of a `RUN_ERROR`, for which AG-Kit has no event: break the stream. */
  push(event: AgUiEvent): (SendMessageEvent | '[DONE]')[];
}

/** An event as it is looked at here: nothing in it is sure to be there, or of the right type. */
type Fields = { readonly type: string } & { readonly [key: string]: unknown };

/** An interrupt as AG-Kit has it: the fields that it does not know go into the payload. */
function toInterrupt({ id, reason, metadata, ...rest }: Interrupt): SendMessageEvent {
  const { payload = { ...rest, ...(metadata && { metadata }) } } = metadata ?? {};
  return {
    type: 'interrupt',
    id,
    reason,
    payload: isRecord(payload) ? { ...rest, ...payload } : payload,
  };
}

/**
 * Make AG-Kit events of the AG-UI events of one run, to serve AG-Kit clients.
 *
 * Each is for one `data:` line. While the arguments of a call stream, other calls' results and all
 * that follows them wait: AG-Kit's client throws on arguments behind a result. Behind `'[DONE]'`
 * there is nothing more. What AG-Kit has no form for is left out: ids of runs and messages, text that
 * is not the assistant's, reasoning, steps, state, activities, subagents.
 *
 * @example
 * const mapper = agUiToAgKit();
 * for (const event of run) for (const one of mapper.push(event)) write(`data: ${toLine(one)}\n\n`);
 */
export function agUiToAgKit(): AgUiToAgKit {
  let isOver = false;
  let out: (SendMessageEvent | '[DONE]')[] = [];
  /** What waits behind a result, in order. */
  let held: SendMessageEvent[] = [];
  /** The calls whose arguments the client is being sent. */
  const sending = new Set<unknown>();
  /** The calls of the run, and whether their arguments are still to come. */
  const calls = new Map<unknown, boolean>();
  const answered = new Set<unknown>();
  /** Messages that are not the assistant's. */
  const foreign = new Set<unknown>();
  /** The calls that chunks without an id go on with, by subagent; and the message. */
  const chunked = new Map<unknown, unknown>();
  let chunkedText: unknown;

  function put(event: SendMessageEvent) {
    // The next one is the last; no recursion, however deep calls are nested.
    let work = [event];
    for (let one = work.pop(); one; one = work.pop()) {
      const { type, toolCallId } = one as Fields;
      if ((held[0] && !sending.has(toolCallId)) || (type === 'tool-result' && sending.size)) {
        held.push(one);
        continue;
      }
      out.push(one);
      if (type === 'tool-call-start') sending.add(toolCallId);
      if (type === 'tool-call-end' && sending.delete(toolCallId) && !sending.size) {
        work = work.concat(held.reverse());
        held = [];
      }
    }
  }

  function say(id: unknown, role: unknown, delta: unknown) {
    if (role !== undefined && role !== 'assistant') foreign.add(id);
    if (isText(delta) && delta && !foreign.has(id)) put({ type: 'text', content: delta });
  }

  function startCall(toolCallId: unknown, toolCallName: unknown) {
    if (!isText(toolCallId) || !isText(toolCallName) || calls.has(toolCallId)) return;
    calls.set(toolCallId, true);
    put({ type: 'tool-call-start', toolCallId, toolCallName });
  }

  function endCall(id: unknown) {
    if (!calls.get(id)) return;
    calls.set(id, false);
    put({ type: 'tool-call-end', toolCallId: id as string });
  }

  function take(event: Fields) {
    const { type, role, messageId, toolCallId, toolCallName, subagentRunId, delta } = event;
    const isCallChunk = type === 'TOOL_CALL_CHUNK';
    // A chunk that names neither goes on with the only call there is.
    const lane =
      isCallChunk && (toolCallId ?? subagentRunId) === undefined && chunked.size === 1
        ? [...chunked.keys()][0]
        : subagentRunId;
    const last = chunked.get(lane);
    const callId = toolCallId ?? last;
    if (
      isCallChunk ? callId !== last : /^(TEXT_|TOOL_|STATE_|STEP_|REASONING_[^E]|CUSTOM)/.test(type)
    ) {
      // What ends the chunks of a call is AG-UI's rule.
      chunked.delete(lane);
      endCall(last);
    }
    if (isCallChunk) {
      chunked.set(lane, callId);
      startCall(callId, toolCallName);
    }
    switch (type) {
      case 'TEXT_MESSAGE_CHUNK':
        chunkedText = messageId ?? chunkedText;
        say(chunkedText, role, delta);
        break;
      case 'TEXT_MESSAGE_START':
      case 'TEXT_MESSAGE_CONTENT':
        say(messageId, role, delta);
        break;
      case 'TOOL_CALL_CHUNK':
      case 'TOOL_CALL_ARGS':
        if (calls.get(callId) && isText(delta))
          put({ type: 'tool-call-args', toolCallId: callId as string, delta });
        break;
      case 'TOOL_CALL_START':
        startCall(toolCallId, toolCallName);
        break;
      case 'TOOL_CALL_END':
        endCall(toolCallId);
        break;
      case 'TOOL_CALL_RESULT':
        endCall(toolCallId);
        if (!isText(toolCallId) || answered.has(toolCallId)) break;
        answered.add(toolCallId);
        put({ type: 'tool-result', toolCallId, result: flattenResult(event.content) });
        break;
      case 'RUN_FINISHED': {
        const { interrupts } = Object(event.outcome);
        isOver = true;
        [...calls.keys()].forEach(endCall);
        for (const one of Array.isArray(interrupts) ? interrupts : []) {
          if (isText(one?.id)) out.push(toInterrupt(one));
        }
        out.push('[DONE]');
        break;
      }
      case 'RUN_ERROR':
        isOver = true;
        throw Object.assign(new Error(textOf(event.message) || 'Run failed'), { code: event.code });
    }
  }

  return {
    push(event) {
      out = [];
      if (!isOver && isText(event?.type)) take(event as unknown as Fields);
      return out;
    },
  };
}
