import { RunSocketError } from '../internal/errors.ts';
import { isRecord } from './protocol.ts';
import type { RunPolicy, RunStorage } from './types.ts';

/** What is remembered of one run. Values other than `runId` and `sentAt` may be anything that a page once wrote. */
export interface RunRecord {
  readonly runId: string;
  readonly threadId: string;
  /** When its start was first sent, in ms since 1970. */
  readonly sentAt: number;
  readonly policy: RunPolicy;
  /** The server has confirmed the start. */
  readonly acked: boolean;
  readonly cancel?: boolean;
  /** What a start needs beyond `base`, until it is confirmed. */
  readonly input?: unknown;
  readonly epoch?: string;
  /** What the run's events are applied to. */
  readonly base?: unknown;
  /** A place in the log together with what was built up to it. */
  readonly checkpoint?: {
    readonly offset: number | string;
    readonly thread: unknown;
    /** The offset before, and the events at `offset`: what an overlapping resume is compared with. */
    readonly previous?: number | string | undefined;
    readonly last?: readonly unknown[] | undefined;
  };
}

/** All that one name remembers. */
export interface Remembered {
  readonly runs: readonly RunRecord[];
  /** The last thread, where it is asked for. */
  readonly thread?: unknown;
}

/** The memory of one name, behind storage that may be slow, full, denied or absent. */
export interface RunStore {
  /** What is there now; a promise with asynchronous storage. */
  read(): Remembered | Promise<Remembered>;
  /** Read, change and write back; a promise only with asynchronous storage. `focus` names the run whose record shrinks where there is no room. */
  change(edit: (now: Remembered) => Remembered, focus?: string): Promise<void> | undefined;
}

const nothing: Remembered = { runs: [] };

/** Make the memory of `name`. Each kind of loss is reported once, as a RunSocketError `storage`. */
export function createRunStore(
  storage: RunStorage | undefined,
  name: string,
  report: (error: RunSocketError) => void,
): RunStore {
  const key = `runsocket:${name}`;
  const reported = new Set<string>();
  let tail: Promise<unknown> | undefined;

  function lose(what: string, cause: unknown) {
    if (reported.has(what)) return;
    reported.add(what);
    report(new RunSocketError('storage', `Storage does not keep ${what}.`, cause));
  }

  function load<Result>(use: (now: Remembered) => Result): Result | Promise<Awaited<Result>> {
    let text: unknown;
    try {
      text = storage?.getItem(key);
    } catch (error) {
      lose('runs across reloads', error);
    }
    if (!isPromise(text)) return use(parse(text));
    const result = text.then(parse, (error) => {
      lose('runs across reloads', error);
      return nothing;
    });
    return result.then(use) as Promise<Awaited<Result>>;
  }

  // Tries one smaller form after the other until one is taken.
  function write(forms: Iterator<readonly [Remembered, string]>): Promise<void> | undefined {
    const { done, value } = forms.next();
    if (done || !storage) return undefined;
    const [form, losing] = value;
    const next = (error: unknown) => {
      lose(losing, error);
      return write(forms);
    };
    try {
      const written =
        form.runs.length || form.thread !== undefined
          ? storage.setItem(key, JSON.stringify({ v: 1, ...form }))
          : storage.removeItem(key);
      return isPromise(written) ? written.then(() => undefined, next) : undefined;
    } catch (error) {
      return next(error);
    }
  }

  return {
    read: () => (tail ? tail.then(() => load((now) => now)) : load((now) => now)),
    change(edit, focus) {
      if (!storage) return undefined;
      const go = () => load((now) => write(shrink(edit(now), focus)));
      const result = tail ? tail.then(go) : go();
      if (!isPromise(result)) return undefined;
      const settled = result.then(() => {
        if (tail === settled) tail = undefined;
      });
      tail = settled;
      return settled;
    },
  };
}

// What is given up where there is no room: checkpoint, older messages, base, record, everything.
function* shrink(
  form: Remembered,
  focus: string | undefined,
): Generator<readonly [Remembered, string]> {
  const record = form.runs.find((run) => run.runId === focus);
  if (!record) {
    yield [form, form.thread === undefined ? 'runs' : 'the thread'];
    if (form.thread !== undefined) yield [{ runs: form.runs }, 'runs'];
    return;
  }
  const others = form.runs.filter((run) => run !== record);
  const withRecord = (smaller: RunRecord): Remembered => ({ ...form, runs: [...others, smaller] });
  yield [form, record.checkpoint ? 'a checkpoint' : 'older messages'];
  const { checkpoint, ...plain } = record;
  if (checkpoint) yield [withRecord(plain), 'older messages'];
  const { base, ...bare } = plain;
  if (isRecord(base) && Array.isArray(base.messages)) {
    let { messages } = base as { messages: unknown[] };
    while (messages.length > 1) {
      messages = messages.slice(Math.ceil(messages.length / 2));
      yield [withRecord({ ...plain, base: { ...base, messages, historyLost: true } }), 'a thread'];
    }
  }
  if (base !== undefined) yield [withRecord(bare), 'a run'];
  yield [{ ...form, runs: others }, 'runs'];
}

function parse(text: unknown): Remembered {
  if (typeof text !== 'string') return nothing;
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value) || value.v !== 1 || !Array.isArray(value.runs)) return nothing;
    return { ...value, runs: value.runs.filter(isRunRecord) };
  } catch {
    return nothing;
  }
}

function isRunRecord(value: unknown): value is RunRecord {
  return isRecord(value) && typeof value.runId === 'string' && Number.isFinite(value.sentAt);
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as Promise<unknown> | undefined)?.then === 'function';
}
