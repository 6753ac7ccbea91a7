import { RunSocketError } from '../internal/errors.ts';
import { toAbortError } from './abortable.ts';
import type { AgUiRunChunk } from './ag-ui-provider-run-types.ts';
import type { AgUiChunk } from './ag-ui-provider-types.ts';

/** What the chunks of a run come from. */
export interface AgUiChunkSource {
  /** What must be known before the run begins; absent where all is. */
  readonly ready: Promise<unknown> | undefined;
  /** Nothing is given out: what a command tells comes first. */
  readonly paused: boolean;
  /** It was begun before, here or by an earlier page. */
  readonly known: boolean;
  /** Begins, or goes on behind the last chunk that was told. */
  begin(): void;
  /** Asks again for all behind the last chunk that was told. */
  follow(): void;
  /** Looks what follows once everything that came is told; `true`: nothing. */
  isOver(): boolean;
  /** Keeps the agent connected while somebody reads. */
  connect(): () => void;
  cancel(): void;
  /** Nothing more is read. */
  end(): void;
}

/** Gives the chunks of a run to one reader at a time. */
export interface AgUiChunkReader {
  readonly begun: boolean;
  readonly reading: boolean;
  /** The last reader's signal is aborted. */
  readonly aborted: boolean;
  push(chunk: AgUiRunChunk): void;
  /** Whoever reads gets the error, and so does whoever comes. */
  fail(error: unknown): void;
  /** Looks again at what the reader waits for. */
  wake(): void;
  /** The events of a chunk are told: it is not given out again. */
  told(chunk: AgUiRunChunk): void;
  /** The chunks from the next one on; `signal` cancels, leaving the loop does not. */
  read(signal: AbortSignal): AsyncIterableIterator<AgUiChunk>;
  /** Lets go of whoever reads. */
  close(): void;
  /** As `close()`, with an error for who reads; the next reader begins as the next page does. */
  drop(): void;
}

/** Make a reader of a source. */
export function createAgUiChunkReader(source: AgUiChunkSource): AgUiChunkReader {
  let queue: AgUiRunChunk[] = [];
  /** How many chunks wait for a reader who is away; beyond, they are asked for again. */
  let limit = 10_000;
  let lost = false;
  /** The chunk that was given out last, and the event that was told last. */
  let given: AgUiRunChunk | undefined;
  let told: AgUiRunChunk['event'] | undefined;
  let begun = false;
  let failure: { readonly error: unknown } | undefined;
  let signal: AbortSignal | undefined;
  let reader: object | undefined;
  /** The reader who was there when the provider let go. */
  let dropped: object | undefined;
  let release = () => {};
  let wake = () => {};

  function fail(error: unknown) {
    failure ??= { error };
    wake();
  }

  function begin() {
    begun = true;
    source.begin();
  }

  async function pull(mine: object): Promise<IteratorResult<AgUiChunk, undefined>> {
    // A run that begins before its history is read would be without it.
    if (!begun && source.ready) await source.ready;
    for (;;) {
      if (failure) {
        source.end();
        throw failure.error;
      }
      if (dropped === mine) throw new RunSocketError('closed', 'The provider was disposed.');
      if (reader !== mine) break;
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      try {
        if (!begun) begin();
        if (lost) {
          lost = false;
          source.follow();
        }
        const value = source.paused ? undefined : queue.shift();
        if (value) {
          const [next] = queue;
          given = value;
          // Behind one event of a frame is no place to go on from.
          const inFrame =
            next && next.cursor?.offset === value.offset && next.runId === value.runId;
          return { done: false, value: inFrame ? { ...value, cursor: undefined } : value };
        }
        if (!source.paused && source.isOver()) {
          source.end();
          break;
        }
      } catch (error) {
        fail(error);
      }
      await woken;
    }
    return { done: true, value: undefined };
  }

  function onAbort() {
    try {
      if (source.known && !begun) begin();
    } catch {
      // There is nothing to cancel.
    }
    source.cancel();
    fail(toAbortError(signal!));
    source.end();
  }

  function attach(mine: object, next: AbortSignal) {
    signal?.removeEventListener('abort', onAbort);
    signal = next;
    reader = mine;
    if (!lost && given && told !== given.event) queue.unshift(given);
    // A reader who was just left may still have to say so.
    const letGoBefore = release;
    if (source.known || !next.aborted) release = source.connect();
    letGoBefore();
    if (next.aborted) onAbort();
    else next.addEventListener('abort', onAbort);
  }

  function close() {
    reader = given = undefined;
    signal?.removeEventListener('abort', onAbort);
    release();
    queue = [];
    wake();
  }

  return {
    get begun() {
      return begun;
    },
    get reading() {
      return !!reader;
    },
    get aborted() {
      return !!signal?.aborted;
    },
    push(chunk) {
      if (!lost) {
        queue.push(chunk);
        if (queue.length > limit) {
          lost = true;
          queue = [];
          // Were it always the same, a log that comes at once would never be through.
          limit *= 2;
        }
      }
      wake();
    },
    fail,
    wake: () => wake(),
    told({ event }) {
      told = event;
    },
    read(next) {
      let attached = false;
      return {
        next() {
          if (!attached) attach(this, next);
          attached = true;
          return pull(this);
        },
        async return() {
          attached = true;
          if (reader === this) {
            reader = undefined;
            release();
            wake();
          }
          return { done: true, value: undefined };
        },
        [Symbol.asyncIterator]() {
          return this;
        },
      };
    },
    close,
    drop() {
      dropped = reader;
      close();
      begun = lost = false;
    },
  };
}
