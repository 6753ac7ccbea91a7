import type { Environment } from '../internal/environment.ts';
import { isRunSocketError, RunSocketError } from '../internal/errors.ts';
import { isRecord } from '../internal/json-values.ts';
import { agUiEventStatus } from '../runs/protocol.ts';
import { createLogWriter } from './log-writer.ts';
import { createOpenItems, type WireEvent } from './open-items.ts';
import type { RunEndStatus, RunLog } from './run-log.ts';
import type { RunServerOptions } from './types.ts';

/** What all producers of a server share. */
export interface ProducerContext {
  readonly environment: Environment;
  readonly log: RunLog;
  readonly maxEvents: number;
  readonly cancelGrace: number;
  readonly describeError: NonNullable<RunServerOptions['describeError']>;
  report(error: unknown, runId: string): void;
}

/** A run's agent at work: its events go into the log, whoever follows. */
export interface Producer {
  readonly epoch: string;
  /** Resolves when the log has ended, or is another's. */
  readonly done: Promise<void>;
  /** Tells the agent to stop, and ends the run without it where it does not. */
  cancel(): void;
  /** Ends the run because this process goes. */
  abandon(): void;
  /** The run is not this process's any more: nothing more is written. */
  drop(): void;
}

/** What one execution is. */
export interface Execution {
  readonly runId: string;
  readonly epoch: string;
  readonly threadId: string;
  /** Cancelled before it began: the agent is not asked at all. */
  readonly cancelled: boolean;
  run(signal: AbortSignal): AsyncIterable<unknown>;
}

/** How long a run may be silent before it is told to have started, in ms. */
const startWait = 1_000;

/** Put an agent to work. */
export function createProducer(context: ProducerContext, execution: Execution): Producer {
  const { environment, log, maxEvents, cancelGrace, describeError } = context;
  const { runId, epoch, threadId } = execution;
  const report = (error: unknown) => context.report(error, runId);
  const writer = createLogWriter(environment, log, runId, epoch, report, (error) => {
    if (!isOver) void failToWrite(error);
  });
  const open = createOpenItems();
  const abort = new AbortController();
  let iterator: AsyncIterator<unknown> | undefined;
  let count = 0;
  let isStarted = false;
  /** The agent has said something. */
  let isHeard = false;
  /** What the last terminal event said, where nothing began behind it. */
  let terminal: RunEndStatus | undefined;
  let isCancelled = execution.cancelled;
  let isOver = false;
  let settle = () => {};
  const done = new Promise<void>((resolve) => {
    settle = resolve;
  });
  let stopTimer = environment.setTimer(() => {
    if (!isOver && !isStarted) start();
  }, startWait);

  function write(event: WireEvent): Promise<void> | undefined {
    const json = JSON.stringify(event);
    // What `toJSON` makes of it counts.
    if (json?.[0] !== '{') throw new TypeError('The agent yielded something that is no event.');
    count++;
    open.see(event);
    return writer.push(event, json);
  }

  function start() {
    isStarted = true;
    write({ type: 'RUN_STARTED', threadId, runId });
  }

  function take(event: unknown): Promise<void> | undefined {
    if (!isRecord(event)) throw new TypeError('The agent yielded something that is no event.');
    const { type } = event;
    // The agent may have been silent for so long that its start was told without it.
    const isRepeated = isStarted && !isHeard && (event.runId ?? runId) === runId;
    isHeard = true;
    if (type === 'RUN_STARTED') {
      isStarted = true;
      terminal = undefined;
      return isRepeated ? undefined : write({ threadId, runId, ...event });
    }
    if (!isStarted) start();
    if (count >= maxEvents) throw new RunSocketError('too-large', 'The run has too many events.');
    if (type !== 'RUN_FINISHED') {
      if (type === 'RUN_ERROR') terminal = 'error';
      return write(event);
    }
    for (const end of open.close()) write(end);
    const whole = { threadId, runId, ...event };
    const status = agUiEventStatus(whole, String(whole.runId), undefined);
    terminal = status === 'cancelled' ? 'cancelled' : 'finished';
    return write(whole);
  }

  // The agent is not heard any more from here on.
  function leave(): boolean {
    if (isOver) return false;
    isOver = true;
    stopTimer();
    abort.abort();
    try {
      // It may hang, and nobody waits for it.
      Promise.resolve(iterator?.return?.()).catch(() => {});
    } catch (error) {
      report(error);
    }
    return true;
  }

  async function close(status: RunEndStatus, last: WireEvent | undefined, closes: boolean) {
    if (!leave()) return;
    try {
      await writer.end(await writeEnd(status, last, closes));
    } catch (error) {
      if (!isRunSocketError(error, 'run-lost')) report(error);
      else if (error.cause) report(error);
    }
    settle();
  }

  async function writeEnd(status: RunEndStatus, last: WireEvent | undefined, closes: boolean) {
    if (!isStarted) start();
    const ends = closes ? open.close() : [];
    for (const event of last ? [...ends, last] : ends) write(event);
    try {
      await writer.flush();
      return status;
    } catch (error) {
      if (!isRunSocketError(error, 'too-large')) throw error;
      // No room: what closes the run is short, and a log lets it in.
      writer.clear();
      write(last?.type === 'RUN_ERROR' ? last : describe(error));
      await writer.flush();
      return status === 'lost' ? status : 'error';
    }
  }

  function describe(error: unknown): WireEvent {
    const { message, code } = isRunSocketError(error) ? error : describeError(error);
    return { type: 'RUN_ERROR', message, ...(code !== undefined && { code }) };
  }

  function finish(): Promise<void> {
    if (isCancelled) {
      const outcome = { type: 'cancelled' };
      const last = terminal ? undefined : { type: 'RUN_FINISHED', threadId, runId, outcome };
      return close(terminal === 'finished' ? terminal : 'cancelled', last, true);
    }
    const last = terminal ? undefined : { type: 'RUN_FINISHED', threadId, runId };
    return close(terminal ?? 'finished', last, true);
  }

  // The agent threw, or yielded what cannot be told.
  function fail(error: unknown): Promise<void> {
    // One that is told to stop usually throws.
    if (isCancelled) return finish();
    report(error);
    let last: WireEvent;
    try {
      last = describe(error);
      JSON.stringify(last);
    } catch (failure) {
      report(failure);
      last = { type: 'RUN_ERROR', message: 'The agent failed.' };
    }
    return close('error', terminal === 'error' ? undefined : last, false);
  }

  // The log took no more.
  function failToWrite(error: unknown): Promise<void> | void {
    if (!isRunSocketError(error, 'run-lost')) return fail(error);
    if (error.cause) report(error);
    drop();
  }

  function drop() {
    if (leave()) settle();
  }

  async function work() {
    try {
      if (isCancelled) return await finish();
      const source = execution.run(abort.signal);
      iterator = source?.[Symbol.asyncIterator]?.();
      if (!iterator) throw new TypeError('The agent gave no async iterable.');
      for (;;) {
        const { done: isDone, value } = await iterator.next();
        if (isOver) return;
        if (isDone) break;
        const room = take(value);
        if (room) await room;
        if (isOver) return;
      }
    } catch (error) {
      if (!isOver) await fail(error);
      return;
    }
    await finish();
  }

  // The caller knows the run before its agent is asked for anything.
  void Promise.resolve().then(work);

  return {
    epoch,
    done,
    cancel() {
      if (isOver || isCancelled) return;
      isCancelled = true;
      stopTimer();
      stopTimer = environment.setTimer(finish, cancelGrace);
      abort.abort();
    },
    abandon() {
      const message = 'The server went away before the run was over.';
      void close('lost', { type: 'RUN_ERROR', message, code: 'run-lost' }, false);
    },
    drop,
  };
}
