/** What a user should read, by the error codes of runsocket; other errors come from the agent. */
const explanations: Record<string, string> = {
  closed: 'The server closed the connection for good.',
  'too-large': 'The conversation has become too long for the server.',
  'start-unknown': 'The connection was lost before the server confirmed your question.',
  'run-unreachable': 'The server does not answer for this run any more.',
  'run-unknown': 'The server has forgotten this run.',
  'run-forbidden': 'This run belongs to somebody else.',
  'run-lost': 'The server lost this run, probably by a restart.',
};

interface FailureProps {
  readonly error: { readonly message: string; readonly code?: string } | undefined;
  /** Absent where the user goes on in another way. */
  readonly onRetry: (() => void) | undefined;
}

export function Failure({ error, onRetry }: FailureProps) {
  const explanation = error?.code === undefined ? undefined : explanations[error.code];
  return (
    <div className="failure" role="alert">
      <p>
        <strong>The answer broke off.</strong> {explanation ?? error?.message}
      </p>
      {explanation !== undefined && (
        <p className="cause">
          {error?.message} ({error?.code})
        </p>
      )}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {error?.code === 'closed' ? 'Reconnect' : 'Ask again'}
        </button>
      )}
    </div>
  );
}
