import { describe, expect, it } from 'vitest';
import { createAgentChat } from '../../src/agent-provider/agent-chat.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { createFixture, createPageClock, createScene } from './chat-fixture.ts';

const noop = () => {};

/** A conversation that somebody shows while its run says something. */
async function showing(...args: Parameters<typeof createScene>) {
  const scene = createScene(...args);
  const leave = scene.chat.subscribe(noop);
  scene.chat.onRequest({ prompt: 'Hi' });
  await scene.clock.flush();
  scene.fixture.run.say('On');
  await scene.clock.flush();
  return { scene, leave, ...scene };
}

describe('when the last listener leaves', () => {
  it('a resumable run is let be, and taken up where it was left', async () => {
    const { scene, leave, chat, clock, fixture } = await showing();
    leave();
    await clock.advance(0);
    expect(fixture.run).toMatchObject({ readers: 0, cancelled: false });
    fixture.run.say(' and', ' on');
    await clock.advance(60_000);
    expect(scene.texts).toEqual(['Hi', 'On']);
    expect(scene.snapshot.isRequesting).toBe(true);

    chat.subscribe(noop);
    expect(scene.snapshot.connectionState).toBe('reconnecting');
    await clock.flush();
    expect(scene.snapshot.connectionState).toBe('connected');
    fixture.run.finish();
    await clock.flush();
    expect(scene.texts).toEqual(['Hi', 'On and on']);
    expect(scene.statuses).toEqual(['completed']);
    expect(scene.snapshot.agentState.issues).toEqual([]);
    expect(fixture.run.reads).toEqual([-1, 1]);
  });

  it('a resumable run that has said nothing yet is taken up from its start', async () => {
    const scene = createScene();
    const { chat, clock, fixture } = scene;
    const leave = chat.subscribe(noop);
    chat.onRequest({ prompt: 'Hi' });
    await clock.flush();
    leave();
    await clock.advance(0);
    fixture.run.say('A');
    chat.subscribe(noop);
    fixture.run.finish();
    await clock.flush();
    expect(scene.texts).toEqual(['Hi', 'A']);
    expect(fixture.run.reads).toEqual([-1, -1]);
    expect(scene.snapshot.agentState.issues).toEqual([]);
  });

  it('a chunk that was under way comes with the next reading', async () => {
    const { scene, leave, chat, clock, fixture } = await showing();
    fixture.run.say(' and');
    leave();
    await clock.advance(0);
    chat.subscribe(noop);
    fixture.run.finish();
    await clock.flush();
    expect(scene.texts).toEqual(['Hi', 'On and']);
    expect(scene.snapshot.agentState.issues).toEqual([]);
  });

  it('nothing happens where another comes in the same turn', async () => {
    for (const resumable of [true, false]) {
      const { scene, leave, chat, clock, fixture } = await showing({ resumable });
      leave();
      leave();
      const again = chat.subscribe(noop);
      again();
      chat.subscribe(noop);
      await clock.advance(1_000);
      expect(fixture.run).toMatchObject({ readers: 1, cancelled: false, reads: [-1] });
      expect(scene.statuses).toEqual(['running']);
    }
  });

  it('nothing happens while others listen', async () => {
    const { leave, chat, clock, fixture } = await showing();
    chat.subscribe(noop);
    leave();
    await clock.advance(1_000);
    expect(fixture.run).toMatchObject({ readers: 1, reads: [-1] });
  });

  it('a run of any other transport is aborted', async () => {
    const withoutResume = createFixture();
    const { resume: _, ...transport } = withoutResume.provider.transport;
    const withoutCursor = createFixture();
    const { getCursor: __, ...other } = withoutCursor.provider.transport;
    for (const options of [
      { resumable: false },
      { transport },
      { transport: other },
      {
        capabilities: { ...withoutResume.provider.capabilities, resumable: false },
      },
    ]) {
      const fixture = createFixture(options as object);
      const target =
        'transport' in options
          ? transport === options.transport
            ? withoutResume
            : withoutCursor
          : fixture;
      const scene = createScene({ fixture });
      const leave = scene.chat.subscribe(noop);
      scene.chat.onRequest({ prompt: 'Hi' });
      await scene.clock.flush();
      leave();
      await scene.clock.advance(0);
      expect(target.run.cancelled).toBe(true);
      expect(scene.statuses).toEqual(['cancelled']);
      expect(scene.snapshot.isRequesting).toBe(false);
    }
  });

  it('a run of a conversation without a key is aborted, and its session forgotten', async () => {
    for (const conversationKey of [undefined, '']) {
      const forgotten: string[] = [];
      const { scene, leave, chat, clock, fixture } = await showing(
        { forgetSession: (id) => forgotten.push(`${id} ${fixture.run.cancelled}`) },
        { conversationKey },
      );
      leave();
      await clock.advance(0);
      expect(fixture.run.cancelled).toBe(true);
      expect(scene.statuses).toEqual(['cancelled']);
      expect(forgotten).toEqual([`${chat.sessionId} true`]);
    }
  });

  it('a conversation without a key is not forgotten between its runs', async () => {
    const forgotten: string[] = [];
    const { chat, clock, fixture } = createScene({ forgetSession: (id) => forgotten.push(id) }, {});
    chat.onRequest({ prompt: 'Hi' });
    await clock.flush();
    fixture.run.finish();
    await clock.flush();
    expect(chat.getSnapshot().isRequesting).toBe(false);
    expect(forgotten).toEqual([]);
  });

  it('abort() reaches a run that nobody reads', async () => {
    const { scene, leave, chat, clock, fixture } = await showing();
    leave();
    await clock.advance(0);
    chat.abort();
    await clock.flush();
    expect(fixture.run.cancelled).toBe(true);
    expect(scene.statuses).toEqual(['cancelled']);
    expect(scene.snapshot.agentState.issues).toEqual([]);
  });

  it('a new request ends a run that nobody reads', async () => {
    const { scene, leave, chat, clock, fixture } = await showing();
    leave();
    await clock.advance(0);
    chat.onRequest({ prompt: 'Next' });
    await clock.flush();
    expect(fixture.runs.map((run) => run.cancelled)).toEqual([true, false]);
    expect(scene.statuses).toEqual(['cancelled', 'running']);
  });

  it('a run that cannot be taken up again fails, and says so', async () => {
    const { scene, leave, chat, clock, fixture } = await showing();
    leave();
    await clock.advance(0);
    chat.subscribe(noop);
    fixture.run.break(new Error('Gone'));
    await clock.flush();
    expect(scene.statuses).toEqual(['failed']);
    expect(scene.snapshot.connectionState).toBe('failed');
    expect(scene.snapshot.messages[1]).toMatchObject({ status: 'error' });
  });

  it('no timer stays behind', async () => {
    const { leave, clock } = await showing();
    leave();
    await clock.advance(60_000);
    expect(clock.timers).toBe(0);
  });
});

describe('dispose()', () => {
  it('lets resumable runs go on at the server, and aborts all others', async () => {
    for (const resumable of [true, false]) {
      const { chat, clock, fixture } = await showing({ resumable });
      chat.dispose();
      chat.dispose();
      await clock.flush();
      expect(fixture.run).toMatchObject({ readers: 0, cancelled: !resumable });
      expect(() => chat.onRequest({ prompt: 'x' })).toThrow(
        expect.objectContaining({ code: 'closed' }),
      );
      expect(() => chat.subscribe(noop)()).not.toThrow();
      expect(() => chat.abort()).not.toThrow();
      await clock.advance(60_000);
      expect(clock.timers).toBe(0);
    }
  });

  it('while it is restored starts nothing afterwards', async () => {
    let answer: (value: undefined) => void = noop;
    const checkpointStorage = {
      load: () => new Promise((resolve) => (answer = resolve)),
      save: noop,
      remove: noop,
    };
    const { chat, fixture, clock } = createScene({ checkpointStorage });
    chat.subscribe(noop);
    chat.onRequest({ prompt: 'Hi' });
    chat.dispose();
    answer(undefined);
    await clock.advance(60_000);
    expect(fixture.runs).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  it('makes the key free for another conversation', async () => {
    const { chat, fixture, clock, page } = await showing();
    chat.dispose();
    const next = createScene({ fixture, world: { clock, page } });
    expect(next.snapshot.messages).toEqual([]);
  });
});

describe('a key', () => {
  it('finds the conversation again at the same provider, a number by its digits', async () => {
    const { chat, fixture, clock, page } = await showing({}, { conversationKey: 7 });
    const world = { clock, page };
    const open = (conversationKey: string | number | symbol) =>
      createScene({ fixture, world }, { conversationKey }).chat.getSnapshot().agentState;
    expect(chat.sessionId).toBe('7');
    expect(open('7')).toBe(chat.getSnapshot().agentState);
    expect(open(7)).toBe(chat.getSnapshot().agentState);
    expect(open('8').runs).toEqual({});
    const key = Symbol('a');
    const one = createScene({ fixture, world }, { conversationKey: key });
    one.chat.onRequest({ prompt: 'Private' });
    expect(open(key)).toBe(one.snapshot.agentState);
    expect(open(Symbol('a')).runs).toEqual({});
    expect(createScene({ world }, { conversationKey: 7 }).snapshot.messages).toEqual([]);
  });

  it('is forgotten when nothing was said, and kept when something was', async () => {
    const scene = createScene({}, { conversationKey: 'a', defaultMessages: [] });
    const { fixture, clock, page } = scene;
    const world = { clock, page };
    scene.chat.subscribe(noop)();
    await clock.advance(0);
    // Were it kept, it would have the default messages of the one before.
    const open = (content: string) =>
      createScene(
        { fixture, world },
        { conversationKey: 'a', defaultMessages: [{ id: 1, message: { content } as never }] },
      );
    expect(open('One').texts).toEqual(['One']);
    expect(open('Two').texts).toEqual(['One']);
    // One that was only read goes after a while, too.
    await clock.advance(60_000);
    expect(clock.timers).toBe(0);
    const used = open('Three');
    expect(used.texts).toEqual(['Three']);
    used.chat.removeMessage(1);
    used.chat.subscribe(noop)();
    await clock.advance(60_000);
    expect(open('Four').texts).toEqual([]);
  });

  it('means nothing on a server', () => {
    const fixture = createFixture();
    const { environment } = createVirtualClock();
    const open = () =>
      createAgentChat({ provider: fixture.provider, conversationKey: 'c' }, environment);
    const first = open();
    first.onRequest({ prompt: 'Secret' });
    expect(first.getSnapshot().messages).toHaveLength(1);
    expect(open().getSnapshot().messages).toEqual([]);
    expect(() => first.queueRequest('other', { prompt: 'x' })).toThrow(/no such conversation/);
  });
});

describe('queueRequest', () => {
  it('waits for a conversation that is not there yet', async () => {
    const scene = createScene();
    const { chat, fixture, clock, page } = scene;
    chat.queueRequest('other', { prompt: 'Later' });
    await clock.flush();
    expect(fixture.runs).toEqual([]);
    const other = createScene({ fixture, world: { clock, page } }, { conversationKey: 'other' });
    expect(other.texts).toEqual([]);
    other.chat.subscribe(noop);
    expect(other.texts).toEqual(['Later']);
    other.chat.subscribe(noop);
    await clock.flush();
    expect(fixture.runs).toHaveLength(1);
    expect(scene.texts).toEqual([]);
  });

  it('waits for the default messages, of its own conversation too', async () => {
    let load: (list: []) => void = noop;
    const scene = createScene(
      {},
      {
        conversationKey: 'c',
        defaultMessages: () => new Promise((resolve) => (load = resolve)),
      },
    );
    scene.chat.queueRequest('c', { prompt: 'Later' });
    await scene.clock.flush();
    expect(scene.texts).toEqual([]);
    expect(scene.snapshot.isDefaultMessagesRequesting).toBe(true);
    load([]);
    await scene.clock.flush();
    expect(scene.texts).toEqual(['Later']);
    scene.chat.queueRequest('c', { prompt: 'Now' });
    expect(scene.texts).toEqual(['Later', 'Now']);
  });
});

describe('default messages', () => {
  const message = (content: string) => ({ message: { role: 'user', content } as never });

  it('come first, with ids and a status where they have none', async () => {
    const scene = createScene(
      {},
      {
        conversationKey: 'c',
        defaultMessages: [
          message('A'),
          { ...message('B'), id: 'b', status: 'success', extraInfo: { n: 1 } },
          { ...message('C'), id: 'b' },
        ],
      },
    );
    scene.chat.onRequest({ prompt: 'Hi' });
    expect(scene.texts).toEqual(['A', 'B', 'C', 'Hi']);
    expect(scene.snapshot.messages.slice(0, 3)).toMatchObject([
      { id: 'default_0', status: 'local' },
      { id: 'b', status: 'success', extraInfo: { n: 1 } },
      { id: 'default_2', status: 'local' },
    ]);
    expect(scene.snapshot.agentState.messages).not.toHaveProperty('default_0');
  });

  it('are loaded once, when somebody listens, and come before what was said meanwhile', async () => {
    const keys: unknown[] = [];
    const scene = createScene(
      {},
      {
        conversationKey: 'c',
        defaultMessages: async ({ conversationKey }) => {
          keys.push(conversationKey);
          return [message('A')];
        },
      },
    );
    const { chat, clock } = scene;
    expect(scene.snapshot.isDefaultMessagesRequesting).toBe(true);
    expect(keys).toEqual([]);
    chat.subscribe(noop)();
    chat.onRequest({ prompt: 'Hi' });
    await clock.advance(0);
    chat.subscribe(noop);
    await clock.flush();
    expect(keys).toEqual(['c']);
    expect(scene.texts).toEqual(['A', 'Hi']);
    expect(scene.snapshot.isDefaultMessagesRequesting).toBe(false);
  });

  it('are none where the loader fails, which is reported', async () => {
    for (const defaultMessages of [
      () => {
        throw new Error('Loader');
      },
      async () => {
        throw new Error('Loader');
      },
      () => 'nonsense' as never,
      () => [null] as never,
    ]) {
      const scene = createScene({}, { conversationKey: 'c', defaultMessages });
      scene.chat.subscribe(noop);
      await scene.clock.flush();
      expect(scene.snapshot).toMatchObject({ messages: [], isDefaultMessagesRequesting: false });
      expect(scene.clock.reports).toEqual([expect.any(Error)]);
    }
  });

  it('are all that a server shows', () => {
    const { clock } = createPageClock();
    const { provider } = createFixture();
    const chat = createAgentChat(
      { provider, defaultMessages: [message('A')], parser: ({ content }) => String(content) },
      clock.environment,
    );
    chat.onRequest({ prompt: 'Hi' });
    const snapshot = chat.getServerSnapshot();
    expect(snapshot).toBe(chat.getServerSnapshot());
    expect(snapshot).toMatchObject({
      messages: [{ id: 'default_0' }],
      parsedMessages: [{ message: 'A' }],
      isRequesting: false,
      connectionState: 'idle',
    });
    expect(chat.getSnapshot().messages).toHaveLength(2);
  });
});
