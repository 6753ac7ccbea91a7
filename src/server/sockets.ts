import type { Connection } from './connection.ts';
import type { RunServerOptions, ServerRequest, ServerSocket } from './types.ts';

/** Serve a socket by a connection; `open` is called once it is open. */
export function attachSocket(
  socket: ServerSocket,
  connection: Connection,
  open: () => void,
  report: (error: unknown) => void,
): void {
  // Bytes that may be read at once, where the socket would give a Blob.
  if ('binaryType' in socket && socket.binaryType === 'blob') socket.binaryType = 'arraybuffer';
  socket.addEventListener('message', ({ data }: { readonly data: unknown }) =>
    connection.receive(data),
  );
  socket.addEventListener('close', connection.closed);
  // `close` follows; without a listener `ws` would throw.
  socket.addEventListener('error', ({ error }: { readonly error?: unknown }) => report(error));
  // A socket is given before it is open where the upgrade is answered later.
  const { readyState = 1 } = socket;
  if (readyState === 0) socket.addEventListener('open', open);
  else if (readyState === 1) open();
}

/** Whether a page may connect. */
export function isOriginAllowed(
  origins: RunServerOptions['origins'],
  request: ServerRequest | undefined,
): boolean {
  if (!origins) return true;
  const headers = request?.headers as
    | { readonly origin?: unknown; get?(name: string): string | null }
    | undefined;
  const origin = typeof headers?.get === 'function' ? headers.get('origin') : headers?.origin;
  // Only browsers send one, and always do.
  if (origin === undefined || origin === null) return true;
  return typeof origins === 'function' ? origins(String(origin)) : origins.includes(String(origin));
}
