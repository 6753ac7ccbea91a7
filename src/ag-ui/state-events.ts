import { applyPatch, type JsonPatchOperation } from './apply-patch.ts';
import type { Thread, WireEvent } from './thread-edits.ts';

/** The patched document; nothing where the patch does not fit. */
export function tryPatch<T>(document: T, patch: unknown): { readonly value: T } | undefined {
  try {
    return { value: applyPatch(document, patch as readonly JsonPatchOperation[]) };
  } catch {
    return undefined;
  }
}

/** `STATE_SNAPSHOT`: any JSON value is a state. */
export function applyStateSnapshot(thread: Thread, event: WireEvent): Thread {
  const { snapshot } = event;
  return snapshot === undefined || (Object.is(snapshot, thread.state) && !thread.stale)
    ? thread
    : { ...thread, state: snapshot, stale: false };
}

/** `STATE_DELTA`: one that fails makes the thread stale, and those after it wait for a snapshot. */
export function applyStateDelta(thread: Thread, event: WireEvent): Thread {
  if (thread.stale) return thread;
  const patched = tryPatch(thread.state, event.delta);
  if (!patched) return { ...thread, stale: true };
  return Object.is(patched.value, thread.state) ? thread : { ...thread, state: patched.value };
}
