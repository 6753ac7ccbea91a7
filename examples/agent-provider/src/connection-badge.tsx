import { Badge, Button } from 'antd';
import type { ConnectionState } from 'runsocket';
import type { AgentConnectionState } from 'runsocket/agent-provider';

interface ConnectionBadgeProps {
  /** The WebSocket. */
  readonly connection: ConnectionState;
  /** How the conversation stands with its agent. */
  readonly state: AgentConnectionState;
  readonly onRetry: () => void;
}

const sockets = {
  idle: { status: 'default', text: 'Not connected' },
  connecting: { status: 'processing', text: 'Connecting…' },
  open: { status: 'success', text: 'Connected' },
  waiting: { status: 'warning', text: 'Connection lost' },
  closed: { status: 'error', text: 'Disconnected' },
} as const;

const conversations: Partial<Record<AgentConnectionState, string>> = {
  restoring: 'restoring the conversation',
  reconnecting: 'taking the answer up again',
  unrecoverable: 'the answer is lost',
  failed: 'the answer broke off',
};

export function ConnectionBadge({ connection, state, onRetry }: ConnectionBadgeProps) {
  // An attempt to come back is no news: only that the connection is gone, and that it is back.
  const isRetrying = connection.status === 'connecting' && connection.error !== undefined;
  const { status, text } = sockets[isRetrying ? 'waiting' : connection.status];
  const more = conversations[state];
  return (
    <div className="connection">
      <span role="status">
        <Badge status={status} text={more === undefined ? text : `${text}, ${more}`} />
      </span>
      {(status === 'warning' || status === 'error') && (
        <Button type="link" size="small" onClick={onRetry}>
          {status === 'error' ? 'Reconnect' : 'Try now'}
        </Button>
      )}
    </div>
  );
}
