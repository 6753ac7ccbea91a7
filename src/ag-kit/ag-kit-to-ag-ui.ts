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
 * but for a second start and what comes behind an end; a new `RUN_STARTED` goes on behind it.
 *
 * @example
 * const mapper = agKitToAgUi({ threadId: conversationId, runId });
 * const events = [...mapper.start(), ...stream.flatMap(mapper.push), ...mapper.end()];
 */
export function agKitToAgUi({ threadId, runId, done }: AgKitToAgUiOptions): AgKitToAgUi {
  /** Whether the run is under way; undefined before it. */
  let isRunning: boolean | undefined;
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
    if (!isRunning) out.push({ type: 'RUN_STARTED', threadId, ...passed, runId });
    isRunning = true;
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
    // It ends this run, whatever the server calls it.
    out.push(event.runId === undefined ? event : { ...event, runId });
    isRunning = false;
    messageId = undefined;
    open.clear();
    calls.clear();
    interrupts.clear();
  }

  function finish(passed?: Fields) {
    begin();
    [...open.keys()].reverse().forEach(end);
    const pendingToolCallIds = listOf([...calls.keys()].filter((id) => !calls.get(id)));
    const event = passed ?? {
      type: 'RUN_FINISHED',
      threadId,
      runId,
      outcome: defined({ type: 'success', pendingToolCallIds }),
    };
    leave(
      interrupts.size
        ? { ...event, outcome: { type: 'interrupt', interrupts: [...interrupts.values()] } }
        : event,
    );
  }

  function take(event: Fields) {
    const { type, content, toolCallId, toolCallName, delta, result, id, reason } = event;
    const call = `TOOL_CALL_END${textOf(toolCallId)}`;
    switch (type) {
      case '[DONE]':
        finish();
        break;
      case 'text':
        if (!isText(content) || !content) break;
        messageId ??= mint();
        if (!open.has(`TEXT_MESSAGE_END${messageId}`)) {
          emit({ type: 'TEXT_MESSAGE_START', messageId }, { role: 'assistant' });
        }
        emit({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: content });
        break;
      case 'tool-call-start':
        if (!isText(toolCallId) || !isText(toolCallName) || calls.has(toolCallId)) break;
        messageId ??= mint();
        emit({ type: 'TOOL_CALL_START', toolCallId }, { toolCallName, parentMessageId: messageId });
        break;
      case 'tool-call-args':
        if (isText(delta) && open.has(call)) emit({ type: 'TOOL_CALL_ARGS', toolCallId, delta });
        break;
      case 'tool-call-end':
        end(call);
        break;
      case 'tool-result':
        if (!isText(toolCallId) || !isText(result) || calls.get(toolCallId)) break;
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
        break;
      case 'interrupt':
        if (!isText(id) || !isText(reason)) break;
        begin();
        interrupts.set(id, toInterrupt(id, reason, event.payload));
        break;
      case 'RUN_STARTED':
        begin(event);
        break;
      case 'RUN_FINISHED':
        finish(event);
        break;
      case 'RUN_ERROR':
        leave(event);
        break;
      default:
        if (/^[A-Z]/.test(type)) emit(event);
    }
  }

  function push(event: unknown) {
    const fields = Object(isText(event) ? { type: event } : event);
    out = [];
    if (isText(fields.type) && (isRunning !== false || fields.type === 'RUN_STARTED')) take(fields);
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
    start: () => push(isRunning === undefined && { type: 'RUN_STARTED' }),
    push,
    end: () =>
      done === 'optional'
        ? push('[DONE]')
        : fail({ message: 'The stream ended without [DONE].', code: 'run-lost' }),
    fail,
  };
}
