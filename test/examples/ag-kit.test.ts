import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { AgUiAgent } from '../../src/ag-ui/agent-types.ts';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import type { ResumeEntry } from '../../src/ag-ui/interrupts.ts';
import type { AgUiMessage } from '../../src/ag-ui/messages.ts';
import { validateAgUiEvents } from '../../src/ag-ui/validate-ag-ui-events.ts';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import { createAgentChat } from '../../src/agent-provider/agent-chat.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { until } from '../helpers/until.ts';
import { type AgKitEndpoint, createAgKitRun, readEvents, startAgKit } from './ag-kit-server.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** The example, and a client of it behind a proxy. */
async function serve({ pace = 100, url }: { readonly pace?: number; readonly url?: string } = {}) {
  const example = await startAgKit({ pace, ...(url !== undefined && { url }) });
  cleanups.push(() => example.close());
  const proxy = await startTcpProxy(example.port);
  cleanups.push(() => proxy.close());
  const client = createWebSocketClient(`ws://127.0.0.1:${proxy.port}/agent`, {
    WebSocket,
    backoff: { first: 5, min: 5, max: 50 },
  });
  cleanups.push(() => client.close());
  return { proxy, client, endpoint: example.endpoint as AgKitEndpoint };
}

async function open(options?: { readonly pace?: number; readonly url?: string }) {
  const served = await serve(options);
  const agent: AgUiAgent = createAgUiAgent(served.client, { storage: null, threadId: 'desk' });
  const events: AgUiEvent[] = [];
  agent.on('event', (event) => events.push(event));
  cleanups.push(agent.connect());
  cleanups.push(() => agent.dispose());
  return {
    ...served,
    agent,
    events,
    start: (content: string) => agent.run({ messages: [{ role: 'user', content }] }),
    end: () => until(() => agent.getSnapshot().status !== 'running'),
    said: () =>
      agent.getSnapshot().messages.map(({ role, content }) => `${role}: ${String(content)}`),
    async ask(content: string) {
      agent.run({ messages: [{ role: 'user', content }] });
      await until(() => agent.getSnapshot().status !== 'running');
      return agent.getSnapshot();
    },
  };
}

/** An HTTP server that answers every request as `respond` does. */
async function serveHttp(respond: (response: ServerResponse, body: string) => void) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    respond(response, body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const user = (content: string) => ({ role: 'user', content });

describe('the run server in front of an AG-Kit endpoint', () => {
  it('streams text, a tool and its result', async () => {
    const { ask, said, endpoint, events } = await open();
    expect((await ask('A train to Basel?')).status).toBe('finished');
    expect(said()).toEqual([
      'user: A train to Basel?',
      'assistant: I look that up.',
      'tool: {"to":"Basel","at":"10:11","price":31}',
      'assistant: The next train to Basel leaves at 10:11.',
    ]);
    expect(validateAgUiEvents(events)).toEqual([]);
    const { messages } = endpoint.conversations.get('desk') ?? {};
    expect(messages?.[1]).toMatchObject({
      toolCalls: [{ function: { name: 'find_train', arguments: '{"to":"Basel"}' } }],
    });
  });

  it('tells the endpoint what is new, and nothing that it knows', async () => {
    const { ask, agent, end, said, endpoint } = await open();
    await ask('Hello');
    await ask('Book one to Bern.');
    const { interrupts } = agent.getSnapshot();
    expect(interrupts).toMatchObject([
      { reason: 'approval', message: 'Book the 10:04 to Bern for 24 francs?' },
    ]);
    const id = interrupts?.[0]?.id ?? '';
    agent.answer({ [id]: { status: 'resolved', payload: { approved: true } } });
    await end();
    await ask('Book one to Lugano.');
    const second = agent.getSnapshot().interrupts?.[0]?.id ?? '';
    agent.answer({ [second]: { status: 'resolved', payload: { approved: false } } });
    await end();
    expect(said().slice(3)).toEqual([
      'assistant: The 10:04 to Bern has seats left. I need your leave to pay.',
      'assistant: Booked: the 10:04 to Bern. Have a good journey!',
      'user: Book one to Lugano.',
      'assistant: The 10:32 to Lugano has seats left. I need your leave to pay.',
      'assistant: I did not book the 10:32 to Lugano.',
    ]);
    const resume = (interruptId: string, approved: boolean) => ({
      conversationId: 'desk',
      resume: { interruptId, payload: { approved } },
    });
    expect(endpoint.requests).toMatchObject([
      { conversationId: 'desk', messages: [user('Hello')] },
      { conversationId: 'desk', messages: [user('Book one to Bern.')] },
      resume(id, true),
      { conversationId: 'desk', messages: [user('Book one to Lugano.')] },
      resume(second, false),
    ]);
    expect(endpoint.requests.map(({ messages }) => messages?.length ?? 0)).toEqual([1, 1, 0, 1, 0]);
    // What it keeps is what the client shows.
    const kept = endpoint.conversations.get('desk')?.messages ?? [];
    expect(kept.map(({ role, content }) => `${role}: ${content}`)).toEqual(said());
  });

  it.each(['drop', 'end'] as const)(
    'fails a run whose stream is cut (%s), and goes on',
    async (how) => {
      const { ask, agent, said, endpoint, events } = await open();
      endpoint.cutAfter(2, how);
      const cut = await ask('Hello');
      expect(cut.status).toBe('error');
      expect(cut.error?.message).toMatch(/./);
      expect(said()).toEqual(['user: Hello', 'assistant: This is']);
      expect(validateAgUiEvents(events)).toEqual([]);
      expect((await ask('Hello again')).status).toBe('finished');
      expect(said()[3]).toMatch(/^assistant: This is question 2 /);
      expect(endpoint.requests[1]?.messages).toEqual([user('Hello again')]);
      expect(agent.getSnapshot().error).toBeUndefined();
    },
  );

  it('fails a run whose agent falls over', async () => {
    const { ask, said } = await open();
    expect((await ask('Please break')).status).toBe('error');
    expect(said()[1]).toBe('assistant: I am about to');
  });

  it('tells what the endpoint refused, and asks again with the next question', async () => {
    const bodies: { messages: unknown }[] = [];
    const url = await serveHttp((response, body) => {
      bodies.push(JSON.parse(body));
      if (bodies.length === 1) return response.writeHead(503).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('data: {"type":"text","content":"Hi"}\n\ndata: [DONE]\n\n');
    });
    const { ask, said } = await open({ url });
    expect(await ask('Hello')).toMatchObject({
      status: 'error',
      error: { message: 'The AG-Kit server answered 503.' },
    });
    expect((await ask('Still there?')).status).toBe('finished');
    expect(bodies.map(({ messages }) => messages)).toEqual([
      [user('Hello')],
      [user('Hello'), user('Still there?')],
    ]);
    expect(said()).toEqual(['user: Hello', 'user: Still there?', 'assistant: Hi']);
  });

  it('answers a question that came without a word, and says nothing twice', async () => {
    const bodies: unknown[] = [];
    const url = await serveHttp((response, body) => {
      bodies.push(JSON.parse(body));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const event =
        bodies.length === 1
          ? { type: 'interrupt', id: 'i1', reason: 'approval', payload: null }
          : { type: 'text', content: 'Done.' };
      response.end(`data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`);
    });
    const { agent, ask, end, said } = await open({ url });
    await ask('Do it.');
    const input = { messages: [{ role: 'user', content: 'By noon, please.' }] } as const;
    agent.answer({ i1: { status: 'resolved', payload: { approved: true } } }, input);
    await end();
    expect(said()).toEqual(['user: Do it.', 'user: By noon, please.', 'assistant: Done.']);
    const resume = { interruptId: 'i1', payload: { approved: true } };
    expect(bodies).toEqual([
      { conversationId: 'desk', messages: [user('Do it.')] },
      { conversationId: 'desk', messages: [user('By noon, please.')], resume },
    ]);

    // A process that was started since does not know what was taken: an answer goes alone.
    const { signal } = new AbortController();
    const askAgain = async (resume: readonly ResumeEntry[], ...messages: AgUiMessage[]) => {
      const run = await createAgKitRun(url);
      const first: AgUiMessage = { id: '1', role: 'user', content: 'Do it.' };
      const input = { threadId: 'desk', runId: 'r', tools: [], context: [] };
      const events = run({
        input: { ...input, messages: [first, ...messages], resume: [...resume] },
        runId: 'r',
        threadId: 'desk',
        signal,
      });
      for await (const _ of events);
      return bodies.at(-1);
    };
    const { payload } = resume;
    expect(await askAgain([{ interruptId: 'i1', status: 'resolved', payload }])).toEqual({
      conversationId: 'desk',
      resume,
    });
    // What was asked in place of an answer is not lost with it.
    const next: AgUiMessage = { id: '2', role: 'user', content: 'Or rather not.' };
    expect(await askAgain([{ interruptId: 'i1', status: 'cancelled' }], next)).toMatchObject({
      messages: [user('Do it.'), user('Or rather not.')],
    });
  });

  it('fails a run where nobody answers', async () => {
    const url = await serveHttp((response) => response.destroy());
    const { ask } = await open({ url });
    const { status, error } = await ask('Hello');
    expect([status, typeof error?.message]).toEqual(['error', 'string']);
  });

  it('gives a run whole to a client whose connection breaks, with one request', async () => {
    const { agent, start, end, said, proxy, endpoint } = await open({ pace: 4 });
    start('A train to Lugano?');
    for (const length of [3, 4]) {
      await until(() => said().length >= length || said()[1] === 'assistant: I look');
      proxy.cut(length % 2 ? 'rst' : 'fin');
    }
    await end();
    expect(said()).toEqual([
      'user: A train to Lugano?',
      'assistant: I look that up.',
      'tool: {"to":"Lugano","at":"10:32","price":58}',
      'assistant: The next train to Lugano leaves at 10:32.',
    ]);
    expect(proxy.accepted).toBeGreaterThan(1);
    expect(endpoint.requests).toHaveLength(1);
    expect(agent.getSnapshot().stale).toBe(false);
  });

  it('hangs up on the endpoint when the run is stopped', async () => {
    const { agent, start, end, endpoint, said } = await open({ pace: 1 });
    const runId = start('Hello');
    await until(() => said().length === 2);
    expect(endpoint.streams()).toBe(1);
    agent.abort();
    await end();
    expect(agent.getSnapshot().status).toBe('aborted');
    await until(() => endpoint.streams() === 0);
    expect(await agent.runs.get(runId)?.done).toMatchObject({ status: 'cancelled' });
  });

  it('hangs up on an endpoint that says nothing, too', async () => {
    let isClosed = false;
    let isAsked = false;
    const url = await serveHttp((response) => {
      isAsked = true;
      response.on('close', () => {
        isClosed = true;
      });
    });
    const { agent, start } = await open({ url });
    start('Hello');
    await until(() => isAsked);
    agent.abort();
    await until(() => isClosed);
  });

  it('refuses a question that the user does not answer, and takes the next one', async () => {
    const { agent, ask, end, said } = await open();
    await ask('Book one to Basel.');
    const interruptId = agent.getSnapshot().interrupts?.[0]?.id ?? '';
    agent.run({
      messages: [{ role: 'user', content: 'A train to Bern?' }],
      resume: [{ interruptId, status: 'cancelled' }],
    });
    await end();
    expect(agent.getSnapshot().status).toBe('finished');
    expect(said().slice(2)).toEqual([
      'user: A train to Bern?',
      'assistant: I did not book the 10:11 to Basel. I look that up.',
      'tool: {"to":"Bern","at":"10:04","price":24}',
      'assistant: The next train to Bern leaves at 10:04.',
    ]);
  });

  it('lets a tool of the page answer, in two requests', async () => {
    const { client, endpoint } = await serve();
    const asked: unknown[] = [];
    const provider = createAgUiProvider({
      client: client as never,
      agentOptions: { storage: null },
      checkpointStorage: null,
      clientTools: {
        locate(args) {
          asked.push(args);
          return 'Main Street 1';
        },
      },
    });
    cleanups.push(() => provider.dispose());
    const chat = createAgentChat({ provider, conversationKey: 'c' });
    cleanups.push(chat.subscribe(() => {}));
    const parameters = { type: 'object', properties: { exact: { type: 'boolean' } } };
    const tool = { name: 'locate', description: 'Where the traveller is.', parameters };
    chat.onRequest({ messages: [{ role: 'user', content: 'What is near me?' }], tools: [tool] });
    await until(() => endpoint.requests.length === 2 && !chat.getSnapshot().isRequesting);

    const { messages, agentState } = chat.getSnapshot();
    expect(asked).toEqual([{ exact: false }]);
    expect(messages.at(-1)?.message.content).toBe(
      'You are at Main Street 1. Trains leave from the next corner.',
    );
    expect(agentState.issues).toEqual([]);
    expect(Object.values(agentState.runs)).toMatchObject([{ status: 'completed' }]);
    const [first, second] = endpoint.requests;
    expect(first?.messages).toEqual([user('What is near me?')]);
    expect(first?.tools).toMatchObject([{ name: 'locate' }]);
    const [call] = Object.values(agentState.toolCalls);
    expect(second?.messages).toEqual([
      { role: 'tool', toolCallId: call?.id, content: 'Main Street 1' },
    ]);
  });
});

describe('the event stream that the recipe reads', () => {
  const cut = (bytes: Uint8Array, size: number) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) {
          controller.enqueue(bytes.subarray(at, at + size));
        }
        controller.close();
      },
    });

  it.each(['\n', '\r\n', '\r'])('may end its lines by %j, cut anywhere', async (end) => {
    const text = { type: 'text', content: 'Grüße, 👋🏽 世界!' };
    const bytes = new TextEncoder().encode(
      [
        '\uFEFF: a comment',
        '',
        `data: ${JSON.stringify(text)}`,
        '',
        'event: message',
        'id: 7',
        'data: {"type":"text",',
        'data:"content":"two lines"}',
        '',
        'data: no JSON',
        '',
        'data: [DONE]',
        '',
        '',
      ].join(end),
    );
    const twoLines = { type: 'text', content: 'two lines' };
    for (let size = 1; size <= bytes.length; size++) {
      expect(await readEvents(cut(bytes, size))).toEqual([text, twoLines, undefined, '[DONE]']);
    }
  });

  it('may leave out the empty line behind its last event', async () => {
    for (const rest of ['', '\n', '\r', '\r\n']) {
      const bytes = new TextEncoder().encode(`data: {"type":"text"}\n\ndata: [DONE]${rest}`);
      expect(await readEvents(cut(bytes, 5))).toEqual([{ type: 'text' }, '[DONE]']);
    }
  });

  it('fails where a line never ends, before it fills the memory', async () => {
    const url = await serveHttp((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const more = () => {
        while (!response.destroyed && response.write(`data: ${'x'.repeat(100_000)}`));
      };
      response.on('drain', more);
      more();
    });
    const { ask } = await open({ url });
    expect((await ask('Hello')).status).toBe('error');
  });
});
