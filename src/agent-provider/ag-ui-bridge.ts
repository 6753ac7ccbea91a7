import type { AgUiEvent } from '../ag-ui/events.ts';
import { isObject, isText, textOf, type WireEvent } from '../ag-ui/thread-edits.ts';
import { isRunSocketError, RunSocketError } from '../internal/errors.ts';
import { applyActivity, applyActivityDelta, applyState } from './bridge-artifacts.ts';
import { applyCustom } from './bridge-custom.ts';
import { type BridgeDraft, close, find, laneOf, toAgentError } from './bridge-entities.ts';
import { applyMessagesSnapshot } from './bridge-messages.ts';
import {
  applyRunError,
  applyRunFinished,
  applyRunStarted,
  beginRun,
  endRun,
} from './bridge-runs.ts';
import { createBridgeState, restoreBridgeState, saveBridgeState } from './bridge-state.ts';
import {
  applyChunk,
  applySpan,
  applyThinking,
  closeLane,
  endStream,
  extendStream,
  type StreamKind,
  startStream,
} from './bridge-streams.ts';
import { applyStep, applySubagent } from './bridge-tasks.ts';
import { answerTool, applyResult } from './bridge-tools.ts';
import type { AgUiBridge, AgUiBridgeOptions } from './bridge-types.ts';
import type { AgentEvent } from './event-types.ts';

type Handler = (draft: BridgeDraft, event: WireEvent, kind: StreamKind) => void;

const nothing: Handler = () => {};

/** What each event does. One that is not here tells nothing at all. */
const handlers: Readonly<Record<string, Handler>> = {
  RUN_STARTED: applyRunStarted,
  RUN_FINISHED: applyRunFinished,
  RUN_ERROR: applyRunError,
  STEP_STARTED: applyStep,
  STEP_FINISHED: applyStep,
  TEXT_MESSAGE_START: startStream,
  TEXT_MESSAGE_CONTENT: extendStream,
  TEXT_MESSAGE_END: endStream,
  TEXT_MESSAGE_CHUNK: applyChunk,
  TOOL_CALL_START: startStream,
  TOOL_CALL_ARGS: extendStream,
  TOOL_CALL_END: endStream,
  TOOL_CALL_CHUNK: applyChunk,
  TOOL_CALL_RESULT: applyResult,
  REASONING_START: applySpan,
  REASONING_END: applySpan,
  REASONING_MESSAGE_START: startStream,
  REASONING_MESSAGE_CONTENT: extendStream,
  REASONING_MESSAGE_END: endStream,
  REASONING_MESSAGE_CHUNK: applyChunk,
  THINKING_START: nothing,
  THINKING_END: nothing,
  THINKING_TEXT_MESSAGE_START: applyThinking,
  THINKING_TEXT_MESSAGE_CONTENT: applyThinking,
  THINKING_TEXT_MESSAGE_END: applyThinking,
  STATE_SNAPSHOT: applyState,
  STATE_DELTA: applyState,
  MESSAGES_SNAPSHOT: applyMessagesSnapshot,
  ACTIVITY_SNAPSHOT: applyActivity,
  ACTIVITY_DELTA: applyActivityDelta,
  SUBAGENT_STARTED: applySubagent,
  SUBAGENT_FINISHED: applySubagent,
  SUBAGENT_ERROR: applySubagent,
  CUSTOM: applyCustom,
};

/**
 * Make AgentEvents of the AG-UI events of one run.
 *
 * Whatever comes, the events are valid: one start, one end, every entity opened once and closed before
 * the end; after it there is nothing more. An unknown or malformed event tells nothing. A function of
 * the options that throws ends the run as failed. Throws `invalid-argument` for a `restore` that
 * `snapshot()` did not make.
 *
 * @example
 * const bridge = createAgUiBridge({ events: createAgentEventFactory({ sessionId, runId }) });
 * const events = [...bridge.start(), ...log.flatMap(bridge.push), ...bridge.flush()];
 */
export function createAgUiBridge(options: AgUiBridgeOptions): AgUiBridge {
  const { restore, knownMessageIds = [] } = options;
  const state =
    restore === undefined
      ? createBridgeState(knownMessageIds, options.state)
      : restoreBridgeState(restore);
  const { approvals, pending } = state;
  const draft: BridgeDraft = { options, state, out: [] };

  function make(work: () => void): readonly AgentEvent[] {
    draft.out = [];
    if (state.phase !== 'ended') {
      try {
        work();
      } catch (error) {
        fail(error);
      }
    }
    return draft.out;
  }

  function fail(error: unknown): void {
    endRun(draft, { how: 'failed', payload: { error: toAgentError(error, 'The run failed.') } });
  }

  const flush = () => {
    if (state.end && state.phase === 'ending') endRun(draft, state.end);
    else if (state.phase !== 'held') {
      fail({ code: 'stream_ended', message: 'The stream ended before the run.', retryable: true });
    }
  };

  const cancel = (reason?: string) => {
    endRun(draft, { how: 'cancelled', payload: reason === undefined ? {} : { reason } });
  };

  function refuse(what: string, id: string): never {
    throw new RunSocketError('invalid-argument', `${what} ${id} waits for no such answer.`);
  }

  return {
    get phase() {
      return state.phase;
    },
    start: () => make(() => beginRun(draft, { type: '' })),
    push(event: AgUiEvent) {
      const type: unknown = event?.type;
      const { phase } = state;
      if (
        !isText(type) ||
        !Object.hasOwn(handlers, type) ||
        (phase === 'held' && !/^RUN_[SE]/.test(type)) ||
        (phase === 'ending' && /^RUN_[FE]/.test(type))
      ) {
        return [];
      }
      const wire = event as WireEvent;
      return make(() => {
        if (type !== 'RUN_STARTED') beginRun(draft, wire);
        // The others leave the open chunks of their lane alone, or see to them themselves.
        if (!/CHUNK|^RUN|^ACT|^SUB|^MES/.test(type)) closeLane(draft, wire, laneOf(wire));
        handlers[type]!(
          draft,
          wire,
          type[1] === 'O' ? 'tool' : type[2] === 'X' ? 'message' : 'reasoning',
        );
      });
    },
    flush: () => make(flush),
    fail: (error) =>
      make(() => {
        const { name, message } = Object(error);
        if (name === 'AbortError' || isRunSocketError(error, 'aborted')) {
          cancel(textOf(message) || undefined);
        } else if (state.phase === 'ending') flush();
        else fail(error);
      }),
    cancel: (reason) => make(() => cancel(reason)),
    get waiting() {
      return state.phase === 'held'
        ? [...approvals].flatMap(([id, { answer }]) => (answer ? [] : id))
        : [];
    },
    answer(approvalId, decision, data) {
      const approval = approvals.get(approvalId);
      if (
        state.phase !== 'held' ||
        !approval ||
        approval.answer ||
        !/^(approved|rejected|modified)$/.test(decision)
      ) {
        refuse('Approval', approvalId);
      }
      const { id } = approval;
      const payload =
        decision === 'rejected'
          ? { ...(isObject(data) && data), approved: false }
          : data === undefined
            ? { approved: true }
            : data;
      approvals.set(approvalId, {
        id,
        answer: { interruptId: id, status: 'resolved', payload },
      });
      return make(() =>
        close(draft, { type: '' }, find(draft, 'approval', id), 'resolved', {
          decision,
          ...(data !== undefined && { data }),
        }),
      );
    },
    get resume() {
      const answers = [...approvals.values()].flatMap(({ answer }) => answer ?? []);
      return state.phase === 'held' && answers[0] && answers.length === approvals.size
        ? answers
        : undefined;
    },
    get pendingTools() {
      return [...pending].map((toolCallId) => {
        const { name = '', content } = find(draft, 'tool', toolCallId) ?? {};
        return { toolCallId, name, arguments: textOf(content) ?? '' };
      });
    },
    answerTool(toolCallId, answer) {
      if (!pending.has(toolCallId)) refuse('Tool call', toolCallId);
      return make(() => {
        const { error, result } = answer as { readonly error?: unknown; readonly result?: unknown };
        answerTool(
          draft,
          { type: '' },
          toolCallId,
          error ? { error: toAgentError(error, 'The tool failed.') } : { result },
        );
        pending.delete(toolCallId);
        if (!pending.size) state.phase = 'ending';
      });
    },
    tool: (toolCallId) => state.failed.get(toolCallId),
    snapshot: () => saveBridgeState(state),
  };
}
