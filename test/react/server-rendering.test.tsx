import { type ReactNode, StrictMode } from 'react';
import { hydrateRoot } from 'react-dom/client';
import { renderToString } from 'react-dom/server';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { AgUiAgent, AgUiAgentOptions } from '../../src/ag-ui/agent-types.ts';
import type { WebSocketClientOptions } from '../../src/client/types.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { useAgUiAgent } from '../../src/react/use-ag-ui-agent.ts';
import { useConnection } from '../../src/react/use-connection.ts';
import { type PlainServer, startPlainServer } from '../helpers/plain-server.ts';
import { createStorageBytes } from '../helpers/storage.ts';
import { until } from '../helpers/until.ts';

interface Plan {
  readonly title: string;
}

const consoleError = vi.spyOn(console, 'error');
const consoleWarn = vi.spyOn(console, 'warn');
let server: PlainServer;
let cleanUp: (() => void)[] = [];

beforeEach(async () => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
  consoleError.mockReset();
  consoleWarn.mockReset();
  server = await startPlainServer();
});
afterEach(async () => {
  for (const task of cleanUp.reverse()) task();
  cleanUp = [];
  await server.close();
});

function createAgent(options: AgUiAgentOptions<Plan>) {
  const client = createWebSocketClient(server.url, {
    WebSocket: WebSocket as unknown as NonNullable<WebSocketClientOptions['WebSocket']>,
  });
  const agent = createAgUiAgent<Plan>(client, {
    state: { title: 'Ship' },
    messages: [{ id: 'm0', role: 'user', content: 'Hello' }],
    ...options,
  });
  cleanUp.push(() => {
    agent.dispose();
    client.close();
  });
  return agent;
}

/** What a server renders, and then what the page makes of it. */
async function hydrate(onServer: ReactNode, onPage: ReactNode) {
  const html = renderToString(onServer);
  const container = document.createElement('div');
  container.innerHTML = html;
  document.body.append(container);
  const recovered: unknown[] = [];
  const root = hydrateRoot(container, onPage, {
    onRecoverableError: (error) => recovered.push(error),
  });
  cleanUp.push(() => {
    root.unmount();
    container.remove();
  });
  await until(() => container.querySelector('[data-live]') !== null);
  return { html, container, recovered };
}

const expectSilence = (recovered: readonly unknown[]) => {
  expect(recovered).toEqual([]);
  expect(consoleError.mock.calls).toEqual([]);
  expect(consoleWarn.mock.calls).toEqual([]);
};

/** A page that was left while a run streamed. */
async function leaveRun(storage: ReturnType<typeof createStorageBytes>) {
  const before = createAgent({ storage: storage.page() });
  before.run({ messages: [{ role: 'user', content: 'Go on' }] }, { runId: 'a' });
  await until(() => server.runs.has('a'));
  server.append(
    'a',
    { type: 'RUN_STARTED', threadId: before.threadId, runId: 'a' },
    { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm1', role: 'assistant', delta: 'On my' },
  );
  await until(() => before.getSnapshot().messages.length === 3);
  before.dispose();
  expect(storage.map.size).toBe(1);
}

describe('server rendering', () => {
  it('shows the thread that the agent was created with, and connects nothing', () => {
    const agent = createAgent({ storage: null });
    agent.setState({ title: 'changed' });
    const html = renderToString(<Chat agent={agent} />).replaceAll('<!-- -->', '');
    expect(html).toBe('<main>idle|Ship|Ship|1|<span>Hello</span>|idle</main>');
    expect(server.connections).toBe(0);
  });

  it('and hydration agree without a word where nothing is remembered', async () => {
    const { html, container, recovered } = await hydrate(
      <Chat agent={createAgent({ storage: null })} />,
      <Chat agent={createAgent({ storage: createStorageBytes().page() })} />,
    );
    expect(container.textContent).toContain('idle|Ship|Ship|1|Hello');
    expect(html).toContain('Hello');
    expectSilence(recovered);
  });

  it('and hydration agree without a word where a run is remembered, which then goes on', async () => {
    const storage = createStorageBytes();
    await leaveRun(storage);
    const agent = createAgent({ storage: storage.page() });
    expect(agent.getSnapshot().status).toBe('running');
    const { container, recovered } = await hydrate(
      <StrictMode>
        <Chat agent={createAgent({ storage: null })} />
      </StrictMode>,
      <StrictMode>
        <Chat agent={agent} />
      </StrictMode>,
    );
    await until(() => container.textContent?.includes('On my') === true);
    server.append(
      'a',
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm1', delta: ' way' },
      { type: 'STATE_SNAPSHOT', snapshot: { title: 'Rest' } },
      { type: 'RUN_FINISHED', threadId: agent.threadId, runId: 'a' },
    );
    await until(() => container.textContent?.includes('finished') === true);
    await until(() => container.textContent?.includes('Rest|Rest') === true);
    expect(container.textContent).toContain('HelloGo onOn my way');
    expectSilence(recovered);
  });

  it('and hydration agree where the thread changes before hydration ends', async () => {
    const agent = createAgent({ storage: null });
    const html = renderToString(<Chat agent={createAgent({ storage: null })} />);
    const container = document.createElement('div');
    container.innerHTML = html;
    document.body.append(container);
    agent.setMessages([]);
    const recovered: unknown[] = [];
    const root = hydrateRoot(container, <Chat agent={agent} />, {
      onRecoverableError: (error) => recovered.push(error),
    });
    cleanUp.push(() => {
      root.unmount();
      container.remove();
    });
    agent.setState({ title: 'early' });
    await until(() => container.textContent?.includes('idle|early|early|0|') === true);
    expectSilence(recovered);
  });
});

function Chat({ agent }: { agent: AgUiAgent<Plan> }) {
  const { status, state, messages } = useAgUiAgent(agent);
  // An inline selector that makes a new object each time, and one render a frame.
  const { title } = useAgUiAgent(agent, {
    select: (thread) => ({ title: thread.state.title }),
    batch: 'frame',
  });
  const connection = useConnection(agent.client);
  return (
    <main ref={markLive}>
      {[status, state.title, title, messages.length].join('|')}|
      {messages.map(({ id, content }) => (
        <span key={id}>{String(content)}</span>
      ))}
      |{connection.status}
    </main>
  );
}

const markLive = (element: HTMLElement | null) => {
  element?.setAttribute('data-live', '');
};
