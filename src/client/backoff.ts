import type { BackoffOptions } from './types.ts';

/** What a close code asks for: another attempt, one with new credentials, or none. */
export type CloseVerdict = 'retry' | 'auth' | 'final';

/** Judges a close code: what the client did wrong is final (RFC 6455 7.4.1, 3500–3999, 4400–4499), all else is retried. */
export function judgeCloseCode(code: number): CloseVerdict {
  if (code === 4401 || code === 4403) return 'auth';
  if (code === 4408 || code === 4429) return 'retry';
  return [1002, 1003, 1007, 1008, 1010].includes(code) ||
    (code >= 3500 && code < 4000) ||
    (code >= 4400 && code < 4500)
    ? 'final'
    : 'retry';
}

/**
 * The wait before attempt `retry` (1, 2, …) since the connection was last stable, in ms: uniform in
 * 0 … `first`, then in `min` … `min(max, min · factor ** retry)`. `chance` is uniform in 0 … 1.
 */
export function getRetryDelay(retry: number, options: BackoffOptions, chance: number): number {
  const { first = 1_000, min = 500, max = 20_000, factor = 2 } = options;
  if (retry < 2) return chance * first;
  return min + chance * Math.max(0, Math.min(max, min * factor ** retry) - min);
}
