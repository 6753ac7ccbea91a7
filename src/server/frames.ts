import { isRecord } from '../internal/json-values.ts';
import type { LoggedEvent } from './run-log.ts';

/** How many messages, and about how many UTF-16 units of them, go into one frame or one append. */
export const batchLimit = 100;
/** See {@link batchLimit}. */
export const batchSize = 65_536;

/** The frames of the events in logs. Readers that stand at the same place share them. */
export interface Frames {
  /** One frame an event. */
  single(runId: string, batch: readonly LoggedEvent[]): readonly string[];
  /** Arrays of messages. */
  joined(runId: string, batch: readonly LoggedEvent[]): readonly string[];
}

/** Make the frames of one server. */
export function createFrames(): Frames {
  // A log that gives readers the same batch has its frames made once.
  const singles = new WeakMap<readonly LoggedEvent[], readonly string[]>();
  const joins = new WeakMap<readonly LoggedEvent[], readonly string[]>();

  const single = (runId: string, batch: readonly LoggedEvent[]) =>
    cached(singles, batch, () => {
      const head = `{"runId":${JSON.stringify(runId)},"offset":`;
      return batch.map(
        (one) => `${head}${one.offset},"event":${one.json ?? JSON.stringify(one.event)}}`,
      );
    });

  return {
    single,
    joined: (runId, batch) =>
      cached(joins, batch, () => {
        const frames: string[] = [];
        let part: string[] = [];
        let size = 0;
        const close = () => {
          if (part.length) frames.push(part.length > 1 ? `[${part.join()}]` : `${part[0]}`);
          part = [];
          size = 0;
        };
        for (const frame of single(runId, batch)) {
          if (part.length === batchLimit || size + frame.length > batchSize) close();
          part.push(frame);
          size += frame.length;
        }
        close();
        return frames;
      }),
  };
}

function cached<Key extends object, Value>(
  cache: WeakMap<Key, Value>,
  key: Key,
  make: () => Value,
): Value {
  let value = cache.get(key);
  if (value === undefined) {
    value = make();
    cache.set(key, value);
  }
  return value;
}

/** The value in a frame of JSON; `undefined` where it is none. */
export function parseFrame(data: unknown): unknown {
  try {
    const text = typeof data === 'string' ? data : decode(data);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The message in a frame; `undefined` where it is none. */
export function readFrame(data: unknown): Record<string, unknown> | undefined {
  const message = parseFrame(data);
  return isRecord(message) ? message : undefined;
}

/** Whether a frame has more than `limit` bytes. `ws` may give a fragmented one as a list. */
export function isLarger(data: unknown, limit: number): boolean {
  if (typeof data !== 'string') return sizeOf(data) > limit;
  if (data.length * 3 <= limit) return false;
  return data.length > limit || new TextEncoder().encode(data).length > limit;
}

function sizeOf(data: unknown): number {
  if (Array.isArray(data)) return data.reduce((sum: number, part) => sum + sizeOf(part), 0);
  return (data as ArrayBuffer | undefined)?.byteLength ?? 0;
}

function decode(data: unknown): string | undefined {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  if (Array.isArray(data)) {
    return data.map((part) => decoder.decode(part, { stream: true })).join('') + decoder.decode();
  }
  return data instanceof ArrayBuffer || ArrayBuffer.isView(data)
    ? decoder.decode(data as ArrayBuffer)
    : undefined;
}
