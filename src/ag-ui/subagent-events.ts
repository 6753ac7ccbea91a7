import { errorOf } from './run-events.ts';
import { closeChunks } from './stream-events.ts';
import type { AgUiSubagent } from './thread.ts';
import {
  type Draft,
  isObject,
  isText,
  merge,
  replaced,
  textOf,
  type WireEvent,
} from './thread-edits.ts';

/** `SUBAGENT_STARTED`, `_FINISHED` and `_ERROR`: the run goes on after all of them. */
export function applySubagent(draft: Draft, event: WireEvent): void {
  const id = event.subagentRunId;
  if (!isText(id)) return;
  const list = draft.subagents ?? [];
  const at = list.findIndex((subagent) => subagent.id === id);
  if (event.type === 'SUBAGENT_STARTED') {
    draft.subagents = replaced(
      list,
      at < 0 ? list.length : at,
      merge({} as AgUiSubagent, {
        id,
        name: textOf(event.name) ?? '',
        status: 'running',
        description: textOf(event.description),
        parentId: textOf(event.parentSubagentRunId),
        toolCallId: textOf(event.parentToolCallId),
      }),
    );
    return;
  }
  closeChunks(draft, (lane) => lane === id);
  const failed = event.type === 'SUBAGENT_ERROR';
  const suspended = isObject(event.outcome) && event.outcome.type === 'suspended';
  if (list[at]) {
    draft.subagents = replaced(
      list,
      at,
      merge(list[at], {
        status: failed ? 'error' : suspended ? 'suspended' : 'finished',
        result: event.result ?? undefined,
        error: failed ? errorOf(event) : undefined,
      }),
    );
  }
}
