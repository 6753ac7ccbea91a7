import { useEffect, useState, useSyncExternalStore } from 'react';
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
  const { retryAt, error } = connection;
  // An attempt to come back is no news: only that the connection is gone, and that it is back.
  const isRetrying = connection.status === 'connecting' && error !== undefined;
  const status = isRetrying ? 'waiting' : connection.status;
  // It comes back by itself with the network, whatever the countdown says.
  const isOffline = !useOnline() && status === 'waiting';
  return (
    <div className="connection" data-status={status}>
      {/* A countdown that is read out every second helps nobody, so it is left out here. */}
      <span className="badge" role="status">
        <span className="dot" aria-hidden="true" />
        {isOffline ? 'Offline' : labels[status]}
      </span>
      {status === 'waiting' && !isOffline && (
        <span className="countdown" aria-hidden="true">
          {retryAt === undefined ? 'trying now…' : <Countdown until={retryAt} />}
        </span>
      )}
      {(status === 'waiting' || status === 'closed') && (
        <button type="button" className="link" onClick={onRetry}>
          {status === 'closed' ? 'Reconnect' : 'Try now'}
        </button>
      )}
    </div>
  );
}

function useOnline(): boolean {
  return useSyncExternalStore(subscribeToNetwork, () => navigator.onLine);
}

function subscribeToNetwork(listener: () => void): () => void {
  addEventListener('online', listener);
  addEventListener('offline', listener);
  return () => {
    removeEventListener('online', listener);
    removeEventListener('offline', listener);
  };
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
    <>
      <span className="wide">next try </span>in {seconds} s
    </>
  );
}
