import { isText, textOf } from '../internal/json-values.ts';
import { errorOf } from './run-events.ts';
import { closeChunks } from './stream-events.ts';
import type { AgUiSubagent } from './thread.ts';
import { type Draft, findById, merge, replaced, type WireEvent } from './thread-edits.ts';

/** `SUBAGENT_STARTED`, `_FINISHED` and `_ERROR`: the run goes on after all of them. */
export function applySubagent(draft: Draft, event: WireEvent): void {
  const id = event.subagentRunId;
  if (!isText(id)) return;
  const list = draft.subagents ?? [];
  const at = findById(list, id);
  let subagent = list[at];
  if (event.type === 'SUBAGENT_STARTED') {
    subagent = merge({} as AgUiSubagent, {
      id,
      name: textOf(event.name) ?? '',
      status: 'running',
      description: textOf(event.description),
      parentId: textOf(event.parentSubagentRunId),
      toolCallId: textOf(event.parentToolCallId),
    });
  } else {
    const failed = event.type === 'SUBAGENT_ERROR';
    const outcome = event.outcome as { readonly type?: unknown } | undefined;
    closeChunks(draft, (lane) => lane === id);
    subagent &&= merge(subagent, {
      status: failed ? 'error' : outcome?.type === 'suspended' ? 'suspended' : 'finished',
      result: event.result ?? undefined,
      error: failed ? errorOf(event) : undefined,
    });
  }
  if (subagent) draft.subagents = replaced(list, at < 0 ? list.length : at, subagent);
}
