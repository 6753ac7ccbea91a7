import type { AgUiEvent } from '../ag-ui/events.ts';
import type { Interrupt } from '../ag-ui/interrupts.ts';
import { isRecord, isText, textOf } from '../internal/json-values.ts';
import { flattenResult } from './content.ts';
import { defined } from './defined.ts';
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
  const { payload = defined({ ...rest, metadata }) } = Object(metadata);
  return {
    type: 'interrupt',
    id,
    reason: textOf(reason) ?? 'approval',
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
 * for await (const event of run) {
 *   for (const one of mapper.push(event)) {
 *     response.write(`data: ${one === '[DONE]' ? one : JSON.stringify(one)}\n\n`);
 *   }
 * }
 */
export function agUiToAgKit(): AgUiToAgKit {
  let isOver = false;
  let out: (SendMessageEvent | '[DONE]')[] = [];
  /** What waits behind a result, in order; arguments of calls that wait, too, wait with them. */
  const held = new Set<SendMessageEvent>();
  const parts = new Map<unknown, SendMessageEvent[]>();
  /** The calls whose arguments the client is being sent. */
  const sending = new Set<unknown>();
  /** The calls of the run, and whether their arguments are still to come. */
  const calls = new Map<unknown, boolean>();
  const answered = new Set<unknown>();
  /** Messages that are not the assistant's. */
  const foreign = new Set<unknown>();
  /** What chunks without an id go on with: the call, by subagent, and the message. */
  const chunked = new Map<unknown, unknown>();
  let lastCall: unknown;
  let lastText: unknown;

  function sendPart(event: SendMessageEvent) {
    out.push(event);
    if (event.type === 'tool-call-end') sending.delete(event.toolCallId);
  }

  function put(event: SendMessageEvent) {
    const id = (event as Fields).toolCallId;
    if (!/args|end/.test(event.type)) held.add(event);
    else if (sending.has(id)) sendPart(event);
    else parts.get(id)?.push(event);
    if (event.type === 'tool-call-start') parts.set(id, []);
    for (const one of held) {
      if (one.type === 'tool-result' && sending.size) break;
      held.delete(one);
      out.push(one);
      if (one.type !== 'tool-call-start') continue;
      sending.add(one.toolCallId);
      parts.get(one.toolCallId)?.forEach(sendPart);
    }
  }

  function endCall(id: unknown) {
    if (!calls.get(id)) return;
    calls.set(id, false);
    put({ type: 'tool-call-end', toolCallId: id as string });
  }

  function takeText({ messageId, role, delta }: Fields) {
    lastText = messageId ?? lastText;
    if (role !== undefined && role !== 'assistant') foreign.add(lastText);
    if (isText(delta) && delta && !foreign.has(lastText)) put({ type: 'text', content: delta });
  }

  function takeCall({ type, toolCallId, toolCallName, subagentRunId, delta, content }: Fields) {
    const id = toolCallId ?? chunked.get(subagentRunId) ?? lastCall;
    if (!isText(id)) return;
    // Where it ends, nobody says of a call in chunks: it does with its result, or with the run.
    if (/CHUNK/.test(type)) {
      lastCall = id;
      chunked.set(subagentRunId, id);
    }
    if (isText(toolCallName) && !calls.has(id)) {
      calls.set(id, true);
      put({ type: 'tool-call-start', toolCallId: id, toolCallName });
    }
    if (isText(delta) && calls.get(id)) put({ type: 'tool-call-args', toolCallId: id, delta });
    if (/END|RESULT/.test(type)) endCall(id);
    if (!/RESULT/.test(type) || answered.has(id)) return;
    answered.add(id);
    put({ type: 'tool-result', toolCallId: id, result: flattenResult(content) });
  }

  return {
    push(event) {
      const { type, outcome, message, code } = Object(event);
      out = [];
      if (isOver) return out;
      if (/^TEXT_M/.test(type)) takeText(event as never);
      if (/^TOOL_C/.test(type)) takeCall(event as never);
      isOver = /^RUN_[FE]/.test(type);
      if (type === 'RUN_ERROR') {
        throw Object.assign(new Error(textOf(message) || 'Run failed'), { code });
      }
      if (isOver) {
        const { interrupts } = Object(outcome);
        [...calls.keys()].forEach(endCall);
        for (const one of Array.isArray(interrupts) ? interrupts : []) {
          if (isText(one?.id)) out.push(toInterrupt(one));
        }
        out.push('[DONE]');
      }
      return out;
    },
  };
}
