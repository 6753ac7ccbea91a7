import type { Environment } from '../internal/environment.ts';
import { isRecord } from '../internal/json-values.ts';
import { isOffset } from '../runs/protocol.ts';
import type { Remembered, RunRecord } from '../runs/run-storage.ts';
import type { RunStorage } from '../runs/types.ts';
import { endRun } from './run-events.ts';
import type { AgUiThread } from './thread.ts';

/** Runs that an agent of this page has taken, by the storage they are remembered in. */
const claims = new WeakMap<object, Set<string>>();

/** The claims of one storage; a set of its own where nothing is remembered. */
export function getClaims(storage: RunStorage | null | undefined): Set<string> {
  let taken = storage && claims.get(storage);
  if (!taken) {
    taken = new Set();
    if (storage) claims.set(storage, taken);
  }
  return taken;
}

/** `sessionStorage`, unless the page may not have it. */
export function findSessionStorage({ page }: Environment): RunStorage | undefined {
  // Where there is no document it belongs to a process, with all that it serves.
  if (!page.document) return undefined;
  try {
    return (page.sessionStorage as RunStorage | undefined) ?? undefined;
  } catch {
    return undefined;
  }
}

/** 24 h, in ms. */
const purgeAfter = 86_400_000;

/** Whether a record is of another thread, and so old that nobody will come back for it. */
export function isForgotten(record: RunRecord, threadId: string | undefined, now: number): boolean {
  return record.threadId !== threadId && now - record.sentAt > purgeAfter;
}

/** The records that an agent may take, the newest first. */
export function findRecords(
  { runs }: Remembered,
  threadId: string | undefined,
  taken: ReadonlySet<string>,
): readonly RunRecord[] {
  return runs
    .filter((run) => !taken.has(run.runId) && (threadId ?? run.threadId) === run.threadId)
    .reverse()
    .sort((a, b) => b.sentAt - a.sentAt);
}

/** A stored thread, on top of one to start from; undefined where the value is no thread. */
export function readThread<S>(value: unknown, initial: AgUiThread<S>): AgUiThread<S> | undefined {
  if (!isRecord(value) || !Array.isArray(value.messages)) return undefined;
  const { open, ...thread } = value;
  for (const key of ['interrupts', 'usage', 'pendingToolCallIds', 'subagents']) {
    if (!Array.isArray(thread[key])) delete thread[key];
  }
  const opened =
    isRecord(open) &&
    Object.entries(open).filter(([, value]) => Array.isArray(value) || typeof value === 'string');
  return {
    ...initial,
    ...thread,
    messages: value.messages.filter(isRecord),
    ...(opened && { open: Object.fromEntries(opened) }),
  } as unknown as AgUiThread<S>;
}

/** What a record's run was applied to, as far as it is still known. */
export function readBase<S>(record: RunRecord, initial: AgUiThread<S>): AgUiThread<S> {
  return readThread(record.base, initial) ?? { ...initial, historyLost: true, status: 'running' };
}

/** The thread of a record's checkpoint; undefined where that has no place in the log, or no thread. */
export function readCheckpoint<S>(
  { checkpoint }: RunRecord,
  initial: AgUiThread<S>,
): AgUiThread<S> | undefined {
  return isOffset(checkpoint?.offset) ? readThread(checkpoint?.thread, initial) : undefined;
}

/** The thread as the page that is gone has shown it. */
export function restore<S>(record: RunRecord, initial: AgUiThread<S>): AgUiThread<S> {
  const shown = readCheckpoint(record, initial) ?? readBase(record, initial);
  return record.cancel ? endRun(shown, 'aborted') : shown;
}

const checkpointLimit = 256 * 1024;

/** Whether a checkpoint is JSON of at most 256 kB: `sessionStorage` holds about 5 MB in all. */
export function isWritable(checkpoint: unknown): boolean {
  try {
    return JSON.stringify(checkpoint).length <= checkpointLimit;
  } catch {
    return false;
  }
}
