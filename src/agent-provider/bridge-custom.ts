import { listOf, type WireEvent } from '../ag-ui/thread-edits.ts';
import { type BridgeDraft, forget, idKeyOf, register } from './bridge-entities.ts';
import type { AgentEvent } from './event-types.ts';
import type { AgentEntityKind } from './state-types.ts';

/** `CUSTOM`: the application's events, but for those that have no place in the run. */
export function applyCustom(draft: BridgeDraft, event: WireEvent): void {
  const { options, state, out } = draft;
  const made = listOf<AgentEvent>(options.custom?.(event as never, options.events)) ?? [];
  for (const one of made) {
    const [kind, verb] = one.type.split('.') as [AgentEntityKind, string];
    const { [idKeyOf(kind)]: id } = one.payload as Readonly<Record<string, string>>;
    // The run itself has none.
    if (!id) continue;
    if (/^(started|requested|created)$/.test(verb)) {
      if (state.used.has(kind + id)) continue;
      register(draft, kind, id, kind + id);
    } else {
      const entity = state.entities.get(kind + id);
      if (!entity?.open || entity.id !== id) continue;
      if (/^(completed|failed|cancelled|resolved)$/.test(verb)) forget(draft, entity);
    }
    out.push(one);
  }
}
