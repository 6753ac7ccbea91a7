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

/** What an interrupt's payload says of AG-UI's own fields, as far as their types fit. */
function lift(payload: unknown): Partial<Interrupt> {
  const from = parseJson(payload);
  if (!isRecord(from)) return {};
  const { message, toolCallId, responseSchema, expiresAt } = from;
  return {
    ...(isText(message) && { message }),
    ...(isText(toolCallId) && { toolCallId }),
    ...(isRecord(responseSchema) && { responseSchema }),
    ...(isText(expiresAt) && { expiresAt }),
  };
}

const keyOf = (...parts: readonly unknown[]): string => JSON.stringify(parts.map(textOf));

/** What ends the thing that an event begins or ends; nothing where it does neither. */
function enderOf(event: Fields): { readonly key: string; readonly end: Fields } | undefined {
  const [, kind, how] = /^(.+)_(START|END|STARTED|FINISHED|ERROR)$/.exec(event.type) ?? [];
  if (!kind) return undefined;
  const { messageId, toolCallId, stepName, subagentRunId } = event;
  const id = messageId ?? toolCallId;
  return {
    key: id === undefined ? keyOf(kind, stepName, subagentRunId) : keyOf(kind, id),
    end: {
      type: `${kind}_${/^(START|END)$/.test(how!) ? 'END' : 'FINISHED'}`,
      ...(messageId !== undefined && { messageId }),
      ...(toolCallId !== undefined && { toolCallId }),
      ...(stepName !== undefined && { stepName }),
      ...(subagentRunId !== undefined && { subagentRunId }),
    },
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
  let ids: { readonly threadId: string; readonly runId: string } = { threadId, runId };
  let count = 0;
  /** The assistant message that text and calls go to, until a result breaks it. */
  let messageId: string | undefined;
  let out: AgUiEvent[] = [];
  /** What is open, by what ends it. */
  const open = new Map<string, Fields>();
  /** The calls of the run, and whether they were answered. */
  const calls = new Map<string, boolean>();
  const interrupts = new Map<string, Interrupt>();

  const mint = () => `ag-kit:${runId}:${count++}`;

  function begin(event?: Fields) {
    if (phase === 'running') return;
    phase = 'running';
    if (event) {
      ids = {
        threadId: textOf(event.threadId) ?? threadId,
        runId: textOf(event.runId) ?? runId,
      };
    }
    messageId = undefined;
    open.clear();
    calls.clear();
    interrupts.clear();
    out.push((event ?? { type: 'RUN_STARTED', ...ids }) as AgUiEvent);
  }

  const isOpen = (type: string, id: unknown) => open.has(keyOf(type, id));

  function emit(event: Fields) {
    begin();
    const { type, toolCallId } = event;
    const ender = enderOf(event);
    if (ender && /START(ED)?$/.test(type)) open.set(ender.key, ender.end);
    else if (ender) open.delete(ender.key);
    if (/^TOOL_CALL_/.test(type) && isText(toolCallId)) {
      calls.set(toolCallId, /RESULT$/.test(type) || !!calls.get(toolCallId));
    }
    out.push(event as unknown as AgUiEvent);
  }

  function finish(passed?: Fields) {
    begin();
    for (const end of [...open.values()].reverse()) emit(end);
    const waiting = [...calls.keys()].filter((id) => !calls.get(id));
    const outcome = interrupts.size
      ? { type: 'interrupt', interrupts: [...interrupts.values()] }
      : { type: 'success', ...(waiting[0] !== undefined && { pendingToolCallIds: waiting }) };
    phase = 'over';
    out.push(
      (passed && !interrupts.size
        ? passed
        : { type: 'RUN_FINISHED', ...ids, ...passed, outcome }) as AgUiEvent,
    );
  }

  function fail(message: string, code: unknown) {
    begin();
    phase = 'over';
    out.push({ type: 'RUN_ERROR', message, ...(code != null && { code: `${code}` }) });
  }

  function pass(event: Fields) {
    const { type } = event;
    if (type === 'RUN_STARTED') begin(event);
    else if (type === 'RUN_FINISHED' || type === 'RUN_ERROR') {
      begin();
      // The end of a run whose start was ours is the end of ours.
      const own = 'runId' in event && event.runId !== ids.runId ? { ...event, ...ids } : event;
      if (type === 'RUN_FINISHED') finish(own);
      else {
        phase = 'over';
        out.push(own as unknown as AgUiEvent);
      }
    } else emit(event);
  }

  function take(event: Fields) {
    const { type, content, toolCallId, toolCallName, delta, result, id, reason, payload } = event;
    const isCall = isText(toolCallId);
    switch (type) {
      case '[DONE]':
        finish();
        break;
      case 'text':
        if (!isText(content) || !content) break;
        messageId ??= mint();
        if (!isOpen('TEXT_MESSAGE', messageId)) {
          emit({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' });
        }
        emit({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: content });
        break;
      case 'tool-call-start':
        if (!isCall || !isText(toolCallName) || calls.has(toolCallId)) break;
        messageId ??= mint();
        emit({ type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId: messageId });
        break;
      case 'tool-call-args':
        if (isText(delta) && isOpen('TOOL_CALL', toolCallId)) {
          emit({ type: 'TOOL_CALL_ARGS', toolCallId, delta });
        }
        break;
      case 'tool-call-end':
        if (isOpen('TOOL_CALL', toolCallId)) emit({ type: 'TOOL_CALL_END', toolCallId });
        break;
      case 'tool-result':
        if (!isCall || !isText(result) || calls.get(toolCallId)) break;
        if (isOpen('TOOL_CALL', toolCallId)) emit({ type: 'TOOL_CALL_END', toolCallId });
        if (isOpen('TEXT_MESSAGE', messageId)) emit({ type: 'TEXT_MESSAGE_END', messageId });
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
        interrupts.set(id, {
          id,
          reason,
          ...lift(payload),
          ...(payload !== undefined && { metadata: { payload } }),
        });
        break;
      default:
        if (/^[A-Z]/.test(type)) pass(event);
    }
  }

  function make(work: () => void): AgUiEvent[] {
    out = [];
    work();
    return out;
  }

  const ifLive = (work: () => void) => make(() => phase !== 'over' && work());

  return {
    start: () => make(() => phase === 'new' && begin()),
    push: (event) =>
      make(() => {
        const fields = (isRecord(event) ? event : { type: event }) as Fields;
        if (isText(fields.type) && (phase !== 'over' || fields.type === 'RUN_STARTED')) {
          take(fields);
        }
      }),
    end: () =>
      ifLive(() => {
        if (done === 'optional') finish();
        else fail('The stream ended without [DONE].', 'run-lost');
      }),
    fail: (error) =>
      ifLive(() => {
        const { message, code, status } = Object(error);
        fail(textOf(message) || textOf(error) || 'Run failed', code ?? status);
      }),
  };
}
