import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { FakePeer, FakeSocket, Message } from './fake-network.ts';
import type { TestEvent } from './world.ts';

/** One follower's connection, whatever carries it. */
export interface V1Connection {
  send(frame: unknown): void;
  close(code?: number): void;
}

/** A run as the server keeps it. */
export interface V1Run {
  readonly runId: string;
  input: unknown;
  log: TestEvent[];
  epoch: string;
  /** How often it was executed, and how often `run` was received. */
  executions: number;
  starts: number;
  cancels: number;
  policy: string | undefined;
  /** Nothing before this offset is left. */
  from: number;
  status: 'finished' | 'error' | 'cancelled' | 'lost' | undefined;
  readonly followers: Set<V1Connection>;
}

/** Options of {@link createV1Server}. */
export interface V1Options {
  /** Capabilities of the `hello`; `null`: no `hello` at all. @default all but `auth` */
  readonly caps?: readonly string[] | null;
  /** More fields of the `hello`. */
  readonly hello?: Message;
  /** Called for each execution of a run. */
  readonly onRun?: (run: V1Run) => void;
  /** Whether a cancelled run is ended by the server itself. @default true */
  readonly obeysCancel?: boolean;
  /** What becomes of the frames of a run's events on the way to one follower: lose, double, reorder. */
  mangle?: (frames: readonly Message[], connection: V1Connection) => readonly Message[];
  /** Attach live before the replay, as a careless server does. @default false */
  readonly liveBeforeReplay?: boolean;
}

/**
 * A run server that speaks protocol v1, without a network: `connect()` gives what a transport calls.
 * Everything that a test wants to go wrong is a member.
 */
export interface V1Server {
  readonly runs: ReadonlyMap<string, V1Run>;
  /** Every message that came in, in order. */
  readonly received: Message[];
  readonly connections: ReadonlySet<V1Connection>;
  /** Receives nothing and says nothing while it is set; what comes in is still written down. */
  silent: boolean;
  mangle: V1Options['mangle'];
  connect(connection: V1Connection): { receive(message: Message): void; closed(): void };
  append(runId: string, ...events: TestEvent[]): void;
  end(runId: string, status: NonNullable<V1Run['status']>): void;
  /** Forgets a run as if it had never been known: `run.unknown` `never`. */
  forget(runId: string): void;
  evict(runId: string): void;
  forbid(runId: string): void;
  /** Loses everything before `from`. */
  truncate(runId: string, from: number): void;
  /** Loses the log and runs again, under a new epoch. */
  reexecute(runId: string): void;
  /** Sends to every connection. */
  broadcast(message: unknown): void;
  cut(code?: number): void;
}

/** Make a v1 server. */
export function createV1Server(options: V1Options = {}): V1Server {
  const { obeysCancel = true, liveBeforeReplay = false } = options;
  const { caps = ['accepted', 'end', 'unknown', 'truncated', 'batch', 'policy', 'ping'] } = options;
  const runs = new Map<string, V1Run>();
  const unknown = new Map<string, 'evicted' | 'forbidden'>();
  const cancelled = new Set<string>();
  const connections = new Set<V1Connection>();
  const batching = new Set<V1Connection>();
  const received: Message[] = [];
  let epochs = 0;

  const frame = (run: V1Run, offset: number): Message => ({
    runId: run.runId,
    offset,
    event: run.log[offset],
  });
  const frames = (run: V1Run, from: number): Message[] =>
    run.log.slice(from).map((_, index) => frame(run, from + index));

  const deliver = (connection: V1Connection, list: readonly Message[]) => {
    if (server.silent || !connections.has(connection)) return;
    const mangled = server.mangle ? server.mangle(list, connection) : list;
    if (batching.has(connection) && mangled.length > 1) {
      for (let i = 0; i < mangled.length; i += 100) connection.send(mangled.slice(i, i + 100));
    } else for (const one of mangled) connection.send(one);
  };
  const say = (connection: V1Connection, message: Message) => {
    if (!server.silent && connections.has(connection)) connection.send(message);
  };
  const sayEnd = (connection: V1Connection, run: V1Run) => {
    if (!run.status || !caps?.includes('end')) return;
    say(connection, {
      type: 'run.end',
      runId: run.runId,
      offset: run.log.length - 1,
      status: run.status,
    });
  };

  const execute = (run: V1Run) => {
    run.executions++;
    run.epoch = `e${++epochs}`;
    run.log = [];
    run.from = 0;
    run.status = undefined;
    options.onRun?.(run);
  };

  const attach = (connection: V1Connection, run: V1Run, after: number, attached: boolean) => {
    if (caps?.includes('accepted')) {
      const { runId, epoch, log } = run;
      say(connection, { type: 'run.accepted', runId, epoch, next: log.length, attached });
    }
    if (liveBeforeReplay) run.followers.add(connection);
    if (after + 1 < run.from) {
      say(connection, { type: 'run.truncated', runId: run.runId, from: run.from });
    }
    deliver(connection, frames(run, Math.max(after + 1, run.from)));
    sayEnd(connection, run);
    run.followers.add(connection);
  };

  const handle = (connection: V1Connection, message: Message) => {
    const { type, runId } = message;
    if (type === 'ping') say(connection, { type: 'pong', n: message.n });
    if (type === 'hello' && (message.caps as string[]).includes('batch')) batching.add(connection);
    if (typeof runId !== 'string') return;
    const known = runs.get(runId);
    const reason = unknown.get(runId);
    if (type === 'run') {
      if (reason) return say(connection, { type: 'run.unknown', runId, reason });
      if (known) {
        known.starts++;
        return attach(connection, known, -1, true);
      }
      const run: V1Run = {
        runId,
        input: message.input,
        log: [],
        epoch: '',
        executions: 0,
        starts: 1,
        cancels: 0,
        policy: undefined,
        from: 0,
        status: undefined,
        followers: new Set(),
      };
      runs.set(runId, run);
      // Accepted before the first event, whatever the producer does at once.
      run.epoch = `e${epochs + 1}`;
      attach(connection, run, -1, false);
      execute(run);
      if (cancelled.has(runId)) stop(run);
    } else if (type === 'resume') {
      if (known) attach(connection, known, (message.after as number | undefined) ?? -1, true);
      else if (caps?.includes('unknown')) {
        say(connection, { type: 'run.unknown', runId, reason: reason ?? 'never' });
      }
    } else if (type === 'cancel') {
      cancelled.add(runId);
      if (!known) return;
      known.cancels++;
      if (obeysCancel) stop(known);
    } else if (type === 'policy' && known) known.policy = String(message.policy);
  };

  const stop = (run: V1Run) => {
    if (run.status) return;
    server.append(run.runId, {
      type: 'RUN_FINISHED',
      threadId: 't',
      runId: run.runId,
      outcome: { type: 'cancelled' },
    });
    server.end(run.runId, 'cancelled');
  };

  const get = (runId: string): V1Run => {
    const run = runs.get(runId);
    if (!run) throw new Error(`no run ${runId}`);
    return run;
  };

  const server: V1Server = {
    runs,
    received,
    connections,
    silent: false,
    mangle: options.mangle,
    connect(connection) {
      connections.add(connection);
      if (caps) say(connection, { type: 'hello', v: 1, caps, ...options.hello });
      return {
        receive(message) {
          received.push(message);
          if (!server.silent) handle(connection, message);
        },
        closed() {
          connections.delete(connection);
          for (const run of runs.values()) run.followers.delete(connection);
        },
      };
    },
    append(runId, ...events) {
      const run = get(runId);
      for (const event of events) {
        const offset = run.log.push(event) - 1;
        for (const connection of run.followers) deliver(connection, [frame(run, offset)]);
      }
    },
    end(runId, status) {
      const run = get(runId);
      run.status = status;
      for (const connection of run.followers) sayEnd(connection, run);
    },
    forget(runId) {
      runs.delete(runId);
    },
    evict(runId) {
      runs.delete(runId);
      unknown.set(runId, 'evicted');
    },
    forbid(runId) {
      runs.delete(runId);
      unknown.set(runId, 'forbidden');
    },
    truncate(runId, from) {
      get(runId).from = from;
    },
    reexecute(runId) {
      const run = get(runId);
      run.followers.clear();
      execute(run);
    },
    broadcast(message) {
      for (const connection of connections) connection.send(message);
    },
    cut(code) {
      for (const connection of [...connections]) connection.close(code);
    },
  };
  return server;
}

/** A server on a network in memory; what it sends arrives `later`. */
export function toFakePeer(
  server: Pick<V1Server, 'connect'>,
  later: (task: () => void) => void = (task) => task(),
): FakePeer {
  const ends = new Map<FakeSocket, ReturnType<V1Server['connect']>>();
  return {
    open(socket) {
      const end = server.connect({
        send(message) {
          const frame = JSON.stringify(message);
          later(() => socket.frame(frame));
        },
        close: (code) => socket.end(code),
      });
      ends.set(socket, end);
    },
    message: (socket, message) => ends.get(socket)?.receive(message),
    close: (socket) => ends.get(socket)?.closed(),
  };
}

/** A v1 server behind real sockets on 127.0.0.1. */
export async function startV1Server(
  options: V1Options = {},
): Promise<V1Server & { readonly url: string; readonly port: number; close(): Promise<void> }> {
  const server = createV1Server(options);
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await new Promise((resolve) => wss.once('listening', resolve));
  wss.on('connection', (socket: WebSocket) => {
    const end = server.connect({
      send: (message) => socket.send(JSON.stringify(message)),
      close: (code) => (code === undefined ? socket.terminate() : socket.close(code)),
    });
    socket.on('error', () => {});
    socket.on('close', () => end.closed());
    socket.on('message', (data) => end.receive(JSON.parse(String(data)) as Message));
  });
  const { port } = wss.address() as AddressInfo;
  return Object.assign(server, {
    port,
    url: `ws://127.0.0.1:${port}`,
    close() {
      for (const socket of wss.clients) socket.terminate();
      return new Promise<void>((resolve) => wss.close(() => resolve()));
    },
  });
}
