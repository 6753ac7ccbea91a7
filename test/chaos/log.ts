import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import { RunSocketError } from '../../src/internal/errors.ts';
import { createMemoryRunLog } from '../../src/server/memory-run-log.ts';
import type { RunLog } from '../../src/server/run-log.ts';
import type { Host } from './timeline.ts';
import type { Execution, Truth } from './truth.ts';

/** What outlives a server process: the logs, and who may write them. */
export interface Store {
  /** The logs as one process sees them; `isAlive` tells whether it still is one. */
  view(isAlive: () => boolean): RunLog;
  /** The log is gone, and its id remembered. */
  evict(runId: string): void;
  /** Events before `from` are gone. */
  truncate(runId: string, from: number): void;
}

/** Make a store whose own machine never stops. */
export function createStore(host: Host, truth: Truth): Store {
  const inner = createMemoryRunLog({}, host.environment);
  const { now } = host.environment;
  const executions = new Map<string, Execution>();
  const leases = new Map<string, { readonly epoch: string; until: number }>();
  const evicted = new Set<string>();
  const firsts = new Map<string, number>();
  const readers = new Map<string, Set<AbortController>>();

  const lost = (runId: string) =>
    new RunSocketError('run-lost', `The log of run ${runId} is gone.`);

  async function append(runId: string, epoch: string, events: readonly unknown[]) {
    if (evicted.has(runId)) throw lost(runId);
    const next = await inner.append(runId, epoch, events);
    for (const event of events) executions.get(runId)?.add(event as AgUiEvent);
    return next;
  }

  async function end(
    runId: string,
    epoch: string,
    status: Exclude<Execution['status'], 'running'>,
  ) {
    await inner.end(runId, epoch, status);
    const execution = executions.get(runId);
    if (execution?.status === 'running') execution.status = status;
    if (execution) execution.isAlive = false;
    leases.delete(runId);
  }

  return {
    view: (isAlive) => ({
      async create(runId, meta) {
        if (evicted.has(runId)) throw new RunSocketError('run-unknown', 'gone');
        const made = await inner.create(runId, meta);
        if (made.created) executions.set(runId, truth.begin(runId));
        return made;
      },
      async append(runId, epoch, events) {
        if (!isAlive()) throw lost(runId);
        return append(runId, epoch, events);
      },
      async *read(runId, after, signal, epoch) {
        if (evicted.has(runId)) throw lost(runId);
        const controller = new AbortController();
        const stop = () => controller.abort();
        signal.addEventListener('abort', stop);
        const own = readers.get(runId) ?? new Set();
        readers.set(runId, own.add(controller));
        const from = Math.max((after ?? -1) + 1, firsts.get(runId) ?? 0);
        try {
          yield* inner.read(runId, from ? from - 1 : undefined, controller.signal, epoch);
        } finally {
          own.delete(controller);
          signal.removeEventListener('abort', stop);
        }
        if (evicted.has(runId)) throw lost(runId);
      },
      async end(runId, epoch, status) {
        if (isAlive()) await end(runId, epoch, status);
      },
      async head(runId) {
        if (evicted.has(runId)) return { unknown: 'evicted' };
        const head = await inner.head(runId);
        return 'unknown' in head ? head : { ...head, from: firsts.get(runId) ?? 0 };
      },
      async lease(runId, epoch, ttl) {
        if (evicted.has(runId) || !(await inner.lease(runId, epoch, ttl))) return false;
        leases.set(runId, { epoch, until: now() + ttl });
        return true;
      },
      async sweep() {
        const swept: string[] = [];
        if (!isAlive()) return swept;
        for (const [runId, { epoch, until }] of leases) {
          if (until > now()) continue;
          leases.delete(runId);
          if (evicted.has(runId)) continue;
          await append(runId, epoch, [
            { type: 'RUN_ERROR', message: 'The agent died.', code: 'run-lost' },
          ]);
          await end(runId, epoch, 'lost');
          swept.push(runId);
        }
        return swept;
      },
      control: (runId, message) => (isAlive() ? inner.control(runId, message) : Promise.resolve()),
      onControl: (listener) =>
        inner.onControl((runId, message) => isAlive() && listener(runId, message)),
    }),
    evict(runId) {
      evicted.add(runId);
      leases.delete(runId);
      const execution = executions.get(runId);
      if (execution) execution.isAlive = false;
      for (const reader of readers.get(runId) ?? []) reader.abort();
    },
    truncate(runId, from) {
      firsts.set(runId, from);
    },
  };
}
