import { describe, expect, it } from 'vitest';
import { createAgentChat } from '../../src/agent-provider/agent-chat.ts';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import {
  type Ask,
  createFixture,
  createPageClock,
  createScene,
  type Fixture,
  type FixtureOptions,
} from './chat-fixture.ts';

const noop = () => {};

describe('a conversation', () => {
  it('is refused for anything but an AgentProvider', () => {
    for (const provider of [undefined, null, {}, { protocol: { name: 'x' } }]) {
      expect(() => createAgentChat({ provider: provider as never })).toThrow(
        expect.objectContaining({ name: 'RunSocketError', code: 'unsupported' }),
      );
    }
  });

  it('shows what was asked at once, and the answer as it comes', async () => {
    const scene = createScene();
    const { chat, fixture, clock } = scene;
    chat.subscribe(noop);
    chat.onRequest({ prompt: 'Hi' });
    expect(chat.getSnapshot().messages).toMatchObject([
      { status: 'local', message: { role: 'user', content: 'Hi' } },
    ]);
    expect(chat.getSnapshot().isRequesting).toBe(true);
    expect(chat.getSnapshot().connectionState).toBe('connecting');
    await clock.flush();
    fixture.run.say('He', 'llo');
    await clock.flush();
    expect(chat.getSnapshot().messages[1]).toMatchObject({
      status: 'updating',
      message: { role: 'assistant', content: 'Hello' },
    });
    expect(chat.getSnapshot().connectionState).toBe('connected');
    fixture.run.finish();
    await clock.flush();
    const { messages, isRequesting, connectionState, agentState } = chat.getSnapshot();
    expect(messages[1]).toMatchObject({ status: 'success', message: { content: 'Hello' } });
    expect({ isRequesting, connectionState }).toEqual({
      isRequesting: false,
      connectionState: 'idle',
    });
    expect(agentState.issues).toEqual([]);
    expect(scene.statuses).toEqual(['completed']);
  });

  it('has one session, begun with its first run', async () => {
    const { chat, fixture, clock } = createScene();
    for (const prompt of ['One', 'Two']) {
      chat.onRequest({ prompt });
      await clock.flush();
      fixture.run.finish();
      await clock.flush();
    }
    const { sessions, issues, runs } = chat.getSnapshot().agentState;
    expect(Object.keys(sessions)).toEqual(['c']);
    expect(Object.values(runs)).toHaveLength(2);
    expect(issues).toEqual([]);
  });

  it('takes the session of a provider that tells it itself, the first time only', async () => {
    const fixture = createFixture();
    const { start } = fixture.provider;
    const provider = {
      ...fixture.provider,
      start: (input: Ask, context: never) => [
        (context as { events: { create(...args: unknown[]): AgentEvent } }).events.create(
          'session.started',
          { title: 'Reports' },
        ),
        ...start(input, context),
      ],
    };
    const { clock } = createPageClock();
    const chat = createAgentChat({ provider, conversationKey: 'c' }, clock.environment);
    chat.onRequest({ prompt: 'One' });
    await clock.flush();
    chat.onRequest({ prompt: 'Two' });
    await clock.flush();
    const { sessions, issues } = chat.getSnapshot().agentState;
    expect(sessions.c).toMatchObject({ title: 'Reports' });
    expect(issues).toEqual([]);
  });

  it('names runs and sessions without a key at random', () => {
    const world = createPageClock();
    const ids = Array.from({ length: 3 }, () => {
      const { chat } = createScene({ world }, {});
      chat.onRequest({ prompt: 'x' });
      return [chat.sessionId, ...Object.keys(chat.getSnapshot().agentState.runs)];
    }).flat();
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(id.length).toBeGreaterThan(20);
  });

  it('takes runs and messages with names such as __proto__', async () => {
    const scene = createScene({}, { conversationKey: '__proto__' });
    const { chat, fixture, clock } = scene;
    chat.onRequest({ prompt: 'x' });
    await clock.flush();
    for (const messageId of ['__proto__', 'constructor', 'toString']) {
      fixture.run.say(['message.started', { messageId, role: 'assistant', content: messageId }]);
    }
    fixture.run.finish();
    await clock.flush();
    const { messages, agentState } = chat.getSnapshot();
    expect(messages.map(({ message }) => message.content)).toEqual([
      'x',
      '__proto__',
      'constructor',
      'toString',
    ]);
    expect(agentState.issues).toEqual([]);
    expect(scene.statuses).toEqual(['completed']);
  });
});

describe('a run', () => {
  it('aborts the one before it, and is shown at once', async () => {
    const scene = createScene();
    const { chat, fixture, clock } = scene;
    chat.onRequest({ prompt: 'One' });
    await clock.flush();
    fixture.run.say('par');
    await clock.flush();
    chat.onRequest({ prompt: 'Two' });
    expect(chat.getSnapshot().messages.at(-1)?.message.content).toBe('Two');
    await clock.flush();
    expect(scene.statuses).toEqual(['cancelled', 'running']);
    expect(fixture.runs.map((run) => run.cancelled)).toEqual([true, false]);
    expect(chat.getSnapshot().messages.map(({ status }) => status)).toEqual([
      'local',
      'abort',
      'local',
    ]);
    expect(chat.getSnapshot().agentState.issues).toEqual([]);
  });

  it('is stopped by abort() with all it has open, and says nothing more', async () => {
    const scene = createScene();
    const { chat, fixture, clock } = scene;
    chat.onRequest({ prompt: 'One' });
    await clock.flush();
    fixture.run.say('par');
    await clock.flush();
    chat.abort();
    fixture.run.say('tial');
    await clock.flush();
    expect(scene.statuses).toEqual(['cancelled']);
    expect(chat.getSnapshot().messages[1]).toMatchObject({
      status: 'abort',
      message: { content: 'par', status: 'cancelled' },
    });
    expect(chat.getSnapshot()).toMatchObject({ isRequesting: false, connectionState: 'idle' });
    expect(chat.getSnapshot().agentState.issues).toEqual([]);
    chat.abort();
    chat.abort();
  });

  const boom = () => {
    throw new Error('Boom');
  };
  const faults: [string, Partial<Fixture['provider']>, ((fixture: Fixture) => void)?][] = [
    ['createContext throws', { createContext: boom }],
    [
      'the protocol has another version',
      { protocol: { name: 'agent-event', version: '9' as never } },
    ],
    ['start throws, and transformError too', { start: boom, transformError: boom }],
    ['start gives an event that is none', { start: () => [{} as never] }],
    [
      'prepareRequest throws, and transformError says nothing',
      { prepareRequest: boom, transformError: () => [] },
    ],
    [
      'transformChunk gives an event of another run',
      {
        transformChunk: (_, { events }) => [{ ...events.create('run.completed', {}), runId: 'x' }],
      },
      ({ run }) => run.say('x'),
    ],
    ['transformError throws', { transformError: boom }, ({ run }) => run.break(new Error('Gone'))],
    ['nothing says that it ended', { flush: () => [] }, ({ run }) => run.finish()],
    [
      'flush throws, and transformError too',
      { flush: boom, transformError: boom },
      ({ run }) => run.finish(),
    ],
    [
      'the provider ends a run that it never began',
      {
        start: () => [],
        flush: ({ events }) => [events.create('run.completed', {})],
      },
      ({ run }) => run.finish(),
    ],
  ];
  for (const [name, parts, act] of faults) {
    it(`comes to one end where ${name}`, async () => {
      const scene = createScene(parts as FixtureOptions);
      const { chat, fixture, clock } = scene;
      chat.subscribe(noop);
      chat.onRequest({ prompt: 'Hi' });
      await clock.flush();
      fixture.runs[0]?.say('par');
      await clock.flush();
      act?.(fixture);
      await clock.advance(60_000);
      expect(scene.statuses).toEqual(['failed']);
      const { agentState, isRequesting, messages } = chat.getSnapshot();
      expect(isRequesting).toBe(false);
      expect(Object.values(agentState.runs)[0]?.error?.message).toMatch(/./);
      for (const { message } of messages) expect(message.status).toMatch(/completed|failed/);
      // The next run is not impressed.
      chat.onRequest({ prompt: 'Again' });
      await clock.flush();
      expect([chat.getSnapshot().isRequesting, scene.statuses.length === 2]).toContain(true);
    });
  }

  it('reports a listener that throws, and goes on', async () => {
    const scene = createScene();
    const { chat, fixture, clock } = scene;
    chat.subscribe(() => {
      throw new Error('Listener');
    });
    chat.onRequest({ prompt: 'Hi' });
    await clock.flush();
    fixture.run.finish();
    await clock.flush();
    expect(scene.statuses).toEqual(['completed']);
    expect(clock.reports.length).toBeGreaterThan(0);
  });

  it('is stopped by a listener that aborts while it begins', async () => {
    const scene = createScene();
    const { chat, clock } = scene;
    chat.subscribe(() => chat.getSnapshot().isRequesting && chat.abort());
    chat.onRequest({ prompt: 'Hi' });
    await clock.flush();
    expect(scene.statuses).toEqual(['cancelled']);
  });

  it('is asked again with its own input, or another', async () => {
    const { chat, fixture, clock } = createScene();
    chat.onRequest({ prompt: 'One' });
    await clock.flush();
    fixture.run.say('A');
    fixture.run.finish();
    await clock.flush();
    const { id } = chat.getSnapshot().messages[1]!;
    chat.onReload(id);
    await clock.flush();
    chat.onReload(id, { prompt: 'Other' });
    await clock.flush();
    const runs = Object.values(chat.getSnapshot().agentState.runs);
    expect(runs.map(({ status }) => status)).toEqual(['completed', 'cancelled', 'running']);
    expect(runs.map(({ input }) => input)).toEqual([
      { prompt: 'One' },
      { prompt: 'One' },
      { prompt: 'Other' },
    ]);
    expect(() => chat.onReload('nobody')).toThrow(/no message 'nobody'/);
  });

  it('has the reconnects of its provider', async () => {
    const scene = createScene({
      classifyError: () => ({ retryable: true }),
      reconnect: { maxAttempts: 2, initialDelay: 10, maxDelay: 15 },
    });
    const { chat, fixture, clock } = scene;
    chat.onRequest({ prompt: 'Hi' });
    await clock.flush();
    fixture.run.say('a');
    await clock.flush();
    fixture.run.break(new Error('Gone'));
    await clock.flush();
    expect(chat.getSnapshot().connectionState).toBe('reconnecting');
    await clock.advance(10);
    fixture.run.say('b');
    await clock.flush();
    expect(chat.getSnapshot().connectionState).toBe('connected');
    expect(fixture.run.reads).toEqual([-1, 1]);
    expect(chat.getSnapshot().messages[1]?.message.content).toBe('ab');
    expect(scene.statuses).toEqual(['running']);
    for (const wait of [10, 15, 15]) {
      fixture.run.break(new Error('Gone'));
      await clock.advance(wait);
    }
    expect(scene.statuses).toEqual(['failed']);
    expect(chat.getSnapshot().connectionState).toBe('failed');
  });
});

describe('notifications', () => {
  it('come once for all that a request begins with', () => {
    const { chat } = createScene();
    let calls = 0;
    chat.subscribe(() => calls++);
    calls = 0;
    chat.onRequest({ prompt: 'Hi' });
    expect(calls).toBe(1);
    expect(chat.getSnapshot()).toBe(chat.getSnapshot());
  });

  it('do not come for what says nothing', async () => {
    const { chat, fixture, clock } = createScene({ transformChunk: () => [] });
    chat.onRequest({ prompt: 'Hi' });
    await clock.flush();
    fixture.run.say('a');
    await clock.advance(100);
    const before = chat.getSnapshot();
    let calls = 0;
    chat.subscribe(() => calls++);
    fixture.run.say('b');
    await clock.advance(100);
    expect(calls).toBe(0);
    expect(chat.getSnapshot()).toBe(before);
  });

  it('come at once, and then once a frame', async () => {
    const { chat, fixture, clock } = createScene();
    chat.onRequest({ prompt: 'Hi' });
    await clock.advance(100);
    let calls = 0;
    chat.subscribe(() => calls++);
    fixture.run.say('0');
    await clock.flush();
    expect(calls).toBe(1);
    for (let i = 1; i < 500; i++) fixture.run.say(String(i));
    await clock.flush();
    expect(calls).toBe(1);
    await clock.advance(16);
    expect(calls).toBe(2);
    fixture.run.finish();
    await clock.flush();
    expect(calls).toBe(3);
    await clock.advance(100);
    expect(calls).toBe(3);
  });
});
