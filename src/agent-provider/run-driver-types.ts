import type { AgentReconnectOptions } from './chat-types.ts';
import type { AgentEvent } from './event-types.ts';
import type { AgentProvider, AgentRunOptions } from './provider-types.ts';

/** How the reading of a run came to its end; `unrecoverable`: it could not be taken up where it was left. */
export type AgentRunOutcome = 'ended' | 'detached' | 'unrecoverable';

/** Options of `driveAgentProvider`. */
export interface DriveOptions<Input, Request, Chunk, Context> {
  readonly provider: AgentProvider<Input, Request, Chunk, Context>;
  readonly input: Input;
  readonly run: AgentRunOptions;
  readonly onEvent: (event: AgentEvent) => void;
  /** Reject with a protocol error where an event breaks the lifecycle, too. @default false: what a provider leaves open is closed before its terminal event */
  readonly strict?: boolean | undefined;
  /** All events of a chunk were given out; `cursor` is where it stands. */
  readonly onCursor?: ((cursor: unknown) => void) | undefined;
  readonly onConnection?:
    | ((state: 'connecting' | 'connected' | 'reconnecting') => void)
    | undefined;
  /** Writes the run down before something is sent; where that takes time, it is waited for. */
  readonly remember?: ((context: Context) => Promise<unknown> | undefined) | undefined;
  /** @default never: a failing transport ends the run */
  readonly reconnect?: AgentReconnectOptions | false | undefined;
  /** Go on with a run in place of starting it. */
  readonly resume?:
    | {
        readonly cursor: unknown;
        /** The context itself, or what `saveContext` wrote down of it. */
        readonly context: { readonly live: Context } | { readonly saved: unknown };
        /** The run's events so far that are still open matter to what closes it. */
        readonly open: readonly AgentEvent[];
      }
    | undefined;
}

/** A run that is being read. */
export interface AgentRunDriver<Context> {
  readonly context: Context;
  /** Rejects with what the consumer threw, or a protocol error. */
  readonly done: Promise<AgentRunOutcome>;
  /** Stop reading and cancel nothing; `done` resolves with `detached`. */
  detach(): void;
}
