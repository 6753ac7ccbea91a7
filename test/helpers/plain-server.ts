import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/** One numbered event on the wire. */
export interface PlainFrame {
  readonly runId: string;
  readonly offset: number;
  readonly event: { readonly type: string };
}

/** A run as the plain server keeps it. */
export interface PlainRun {
  readonly input: { readonly messages: readonly { readonly content?: unknown }[] };
  readonly log: { readonly type: string }[];
  readonly followers: Set<WebSocket>;
  starts: number;
  cancels: number;
  over: boolean;
}

/**
 * A server written against the AG-UI over WebSockets reference page alone: it knows `run`, `resume`
 * and `cancel` in exactly the page's shapes, answers `{ runId, offset, event }`, and throws on
 * anything else. Events are appended by the test.
 */
export interface PlainServer {
  readonly url: string;
  readonly port: number;
  readonly runs: ReadonlyMap<string, PlainRun>;
  /** Every frame that came in, in order. */
  readonly received: unknown[];
  /** What made the server throw. */
  readonly errors: string[];
  readonly connections: number;
  readonly sockets: ReadonlySet<WebSocket>;
  /** Appends events to a run's log and sends them to whoever follows it. */
  append(
    runId: string,
    ...events: { readonly type: string; readonly [field: string]: unknown }[]
  ): void;
  /** Ends every connection without a close frame. */
  cut(): void;
  close(): Promise<void>;
}

/** Start a plain server; `onRun` is called once for each run that is started. */
export async function startPlainServer(
  onRun: (runId: string, run: PlainRun) => void = () => {},
  port = 0,
): Promise<PlainServer> {
  const runs = new Map<string, PlainRun>();
  const received: unknown[] = [];
  const errors: string[] = [];
  const sockets = new Set<WebSocket>();
  let connections = 0;
  const wss = new WebSocketServer({ port, host: '127.0.0.1' });
  await new Promise((resolve) => wss.once('listening', resolve));

  const exactly = (message: Record<string, unknown>, ...keys: string[]) => {
    const extra = Object.keys(message).filter((key) => !keys.includes(key));
    if (extra.length) throw new Error(`unexpected ${extra} in ${JSON.stringify(message)}`);
  };

  const handle = (socket: WebSocket, message: Record<string, unknown>) => {
    const { type, runId } = message;
    if (typeof runId !== 'string') throw new Error(`no runId in ${JSON.stringify(message)}`);
    if (type === 'run') {
      exactly(message, 'type', 'runId', 'input');
      const known = runs.get(runId);
      if (known) {
        known.starts++;
        return;
      }
      const run: PlainRun = {
        input: message.input as PlainRun['input'],
        log: [],
        followers: new Set([socket]),
        starts: 1,
        cancels: 0,
        over: false,
      };
      runs.set(runId, run);
      onRun(runId, run);
    } else if (type === 'resume') {
      exactly(message, 'type', 'runId', 'after');
      const run = runs.get(runId);
      if (!run) return;
      const { after = -1 } = message as { after?: number };
      run.followers.add(socket);
      for (let offset = after + 1; offset < run.log.length; offset++) {
        socket.send(JSON.stringify({ runId, offset, event: run.log[offset] }));
      }
    } else if (type === 'cancel') {
      exactly(message, 'type', 'runId');
      const run = runs.get(runId);
      if (run) run.cancels++;
    } else throw new Error(`unexpected ${JSON.stringify(message)}`);
  };

  wss.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      for (const run of runs.values()) run.followers.delete(socket);
    });
    socket.on('message', (data) => {
      const message = JSON.parse(String(data));
      received.push(message);
      try {
        handle(socket, message);
      } catch (error) {
        errors.push(String(error));
        socket.close(1011);
      }
    });
  });

  return {
    port: (wss.address() as AddressInfo).port,
    url: `ws://127.0.0.1:${(wss.address() as AddressInfo).port}`,
    runs,
    received,
    errors,
    sockets,
    get connections() {
      return connections;
    },
    append(runId, ...events) {
      const run = runs.get(runId);
      if (!run) throw new Error(`no run ${runId}`);
      for (const event of events) {
        const offset = run.log.push(event) - 1;
        const frame = JSON.stringify({ runId, offset, event });
        for (const socket of run.followers) socket.send(frame);
      }
    },
    cut() {
      for (const socket of sockets) socket.terminate();
    },
    close() {
      for (const socket of sockets) socket.terminate();
      return new Promise((resolve) => wss.close(() => resolve()));
    },
  };
}
