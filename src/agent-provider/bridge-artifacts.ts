import { applyPatch } from '../ag-ui/apply-patch.ts';
import { isObject, isText, textOf, type WireEvent } from '../ag-ui/thread-edits.ts';
import { type BridgeDraft, find, isOpen, open, taskOf, tell } from './bridge-entities.ts';

function put(
  draft: BridgeDraft,
  event: WireEvent,
  key: string,
  base: string,
  name: string,
  content: unknown,
): void {
  let artifact = draft.state.entities.get(key);
  if (isOpen(draft, artifact)) tell(draft, event, artifact, 'updated', { content });
  else {
    const payload = { name, mediaType: 'application/json', content };
    artifact = open(draft, event, 'artifact', key, base, payload, taskOf(draft, event));
    artifact.name = name;
  }
  artifact.content = content;
  artifact.stale = false;
}

/** `ACTIVITY_SNAPSHOT`: new content, unless the activity is there and keeps its own. */
export function applyActivity(draft: BridgeDraft, event: WireEvent): void {
  const { messageId: id, content } = event;
  if (!isText(id) || !isObject(content)) return;
  const old = find(draft, 'artifact', id);
  if (old && event.replace === false) return;
  const name = old?.name || textOf(event.activityType) || 'activity';
  put(draft, event, `artifact${id}`, id, name, content);
}

/** `ACTIVITY_DELTA`: one that fails makes the activity stale, and those after it wait for a snapshot. */
export function applyActivityDelta(draft: BridgeDraft, event: WireEvent): void {
  const artifact = find(draft, 'artifact', event.messageId);
  if (!artifact || artifact.stale) return;
  let content: unknown;
  try {
    content = applyPatch(artifact.content, event.patch as never);
  } catch {}
  if (!isObject(content)) artifact.stale = true;
  else if (content !== artifact.content) applyActivity(draft, { ...event, content, replace: true });
}

/** `STATE_SNAPSHOT` and `STATE_DELTA`: the shared state is one artifact. */
export function applyState(draft: BridgeDraft, event: WireEvent): void {
  const { state } = draft;
  let next = event.snapshot;
  if (event.type === 'STATE_DELTA') {
    if (state.stale) return;
    next = state.shared;
    try {
      next = applyPatch(next, event.delta as never);
    } catch {
      state.stale = true;
    }
    if (next === state.shared) return;
  }
  if (next === undefined) return;
  state.shared = next;
  state.stale = false;
  put(draft, event, 'state', 'state', 'state', next);
}
