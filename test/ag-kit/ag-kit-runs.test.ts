import { describe, expect, it } from 'vitest';
import { agKitRuns } from '../../src/ag-kit/ag-kit-runs.ts';
import type { SendMessageInput } from '../../src/ag-kit/types.ts';
import type { RunAgentInput } from '../../src/ag-ui/input.ts';
import type { AgUiMessage } from '../../src/ag-ui/messages.ts';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import {
  createLog,
  createWorld,
  sentTypes,
  type TestEvent,
  texts,
  user,
  type World,
} from '../helpers/world.ts';

const text = (content: string): TestEvent => ({ type: 'text', content });
const done = '[DONE]' as unknown as TestEvent;
const ask = (id: string): TestEvent => ({ type: 'interrupt', id, reason: 'approval', payload: {} });

/** The inputs of the runs that were sent, by any socket. */
const inputsOf = (world: World): SendMessageInput[] =>
  world.network.sockets.flatMap(({ sent }) =>
    sent.filter(({ type }) => type === 'run').map(({ input }) => input as SendMessageInput),
  );
const contentsOf = (input: SendMessageInput | undefined) =>
  input?.messages?.map(({ content }) => content);

/** An agent that talks AG-Kit, and what answers its runs. */
function create(world = createWorld(), options: Parameters<World['agent']>[0] = {}) {
  const agent = world.agent({ threadId: 't', remember: 'thread', ...agKitRuns(), ...options });
  agent.connect();
  return {
    world,
    agent,
    /** Runs, and answers with these events. */
    async turn(input: Parameters<typeof agent.run>[0], runId: string, ...events: TestEvent[]) {
      agent.run(input, { runId });
      await world.settle();
      world.socket.receive(...createLog(runId).frames(...events));
      await world.clock.advance(2000);
    },
    last: () => inputsOf(world).at(-1),
  };
}

describe('an agent that talks AG-Kit', () => {
  it('sends SendMessageInput and shows what comes back', async () => {
    const { world, agent, turn } = create();
    const tools = [{ name: 'find', description: 'Finds.', parameters: { type: 'object' } }];
    await turn(
      { messages: [user('Hi')], tools },
      'a',
      text('Let me '),
      text('look.'),
      { type: 'tool-call-start', toolCallId: 'c', toolCallName: 'find' },
      { type: 'tool-call-args', toolCallId: 'c', delta: '{}' },
      { type: 'tool-call-end', toolCallId: 'c' },
      { type: 'tool-result', toolCallId: 'c', result: 'found' },
      text('Here.'),
      done,
    );
    expect(world.socket.sent).toEqual([
      {
        type: 'run',
        runId: 'a',
        input: { conversationId: 't', messages: [user('Hi')], tools },
      },
    ]);
    expect(texts(agent)).toEqual(['Hi', 'Let me look.', 'found', 'Here.']);
    expect(agent.getSnapshot().status).toBe('finished');
  });

  it('takes the end in either form, and AG-UI events', async () => {
    const { agent, turn } = create();
    await turn({ messages: [user('Hi')] }, 'a', text('One.'), { type: '[DONE]' });
    expect(agent.getSnapshot().status).toBe('finished');
    await turn(
      { messages: [user('And')] },
      'b',
      { type: 'RUN_STARTED', threadId: 'x', runId: 'y' },
      { type: 'TEXT_MESSAGE_START', messageId: 'm' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'Two.' },
      { type: 'TEXT_MESSAGE_END', messageId: 'm' },
      { type: 'RUN_FINISHED', threadId: 'x', runId: 'y' },
    );
    expect(agent.getSnapshot().status).toBe('finished');
    expect(texts(agent)).toEqual(['Hi', 'One.', 'And', 'Two.']);
  });

  it('leaves other messages alone', async () => {
    const { world } = create();
    await world.settle();
    const others: unknown[] = [];
    world.client.on('message', (message) => others.push(message));
    const frames = [
      { runId: 'a', offset: 0, event: 'other' },
      { runId: 'a', offset: 0, event: [text('a')] },
      { runId: 1, offset: 0, event: text('a') },
      { runId: 'a', offset: 0, event: null },
      ['a'],
    ];
    world.socket.receive(...frames);
    expect(others).toEqual(frames);
    const { event } = agKitRuns();
    for (const frame of frames) expect(event(frame, {})).toBeUndefined();
  });

  it('goes on after a reconnect, without doubles', async () => {
    const { world, agent } = create();
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    const log = createLog('a');
    const [one, two] = log.frames(text('One'), text(' two'));
    world.socket.receive(one, two);
    await world.reconnect();
    expect(sentTypes(world)).toEqual(['resume a']);
    world.socket.receive(one, two, ...log.frames(text(' three.'), done));
    await world.clock.advance(2000);
    expect(texts(agent)).toEqual(['Hi', 'One two three.']);
  });

  it('rebuilds a run on the next page, with the same ids', async () => {
    const first = create();
    first.agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await first.world.settle();
    const frames = createLog('a').frames(text('One'), text(' two'), text(' three.'), done);
    first.world.socket.receive(...frames.slice(0, 2));
    const { messages } = first.agent.getSnapshot();
    const world = first.world.reload();
    const { agent } = create(world);
    await world.settle();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
    world.socket.receive(...frames);
    await world.clock.advance(2000);
    expect(texts(agent)).toEqual(['Hi', 'One two three.']);
    expect(agent.getSnapshot().messages.map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
  });

  it('fails where the server says so, and stays under way while the stream is cut', async () => {
    const { world, agent } = create();
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(text('One')));
    await world.reconnect();
    expect(agent.getSnapshot().status).toBe('running');
    world.socket.receive(...createLog('a', 1).frames({ type: 'RUN_ERROR', message: 'No.' }));
    await world.clock.advance(2000);
    expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { message: 'No.' } });
  });
});

describe('the messages of a run', () => {
  it('are those that the server does not have', async () => {
    const { turn, last } = create();
    await turn({ messages: [user('One')] }, 'a', text('1'), done);
    await turn({ messages: [user('Two')] }, 'b', text('2'), done);
    expect(contentsOf(last())).toEqual(['Two']);
    await turn({}, 'c', text('3'), done);
    expect(last()).toEqual({ conversationId: 't' });
  });

  it('follow the last message of the server on the next page', async () => {
    const { world, turn } = create();
    await turn({ messages: [user('One')] }, 'a', text('1'), done);
    const next = create(world.reload());
    await next.turn({ messages: [user('Two')] }, 'b', text('2'), done);
    expect(contentsOf(next.last())).toEqual(['Two']);
  });

  it('follow a run that answered without a message', async () => {
    const { turn, last } = create();
    await turn({ messages: [user('One')] }, 'a', text('1'), done);
    await turn({ messages: [user('Two')] }, 'b', done);
    await turn({ messages: [user('Three')] }, 'c', text('3'), done);
    expect(contentsOf(last())).toEqual(['Three']);
  });

  it('have once more what no answer came to', async () => {
    const { world, agent, last } = create();
    agent.run({ messages: [user('One')] }, { runId: 'a' });
    await world.settle();
    agent.run({ messages: [user('Two')] }, { runId: 'b' });
    await world.settle();
    expect(contentsOf(last())).toEqual(['One', 'Two']);
  });

  it.each<[string, ...TestEvent[]]>([
    ['failed', { type: 'RUN_STARTED' }, { type: 'RUN_ERROR', message: 'No.' }],
    [
      'was stopped',
      { type: 'RUN_STARTED' },
      { type: 'RUN_FINISHED', outcome: { type: 'cancelled' } },
    ],
  ])('have once more what a run server only began with and then %s', async (_, ...log) => {
    const { turn, last } = create();
    await turn({ messages: [user('One')] }, 'a', ...log);
    await turn({ messages: [user('Two')] }, 'b', text('2'), done);
    expect(contentsOf(last())).toEqual(['One', 'Two']);
    await turn({ messages: [user('Three')] }, 'c', text('3'), done);
    expect(contentsOf(last())).toEqual(['Three']);
  });

  it('are the same ones when a start is sent again', async () => {
    const { world, agent } = create(undefined, { restart: true });
    agent.run({ messages: [user('One')] }, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(text('1'), done));
    await world.clock.advance(2000);
    agent.run({ messages: [user('Two')] }, { runId: 'b' });
    await world.settle();
    await world.reconnect();
    expect(inputsOf(world).map(contentsOf)).toEqual([['One'], ['Two'], ['Two']]);
  });

  it('are the same ones when a start is made again after its first event', () => {
    const { run, translate } = agKitRuns();
    const input = (...ids: string[]): RunAgentInput => ({
      threadId: 't',
      runId: 'a',
      messages: ids.map((id): AgUiMessage => ({ id, role: 'user', content: id })),
      tools: [],
      context: [],
    });
    const first = run(input('u1'), 'a');
    translate('a')({ type: 'text', content: 'x' } as never);
    expect(run(input('u1'), 'a')).toEqual(first);
    expect(run(input('u1', 'u2'), 'b')).toMatchObject({
      input: { messages: [{ content: 'u2' }] },
    });
  });

  it('are all of them once the known ones were taken away', async () => {
    const { agent, turn, last } = create();
    await turn({ messages: [user('One')] }, 'a', text('1'), done);
    agent.setMessages([]);
    await turn({ messages: [user('Two')] }, 'b', text('2'), done);
    expect(contentsOf(last())).toEqual(['Two']);
  });

  it('are those of their own thread, where several share the options', async () => {
    const world = createWorld();
    const provider = createAgUiProvider({
      client: world.client as never,
      agentOptions: agKitRuns(),
    });
    const [one, two] = ['one', 'two'].map((id) => provider.getAgent(id));
    one!.connect();
    const turn = async (agent: typeof one, content: string, runId: string, ...log: TestEvent[]) => {
      agent!.run({ messages: [user(content)] }, { runId });
      await world.settle();
      world.socket.receive(...createLog(runId).frames(...log));
      await world.clock.advance(2000);
    };
    await turn(one, 'One', 'a', done);
    await turn(two, 'Two', 'b', text('2'), done);
    await turn(one, 'Three', 'c', done);
    await turn(two, 'Four', 'd', done);
    expect(inputsOf(world).map((input) => [input.conversationId, contentsOf(input)])).toEqual([
      [one!.threadId, ['One']],
      [two!.threadId, ['Two']],
      [one!.threadId, ['Three']],
      [two!.threadId, ['Four']],
    ]);
    provider.dispose();
  });
});

describe('an answer to an interrupt', () => {
  const resolved = (payload: unknown) => ({ i: { status: 'resolved', payload } as const });

  it('goes alone', async () => {
    const { agent, world, turn, last } = create();
    await turn({ messages: [user('Pay.')] }, 'a', ask('i'), done);
    expect(agent.getSnapshot().interrupts).toMatchObject([{ id: 'i', reason: 'approval' }]);
    agent.answer(resolved({ approved: true }));
    await world.settle();
    expect(last()).toEqual({
      conversationId: 't',
      resume: { interruptId: 'i', payload: { approved: true } },
    });
  });

  it('takes along what was added to it', async () => {
    const { agent, world, turn, last } = create();
    await turn({ messages: [user('Pay.')] }, 'a', ask('i'), done);
    agent.answer(resolved('yes'), { messages: [user('But hurry.')] });
    await world.settle();
    expect(last()).toEqual({
      conversationId: 't',
      messages: [user('But hurry.')],
      resume: { interruptId: 'i', payload: 'yes' },
    });
  });

  it('goes alone on the next page, too', async () => {
    const { world, turn } = create();
    await turn({ messages: [user('Pay.')] }, 'a', ask('i'), done);
    const next = create(world.reload());
    next.agent.answer(resolved({ approved: true }));
    await next.world.settle();
    expect(next.last()).toEqual({
      conversationId: 't',
      resume: { interruptId: 'i', payload: { approved: true } },
    });
  });

  it('does not lose the question that it gives way to on the next page', async () => {
    const options = agKitRuns({ cancelPayload: false });
    const { world, turn } = create();
    await turn({ messages: [user('Pay.')] }, 'a', text('Well.'), ask('i'), done);
    const next = create(world.reload(), options as never);
    next.agent.answer({ i: { status: 'cancelled' } }, { messages: [user('Wait.')] });
    await next.world.settle();
    expect(next.last()).toEqual({
      conversationId: 't',
      messages: [user('Wait.')],
      resume: { interruptId: 'i', payload: false },
    });
  });

  it('that has expired gives way to the next question', async () => {
    const { agent, world, turn, last } = create();
    const payload = { expiresAt: new Date(world.clock.now() + 1000).toISOString() };
    const late: TestEvent = { type: 'interrupt', id: 'i', reason: 'approval', payload };
    // The turn takes longer than the answer may.
    await turn({ messages: [user('Pay.')] }, 'a', late, done);
    expect(() => agent.answer(resolved(true))).toThrow('can only be cancelled');
    const runId = agent.answer({ i: { status: 'cancelled' } }, { messages: [user('Wait.')] });
    await world.settle();
    expect(last()).toEqual({ conversationId: 't', messages: [user('Wait.')] });
    world.socket.receive(...createLog(runId).frames(text('I wait.'), done));
    await world.clock.advance(2000);
    expect(agent.getSnapshot().status).toBe('finished');
    expect(agent.getSnapshot().interrupts).toBeUndefined();
  });

  it('that cancels is refused, and nothing has changed', async () => {
    const { agent, world, turn } = create();
    await turn({ messages: [user('Pay.')] }, 'a', ask('i'), done);
    const before = agent.getSnapshot();
    expect(() => agent.answer({ i: { status: 'cancelled' } })).toThrow(
      expect.objectContaining({ code: 'unsupported' }),
    );
    await world.settle();
    expect(agent.getSnapshot()).toBe(before);
    expect(inputsOf(world)).toHaveLength(1);
    // And it can still be answered.
    agent.answer(resolved(false));
    await world.settle();
    expect(inputsOf(world)).toHaveLength(2);
  });

  it('cancels by a payload where that was agreed, and is JSON text where it is asked to', async () => {
    const options = agKitRuns({ cancelPayload: { cancelled: true }, jsonText: true });
    const { agent, world, turn, last } = create(undefined, options as never);
    await turn({ messages: [user('Pay.')] }, 'a', ask('i'), done);
    agent.answer({ i: { status: 'cancelled' } });
    await world.settle();
    expect(last()?.resume).toEqual({ interruptId: 'i', payload: '{"cancelled":true}' });
  });
});
