import type { Environment } from '../internal/environment.ts';
import { isRecord } from '../internal/json-values.ts';
import type { Remembered, RunRecord } from '../runs/run-storage.ts';
import type { RunStorage } from '../runs/types.ts';
import type { AgUiThread } from './thread.ts';

/** Runs that an agent of this page has taken, by the storage they are remembered in. */
const claims = new WeakMap<object, Set<string>>();

/** The claims of one storage; a set of its own where nothing is remembered. */
export function getClaims(storage: RunStorage | undefined): Set<string> {
  let taken = storage && claims.get(storage);
  if (!taken) {
    taken = new Set();
    if (storage) claims.set(storage, taken);
  }
  return taken;
}

/** `sessionStorage`, unless the page may not have it. */
export function findSessionStorage({ page }: Environment): RunStorage | undefined {
  try {
    return (page.sessionStorage as RunStorage | undefined) ?? undefined;
  } catch {
    return undefined;
  }
}

const purgeAfter = 24 * 60 * 60 * 1000;

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
