import { describe, expect, it } from 'vitest';
import { createAgentChat } from '../../src/agent-provider/agent-chat.ts';
import { createAgentChatProjection } from '../../src/agent-provider/agent-chat-projection.ts';
import type { MessageInfo } from '../../src/agent-provider/chat-types.ts';
import type { AgentMessageState } from '../../src/agent-provider/state-types.ts';
import { createFixture, createPageClock, createScene } from './chat-fixture.ts';

const noop = () => {};
const local = (id: string, content: string): MessageInfo<AgentMessageState> => ({
  id,
  status: 'local',
  message: { role: 'user', content } as unknown as AgentMessageState,
});

async function begin(config?: Parameters<typeof createScene>[1]) {
  const scene = createScene({}, config);
  scene.chat.onRequest({ prompt: 'Hi' });
  await scene.clock.flush();
  const { run } = scene.fixture;
  const say = async (...what: Parameters<typeof run.say>) => {
    run.say(...what);
    await scene.clock.flush();
  };
  await say('On');
  return { scene, chat: scene.chat, run, say };
}

describe('the messages', () => {
  it('keep their objects until they change, and their array too', async () => {
    const { scene, say } = await begin();
    const before = scene.snapshot;
    await say(['reasoning.started', { reasoningId: 'r' }]);
    expect(scene.snapshot).not.toBe(before);
    expect(scene.snapshot.messages).toBe(before.messages);
    expect(scene.snapshot.parsedMessages).toBe(before.messages);
    await say(' and');
    const after = scene.snapshot;
    expect(after.messages).not.toBe(before.messages);
    expect(after.messages[0]).toBe(before.messages[0]);
    expect(after.messages[1]).not.toBe(before.messages[1]);
    expect(before.messages[1]?.message.content).toBe('On');
    // An event against the rules changes nothing.
    await say(['message.completed', { messageId: 'u' }]);
    expect(scene.snapshot.agentState.issues).toHaveLength(1);
    expect(scene.snapshot.messages).toBe(after.messages);
    expect(after.messages[1]?.message.content).toBe('On and');
  });

  it('cost a copy of their array where one of 5,000 changes', () => {
    const message = (content: string) => ({ role: 'assistant', content }) as AgentMessageState;
    const state = new Map(Array.from({ length: 5_000 }, (_, i) => [`${i}`, message('x')]));
    let reads = 0;
    const projection = createAgentChatProjection((key) => {
      reads++;
      return state.get(key);
    }, noop);
    for (const key of state.keys()) projection.touch(key);
    const before = projection.getMessages();
    expect(before).toHaveLength(5_000);
    reads = 0;
    for (let i = 0; i < 100; i++) {
      state.set('2500', message(`${i}`));
      for (let times = 0; times < 10; times++) projection.touch('2500');
      projection.getMessages();
    }
    expect(reads).toBe(100);
    const after = projection.getMessages();
    expect(after.filter((info, i) => info !== before[i]).map(({ id }) => id)).toEqual(['2500']);
  });

  it('have the status that the table says', async () => {
    const { scene, say, run } = await begin();
    const start = (messageId: string, role: string) =>
      ['message.started', { messageId, role }] as const;
    const error = { message: 'No' };
    await say(
      start('u1', 'user'),
      ['message.failed', { messageId: 'u1', error }],
      start('u2', 'user'),
      ['message.cancelled', { messageId: 'u2' }],
      start('u3', 'user'),
      start('t', 'tool'),
      ['message.completed', { messageId: 't' }],
      start('s', 'system'),
      ['message.cancelled', { messageId: 's' }],
      start('a', 'assistant'),
      ['message.failed', { messageId: 'a', error }],
    );
    expect(scene.snapshot.messages.map(({ status }) => status)).toEqual([
      'local',
      'updating',
      'error',
      'abort',
      'local',
      'success',
      'abort',
      'error',
    ]);
    run.finish();
  });
});

describe('an edit', () => {
  it('of a message stays while its run goes on, and what it leaves goes on too', async () => {
    const { scene, chat, say } = await begin();
    const { id } = scene.snapshot.messages[1]!;
    const { agentState } = scene.snapshot;
    expect(chat.setMessage(id, { extraInfo: { liked: true } })).toBe(true);
    expect(chat.setMessage(id, ({ extraInfo }) => ({ extraInfo: { ...extraInfo, seen: 1 } }))).toBe(
      true,
    );
    await say(' and');
    expect(scene.snapshot.messages[1]).toMatchObject({
      status: 'updating',
      extraInfo: { liked: true, seen: 1 },
      message: { content: 'On and' },
    });
    chat.setMessage(id, { status: 'success', id: 'other' } as never);
    await say(' on');
    expect(scene.snapshot.messages[1]).toMatchObject({ id, status: 'success' });
    expect(scene.texts).toEqual(['Hi', 'On and on']);
    expect(Object.keys(scene.snapshot.agentState.messages)).toEqual(
      Object.keys(agentState.messages),
    );
    expect(chat.setMessage('nobody', { status: 'error' })).toBe(false);
  });

  it('removes a message, and it stays away', async () => {
    const { scene, chat, say } = await begin();
    const { id } = scene.snapshot.messages[1]!;
    expect(chat.removeMessage(id)).toBe(true);
    expect(chat.removeMessage(id)).toBe(false);
    await say(' and on');
    expect(scene.texts).toEqual(['Hi']);
    expect(Object.values(scene.snapshot.agentState.messages)).toHaveLength(2);
    await say(['message.started', { messageId: 'n', role: 'assistant', content: 'New' }]);
    expect(scene.texts).toEqual(['Hi', 'New']);
  });

  it('of the list may drop, order, add and change', async () => {
    const { scene, chat, say } = await begin();
    const added = local('x', 'Added');
    expect(chat.setMessages((list) => [list[1]!, added, list[0]!, added])).toBe(true);
    expect(scene.texts).toEqual(['On', 'Added', 'Hi']);
    await say(' and');
    expect(scene.texts).toEqual(['On and', 'Added', 'Hi']);
    chat.setMessages((list) => list.map((info) => ({ ...info, extraInfo: { seen: true } })));
    await say(' on');
    await say(['message.started', { messageId: 'n', role: 'assistant', content: 'New' }]);
    expect(scene.texts).toEqual(['On and on', 'Added', 'Hi', 'New']);
    expect(scene.snapshot.messages.map(({ extraInfo }) => extraInfo)).toEqual([
      { seen: true },
      { seen: true },
      { seen: true },
      undefined,
    ]);
    const before = scene.snapshot.messages;
    chat.setMessages((list) =>
      list.map((info) =>
        info.id === 'x' ? info : { ...info, message: { ...info.message, content: 'Mine' } },
      ),
    );
    await say('!');
    expect(scene.texts).toEqual(['Mine', 'Added', 'Mine', 'Mine']);
    expect(before[0]?.message.content).toBe('On and on');
    chat.setMessages([]);
    expect(scene.texts).toEqual([]);
    expect(chat.setMessages('nonsense' as never)).toBe(false);
    expect(Object.values(scene.snapshot.agentState.messages)).toHaveLength(3);
    expect(scene.snapshot.agentState.issues).toEqual([]);
  });

  it('can be taken back', async () => {
    const { scene, chat, say } = await begin();
    const before = scene.snapshot.messages;
    const { id } = before[1]!;
    chat.setMessage(id, { status: 'success' });
    chat.setMessages(before);
    await say('!');
    expect(scene.snapshot.messages[1]).toMatchObject({ status: 'updating' });
    expect(scene.texts).toEqual(['Hi', 'On!']);
  });

  it('sees what has just been said, and is told', async () => {
    const { scene, chat } = await begin();
    let calls = 0;
    chat.subscribe(() => calls++);
    calls = 0;
    chat.onRequest({ prompt: 'Next' });
    const last = scene.snapshot.messages.at(-1)!;
    expect(chat.setMessage(last.id, { extraInfo: { n: 1 } })).toBe(true);
    expect(chat.removeMessage(scene.snapshot.messages[0]!.id)).toBe(true);
    expect(calls).toBe(3);
    expect(scene.texts).toEqual(['On', 'Next']);
  });

  it('works on default messages, and on one that a run then says itself', async () => {
    const { scene, chat } = await begin({
      conversationKey: 'c',
      defaultMessages: [local('d', 'Default')],
    });
    expect(chat.setMessage('d', { status: 'success' })).toBe(true);
    expect(scene.snapshot.messages[0]).toMatchObject({ id: 'd', status: 'success' });
    expect(chat.removeMessage('d')).toBe(true);
    expect(scene.texts).toEqual(['Hi', 'On']);
    expect(() => chat.onReload('d')).toThrow(/no message/);
    chat.setMessages((list) => [...list, local('y', 'Y')]);
    expect(() => chat.onReload('y')).toThrow(/came from no input/);
  });
});

describe('a parser', () => {
  function parsing(parser: (message: AgentMessageState) => unknown) {
    const { clock } = createPageClock();
    const fixture = createFixture();
    const chat = createAgentChat({ provider: fixture.provider, parser }, clock.environment);
    return { chat, fixture, clock };
  }

  it('makes one or many of a message, once until it changes', async () => {
    let calls = 0;
    const { chat, fixture, clock } = parsing(({ role, content }) => {
      calls++;
      return role === 'user'
        ? `${content}`
        : String(content)
            .split(' ')
            .map((word) => ({ word }));
    });
    chat.subscribe(noop);
    chat.onRequest({ prompt: 'Hi there' });
    await clock.flush();
    fixture.run.say('One two');
    await clock.flush();
    const { parsedMessages, messages } = chat.getSnapshot();
    const [user, answer] = messages;
    expect(parsedMessages).toEqual([
      { id: user?.id, status: 'local', message: 'Hi there' },
      { id: `${answer?.id}_0`, status: 'updating', message: { word: 'One' } },
      { id: `${answer?.id}_1`, status: 'updating', message: { word: 'two' } },
    ]);
    calls = 0;
    fixture.run.say('!');
    await clock.flush();
    const after = chat.getSnapshot();
    expect(calls).toBe(1);
    expect(after.parsedMessages[0]).toBe(parsedMessages[0]);
    expect(after.parsedMessages[2]).toMatchObject({ message: { word: 'two!' } });
    expect(chat.getSnapshot().parsedMessages).toBe(after.parsedMessages);
    fixture.run.say(['reasoning.started', { reasoningId: 'r' }]);
    await clock.flush();
    expect(chat.getSnapshot().parsedMessages).toBe(after.parsedMessages);
  });

  it('is not asked again for a message that only moves', async () => {
    const asked: unknown[] = [];
    const { chat, fixture, clock } = parsing(({ content }) => {
      asked.push(content);
      return Array.from(String(content));
    });
    chat.setMessages([local('a', 'AA'), local('b', ''), local('c', 'C')]);
    chat.onRequest({ prompt: 'Hi' });
    await clock.flush();
    const shown = () => chat.getSnapshot().parsedMessages.map(({ message }) => message);
    expect(shown().join('')).toBe('AACHi');
    const [first] = chat.getSnapshot().parsedMessages;
    asked.length = 0;
    chat.setMessages((list) => [...list].reverse());
    expect(shown().join('')).toBe('HiCAA');
    expect(chat.getSnapshot().parsedMessages[3]).toBe(first);
    chat.removeMessage('c');
    expect(shown().join('')).toBe('HiAA');
    chat.setMessages((list) => [local('n', 'N'), ...list]);
    expect(shown().join('')).toBe('NHiAA');
    expect(asked).toEqual(['N']);
    fixture.run.say('O', 'n');
    chat.setMessage('n', { message: { ...local('n', 'MM').message } });
    await clock.flush();
    expect(shown().join('')).toBe('MMHiAAOn');
    expect(asked).toEqual(['N', 'MM', 'On']);
    chat.setMessages([]);
    expect(shown()).toEqual([]);
  });

  it('that gives one in a list, or none, keeps ids apart all the same', () => {
    for (const [result, count] of [
      [['one'], 1],
      [[], 0],
    ] as const) {
      const { chat } = parsing(() => result);
      chat.onRequest({ prompt: 'Hi' });
      const { parsedMessages, messages } = chat.getSnapshot();
      expect(parsedMessages).toHaveLength(count);
      if (count) expect(parsedMessages[0]?.id).toBe(messages[0]?.id);
    }
  });

  it('that throws does so each time, and the conversation goes on', () => {
    let broken = true;
    const { chat } = parsing(() => {
      if (broken) throw new Error('Parser');
      return 'fine';
    });
    chat.onRequest({ prompt: 'Hi' });
    expect(() => chat.getSnapshot()).toThrow('Parser');
    expect(() => chat.getSnapshot()).toThrow('Parser');
    broken = false;
    expect(chat.getSnapshot().parsedMessages[0]?.message).toBe('fine');
  });
});
