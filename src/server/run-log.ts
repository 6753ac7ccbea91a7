/** How the log of a run ended; `lost`: its producer died. */
export type RunEndStatus = 'finished' | 'error' | 'cancelled' | 'lost';

/** What is known of a run besides its events, as plain JSON. */
export interface RunMeta {
  readonly threadId?: string;
  /** Who may follow and cancel the run; absent: whoever knows its id. */
  readonly principal?: string;
}

/** One event in a run's log. */
export interface LoggedEvent {
  /** 0, 1, 2 … without holes. */
  readonly offset: number;
  readonly event: unknown;
  /** The event as JSON, where the log has it: then `event` is never looked at, and may be a getter. */
  readonly json?: string;
}

/** Where a run's log stands. `never`: nothing is known of the id; `evicted`: its log was there once. */
export type RunLogHead =
  | {
      /** Names this execution's log. */
      readonly epoch: string;
      /** The first offset that is left. */
      readonly from: number;
      /** The first offset that is not written yet. */
      readonly next: number;
      readonly status: 'running' | RunEndStatus;
      readonly meta: RunMeta;
    }
  | { readonly unknown: 'never' | 'evicted' };

/**
 * What processes tell each other of a run. `cancel`: stop it. `followers`: has anybody of you a
 * follower of it? `followed`: the answer of each that has.
 */
export type RunLogControl = { readonly type: 'cancel' | 'followers' | 'followed' };

/**
 * Where the events of runs are kept, so that they outlive sockets, and with a shared one, processes.
 *
 * All of it is safe to call from several processes at once. Each function rejects with a
 * `RunSocketError` or what its store says; a rejected `append` has written nothing or all of it.
 */
export interface RunLog {
  /** Makes the log of a run, or finds it: one caller of all gets `created: true`, and produces. `cancelled`: the run was cancelled before it was known. Rejects with `run-unknown` where the log was there once and is gone. */
  create(
    runId: string,
    meta: RunMeta,
  ): Promise<{ readonly epoch: string; readonly created: boolean; readonly cancelled?: boolean }>;
  /** Writes events behind the last one and gives the next free offset. `json`: the same events as JSON, so that a log need not serialise them again. Rejects with `run-lost` where the log has ended or is another epoch's, with `too-large` where it has no room. */
  append(
    runId: string,
    epoch: string,
    events: readonly unknown[],
    json?: readonly string[],
  ): Promise<number>;
  /** The events behind `after`, or from the first that is left: first what is written, in batches, then each as it is. Ends behind the last event of a log that has ended, and when `signal` aborts. Throws `run-lost` where the log is gone, or is another than that of `epoch`. */
  read(
    runId: string,
    after: number | undefined,
    signal: AbortSignal,
    epoch?: string,
  ): AsyncIterable<readonly LoggedEvent[]>;
  /** Ends the log; a log that has ended stays as it is. */
  end(runId: string, epoch: string, status: RunEndStatus): Promise<void>;
  head(runId: string): Promise<RunLogHead>;
  /** Keeps the run its producer's for `ttl` ms more; `false`: it is not any longer. */
  lease(runId: string, epoch: string, ttl: number): Promise<boolean>;
  /** Ends the runs whose lease has run out, `RUN_ERROR` and `lost`, and gives their ids. A log that dies with its process has none. */
  sweep?(): Promise<readonly string[]>;
  /** Tells every process of a run, this one too; a cancel is kept for at least 60 s where the run is not known yet. */
  control(runId: string, message: RunLogControl): Promise<void>;
  /** Listens to what `control` tells, in any process; returns what stops it. */
  onControl(listener: (runId: string, message: RunLogControl) => void): () => void;
  /** Lets go of timers and connections of its own. */
  dispose?(): Promise<void>;
}
