import { afterEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { type PlainServer, startPlainServer } from '../helpers/plain-server.ts';
import { createStorageBytes } from '../helpers/storage.ts';
import { until } from '../helpers/until.ts';

let server: PlainServer;
const cleanups: (() => void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) cleanup();
  await server.close();
});

function open(storage = createStorageBytes(), options = {}) {
  const client = createWebSocketClient(server.url, { WebSocket });
  const agent = createAgUiAgent(client, { storage: storage.page(), ...options });
  cleanups.push(() => {
    agent.dispose();
    client.close();
  });
  return agent;
}

const text = (runId: string, ...parts: string[]) => [
  { type: 'RUN_STARTED', threadId: 't', runId },
  { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
  ...parts.map((delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta })),
];
const end = (runId: string) => [
  { type: 'TEXT_MESSAGE_END', messageId: 'm' },
  { type: 'RUN_FINISHED', threadId: 't', runId },
];

it('sends exactly the messages of the reference page and folds what comes back', async () => {
  server = await startPlainServer();
  const storage = createStorageBytes();
  const agent = open(storage);
  const runId = agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
  expect(agent.getSnapshot()).toMatchObject({
    status: 'running',
    messages: [{ role: 'user', content: 'Hi' }],
  });
  await until(() => server.runs.has(runId));
  const { id } = agent.getSnapshot().messages[0]!;
  expect(server.received).toEqual([
    {
      type: 'run',
      runId,
      input: {
        threadId: agent.threadId,
        runId,
        messages: [{ role: 'user', content: 'Hi', id }],
        tools: [],
        context: [],
        forwardedProps: {},
      },
    },
  ]);
  server.append(runId, ...text(runId, 'Hel', 'lo'));
  await until(() => agent.getSnapshot().messages[1]?.content === 'Hello');
  server.cut();
  await until(() => server.sockets.size === 0);
  server.append(runId, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: '!' });
  await until(() => agent.getSnapshot().messages[1]?.content === 'Hello!');
  expect(server.received[1]).toEqual({ type: 'resume', runId, after: 3 });
  expect(storage.map.size).toBe(1);
  server.append(runId, ...end(runId));
  await until(() => agent.getSnapshot().status === 'finished');
  await until(() => storage.map.size === 0);
  expect(server.errors).toEqual([]);
});

it('goes on after a reload with the whole conversation', async () => {
  server = await startPlainServer();
  const storage = createStorageBytes();
  const first = open(storage);
  first.subscribe(() => {});
  const runId = first.run({ messages: [{ role: 'user', content: 'Hi' }] });
  await until(() => server.runs.has(runId));
  server.append(runId, ...text(runId, 'Hel'));
  await until(() => first.getSnapshot().messages[1]?.content === 'Hel');
  first.dispose();
  const second = open(storage);
  expect(second.threadId).toBe(first.threadId);
  expect(second.getSnapshot()).toMatchObject({
    status: 'running',
    messages: [{ role: 'user', content: 'Hi' }],
  });
  second.subscribe(() => {});
  server.append(
    runId,
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'lo' },
    ...end(runId),
  );
  await until(() => second.getSnapshot().status === 'finished');
  expect(second.getSnapshot().messages.map((m) => m.content)).toEqual(['Hi', 'Hello']);
  await until(() => storage.map.size === 0);
  expect(server.runs.get(runId)?.starts).toBe(1);
  expect(server.errors).toEqual([]);
});

it('cancels, and lets a later run follow', async () => {
  server = await startPlainServer();
  const agent = open();
  const first = agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
  await until(() => server.runs.has(first));
  server.append(first, ...text(first, 'Hel'));
  await until(() => agent.getSnapshot().messages.length === 2);
  agent.abort();
  expect(agent.getSnapshot().status).toBe('aborted');
  await until(() => server.runs.get(first)?.cancels === 1);
  server.append(first, { type: 'RUN_ERROR', message: 'abort' } as never);
  const second = agent.run();
  await until(() => server.runs.has(second));
  server.append(
    second,
    ...text(second, 'Bye').map((e) => ({ ...e, messageId: 'n' })),
    ...end(second),
  );
  await until(() => agent.getSnapshot().status === 'finished');
  expect(agent.getSnapshot().messages.map((m) => m.content)).toEqual(['Hi', 'Hel', 'Bye']);
});
