import { act, cleanup, renderHook } from '@testing-library/react';
import { StrictMode } from 'react';
import { renderToString } from 'react-dom/server';
import { afterEach, describe, expect, it } from 'vitest';
import type { ConnectionState, WebSocketClient } from '../../src/client/types.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { useConnection } from '../../src/react/use-connection.ts';

afterEach(cleanup);

function createFakeClient(state: ConnectionState) {
  const listeners = new Set<() => void>();
  const client = {
    getSnapshot: () => state,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  } as Partial<WebSocketClient> as WebSocketClient;
  return {
    client,
    listeners,
    set(next: ConnectionState) {
      state = next;
      for (const listener of listeners) listener();
    },
  };
}

function Badge({ client }: { client: WebSocketClient }) {
  const { status, attempt } = useConnection(client);
  return (
    <p>
      {status} {attempt}
    </p>
  );
}

describe('useConnection', () => {
  it('returns the state and renders when it changes', () => {
    const fake = createFakeClient({ status: 'connecting', attempt: 0 });
    const view = renderHook(() => useConnection(fake.client), { wrapper: StrictMode });
    expect(view.result.current).toBe(fake.client.getSnapshot());
    act(() => fake.set({ status: 'waiting', attempt: 3, retryAt: 5 }));
    expect(view.result.current).toEqual({ status: 'waiting', attempt: 3, retryAt: 5 });
    view.unmount();
    expect(fake.listeners.size).toBe(0);
  });

  it('follows the client that it is given', () => {
    const first = createFakeClient({ status: 'open', attempt: 0 });
    const second = createFakeClient({ status: 'closed', attempt: 0 });
    const view = renderHook(({ client }) => useConnection(client), {
      initialProps: { client: first.client },
    });
    view.rerender({ client: second.client });
    expect(view.result.current.status).toBe('closed');
    expect(first.listeners.size).toBe(0);
  });

  it('does not connect', () => {
    const attempts: string[] = [];
    const client = createWebSocketClient(({ reason }) => {
      attempts.push(reason);
      return 'ws://127.0.0.1:9';
    });
    const view = renderHook(() => useConnection(client));
    expect(view.result.current).toEqual({ status: 'idle', attempt: 0 });
    expect(attempts).toEqual([]);
  });

  it('shows idle on the server, whatever the client does there', () => {
    const fake = createFakeClient({ status: 'open', attempt: 2 });
    expect(renderToString(<Badge client={fake.client} />)).toBe('<p>idle<!-- --> <!-- -->0</p>');
  });
});
