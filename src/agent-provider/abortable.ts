import type { BaseEnvironment } from '../internal/environment.ts';

/** Whether `error` says that somebody called it off. */
export const isAbortError = (error: unknown): boolean =>
  (error as { readonly name?: unknown } | null | undefined)?.name === 'AbortError';

/** What an error says; anything may be thrown, also what is no text at all. */
export function messageOf(error: unknown, fallback: string): string {
  try {
    return String(
      (error as { readonly message?: unknown } | undefined)?.message || error || fallback,
    );
  } catch {
    return fallback;
  }
}

/** The error that an abort is told as: its reason, or an AbortError with the reason as its cause. */
export function toAbortError({ reason }: AbortSignal): unknown {
  if (isAbortError(reason)) return reason;
  const message = typeof reason === 'string' ? reason : (reason as Error | undefined)?.message;
  return Object.assign(new Error(message || 'Aborted', { cause: reason }), { name: 'AbortError' });
}

/** Waits that can be broken off. */
export interface Waits {
  /** The next result; `undefined` where it was broken off, whatever the iterator still says. */
  next<Value>(iterator: AsyncIterator<Value>): Promise<IteratorResult<Value> | undefined>;
  /** What `make` promises; `undefined` where it was broken off. */
  until<Value>(make: () => PromiseLike<Value> | Value): Promise<Value | undefined>;
  /** Lasts for `ms`, or until it is broken off. */
  pause(ms: number, setTimer: BaseEnvironment['setTimer']): Promise<void>;
  /** Breaks off the wait under way. */
  wake(): void;
}

/** Make waits; a wait that begins while `isOver` holds ends at once. */
export function createWaits(isOver: () => boolean): Waits {
  let wake = () => {};
  // One promise for each wait: racing a promise that lasts would keep a reaction of every turn.
  const until: Waits['until'] = (make) =>
    new Promise((resolve, reject) => {
      wake = () => resolve(undefined);
      Promise.resolve(make()).then(resolve, reject);
      if (isOver()) wake();
    });
  return {
    until,
    next: (iterator) => until(() => iterator.next()),
    pause: (ms, setTimer) =>
      new Promise((resolve) => {
        const stop = setTimer(resolve, ms);
        wake = () => {
          stop();
          resolve();
        };
        if (isOver()) wake();
      }),
    wake: () => wake(),
  };
}

/** Leaves an iterator that may hang or throw; nobody waits for it. */
export function leave(iterator: AsyncIterator<unknown> | undefined): void {
  try {
    Promise.resolve(iterator?.return?.()).catch(() => {});
  } catch {
    // It is left either way.
  }
}
