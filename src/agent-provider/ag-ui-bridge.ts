import type { AgUiEvent } from '../ag-ui/events.ts';
import type { ResumeEntry } from '../ag-ui/interrupts.ts';
import type { WireEvent } from '../ag-ui/thread-edits.ts';
import { isRunSocketError, RunSocketError } from '../internal/errors.ts';
import { isRecord, isText, textOf } from '../internal/json-values.ts';
import { isAbortError } from './abortable.ts';
import { applyActivity, applyState } from './bridge-artifacts.ts';
import { applyCustom } from './bridge-custom.ts';
import { type BridgeDraft, close, find, laneOf, openOf, toAgentError } from './bridge-entities.ts';
import { applyMessagesSnapshot } from './bridge-messages.ts';
import { applyRunEnd, applyRunStarted, beginRun, endRun } from './bridge-runs.ts';
import { createBridgeState, saveBridgeState } from './bridge-state.ts';
import {
  applySpan,
  applyStream,
  closeLane,
  type StreamKind,
  startStream,
} from './bridge-streams.ts';
import { applyStep, applySubagent } from './bridge-tasks.ts';
import { answerTool, applyResult } from './bridge-tools.ts';
import type { AgUiBridge, AgUiBridgeOptions } from './bridge-types.ts';
import type { AgentEvent } from './event-types.ts';

type Handler = (draft: BridgeDraft, event: WireEvent, kind: StreamKind, verb: string) => void;

/** What each event does that is none of a stream. One that is not here tells nothing at all. */
const handlers: Readonly<Record<string, Handler>> = {
  RUN_STARTED: applyRunStarted,
  RUN_FINISHED: applyRunEnd,
  RUN_ERROR: applyRunEnd,
  STEP_STARTED: applyStep,
  STEP_FINISHED: applyStep,
  TOOL_CALL_RESULT: applyResult,
  REASONING_START: applySpan,
  REASONING_END: applySpan,
  STATE_SNAPSHOT: applyState,
  STATE_DELTA: applyState,
  MESSAGES_SNAPSHOT: applyMessagesSnapshot,
  ACTIVITY_SNAPSHOT: applyActivity,
  ACTIVITY_DELTA: applyActivity,
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
  const state = createBridgeState(options.restore);
  const { entities, asked, pending, known } = state;
  const draft: BridgeDraft = { options, state, out: [] };
  const local: WireEvent = { type: '' };
  if (state.phase === 'new') {
    for (const id of options.knownMessageIds ?? []) known.set(id, true);
    const shared = { kind: 'artifact', id: '', key: 'state', content: options.state } as const;
    entities.set('state', shared);
  }

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
    endRun(draft, { how: 'failed', payload: { error: toAgentError(error, 'The run') } });
  }

  function flush(): void {
    if (state.phase === 'ending') endRun(draft, state.end!);
    else if (state.phase !== 'held') {
      fail({ code: 'stream_ended', message: 'The stream ended before the run.', retryable: true });
    }
  }

  function cancel(reason?: string): void {
    endRun(draft, { how: 'cancelled', payload: { reason } });
  }

  function refuse(id: string): never {
    throw new RunSocketError('invalid-argument', `${id} waits for no such answer.`);
  }

  /** What waits for an answer, by the ids that its entities have. */
  const waits = () =>
    openOf(draft, /approval/).filter(
      ({ key }) => asked.has(key.slice(8)) && state.phase === 'held',
    );

  return {
    get phase() {
      return state.phase;
    },
    start: () => make(() => beginRun(draft, local)),
    push(event: AgUiEvent) {
      const type: unknown = event?.type;
      const { phase } = state;
      if (
        !isText(type) ||
        (phase === 'held' && !/^RUN_[SE]/.test(type)) ||
        (phase === 'ending' && /^RUN_[FE]/.test(type))
      ) {
        return [];
      }
      const [, family, verb = ''] =
        /^(TEXT_MESSAGE|TOOL_CALL|REASONING_MESSAGE|THINKING_TEXT_MESSAGE)_(START|CONTENT|ARGS|END|CHUNK)$/.exec(
          type,
        ) ?? [];
      const handler = family ? applyStream : Object.hasOwn(handlers, type) && handlers[type];
      if (!handler) return [];
      // Before AG-UI 1.0, thoughts had no id, and not always a start.
      const isOld = family?.[1] === 'H';
      const wire = (isOld ? { ...event, messageId: 'thinking' } : event) as WireEvent;
      const kind =
        family === 'TOOL_CALL' ? 'tool' : family === 'TEXT_MESSAGE' ? 'message' : 'reasoning';
      return make(() => {
        if (type !== 'RUN_STARTED') beginRun(draft, wire);
        // The others leave the open chunks of their lane alone, or see to them themselves.
        if (!/CHUNK|^RUN|^ACT|^SUB|^MES/.test(type)) closeLane(draft, wire, laneOf(wire));
        if (isOld && verb === 'CONTENT') startStream(draft, wire, kind);
        handler(draft, wire, kind, verb);
      });
    },
    flush: () => make(flush),
    fail: (error) =>
      make(() => {
        if (isAbortError(error) || isRunSocketError(error, 'aborted')) {
          cancel(textOf((error as Error).message) || undefined);
        } else if (state.phase === 'ending' && !isRunSocketError(error, 'run-lost')) flush();
        else fail(error);
      }),
    cancel: (reason) => make(() => cancel(reason)),
    get waiting() {
      return waits().map(({ id }) => id);
    },
    answer(approvalId, decision, data) {
      const approval = waits().find(({ id }) => id === approvalId);
      if (!approval || !/^(approved|rejected|modified)$/.test(decision)) refuse(approvalId);
      const interruptId = approval.key.slice(8);
      const payload =
        decision === 'rejected'
          ? { ...(isRecord(data) && data), approved: false }
          : (data ?? { approved: true });
      asked.set(interruptId, { interruptId, status: 'resolved', payload });
      return make(() => close(draft, local, approval, 'resolved', { decision, data }));
    },
    get resume() {
      const answers = [...asked.values()];
      return state.phase === 'held' && answers[0] && answers.every((answer) => answer)
        ? (answers as ResumeEntry[])
        : undefined;
    },
    get pendingTools() {
      return [...pending.keys()].map((toolCallId) => {
        const { name = '', content } = find(draft, 'tool', toolCallId)!;
        return { toolCallId, name, arguments: textOf(content) ?? '' };
      });
    },
    answerTool(toolCallId, answer) {
      if (!pending.has(toolCallId)) refuse(toolCallId);
      const { result, error } = answer as { readonly result?: unknown; readonly error?: unknown };
      return make(() => {
        answerTool(draft, local, find(draft, 'tool', toolCallId)!, result, error);
        pending.delete(toolCallId);
        if (!pending.size) state.phase = 'ending';
      });
    },
    tool: (toolCallId) => state.failed.get(toolCallId),
    snapshot: () => saveBridgeState(state),
  };
}
