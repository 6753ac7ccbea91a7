import type { Environment } from '../internal/environment.ts';
import { messageOf } from './abortable.ts';
import { createAgentChatEvents } from './agent-chat-events.ts';
import type { AgentChatOptions, AgentCheckpoint, AgentConnectionState } from './chat-types.ts';
import type { AgentError, AgentEvent } from './event-types.ts';
import { type AgentRunEnd, getRunEnd } from './open-entities.ts';
import type { AnyAgentProvider } from './provider-types.ts';
import { driveAgentProvider } from './run-driver.ts';
import type { AgentRunDriver, DriveOptions } from './run-driver-types.ts';
import type { AgentStore } from './store.ts';

type Drive = DriveOptions<unknown, unknown, unknown, unknown>;
type Resume = NonNullable<Drive['resume']>;

/** A run that is under way. */
interface LiveRun {
  readonly id: string;
  readonly input: unknown;
  readonly controller: AbortController;
  /** Aborted when the run is over. */
  readonly over: AbortController;
  /** Absent while nobody reads the run. */
  driver?: AgentRunDriver<unknown> | undefined;
  /** The newest reading: one that was left may still end what is aborted right behind it. */
  reading?: object | undefined;
  /** What a run that nobody reads is taken up with. */
  context?: Resume['context'] | undefined;
  cursor: unknown;
  connection: 'connecting' | 'connected' | 'reconnecting';
}

/** The runs of a conversation that are under way. */
export interface AgentChatRuns {
  readonly size: number;
  readonly connection: AgentConnectionState;
  start(input: unknown): void;
  /** Goes on with the runs that the restored state has under way, as far as that is possible. */
  restore(checkpoint: AgentCheckpoint): void;
  /** Reads every run again that nobody reads. */
  attach(): void;
  /** Stops reading; what cannot be taken up again is aborted, and with `all` everything is. */
  detach(all: boolean): void;
  abort(): void;
  /** Takes an event that a command brought. */
  accept(event: AgentEvent): void;
  /** What a run was asked, also one that is over. */
  inputOf(runId: string): unknown;
  /** Aborted when the run is over; absent where it is. */
  signalOf(runId: string): AbortSignal | undefined;
  /** What the next page needs to go on. */
  save(): Pick<AgentCheckpoint, 'inputByRun' | 'cursorByRun' | 'contextByRun'>;
}

/** What the runs of a conversation work with. */
export interface AgentChatRunsOptions {
  readonly provider: AnyAgentProvider & AgentChatOptions;
  readonly sessionId: string;
  readonly store: AgentStore;
  readonly env: Environment;
  /** The store has taken an event. */
  readonly onEvent: (event: AgentEvent) => void;
  /** All events of a chunk are in the store. */
  readonly onCursor: () => void;
  readonly onConnection: () => void;
  /** Writes everything down before something is sent. */
  readonly remember: () => Promise<unknown> | undefined;
  readonly onEnd: (runId: string) => void;
}

/** What a record has under a key; a key such as `constructor` is a key like any other. */
const own = <Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

const lost = (message: string): AgentError => ({ code: 'run-lost', message });

function toAgentError(error: unknown): AgentError {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return {
    ...(typeof code === 'string' && { code }),
    message: messageOf(error, 'The run failed.'),
  };
}

/** Make the runs of a conversation: each comes to exactly one end, whatever becomes of it. */
export function createAgentChatRuns(options: AgentChatRunsOptions): AgentChatRuns {
  const { provider, sessionId, store, env } = options;
  const { onEvent, onCursor, onConnection, remember, onEnd } = options;
  const { transport, capabilities } = provider;
  const resumable = !!(capabilities.resumable && transport.resume && transport.getCursor);
  const runs = new Map<string, LiveRun>();
  const inputs = new Map<string, unknown>();
  let last: AgentConnectionState = 'idle';

  const events = createAgentChatEvents(store, sessionId, env, onEvent);

  function take(run: LiveRun, event: AgentEvent) {
    const end = events.take(event);
    if (end) {
      finish(run, end.type === 'failed' && run.connection !== 'connected' ? 'failed' : 'idle');
    }
  }

  function finish(run: LiveRun, connection: AgentConnectionState) {
    runs.delete(run.id);
    last = connection;
    run.over.abort();
    onEnd(run.id);
  }

  /** Ends a run that nobody else has ended. */
  function close(run: LiveRun, end: AgentRunEnd, connection: AgentConnectionState) {
    if (runs.get(run.id) !== run) return;
    events.close(run.id, run.input, end);
    finish(run, connection);
  }

  function closeFailed(run: LiveRun, error: AgentError, connection: AgentConnectionState) {
    const { aborted } = run.controller.signal;
    close(
      run,
      aborted ? { type: 'cancelled' } : { type: 'failed', error },
      aborted ? 'idle' : connection,
    );
  }

  function drive(run: LiveRun) {
    const { context } = run;
    const reading = {};
    run.reading = reading;
    try {
      const driver = driveAgentProvider(
        {
          provider,
          input: run.input,
          run: {
            sessionId,
            runId: run.id,
            signal: run.controller.signal,
            now: env.now,
            ...(context && { initialSequence: events.lastSequence(run.id) }),
          },
          reconnect: provider.reconnect ?? {},
          resume: context && {
            cursor: run.cursor,
            context,
            open: events.openers(run.id),
          },
          onEvent(event) {
            if (run.reading === reading) take(run, event);
          },
          remember(live) {
            // Asked for before the driver was returned, too.
            if (!run.driver) run.context = { live };
            return remember();
          },
          onCursor(cursor) {
            run.cursor = cursor;
            onCursor();
          },
          onConnection(state) {
            run.connection = state;
            onConnection();
          },
        },
        env,
      );
      run.driver = driver;
      run.context = undefined;
      driver.done.then(
        (outcome) => {
          if (run.driver !== driver) return;
          const unrecoverable = outcome === 'unrecoverable';
          closeFailed(
            run,
            lost(
              unrecoverable
                ? 'The run could not be taken up again.'
                : 'The run ended without an end.',
            ),
            unrecoverable ? outcome : 'failed',
          );
        },
        (error) => {
          if (run.driver === driver) closeFailed(run, toAgentError(error), 'failed');
        },
      );
    } catch (error) {
      closeFailed(run, toAgentError(error), 'failed');
    }
  }

  function add(id: string, input: unknown, connection: LiveRun['connection']): LiveRun {
    const run: LiveRun = {
      id,
      input,
      controller: new AbortController(),
      over: new AbortController(),
      cursor: undefined,
      connection,
    };
    runs.set(id, run);
    inputs.set(id, input);
    return run;
  }

  const attach = () => {
    for (const run of [...runs.values()]) {
      if (!run.driver) {
        run.connection = 'reconnecting';
        drive(run);
      }
    }
  };

  const abort = () => {
    // A run that nobody reads is taken up to be cancelled where it runs.
    attach();
    for (const run of [...runs.values()]) run.controller.abort();
  };

  return {
    get size() {
      return runs.size;
    },
    get connection() {
      return [...runs.values()].at(-1)?.connection ?? last;
    },
    start(input) {
      abort();
      drive(add(env.randomId(), input, 'connecting'));
    },
    restore({ state, inputByRun, cursorByRun, contextByRun }) {
      for (const [id, { status, input }] of Object.entries(state.runs)) {
        if (status !== 'running') continue;
        const run = add(id, Object.hasOwn(inputByRun, id) ? inputByRun[id] : input, 'reconnecting');
        if (resumable && [cursorByRun, contextByRun].some((known) => Object.hasOwn(known, id))) {
          run.cursor = own(cursorByRun, id);
          run.context = { saved: own(contextByRun, id) };
        } else {
          closeFailed(
            run,
            lost('The page was left, and the run cannot be taken up again.'),
            'unrecoverable',
          );
        }
      }
      // Each run but the newest was being aborted for the one behind it when the page went.
      for (const run of [...runs.values()].slice(0, -1)) run.controller.abort();
    },
    attach,
    detach(all) {
      if (all) return abort();
      for (const run of [...runs.values()]) {
        if (!resumable) run.controller.abort();
        else if (run.driver) {
          const { driver } = run;
          run.context = { live: driver.context };
          run.driver = undefined;
          driver.detach();
        }
      }
    },
    abort,
    accept(event) {
      const run = runs.get(event.runId);
      if (!run) return;
      const end = getRunEnd(event);
      // Where nobody reads the run, nobody else closes what it leaves open.
      if (end && !run.driver) close(run, end, 'idle');
      else take(run, event);
    },
    inputOf: (runId) => inputs.get(runId) ?? events.find(runId)?.input,
    signalOf: (runId) => runs.get(runId)?.over.signal,
    save() {
      const asked: [string, unknown][] = [];
      const cursors: [string, unknown][] = [];
      const contexts: [string, unknown][] = [];
      for (const { id, input, cursor, driver, context } of runs.values()) {
        if (input !== undefined) asked.push([id, input]);
        if (!resumable) continue;
        if (cursor !== undefined) cursors.push([id, cursor]);
        const live = driver?.context ?? (context && 'live' in context ? context.live : undefined);
        const saved = context && 'saved' in context ? context.saved : undefined;
        const value = live === undefined ? saved : provider.saveContext?.(live);
        if (value !== undefined) contexts.push([id, value]);
      }
      return {
        inputByRun: Object.fromEntries(asked),
        cursorByRun: Object.fromEntries(cursors),
        contextByRun: Object.fromEntries(contexts),
      };
    },
  };
}
