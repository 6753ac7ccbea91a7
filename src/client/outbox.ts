import { RunSocketError } from '../internal/errors.ts';
import type { WebSocketData } from './types.ts';

/** Messages that wait for an open connection, oldest first: each as its frame, and as it was before. */
export type Outbox = Set<readonly [WebSocketData, unknown]>;

/** Keeps a message; throws `queue-full` beyond the limit. */
export function enqueue(
  outbox: Outbox,
  limit: number,
  ...entry: readonly [WebSocketData, unknown]
): void {
  if (outbox.size >= limit) throw new RunSocketError('queue-full', 'Queue full.');
  outbox.add(entry);
}

/** Hands messages over until `transmit` takes no more; what it did not take stays. */
export function flush(
  outbox: Outbox,
  transmit: (data: WebSocketData, message: unknown) => boolean,
): void {
  for (const entry of outbox) {
    if (!transmit(...entry)) return;
    outbox.delete(entry);
  }
}
