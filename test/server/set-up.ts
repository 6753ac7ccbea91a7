import type { IncomingMessage } from 'node:http';
import { afterEach } from 'vitest';
import { WebSocket } from 'ws';
import { createServer } from '../../src/server/run-server.ts';
import type {
  AgentOutput,
  RunServer,
  RunServerOptions,
  ServerSocket,
} from '../../src/server/types.ts';
import { until } from '../helpers/until.ts';
import type { VirtualClock } from '../helpers/virtual-clock.ts';
import { startWsServer, type WsServer } from '../helpers/ws-server.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Does something when the test is over. */
export function later(cleanUp: () => unknown): void {
  cleanUps.push(cleanUp);
}

/** A message off or onto the wire. */
export type Message = Readonly<Record<string, unknown>>;

/** A run server behind real sockets. */
export interface Served<Context> extends WsServer {
  readonly server: RunServer<Context>;
}

type Accept = (socket: ServerSocket, context: unknown, request: IncomingMessage) => unknown;

/** Serve on 127.0.0.1; `contextOf` makes the context of each socket from its request. */
export async function serve<Context = undefined>(
  options: RunServerOptions<Context>,
  contextOf: (request: IncomingMessage) => Context = () => undefined as Context,
  port = 0,
): Promise<Served<Context>> {
  const server = createServer<Context>(options);
  const wss = await startWsServer({
    port,
    onConnection: (socket, request) =>
      (server.accept as Accept)(socket, contextOf(request), request),
  });
  later(async () => {
    await server.dispose({ grace: 0 });
    await wss.close();
  });
  // Not spread: `live` is a getter.
  return Object.assign(Object.create(wss), { server });
}

/** A client that shows every message. */
export interface Line {
  /** Every message that came, those of an array one by one. */
  readonly messages: Message[];
  /** Every frame that came, as it was. */
  readonly frames: string[];
  /** How the server closed. */
  readonly closed: { code?: number; reason?: string };
  send(...messages: unknown[]): void;
  controls(type?: string): Message[];
  events(runId?: string): Message[];
  offsets(runId?: string): number[];
  until(condition: (message: Message) => boolean): Promise<Message>;
  /** Waits for the end of a run. */
  ended(runId?: string): Promise<Message>;
}

const isTerminal = ({ event }: Message) =>
  /^RUN_(FINISHED|ERROR)$/.test(String((event as Message | undefined)?.type));

function createLine(transmit: (text: string) => void) {
  const messages: Message[] = [];
  const frames: string[] = [];
  const closed: Line['closed'] = {};
  const line: Line = {
    messages,
    frames,
    closed,
    send(...all) {
      for (const one of all) transmit(typeof one === 'string' ? one : JSON.stringify(one));
    },
    controls: (type) =>
      messages.filter((one) => typeof one.type === 'string' && (!type || one.type === type)),
    events: (runId) =>
      messages.filter((one) => one.event && (!runId || one.runId === runId)) as Message[],
    offsets: (runId) => line.events(runId).map(({ offset }) => offset as number),
    async until(condition) {
      await until(() => messages.some(condition));
      return messages.find(condition) as Message;
    },
    ended: (runId = 'a') =>
      line.until((one) => one.runId === runId && (one.type === 'run.end' || isTerminal(one))),
  };
  const receive = (text: string) => {
    frames.push(text);
    const message = JSON.parse(text);
    messages.push(...(Array.isArray(message) ? message : [message]));
  };
  return { line, receive };
}

/** Connect over a real socket. */
export async function dial(
  url: string,
  options: { readonly origin?: string; readonly headers?: Record<string, string> } = {},
): Promise<Line & { readonly socket: WebSocket }> {
  const socket = new WebSocket(url, options);
  const { line, receive } = createLine((text) => socket.send(text));
  socket.on('message', (data) => receive(String(data)));
  socket.on('error', () => {});
  socket.on('close', (code, reason) => Object.assign(line.closed, { code, reason: `${reason}` }));
  later(() => socket.terminate());
  await until(() => socket.readyState > 0);
  return Object.assign(line, { socket });
}

/** A server without a network, on the caller's clock. */
export function serveHere<Context = undefined>(
  options: RunServerOptions<Context>,
  clock: VirtualClock,
): {
  readonly server: RunServer<Context>;
  /** Disposes of the server at once. */
  close(): Promise<void>;
  dial(context?: Context, bufferedAmount?: () => number): Line & { drop(): void };
} {
  const server = createServer<Context>(options, clock.environment);
  return {
    server,
    async close() {
      const done = server.dispose({ grace: 0 });
      await clock.advance(1);
      await done;
    },
    dial(context, bufferedAmount) {
      const { line, receive } = createLine((text) => end.receive(text));
      const end = server.connect(
        receive,
        (code, reason) => Object.assign(line.closed, { code, reason }),
        {
          ...(context !== undefined && { context }),
          ...(bufferedAmount && { bufferedAmount }),
        },
      );
      return Object.assign(line, { drop: end.closed });
    },
  };
}

/** The `run` message of a run. */
export const ask = (runId = 'a', content = 'Hello'): Message => ({
  type: 'run',
  runId,
  input: { threadId: `thread of ${runId}`, runId, messages: [{ id: 'm', role: 'user', content }] },
});

/** Agents that say what they are told to, when they are told to. */
export interface Puppet {
  readonly run: (run: {
    readonly runId: string;
    readonly signal: AbortSignal;
  }) => AsyncIterable<AgentOutput>;
  /** How often each run was executed. */
  readonly starts: Map<string, number>;
  readonly signals: Map<string, AbortSignal>;
  say(runId: string, ...deltas: string[]): void;
  yield(runId: string, ...events: unknown[]): void;
  end(runId: string): void;
  fail(runId: string, error: unknown): void;
}

/** Make agents whose runs begin with TEXT_MESSAGE_START. An `obedient` one ends when it is told to stop. */
export function createPuppet(obedient = true): Puppet {
  interface Strings {
    queue: unknown[];
    isDone: boolean;
    error?: unknown;
    wake: () => void;
  }
  const all = new Map<string, Strings>();
  const starts = new Map<string, number>();
  const signals = new Map<string, AbortSignal>();
  const get = (runId: string) => {
    const found = all.get(runId) ?? { queue: [], isDone: false, wake() {} };
    all.set(runId, found);
    return found;
  };
  return {
    starts,
    signals,
    async *run({ runId, signal }) {
      starts.set(runId, (starts.get(runId) ?? 0) + 1);
      signals.set(runId, signal);
      const strings = get(runId);
      signal.addEventListener('abort', () => obedient && strings.wake());
      yield { type: 'TEXT_MESSAGE_START', messageId: `${runId}-m`, role: 'assistant' };
      for (;;) {
        yield* strings.queue.splice(0) as AgentOutput[];
        if (strings.error) throw strings.error;
        if (strings.isDone || (obedient && signal.aborted)) return;
        await new Promise<void>((resolve) => {
          strings.wake = resolve;
        });
      }
    },
    say(runId, ...deltas) {
      for (const delta of deltas) {
        get(runId).queue.push({ type: 'TEXT_MESSAGE_CONTENT', messageId: `${runId}-m`, delta });
      }
      get(runId).wake();
    },
    yield(runId, ...events) {
      get(runId).queue.push(...events);
      get(runId).wake();
    },
    end(runId) {
      get(runId).isDone = true;
      get(runId).wake();
    },
    fail(runId, error) {
      get(runId).error = error;
      get(runId).wake();
    },
  };
}

/** Whether a message is the event with this text. */
export const says =
  (delta: string) =>
  ({ event }: Message): boolean =>
    (event as Message | undefined)?.delta === delta;

/** The types of the events of a run, as a client got them. */
export const typesOf = (line: Line, runId = 'a'): unknown[] =>
  line.events(runId).map(({ event }) => (event as Message).type);
