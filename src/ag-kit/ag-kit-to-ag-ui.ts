import type { AgUiEvent } from '../ag-ui/events.ts';
import type { Interrupt } from '../ag-ui/interrupts.ts';
import { listOf } from '../ag-ui/thread-edits.ts';
import { isRecord, isText, textOf } from '../internal/json-values.ts';
import { defined } from './defined.ts';
import { parseJson } from './parse-json.ts';
import type { SendMessageEvent } from './types.ts';

/** What an AG-Kit server's stream can bring: its events, its end, and the AG-UI events of newer servers. */
export type AgKitStreamEvent =
  | SendMessageEvent
  | '[DONE]'
  | { readonly type: '[DONE]' }
  | AgUiEvent
  | null
  | undefined;

/** Options of {@link agKitToAgUi}. */
export interface AgKitToAgUiOptions {
  /** AG-Kit's `conversationId`. */
  readonly threadId: string;
  /** The run that the stream answers; the ids of its messages are made of it. */
  readonly runId: string;
  /** Whether a stream is whole without `[DONE]`, for servers that never send it. @default 'required' */
  readonly done?: 'required' | 'optional' | undefined;
}

/** Makes AG-UI events of one AG-Kit stream. Made by {@link agKitToAgUi}. */
export interface AgKitToAgUi {
  /** The stream was opened: `RUN_STARTED`, which the first event brings otherwise. */
  start(): AgUiEvent[];
  /** What an event tells: nothing where it is malformed, unknown, or behind the end. Never throws. */
  push(event: AgKitStreamEvent): AgUiEvent[];
  /** The stream has ended: without a `[DONE]`, `RUN_ERROR` with the code `run-lost`. */
  end(): AgUiEvent[];
  /** The stream has failed: `RUN_ERROR` with the error's message, and its `code` or `status`. */
  fail(error: unknown): AgUiEvent[];
}

/** An event as it is looked at here: nothing in it is sure to be there, or of the right type. */
type Fields = { readonly type: string } & { readonly [key: string]: unknown };

/** An interrupt as AG-UI has it: its own fields are lifted out of the payload where their types fit. */
function toInterrupt(id: string, reason: string, payload: unknown): Interrupt {
  const { message, toolCallId, responseSchema, expiresAt } = Object(parseJson(payload));
  return defined<Interrupt>({
    id,
    reason,
    message: textOf(message),
    toolCallId: textOf(toolCallId),
    responseSchema: isRecord(responseSchema) ? responseSchema : undefined,
    expiresAt: textOf(expiresAt),
    metadata: payload === undefined ? undefined : { payload },
  } as Interrupt);
}

/**
 * Make AG-UI events of the events of one AG-Kit stream.
 *
 * Whatever an AG-Kit server sends, the events are in AG-UI's order: one start, one end, nothing open
 * behind it. The ids of messages are `ag-kit:<runId>:<n>`, the same ones when the stream is read
 * again. Interrupts are held back until the end, where AG-UI has them. AG-UI events pass as they are,
 * but for a second start and what comes behind the end.
 *
 * @example
 * const mapper = agKitToAgUi({ threadId: conversationId, runId });
 * const events = [...mapper.start(), ...stream.flatMap(mapper.push), ...mapper.end()];
 */
export function agKitToAgUi({ threadId, runId, done }: AgKitToAgUiOptions): AgKitToAgUi {
  let isStarted = false;
  let isOver = false;
  let count = 0;
  /** The assistant message that text and calls go to, until a result breaks it. */
  let messageId: string | undefined;
  let out: object[] = [];
  /** What ends each thing that is open. */
  const open = new Map<string, Fields>();
  /** The calls of the run, and whether they were answered. */
  const calls = new Map<string, boolean>();
  const interrupts = new Map<string, Interrupt>();

  const mint = () => `ag-kit:${runId}:${count++}`;

  function begin(passed?: Fields) {
    // It is the run that was asked for, whatever its server calls it.
    if (!isStarted) out.push({ type: 'RUN_STARTED', threadId, ...passed, runId });
    isStarted = true;
  }

  function emit(event: Fields, more?: object) {
    begin();
    const { type, messageId: id, toolCallId, stepName, subagentRunId } = event;
    const ending = type.replace('START', 'END').replace('ENDED', 'FINISHED');
    const name = textOf(id ?? toolCallId ?? stepName ?? subagentRunId);
    if (ending !== type) open.set(ending + name, { ...event, type: ending });
    else open.delete(type.replace('ERROR', 'FINISHED') + name);
    if (isText(toolCallId)) calls.set(toolCallId, calls.get(toolCallId) || /RESULT/.test(type));
    out.push({ ...event, ...more });
  }

  /** Ends what is open under a name, if it is. */
  function end(name: string) {
    const event = open.get(name);
    if (event) emit(event);
  }

  function leave(event: Fields) {
    begin();
    isOver = true;
    out.push(event.runId === undefined ? event : { ...event, runId });
  }

  function finish(passed?: Fields) {
    begin();
    [...open.keys()].reverse().forEach(end);
    const pendingToolCallIds = listOf([...calls.keys()].filter((id) => !calls.get(id)));
    const outcome = interrupts.size
      ? { type: 'interrupt', interrupts: [...interrupts.values()] }
      : defined({ type: 'success', pendingToolCallIds });
    leave(
      passed && !interrupts.size
        ? passed
        : { type: 'RUN_FINISHED', threadId, runId, ...passed, outcome },
    );
  }

  function take(event: Fields) {
    const { type, content, toolCallId, toolCallName, delta, result, id, reason } = event;
    const call = `TOOL_CALL_END${textOf(toolCallId)}`;
    const isCall = isText(toolCallId);
    if (type === '[DONE]') finish();
    else if (type === 'text' && isText(content) && content) {
      messageId ??= mint();
      if (!open.has(`TEXT_MESSAGE_END${messageId}`)) {
        emit({ type: 'TEXT_MESSAGE_START', messageId }, { role: 'assistant' });
      }
      emit({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: content });
    } else if (type === 'tool-call-start' && isCall && isText(toolCallName)) {
      if (calls.has(toolCallId)) return;
      messageId ??= mint();
      emit({ type: 'TOOL_CALL_START', toolCallId }, { toolCallName, parentMessageId: messageId });
    } else if (type === 'tool-call-args' && isText(delta) && open.has(call)) {
      emit({ type: 'TOOL_CALL_ARGS', toolCallId, delta });
    } else if (type === 'tool-call-end') end(call);
    else if (type === 'tool-result' && isCall && isText(result)) {
      if (calls.get(toolCallId)) return;
      end(call);
      end(`TEXT_MESSAGE_END${messageId}`);
      messageId = undefined;
      emit({
        type: 'TOOL_CALL_RESULT',
        messageId: mint(),
        toolCallId,
        content: result,
        role: 'tool',
      });
    } else if (type === 'interrupt' && isText(id) && isText(reason)) {
      begin();
      interrupts.set(id, toInterrupt(id, reason, event.payload));
    } else if (type === 'RUN_STARTED') begin(event);
    else if (type === 'RUN_FINISHED') finish(event);
    else if (type === 'RUN_ERROR') leave(event);
    else if (/^[A-Z]/.test(type)) emit(event);
  }

  function push(event: unknown) {
    const fields = Object(isText(event) ? { type: event } : event);
    out = [];
    if (!isOver && isText(fields.type)) take(fields);
    return out as AgUiEvent[];
  }

  function fail(error: unknown) {
    const { message, code, status } = Object(error);
    const reason = code ?? status;
    return push(
      defined({
        type: 'RUN_ERROR',
        message: textOf(message) || textOf(error) || 'Run failed',
        code: reason == null ? undefined : `${reason}`,
      }),
    );
  }

  return {
    start: () => push({ type: 'RUN_STARTED' }),
    push,
    end: () =>
      done === 'optional'
        ? push('[DONE]')
        : fail({ message: 'The stream ended without [DONE].', code: 'run-lost' }),
    fail,
  };
}
