// @ts-check
import { createServer } from 'node:http';
import { connect } from 'node:net';

/**
 * A balancer as small as it can be: each WebSocket goes to the next target, all other requests to `handle`.
 *
 * @param {object} options
 * @param {() => readonly number[]} options.targets The ports of the servers that are up.
 * @param {import('node:http').RequestListener} options.handle
 */
export function createProxy({ targets, handle }) {
  const http = createServer(handle);
  /** @type {Set<import('node:stream').Duplex>} */
  const sockets = new Set();
  let turn = 0;

  http.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {});
    const ports = targets();
    const port = ports[turn++ % ports.length];
    if (port === undefined) return socket.destroy();

    const upstream = connect(port, '127.0.0.1');
    sockets.add(socket);
    upstream.on('error', () => socket.destroy());
    upstream.on('close', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      upstream.destroy();
    });

    const { method, url, httpVersion, rawHeaders } = request;
    upstream.write(`${method} ${url} HTTP/${httpVersion}\r\n`);
    for (let index = 0; index < rawHeaders.length; index += 2) {
      upstream.write(`${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`);
    }
    upstream.write('\r\n');
    upstream.write(head);
    upstream.pipe(socket);
    socket.pipe(upstream);
  });

  return {
    http,
    /** Ends all WebSockets, as a cable does that is pulled. */
    drop() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
