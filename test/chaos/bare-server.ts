import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import type { ServerEnd } from './link.ts';
import type { Host } from './timeline.ts';
import type { Execution, Truth } from './truth.ts';

/** A run as the bare server keeps it. */
interface BareRun {
  readonly execution: Execution;
  /** The first offset that each reader has not got; one for each connection. */
  readonly readers: Map<object, number>;
  /** Nothing before it is left. */
  from: number;
  readonly abort: AbortController;
}

/** What outlives a process of the bare server. */
export interface BareStore {
  readonly runs: Map<string, BareRun>;
  readonly cancelled: Set<string>;
  /** Their logs are gone, and they do not start again. */
  readonly evicted: Set<string>;
}

/**
 * A server that knows the four messages of the AG-UI over WebSockets reference page and nothing else.
 * It says nothing about runs that it does not know, and closes on any other message.
 */
export interface BareServer {
  connect(send: (data: string) => void, close: (code: number, reason: string) => void): ServerEnd;
  start(runId: string): void;
}

/**
 * Make a bare server; `foreign` is told of messages that no plain server should get. One that is not
 * idempotent executes a run as often as it is asked to.
 */
export function createBareServer(
  host: Host,
  store: BareStore,
  truth: Truth,
  run: (
    host: Host,
    runId: string,
    execution: Execution,
    signal: AbortSignal,
  ) => AsyncIterable<AgUiEvent>,
  options: { readonly isIdempotent: boolean; foreign(data: string): void },
): BareServer {
  const senders = new Map<object, (data: string) => void>();

  function feed(runId: string, { execution, readers, from }: BareRun) {
    for (const [reader, next] of readers) {
      const { events } = execution;
      for (let offset = Math.max(next, from); offset < events.length; offset++) {
        senders.get(reader)?.(JSON.stringify({ runId, offset, event: events[offset] }));
      }
      readers.set(reader, events.length);
    }
  }

  async function work(runId: string, bare: BareRun) {
    const { execution, abort } = bare;
    const add = (event: AgUiEvent) => {
      if (execution.status !== 'running') return;
      execution.add(event);
      feed(runId, bare);
    };
    const finish = (status: Execution['status'], outcome: object) => {
      add({ type: 'RUN_FINISHED', threadId: 't', runId, ...outcome });
      execution.status = status;
      execution.isAlive = false;
    };
    abort.signal.addEventListener('abort', () => {
      if (host.isAlive) finish('cancelled', { outcome: { type: 'cancelled' } });
    });
    for await (const event of run(host, runId, execution, abort.signal)) {
      if (execution.status !== 'running' || store.runs.get(runId) !== bare) return;
      add(event);
    }
    if (host.isAlive && execution.status === 'running') finish('finished', {});
  }

  function start(runId: string) {
    const bare: BareRun = {
      execution: truth.begin(runId),
      readers: new Map(),
      from: 0,
      abort: new AbortController(),
    };
    store.runs.set(runId, bare);
    void work(runId, bare);
    if (store.cancelled.has(runId)) bare.abort.abort();
    return bare;
  }

  return {
    start,
    connect(send, close) {
      const reader = {};
      senders.set(reader, send);
      const follow = (runId: string, bare: BareRun, after: number | undefined) => {
        bare.readers.set(reader, (after ?? -1) + 1);
        feed(runId, bare);
      };
      return {
        receive(data) {
          const { type, runId, after } = JSON.parse(data) as {
            readonly type: string;
            readonly runId: string;
            readonly after?: number;
          };
          const known = store.runs.get(runId);
          if (store.evicted.has(runId)) return;
          if (type === 'run') {
            const isNew = !known || !options.isIdempotent;
            follow(runId, isNew ? start(runId) : known, undefined);
          } else if (type === 'resume') known && follow(runId, known, after);
          else if (type === 'cancel') {
            if (known) known.abort.abort();
            else store.cancelled.add(runId);
          } else {
            options.foreign(data);
            close(1003, 'what is this');
          }
        },
        closed() {
          senders.delete(reader);
          for (const { readers } of store.runs.values()) readers.delete(reader);
        },
      };
    },
  };
}
