import type { RunSocketError } from '../internal/errors.ts';
import type { RunControl } from './protocol.ts';

/** What happens to a run when its connection drops: `keep` resumes it, `cancel` stops it. */
export type RunPolicy = 'keep' | 'cancel';

/**
 * Where streaming runs are remembered: `sessionStorage`, `localStorage`, React Native's AsyncStorage
 * and the like. Each function may be synchronous or return a promise, and may throw.
 */
export interface RunStorage {
  getItem(key: string): string | null | undefined | Promise<string | null | undefined>;
  setItem(key: string, value: string): unknown;
  removeItem(key: string): unknown;
}

/** One event of a run, as recognised in a server's message. */
export interface RunEvent<E = unknown, Offset extends number | string = number> {
  readonly runId: string;
  /** Its place in the run's log. Without one the event is applied and the cursor stays. */
  readonly offset?: Offset | null | undefined;
  readonly event: E;
}

/** What an `event` recogniser is told besides the message, for servers whose events do not name their run. */
export interface RunEventContext<Offset extends number | string = number> {
  /** The newest run under way. */
  readonly runId?: string;
  /** The last offset applied of that run. */
  readonly offset?: Offset;
}

/** What an event says about its run: an end, or that it goes on after one. */
export type RunEventStatus = 'started' | 'finished' | 'cancelled' | 'failed';

/**
 * The state of one run.
 *
 * `queued`: not sent yet. `starting`: sent, nothing heard. `streaming`: under way. The others are ends.
 */
export interface RunSnapshot<Offset extends number | string = number> {
  readonly id: string;
  readonly status: 'queued' | 'starting' | 'streaming' | 'finished' | 'cancelled' | 'failed';
  /** The last offset applied. */
  readonly offset?: Offset;
  /** Whether the log was read up to where the server had written it when the run was last resumed; undefined with a server that does not say. */
  readonly caughtUp?: boolean;
  /** Why the run failed, where its own events do not say. */
  readonly error?: RunSocketError;
}

/** What a run's listeners get, by event type. */
export interface RunListeners<E, Offset extends number | string> {
  event: E;
  /** The run is replayed from its start: forget what its events built. */
  restart: RunSnapshot<Offset>;
  end: RunSnapshot<Offset>;
}

/**
 * One run, started or followed.
 *
 * Iterating gives the events from the next one on; leaving the loop stops following and cancels
 * nothing. The iteration throws where the run failed for a reason that is not in its events.
 */
export interface Run<E, Offset extends number | string = number> extends AsyncIterable<E> {
  readonly id: string;
  /** Resolves with the last snapshot when the run is over; never rejects. A run that is revived has a new one. */
  readonly done: Promise<RunSnapshot<Offset>>;
  /** The state of the run: the same object until it changes. */
  getSnapshot(): RunSnapshot<Offset>;
  /** Listen to one type of event; returns what stops it. */
  on<Type extends keyof RunListeners<E, Offset>>(
    type: Type,
    listener: (value: RunListeners<E, Offset>[Type]) => void,
  ): () => void;
  /** Stop the run on the server: repeated after each reconnect until the run is over. A run that was never sent just goes. */
  cancel(): void;
}

/** The runs of one client. Made by {@link createRuns}. */
export interface Runs<Input, E, Offset extends number | string = number> {
  /** Start a run; throws what serialising its message throws, and then nothing has changed. */
  start(
    input: Input,
    options?: {
      /** @default a random id */
      readonly runId?: string;
      readonly policy?: RunPolicy;
      /** Cancels the run when aborted. */
      readonly signal?: AbortSignal;
    },
  ): Run<E, Offset>;
  /** Follow a run that someone else started, after an offset or from its start. A run already under way here is returned as it is. */
  follow(runId: string, options?: { readonly after?: Offset }): Run<E, Offset>;
  /** A run that was started or followed here, also for a while after its end. */
  get(runId: string): Run<E, Offset> | undefined;
  /** The runs under way: the same array until one changes. */
  getSnapshot(): readonly RunSnapshot<Offset>[];
  /** Get notified when a run changes. Compatible with `useSyncExternalStore`. */
  subscribe(listener: () => void): () => void;
  /** Stop following and release the connection. The runs go on at the server. */
  dispose(): void;
}

/** Options of {@link createRuns}. All durations are in ms. */
export interface RunsOptions<Input, E, In, Out, Offset extends number | string = number> {
  /** The message that starts a run. @default `{ type: 'run', runId, input }` */
  readonly run?: ((input: Input, runId: string) => Out) | undefined;
  /** The message that asks for a run's events after `after`; `undefined` sends nothing. @default `{ type: 'resume', runId, after }` */
  readonly resume?: ((runId: string, after: Offset | undefined) => Out | undefined) | undefined;
  /** The message that stops a run; `undefined` sends nothing. @default `{ type: 'cancel', runId }` */
  readonly cancel?: ((runId: string) => Out | undefined) | undefined;
  /** Recognise a run's events in a server message. @default messages shaped `{ runId, offset, event }` */
  readonly event?:
    | ((
        message: In,
        context: RunEventContext<Offset>,
      ) => RunEvent<E, Offset> | readonly RunEvent<E, Offset>[] | null | undefined)
    | undefined;
  /** Recognise a server's own control messages. @default those of protocol v1, once the server has said `hello` */
  readonly control?: ((message: In) => RunControl | null | undefined) | undefined;
  /** What an event says about its run; `startedId` is the id in the run's last `started` event. @default AG-UI's RUN_STARTED, RUN_FINISHED and RUN_ERROR */
  readonly status?:
    | ((event: E, runId: string, startedId: string | undefined) => RunEventStatus | undefined)
    | undefined;
  /**
   * Turns the events of a server into those that listeners get, where one depends on another.
   *
   * Called when a run's log is read from its start, again after a restart, or from where `follow()`
   * begins; what it returns gets each event of that log once, in order, behind all duplicates and
   * gaps. Several events in place of one stand at one offset. What throws costs the event, told as
   * `bad-message`. @default events are given out as they are
   */
  readonly translate?: ((runId: string) => (event: E) => readonly E[]) | undefined;
  /** What happens to a run when its connection drops. @default 'keep' */
  readonly policy?: RunPolicy | undefined;
  /** Names where runs are remembered. @default 'runs' */
  readonly name?: string | undefined;
  /** Where runs are remembered across reloads, or `null` for nowhere. @default null */
  readonly storage?: RunStorage | null | undefined;
  /** Ask for one event more than needed on each resume, and rebuild the run when it is not the one that was applied: notices a server that lost its log and ran again. @default false */
  readonly overlap?: boolean | undefined;
  /** Declares that the server starts a run once however often it is asked, so that a start that was never confirmed is sent again. @default false */
  readonly restart?: boolean | undefined;
  /** How long, on open connections after the one that sent it, a start may stay without an event. @default 60000 */
  readonly startTimeout?: number | undefined;
  /** How long, on open connections, a remembered or cancelled run may stay without an event. @default 60000 */
  readonly orphanTimeout?: number | undefined;
  /** Silence after which the connection of a streaming run is replaced, where nothing else watches it; doubles up to 5 min while the run stays quiet. @default 30000 */
  readonly idleTimeout?: number | undefined;
  /** Silence of one run, on open connections, after which it counts as lost. @default never */
  readonly silenceTimeout?: number | undefined;
}
