import { closeChunks } from './chunk-events.ts';
import { errorOf } from './run-events.ts';
import type { AgUiSubagent } from './thread.ts';
import {
  change,
  field,
  isObject,
  isText,
  replaced,
  type Thread,
  textOf,
  type WireEvent,
} from './thread-edits.ts';

/** `SUBAGENT_STARTED`. */
export function startSubagent(thread: Thread, event: WireEvent): Thread {
  const id = event.subagentRunId;
  if (!isText(id)) return thread;
  const list = thread.subagents ?? [];
  const at = list.findIndex((subagent) => subagent.id === id);
  return {
    ...thread,
    subagents: replaced<AgUiSubagent>(list, at < 0 ? list.length : at, {
      id,
      name: textOf(event.name) ?? '',
      status: 'running',
      ...field('description', textOf(event.description)),
      ...field('parentId', textOf(event.parentSubagentRunId)),
      ...field('toolCallId', textOf(event.parentToolCallId)),
    }),
  };
}

/** `SUBAGENT_FINISHED` and `SUBAGENT_ERROR`: the run goes on after both. */
export function endSubagent(
  thread: Thread,
  event: WireEvent,
  status: 'finished' | 'error',
): Thread {
  const id = event.subagentRunId;
  const list = thread.subagents ?? [];
  const at = list.findIndex((subagent) => subagent.id === id);
  const next = isText(id) ? closeChunks(thread, (lane) => lane === id) : thread;
  if (at < 0) return next;
  const suspended = isObject(event.outcome) && event.outcome.type === 'suspended';
  return {
    ...next,
    subagents: replaced(
      list,
      at,
      change<AgUiSubagent>(list[at] as AgUiSubagent, {
        status: suspended ? 'suspended' : status,
        result: event.result ?? undefined,
        error: status === 'error' ? errorOf(event) : undefined,
      }),
    ),
  };
}
