import type { AgentError, AgentEvent, AgentEventFactory, AgentEventType } from './event-types.ts';
import { rules } from './reducer-rules.ts';

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
  readonly declared?: readonly AgentEventType[] | undefined;
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
  /** Whether the lifecycle has a place for an event. */
  fits(event: AgentEvent): boolean;
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
  const open = new Map<string, readonly [kind: string, payload: object]>();

  function parse({ type, payload }: AgentEvent) {
    const { kind, id: name = '', opens, status } = rules.get(type)!;
    const id = (payload as Readonly<Record<string, string>>)[name];
    const closes = status === 'completed' || status === 'failed' || status === 'cancelled';
    return { kind, name, id, key: `${kind} ${id}`, opens: !!opens, closes };
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
      if (rules.has(type) && declared?.includes(type) !== false) {
        const more = how[verb as keyof typeof how];
        return [events.create(type, { ...payload, ...more } as never) as AgentEvent];
      }
    }
    return [];
  }

  const closings = (end: AgentRunEnd): AgentEvent[] =>
    [...open.values()].reverse().flatMap(([kind, payload]) => make(kind, payload, end));

  const self = {
    started: !!options.started,
    ended: false,
    get size() {
      return open.size;
    },
    fits(event: AgentEvent) {
      const { kind, key, opens } = parse(event);
      if (kind === 'session') return true;
      if (kind === 'run') return !self.ended && opens !== self.started;
      return self.started && !self.ended && (opens ? !known.has(key) : open.has(key));
    },
    add(event: AgentEvent) {
      const { kind, name, id, key, opens, closes } = parse(event);
      if (kind === 'session' || !self.fits(event)) return;
      if (kind === 'run') {
        self.started = true;
        self.ended = closes;
      } else if (opens) {
        known.add(key);
        open.set(key, [kind, { [name]: id }]);
      } else if (closes) open.delete(key);
    },
    closings,
    close: (end: AgentRunEnd) =>
      self.started && !self.ended ? [...closings(end), ...make('run', {}, end)] : [],
  };
  return self;
}
