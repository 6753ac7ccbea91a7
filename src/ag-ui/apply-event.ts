import { isText, textOf } from '../internal/json-values.ts';
import { applyActivityDelta, applyActivitySnapshot } from './activity-events.ts';
import type { AgUiEvent } from './events.ts';
import { applyMessagesSnapshot } from './messages-snapshot.ts';
import { applyStep, failRun, finishRun, startRun } from './run-events.ts';
import { applyStateDelta, applyStateSnapshot } from './state-events.ts';
import {
  applyThinking,
  closeChunks,
  expandChunk,
  extend,
  type StreamKind,
  start,
} from './stream-events.ts';
import { applySubagent } from './subagent-events.ts';
import type { AgUiThread } from './thread.ts';
import { type Draft, edit, type WireEvent } from './thread-edits.ts';
import { addResult, setEncryptedValue } from './tool-events.ts';

type Handler = (draft: Draft, event: WireEvent, kind: StreamKind) => void;

const nothing: Handler = () => {};

/** What each event does. One that is not here changes nothing at all. */
const handlers: Readonly<Record<string, Handler>> = {
  RUN_STARTED: startRun,
  RUN_FINISHED: finishRun,
  RUN_ERROR: failRun,
  STEP_STARTED: applyStep,
  STEP_FINISHED: applyStep,
  TEXT_MESSAGE_START: start,
  TEXT_MESSAGE_CONTENT: extend,
  TEXT_MESSAGE_END: extend,
  TEXT_MESSAGE_CHUNK: expandChunk,
  TOOL_CALL_START: start,
  TOOL_CALL_ARGS: extend,
  TOOL_CALL_END: extend,
  TOOL_CALL_CHUNK: expandChunk,
  TOOL_CALL_RESULT: addResult,
  REASONING_START: nothing,
  REASONING_END: nothing,
  REASONING_MESSAGE_START: start,
  REASONING_MESSAGE_CONTENT: extend,
  REASONING_MESSAGE_END: extend,
  REASONING_MESSAGE_CHUNK: expandChunk,
  REASONING_ENCRYPTED_VALUE: setEncryptedValue,
  THINKING_START: nothing,
  THINKING_END: nothing,
  THINKING_TEXT_MESSAGE_START: applyThinking,
  THINKING_TEXT_MESSAGE_CONTENT: applyThinking,
  THINKING_TEXT_MESSAGE_END: applyThinking,
  STATE_SNAPSHOT: applyStateSnapshot,
  STATE_DELTA: applyStateDelta,
  MESSAGES_SNAPSHOT: applyMessagesSnapshot,
  ACTIVITY_SNAPSHOT: applyActivitySnapshot,
  ACTIVITY_DELTA: applyActivityDelta,
  SUBAGENT_STARTED: applySubagent,
  SUBAGENT_FINISHED: applySubagent,
  SUBAGENT_ERROR: applySubagent,
  CUSTOM: nothing,
};

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
  const type = event?.type;
  if (!isText(type) || !Object.hasOwn(handlers, type)) return thread;
  return edit(thread, (draft) => {
    const wire = event as WireEvent;
    const lane = textOf(wire.subagentRunId);
    // The others leave the open chunks of their lane alone, or see to them themselves.
    if (!/CHUNK|^RUN|^ACT|^SUB|ENCR/.test(type)) {
      closeChunks(draft, (other) => type === 'MESSAGES_SNAPSHOT' || other === lane);
    }
    (handlers[type] as Handler)(
      draft,
      wire,
      type[1] === 'O' ? 'tool' : type[2] === 'X' ? 'text' : 'reasoning',
    );
  });
}
