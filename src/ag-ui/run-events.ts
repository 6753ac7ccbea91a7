import type { Interrupt } from './interrupts.ts';
import type { AgUiThread, TokenUsage } from './thread.ts';
import {
  type Changes,
  change,
  field,
  isObject,
  isText,
  itemsOf,
  listOf,
  only,
  setOpen,
  type Thread,
  textOf,
  type WireEvent,
} from './thread-edits.ts';

/** An error as a thread keeps it: producers forget the message. */
export function errorOf({ message, code }: WireEvent): { message: string; code?: string } {
  return { message: textOf(message) || 'Run failed', ...field('code', textOf(code)) };
}

/**
 * End the run under way: its status, and nothing left open but the tool calls that never ended.
 *
 * What ends a run without a terminal event of its own (an abort, a lost connection) goes through here too.
 */
export function endRun<S>(
  thread: AgUiThread<S>,
  status: 'finished' | 'error' | 'aborted',
  changes: Changes<AgUiThread<S>> = {},
): AgUiThread<S> {
  const { calls, unended } = thread.open ?? {};
  // A run that finished has no half calls, whether it said so or not.
  const left = status === 'finished' ? only(unended, (id) => !calls?.includes(id)) : unended;
  return change(thread, {
    ...changes,
    status,
    step: undefined,
    open: left && { unended: left },
    subagents: thread.subagents?.map((subagent) =>
      subagent.status === 'running' ? { ...subagent, status } : subagent,
    ),
  });
}

/** `RUN_STARTED`: forget the run before, and take the messages of its input that are new here. */
export function startRun(thread: Thread, event: WireEvent): Thread {
  const input = isObject(event.input) ? event.input : undefined;
  const ids = new Set(thread.messages.map((message) => message.id));
  const added = itemsOf(input?.messages).filter(({ id }) => !ids.has(id) && ids.add(id));
  return setOpen(
    change(thread, {
      messages: added.length ? [...thread.messages, ...added] : thread.messages,
      status: 'running',
      step: undefined,
      error: undefined,
      result: undefined,
      usage: undefined,
      pendingToolCallIds: undefined,
      subagents: undefined,
      runId: textOf(event.runId),
      parentRunId: textOf(event.parentRunId),
    }),
    {
      steps: undefined,
      chunks: undefined,
      calls: undefined,
      thinking: undefined,
      // Who started the run here knows better than the server's echo.
      answers:
        thread.open?.answers ??
        (input && (listOf(input.resume) ?? []).map((entry) => entry?.interruptId).filter(isText)),
    },
  );
}

/** `RUN_FINISHED`: success, an interrupt or a cancellation; after a failure it changes nothing. */
export function finishRun(thread: Thread, event: WireEvent): Thread {
  const { status } = thread;
  if (status === 'error' || status === 'aborted') return thread;
  const outcome = isObject(event.outcome) ? event.outcome : {};
  const cancelled = outcome.type === 'cancelled';
  const interrupted = outcome.type === 'interrupt';
  const { answers, calls } = thread.open ?? {};
  const asked = interrupted ? itemsOf<Interrupt>(outcome.interrupts) : [];
  // Only a run under way can have answered what nobody said it answers.
  const unanswered = (thread.interrupts ?? []).filter(
    ({ id }) =>
      (answers ? !answers.includes(id) : cancelled || status === 'finished') &&
      !asked.some((interrupt) => interrupt.id === id),
  );
  return endRun(thread, cancelled ? 'aborted' : 'finished', {
    result: event.result ?? undefined,
    usage: listOf<TokenUsage>(event.usage) ?? thread.usage,
    interrupts: listOf<Interrupt>([...unanswered, ...asked]),
    pendingToolCallIds:
      cancelled || interrupted
        ? undefined
        : (listOf<string>(outcome.pendingToolCallIds) ?? calls ?? thread.pendingToolCallIds),
  });
}

/** `RUN_ERROR`: the first failure counts. */
export function failRun(thread: Thread, event: WireEvent): Thread {
  return thread.status === 'error' || thread.status === 'aborted'
    ? thread
    : endRun(thread, 'error', {
        error: errorOf(event),
        usage: listOf<TokenUsage>(event.usage) ?? thread.usage,
      });
}

/** `STEP_STARTED`; the steps of subagents do not count. */
export function startStep(thread: Thread, event: WireEvent): Thread {
  const { stepName } = event;
  return !isText(stepName) || isText(event.subagentRunId)
    ? thread
    : setOpen({ ...thread, step: stepName }, { steps: [...(thread.open?.steps ?? []), stepName] });
}

/** `STEP_FINISHED`: an outer step can end before an inner one. */
export function finishStep(thread: Thread, event: WireEvent): Thread {
  const steps = thread.open?.steps ?? [];
  const at = isText(event.subagentRunId) ? -1 : steps.lastIndexOf(event.stepName as string);
  const left = only(steps, (_, index) => index !== at);
  return left === steps ? thread : setOpen(change(thread, { step: left?.at(-1) }), { steps: left });
}
