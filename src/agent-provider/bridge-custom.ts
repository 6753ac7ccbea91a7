import { isText, listOf, type WireEvent } from '../ag-ui/thread-edits.ts';
import { type BridgeDraft, forget, idKeyOf } from './bridge-entities.ts';
import { isAgentEvent } from './event-guards.ts';
import type { AgentEntityKind } from './state-types.ts';

/** `CUSTOM`: the application's events, but for those that have no place in the run. */
export function applyCustom(draft: BridgeDraft, event: WireEvent): void {
  const { options, state, out } = draft;
  const { events } = options;
  let last = events.getSequence();
  for (const made of listOf<unknown>(options.custom?.(event as never, events)) ?? []) {
    if (!isAgentEvent(made) || made.sequence <= last || made.sequence > events.getSequence()) {
      continue;
    }
    const [kind, verb] = made.type.split('.') as [AgentEntityKind, string];
    // The run itself has none.
    const id = (made.payload as Readonly<Record<string, unknown>>)[idKeyOf(kind)];
    const key = kind + id;
    const opens = /^(started|requested|created)$/.test(verb);
    if (!isText(id) || (opens ? state.used.has(key) : !state.open.has(key))) continue;
    if (opens) {
      state.used.set(key, 1);
      state.entities.set(key, { kind, id });
      state.open.set(key, key);
    } else if (/^(completed|failed|cancelled|resolved)$/.test(verb)) {
      forget(draft, state.entities.get(state.open.get(key)!)!);
    }
    last = made.sequence;
    out.push(made);
  }
}
