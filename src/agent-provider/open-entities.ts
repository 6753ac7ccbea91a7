import type { AgentError, AgentEvent, AgentEventFactory, AgentEventType } from './event-types.ts';
import { type Family, rules } from './reducer-rules.ts';

/** How what is open is closed. */
export type AgentRunEnd =
  | { readonly type: 'completed' }
  | { readonly type: 'failed'; readonly error: AgentError }
  | { readonly type: 'cancelled'; readonly reason?: string | undefined };

/** Options of {@link createOpenEntities}. */
export interface OpenEntitiesOptions {
  /** Makes the closing events. */
  readonly events: AgentEventFactory;
  /** The types that the provider has declared: where the one that fits is not among them, the next best closes. @default all */
  readonly declared?: ReadonlySet<AgentEventType> | undefined;
  /** The run has begun before the first event that is followed. @default false */
  readonly started?: boolean | undefined;
}

/** What one run has open. */
export interface OpenEntities {
  /** The run has begun. */
  readonly started: boolean;
  /** The run has come to its terminal event. */
  readonly ended: boolean;
  /** How many entities are open. */
  readonly size: number;
  /** Why the lifecycle has no place for an event, or `undefined` where it has. */
  check(event: AgentEvent): string | undefined;
  /** Follows one event of the run; one that has no place changes nothing. */
  add(event: AgentEvent): void;
  /** Makes the events that close the entities, the last opened first; nothing counts as closed before they are added. */
  closings(end: AgentRunEnd): AgentEvent[];
  /** As `closings()`, and the run at last; none where the run is not under way. */
  close(end: AgentRunEnd): AgentEvent[];
}

/** How the terminal event of a run ends it; `undefined` for any other event. */
export function getRunEnd({ type, payload }: AgentEvent): AgentRunEnd | undefined {
  return /^run\.[cf]/.test(type) ? ({ ...payload, type: type.slice(4) } as AgentRunEnd) : undefined;
}

/**
 * Follow what one run has open, in constant time per event.
 *
 * What is closed gets an event of its own kind: an artifact has no cancellation and fails with the
 * code `cancelled`, an approval expires.
 */
export function createOpenEntities(options: OpenEntitiesOptions): OpenEntities {
  const { events, declared } = options;
  const known = new Set<string>();
  const open = new Map<string, { readonly family: Family; readonly id: string }>();
  let { started = false } = options;
  let ended = false;

  function parse({ type, payload }: AgentEvent) {
    const { of: family, opens, status } = rules.get(type)!;
    const id = (payload as Readonly<Record<string, string>>)[family.id ?? ''] ?? '';
    const closes = status === 'completed' || status === 'failed' || status === 'cancelled';
    return { family, id, key: `${family.label} '${id}'`, opens: !!opens, closes };
  }

  // The event that ends something as asked, or as near to it as the declared types allow.
  function make(name: string, payload: object, end: AgentRunEnd): AgentEvent[] {
    const { error, reason } = end as { readonly error?: AgentError; readonly reason?: string };
    const how = {
      failed: { error: error ?? { code: 'cancelled', message: reason || 'Cancelled' } },
      cancelled: reason !== undefined && { reason },
      completed: {},
      resolved: { decision: 'expired' },
    };
    for (const verb of [end.type, ...Object.keys(how)]) {
      const type = `${name}.${verb}` as AgentEventType;
      if (rules.has(type) && declared?.has(type) !== false) {
        const more = how[verb as keyof typeof how];
        return [events.create(type, { ...payload, ...more } as never) as AgentEvent];
      }
    }
    return [];
  }

  const closings = (end: AgentRunEnd): AgentEvent[] =>
    [...open.values()]
      .reverse()
      .flatMap(({ family: { kind, id: name }, id }) => make(kind!, { [name!]: id }, end));

  const self: OpenEntities = {
    get started() {
      return started;
    },
    get ended() {
      return ended;
    },
    get size() {
      return open.size;
    },
    check(event) {
      const { family, key, opens } = parse(event);
      if (family.name === 'sessions') return undefined;
      if (ended) return 'the run is over';
      if (!family.kind || !started) {
        return (opens && !family.kind) === started
          ? `the run has ${started ? '' : 'not '}begun`
          : undefined;
      }
      if (opens) return known.has(key) ? `the ${key} has begun already` : undefined;
      return open.has(key) ? undefined : `the ${key} is not open`;
    },
    add(event) {
      if (self.check(event)) return;
      const { family, id, key, opens, closes } = parse(event);
      if (family.name === 'runs') {
        started = true;
        ended = closes;
      } else if (opens && family.kind) {
        known.add(key);
        open.set(key, { family, id });
      } else if (closes) open.delete(key);
    },
    closings,
    close: (end) => (started && !ended ? [...closings(end), ...make('run', {}, end)] : []),
  };
  return self;
}
