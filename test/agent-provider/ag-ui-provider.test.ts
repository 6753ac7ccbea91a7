import { describe, expect, it } from 'vitest';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import type { AgUiProviderInput } from '../../src/agent-provider/ag-ui-provider-types.ts';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import { createWorld, texts } from '../helpers/world.ts';
import {
  createPage,
  event,
  faultsOf,
  interrupted,
  runFinished,
  runStarted,
  text,
  textEnd,
  textOf,
  textStart,
  toolCall,
} from './ag-ui-provider-set-up.ts';

describe('createAgUiProvider()', () => {
  it('declares what it is and can do', () => {
    const { client } = createWorld();
    const provider = createAgUiProvider({ client: client as never });
    expect(provider.id).toBe('ag-ui');
    expect(provider.protocol).toEqual({ name: 'agent-event', version: '0.1' });
    expect(provider.transport.kind).toBe('websocket');
    expect(provider.capabilities).toMatchObject({
      transports: ['websocket'],
      commands: ['approval.resolve', 'run.cancel'],
      resumable: true,
    });
    expect(provider.capabilities.eventTypes).not.toContain('session.started');
    expect(provider.capabilities.eventTypes).toContain('artifact.failed');
    expect(provider.classifyError?.(new Error('any'), undefined)).toEqual({ retryable: false });
  });

  it('offers retries only where it can tell failures and ask for them', () => {
    const { client } = createWorld();
    const commandsOf = (options: object) =>
      createAgUiProvider({ client: client as never, ...options }).capabilities.commands;
    const toolFailure = () => undefined;
    const retryTool = () => {};
    expect(commandsOf({ toolFailure })).not.toContain('tool.retry');
    expect(commandsOf({ retryTool })).not.toContain('tool.retry');
    expect(commandsOf({ toolFailure, retryTool })).toContain('tool.retry');
    expect(commandsOf({ interrupts: 'settle' })).toEqual(['run.cancel']);
  });

  it('is not resumable where a dropped connection stops the run', () => {
    const { client } = createWorld();
    const { capabilities } = createAgUiProvider({
      client: client as never,
      agentOptions: { policy: 'cancel' },
    });
    expect(capabilities.resumable).toBe(false);
  });

  it('refuses to be without a client and without an agent', () => {
    expect(() => createAgUiProvider({})).toThrow(/client or an agent/);
  });

  it('refuses an agent that is none', () => {
    const provider = createAgUiProvider({ agent: {} as never });
    const events = { create: () => ({}), getSequence: () => 0 } as never;
    expect(() => provider.createContext({ sessionId: 's', runId: 'r', events })).toThrow(
      /createAgUiAgent/,
    );
  });

  it('connects to nothing by itself', async () => {
    const page = createPage();
    page.provider.getAgent('s');
    await page.settle();
    expect(page.world.network.sockets.length).toBe(0);
  });

  it('keeps one agent for each session', () => {
    const { provider } = createPage();
    expect(provider.getAgent('a')).toBe(provider.getAgent('a'));
    expect(provider.getAgent('a')).not.toBe(provider.getAgent('b'));
    expect(provider.getAgent('__proto__')).toBe(provider.getAgent('__proto__'));
  });

  it('asks for the agent of a session once', () => {
    const world = createWorld();
    const asked: string[] = [];
    const provider = createAgUiProvider({
      agent(sessionId) {
        asked.push(sessionId);
        return world.agent({ threadId: sessionId });
      },
    });
    expect(provider.getAgent('a').threadId).toBe('a');
    provider.getAgent('a');
    provider.getAgent('b');
    expect(asked).toEqual(['a', 'b']);
  });
});

describe('a run', () => {
  it('shows the same text in the store and in the thread, over one socket and one run message', async () => {
    const page = createPage();
    page.run({ prompt: 'Hi' });
    await page.settle();
    page.server.append('r', runStarted(), textStart(), text('Hel'));
    await page.settle();
    expect(textOf(page.store.getSnapshot())).toBe('Hel');
    expect(page.reading.outcome).toBeUndefined();
    page.server.append('r', text('lo'), textEnd(), runFinished());
    page.server.end('r', 'finished');
    await page.settle();
    expect(page.reading.outcome).toBe('ended');
    const agent = page.provider.getAgent('s');
    expect(texts(agent)).toEqual(['Hi', 'Hello']);
    expect(textOf(page.store.getSnapshot())).toBe('Hello');
    expect(page.server.received.filter(({ type }) => type === 'run').length).toBe(1);
    expect(page.world.network.sockets.length).toBe(1);
    expect(faultsOf(page)).toEqual([]);
    const [question] = agent.getSnapshot().messages;
    expect(page.lines).toEqual([
      '0 run.started',
      `1 message.started ${question?.id}`,
      `2 message.completed ${question?.id}`,
      '3 message.started m',
      '4 message.delta m Hel',
      '5 message.delta m lo',
      '6 message.completed m',
      '7 run.completed',
    ]);
  });

  it('sends all that AG-UI takes, and the history of its session', async () => {
    const page = createPage();
    const tools = [{ name: 'look', description: 'looks' }];
    page.run({
      messages: [{ id: 'u', role: 'user', content: 'Hi' }],
      tools,
      context: [{ description: 'd', value: 'v' }],
      forwardedProps: { f: 1 },
    });
    await page.settle();
    expect(page.server.runs.get('r')?.input).toMatchObject({
      messages: [{ id: 'u', role: 'user', content: 'Hi' }],
      tools,
      context: [{ description: 'd', value: 'v' }],
      forwardedProps: { f: 1 },
    });
    page.server.append('r', runStarted(), textStart(), text('Ho'), textEnd(), runFinished());
    page.server.end('r', 'finished');
    await page.settle();
    page.run({ prompt: 'And?' }, { runId: 'r2' });
    await page.settle();
    const { messages } = page.server.runs.get('r2')!.input as { messages: { content: string }[] };
    expect(messages.map(({ content }) => content)).toEqual(['Hi', 'Ho', 'And?']);
  });

  it('goes on from the state and the messages of its thread', async () => {
    const provider = {
      agentOptions: {
        state: { n: 1 },
        messages: [{ id: 'old', role: 'assistant', content: 'Before' }],
      },
    } as const;
    const page = createPage({ provider });
    page.run({});
    await page.settle();
    page.server.append('r', runStarted());
    page.server.append('r', event('STATE_DELTA', { delta: [{ op: 'add', path: '/m', value: 2 }] }));
    page.server.append(
      'r',
      event('MESSAGES_SNAPSHOT', {
        messages: [
          ...provider.agentOptions.messages,
          { id: 'new', role: 'assistant', content: 'Now' },
        ],
      }),
    );
    await page.settle();
    expect(Object.values(page.store.getSnapshot().artifacts)).toMatchObject([
      { content: { n: 1, m: 2 } },
    ]);
    expect(textOf(page.store.getSnapshot())).toBe('Now');
  });

  it('asks again under another message id', async () => {
    const page = createPage();
    const input: AgUiProviderInput = { messages: [{ id: 'u', role: 'user', content: 'Hi' }] };
    for (const runId of ['r', 'r2']) {
      page.run(input, { runId });
      await page.settle();
      page.server.append(runId, runStarted(runId), runFinished(runId));
      page.server.end(runId, 'finished');
      await page.settle();
    }
    const ids = page.provider
      .getAgent('s')
      .getSnapshot()
      .messages.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    const inStore = Object.values(page.store.getSnapshot().messages).map(({ id }) => id);
    expect(inStore).toEqual(ids);
  });

  it('takes an input without messages, and none at all', async () => {
    const page = createPage();
    page.run({});
    await page.settle();
    page.run(undefined as never, { runId: 'r2' });
    await page.settle();
    expect([...page.server.runs.keys()]).toEqual(['r', 'r2']);
  });

  it('that cannot be sent fails, and nothing has changed', async () => {
    const page = createPage();
    page.run({ messages: [], forwardedProps: { n: 1n } });
    await page.settle();
    expect(page.lines).toEqual(['0 run.started', expect.stringMatching(/^1 run.failed/)]);
    expect(page.reading.outcome).toBe('ended');
    expect(page.server.runs.size).toBe(0);
    expect(page.provider.getAgent('s').getSnapshot().status).toBe('idle');
  });

  it('whose input cannot be read fails with a start and an end', async () => {
    const page = createPage();
    page.run({ messages: 7 as never });
    await page.settle();
    expect(page.lines).toEqual(['0 run.started', expect.stringMatching(/^1 run.failed/)]);
  });

  it('that the agent fails is failed', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.server.append('r', event('RUN_ERROR', { message: '', code: 'E' }));
    page.server.end('r', 'error');
    await page.settle();
    expect(page.lines.slice(3)).toEqual(['3 run.failed E']);
    expect(page.events.at(-1)?.payload).toMatchObject({ error: { message: /./ } });
    expect(faultsOf(page)).toEqual([]);
  });

  it('that has finished stays so, whatever comes behind it', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.server.append('r', runStarted(), textStart(), text('one'), textEnd(), runFinished());
    page.server.append('r', event('RUN_ERROR', { message: 'late' }), text('late'));
    page.server.end('r', 'error');
    await page.settle();
    expect(page.lines.slice(5)).toEqual(['5 message.completed m', '6 run.completed']);
    expect(page.reading.outcome).toBe('ended');
  });

  it('goes on behind a first end, until the server says that it is over', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.server.append(
      'r',
      runStarted(),
      textStart('a'),
      text('one', 'a'),
      textEnd('a'),
      runFinished(),
    );
    await page.settle();
    expect(page.reading.outcome).toBeUndefined();
    page.server.append('r', runStarted('again'), textStart('b'), text('two', 'b'), textEnd('b'));
    page.server.append('r', runFinished('again'));
    page.server.end('r', 'finished');
    await page.settle();
    expect(textOf(page.store.getSnapshot())).toBe('one|two');
    expect(page.lines.filter((line) => / run\./.test(line))).toEqual([
      '0 run.started',
      '9 run.completed',
    ]);
  });

  it.each([
    ['finished', '6 run.completed', 'finished'],
    ['cancelled', '6 run.cancelled', 'aborted'],
    ['error', '6 run.failed run-lost', 'error'],
    ['lost', '6 run.failed run-lost', 'error'],
  ] as const)(
    'whose log ends as %s without an event of its own ends with that',
    async (status, line, shown) => {
      const page = createPage();
      page.run();
      await page.settle();
      page.server.append('r', runStarted(), textStart(), text('Hi'));
      page.server.end('r', status);
      await page.settle();
      expect(page.lines.at(-1)).toBe(line);
      expect(page.provider.getAgent('s').getSnapshot().status).toBe(shown);
      expect(faultsOf(page)).toEqual([]);
    },
  );

  it('that the server does not know fails with its code', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.server.append('r', runStarted(), textStart(), text('Hi'));
    page.server.evict('r');
    await page.world.reconnect();
    expect(page.lines.slice(5)).toEqual([
      '5 message.failed m run-unknown',
      '6 run.failed run-unknown',
    ]);
    expect(page.provider.getAgent('s').getSnapshot().error?.code).toBe('run-unknown');
  });

  it('on a client that is closed for good fails with the code closed', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.server.append('r', runStarted());
    page.world.client.close();
    await page.settle();
    expect(page.lines.at(-1)).toMatch(/run.failed closed$/);
  });

  it('with a plain server ends a second after its last event', async () => {
    const page = createPage({ v1: { caps: null } });
    page.run();
    await page.settle();
    page.server.append('r', runStarted(), textStart(), text('Hi'), textEnd(), runFinished());
    await page.world.clock.advance(900);
    expect(page.reading.outcome).toBeUndefined();
    await page.world.clock.advance(200);
    expect(page.lines.at(-1)).toBe('6 run.completed');
  });

  it('survives drops at the worst moments, each text once', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.server.append('r', runStarted(), textStart());
    for (const word of ['one', ' two', ' three']) {
      page.server.append('r', text(word));
      await page.world.reconnect();
      page.server.append('r', text('.'));
      await page.settle();
    }
    page.server.append('r', textEnd(), runFinished());
    page.server.end('r', 'finished');
    await page.settle();
    expect(textOf(page.store.getSnapshot())).toBe('one. two. three.');
    expect(texts(page.provider.getAgent('s'))).toEqual(['Hi', 'one. two. three.']);
    expect(faultsOf(page)).toEqual([]);
  });

  it('runs beside that of another session on one socket', async () => {
    const page = createPage();
    const a = page.run({ prompt: 'A' }, { sessionId: 'a', runId: 'ra' });
    const b = page.run({ prompt: 'B' }, { sessionId: 'b', runId: 'rb' });
    await page.settle();
    for (const id of ['ra', 'rb']) page.server.append(id, runStarted(id), textStart());
    page.server.append('ra', text('for a'));
    page.server.append('rb', text('for b'));
    for (const id of ['rb', 'ra']) {
      page.server.append(id, textEnd(), runFinished(id));
      page.server.end(id, 'finished');
    }
    await page.settle();
    expect([a.outcome, b.outcome]).toEqual(['ended', 'ended']);
    expect(texts(page.provider.getAgent('a'))).toEqual(['A', 'for a']);
    expect(texts(page.provider.getAgent('b'))).toEqual(['B', 'for b']);
    expect(textOf(page.store.getSnapshot())).toBe('for a|for b');
    expect(page.world.network.sockets.length).toBe(1);
  });

  it('cancels the questions that nobody will answer any more', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.server.append('r', runStarted(), interrupted('r', { id: 'i1', reason: 'why' }));
    page.server.end('r', 'finished');
    await page.settle();
    page.reading.controller.abort();
    await page.settle();
    expect(page.lines.slice(-2)).toEqual([
      '4 approval.resolved i1 expired',
      expect.stringMatching(/^5 run.cancelled/),
    ]);
    page.run({ prompt: 'Something else' }, { runId: 'r2' });
    await page.settle();
    expect(page.server.runs.get('r2')?.input).toMatchObject({
      resume: [{ interruptId: 'i1', status: 'cancelled' }],
    });
  });

  it('of a recorded kind settles its questions', async () => {
    const page = createPage({ provider: { interrupts: 'settle' } });
    page.run();
    await page.settle();
    page.server.append('r', runStarted(), interrupted('r', { id: 'i1', reason: 'why' }));
    page.server.end('r', 'finished');
    await page.settle();
    expect(page.lines.slice(3)).toEqual([
      '3 approval.requested i1',
      '4 approval.resolved i1 expired',
      '5 run.completed',
    ]);
  });
});

describe('an aborted run', () => {
  it('is cancelled at once, at the server too, and nothing follows', async () => {
    const page = createPage({ v1: { obeysCancel: false } });
    page.run();
    await page.settle();
    page.server.append('r', runStarted(), event('STEP_STARTED', { stepName: 'look' }));
    page.server.append(
      'r',
      event('ACTIVITY_SNAPSHOT', { messageId: 'p', activityType: 'plan', content: {} }),
    );
    page.server.append(
      'r',
      event('REASONING_MESSAGE_START', { messageId: 'z', role: 'reasoning' }),
    );
    page.server.append('r', textStart(), text('Hel'), ...toolCall('t').slice(0, 2));
    await page.settle();
    page.reading.controller.abort();
    await page.settle();
    expect(page.server.received.at(-1)).toEqual({ type: 'cancel', runId: 'r' });
    expect(page.provider.getAgent('s').getSnapshot().status).toBe('aborted');
    const before = page.lines.length;
    expect(page.lines.slice(-6)).toEqual([
      expect.stringMatching(/tool.cancelled t/),
      expect.stringMatching(/message.cancelled m/),
      expect.stringMatching(/reasoning.cancelled z/),
      expect.stringMatching(/artifact.failed p cancelled/),
      expect.stringMatching(/task.cancelled/),
      expect.stringMatching(/run.cancelled/),
    ]);
    page.server.append('r', text('lo'), runFinished('r', { outcome: { type: 'cancelled' } }));
    page.server.append('r', event('RUN_ERROR', { message: 'late' }));
    page.server.end('r', 'cancelled');
    await page.settle();
    expect(page.lines.length).toBe(before);
    expect(page.reading.outcome).toBe('ended');
    expect(faultsOf(page)).toEqual([]);
  });

  it('that was never sent sends nothing', async () => {
    const page = createPage();
    page.world.network.mode = 'hold';
    page.run();
    await page.settle();
    page.reading.controller.abort();
    await page.settle();
    expect(page.lines.at(-1)).toMatch(/run.cancelled/);
    page.world.network.mode = 'up';
    await page.world.clock.advance(30_000);
    expect(page.server.received.filter(({ type }) => type !== 'hello')).toEqual([]);
  });

  it('before it is opened connects to nothing', async () => {
    const { world, provider } = createPage();
    const ids = { sessionId: 's', runId: 'r' };
    const context = provider.createContext({ ...ids, events: createAgentEventFactory(ids) });
    provider.start({}, context);
    const request = provider.prepareRequest({}, context);
    const iterator = provider.transport.open(request, AbortSignal.abort())[Symbol.asyncIterator]();
    await expect(iterator.next()).rejects.toMatchObject({ name: 'AbortError' });
    await world.settle();
    expect(world.network.sockets.length).toBe(0);
  });

  it('lets go of the connection once its cancel has arrived', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.reading.controller.abort();
    await page.world.clock.advance(5_000);
    expect(page.world.client.getSnapshot().status).toBe('idle');
  });
});

describe('dispose()', () => {
  it('lets go of the agents, and the runs go on', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.provider.dispose();
    await page.world.clock.advance(5_000);
    expect(page.world.client.getSnapshot().status).toBe('idle');
    expect(page.server.received.some(({ type }) => type === 'cancel')).toBe(false);
  });

  it('leaves agents alone that were made elsewhere', async () => {
    const world = createWorld();
    const agent = world.agent();
    agent.subscribe(() => {});
    const provider = createAgUiProvider({ agent });
    provider.getAgent('s');
    provider.dispose();
    await world.settle();
    expect(world.client.getSnapshot().status).toBe('open');
  });
});

describe('forgetSession()', () => {
  it('drops what is remembered of the session', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.server.append('r', runStarted(), runFinished());
    page.server.end('r', 'finished');
    await page.settle();
    expect(page.world.stored('ag-ui:s')?.thread).toBeDefined();
    const agent = page.provider.getAgent('s');
    page.provider.forgetSession?.('s');
    expect(page.world.stored('ag-ui:s')).toBeUndefined();
    expect(page.provider.getAgent('s')).not.toBe(agent);
  });
});
