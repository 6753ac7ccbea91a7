import type { WireEvent } from '../ag-ui/thread-edits.ts';
import { isText, textOf } from '../internal/json-values.ts';
import {
  type BridgeDraft,
  close,
  entityIdOf,
  find,
  laneOf,
  open,
  toAgentError,
} from './bridge-entities.ts';
import { closeLane } from './bridge-streams.ts';

/** `STEP_STARTED` and `STEP_FINISHED`: a subagent's step is another one than the parent agent's of that name. */
export function applyStep(draft: BridgeDraft, event: WireEvent): void {
  const { type, stepName: name, subagentRunId: owner } = event;
  if (!isText(name)) return;
  const key = `step${JSON.stringify([textOf(owner), name])}`;
  const step = draft.state.entities.get(key);
  if (type === 'STEP_FINISHED') close(draft, event, step, 'completed');
  else if (!step?.open) {
    const base = isText(owner) ? `${owner}/${name}` : name;
    open(draft, event, 'task.created', key, base, { title: name || 'Step' });
  }
}

/** `SUBAGENT_STARTED`, `_FINISHED` and `_ERROR`; one that is suspended stays open. */
export function applySubagent(draft: BridgeDraft, event: WireEvent): void {
  const { type, subagentRunId: id, description, outcome } = event;
  if (!isText(id)) return;
  const task = find(draft, 'task', id);
  if (type !== 'SUBAGENT_STARTED') {
    closeLane(draft, event, laneOf(event));
    if (type === 'SUBAGENT_ERROR') {
      close(draft, event, task, 'failed', { error: toAgentError(event, 'The subagent') });
    } else if (Object(outcome).type !== 'suspended') {
      close(draft, event, task, 'completed', { result: event.result ?? undefined });
    }
  } else if (!task?.open) {
    open(
      draft,
      event,
      'task.created',
      `task${id}`,
      id,
      { title: textOf(event.name) || 'Subagent', description: textOf(description) },
      entityIdOf(draft, 'task', event.parentSubagentRunId) ??
        entityIdOf(draft, 'tool', event.parentToolCallId) ??
        null,
    );
  }
}
