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
  const { payload, ...more } = (isRecord(metadata) ? metadata : {}) as Record<string, unknown>;
  return {
    type: 'interrupt',
    id,
    reason: textOf(reason) ?? '',
    payload:
      payload === undefined
        ? { ...rest, ...(Object.keys(more)[0] !== undefined && { metadata: more }) }
        : isRecord(payload)
          ? { ...rest, ...payload }
          : payload,
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
  const sending = new Set<string>();
  /** The calls of the run: what is still to come of them. */
  const calls = new Map<string, 'arguments' | 'result' | 'nothing'>();
  /** Messages that are not the assistant's. */
  const foreign = new Set<unknown>();
  /** What chunks without an id go on with, by subagent. */
  const lanes = new Map<unknown, { readonly isCall: boolean; readonly id: string }>();

  function put(event: SendMessageEvent) {
    const id = 'toolCallId' in event ? event.toolCallId : '';
    if ((held[0] && !sending.has(id)) || (event.type === 'tool-result' && sending.size)) {
      held.push(event);
      return;
    }
    out.push(event);
    if (event.type === 'tool-call-start') sending.add(id);
    if (event.type === 'tool-call-end' && sending.delete(id) && !sending.size) {
      const waiting = held;
      held = [];
      waiting.forEach(put);
    }
  }

  function startCall(toolCallId: unknown, toolCallName: unknown) {
    if (!isText(toolCallId) || !isText(toolCallName) || calls.has(toolCallId)) return;
    calls.set(toolCallId, 'arguments');
    put({ type: 'tool-call-start', toolCallId, toolCallName });
  }

  function endCall(id: unknown) {
    if (!isText(id) || calls.get(id) !== 'arguments') return;
    calls.set(id, 'result');
    put({ type: 'tool-call-end', toolCallId: id });
  }

  function closeLane(lane: unknown) {
    const { isCall, id } = lanes.get(lane) ?? {};
    lanes.delete(lane);
    if (isCall) endCall(id);
  }

  function extend(isCall: boolean, id: unknown, delta: unknown) {
    if (!isText(delta)) return;
    if (!isCall) {
      if (delta && !foreign.has(id)) put({ type: 'text', content: delta });
    } else if (isText(id) && calls.get(id) === 'arguments') {
      put({ type: 'tool-call-args', toolCallId: id, delta });
    }
  }

  function takeRole(id: unknown, role: unknown) {
    if (role !== undefined && role !== 'assistant') foreign.add(id);
  }

  function takeChunk(event: Fields, isCall: boolean) {
    const { subagentRunId: tag, role, toolCallName, delta } = event;
    const id = textOf(isCall ? event.toolCallId : event.messageId);
    const fits = [...lanes].filter(
      ([lane, one]) =>
        one.isCall === isCall && (id === undefined ? (tag ?? lane) === lane : one.id === id),
    );
    const fit = fits.find(([lane]) => lane === undefined) ?? (fits[1] ? undefined : fits[0]);
    if (!fit) {
      closeLane(tag);
      if (id === undefined) return;
      if (isCall) startCall(id, toolCallName);
      else takeRole(id, role);
      lanes.set(tag, { isCall, id });
    }
    extend(isCall, id ?? fit?.[1].id, delta);
  }

  function finish(outcome: unknown) {
    for (const id of calls.keys()) endCall(id);
    const { interrupts } = Object(outcome);
    for (const one of Array.isArray(interrupts) ? interrupts : []) {
      if (isText(one?.id)) out.push(toInterrupt(one));
    }
    out.push('[DONE]');
    isOver = true;
  }

  function take(event: Fields) {
    const { type, messageId, toolCallId, subagentRunId, delta, code } = event;
    if (/^(TEXT_MESSAGE|TOOL_CALL)_CHUNK$/.test(type)) {
      takeChunk(event, type === 'TOOL_CALL_CHUNK');
      return;
    }
    // What ends the chunks of a lane is AG-UI's rule.
    if (/^(TEXT_|TOOL_|STATE_|STEP_|REASONING_(?!ENC)|SUBAGENT_[FE]|CUSTOM$)/.test(type)) {
      closeLane(subagentRunId);
    } else if (/^(RUN_|MESSAGES_)/.test(type)) [...lanes.keys()].forEach(closeLane);
    switch (type) {
      case 'TEXT_MESSAGE_START':
        takeRole(messageId, event.role);
        break;
      case 'TEXT_MESSAGE_CONTENT':
        extend(false, messageId, delta);
        break;
      case 'TOOL_CALL_START':
        startCall(toolCallId, event.toolCallName);
        break;
      case 'TOOL_CALL_ARGS':
        extend(true, toolCallId, delta);
        break;
      case 'TOOL_CALL_END':
        endCall(toolCallId);
        break;
      case 'TOOL_CALL_RESULT':
        endCall(toolCallId);
        if (!isText(toolCallId) || calls.get(toolCallId) === 'nothing') break;
        calls.set(toolCallId, 'nothing');
        put({ type: 'tool-result', toolCallId, result: flattenResult(event.content) });
        break;
      case 'RUN_FINISHED':
        finish(event.outcome);
        break;
      case 'RUN_ERROR':
        isOver = true;
        throw Object.assign(
          new Error(textOf(event.message) || 'Run failed'),
          isText(code) && { code },
        );
    }
  }

  return {
    push(event) {
      out = [];
      if (!isOver && isRecord(event) && isText(event.type)) take(event as unknown as Fields);
      return out;
    },
  };
}
