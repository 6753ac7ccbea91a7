import type { LoggedEvent } from './run-log.ts';

/** What one call to Redis gives of a run's log. */
export interface RedisBatch {
  /** Undefined: nothing is known of the run. */
  readonly epoch?: string;
  readonly status?: string;
  /** The first offset that is not written yet. */
  readonly next: number;
  /** How long the producer has the run yet, in ms. */
  readonly lease: number;
  readonly events: readonly LoggedEvent[];
}

// Parses an event when it is asked for; who sends it on never does. A getter for each is slow to make.
const lazy = {
  get event(): unknown {
    return JSON.parse((this as unknown as { readonly json: string }).json);
  },
};

function createLoggedEvent(offset: number, json: string): LoggedEvent {
  return Object.assign(Object.create(lazy), { offset, json });
}

/** Read the answer of `readScript`. */
export function parseBatch(answer: unknown): RedisBatch {
  const [epoch, status, next, lease, first, ...events] = answer as readonly unknown[];
  return {
    ...(epoch !== undefined && { epoch: `${epoch}`, status: `${status}` }),
    next: Number(next),
    lease: Number(lease),
    events: events.map((json, index) => createLoggedEvent(Number(first) + index, `${json}`)),
  };
}
