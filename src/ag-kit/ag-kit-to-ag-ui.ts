import type { AgUiEvent } from '../ag-ui/events.ts';
import type { Interrupt } from '../ag-ui/interrupts.ts';
import { isRecord, isText, textOf } from '../internal/json-values.ts';
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
  return {
    id,
    reason,
    ...(isText(message) && { message }),
    ...(isText(toolCallId) && { toolCallId }),
    ...(isRecord(responseSchema) && { responseSchema }),
    ...(isText(expiresAt) && { expiresAt }),
    ...(payload !== undefined && { metadata: { payload } }),
  };
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
  let phase: 'new' | 'running' | 'over' = 'new';
  /** What `RUN_STARTED` said. */
  let ids: unknown;
  let count = 0;
  /** The assistant message that text and calls go to, until a result breaks it. */
  let messageId: string | undefined;
  let out: unknown[] = [];
  /** What ends each thing that is open. */
  const open = new Map<string, Fields>();
  /** The calls of the run, and whether they were answered. */
  const calls = new Map<string, boolean>();
  const interrupts = new Map<string, Interrupt>();

  const mint = () => `ag-kit:${runId}:${count++}`;

  function begin(passed?: Fields) {
    if (phase === 'running') return;
    const event = { type: 'RUN_STARTED', threadId, runId, ...passed };
    phase = 'running';
    ids = { threadId: event.threadId, runId: event.runId };
    out.push(event);
  }

  function emit(event: Fields, more?: object) {
    begin();
    const { type, toolCallId } = event;
    const [, kind, how] = /^(.+_)(START|END|STARTED|FINISHED|ERROR)$/.exec(type) ?? [];
    if (kind) {
      const key =
        kind + textOf(event.messageId ?? toolCallId ?? event.stepName ?? event.subagentRunId);
      if (/^S/.test(how!)) open.set(key, { ...event, type: kind + (how![5] ? 'FINISHED' : 'END') });
      else open.delete(key);
    }
    if (isText(toolCallId)) calls.set(toolCallId, calls.get(toolCallId) || /RESULT/.test(type));
    out.push({ ...event, ...more });
  }

  /** Ends what is open under a name, if it is. */
  function end(key: string) {
    const event = open.get(key);
    if (event) emit(event);
  }

  function leave(event: Fields) {
    begin();
    phase = 'over';
    messageId = undefined;
    open.clear();
    calls.clear();
    interrupts.clear();
    out.push(event.runId === undefined ? event : { ...event, ...(ids as object) });
  }

  function finish(passed?: Fields) {
    begin();
    [...open.keys()].reverse().forEach(end);
    const waiting = [...calls.keys()].filter((id) => !calls.get(id));
    const outcome = interrupts.size
      ? { type: 'interrupt', interrupts: [...interrupts.values()] }
      : { type: 'success', ...(waiting[0] !== undefined && { pendingToolCallIds: waiting }) };
    leave({
      type: 'RUN_FINISHED',
      threadId,
      runId,
      ...passed,
      ...((!passed || interrupts.size) && { outcome }),
    });
  }

  function fail(message: string, code: unknown) {
    leave({ type: 'RUN_ERROR', message, ...(code != null && { code: `${code}` }) });
  }

  function take(event: Fields) {
    const { type, content, toolCallId, toolCallName, delta, result, id, reason } = event;
    const call = `TOOL_CALL_${textOf(toolCallId)}`;
    switch (type) {
      case '[DONE]':
        finish();
        break;
      case 'text':
        if (!isText(content) || !content) break;
        messageId ??= mint();
        if (!open.has(`TEXT_MESSAGE_${messageId}`)) {
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
        end(`TEXT_MESSAGE_${messageId}`);
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

  function make(work: () => void) {
    out = [];
    work();
    return out as AgUiEvent[];
  }

  return {
    start: () => make(() => phase === 'new' && begin()),
    push: (event) =>
      make(() => {
        const fields = Object(isText(event) ? { type: event } : event);
        if (isText(fields.type) && (phase !== 'over' || fields.type === 'RUN_STARTED'))
          take(fields);
      }),
    end: () =>
      make(() => {
        if (phase === 'over') return;
        if (done === 'optional') finish();
        else fail('The stream ended without [DONE].', 'run-lost');
      }),
    fail: (error) =>
      make(() => {
        const { message, code, status } = Object(error);
        if (phase !== 'over')
          fail(textOf(message) || textOf(error) || 'Run failed', code ?? status);
      }),
  };
}
