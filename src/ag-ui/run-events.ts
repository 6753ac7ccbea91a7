import { isRecord, isText, textOf } from '../internal/json-values.ts';
import type { Interrupt } from './interrupts.ts';
import type { AgUiThread, TokenUsage } from './thread.ts';
import { type Draft, edit, itemsOf, listOf, only, type WireEvent } from './thread-edits.ts';

/** How a run can end. */
export type RunEnd = 'finished' | 'error' | 'aborted';

/** An error as a thread keeps it: producers forget the message. */
export function errorOf({ message, code }: WireEvent): { message: string; code?: string } {
  return { message: textOf(message) || 'Run failed', ...(isText(code) && { code }) };
}

function closeOpen(open: Draft['open']): void {
  open.steps = open.chunks = open.calls = open.thinking = undefined;
}

function end(draft: Draft, status: RunEnd): void {
  const { open } = draft;
  const { calls } = open;
  draft.status = status;
  draft.step = undefined;
  // A run that finished has no half calls, whether it said so or not.
  if (status === 'finished') open.unended = only(open.unended, (id) => !calls?.includes(id));
  closeOpen(open);
  open.answers = undefined;
  draft.subagents = draft.subagents?.map((subagent) =>
    subagent.status === 'running' ? { ...subagent, status } : subagent,
  );
}

/**
 * End the run under way: its status, and nothing left open but the tool calls that never ended.
 *
 * What ends a run without a terminal event of its own (an abort, a lost connection) goes through
 * here, as terminal events do.
 */
export function endRun<S>(
  thread: AgUiThread<S>,
  status: RunEnd,
  error?: AgUiThread<S>['error'],
): AgUiThread<S> {
  return edit(thread, (draft) => {
    end(draft, status);
    draft.error = error;
  });
}

/** `RUN_STARTED`: forget the run before, and take the messages of its input that are new here. */
export function startRun(draft: Draft, event: WireEvent): void {
  const { messages, open } = draft;
  const input = isRecord(event.input) ? event.input : undefined;
  const ids = new Set(messages.map((message) => message.id));
  const added = itemsOf(input?.messages).filter(({ id }) => !ids.has(id) && ids.add(id));
  if (added[0]) draft.messages = [...messages, ...added];
  draft.status = 'running';
  draft.runId = textOf(event.runId);
  draft.parentRunId = textOf(event.parentRunId);
  draft.step = draft.error = draft.result = undefined;
  draft.usage = draft.pendingToolCallIds = draft.subagents = undefined;
  closeOpen(open);
  // Who started the run here knows better than the server's echo.
  if (input) {
    open.answers ??= (listOf(input.resume) ?? []).map((entry) => entry?.interruptId).filter(isText);
  }
}

/** `RUN_FINISHED`: success, an interrupt or a cancellation; after a failure it changes nothing. */
export function finishRun(draft: Draft, event: WireEvent): void {
  const { status } = draft;
  if (status === 'error' || status === 'aborted') return;
  const outcome = event.outcome as Readonly<Record<string, unknown>> | undefined;
  const cancelled = outcome?.type === 'cancelled';
  const interrupted = outcome?.type === 'interrupt';
  const { answers, calls } = draft.open;
  const asked = interrupted ? itemsOf<Interrupt>(outcome?.interrupts) : [];
  // Only a run under way can have answered what nobody said it answers.
  const unanswered = (draft.interrupts ?? []).filter(
    ({ id }) =>
      (answers ? !answers.includes(id) : cancelled || status === 'finished') &&
      !asked.some((interrupt) => interrupt.id === id),
  );
  draft.interrupts = listOf([...unanswered, ...asked]);
  draft.result = event.result ?? undefined;
  draft.usage = listOf<TokenUsage>(event.usage) ?? draft.usage;
  draft.pendingToolCallIds =
    cancelled || interrupted
      ? undefined
      : (listOf<string>(outcome?.pendingToolCallIds) ?? calls ?? draft.pendingToolCallIds);
  end(draft, cancelled ? 'aborted' : 'finished');
}

/** `RUN_ERROR`: the first failure counts. */
export function failRun(draft: Draft, event: WireEvent): void {
  if (draft.status === 'error' || draft.status === 'aborted') return;
  draft.error = errorOf(event);
  draft.usage = listOf<TokenUsage>(event.usage) ?? draft.usage;
  end(draft, 'error');
}

/** `STEP_STARTED` and `STEP_FINISHED`: the innermost step of the parent agent; outer ones may end first. */
export function applyStep(draft: Draft, event: WireEvent): void {
  const { stepName: name, subagentRunId } = event;
  const steps = draft.open.steps ?? [];
  if (!isText(name) || isText(subagentRunId)) return;
  const at = steps.lastIndexOf(name);
  draft.open.steps =
    event.type === 'STEP_STARTED' ? [...steps, name] : only(steps, (_, index) => index !== at);
  draft.step = draft.open.steps?.at(-1);
}
