import type { AgentCommand, AgentCommandType } from './command-types.ts';
import type {
  AgentEvent,
  AgentEventFactory,
  AgentEventProtocol,
  AgentEventProtocolVersion,
  AgentEventType,
} from './event-types.ts';

/** How a transport moves chunks; kinds of your own have a dot in their name. */
export type AgentTransportKind = 'sse' | 'websocket' | 'async-iterable' | `${string}.${string}`;

/** Moves a request to an agent and its chunks back. */
export interface AgentTransport<Request, Chunk> {
  readonly kind: AgentTransportKind;
  /** `signal` cancels the request; leaving the loop only stops reading where the transport can resume. */
  open(request: Request, signal: AbortSignal): AsyncIterable<Chunk>;
  /** Where a chunk stands, as plain JSON; `undefined` for one without a place. */
  getCursor?(chunk: Chunk): unknown;
  /** The chunks behind a cursor; from the start where it is `undefined`. `request` is `undefined` after a reload, when only its input was kept. */
  resume?(request: Request | undefined, cursor: unknown, signal: AbortSignal): AsyncIterable<Chunk>;
}

/** What a provider may use. */
export interface AgentProviderCapabilities {
  readonly eventTypes: readonly AgentEventType[];
  readonly transports: readonly AgentTransportKind[];
  readonly commands?: readonly AgentCommandType[];
  /** Whether its runs go on at the server without a reader, and can be read again. */
  readonly resumable?: boolean;
  readonly extensions?: Readonly<Record<`${string}.${string}`, unknown>>;
}

/** What a command is executed with. */
export interface AgentCommandOptions {
  readonly signal: AbortSignal;
  /** The command's events have sequences above it. */
  readonly initialSequence: number;
  readonly now?: (() => number) | undefined;
}

/** What a run is executed with. */
export interface AgentRunOptions {
  readonly sessionId: string;
  readonly runId: string;
  /** Cancels the run. */
  readonly signal?: AbortSignal | undefined;
  /** The sequence before the first event's. @default -1 */
  readonly initialSequence?: number | undefined;
  /** @default the wall clock */
  readonly now?: (() => number) | undefined;
  readonly createEventId?: ((sequence: number, type: AgentEventType) => string) | undefined;
}

/** What a provider makes a run's context of. */
export interface AgentProviderContextOptions extends AgentRunOptions {
  /** Makes the run's events; its sequence is shared with the run's commands. */
  readonly events: AgentEventFactory;
  /**
   * Writes the run down for the next page: called before something is sent that this page must know
   * of. Where it gives a promise, that is waited for. Absent where nobody keeps the run.
   */
  readonly remember?: (() => Promise<unknown> | undefined) | undefined;
}

/** An agent as a source of events. */
export interface AgentProvider<Input, Request, Chunk, Context = unknown> {
  readonly id: string;
  readonly protocol: {
    readonly name: AgentEventProtocol;
    readonly version: AgentEventProtocolVersion;
  };
  readonly capabilities: AgentProviderCapabilities;
  readonly transport: AgentTransport<Request, Chunk>;
  /** The state of one run's parsing, shared by its chunks. */
  createContext(options: AgentProviderContextOptions): Context;
  /** The run, the user's message and what else begins with it. */
  start(input: Input, context: Context): readonly AgentEvent[];
  prepareRequest(input: Input, context: Context): Request;
  transformChunk(chunk: Chunk, context: Context): readonly AgentEvent[];
  /** Closes what is open, and the run. */
  flush(context: Context): readonly AgentEvent[];
  /** Says a failure or an interruption. */
  transformError(error: unknown, context: Context): readonly AgentEvent[];
  /** Whether reconnecting may help. @default not retryable */
  classifyError?(error: unknown, context: Context): { readonly retryable: boolean };
  executeCommand?(command: AgentCommand, options: AgentCommandOptions): AsyncIterable<AgentEvent>;
  /** A run's context as plain JSON, for the next page. */
  saveContext?(context: Context): unknown;
  /** The context that {@link AgentProvider.saveContext} wrote down. Throws for one it does not know. */
  restoreContext?(saved: unknown, options: AgentProviderContextOptions): Context;
  /** The conversation does not come back: what is kept of it goes. */
  forgetSession?(sessionId: string): void;
}

/** A provider of any input, request, chunk and context. */
export type AnyAgentProvider = AgentProvider<unknown, unknown, unknown, unknown>;

/** Options of `runAgentProvider`. */
export interface RunAgentProviderOptions<Input, Request, Chunk, Context> {
  readonly provider: AgentProvider<Input, Request, Chunk, Context>;
  readonly input: Input;
  readonly run: AgentRunOptions;
  readonly onEvent: (event: AgentEvent) => void;
  /** Reject with a protocol error where an event breaks the lifecycle, too. @default false: what a provider leaves open is closed before its terminal event */
  readonly strict?: boolean | undefined;
}

/** Options of `runAgentCommand`. */
export interface RunAgentCommandOptions {
  readonly provider: AnyAgentProvider;
  readonly command: AgentCommand;
  readonly signal?: AbortSignal | undefined;
  /** The command's events have sequences above it. */
  readonly initialSequence: number;
  readonly now?: (() => number) | undefined;
  readonly onEvent: (event: AgentEvent) => void;
}

/** A rule that a run's events broke. */
export interface AgentProviderContractIssue {
  readonly code:
    | 'invalid_event'
    | 'undeclared_event_type'
    | 'duplicate_event_id'
    | 'inconsistent_run'
    | 'invalid_sequence'
    | 'missing_run_start'
    | 'missing_run_terminal'
    | 'multiple_run_terminals'
    | 'invalid_lifecycle';
  readonly message: string;
  /** The event it is about, where there is one. */
  readonly eventId?: string;
}
