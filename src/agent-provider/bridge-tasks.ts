import { isObject, isText, textOf, type WireEvent } from '../ag-ui/thread-edits.ts';
import {
  type BridgeDraft,
  close,
  entityIdOf,
  find,
  isOpen,
  laneOf,
  open,
  taskOf,
  toAgentError,
} from './bridge-entities.ts';
import { closeLane } from './bridge-streams.ts';

/** `STEP_STARTED` and `STEP_FINISHED`: a subagent's step is another one than the parent agent's of that name. */
export function applyStep(draft: BridgeDraft, event: WireEvent): void {
  const { stepName: name, subagentRunId: owner } = event;
  if (!isText(name)) return;
  const key = `step${JSON.stringify([textOf(owner), name])}`;
  const step = draft.state.entities.get(key);
  if (event.type === 'STEP_FINISHED') close(draft, event, step, 'completed');
  else if (!isOpen(draft, step)) {
    const base = isText(owner) ? `${owner}/${name}` : name;
    open(draft, event, 'task', key, base, { title: name || 'Step' }, taskOf(draft, event));
  }
}

/** `SUBAGENT_STARTED`, `_FINISHED` and `_ERROR`; one that is suspended stays open. */
export function applySubagent(draft: BridgeDraft, event: WireEvent): void {
  const { subagentRunId: id, description, outcome } = event;
  if (!isText(id)) return;
  const task = find(draft, 'task', id);
  if (event.type === 'SUBAGENT_STARTED') {
    if (isOpen(draft, task)) return;
    open(
      draft,
      event,
      'task',
      `task${id}`,
      id,
      { title: textOf(event.name) || 'Subagent', ...(isText(description) && { description }) },
      entityIdOf(draft, 'task', event.parentSubagentRunId) ??
        entityIdOf(draft, 'tool', event.parentToolCallId),
    );
    return;
  }
  closeLane(draft, event, laneOf(event));
  if (event.type === 'SUBAGENT_ERROR') {
    close(draft, event, task, 'failed', { error: toAgentError(event, 'The subagent failed.') });
  } else if (!isObject(outcome) || outcome.type !== 'suspended') {
    close(draft, event, task, 'completed', { result: event.result ?? undefined });
  }
}
