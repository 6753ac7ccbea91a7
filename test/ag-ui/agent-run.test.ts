import { describe, expect, it } from 'vitest';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { AgUiMessage } from '../../src/ag-ui/messages.ts';
import { RunSocketError } from '../../src/internal/errors.ts';
import {
  createLog,
  createWorld,
  finished,
  startConversation as running,
  says,
  started,
  texts,
  sentTypes as types,
  user,
} from '../helpers/world.ts';

describe('run()', () => {
  it('shows the messages and the status at once, before anything is connected', () => {
    const world = createWorld();
    const agent = world.agent();
    let calls = 0;
    agent.on('event', () => calls++);
    agent.run({ messages: [user('Hi'), { ...user('there'), id: 'own' }] });
    const { messages, status } = agent.getSnapshot();
    expect(status).toBe('running');
    expect(messages).toMatchObject([user('Hi'), { ...user('there'), id: 'own' }]);
    expect(messages[0]?.id).toMatch(/./);
    expect(calls).toBe(0);
  });

  it('sends the thread so far, what the caller adds, and the same id in both places', async () => {
    const world = createWorld();
    const agent = world.agent({
      threadId: 't',
      state: { n: 1 },
      messages: [{ id: 'h', ...user('old') }],
    });
    const tools = [{ name: 'look', description: 'looks' }];
    const runId = agent.run({
      messages: [{ ...user('Hi'), id: 'u' }],
      tools,
      context: [{ description: 'd', value: 'v' }],
      forwardedProps: { f: 1 },
      parentRunId: 'p',
      resume: [{ interruptId: 'i', status: 'cancelled' }],
    });
    await world.settle();
    expect(world.socket.sent).toEqual([
      {
        type: 'run',
        runId,
        input: {
          threadId: 't',
          runId,
          state: { n: 1 },
          messages: [
            { id: 'h', role: 'user', content: 'old' },
            { id: 'u', role: 'user', content: 'Hi' },
          ],
          tools,
          context: [{ description: 'd', value: 'v' }],
          forwardedProps: { f: 1 },
          parentRunId: 'p',
          resume: [{ interruptId: 'i', status: 'cancelled' }],
        },
      },
    ]);
  });

  it('clears the error, the result and the step of the run before', async () => {
    const { world, agent, log } = await running();
    world.socket.receive(
      ...log.frames({ type: 'STEP_STARTED', stepName: 's' }, { type: 'RUN_ERROR', message: 'no' }),
    );
    expect(agent.getSnapshot().error).toEqual({ message: 'no' });
    await world.clock.advance(1_000);
    agent.run();
    const { status, error, result, step } = agent.getSnapshot();
    expect({ status, error, result, step }).toEqual({ status: 'running' });
  });

  it('while a run streams aborts it first: cancel of the old before run of the new', async () => {
    const { world, agent, log } = await running();
    agent.run({ messages: [user('More')] }, { runId: 'b' });
    expect(types(world)).toEqual(['run a', 'cancel a', 'run b']);
    expect(texts(agent)).toEqual(['Hi', 'one', 'More']);
    expect(agent.getSnapshot().status).toBe('running');
    world.socket.receive(...log.frames(says('late'), { type: 'RUN_ERROR', message: 'abort' }));
    expect(texts(agent)).toEqual(['Hi', 'one', 'More']);
    expect(agent.getSnapshot().status).toBe('running');
    const input = world.socket.sent[2]?.input as { messages: AgUiMessage[] };
    expect(input.messages.map((message) => message.content)).toEqual(['Hi', 'one', 'More']);
  });

  it('twice before a connection sends only the second', async () => {
    const world = createWorld();
    world.network.mode = 'hold';
    const agent = world.agent();
    agent.run({ messages: [user('one')] }, { runId: 'a' });
    agent.run({ messages: [user('two')] }, { runId: 'b' });
    await world.settle();
    world.socket.open();
    await world.settle();
    expect(types(world)).toEqual(['run b']);
    expect(texts(agent)).toEqual(['one', 'two']);
  });

  it('leaves out activities, and tool calls that never ended', async () => {
    const { world, agent, log } = await running();
    world.socket.receive(
      ...log.frames(
        { type: 'ACTIVITY_SNAPSHOT', messageId: 'act', activityType: 'plan', content: {} },
        { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'look' },
        { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{"a' },
      ),
    );
    agent.run({}, { runId: 'b' });
    const input = world.socket.sent.at(-1)?.input as { messages: AgUiMessage[] };
    expect(input.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(agent.getSnapshot().messages.length).toBe(4);
  });

  it('leaves out a stale state unless the caller gives one', async () => {
    const { world, agent, log } = await running({ state: {} });
    world.socket.receive(
      ...log.frames(
        { type: 'STATE_DELTA', delta: [{ op: 'remove', path: '/none' }] },
        finished('a'),
      ),
    );
    await world.clock.advance(1_000);
    agent.run({}, { runId: 'b' });
    expect(world.socket.sent.at(-1)?.input).not.toHaveProperty('state');
    agent.run({ state: { mine: 1 } }, { runId: 'c' });
    expect(world.socket.sent.at(-1)?.input).toMatchObject({ state: { mine: 1 } });
  });

  it('with an input that cannot be serialised throws, and nothing has changed', async () => {
    const { world, agent } = await running();
    const before = agent.getSnapshot();
    const stored = world.storage.map.get('runsocket:ag-ui');
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    let calls = 0;
    agent.subscribe(() => calls++);
    for (const forwardedProps of [circular, { n: 1n }]) {
      expect(() => agent.run({ messages: [user('lost')], forwardedProps })).toThrow(TypeError);
    }
    expect(agent.getSnapshot()).toBe(before);
    expect(world.storage.map.get('runsocket:ag-ui')).toBe(stored);
    expect(types(world)).toEqual(['run a']);
    expect(calls).toBe(0);
    agent.abort();
    expect(types(world)).toEqual(['run a', 'cancel a']);
  });

  it('with a run callback that throws throws that, and nothing has changed', async () => {
    let boom = false;
    const { world, agent } = await running({
      run: ((input: unknown, runId: string) => {
        if (boom) throw new RangeError('no');
        return { type: 'run', runId, input };
      }) as never,
    });
    boom = true;
    const before = agent.getSnapshot();
    expect(() => agent.run({ messages: [user('lost')] })).toThrow(RangeError);
    expect(agent.getSnapshot()).toBe(before);
    boom = false;
    agent.run({ messages: [user('ok')] }, { runId: 'b' });
    expect(types(world)).toEqual(['run a', 'cancel a', 'run b']);
    expect(texts(agent)).toEqual(['Hi', 'one', 'ok']);
  });

  it('is stopped by its signal, before and while it streams', async () => {
    const world = createWorld();
    const agent = world.agent();
    agent.run({}, { runId: 'a', signal: AbortSignal.abort() });
    expect(agent.getSnapshot().status).toBe('aborted');
    const controller = new AbortController();
    agent.run({}, { runId: 'b', signal: controller.signal });
    await world.settle();
    controller.abort();
    expect(agent.getSnapshot().status).toBe('aborted');
    expect(types(world)).toEqual(['run b', 'cancel b']);
  });

  it('sends nothing where its signal is aborted already, on an open connection either', async () => {
    const world = createWorld();
    world.client.hold();
    await world.settle();
    const agent = world.agent();
    agent.run({}, { signal: AbortSignal.abort() });
    await world.settle();
    expect(agent.getSnapshot().status).toBe('aborted');
    expect(world.socket.sent).toEqual([]);
    expect(world.stored()).toBeUndefined();
  });

  it('called by who hears that the run before it is stopped leaves one of both, and no other at work', async () => {
    const { world, agent } = await running();
    let isFirst = true;
    agent.runs.subscribe(() => {
      if (!isFirst) return;
      isFirst = false;
      agent.run({ messages: [user('inner')] }, { runId: 'inner' });
    });
    agent.run({ messages: [user('outer')] }, { runId: 'outer' });
    await world.settle();
    const { runId } = agent.getSnapshot();
    expect(['inner', 'outer']).toContain(runId);
    for (const id of ['inner', 'outer']) {
      world.socket.receive(...createLog(id).frames(started(id), says(`to ${id}`, id)));
    }
    expect(texts(agent)).toContain(`to ${runId}`);
    const atWork = (id: string) =>
      types(world).includes(`run ${id}`) && !types(world).includes(`cancel ${id}`);
    expect(['a', 'inner', 'outer'].filter(atWork)).toEqual([runId]);
  });

  it('is not stopped by the signal of a run before it', async () => {
    const world = createWorld();
    const agent = world.agent();
    const controller = new AbortController();
    agent.run({}, { runId: 'a', signal: controller.signal });
    await world.settle();
    agent.run({}, { runId: 'b' });
    controller.abort();
    expect(agent.getSnapshot().status).toBe('running');
  });
});

describe('abort()', () => {
  it('shows aborted at once and keeps what was said', async () => {
    const { world, agent } = await running();
    agent.abort();
    expect(agent.getSnapshot()).toMatchObject({ status: 'aborted' });
    expect(agent.getSnapshot().error).toBeUndefined();
    expect(texts(agent)).toEqual(['Hi', 'one']);
    expect(types(world)).toEqual(['run a', 'cancel a']);
  });

  it('keeps every later event of that run from the thread, its own error included', async () => {
    const { world, agent, log } = await running();
    agent.abort();
    const shown = agent.getSnapshot();
    world.socket.receive(
      ...log.frames(
        says('more'),
        { type: 'RUN_ERROR', message: 'abort' },
        started('a'),
        finished('a'),
      ),
    );
    expect(agent.getSnapshot()).toBe(shown);
  });

  it('before the run left sends nothing at all', async () => {
    const world = createWorld();
    world.network.mode = 'hold';
    const agent = world.agent();
    agent.run({ messages: [user('Hi')] });
    agent.abort();
    await world.settle();
    world.socket.open();
    await world.clock.advance(500);
    expect(world.socket.sent).toEqual([]);
    expect(agent.getSnapshot().status).toBe('aborted');
    expect(world.storage.map.size).toBe(0);
  });

  it('before the first event cancels on the server', async () => {
    const world = createWorld();
    const agent = world.agent();
    agent.run({}, { runId: 'a' });
    await world.settle();
    agent.abort();
    expect(types(world)).toEqual(['run a', 'cancel a']);
  });

  it('during an outage sends resume and cancel on each reconnect until the run is over', async () => {
    const { world, agent, log } = await running();
    world.network.mode = 'hold';
    world.socket.end();
    agent.abort();
    expect(world.stored()?.runs).toMatchObject([{ runId: 'a', cancel: true }]);
    world.network.mode = 'up';
    await world.clock.advance(1_000);
    expect(types(world)).toEqual(['resume a', 'cancel a']);
    await world.reconnect();
    expect(types(world)).toEqual(['resume a', 'cancel a']);
    world.socket.receive(...log.frames({ type: 'RUN_ERROR', message: 'abort' }));
    await world.clock.advance(1_000);
    expect(world.storage.map.size).toBe(0);
  });

  it('without a run, after its end and twice does nothing', async () => {
    const world = createWorld();
    const agent = world.agent();
    const idle = agent.getSnapshot();
    agent.abort();
    expect(agent.getSnapshot()).toBe(idle);
    agent.run({}, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a'), finished('a')));
    await world.clock.advance(1_000);
    const done = agent.getSnapshot();
    agent.abort();
    expect(agent.getSnapshot()).toBe(done);
    agent.run({}, { runId: 'b' });
    agent.abort();
    agent.abort();
    expect(types(world)).toEqual(['run a', 'run b', 'cancel b']);
  });

  it('between a terminal event and the end of its second leaves the run finished', async () => {
    const { world, agent, log } = await running();
    world.socket.receive(...log.frames(finished('a')));
    agent.abort();
    expect(agent.getSnapshot().status).toBe('finished');
  });
});

describe('several terminals in one run', () => {
  it('re-open the thread, and the run is over 1 s after the last', async () => {
    const { world, agent, log } = await running();
    world.socket.receive(...log.frames(finished('a')));
    expect(agent.getSnapshot().status).toBe('finished');
    expect(world.stored()?.runs.length).toBe(1);
    world.socket.receive(...log.frames(started('a'), says('two', 'n')));
    expect(agent.getSnapshot().status).toBe('running');
    await world.clock.advance(5_000);
    expect(world.stored()?.runs.length).toBe(1);
    world.socket.receive(...log.frames(finished('a')));
    await world.clock.advance(1_000);
    expect(texts(agent)).toEqual(['Hi', 'one', 'two']);
    expect(world.storage.map.size).toBe(0);
  });

  it('of replayed history inside one stream do not end the run', async () => {
    const world = createWorld();
    const agent = world.agent();
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    const log = createLog('a');
    const history = ['h1', 'h2'].flatMap((id) => [started(id), says(id, id), finished(id)]);
    world.socket.receive(...log.frames(...history, started('a'), says('new')));
    expect(agent.getSnapshot().status).toBe('running');
    await world.clock.advance(5_000);
    world.socket.receive(...log.frames(says('er')));
    expect(texts(agent)).toEqual(['Hi', 'h1', 'h2', 'newer']);
    world.socket.receive(...log.frames(finished('a')));
    await world.clock.advance(1_000);
    expect(agent.getSnapshot().status).toBe('finished');
    expect(agent.runs.getSnapshot()).toEqual([]);
  });

  it('with a foreign run id count where the run started under that id', async () => {
    const world = createWorld();
    const agent = world.agent();
    agent.run({}, { runId: 'a' });
    await world.settle();
    world.socket.receive(
      ...createLog('a').frames(started('server'), says('x'), finished('server')),
    );
    await world.clock.advance(1_000);
    expect(agent.getSnapshot().status).toBe('finished');
    expect(agent.runs.getSnapshot()).toEqual([]);
  });

  it('without a run id count', async () => {
    const { world, agent, log } = await running();
    world.socket.receive(...log.frames({ type: 'RUN_FINISHED' }));
    await world.clock.advance(1_000);
    expect(agent.getSnapshot().status).toBe('finished');
    expect(world.storage.map.size).toBe(0);
  });

  it('with an id that nobody started do not end the run', async () => {
    const { world, agent, log } = await running();
    world.socket.receive(...log.frames(finished('nobody')));
    await world.clock.advance(2_000);
    expect(agent.runs.getSnapshot().length).toBe(1);
  });
});

describe('follow()', () => {
  it('joins a run from its start, on what the thread has, and remembers it', async () => {
    const world = createWorld();
    const agent = world.agent({ messages: [{ id: 'h', ...user('old') }] });
    agent.follow('other');
    await world.settle();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'other' }]);
    expect(agent.getSnapshot()).toMatchObject({ status: 'running', runId: 'other' });
    expect(world.stored()?.runs).toMatchObject([{ runId: 'other', threadId: agent.threadId }]);
    world.socket.receive(
      ...createLog('other').frames(started('other'), says('x'), finished('other')),
    );
    expect(texts(agent)).toEqual(['old', 'x']);
  });

  it('aborts a streaming run first', async () => {
    const { world, agent } = await running();
    agent.follow('b');
    expect(types(world)).toEqual(['run a', 'cancel a', 'resume b']);
    expect(agent.getSnapshot()).toMatchObject({ status: 'running', runId: 'b' });
  });

  it('of the run that streams here changes nothing', async () => {
    const { world, agent } = await running();
    const before = agent.getSnapshot();
    agent.follow('a');
    expect(agent.getSnapshot()).toBe(before);
    expect(types(world)).toEqual(['run a']);
  });

  it('without an id throws, and nothing has changed', async () => {
    const { world, agent } = await running();
    const before = agent.getSnapshot();
    expect(() => agent.follow('')).toThrow(RunSocketError);
    expect(agent.getSnapshot()).toBe(before);
    expect(types(world)).toEqual(['run a']);
  });

  it('of a run that nobody knows ends with run-unreachable', async () => {
    const world = createWorld();
    const agent = world.agent();
    agent.follow('nobody');
    await world.settle();
    await world.clock.advance(61_000);
    expect(agent.getSnapshot()).toMatchObject({
      status: 'error',
      error: { code: 'run-unreachable' },
    });
  });
});

describe('answer()', () => {
  const interrupted = {
    type: 'RUN_FINISHED',
    threadId: 't',
    runId: 'a',
    outcome: {
      type: 'interrupt',
      interrupts: [
        { id: 'i', reason: 'ask' },
        { id: 'j', reason: 'ask' },
      ],
    },
  };

  it('starts the run that answers every open interrupt', async () => {
    const { world, agent, log } = await running();
    world.socket.receive(...log.frames(interrupted));
    await world.clock.advance(1_000);
    expect(agent.getSnapshot().interrupts?.length).toBe(2);
    const runId = agent.answer(
      { j: { status: 'cancelled' }, i: { status: 'resolved', payload: 7 } },
      { messages: [user('more')] },
    );
    const { input } = world.socket.sent.at(-1) as { input: { resume: unknown } };
    expect(input.resume).toEqual([
      { interruptId: 'i', status: 'resolved', payload: 7 },
      { interruptId: 'j', status: 'cancelled' },
    ]);
    world.socket.receive(...createLog(runId).frames(started(runId), finished(runId)));
    expect(agent.getSnapshot().interrupts).toBeUndefined();
  });

  it('throws if one is missing or not open, and starts nothing', async () => {
    const { world, agent, log } = await running();
    world.socket.receive(...log.frames(interrupted));
    await world.clock.advance(1_000);
    const before = agent.getSnapshot();
    for (const answers of [
      { i: { status: 'cancelled' } },
      { i: { status: 'cancelled' }, j: { status: 'cancelled' }, x: { status: 'cancelled' } },
      {},
    ] as const) {
      expect(() => agent.answer(answers as never)).toThrow(
        expect.objectContaining({ code: 'invalid-argument' }),
      );
    }
    expect(agent.getSnapshot()).toBe(before);
    expect(types(world)).toEqual(['run a']);
  });

  it('keeps the question where the answering run fails', async () => {
    const { world, agent, log } = await running();
    world.socket.receive(...log.frames(interrupted));
    await world.clock.advance(1_000);
    const runId = agent.answer({ i: { status: 'cancelled' }, j: { status: 'cancelled' } });
    world.socket.receive(
      ...createLog(runId).frames(started(runId), { type: 'RUN_ERROR', message: 'no' }),
    );
    expect(agent.getSnapshot().interrupts?.length).toBe(2);
  });
});

describe('setState and setMessages', () => {
  it('change the thread, with a value or an updater', () => {
    const agent = createWorld().agent<{ n: number }>({ state: { n: 1 } });
    agent.setState((state) => ({ n: state.n + 1 }));
    expect(agent.getSnapshot().state).toEqual({ n: 2 });
    agent.setState({ n: 9 });
    expect(agent.getSnapshot().state).toEqual({ n: 9 });
    agent.setMessages([{ id: 'x', ...user('x') }]);
    agent.setMessages((messages) => [...messages, { id: 'y', ...user('y') }]);
    expect(texts(agent)).toEqual(['x', 'y']);
  });

  it('during a run survive a reload, and the run goes on top of them', async () => {
    const { world, agent } = await running();
    agent.setState({ mine: true });
    agent.setMessages((messages) => [{ id: 'sys', role: 'system', content: 'S' }, ...messages]);
    expect(texts(agent)).toEqual(['S', 'Hi', 'one']);
    const next = world.reload({ crash: true });
    const again = next.agent();
    again.subscribe(() => {});
    await next.settle();
    next.socket.receive(...createLog('a').frames(started('a'), says('one'), says(' two')));
    expect(texts(again)).toEqual(['S', 'Hi', 'one two']);
    expect(again.getSnapshot().state).toEqual({ mine: true });
  });

  it('given as a value during a run keep what the run said from coming twice', async () => {
    const { world, agent } = await running();
    agent.setMessages([...agent.getSnapshot().messages, { id: 'note', ...user('note') }]);
    const next = world.reload({ crash: true });
    const again = next.agent();
    again.subscribe(() => {});
    await next.settle();
    next.socket.receive(...createLog('a').frames(started('a'), says('one')));
    expect(texts(again).filter((text) => text === 'one')).toEqual(['one']);
    expect(texts(again)).toContain('note');
  });

  it('that throw in the updater change nothing', async () => {
    const { agent } = await running();
    const before = agent.getSnapshot();
    expect(() =>
      agent.setState(() => {
        throw new RangeError('no');
      }),
    ).toThrow(RangeError);
    expect(agent.getSnapshot()).toBe(before);
  });
});

describe('reset()', () => {
  it('forgets the thread and the storage, and stops a streaming run', async () => {
    const { world, agent, log } = await running({ state: { n: 1 } });
    const { threadId } = agent;
    agent.reset();
    expect(agent.getSnapshot()).toEqual({
      messages: [],
      state: { n: 1 },
      status: 'idle',
      stale: false,
    });
    expect(agent.threadId).not.toBe(threadId);
    expect(types(world)).toEqual(['run a', 'cancel a']);
    expect(world.storage.map.size).toBe(0);
    world.socket.receive(...log.frames(says('late')));
    expect(texts(agent)).toEqual([]);
    agent.run({ messages: [user('new')] }, { runId: 'b' });
    expect(texts(agent)).toEqual(['new']);
  });

  it('keeps a thread id that was given', async () => {
    const { agent } = await running({ threadId: 't' });
    agent.reset();
    expect(agent.threadId).toBe('t');
  });
});

describe('dispose()', () => {
  it('cancels nothing, releases the socket at once and leaves no timer, listener or lock', async () => {
    const { world, agent } = await running();
    agent.subscribe(() => {});
    agent.dispose();
    agent.dispose();
    await world.settle();
    expect(types(world)).toEqual(['run a']);
    expect(world.network.sockets[0]?.state).toBe('ended');
    expect(world.clock.timers).toBe(0);
    expect(world.page.listeners).toBe(0);
    expect(world.stored()?.runs.length).toBe(1);
  });

  it('in whatever state leaves no timer behind', async () => {
    for (const stage of [
      'new',
      'connecting',
      'sent',
      'streaming',
      'gap',
      'dropped',
      'ended',
    ] as const) {
      const world = createWorld();
      if (stage === 'connecting') world.network.mode = 'hold';
      const agent = world.agent();
      agent.subscribe(() => {});
      if (stage !== 'new') agent.run({}, { runId: 'a' });
      if (stage !== 'connecting') await world.settle();
      const log = createLog('a');
      if (/streaming|gap|dropped|ended/.test(stage)) {
        world.socket.receive(...log.frames(started('a'), says('x')));
      }
      if (stage === 'gap') {
        log.frames(says('lost'));
        world.socket.receive(...log.frames(says('y')));
      }
      if (stage === 'dropped') world.socket.end();
      if (stage === 'ended') world.socket.receive(...log.frames(finished('a')));
      agent.dispose();
      await world.clock.advance(0);
      expect([stage, world.clock.timers, world.page.listeners]).toEqual([stage, 0, 0]);
    }
  });

  it('and then any use takes the run up again where it was', async () => {
    const { world, agent, log } = await running();
    agent.dispose();
    await world.clock.advance(60_000);
    agent.subscribe(() => {});
    await world.settle();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    world.socket.receive(...log.frames(says(' two'), finished('a')));
    await world.clock.advance(1_000);
    expect(texts(agent)).toEqual(['Hi', 'one two']);
    expect(agent.getSnapshot().status).toBe('finished');
  });

  it('and then run() starts the next run, and abort() stops the old one', async () => {
    const one = await running();
    one.agent.dispose();
    one.agent.run({}, { runId: 'b' });
    await one.world.settle();
    expect(types(one.world)).toEqual(['resume a', 'cancel a', 'run b']);
    const two = await running();
    two.agent.dispose();
    two.agent.abort();
    expect(two.agent.getSnapshot().status).toBe('aborted');
    await two.world.settle();
    expect(types(two.world)).toEqual(['resume a', 'cancel a']);
  });

  it('of one agent leaves another on the same client alone', async () => {
    const { world, agent } = await running();
    const other = world.agent({ name: 'other' });
    other.run({}, { runId: 'b' });
    agent.dispose();
    world.socket.receive(...createLog('b').frames(started('b'), says('x')));
    expect(texts(other)).toEqual(['x']);
    expect(world.socket.state).toBe('open');
  });
});

it('connects when it is first used, not when it is made', async () => {
  const world = createWorld();
  const agent = world.agent();
  await world.clock.advance(5_000);
  expect(world.network.sockets.length).toBe(0);
  const release = agent.connect();
  await world.settle();
  expect(world.network.sockets.length).toBe(1);
  release();
  release();
  await world.clock.advance(1_100);
  expect(world.socket.state).toBe('ended');
  agent.subscribe(() => {});
  await world.settle();
  expect(world.network.sockets.length).toBe(2);
});

it('refuses a client that is not of this package', () => {
  expect(() => createAgUiAgent({} as never)).toThrow(
    expect.objectContaining({ code: 'unsupported' }),
  );
});
