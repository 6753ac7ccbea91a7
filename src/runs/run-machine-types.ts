import type { RunSocketError } from '../internal/errors.ts';
import type { RunPosition } from './feed.ts';
import type { RunControl } from './protocol.ts';
import type { RunEventStatus, RunPolicy, RunSnapshot } from './types.ts';

/**
 * The waits of a run. `patience`: for a first sign of a start, of a remembered or of a cancelled run;
 * `silence`: for any event; both count time on open connections. `hole`: for missing events.
 * `after`: for a run that goes on behind a terminal event. `stop`: for a run to stop when it is told to.
 */
export type RunTimer = 'patience' | 'silence' | 'hole' | 'after' | 'stop';

/** The times and promises that a run depends on. */
export interface RunRules<E> {
  readonly restart: boolean;
  readonly overlap: boolean;
  readonly startTimeout: number;
  readonly orphanTimeout: number;
  readonly silenceTimeout: number | undefined;
  /** The server says itself when a log ends, so that its events need not tell. */
  readonly ends: boolean;
  readonly status: (
    event: E,
    runId: string,
    startedId: string | undefined,
  ) => RunEventStatus | undefined;
  /** Makes what turns the events of a log, read from its start, into those that are given out. */
  readonly translate: ((runId: string) => (event: E) => readonly E[]) | undefined;
}

/** What a run asks of the world. */
export interface RunWorld<E, Offset> {
  send(message: 'run' | 'cancel'): void;
  resume(after: Offset | undefined): void;
  /** Replaces the socket: what it still brings belongs to another execution. */
  swap(): void;
  /** `next`: the first offset that the server had not written when the run was last resumed. */
  event(event: E, offset: Offset | undefined, next: number | undefined): void;
  /** The run is read from its start again. */
  restart(): void;
  /** Events are missing for good. */
  hole(error: RunSocketError): void;
  /** The policy has stopped the run. */
  aborted(): void;
  /** Starts or (no `ms`) calls off a wait; `keep` leaves one that is under way alone. */
  wait(name: RunTimer, ms?: number, keep?: boolean): void;
  /** Writes down what has become known of the run. */
  note(change: { acked?: true; cancel?: true; epoch?: string }): void;
  /** The run is over and need not be remembered. */
  forget(): void;
}

/** What a run is made of. */
export interface RunStart<E, Offset> {
  readonly id: string;
  readonly policy: RunPolicy;
  /** Its `run` message can be made here. */
  readonly startable: boolean;
  /** Its `run` message has left, maybe from another page. */
  readonly sent?: boolean;
  /** The server has confirmed it. */
  readonly confirmed?: boolean;
  readonly cancelling?: boolean;
  readonly epoch?: string | undefined;
  readonly position?: RunPosition<E, Offset> | undefined;
}

/** One run's state machine: each function is something that happens to the run. */
export interface RunMachine<E, Offset> {
  readonly phase: 'unsent' | 'sent' | 'over';
  /** Events are expected. */
  readonly live: boolean;
  readonly cancelling: boolean;
  /** The run's own events told its end. */
  readonly ended: boolean;
  /** The offset given out last. */
  readonly cursor: Offset | undefined;
  readonly position: RunPosition<E, Offset>;
  snapshot(): RunSnapshot<Offset & (number | string)>;
  /** A socket is open; `idle`: in place of one that this side gave up. */
  open(idle: boolean): void;
  /** Its `run` message was handed to the socket. */
  sent(): void;
  receive(offset: Offset | undefined, events: readonly E[]): void;
  control(control: RunControl): void;
  /** The socket is gone; `final`: and none will follow by itself; `swapped`: this side replaces it. */
  close(final: boolean, error: RunSocketError, swapped: boolean): void;
  cancel(): void;
  /** Reads the log from its start again, on another connection than one that may bring the rest of it. */
  rewind(): void;
  fail(error: RunSocketError): void;
  timer(name: RunTimer): void;
}
