import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type AgentServer, startAgentServer, words } from './agent-server.ts';
import { type Consumer, createConsumer, formats, moduleText } from './consumer.ts';

let consumer: Consumer;
let server: AgentServer | undefined;

beforeAll(async () => {
  consumer = await createConsumer();
});
afterEach(() => server?.close());
afterAll(() => consumer?.remove());

const imports = {
  runsocket: '{ createRuns, createWebSocketClient }',
  'runsocket/ag-ui': '{ createAgUiAgent }',
  ws: '{ WebSocket }',
};

// Each child has to end by itself: what keeps Node alive fails the test by its timeout.
const prelude = `
  const until = (agent, isThere) => new Promise((resolve) => {
    const look = () => isThere(agent.getSnapshot()) && (stop(), resolve(agent.getSnapshot()));
    const stop = agent.subscribe(() => look());
    if (isThere(agent.getSnapshot())) setTimeout(look, 0);
  });
  const textOf = ({ messages }) => messages.find(({ role }) => role === 'assistant')?.content ?? '';
  const question = { messages: [{ role: 'user', content: 'Say it.' }] };
`;

describe.each(formats)('the built package in %s', (format) => {
  const run = async (name: string, body: string): Promise<unknown> =>
    JSON.parse(
      await consumer.run(`${name}.${format}`, moduleText(format, imports, prelude + body)),
    );

  it('runs an agent on a WebSocket server', async () => {
    server = await startAgentServer({ whole: true });
    const result = await run(
      'run',
      `const client = createWebSocketClient('${server.url}', { WebSocket });
       const agent = createAgUiAgent(client);
       const runId = agent.run(question);
       const thread = await until(agent, ({ status }) => status === 'finished');
       agent.dispose();
       console.log(JSON.stringify({ text: textOf(thread), count: thread.messages.length, runId }));`,
    );
    expect(result).toEqual({ text: words.join(' '), count: 2, runId: expect.any(String) });
    const { runId } = result as { runId: string };
    expect(server.starts).toEqual(new Map([[runId, 1]]));
    expect(server.received).toEqual([
      { type: 'run', runId, input: expect.objectContaining({ runId }) },
    ]);
  });

  it('goes on with a run on the next page, from what the storage remembers', async () => {
    server = await startAgentServer({ whole: false });
    const result = await run(
      'reload',
      `const items = new Map();
       const page = () => {
         const storage = {
           getItem: (key) => items.get(key) ?? null,
           setItem: (key, value) => void items.set(key, value),
           removeItem: (key) => void items.delete(key),
         };
         const client = createWebSocketClient('${server.url}', { WebSocket });
         return createAgUiAgent(client, { storage });
       };
       const first = page();
       const runId = first.run(question);
       const half = await until(first, (thread) => textOf(thread).endsWith('word19'));
       first.dispose();
       const keys = [...items.keys()];
       const second = page();
       const shown = second.getSnapshot();
       const thread = await until(second, ({ status }) => status === 'finished');
       // A plain server may go on with a run behind its end: it is over 1 s later.
       await second.runs.get(runId).done;
       second.dispose();
       console.log(JSON.stringify({
         runId, keys, left: items.size, half: textOf(half),
         shown: [shown.status, shown.messages.map(({ role }) => role)],
         text: textOf(thread), roles: thread.messages.map(({ role }) => role),
         sameThread: first.threadId === second.threadId,
       }));`,
    );
    expect(result).toEqual({
      runId: expect.any(String),
      keys: ['runsocket:ag-ui'],
      left: 0,
      half: words.slice(0, 20).join(' '),
      shown: ['running', ['user']],
      text: words.join(' '),
      roles: ['user', 'assistant'],
      sameThread: true,
    });
    const { runId } = result as { runId: string };
    expect(server.starts).toEqual(new Map([[runId, 1]]));
    expect(server.received.map(({ type }) => type)).toEqual(['run', 'resume']);
    expect(server.received[1]).toEqual({ type: 'resume', runId });
  });

  it('gives the events of a run to a loop', async () => {
    server = await startAgentServer({ whole: true });
    const result = await run(
      'loop',
      `const client = createWebSocketClient('${server.url}', { WebSocket });
       const runs = createRuns(client);
       const types = [];
       for await (const { type } of runs.start({ threadId: 'thread' })) types.push(type);
       runs.dispose();
       console.log(JSON.stringify([types.length, types[0], types.at(-1)]));`,
    );
    expect(result).toEqual([44, 'RUN_STARTED', 'RUN_FINISHED']);
  });
});
