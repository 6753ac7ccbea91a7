import { applyPatch } from './apply-patch.ts';
import type { Draft, WireEvent } from './thread-edits.ts';

/** `STATE_SNAPSHOT`: any JSON value is a state. */
export function applyStateSnapshot(draft: Draft, { snapshot }: WireEvent): void {
  if (snapshot === undefined) return;
  draft.state = snapshot;
  draft.stale = false;
}

/** `STATE_DELTA`: one that fails makes the thread stale, and those after it wait for a snapshot. */
export function applyStateDelta(draft: Draft, { delta }: WireEvent): void {
  if (draft.stale) return;
  try {
    draft.state = applyPatch(draft.state, delta as never);
  } catch {
    draft.stale = true;
  }
}
