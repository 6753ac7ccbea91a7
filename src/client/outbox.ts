import { RunSocketError } from '../internal/errors.ts';
import type { WebSocketData } from './types.ts';

/** Messages that wait for an open connection, oldest first. */
export interface Outbox {
  isEmpty(): boolean;
  /** Keeps a message; throws `queue-full` beyond the limit. */
  push(data: WebSocketData, message: unknown): void;
  /** Hands messages over until `transmit` takes no more; what it did not take stays. */
  flush(transmit: (data: WebSocketData, message: unknown) => boolean): void;
}

/** Make an outbox of `limit` messages. */
export function createOutbox(limit: number): Outbox {
  const entries = new Set<readonly [WebSocketData, unknown]>();
  return {
    isEmpty: () => !entries.size,
    push(data, message) {
      if (entries.size >= limit) {
        throw new RunSocketError('queue-full', `${limit} messages are waiting.`);
      }
      entries.add([data, message]);
    },
    flush(transmit) {
      for (const entry of entries) {
        if (!transmit(...entry)) return;
        entries.delete(entry);
      }
    },
  };
}
