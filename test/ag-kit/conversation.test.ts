import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import * as zod from 'zod';
import { agKitRuns } from '../../src/ag-kit/ag-kit-runs.ts';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { AgUiAgent, AgUiAgentOptions } from '../../src/ag-ui/agent-types.ts';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import { validateAgUiEvents } from '../../src/ag-ui/validate-ag-ui-events.ts';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import type { AgUiProviderOptions } from '../../src/agent-provider/ag-ui-provider-types.ts';
import { createAgentChat } from '../../src/agent-provider/agent-chat.ts';
import { createMemoryAgentCheckpointStorage } from '../../src/agent-provider/checkpoint-storage.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { createStorageBytes, type StorageBytes } from '../helpers/storage.ts';
import { startTcpProxy, type TcpProxy } from '../helpers/tcp-proxy.ts';
import { until } from '../helpers/until.ts';
import {
  type AgKitServer,
  call,
  interrupt,
  questions,
  result,
  type Script,
  type SentInput,
  startAgKitServer,
  text,
  wholeConversation,
} from './conversation-set-up.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function start(script?: (input: SentInput) => Script): Promise<AgKitServer> {
  const server = await startAgKitServer(script);
  cleanUps.push(() => server.close());
  return server;
}

function connect(port: number) {
  const client = createWebSocketClient(`ws://127.0.0.1:${port}`, {
    WebSocket,
    backoff: { first: 5, min: 5, max: 30 },
  });
  cleanUps.push(() => client.close());
  return client;
}

const rolesAndTexts = (agent: AgUiAgent) =>
  agent.getSnapshot().messages.map(({ role, content }) => [role, content]);

/** A page with an agent. */
function open(port: number, options: AgUiAgentOptions = {}) {
  const agent: AgUiAgent = createAgUiAgent(connect(port), {
    ...agKitRuns(),
    storage: null,
    threadId: 'desk',
    ...options,
  });
  const events: AgUiEvent[] = [];
  const errors: string[] = [];
  agent.on('event', (event) => events.push(event));
  agent.on('error', ({ message }) => errors.push(message));
  cleanUps.push(agent.connect());
  cleanUps.push(() => agent.dispose());
  const isOver = () => agent.getSnapshot().status !== 'running';
  return {
    agent,
    events,
    errors,
    ask: (content: string) => agent.run({ messages: [{ role: 'user', content }] }),
    end: () => until(isOver),
    said: () => rolesAndTexts(agent),
    answer(approved: boolean) {
      const [{ id } = { id: '' }] = agent.getSnapshot().interrupts ?? [];
      return agent.answer({ [id]: { status: 'resolved', payload: { approved } } });
    },
  };
}

/** Lets the server go on wherever it waits. */
const hurry = (server: AgKitServer) => {
  const timer = setInterval(server.go, 5);
  cleanUps.push(() => clearInterval(timer));
};

const user = (content: string) => ({ role: 'user', content });

describe('an agent over AG-Kit', () => {
  /** The conversation of three turns behind a proxy that breaks as `fault` says. */
  async function converse(fault: (proxy: TcpProxy) => void, options: AgUiAgentOptions = {}) {
    const server = await start();
    hurry(server);
    const proxy = await startTcpProxy(server.port);
    cleanUps.push(() => proxy.close());
    fault(proxy);
    const page = open(proxy.port, options);
    page.ask(questions[0]);
    await page.end();
    for (const [index, approved] of [true, false].entries()) {
      page.ask(questions[index + 1] ?? '');
      await page.end();
      page.answer(approved);
      await page.end();
    }
    return { server, proxy, ...page };
  }

  it('tells a conversation of three turns', async () => {
    const { said, events, errors, server } = await converse(() => {});
    expect(said()).toEqual(wholeConversation);
    expect(validateAgUiEvents(events)).toEqual([]);
    expect(errors).toEqual([]);
    expect(server.errors).toEqual([]);
    const resume = (interruptId: string, approved: boolean) => ({
      conversationId: 'desk',
      resume: { interruptId, payload: { approved } },
    });
    expect(server.inputs).toEqual([
      { conversationId: 'desk', messages: [user(questions[0])] },
      { conversationId: 'desk', messages: [user(questions[1])] },
      resume('i1', true),
      { conversationId: 'desk', messages: [user(questions[2])] },
      resume('i2', false),
    ]);
  });

  it('tells the same wherever the connection breaks, and every run is executed once', async () => {
    for (let bytes = 150; bytes < 2_000; bytes += 130) {
      const { said, server, proxy } = await converse((proxy) =>
        proxy.cutAfter(bytes, 'down', bytes % 20 ? 'rst' : 'fin'),
      );
      expect(said(), `cut after ${bytes}`).toEqual(wholeConversation);
      expect(proxy.accepted).toBeGreaterThan(1);
      expect(server.starts()).toEqual([1, 1, 1, 1, 1]);
      expect(server.inputs.map(({ messages = [] }) => messages.length)).toEqual([1, 1, 0, 1, 0]);
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    }
  });

  it('asks again with the same messages where a start may be lost', async () => {
    const server = await start(({ resume }) =>
      resume ? [text('Done.'), '[DONE]'] : [interrupt('i1', { message: 'Sure?' }), '[DONE]'],
    );
    const proxy = await startTcpProxy(server.port);
    cleanUps.push(() => proxy.close());
    const bytes = createStorageBytes();
    const remembered = () => ({
      restart: true,
      storage: bytes.page(),
      remember: 'thread' as const,
    });

    /** Does what starts a run, whose start arrives while nothing comes back. */
    async function lose(page: ReturnType<typeof open>, begin: () => void) {
      const { size } = server.runs;
      proxy.blackHole(true, 'down');
      begin();
      await until(() => server.runs.size > size);
      proxy.cut();
      proxy.blackHole(false);
      await until(() => server.starts()[size] === 2);
      // A server that takes a start twice answers the second with its log.
      const [runId = '', run] = [...server.runs].at(-1) ?? [];
      for (const socket of server.sockets) {
        run?.log.forEach(
          (event, offset) => void socket.send(JSON.stringify({ runId, offset, event })),
        );
      }
      await page.end();
    }

    const first = open(proxy.port, remembered());
    await first.agent.client.ready;
    await lose(first, () => first.ask('Do it.'));
    first.agent.dispose();
    // What the next page knows of the question is no message of the server's.
    const next = open(proxy.port, remembered());
    await next.agent.client.ready;
    await lose(next, () => next.answer(true));
    expect(next.said()).toEqual([
      ['user', 'Do it.'],
      ['assistant', 'Done.'],
    ]);

    const sent = (server.received as { type: string; input: SentInput }[]).filter(
      ({ type }) => type === 'run',
    );
    const resume = { interruptId: 'i1', payload: { approved: true } };
    expect(sent.map(({ input }) => input)).toEqual([
      { conversationId: 'desk', messages: [user('Do it.')] },
      { conversationId: 'desk', messages: [user('Do it.')] },
      { conversationId: 'desk', resume },
      { conversationId: 'desk', resume },
    ]);
    expect(server.inputs).toHaveLength(2);
  });

  it('sends a question again that was stopped before the server had it', async () => {
    const server = await start();
    hurry(server);
    const proxy = await startTcpProxy(server.port);
    cleanUps.push(() => proxy.close());
    const { agent, ask, end } = open(proxy.port);
    await proxy.refuse(true);
    ask('Are you there?');
    agent.abort();
    await proxy.refuse(false);
    ask(questions[0]);
    await end();
    expect(server.inputs.at(-1)?.messages).toEqual([user('Are you there?'), user(questions[0])]);
  });

  it('takes a failure that is told by AG-UI’s own event', async () => {
    const failure = { type: 'RUN_ERROR', message: 'The agent fell over.', code: 'fell' };
    const server = await start(() => [text('I am about'), failure]);
    const { agent, ask, end, said } = open(server.port);
    ask('Hi');
    await end();
    expect(agent.getSnapshot()).toMatchObject({
      status: 'error',
      error: { message: 'The agent fell over.', code: 'fell' },
    });
    expect(said()).toEqual([
      ['user', 'Hi'],
      ['assistant', 'I am about'],
    ]);
  });

  it('goes on from a log that mixes both dialects', async () => {
    const server = await start(() => [
      text('One '),
      { type: 'STATE_SNAPSHOT', snapshot: { step: 2 } } as { type: string },
      text('two.'),
      '[DONE]',
    ]);
    const { agent, ask, end, said, events } = open(server.port);
    ask('Count');
    await end();
    expect(said().at(-1)).toEqual(['assistant', 'One two.']);
    expect(agent.getSnapshot().state).toEqual({ step: 2 });
    expect(validateAgUiEvents(events)).toEqual([]);
  });

  it('skips what is no event, and takes ids such as __proto__', async () => {
    const server = await start(() => [
      { type: 'text' },
      { type: 'nonsense' },
      ...call('__proto__', 'constructor', '{"a":1}'),
      result('__proto__', 'toString'),
      { type: 'tool-result', toolCallId: 7, result: {} } as never,
      interrupt('__proto__', '{"message":"Sure?"}'),
      '[DONE]',
    ]);
    const { agent, ask, end, events } = open(server.port);
    ask('Hi');
    await end();
    expect(validateAgUiEvents(events)).toEqual([]);
    expect(agent.getSnapshot().messages.slice(1)).toMatchObject([
      { toolCalls: [{ id: '__proto__', function: { name: 'constructor', arguments: '{"a":1}' } }] },
      { role: 'tool', toolCallId: '__proto__', content: 'toString' },
    ]);
    expect(agent.getSnapshot().interrupts).toMatchObject([{ id: '__proto__', message: 'Sure?' }]);
    expect(({} as { message?: unknown }).message).toBeUndefined();
  });
});

describe('a provider over AG-Kit', () => {
  const locate = (args: unknown) => `Main Street ${(args as { exact: boolean }).exact ? 1 : 0}`;

  /** Asks for the page's tool, then speaks of what it said. */
  const near = ({ messages, resume }: SentInput): Script => {
    const last = messages?.at(-1);
    if (resume) return [text('Fine.'), '[DONE]'];
    if (last?.role === 'tool') return [text(`You are at ${last.content}.`), '[DONE]'];
    if (last?.content === 'Book') return [interrupt('i1', { message: 'Sure?' }), '[DONE]'];
    return [text('Let me see.'), ...call('c1', 'locate', '{"exact":true}'), 'wait', '[DONE]'];
  };

  function openChat(
    port: number,
    options: Partial<AgUiProviderOptions> = {},
    bytes: StorageBytes = createStorageBytes(),
  ) {
    const provider = createAgUiProvider({
      client: connect(port) as never,
      checkpointStorage: null,
      ...options,
      agentOptions: { ...agKitRuns(), storage: bytes.page(), ...options.agentOptions },
    });
    cleanUps.push(() => provider.dispose());
    const chat = createAgentChat({ provider, conversationKey: 'c' });
    cleanUps.push(chat.subscribe(() => {}));
    return {
      chat,
      provider,
      state: () => chat.getSnapshot().agentState,
      said: () => chat.getSnapshot().messages.map(({ message }) => [message.role, message.content]),
      end: () => until(() => !chat.getSnapshot().isRequesting),
      asks: () =>
        Object.values(chat.getSnapshot().agentState.approvals).some(
          ({ id, status }) => id === 'i1' && status === 'waiting',
        ),
    };
  }

  it('lets a tool of the page answer in the next request, over a broken connection', async () => {
    const server = await start(near);
    const proxy = await startTcpProxy(server.port);
    cleanUps.push(() => proxy.close());
    const { chat, end, said, state, provider } = openChat(proxy.port, { clientTools: { locate } });
    const tools = [{ name: 'locate', description: 'Where.', parameters: { type: 'object' } }];
    chat.onRequest({ messages: [{ role: 'user', content: 'Near?' }], tools });
    await server.waits();
    proxy.cut();
    server.go();
    await end();
    const whole = [
      ['user', 'Near?'],
      ['assistant', 'Let me see.'],
      ['assistant', 'You are at Main Street 1.'],
    ];
    expect(said()).toEqual(whole);
    expect(rolesAndTexts(provider.getAgent('c')).filter(([role]) => role !== 'tool')).toEqual(
      whole,
    );
    expect(state().issues).toEqual([]);
    expect(Object.values(state().toolCalls)).toMatchObject([
      { id: 'c1', name: 'locate', status: 'completed', result: 'Main Street 1' },
    ]);
    expect(Object.values(state().runs)).toMatchObject([{ status: 'completed' }]);
    expect(server.starts()).toEqual([1, 1]);
    expect(server.inputs[0]).toMatchObject({ messages: [user('Near?')], tools });
    expect(server.inputs[1]?.messages).toEqual([
      { role: 'tool', toolCallId: 'c1', content: 'Main Street 1' },
    ]);
  });

  it('keeps the threads of its conversations apart', async () => {
    const server = await start(() => [text('Yes.'), '[DONE]']);
    const { provider } = openChat(server.port);
    const [one, two] = [provider.getAgent('one'), provider.getAgent('two')];
    for (const agent of [one, two, one, two]) {
      agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
      await until(() => agent.getSnapshot().status === 'finished');
    }
    expect(server.inputs.map(({ conversationId }) => conversationId)).toEqual([
      one.threadId,
      two.threadId,
      one.threadId,
      two.threadId,
    ]);
    expect(server.inputs.map(({ messages }) => messages)).toEqual(Array(4).fill([user('Hi')]));
  });

  it('asks the next question past an open one that AG-Kit cannot cancel', async () => {
    const server = await start(near);
    const { chat, state, asks } = openChat(server.port);
    chat.onRequest({ prompt: 'Book' });
    await until(() => asks());
    chat.onRequest({ prompt: 'Something else' });
    await until(() => server.inputs.length === 2);
    expect(server.inputs[1]).toEqual({
      conversationId: server.inputs[0]?.conversationId,
      messages: [user('Something else')],
    });
    expect(Object.values(state().approvals)[0]).toMatchObject({ decision: 'expired' });
    expect(state().issues).toEqual([]);
  });

  it('answers an open question with the payload that means no, and asks the next one', async () => {
    const server = await start(near);
    const cancelPayload = { approved: false };
    const { chat, end, state, asks } = openChat(server.port, {
      agentOptions: agKitRuns({ cancelPayload }) as never,
    });
    chat.onRequest({ prompt: 'Book' });
    await until(() => asks());
    chat.onRequest({ prompt: 'Something else' });
    await end();
    expect(server.inputs[1]).toMatchObject({
      resume: { interruptId: 'i1', payload: cancelPayload },
      messages: [user('Something else')],
    });
    expect(Object.values(state().runs).at(-1)).toMatchObject({ status: 'completed' });
    expect(state().issues).toEqual([]);
  });
});

describe('what a provider offers', () => {
  it.each([
    ['JSON Schema', { type: 'object', properties: { exact: { type: 'boolean' } } }],
    ['a schema of zod 4', zod.object({ exact: zod.boolean() })],
  ])('is offered again with each answer, also on the next page: %s', async (_, parameters) => {
    const tools = [{ name: 'locate', description: 'Where.', parameters }];
    const server = await start(({ messages, resume }) => {
      if (resume) return [...call('c2', 'locate', '{"exact":false}'), '[DONE]'];
      const last = messages?.at(-1);
      if (last?.role !== 'tool') return [...call('c1', 'locate', '{"exact":true}'), '[DONE]'];
      return last.content?.endsWith('1') ? [interrupt('i1', null), '[DONE]'] : ['[DONE]'];
    });
    const bytes = createStorageBytes();
    const checkpoints = createMemoryAgentCheckpointStorage();
    const page = () => {
      const provider = createAgUiProvider({
        client: connect(server.port) as never,
        checkpointStorage: checkpoints,
        agentOptions: { ...agKitRuns(), storage: bytes.page() },
        clientTools: {
          locate: (args) => `Main Street ${(args as { exact: boolean }).exact ? 1 : 0}`,
        },
      });
      const chat = createAgentChat({ provider, conversationKey: 'c' });
      const stop = chat.subscribe(() => {});
      const leave = () => {
        stop();
        chat.dispose();
        provider.dispose();
      };
      cleanUps.push(leave);
      return { chat, leave };
    };
    const waiting = ({ chat }: ReturnType<typeof page>) =>
      Object.values(chat.getSnapshot().agentState.approvals).find(
        ({ status }) => status === 'waiting',
      );
    const first = page();
    first.chat.onRequest({ messages: [{ role: 'user', content: 'Near?' }], tools });
    await until(() => waiting(first) !== undefined);
    first.leave();
    const next = page();
    await until(() => waiting(next) !== undefined);
    const { runId, id: approvalId } = waiting(next) ?? { runId: '', id: '' };
    await next.chat.agentActions.resolveApproval({ runId, approvalId, decision: 'approved' });
    await until(() => !next.chat.getSnapshot().isRequesting);
    expect(server.inputs).toHaveLength(4);
    const sent = server.inputs.map((input) => input.tools);
    expect(sent).toEqual(Array(4).fill(sent[0]));
    expect(sent[0]).toMatchObject([
      {
        name: 'locate',
        parameters: { type: 'object', properties: { exact: { type: 'boolean' } } },
      },
    ]);
    expect(next.chat.getSnapshot().agentState.issues).toEqual([]);
  });
});
