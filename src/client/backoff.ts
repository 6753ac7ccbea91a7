import type { BackoffOptions } from './types.ts';

/** Whether a close code asks for new credentials: 4401 and 4403. */
export function isAuthCode(code: number): boolean {
  return code === 4401 || code === 4403;
}

/** Whether a close code says that the client did wrong, so that another attempt is no use (RFC 6455 7.4, and 3500–3999, 4400–4499 but 4401, 4403, 4408 and 4429). */
export function isFinalCode(code: number): boolean {
  return /^(10(0[2378]|10)|3[5-9]..|44(?!0[138]|29)..)$/.test(`${code}`);
}

/**
 * The wait before attempt `retry` (1, 2, …) since the connection was last stable, in ms: uniform in
 * 0 … `first`, then in `min` … `min(max, min · factor ** retry)`. `chance` is uniform in 0 … 1.
 */
export function getRetryDelay(retry: number, options: BackoffOptions, chance: number): number {
  const { first = 1_000, min = 500, max = 20_000, factor = 2 } = options;
  return retry < 2
    ? chance * first
    : min + chance * Math.max(0, Math.min(max, min * factor ** retry || 0) - min);
}
