import { RunSocketError } from '../internal/errors.ts';
import type { WebSocketData } from './types.ts';

/** Messages that wait for an open connection, oldest first. */
export interface Outbox {
  readonly size: number;
  /** Keeps a message; throws `queue-full` beyond the limit. */
  push(data: WebSocketData, message: unknown): void;
  /** Hands messages over until `transmit` takes no more; what it did not take stays. */
  flush(transmit: (data: WebSocketData, message: unknown) => boolean): void;
}

/** Make an outbox of `limit` messages. */
export function createOutbox(limit: number): Outbox {
  const entries: { readonly data: WebSocketData; readonly message: unknown }[] = [];
  return {
    get size() {
      return entries.length;
    },
    push(data, message) {
      if (entries.length >= limit) {
        throw new RunSocketError('queue-full', `${limit} messages wait for a connection already.`);
      }
      entries.push({ data, message });
    },
    flush(transmit) {
      let sent = 0;
      for (const { data, message } of entries) {
        if (!transmit(data, message)) break;
        sent++;
      }
      entries.splice(0, sent);
    },
  };
}
