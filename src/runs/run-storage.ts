import { RunSocketError } from '../internal/errors.ts';
import { isRecord } from '../internal/json-values.ts';
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
  readonly checkpoint?: { readonly offset: unknown; readonly thread: unknown } | undefined;
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
  /** Read, change and write back; a promise only with asynchronous storage. `runId` names the record that shrinks where there is no room. */
  change(edit: (now: Remembered) => Remembered, runId?: string): Promise<unknown> | undefined;
  /** Change, add or (with undefined) remove one run's record. */
  edit(
    runId: string,
    edit: (record: RunRecord | undefined) => RunRecord | undefined,
  ): Promise<unknown> | undefined;
  /** Changes a part of one run's record, where there is one. */
  amend(runId: string, part: { readonly [Key in keyof RunRecord]?: unknown }): void;
}

// What asynchronous storage has still to do: one read and write after the other, whoever asks.
const tails = new WeakMap<RunStorage, Promise<unknown>>();

/** Make the memory of `name`. Each kind of loss is reported once, as a RunSocketError `storage`. */
export function createRunStore(
  storage: RunStorage | undefined,
  name: string,
  report: (error: RunSocketError) => void,
): RunStore {
  const key = `runsocket:${name}`;
  const reported = new Set<string>();
  function lose(what: string, cause: unknown) {
    if (reported.has(what)) return;
    reported.add(what);
    report(new RunSocketError('storage', `Storage does not keep ${what}.`, cause));
  }

  // `undefined`: it could not be read.
  function load<Result>(
    use: (now: Remembered | undefined) => Result,
  ): Result | Promise<Awaited<Result>> {
    const failed = (cause: unknown) => lose('runs across reloads', cause);
    let text: unknown;
    try {
      text = storage?.getItem(key);
    } catch (error) {
      failed(error);
      return use(undefined);
    }
    return isPromise(text)
      ? (Promise.resolve(text)
          .then(parse, (cause) => failed(cause))
          .then((now) => use(now as Remembered | undefined)) as Promise<Awaited<Result>>)
      : use(parse(text));
  }

  // Tries one smaller form after the other until one is taken.
  function write(forms: Iterator<readonly [Remembered, string]>): unknown {
    const { value } = forms.next();
    if (!value) return undefined;
    const [form, losing] = value;
    const failed = (cause: unknown) => {
      lose(losing, cause);
      return write(forms);
    };
    try {
      const written =
        form.runs.length || form.thread !== undefined
          ? storage?.setItem(key, JSON.stringify({ v: 1, ...form }))
          : storage?.removeItem(key);
      return isPromise(written) ? Promise.resolve(written).catch(failed) : undefined;
    } catch (error) {
      return failed(error);
    }
  }

  function inTurn<Result>(task: () => Result | Promise<Result>): Result | Promise<Result> {
    const tail = storage && tails.get(storage);
    return tail ? tail.then(task) : task();
  }

  const change: RunStore['change'] = (edit, runId) => {
    if (!storage) return undefined;
    const result = inTurn(() =>
      // What could not be read must not be written over.
      load((now) => (now ? write(shrink(edit(now), runId)) : lose('what is new', undefined))),
    );
    if (!isPromise(result)) return undefined;
    const settled = result.then(() => {
      if (tails.get(storage) === settled) tails.delete(storage);
    });
    tails.set(storage, settled);
    return settled;
  };

  const store: RunStore = {
    read: () => inTurn(() => load((now) => now ?? { runs: [] })),
    change,
    edit: (runId, edit) =>
      change(({ runs, ...rest }) => {
        const old = runs.find((one) => one.runId === runId);
        const edited = edit(old) ?? [];
        // In the order of their starts, which a clock may not tell.
        return {
          ...rest,
          runs: old ? runs.flatMap((one) => (one === old ? edited : one)) : runs.concat(edited),
        };
      }, runId),
    amend(runId, part) {
      store.edit(runId, (record) => record && ({ ...record, ...part } as RunRecord));
    },
  };
  return store;
}

// What is given up where there is no room: checkpoint, older messages, base, record, everything.
function* shrink(
  form: Remembered,
  runId: string | undefined,
): Generator<readonly [Remembered, string], undefined> {
  const { thread, ...runsOnly } = form;
  const record = form.runs.find((run) => run.runId === runId);
  const others = form.runs.filter((run) => run !== record);
  const withRecord = (smaller: object) => ({
    ...form,
    runs: form.runs.map((run) => (run === record ? (smaller as RunRecord) : run)),
  });
  if (record) {
    const { checkpoint, ...plain } = record;
    const { base, ...bare } = plain;
    yield [form, checkpoint ? 'a checkpoint' : 'older messages'];
    if (checkpoint) yield [withRecord(plain), 'older messages'];
    if (isRecord(base) && Array.isArray(base.messages)) {
      let { messages } = base as { messages: unknown[] };
      while (messages.length > 1) {
        messages = messages.slice(Math.ceil(messages.length / 2));
        yield [
          withRecord({ ...plain, base: { ...base, messages, historyLost: true } }),
          'a thread',
        ];
      }
    }
    yield [withRecord(bare), 'a run'];
  }
  yield [{ ...form, runs: others }, thread === undefined ? 'runs' : 'the thread'];
  if (thread !== undefined) yield [{ ...runsOnly, runs: others }, 'runs'];
}

function parse(text: unknown): Remembered {
  try {
    const value: unknown = JSON.parse(text as string);
    if (isRecord(value) && value.v === 1 && Array.isArray(value.runs)) {
      return { ...value, runs: value.runs.filter(isRunRecord) };
    }
  } catch {}
  return { runs: [] };
}

function isRunRecord(value: unknown): value is RunRecord {
  return isRecord(value) && typeof value.runId === 'string' && Number.isFinite(value.sentAt);
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as Promise<unknown> | undefined)?.then === 'function';
}
