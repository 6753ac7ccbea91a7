import { RunSocketError } from '../internal/errors.ts';
import type { RedisCalls } from './redis-calls.ts';
import type { RedisKeys } from './redis-keys.ts';
import { appendScript, headScript } from './redis-scripts.ts';

interface Append {
  readonly texts: readonly string[];
  resolve(next: number): void;
  reject(error: unknown): void;
}

/** What this process knows of a run that it writes. */
interface Producer {
  readonly runId: string;
  readonly epoch: string;
  /** The first free offset; undefined: Redis has to be asked. */
  next: number | undefined;
  queue: Append[];
  /** Settles when the queue is empty. */
  writing: Promise<void> | undefined;
  /** Whether this process was told that the run is cancelled. */
  cancelled: boolean;
}

/** Numbers and writes the events of the runs that this process produces. */
export interface RedisProducers {
  start(runId: string, epoch: string, cancelled: boolean): void;
  append(runId: string, epoch: string, texts: readonly string[]): Promise<number>;
  /** Waits until all that was appended is written, or failed. */
  flush(runId: string, epoch: string): Promise<void>;
  forget(runId: string, epoch: string): void;
  /** Notes a cancel; `true` for the first of a run that is produced here. */
  cancel(runId: string, epoch?: string): boolean;
}

/** What {@link createRedisProducers} works with. */
export interface RedisProducersContext {
  readonly call: RedisCalls;
  readonly keys: RedisKeys;
  readonly retention: number;
  readonly tombstones: number;
  /** How long a log is kept that nobody renews. */
  readonly abandoned: number;
  readonly maxLength: number;
  readonly lostEvent: string;
  /** Redis says that a run produced here is cancelled. */
  readonly onCancelled: (runId: string, epoch: string) => void;
}

const batchEvents = 1_000;
const batchBytes = 1024 * 1024;

const lost = (runId: string) =>
  new RunSocketError('run-lost', `The log of '${runId}' has ended or is another one.`);

/** Turn events into JSON, or throw `invalid-argument`. */
export function toTexts(events: readonly unknown[]): readonly string[] {
  return events.map((event) => {
    let text: string | undefined;
    let cause: unknown;
    try {
      text = JSON.stringify(event);
    } catch (error) {
      cause = error;
    }
    if (text === undefined)
      throw new RunSocketError('invalid-argument', 'An event is no JSON.', cause);
    return text;
  });
}

/** Make what writes runs. One call at a time for each run: what is appended meanwhile goes together. */
export function createRedisProducers(context: RedisProducersContext): RedisProducers {
  const { call, keys } = context;
  const producers = new Map<string, Producer>();
  /** The epochs of the runs that were made here. */
  const epochs = new Map<string, string>();

  const keyOf = (runId: string, epoch: string) => `${epoch} ${runId}`;

  function find(runId: string, epoch: string): Producer {
    const key = keyOf(runId, epoch);
    let producer = producers.get(key);
    if (!producer) {
      producer = { runId, epoch, next: undefined, queue: [], writing: undefined, cancelled: false };
      producers.set(key, producer);
    }
    return producer;
  }

  function forget(runId: string, epoch: string) {
    producers.delete(keyOf(runId, epoch));
    if (epochs.get(runId) === epoch) epochs.delete(runId);
  }

  async function askNext(runId: string, epoch: string): Promise<number> {
    const answer = await call(headScript, [keys.run(runId), keys.log(runId)], []);
    const [found, , next] = answer as readonly unknown[];
    if (`${found}` !== epoch) throw lost(runId);
    return Number(next);
  }

  async function write(producer: Producer, batch: readonly Append[]) {
    const { runId, epoch } = producer;
    producer.next ??= await askNext(runId, epoch);
    const first = producer.next;
    const args: (string | number)[] = [
      epoch,
      first,
      keys.wake(runId),
      context.lostEvent,
      context.retention,
      context.tombstones,
      context.maxLength,
      context.abandoned,
    ];
    for (const { texts } of batch) for (const text of texts) args.push(text);
    const answer = await call(appendScript, [keys.run(runId), keys.log(runId)], args);
    const [next, cancelled] = answer as readonly unknown[];
    if (Number(next) < 0) throw lost(runId);
    producer.next = Number(next);
    if (Number(cancelled)) context.onCancelled(runId, epoch);
    let offset = first;
    for (const { texts, resolve } of batch) {
      offset += texts.length;
      resolve(offset);
    }
  }

  function take(queue: Append[]): Append[] {
    let count = 0;
    let bytes = 0;
    let end = 0;
    while (end < queue.length) {
      const { texts } = queue[end]!;
      count += texts.length;
      for (const text of texts) bytes += text.length;
      // An append is written as a whole, whatever its size.
      if (end > 0 && (count > batchEvents || bytes > batchBytes)) break;
      end++;
    }
    return queue.splice(0, end);
  }

  async function drain(producer: Producer): Promise<void> {
    const { runId, epoch } = producer;
    // Appends of the same tick go together.
    await Promise.resolve();
    while (producer.queue.length) {
      const batch = take(producer.queue);
      try {
        await write(producer, batch);
      } catch (error) {
        // What was appended behind it must not be written without it.
        const failed = [...batch, ...producer.queue.splice(0)];
        producer.next = undefined;
        if (error instanceof RunSocketError && error.code === 'run-lost') {
          forget(runId, epoch);
        }
        for (const { reject } of failed) reject(error);
      }
    }
    producer.writing = undefined;
  }

  return {
    start(runId, epoch, cancelled) {
      epochs.set(runId, epoch);
      const producer = find(runId, epoch);
      producer.next = 0;
      producer.cancelled = cancelled;
    },
    append(runId, epoch, texts) {
      const producer = find(runId, epoch);
      return new Promise((resolve, reject) => {
        producer.queue.push({ texts, resolve, reject });
        producer.writing ??= drain(producer);
      });
    },
    async flush(runId, epoch) {
      await producers.get(keyOf(runId, epoch))?.writing;
    },
    forget,
    cancel(runId, epoch = epochs.get(runId) ?? '') {
      const producer = producers.get(keyOf(runId, epoch));
      if (!producer || producer.cancelled) return false;
      producer.cancelled = true;
      return true;
    },
  };
}
