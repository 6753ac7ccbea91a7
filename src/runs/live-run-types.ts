import type { Wire } from '../client/wire.ts';
import type { RunSocketError } from '../internal/errors.ts';
import type { RunMachine, RunRules, RunStart } from './run-machine-types.ts';
import type { RunRecord, RunStore } from './run-storage.ts';
import type { Session, SessionRun } from './session.ts';
import type { Run, RunSnapshot, RunsOptions } from './types.ts';

/** What the layer above does with the runs; all of it optional. */
export interface RunHooks<E, Offset extends number | string> {
  /** An event that is next; `replay`: many come at once, out of the log or in one frame. */
  event?(runId: string, event: E, replay: boolean): void;
  /** The run is read from its start again. */
  restart?(runId: string): void;
  /** Events are missing for good. */
  hole?(runId: string, error: RunSocketError): void;
  /** The policy has stopped the run. */
  aborted?(runId: string): void;
  /** A connection is there again, or a run that was given up came back. */
  revived?(runId: string): void;
  end?(runId: string, snapshot: RunSnapshot<Offset>): void;
  /** A socket is open and the run was asked for. */
  opened?(runId: string): void;
  /** What is remembered of a run besides its own state. */
  describe?(runId: string): Pick<RunRecord, 'threadId' | 'base' | 'input'>;
  /** The page is left; what is written now may be all that stays. */
  hide?(): void;
  /** A failure in the background. */
  error?(error: RunSocketError): void;
}

/** What all runs of one `createRuns` share. */
export interface RunContext<Input, E, Offset extends number | string> {
  readonly wire: Wire;
  readonly session: Session;
  readonly store: RunStore;
  readonly options: RunsOptions<Input, E, never, unknown, Offset>;
  readonly rules: RunRules<E>;
  readonly hooks: RunHooks<E, Offset>;
  /** The message that is being read came with others in one frame. */
  batched: boolean;
  /** Replaces the socket. */
  reconnect(): void;
  /** Follows a run again that was let go of. */
  join(live: LiveRun<E, Offset>): void;
  /** A run is another than it was. */
  changed(): void;
}

/** How a run came here. */
export interface RunOrigin<Input, E, Offset> extends RunStart<E, Offset> {
  /** What its `run` message carries, when it has to be sent. */
  readonly makeInput?: (() => Input) | undefined;
  readonly message?: unknown;
  /** `message` as a frame. */
  readonly data?: ReturnType<Wire['encode']>;
  /** Cancel the run once this page owns it: its policy said so, and its page is gone. */
  readonly cancelWhenOwned?: boolean | undefined;
}

/** A run together with its place in the world: sockets, timers, storage, listeners. */
export interface LiveRun<E, Offset extends number | string> extends SessionRun {
  readonly run: Run<E, Offset>;
  readonly over: boolean;
  /** It holds the connection, or a late event may bring it back. */
  readonly listening: boolean;
  readonly state: Pick<RunMachine<E, Offset>, 'live' | 'cancelling' | 'cursor' | 'position'>;
  receive: RunMachine<E, Offset>['receive'];
  control: RunMachine<E, Offset>['control'];
  /** Write down that the run is under way. */
  remember(): Promise<unknown> | undefined;
  /** Hold the connection, own the run, and take it up where a socket is open. */
  attach(): void;
  /** Let go of everything but what is known of the run; nothing is cancelled. */
  detach(): void;
  /** Read the run from its start again. */
  rewind(): void;
  page(type: 'hide' | 'show'): void;
}
