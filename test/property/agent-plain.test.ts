import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import { createClient } from '../../src/client/websocket-client.ts';
import { defaultEnvironment, type Environment } from '../../src/internal/environment.ts';
import { createFakePage } from '../helpers/fake-page.ts';
import { type PlainServer, startPlainServer } from '../helpers/plain-server.ts';
import { createRandom } from '../helpers/random.ts';
import { createStorageBytes, type StorageBytes } from '../helpers/storage.ts';
import { until } from '../helpers/until.ts';

const events = 300;
const schedules = 40;
let server: PlainServer;

/** What run `id` says at offset `n`. */
const word = (n: number) => `${n} `;
const script = (runId: string) => [
  { type: 'RUN_STARTED', threadId: 't', runId },
  ...Array.from({ length: events - 2 }, (_, n) => ({
    type: 'TEXT_MESSAGE_CHUNK',
    messageId: `${runId}-m`,
    role: 'assistant',
    delta: word(n),
  })),
  { type: 'RUN_FINISHED', threadId: 't', runId },
];
const whole = Array.from({ length: events - 2 }, (_, n) => word(n)).join('');

beforeAll(async () => {
  server = await startPlainServer();
});
afterAll(() => server.close());

/** A page: everything that a reload takes with it. */
function openPage(storage: StorageBytes) {
  const page = createFakePage();
  let alive = true;
  const environment: Environment = {
    ...defaultEnvironment,
    page: page.globals,
    setTimer: (task, ms) => defaultEnvironment.setTimer(() => alive && task(), ms),
    setFrame: (task) => defaultEnvironment.setTimer(() => alive && task(), 1),
  };
  const client = createClient(
    server.url,
    { WebSocket, backoff: { first: 3, min: 1, max: 5 } },
    {
      environment,
    },
  );
  const bytes = storage.page();
  const agent = createAgUiAgent(client, {
    storage: {
      getItem: bytes.getItem,
      setItem: (key, value) => alive && bytes.setItem(key, value),
      removeItem: (key) => alive && bytes.removeItem(key),
    },
  });
  return {
    agent,
    /** Leaves the page as it is: nothing of it does anything any more. */
    abandon(crash: boolean) {
      if (!crash) page.dispatch('pagehide', { persisted: false });
      alive = false;
      client.close();
    },
  };
}

const said = (agent: { getSnapshot(): { messages: readonly { content?: unknown }[] } }) =>
  agent.getSnapshot().messages.map((message) => message.content);

/** Plays one schedule of cuts and reloads against one run. */
async function play(seed: number) {
  const random = createRandom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const storage = createStorageBytes();
  let page = openPage(storage);
  page.agent.subscribe(() => {});
  const runId = page.agent.run({ messages: [{ role: 'user', content: `Hi ${seed}` }] });
  const { threadId } = page.agent;
  const log = script(runId);
  let next = 0;

  const reload = () => {
    page.abandon(random() < 0.5);
    page = openPage(storage);
    expect(page.agent.threadId).toBe(threadId);
    expect(said(page.agent)[0]).toBe(`Hi ${seed}`);
    expect(page.agent.getSnapshot().status).toBe('running');
    page.agent.subscribe(() => {});
  };
  // One schedule cuts its own sockets alone: the server is shared.
  const cut = () => {
    for (const socket of [...(server.runs.get(runId)?.followers ?? [])]) socket.terminate();
  };

  await until(() => server.runs.has(runId));
  server.append(runId, ...log.slice(0, ++next));
  await until(() => page.agent.runs.get(runId)?.getSnapshot().offset === 0);
  while (next < events) {
    const size = 1 + below(40);
    server.append(runId, ...log.slice(next, next + size));
    next = Math.min(events, next + size);
    const dice = random();
    if (next < events && dice < 0.35) reload();
    else if (dice < 0.7) cut();
    else if (dice < 0.85) await new Promise((resolve) => setImmediate(resolve));
    else {
      const seen = next - 1;
      await until(() => (page.agent.runs.get(runId)?.getSnapshot().offset ?? -1) >= seen);
    }
  }
  await until(() => page.agent.getSnapshot().status === 'finished');
  expect(said(page.agent)).toEqual([`Hi ${seed}`, whole]);
  await until(() => storage.map.size === 0);
  page.abandon(true);
  return server.runs.get(runId)?.starts ?? 0;
}

it('reads every run whole and starts it once, whatever is cut and reloaded after the first event', async () => {
  const starts = await Promise.all(Array.from({ length: schedules }, (_, seed) => play(seed + 1)));
  expect(starts).toEqual(starts.map(() => 1));
  expect(server.errors).toEqual([]);
}, 60_000);
