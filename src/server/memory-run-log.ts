import { type Environment, serverEnvironment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createListeners } from '../internal/observable.ts';
import { createExpiry } from './expiry.ts';
import { batchLimit, batchSize } from './frames.ts';
import { defaultLimits } from './limits.ts';
import type {
  LoggedEvent,
  RunEndStatus,
  RunLog,
  RunLogControl,
  RunLogHead,
  RunMeta,
} from './run-log.ts';

/** Options of {@link memoryRunLog}. All durations are in ms. */
export interface MemoryRunLogOptions {
  /** How long a finished run is kept. @default 30 minutes */
  readonly retention?: number;
  /** How much longer its id is remembered, so that it is never run again. @default 24 hours */
  readonly tombstones?: number;
  /** How many bytes of events are kept. Past it the oldest finished runs go; with none left, the run that writes fails with `too-large`. @default 256 MiB */
  readonly maxBytes?: number;
}

/** How a {@link memoryRunLog} stands. */
export interface MemoryRunLog extends RunLog {
  /** How many logs and tombstones there are, and about how many bytes the events take. */
  getSnapshot(): { readonly runs: number; readonly tombstones: number; readonly bytes: number };
}

interface Entry {
  readonly epoch: string;
  readonly meta: RunMeta;
  /** The index is the offset. */
  events: LoggedEvent[];
  bytes: number;
  status: 'running' | RunEndStatus;
  /** There was no room for an append; what closes the run may still be written. */
  isFull: boolean;
  isGone: boolean;
  /** Resolves when the log is another than it was. */
  changed: Promise<void> | undefined;
  wake: () => void;
  /** What readers at the end were given last: they all stand at the same place. */
  slice: readonly LoggedEvent[];
}

/** A cancel for a run that is not known yet is kept this long, in ms. */
const cancelTime = 120_000;
/** How many ids of runs that are gone, or cancelled too early, are kept at most. */
const idLimit = 100_000;
/** What an event costs besides its text, in bytes. */
const overhead = 64;
/** How much may be written to close a run for which there is no room, in bytes. */
const closingRoom = 65_536;

/** As {@link memoryRunLog}, with time and chance in the caller's hand. */
export function createMemoryRunLog(
  options: MemoryRunLogOptions = {},
  environment: Environment = serverEnvironment,
): MemoryRunLog {
  const {
    retention = defaultLimits.retention,
    tombstones: tombstoneTime = defaultLimits.tombstones,
    maxBytes = defaultLimits.maxBytes,
  } = options;
  const runs = new Map<string, Entry>();
  const controls = createListeners<readonly [string, RunLogControl]>(environment.report);
  let bytes = 0;

  const tombstones = createExpiry(environment, tombstoneTime, idLimit, () => {});
  const cancelled = createExpiry(environment, cancelTime, idLimit, () => {});
  const finished = createExpiry(environment, retention, Infinity, evict);

  function evict(runId: string) {
    const entry = runs.get(runId);
    if (!entry) return;
    runs.delete(runId);
    bytes -= entry.bytes;
    entry.events = [];
    entry.isGone = true;
    change(entry);
    tombstones.add(runId);
  }

  function change(entry: Entry) {
    entry.changed = undefined;
    entry.wake();
  }

  function getOpen(runId: string, epoch: string): Entry {
    const entry = runs.get(runId);
    if (entry?.epoch !== epoch || entry.status !== 'running') throw lost(runId);
    return entry;
  }

  // Makes room by letting the oldest finished runs go.
  function makeRoom(entry: Entry, size: number) {
    while (bytes + size > maxBytes && finished.takeOldest()) {}
    if (bytes + size <= maxBytes) return;
    if (!entry.isFull || size > closingRoom) {
      entry.isFull = true;
      throw new RunSocketError('too-large', 'There is no room for more events.');
    }
  }

  return {
    async create(runId, meta) {
      const known = runs.get(runId);
      if (known) return { epoch: known.epoch, created: false };
      if (tombstones.has(runId)) throw new RunSocketError('run-unknown', `Run ${runId} is gone.`);
      const epoch = environment.randomId();
      runs.set(runId, {
        epoch,
        meta,
        events: [],
        bytes: 0,
        status: 'running',
        isFull: false,
        isGone: false,
        changed: undefined,
        wake() {},
        slice: [],
      });
      return { epoch, created: true, ...(cancelled.remove(runId) && { cancelled: true }) };
    },

    async append(runId, epoch, events, json = events.map((event) => JSON.stringify(event))) {
      const entry = getOpen(runId, epoch);
      let size = 0;
      for (const text of json) size += sizeOf(text);
      makeRoom(entry, size);
      for (const text of json) entry.events.push(toLogged(text, entry.events.length));
      entry.bytes += size;
      bytes += size;
      change(entry);
      return entry.events.length;
    },

    async *read(runId, after, signal, epoch) {
      const entry = runs.get(runId);
      if (!entry || (epoch !== undefined && entry.epoch !== epoch)) throw lost(runId);
      let next = (after ?? -1) + 1;
      const stop = () => change(entry);
      signal.addEventListener('abort', stop);
      try {
        while (!signal.aborted) {
          if (entry.isGone) throw lost(runId);
          if (next < entry.events.length) {
            const batch = slice(entry, next);
            next += batch.length;
            yield batch;
          } else if (entry.status !== 'running') return;
          else {
            entry.changed ??= new Promise((resolve) => {
              entry.wake = resolve;
            });
            await entry.changed;
          }
        }
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },

    async end(runId, epoch, status) {
      const entry = runs.get(runId);
      if (entry?.epoch !== epoch || entry.status !== 'running') return;
      entry.status = status;
      finished.add(runId);
      change(entry);
    },

    async head(runId): Promise<RunLogHead> {
      const entry = runs.get(runId);
      if (!entry) return { unknown: tombstones.has(runId) ? 'evicted' : 'never' };
      const { epoch, status, meta, events } = entry;
      return { epoch, from: 0, next: events.length, status, meta };
    },

    async lease(runId, epoch) {
      const entry = runs.get(runId);
      return entry?.epoch === epoch && entry.status === 'running';
    },

    async control(runId, message) {
      if (message.type === 'cancel' && !runs.has(runId) && !tombstones.has(runId)) {
        cancelled.add(runId);
      }
      controls.emit([runId, message]);
    },

    onControl: (listener) => controls.add(([runId, message]) => listener(runId, message)),

    getSnapshot: () => ({ runs: runs.size, tombstones: tombstones.size, bytes }),

    async dispose() {
      for (const expiry of [finished, tombstones, cancelled]) expiry.dispose();
    },
  };
}

/**
 * Make a log in the memory of this process: for one process, and gone with it.
 *
 * Finished runs are kept for a while, so that whoever lost the connection can read on.
 *
 * @example
 * createRunServer({ run: agent, log: memoryRunLog({ retention: 3_600_000 }) });
 */
export const memoryRunLog: (options?: MemoryRunLogOptions) => MemoryRunLog = (options) =>
  createMemoryRunLog(options);

function slice(entry: Entry, from: number): readonly LoggedEvent[] {
  const { events } = entry;
  const end = endOfBatch(events, from);
  const { slice: last } = entry;
  if (last[0]?.offset === from && last.length === end - from) return last;
  entry.slice = events.slice(from, end);
  return entry.slice;
}

function endOfBatch(events: readonly LoggedEvent[], from: number): number {
  // Readers that come at different places soon read the same batches.
  const limit = Math.min(events.length, from - (from % batchLimit) + batchLimit);
  let end = from;
  let size = 0;
  while (end < limit) {
    size += events[end]?.json?.length ?? 0;
    if (size > batchSize && end > from) break;
    end++;
  }
  return end;
}

// Only who reads a log without the server looks at the events themselves.
const logged = {
  json: '',
  get event(): unknown {
    return JSON.parse(this.json);
  },
};

function toLogged(json: string, offset: number): LoggedEvent {
  return Object.assign(Object.create(logged), { offset, json });
}

// A text with any character beyond Latin-1 takes two bytes for each.
function sizeOf(text: string): number {
  return overhead + (/[^\0-\xff]/.test(text) ? text.length * 2 : text.length);
}

function lost(runId: string): RunSocketError {
  return new RunSocketError('run-lost', `The log of run ${runId} has ended or is gone.`);
}
