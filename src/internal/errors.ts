/** Every code a {@link RunSocketError} can carry; the list is closed. */
export type RunSocketErrorCode =
  | 'closed'
  | 'queue-full'
  | 'timeout'
  | 'bad-message'
  | 'too-large'
  | 'start-unknown'
  | 'run-unreachable'
  | 'run-unknown'
  | 'run-forbidden'
  | 'run-lost'
  | 'log-truncated'
  | 'patch-failed'
  | 'aborted'
  | 'interrupted'
  | 'storage'
  | 'unsupported'
  | 'invalid-argument';

/**
 * The one error class of this package.
 *
 * `code` says what happened, `cause` what it came from (a refused upgrade, a close code). It reaches
 * you by one route: thrown for wrong use, rejected for awaited work, an `error` event for a
 * background failure, or the state of a run that ended with it.
 */
export class RunSocketError extends Error {
  override readonly name = 'RunSocketError' as const;
  readonly code: RunSocketErrorCode;

  constructor(code: RunSocketErrorCode, message: string, cause?: unknown) {
    super(message, (cause && { cause }) as ErrorOptions | undefined);
    this.code = code;
  }
}

/** Whether `value` is a {@link RunSocketError}, of `code` where given; also across copies and realms. */
export function isRunSocketError(
  value: unknown,
  code?: RunSocketErrorCode,
): value is RunSocketError {
  const error = value as Partial<RunSocketError> | null | undefined;
  return (
    typeof error === 'object' &&
    error?.name === 'RunSocketError' &&
    (code === undefined || error.code === code)
  );
}
