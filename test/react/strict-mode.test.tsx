import { StrictMode, version } from 'react';
import { createRoot } from 'react-dom/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { AgUiAgent } from '../../src/ag-ui/agent-types.ts';
import type { WebSocketClientOptions } from '../../src/client/types.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { useAgUiAgent } from '../../src/react/use-ag-ui-agent.ts';
import { type PlainServer, startPlainServer } from '../helpers/plain-server.ts';
import { createStorageBytes } from '../helpers/storage.ts';
import { until } from '../helpers/until.ts';

const hooks = Array.from({ length: 20 }, (_, i) => i);
const consoleError = vi.spyOn(console, 'error');
let server: PlainServer;
let cleanUp: (() => void)[] = [];

beforeEach(async () => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
  consoleError.mockReset();
  server = await startPlainServer();
});
afterEach(async () => {
  for (const task of cleanUp.reverse()) task();
  cleanUp = [];
  await server.close();
  expect(consoleError.mock.calls).toEqual([]);
});

function createAgent(storage: ReturnType<typeof createStorageBytes>, linger?: number) {
  const client = createWebSocketClient(server.url, {
    WebSocket: WebSocket as unknown as NonNullable<WebSocketClientOptions['WebSocket']>,
    ...(linger !== undefined && { linger }),
  });
  const agent = createAgUiAgent(client, { storage: storage.page() });
  cleanUp.push(() => {
    agent.dispose();
    client.close();
  });
  return agent;
}

function mount(agent: AgUiAgent) {
  const container = document.createElement('div');
  document.body.append(container);
  const root = createRoot(container);
  const render = (shown: readonly number[]) =>
    root.render(
      <StrictMode>
        {shown.map((i) => (
          <Message key={i} agent={agent} batched={i % 2 === 1} />
        ))}
      </StrictMode>,
    );
  render(hooks);
  cleanUp.push(() => {
    root.unmount();
    container.remove();
  });
  return { container, render, unmount: () => root.unmount() };
}

const sent = (type: string) =>
  server.received.filter((message) => (message as { type: string }).type === type);

it('runs on the React that it is meant for', () => {
  expect(version).toMatch(process.env.REACT ?? /^19\./);
});

describe('under StrictMode, 20 hooks on one agent', () => {
  it('make one connection and one resume', async () => {
    const storage = createStorageBytes();
    const before = createAgent(storage);
    const { threadId } = before;
    before.run({}, { runId: 'a' });
    await until(() => server.runs.has('a'));
    const chunk = (delta: string) => ({
      type: 'TEXT_MESSAGE_CHUNK',
      messageId: 'm',
      role: 'assistant',
      delta,
    });
    server.append('a', { type: 'RUN_STARTED', threadId, runId: 'a' }, chunk('One'));
    await until(() => before.getSnapshot().messages.length === 1);
    before.dispose();
    await until(() => server.sockets.size === 0);
    const connectionsBefore = server.connections;

    const { container, render } = mount(createAgent(storage));
    await until(() => container.textContent === 'One'.repeat(20));
    render(hooks.slice(0, 3));
    await until(() => container.textContent === 'One'.repeat(3));
    render(hooks);
    await until(() => container.textContent === 'One'.repeat(20));
    server.append('a', chunk(' two'), { type: 'RUN_FINISHED', threadId, runId: 'a' });
    await until(() => container.textContent === 'One two'.repeat(20));

    expect(server.connections - connectionsBefore).toBe(1);
    expect(sent('resume')).toHaveLength(1);
    expect(sent('run')).toHaveLength(1);
    expect(sent('cancel')).toHaveLength(0);
    expect(server.errors).toEqual([]);
  });

  it('keep the run and its connection when all of them are unmounted', async () => {
    const agent = createAgent(createStorageBytes(), 20);
    const { unmount } = mount(agent);
    await until(() => server.connections === 1);
    agent.run({}, { runId: 'a' });
    await until(() => server.runs.has('a'));
    unmount();
    server.append(
      'a',
      { type: 'RUN_STARTED', threadId: agent.threadId, runId: 'a' },
      { type: 'RUN_FINISHED', threadId: agent.threadId, runId: 'a' },
    );
    await until(() => agent.getSnapshot().status === 'finished');
    expect(server.connections).toBe(1);
    expect(sent('cancel')).toHaveLength(0);
    // With nobody left and no run, the connection goes by itself.
    await until(() => server.sockets.size === 0);
  });
});

function Message({ agent, batched }: { agent: AgUiAgent; batched: boolean }) {
  const { messages } = useAgUiAgent(agent, batched ? { batch: 'frame' } : {});
  return messages.map(({ id, content }) => <span key={id}>{String(content)}</span>);
}
