import type {
  AgentError,
  AgentEvent,
  AgentEventFactory,
  AgentEventPayloadMap,
  AgentEventType,
} from './event-types.ts';

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

const idNameOf = (family: string) => (family === 'tool' ? 'toolCallId' : `${family}Id`);

/**
 * Follow what one run has open, in constant time per event.
 *
 * What is closed gets an event of its own kind: an artifact has no cancellation and fails with the
 * code `cancelled`, an approval expires.
 */
export function createOpenEntities(options: OpenEntitiesOptions): OpenEntities {
  const { events, declared } = options;
  const known = new Set<string>();
  const open = new Map<string, readonly [family: string, id: string]>();
  let { started = false } = options;
  let ended = false;

  function parse({ type, payload }: AgentEvent) {
    const dot = type.indexOf('.');
    const family = type.slice(0, dot);
    const verb = type.slice(dot + 1);
    const id = (payload as Readonly<Record<string, string>>)[idNameOf(family)]!;
    return {
      family,
      id,
      key: `${family} ${id}`,
      opens: verb === 'started' || verb === 'requested' || verb === 'created',
      closes: /^(completed|failed|cancelled|resolved)$/.test(verb),
    };
  }

  // The event that ends something as asked, or as near to it as the declared types allow.
  function make(family: string, payload: object, end: AgentRunEnd): AgentEvent[] {
    const { error, reason } = end as { readonly error?: AgentError; readonly reason?: string };
    for (const type of [end.type, 'cancelled', 'failed', 'completed']) {
      const name = `${family}.${type}` as AgentEventType;
      if (declared?.has(name) === false || name === ('artifact.cancelled' as never)) continue;
      const more =
        type === 'failed'
          ? { error: error ?? { code: 'cancelled', message: reason || 'Cancelled' } }
          : type === 'cancelled' && reason !== undefined && { reason };
      return [
        events.create(name, { ...payload, ...more } as AgentEventPayloadMap[typeof name]),
      ] as AgentEvent[];
    }
    return [];
  }

  function closings(end: AgentRunEnd): AgentEvent[] {
    return [...open.values()].reverse().flatMap(([family, id]) => {
      if (family !== 'approval') return make(family, { [idNameOf(family)]: id }, end);
      return declared?.has('approval.resolved') === false
        ? []
        : events.create('approval.resolved', { approvalId: id, decision: 'expired' });
    });
  }

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
      if (family === 'session') return undefined;
      if (ended) return 'the run is over';
      if (family === 'run' && opens) return started ? 'the run has begun before' : undefined;
      if (!started) return 'the run has not begun';
      if (family === 'run' || open.has(key) !== opens) {
        return opens && known.has(key) ? `${key} is over` : undefined;
      }
      return `${key} is ${opens ? 'open already' : 'not open'}`;
    },
    add(event) {
      if (self.check(event)) return;
      const { family, id, key, opens, closes } = parse(event);
      if (family === 'session') return;
      if (family === 'run') {
        started = true;
        ended = closes;
      } else if (opens) {
        known.add(key);
        open.set(key, [family, id]);
      } else if (closes) open.delete(key);
    },
    closings,
    close: (end) => (started && !ended ? [...closings(end), ...make('run', {}, end)] : []),
  };
  return self;
}
