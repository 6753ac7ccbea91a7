import { useSyncExternalStore } from 'react';
import type { ConnectionState, WebSocketClient } from '../client/types.ts';

const idle: ConnectionState = { status: 'idle', attempt: 0 };

/**
 * The state of a client's connection, re-rendering when it changes.
 *
 * It watches only: nothing connects because of it. Server rendering and hydration show `idle`.
 *
 * @example
 * const { status, retryAt } = useConnection(client);
 */
export function useConnection<In, Out>(client: WebSocketClient<In, Out>): ConnectionState {
  return useSyncExternalStore(client.subscribe, client.getSnapshot, () => idle);
}
