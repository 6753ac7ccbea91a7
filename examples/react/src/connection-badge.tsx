import { useEffect, useState } from 'react';
import type { ConnectionState } from 'runsocket';

interface ConnectionBadgeProps {
  readonly connection: ConnectionState;
  readonly onRetry: () => void;
}

const labels: Record<ConnectionState['status'], string> = {
  idle: 'Not connected',
  connecting: 'Connecting…',
  open: 'Connected',
  waiting: 'Connection lost',
  closed: 'Disconnected',
};

export function ConnectionBadge({ connection, onRetry }: ConnectionBadgeProps) {
  const { status, retryAt } = connection;
  const isDown = status === 'waiting' || status === 'closed';
  return (
    <div className="connection" data-status={status}>
      {/* Only the state is announced: a countdown that is read out every second helps nobody. */}
      <span className="badge" role="status">
        <span className="dot" aria-hidden="true" />
        {labels[status]}
      </span>
      {retryAt !== undefined && <Countdown until={retryAt} />}
      {isDown && (
        <button type="button" className="link" onClick={onRetry}>
          {status === 'closed' ? 'Reconnect' : 'Try now'}
        </button>
      )}
    </div>
  );
}

function Countdown({ until }: { until: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 200);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  return (
    <span className="countdown" aria-hidden="true">
      next try in {seconds} s
    </span>
  );
}
