import type { WebSocketConstructor, WebSocketLike } from '../../src/client/types.ts';

/**
 * Stands in for partysocket, which waits on timers of its own before it opens a socket: here the
 * socket is opened in the next promise callback. All that the dialer itself does stays as it is.
 */
function Engine(
  url: string,
  protocols: string | string[],
  { WebSocket }: { readonly WebSocket: WebSocketConstructor },
): { binaryType: string; close(code?: number, reason?: string): void } {
  let socket: WebSocketLike | undefined;
  let isClosed = false;
  queueMicrotask(() => {
    try {
      if (!isClosed) socket = new WebSocket(url, protocols);
    } catch {
      // The dialer has been told.
    }
  });
  return {
    binaryType: 'blob',
    close(code, reason) {
      isClosed = true;
      socket?.close(code, reason);
    },
  };
}

export { Engine as default };
