import type { AgUiEvent, RunFinishedEvent, RunStartedEvent } from '../ag-ui/events.ts';
import type { RunAgentInput } from '../ag-ui/input.ts';
import type { RunServerLimits } from './limits.ts';
import type { RunLog } from './run-log.ts';

type WithoutIds<Event> = Event extends unknown
  ? Omit<Event, 'threadId' | 'runId'> & { readonly threadId?: string; readonly runId?: string }
  : never;

/** An AG-UI event as an agent yields it: the server fills in `threadId` and `runId`. */
export type AgentOutput =
  | Exclude<AgUiEvent, RunStartedEvent | RunFinishedEvent>
  | WithoutIds<RunStartedEvent>
  | WithoutIds<RunFinishedEvent>;

/** One execution of an agent. */
export interface AgentRun<Context = undefined, Input = RunAgentInput> {
  /** As it came from the client, unchecked. */
  readonly input: Input;
  readonly runId: string;
  /** That of the input, or the run's id. */
  readonly threadId: string;
  /** Aborts when the run is cancelled, lost, or has ended otherwise. */
  readonly signal: AbortSignal;
  /** That of the connection which started the run. */
  readonly context: Context;
}

/** What an agent server asks its `authorize`. */
export interface AccessRequest<Context = undefined> {
  readonly action: 'run' | 'resume' | 'cancel';
  readonly runId: string;
  /** Absent where the run is not known. */
  readonly threadId: string | undefined;
  readonly context: Context;
}

/** Options of {@link createRunServer}. All durations are in ms. */
export interface RunServerOptions<Context = undefined, Input = RunAgentInput> {
  /**
   * Your agent: yields AG-UI events. `RUN_STARTED` and `RUN_FINISHED` are added where it leaves them
   * out, what is still open is closed when it returns or is cancelled, and what it throws becomes `RUN_ERROR`.
   */
  readonly run: (run: AgentRun<Context, Input>) => AsyncIterable<AgentOutput>;
  /** Where events are kept. @default memoryRunLog() with the `retention`, `tombstones` and `maxBytes` of `limits` */
  readonly log?: RunLog;
  /** Speak only the four messages of the AG-UI over WebSockets reference page. @default false */
  readonly plain?: boolean;
  /** Whether somebody may start, follow or cancel a run; throwing refuses. @default everybody who knows the run's id */
  readonly authorize?: (request: AccessRequest<Context>) => boolean | Promise<boolean>;
  /** Whose runs a connection starts: nobody of another name may follow or cancel them. @default nobody's: the run's id is the key */
  readonly principal?: (context: Context) => string | undefined;
  /**
   * Checks a token that the client renews after `reauth()`, and gives the connection's context from
   * then on; `undefined` or throwing closes the connection with 4401.
   */
  readonly authenticate?: (
    token: unknown,
    context: Context,
  ) => Context | undefined | Promise<Context | undefined>;
  /** The pages that may connect, such as `https://example.com`; all others are closed with 1008. Programs that send no `Origin` are let in. @default all */
  readonly origins?: readonly string[] | ((origin: string) => boolean);
  readonly limits?: RunServerLimits;
  /** How long a connection may be silent before its client pings, 5000 to 60000. @default 15000 */
  readonly heartbeat?: number;
  /** Over how long clients spread their first attempt after this server has gone. @default 1000 */
  readonly spread?: number;
  /** How long a run stays this process's without a sign of life; then any process may end it as lost. @default 10000 */
  readonly lease?: number;
  /** How long a cancelled agent may still yield before its run is ended without it. @default 1000 */
  readonly cancelGrace?: number;
  /** What a client is told of an error that the agent threw. @default its message */
  readonly describeError?: (error: unknown) => { readonly message: string; readonly code?: string };
  /** Told what goes wrong in the background: an agent that throws, a log that cannot be reached. @default silent */
  readonly onError?: (error: unknown, runId?: string) => void;
}

/** The part of a WebSocket that is used here: that of `ws`, Deno, Bun's and Cloudflare's servers, and browsers. */
export interface ServerSocket {
  readonly readyState?: number;
  /** Bytes that wait to be sent; without it a slow reader is not noticed. */
  readonly bufferedAmount?: number;
  send(data: string): unknown;
  close(code?: number, reason?: string): unknown;
  addEventListener(
    type: 'open' | 'message' | 'close' | 'error',
    // biome-ignore lint/suspicious/noExplicitAny: each runtime types its events differently.
    listener: (event: any) => void,
  ): unknown;
}

/** The part of an upgrade request that is used here: Node's, or one of the Fetch API. */
export interface ServerRequest {
  readonly headers:
    | { readonly origin?: string | undefined }
    | { get(name: 'origin'): string | null };
}

/** One connection of a {@link RunServer}. */
export interface RunConnection {
  /** Asks the client for a new token; without a valid one within `wait` ms (30000 by default) the connection is closed with 4401. */
  reauth(wait?: number): void;
  close(code?: number, reason?: string): void;
}

/** A connection that somebody else carries: tell it what comes in. */
export interface CarriedConnection extends RunConnection {
  /** A frame, as text or as UTF-8 bytes. */
  receive(data: unknown): void;
  /** The connection is gone. */
  closed(): void;
}

/** What {@link RunServer.connect} is told besides; as {@link RunServer.accept}. */
export interface ConnectOptions<Context> {
  readonly context?: Context;
  readonly request?: ServerRequest;
  /** Bytes that wait to be sent. */
  readonly bufferedAmount?: () => number;
}

type ContextArguments<Context> = undefined extends Context
  ? [context?: Context, request?: ServerRequest]
  : [context: Context, request?: ServerRequest];

/** An agent server. Made by {@link createRunServer}. */
export interface RunServer<Context = undefined, Input = RunAgentInput> {
  /**
   * Serves a socket. Throws `invalid-argument` where `origins` is set and the request is missing;
   * never for what a client sends.
   */
  accept(socket: ServerSocket, ...rest: ContextArguments<Context>): RunConnection;
  /** Serves a connection of any kind through two functions. */
  connect(
    send: (data: string) => void,
    close: (code: number, reason: string) => void,
    options?: ConnectOptions<Context>,
  ): CarriedConnection;
  /** Starts a run without a connection; `created: false` where its id is known already. Rejects with `run-unknown` for an id whose log is gone. */
  start(
    input: Input,
    ...options: undefined extends Context
      ? [options?: StartOptions<Context>]
      : [options: StartOptions<Context> & { readonly context: Context }]
  ): Promise<{ readonly runId: string; readonly epoch: string; readonly created: boolean }>;
  /** Stops a run, in whichever process it is. */
  cancel(runId: string): Promise<void>;
  /** How much is going on in this process. */
  getSnapshot(): RunServerSnapshot;
  /**
   * Stops serving: nobody gets in any more, clients are told to come back later, and runs may go on
   * for `grace` ms before they are ended as lost. With a log that processes share, clients go to
   * another process at once; else they stay until their runs end. Resolves when all is over.
   */
  dispose(options?: DisposeOptions): Promise<void>;
}

/** Options of {@link RunServer.start}. */
export interface StartOptions<Context> {
  /** @default a random one */
  readonly runId?: string;
  readonly context?: Context;
}

/** Options of {@link RunServer.dispose}. All durations are in ms. */
export interface DisposeOptions {
  /** @default 10000 */
  readonly grace?: number;
  /** How long clients are asked to stay away. @default 1000 */
  readonly retryAfter?: number;
}

/** How much is going on in a server. */
export interface RunServerSnapshot {
  readonly connections: number;
  /** Runs whose agent is at work in this process. */
  readonly running: number;
  /** Readers of runs: one for each run and connection. */
  readonly following: number;
}
