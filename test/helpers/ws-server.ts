import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/**
 * A real WebSocket server on 127.0.0.1.
 *
 * ```ts
 * const server = await startWsServer({ onConnection: (socket) => socket.send('hi') });
 * await until(() => server.live.length === 1);
 * await server.close();
 * ```
 */
export interface WsServer {
  readonly port: number;
  readonly url: string;
  /** Sockets that are open, oldest first. */
  readonly live: readonly WebSocket[];
  /** The most sockets that were open at the same time. */
  readonly mostLive: number;
  /** The upgrade request of every connection so far. */
  readonly requests: readonly IncomingMessage[];
  /** Every message received so far: text as a string, binary as a Buffer. */
  readonly received: readonly (string | Buffer)[];
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

/** Options of {@link startWsServer}. */
export interface WsServerOptions {
  /** @default any free port */
  readonly port?: number;
  /** Asked before each upgrade; a number is the HTTP status that refuses it, `null` leaves it without an answer. */
  readonly admit?: (request: IncomingMessage) => number | null | undefined;
  readonly onConnection?: (socket: WebSocket, request: IncomingMessage) => void;
  readonly onMessage?: (message: string | Buffer, socket: WebSocket) => void;
  /** The server's limit of a message, in bytes; beyond it the socket is closed with 1009. */
  readonly maxPayload?: number;
}

/** Start a server. */
export async function startWsServer(options: WsServerOptions = {}): Promise<WsServer> {
  const { maxPayload } = options;
  const http = createServer();
  const server = new WebSocketServer({
    noServer: true,
    ...(maxPayload !== undefined && { maxPayload }),
  });
  const sockets: WebSocket[] = [];
  const tcp = new Set<Socket>();
  const requests: IncomingMessage[] = [];
  const received: (string | Buffer)[] = [];
  let mostLive = 0;
  const getLive = () => sockets.filter((socket) => socket.readyState === socket.OPEN);

  http.on('connection', (socket: Socket) => {
    tcp.add(socket);
    socket.on('close', () => tcp.delete(socket));
    socket.on('error', () => {});
  });
  http.on('upgrade', (request, socket, head) => {
    const status = options.admit?.(request);
    if (status === null) return;
    if (status !== undefined) {
      socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    server.handleUpgrade(request, socket, head, (webSocket) => {
      sockets.push(webSocket);
      requests.push(request);
      mostLive = Math.max(mostLive, getLive().length);
      webSocket.on('error', () => {});
      webSocket.on('close', () => {
        sockets.splice(sockets.indexOf(webSocket), 1);
      });
      webSocket.on('message', (data: Buffer, isBinary) => {
        const message = isBinary ? data : data.toString();
        received.push(message);
        options.onMessage?.(message, webSocket);
      });
      options.onConnection?.(webSocket, request);
    });
  });
  http.listen(options.port ?? 0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;

  return {
    port,
    url: `ws://127.0.0.1:${port}`,
    get live() {
      return getLive();
    },
    get mostLive() {
      return mostLive;
    },
    requests,
    received,
    async close() {
      const closed = once(http, 'close');
      http.close();
      for (const socket of tcp) socket.destroy();
      await closed;
    },
  };
}
