import { applyActivityDelta, applyActivitySnapshot } from './activity-events.ts';
import { closeChunks, expandChunk } from './chunk-events.ts';
import type { AgUiEvent } from './events.ts';
import { applyMessagesSnapshot } from './messages-snapshot.ts';
import { failRun, finishRun, finishStep, startRun, startStep } from './run-events.ts';
import { applyStateDelta, applyStateSnapshot } from './state-events.ts';
import { endSubagent, startSubagent } from './subagent-events.ts';
import { appendText, endMessage, startMessage } from './text-events.ts';
import { applyThinking } from './thinking-events.ts';
import type { AgUiThread } from './thread.ts';
import { type Thread, textOf, type WireEvent } from './thread-edits.ts';
import {
  addResult,
  appendArguments,
  endCall,
  setEncryptedValue,
  startCall,
} from './tool-events.ts';

type Handler = (thread: Thread, event: WireEvent, argument: never) => Thread;

const keep: Handler = (thread) => thread;

/** What each event does, and what else it is told. Events that are not here change nothing at all. */
const handlers: Readonly<Record<string, readonly [Handler, unknown?]>> = {
  RUN_STARTED: [startRun],
  RUN_FINISHED: [finishRun],
  RUN_ERROR: [failRun],
  STEP_STARTED: [startStep],
  STEP_FINISHED: [finishStep],
  TEXT_MESSAGE_START: [startMessage, 'text'],
  TEXT_MESSAGE_CONTENT: [appendText, 'text'],
  TEXT_MESSAGE_END: [endMessage, 'text'],
  TEXT_MESSAGE_CHUNK: [expandChunk, 'text'],
  REASONING_START: [keep],
  REASONING_MESSAGE_START: [startMessage, 'reasoning'],
  REASONING_MESSAGE_CONTENT: [appendText, 'reasoning'],
  REASONING_MESSAGE_END: [endMessage, 'reasoning'],
  REASONING_MESSAGE_CHUNK: [expandChunk, 'reasoning'],
  REASONING_END: [keep],
  REASONING_ENCRYPTED_VALUE: [setEncryptedValue],
  THINKING_START: [keep],
  THINKING_TEXT_MESSAGE_START: [applyThinking, 'start'],
  THINKING_TEXT_MESSAGE_CONTENT: [applyThinking, 'content'],
  THINKING_TEXT_MESSAGE_END: [applyThinking, 'end'],
  THINKING_END: [keep],
  TOOL_CALL_START: [startCall],
  TOOL_CALL_ARGS: [appendArguments],
  TOOL_CALL_END: [endCall],
  TOOL_CALL_CHUNK: [expandChunk, 'tool'],
  TOOL_CALL_RESULT: [addResult],
  STATE_SNAPSHOT: [applyStateSnapshot],
  STATE_DELTA: [applyStateDelta],
  MESSAGES_SNAPSHOT: [applyMessagesSnapshot],
  ACTIVITY_SNAPSHOT: [applyActivitySnapshot],
  ACTIVITY_DELTA: [applyActivityDelta],
  SUBAGENT_STARTED: [startSubagent],
  SUBAGENT_FINISHED: [endSubagent, 'finished'],
  SUBAGENT_ERROR: [endSubagent, 'error'],
  CUSTOM: [keep],
};

/** What leaves the open chunks of its lane alone, or sees to them itself. */
const leavesChunks = /CHUNK|^RUN|^ACTIVITY|^SUBAGENT|ENCRYPTED/;

/**
 * Fold one AG-UI event into a thread without changing it.
 *
 * An event that changes nothing, that is unknown or that is malformed returns the same thread; a
 * message that an event does not change stays the same object. A `STATE_DELTA` that cannot be applied
 * returns the thread with `stale: true` and the state unchanged, and later deltas are skipped until a
 * `STATE_SNAPSHOT`. It never throws, and it does not check the order of events: a stream may be
 * resumed in the middle.
 *
 * @example
 * ```ts
 * // Wrap it to handle events of your own.
 * const reduce = (thread: AgUiThread<Plan>, event: AgUiEvent): AgUiThread<Plan> =>
 *   event.type === 'CUSTOM' && event.name === 'reset_plan'
 *     ? { ...thread, state: { tasks: [] } }
 *     : applyAgUiEvent(thread, event);
 * ```
 */
export function applyAgUiEvent<S>(
  thread: AgUiThread<S>,
  event: AgUiEvent | { readonly type: string },
): AgUiThread<S> {
  const type = textOf(event?.type);
  if (type === undefined || !Object.hasOwn(handlers, type)) return thread;
  const [handle, argument] = handlers[type] as (typeof handlers)[string];
  const wire = event as WireEvent;
  let open: Thread = thread;
  if (thread.open?.chunks && !leavesChunks.test(type)) {
    const lane = textOf(wire.subagentRunId);
    open = closeChunks(thread, (other) => type === 'MESSAGES_SNAPSHOT' || other === lane);
  }
  return handle(open, wire, argument as never) as AgUiThread<S>;
}
