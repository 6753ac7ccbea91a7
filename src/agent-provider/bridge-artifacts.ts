import { applyPatch } from '../ag-ui/apply-patch.ts';
import type { WireEvent } from '../ag-ui/thread-edits.ts';
import { isRecord, isText, textOf } from '../internal/json-values.ts';
import { type BridgeDraft, find, open, tell } from './bridge-entities.ts';
import type { BridgeEntity } from './bridge-state.ts';

function put(
  draft: BridgeDraft,
  event: WireEvent,
  key: string,
  base: string,
  name: string,
  content: unknown,
): void {
  let artifact = draft.state.entities.get(key);
  if (artifact?.open) tell(draft, event, artifact, 'updated', { content });
  else {
    const payload = { name, mediaType: 'application/json', content };
    artifact = open(draft, event, 'artifact.created', key, base, payload);
  }
  Object.assign(artifact, { name, content, stale: false });
}

/** The content after a delta; `undefined` where it stays as it is. One that fails makes the artifact stale. */
function patched(artifact: BridgeEntity | undefined, patch: unknown): unknown {
  if (!artifact || artifact.stale) return undefined;
  try {
    const content = applyPatch(artifact.content, patch as never);
    return content === artifact.content ? undefined : content;
  } catch {
    artifact.stale = true;
    return undefined;
  }
}

/** `ACTIVITY_SNAPSHOT` and `ACTIVITY_DELTA`: a delta is told as the whole new content. */
export function applyActivity(draft: BridgeDraft, event: WireEvent): void {
  const { type, messageId: id } = event;
  if (!isText(id)) return;
  const old = find(draft, 'artifact', id);
  let { content } = event;
  if (type === 'ACTIVITY_DELTA') {
    content = patched(old, event.patch);
    if (old && content !== undefined && !isRecord(content)) old.stale = true;
  } else if (old && event.replace === false) return;
  if (!isRecord(content)) return;
  put(
    draft,
    event,
    `artifact${id}`,
    id,
    old?.name || textOf(event.activityType) || 'activity',
    content,
  );
}

/** `STATE_SNAPSHOT` and `STATE_DELTA`: the shared state is one artifact. */
export function applyState(draft: BridgeDraft, event: WireEvent): void {
  const content =
    event.type === 'STATE_DELTA'
      ? patched(draft.state.entities.get('state'), event.delta)
      : event.snapshot;
  if (content !== undefined) put(draft, event, 'state', 'state', 'state', content);
}
