import type { Run } from './types.ts';

/** Cancels a run when a signal aborts, at once where it has; the signal is let go of at the run's end. */
export function cancelOn(
  signal: AbortSignal | undefined,
  run: Pick<Run<never, never>, 'on'> | undefined,
  cancel: () => void,
): void {
  if (signal?.aborted) cancel();
  else if (signal) {
    signal.addEventListener('abort', cancel);
    run?.on('end', () => signal.removeEventListener('abort', cancel));
  }
}
