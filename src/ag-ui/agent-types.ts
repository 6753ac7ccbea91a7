import type { WebSocketClient } from '../client/types.ts';
import type { RunSocketError } from '../internal/errors.ts';
import type { RunControl } from '../runs/protocol.ts';
import type {
  RunEvent,
  RunEventContext,
  RunPolicy,
  RunStorage,
  Runs,
  RunsOptions,
} from '../runs/types.ts';
import type { AgUiEvent } from './events.ts';
import type { RunAgentInput, RunInput } from './input.ts';
import type { InterruptResponses } from './interrupts.ts';
import type { AgUiMessage } from './messages.ts';
import type { AgUiThread } from './thread.ts';

/** Options of {@link createAgUiAgent}. All durations are in ms. */
export interface AgUiAgentOptions<
  S = unknown,
  In = unknown,
  Out = unknown,
  Offset extends number | string = number,
> extends Pick<
    RunsOptions<RunAgentInput, AgUiEvent, In, Out, Offset>,
    | 'overlap'
    | 'restart'
    | 'startTimeout'
    | 'orphanTimeout'
    | 'idleTimeout'
    | 'silenceTimeout'
    | 'translate'
  > {
  /** The thread's id, sent in every `RunAgentInput`. @default that of a remembered run, or a random id */
  readonly threadId?: string | undefined;
  /** The shared state before the first `STATE_SNAPSHOT`, sent with the first run. @default undefined */
  readonly state?: S;
  /** History to start from. @default [] */
  readonly messages?: readonly AgUiMessage[] | undefined;
  /** Names where streaming runs are remembered across reloads. @default 'ag-ui' */
  readonly name?: string | undefined;
  /** The message that starts a run. @default `{ type: 'run', runId, input }` */
  readonly run?: ((input: RunAgentInput, runId: string) => Out) | undefined;
  /** The message that asks for a run's events after `after`; `undefined` sends nothing. @default `{ type: 'resume', runId, after }` */
  readonly resume?: ((runId: string, after: Offset | undefined) => Out | undefined) | undefined;
  /** The message that stops a run; `undefined` sends nothing. @default `{ type: 'cancel', runId }` */
  readonly cancel?: ((runId: string) => Out | undefined) | undefined;
  /** The message that asks for a `STATE_SNAPSHOT`, sent once each time a `STATE_DELTA` fails, until a snapshot arrives. @default not sent */
  readonly resync?: ((runId: string) => Out | undefined) | undefined;
  /** Recognise a run's events in a server message. Several events of one frame move the cursor once. @default messages shaped `{ runId, offset, event }` */
  readonly event?:
    | ((
        message: In,
        context: RunEventContext<Offset>,
      ) => RunEvent<AgUiEvent, Offset> | readonly RunEvent<AgUiEvent, Offset>[] | null | undefined)
    | undefined;
  /** Recognise a server's own control messages. @default those of protocol v1, once the server has said `hello` */
  readonly control?: ((message: In) => RunControl | null | undefined) | undefined;
  /** What happens to a run when its connection drops: `keep` resumes it, `cancel` stops it. @default 'keep' */
  readonly policy?: RunPolicy | undefined;
  /** Where streaming runs are remembered, or `null`. @default sessionStorage */
  readonly storage?: RunStorage | null | undefined;
  /** What is remembered: the streaming run, or the finished thread too. @default 'run' */
  readonly remember?: 'run' | 'thread' | undefined;
  /** Write the thread down when the page is left, so that a reload resumes after it in place of replaying the run. Turn it off where `event` or `translate` has a state of its own. @default true */
  readonly checkpoint?: boolean | undefined;
  /** Folds an event into the thread. @default `applyAgUiEvent` */
  readonly reduce?: ((thread: AgUiThread<S>, event: AgUiEvent) => AgUiThread<S>) | undefined;
}

/** What an agent's listeners get, by type. */
export interface AgUiAgentEvents {
  /** An event of the streaming run, after it was folded into the thread. */
  event: AgUiEvent;
  /** A failure in the background: `patch-failed`, `storage`, `bad-message`, `log-truncated`, `run-lost`. */
  error: RunSocketError;
}

/** An AG-UI thread over a WebSocket. Made by {@link createAgUiAgent}. */
export interface AgUiAgent<S = unknown> {
  /** The thread's id. It may change until the first run, when a remembered run is found, and by `reset()`. */
  readonly threadId: string;
  /**
   * Start a run with the thread so far plus `input.messages`; returns the run id.
   *
   * A streaming run is aborted first. Throws what making or serialising the message throws, and then
   * nothing has changed. `input.resume` answers interrupts (see `answer()`); it does not resume a stream.
   */
  run(
    input?: RunInput,
    options?: {
      readonly policy?: RunPolicy;
      /** Aborts the run. */
      readonly signal?: AbortSignal;
      /** @default a random id */
      readonly runId?: string;
    },
  ): string;
  /** Start the run that answers the open interrupts. Throws `invalid-argument` if an answer is missing. */
  answer(responses: InterruptResponses, input?: RunInput): string;
  /** Follow a run that another page or the server started, from its start. A streaming run is aborted first. Nothing happens where the thread has the run already. */
  follow(runId: string): void;
  /** Stop the streaming run. What it said so far stays. */
  abort(): void;
  /** The thread: the same object until it changes. */
  getSnapshot(): AgUiThread<S>;
  /** The thread before anything was remembered or streamed: what a server renders. */
  getServerSnapshot(): AgUiThread<S>;
  /** Get notified when the thread changes. Compatible with `useSyncExternalStore`. Connects while somebody listens. */
  subscribe(listener: () => void): () => void;
  /** Listen to one type of event; returns what stops it. */
  on<Type extends keyof AgUiAgentEvents>(
    type: Type,
    listener: (value: AgUiAgentEvents[Type]) => void,
  ): () => void;
  /** Hold the connection without listening; returns what releases it. */
  connect(): () => void;
  /** Replace the shared state. During a run it also goes into what the run is replayed on. */
  setState(next: S | ((state: S) => S)): void;
  /** Replace the messages. During a run they also go into what the run is replayed on. */
  setMessages(
    next: readonly AgUiMessage[] | ((messages: readonly AgUiMessage[]) => readonly AgUiMessage[]),
  ): void;
  /** Forget the thread and all that is remembered under this name. A streaming run is aborted. */
  reset(): void;
  /** The runs underneath. */
  readonly runs: Runs<RunAgentInput, AgUiEvent, number>;
  /** The client. */
  readonly client: WebSocketClient<unknown, unknown>;
  /** Stop following runs and release the connection. Runs go on at the server; using the agent again takes them up. */
  dispose(): void;
}
