import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { type PlainServer, startPlainServer } from '../helpers/plain-server.ts';
import { createStorageBytes } from '../helpers/storage.ts';
import { startTcpProxy, type TcpProxy } from '../helpers/tcp-proxy.ts';
import { until } from '../helpers/until.ts';

const words = 40;
// A prime step visits another residue of every frame; CUT_EVERY=1 cuts at each byte.
const step = Number(process.env.CUT_EVERY ?? 53);

let server: PlainServer;
let proxy: TcpProxy;

beforeAll(async () => {
  server = await startPlainServer((runId) => {
    const text = { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', role: 'assistant' };
    server.append(
      runId,
      { type: 'RUN_STARTED', threadId: 't', runId },
      ...Array.from({ length: words }, (_, n) => ({ ...text, delta: `${n} ` })),
      { type: 'RUN_FINISHED', threadId: 't', runId },
    );
  });
  proxy = await startTcpProxy(server.port);
});
afterAll(async () => {
  await proxy.close();
  await server.close();
});

/** Runs to its end through a connection that breaks after `bytes` bytes from the server. */
async function runAndCut(bytes: number | undefined, kind: 'fin' | 'rst'): Promise<string> {
  const storage = createStorageBytes();
  const client = createWebSocketClient(`ws://127.0.0.1:${proxy.port}`, {
    WebSocket,
    backoff: { first: 5, min: 1, max: 20 },
  });
  // A start that the cut swallowed is sent again: this server starts each id once.
  const agent = createAgUiAgent(client, { storage: storage.page(), restart: true });
  if (bytes !== undefined) proxy.cutAfter(bytes, 'down', kind);
  const runId = agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
  await until(() => agent.getSnapshot().status !== 'running');
  const { status, messages } = agent.getSnapshot();
  agent.dispose();
  client.close();
  expect(server.runs.get(runId)?.log.length).toBe(words + 2);
  return `${status}: ${messages.map((message) => message.content).join(' ')}`;
}

it('a run is whole wherever in its bytes the connection breaks', async () => {
  const before = proxy.bytes('down');
  const whole = await runAndCut(undefined, 'fin');
  const total = proxy.bytes('down') - before;
  expect(total).toBeGreaterThan(4000);
  for (let bytes = 1; bytes <= total; bytes += step) {
    expect([bytes, await runAndCut(bytes, bytes % 2 ? 'rst' : 'fin')]).toEqual([bytes, whole]);
  }
  expect(server.errors).toEqual([]);
}, 600_000);
