import type { AgUiEvent } from '../ag-ui/events.ts';
import type { Interrupt } from '../ag-ui/interrupts.ts';
import { listOf } from '../ag-ui/thread-edits.ts';
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
  /** What waits behind a result, in order: an event, and behind a call's start more of that call. */
  const held = new Set<SendMessageEvent[]>();
  /** The calls whose arguments the client is being sent. */
  const sending = new Set<unknown>();
  /** The calls of the run: where their arguments wait, until they have ended. */
  const calls = new Map<unknown, SendMessageEvent[] | undefined>();
  const answered = new Set<unknown>();
  /** Messages that are not the assistant's. */
  const foreign = new Set<unknown>();
  /** What chunks without an id go on with: the call, by subagent, and the message. */
  const chunked = new Map<unknown, unknown>();
  /** The subagents of the calls that came in chunks. */
  const lanes = new Map<unknown, unknown>();
  let lastCall: unknown;
  let lastText: unknown;

  function send(event: SendMessageEvent) {
    out.push(event);
    if (event.type === 'tool-call-start') sending.add(event.toolCallId);
    if (event.type === 'tool-call-end') sending.delete(event.toolCallId);
  }

  function put(event: SendMessageEvent, place: SendMessageEvent[] = []) {
    if (sending.has((event as Fields).toolCallId)) send(event);
    else if (place.push(event) === 1) held.add(place);
    for (const one of held) {
      if (sending.size && one[0]?.type === 'tool-result') break;
      held.delete(one);
      one.forEach(send);
    }
    return place;
  }

  function endCall(id: unknown) {
    const place = calls.get(id);
    if (!place) return;
    put({ type: 'tool-call-end', toolCallId: id as string }, place);
    calls.set(id, undefined);
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
      lanes.set(id, subagentRunId);
    }
    if (isText(toolCallName) && !calls.has(id)) {
      calls.set(id, put({ type: 'tool-call-start', toolCallId: id, toolCallName }));
    }
    const place = calls.get(id);
    if (isText(delta) && place) put({ type: 'tool-call-args', toolCallId: id, delta }, place);
    if (/END|RESULT/.test(type)) endCall(id);
    if (!/RESULT/.test(type) || answered.has(id)) return;
    answered.add(id);
    // Who has a result has asked: its calls in chunks are whole.
    for (const [call, lane] of lanes) {
      if (lane === subagentRunId && lanes.delete(call)) endCall(call);
    }
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
        for (const one of listOf<Interrupt>(interrupts) ?? []) {
          if (isText(one?.id)) out.push(toInterrupt(one));
        }
        out.push('[DONE]');
      }
      return out;
    },
  };
}
