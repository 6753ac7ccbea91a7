import { Typography } from 'antd';
import { useAgUiAgent } from 'runsocket/react';
import { provider } from './agent.ts';

/** The same runs as the conversation shows, as the AG-UI thread that they come from. */
export function AgUiPanel({ sessionId }: { sessionId: string }) {
  const agent = provider.getAgent(sessionId);
  const thread = useAgUiAgent(agent, { batch: 'frame' });
  return (
    <aside className="ag-ui" aria-labelledby="ag-ui-title">
      <Typography.Title level={2} id="ag-ui-title">
        The AG-UI thread
      </Typography.Title>
      <p className="note">
        The same runs through <code>useAgUiAgent</code>, over the same connection. Status:{' '}
        <strong data-testid="thread-status">{thread.status}</strong>
      </p>
      <ol aria-label="AG-UI messages">
        {thread.messages.map((message) => (
          <li key={message.id} data-role={message.role}>
            <span className="role">{message.role}</span>
            {'toolCalls' in message &&
              message.toolCalls?.map((call) => (
                <code key={call.id}>
                  {call.function.name}({call.function.arguments})
                </code>
              ))}
            {typeof message.content === 'string' && <p className="text">{message.content}</p>}
          </li>
        ))}
      </ol>
    </aside>
  );
}
