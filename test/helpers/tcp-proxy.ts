import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** `up`: from the client to the server. */
export type Direction = 'up' | 'down';
/** How a connection is broken: politely (FIN) or by a reset (RST). */
export type CutKind = 'fin' | 'rst';

/**
 * A TCP proxy on 127.0.0.1 that breaks things on demand.
 *
 * ```ts
 * const proxy = await startTcpProxy(server.port);
 * const client = createWebSocketClient(`ws://127.0.0.1:${proxy.port}`, { WebSocket });
 * proxy.cut('rst');                 // every connection, now
 * proxy.blackHole(true);            // connections stay up, no byte passes any more
 * proxy.cutAfter(100, 'down');      // once 100 more bytes have gone down on the newest connection
 * proxy.cutNext([{ bytes: 100, direction: 'down' }, { bytes: 7, direction: 'up' }]); // the next two
 * proxy.setDelay(200);              // every chunk takes 200 ms longer, in its order
 * await proxy.refuse(true);         // nobody listens on the port until refuse(false)
 * await proxy.close();
 * ```
 */
export interface TcpProxy {
  readonly port: number;
  /** How many connections were accepted so far. */
  readonly accepted: number;
  /** How many connections are up. */
  readonly open: number;
  /** The most connections that were up at the same time. */
  readonly mostOpen: number;
  /** How many connections were broken at the byte that was planned. */
  readonly cuts: number;
  /** How many bytes were let through so far. */
  bytes(direction: Direction): number;
  /** Breaks every connection. Both sides see it. */
  cut(kind?: CutKind): void;
  /**
   * Breaks a connection right after `bytes` more bytes went in `direction`: the newest connection, or
   * the next one where none is up. The rest of the chunk is lost.
   */
  cutAfter(bytes: number, direction: Direction, kind?: CutKind): void;
  /** Plans one cut for each of the next connections, in place of all that was planned before. */
  cutNext(cuts: readonly PlannedCut[]): void;
  /** What a chunk takes longer from now on, in ms. Chunks of one direction keep their order. */
  setDelay(ms: number): void;
  /** Swallows every byte in the direction given (both by default) and keeps connections, old and new, up. */
  blackHole(on: boolean, direction?: Direction): void;
  /** Stops listening, so that new connections are refused, and breaks those that are up. */
  refuse(on: boolean): Promise<void>;
  close(): Promise<void>;
}

/** A cut of a connection that is yet to come, after `bytes` bytes in `direction`. */
export interface PlannedCut {
  readonly bytes: number;
  readonly direction: Direction;
  /** @default 'rst' */
  readonly kind?: CutKind;
}

interface Cut {
  left: number;
  readonly direction: Direction;
  readonly kind: CutKind;
}

/** Start a proxy before `targetPort` on 127.0.0.1. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const links = new Set<{ kill(kind: CutKind): void; planned: Cut[] }>();
  const holes: Record<Direction, boolean> = { up: false, down: false };
  const passed: Record<Direction, number> = { up: 0, down: 0 };
  let accepted = 0;
  let cuts = 0;
  let mostOpen = 0;
  let delay = 0;
  let nextCuts: Cut[] = [];
  let queue: PlannedCut[] = [];

  const onConnection = (client: Socket) => {
    accepted++;
    const upstream = connect(targetPort, '127.0.0.1');
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    const link = {
      planned: nextCuts,
      kill(kind: CutKind) {
        links.delete(link);
        for (const socket of [client, upstream]) {
          socket.removeAllListeners('data');
          socket.resume();
          if (kind === 'rst') socket.resetAndDestroy();
          else socket.end();
        }
      },
    };
    nextCuts = [];
    const next = queue.shift();
    if (next) link.planned.push({ kind: 'rst', ...next, left: next.bytes });
    links.add(link);
    mostOpen = Math.max(mostOpen, links.size);

    const pipe = (from: Socket, to: Socket, direction: Direction) => {
      sockets.add(from);
      const waiting: (() => void)[] = [];
      // Whatever timer comes first, the oldest task goes first.
      const later = (task: () => void) => {
        if (!delay && !waiting.length) return task();
        waiting.push(task);
        setTimeout(() => waiting.shift()?.(), delay);
      };
      from.on('data', (chunk) => {
        if (holes[direction]) return;
        const cut = link.planned.find((planned) => planned.direction === direction);
        const part = cut && cut.left < chunk.length ? chunk.subarray(0, cut.left) : chunk;
        passed[direction] += part.length;
        if (part.length) later(() => to.write(part));
        if (!cut) return;
        cut.left -= part.length;
        if (cut.left > 0) return;
        link.planned.splice(0);
        cuts++;
        // The bytes before the cut must arrive, and a reset would overtake them.
        later(() => setImmediate(() => link.kill(cut.kind)));
        from.removeAllListeners('data');
        from.resume();
      });
      from.on('end', () => {
        if (!holes[direction]) later(() => to.end());
      });
      from.on('close', () => {
        sockets.delete(from);
        // A link with a swallowed end stays, so that it can be cut later.
        if (holes[direction]) return;
        links.delete(link);
        to.destroy();
      });
      // A broken side ends in `close`.
      from.on('error', () => {});
    };
    pipe(client, upstream, 'up');
    pipe(upstream, client, 'down');
  };

  const listen = async (port: number): Promise<Server> => {
    // Half-open allowed: a swallowed FIN must not end the other side.
    const server = createServer({ allowHalfOpen: true }, onConnection).listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };

  const cut = (kind: CutKind = 'rst') => {
    for (const link of [...links]) link.kill(kind);
  };

  let server: Server | undefined = await listen(0);
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    const closing = server;
    server = undefined;
    cut();
    if (!closing) return;
    const closed = once(closing, 'close');
    closing.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };

  return {
    port,
    get accepted() {
      return accepted;
    },
    get open() {
      return links.size;
    },
    get mostOpen() {
      return mostOpen;
    },
    get cuts() {
      return cuts;
    },
    bytes: (direction) => passed[direction],
    cut,
    cutAfter(bytes, direction, kind = 'rst') {
      const planned = { left: bytes, direction, kind };
      const newest = [...links].at(-1);
      if (newest) newest.planned.push(planned);
      else nextCuts.push(planned);
    },
    cutNext(planned) {
      queue = [...planned];
    },
    setDelay(ms) {
      delay = ms;
    },
    blackHole(on, direction) {
      if (direction !== 'down') holes.up = on;
      if (direction !== 'up') holes.down = on;
    },
    async refuse(on) {
      if (on) await stop();
      else if (!server) server = await listen(port);
    },
    close: stop,
  };
}
