import { describe, expect, it } from 'vitest';
import type { AgentCheckpoint } from '../../src/agent-provider/chat-types.ts';
import {
  createMemoryAgentCheckpointStorage,
  createWebStorageAgentCheckpointStorage,
} from '../../src/agent-provider/checkpoint-storage.ts';
import { createFakePage } from '../helpers/fake-page.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { createFixture, createScene, type Fixture, type FixtureOptions } from './chat-fixture.ts';

const noop = () => {};

/** A storage that answers when the test says so. */
function createSlowStorage() {
  const kept = new Map<string, string>();
  const waits: (() => void)[] = [];
  const later = <Value>(value: () => Value) =>
    new Promise<Value>((resolve) => waits.push(() => resolve(value())));
  return {
    kept,
    waits,
    saves: [] as AgentCheckpoint[],
    load: (id: string) => later(() => JSON.parse(kept.get(id) ?? 'null')),
    save(id: string, checkpoint: AgentCheckpoint) {
      this.saves.push(checkpoint);
      return later(() => void kept.set(id, JSON.stringify(checkpoint)));
    },
    remove: (id: string) => later(() => void kept.delete(id)),
    answer() {
      for (const wait of waits.splice(0)) wait();
    },
  };
}

async function begin(options: FixtureOptions = {}) {
  const checkpointStorage = createMemoryAgentCheckpointStorage();
  const scene = createScene({ checkpointStorage, ...options });
  scene.chat.subscribe(noop);
  await scene.clock.flush();
  scene.chat.onRequest({ prompt: 'Hi' });
  await scene.clock.flush();
  return scene;
}

/** The same conversation on the next page. */
const reload = (fixture: Fixture, options: FixtureOptions = {}) =>
  createScene({ fixture: fixture.page(options) });

describe('a reload', () => {
  it('goes on in the middle of a message', async () => {
    const before = await begin();
    const { fixture } = before;
    fixture.run.say('On');
    await before.clock.flush();
    before.page.dispatch('pagehide');
    fixture.run.say(' and');

    const scene = reload(fixture);
    expect(scene.texts).toEqual(['Hi', 'On']);
    expect(scene.snapshot).toMatchObject({ isRequesting: true, connectionState: 'reconnecting' });
    // Reading alone takes nothing up.
    await scene.clock.flush();
    expect(fixture.run.reads).toEqual([-1]);
    scene.chat.subscribe(noop);
    await scene.clock.flush();
    expect(scene.snapshot.connectionState).toBe('connected');
    fixture.run.say(' on');
    fixture.run.finish();
    await scene.clock.flush();
    expect(scene.texts).toEqual(['Hi', 'On and on']);
    expect(scene.statuses).toEqual(['completed']);
    expect(scene.snapshot.agentState.issues).toEqual([]);
    expect(Object.keys(scene.snapshot.agentState.sessions)).toEqual(['c']);
    expect(fixture.run.reads).toEqual([-1, 1]);
  });

  it('after any event gives the state of an undisturbed run', async () => {
    const script = (fixture: Fixture) => [
      () => fixture.run.say('One'),
      () => fixture.run.say(['reasoning.started', { reasoningId: 'r' }]),
      () => fixture.run.say(['reasoning.delta', { reasoningId: 'r', delta: 'Hm' }]),
      () => fixture.run.say(['tool.requested', { toolCallId: 't', name: 'look' }]),
      () => fixture.run.say(['reasoning.completed', { reasoningId: 'r' }]),
      () => fixture.run.say(['tool.completed', { toolCallId: 't', result: 1 }], ' two'),
      () => fixture.run.finish(),
    ];
    const play = async (reloadAt: number) => {
      let scene = await begin();
      const { fixture } = scene;
      for (const [index, step] of script(fixture).entries()) {
        step();
        await scene.clock.flush();
        if (index !== reloadAt) continue;
        scene.page.dispatch('pagehide');
        scene = reload(fixture);
        scene.chat.subscribe(noop);
        await scene.clock.flush();
      }
      const text = JSON.stringify(scene.snapshot.agentState, (key, value) =>
        /At$/.test(key) ? undefined : value,
      );
      return text.replaceAll(fixture.run.id, 'run');
    };
    const undisturbed = await play(-1);
    expect(undisturbed).toContain('One two');
    for (let index = 0; index < 7; index++) expect(await play(index)).toBe(undisturbed);
  });

  it('may follow another', async () => {
    let scene = await begin();
    const { fixture } = scene;
    for (const text of ['One', ' two', ' three']) {
      fixture.run.say(text);
      await scene.clock.flush();
      scene.page.dispatch('pagehide');
      scene = reload(fixture);
      scene.chat.subscribe(noop);
      await scene.clock.flush();
    }
    expect(scene.texts).toEqual(['Hi', 'One two three']);
    expect(fixture.run.reads).toEqual([-1, 1, 2, 3]);
  });

  it('before the first chunk begins at the start of the log', async () => {
    const before = await begin();
    before.page.dispatch('pagehide');
    before.fixture.run.say('A');
    const scene = reload(before.fixture);
    scene.chat.subscribe(noop);
    before.fixture.run.finish();
    await scene.clock.flush();
    expect(scene.texts).toEqual(['Hi', 'A']);
    expect(scene.statuses).toEqual(['completed']);
  });

  it('fails a run that cannot be taken up again, with all it has open', async () => {
    for (const options of [
      { resumable: false },
      {
        restoreContext: () => {
          throw new Error('Unknown');
        },
      },
    ]) {
      const before = await begin();
      before.fixture.run.say('On');
      await before.clock.flush();
      before.page.dispatch('pagehide');
      const scene = reload(before.fixture, options);
      scene.chat.subscribe(noop);
      await scene.clock.flush();
      expect(scene.statuses).toEqual(['failed']);
      expect(Object.values(scene.snapshot.agentState.runs)[0]?.error?.code).toBe('run-lost');
      expect(scene.snapshot).toMatchObject({
        isRequesting: false,
        connectionState: 'unrecoverable',
      });
      expect(scene.snapshot.messages[1]?.status).toBe('error');
      expect(scene.snapshot.agentState.issues).toEqual([]);
    }
  });

  it('keeps what is over, and the next run has a name of its own', async () => {
    const before = await begin();
    before.fixture.run.say('A');
    before.fixture.run.finish();
    await before.clock.advance(0);
    const scene = reload(before.fixture);
    expect(scene.texts).toEqual(['Hi', 'A']);
    expect(scene.snapshot).toMatchObject({ isRequesting: false, connectionState: 'idle' });
    scene.chat.onReload(scene.snapshot.messages[1]!.id);
    await scene.clock.flush();
    expect(scene.texts).toEqual(['Hi', 'A', 'Hi']);
    expect(scene.statuses).toEqual(['completed', 'running']);
    expect(scene.snapshot.agentState.issues).toEqual([]);
  });

  it('aborts what runs where abort() was called before it was known', async () => {
    const storage = createSlowStorage();
    const before = await begin();
    before.fixture.run.say('On');
    await before.clock.flush();
    before.page.dispatch('pagehide');
    const memory = before.fixture.provider.checkpointStorage!;
    storage.kept.set('c', JSON.stringify(memory.load('c')));
    const scene = reload(before.fixture, { checkpointStorage: storage });
    scene.chat.subscribe(noop);
    scene.chat.onRequest({ prompt: 'Dropped' });
    scene.chat.abort();
    expect(scene.snapshot.isRequesting).toBe(false);
    storage.answer();
    await scene.clock.flush();
    expect(scene.statuses).toEqual(['cancelled']);
    expect(before.fixture.run.cancelled).toBe(true);
    expect(scene.texts).toEqual(['Hi', 'On']);
  });

  it('keeps nothing of a conversation without a name', async () => {
    for (const conversationKey of [undefined, Symbol('c')]) {
      const saved: string[] = [];
      const checkpointStorage = {
        load: noop,
        remove: noop,
        save: (id: string) => saved.push(id),
      };
      const scene = createScene({ checkpointStorage }, { conversationKey });
      scene.chat.subscribe(noop);
      scene.chat.onRequest({ prompt: 'Hi' });
      await scene.clock.advance(5_000);
      scene.page.dispatch('pagehide');
      expect(saved).toEqual([]);
    }
  });
});

describe('while it is restored', () => {
  it('requests wait, actions refuse, and all goes on afterwards', async () => {
    const storage = createSlowStorage();
    const scene = createScene({ checkpointStorage: storage });
    scene.chat.subscribe(noop);
    expect(scene.snapshot).toMatchObject({ connectionState: 'restoring', isRequesting: false });
    scene.chat.onRequest({ prompt: 'One' });
    scene.chat.onRequest({ prompt: 'Two' });
    expect(scene.snapshot).toMatchObject({ messages: [], isRequesting: true });
    expect(() => scene.chat.agentActions.cancelRun({ runId: 'x' })).toThrow(/being restored/);
    await scene.clock.advance(100);
    storage.answer();
    await scene.clock.flush();
    expect(scene.texts).toEqual(['One', 'Two']);
    expect(scene.fixture.runs).toEqual([]);
    // What was written down before the second question is sent is both.
    storage.answer();
    await scene.clock.flush();
    storage.answer();
    await scene.clock.flush();
    expect(scene.fixture.runs).toHaveLength(1);
    expect(scene.statuses).toEqual(['cancelled', 'running']);
  });

  it('a request runs after the run that goes on is ended', async () => {
    const before = await begin();
    before.fixture.run.say('On');
    await before.clock.flush();
    before.page.dispatch('pagehide');
    const storage = createSlowStorage();
    storage.kept.set('c', JSON.stringify(before.fixture.provider.checkpointStorage!.load('c')));
    const scene = reload(before.fixture, { checkpointStorage: storage });
    scene.chat.subscribe(noop);
    scene.chat.onRequest({ prompt: 'Next' });
    storage.answer();
    await scene.clock.flush();
    expect(scene.texts).toEqual(['Hi', 'On', 'Next']);
    expect(scene.statuses).toEqual(['cancelled', 'running']);
    expect(scene.snapshot.messages[1]?.status).toBe('abort');
  });

  it('a load that never ends is waited for 5 s', async () => {
    const storage = createSlowStorage();
    const scene = createScene({ checkpointStorage: storage });
    scene.chat.subscribe(noop);
    scene.chat.onRequest({ prompt: 'One' });
    await scene.clock.advance(4_999);
    expect(scene.snapshot.connectionState).toBe('restoring');
    await scene.clock.advance(1);
    expect(scene.texts).toEqual(['One']);
    storage.kept.set('c', '{}');
    storage.answer();
    await scene.clock.advance(10_000);
    expect(scene.texts).toEqual(['One']);
  });

  it('a load that fails or gives something else gives an empty conversation', async () => {
    const before = await begin();
    before.fixture.run.say('On');
    await before.clock.flush();
    before.page.dispatch('pagehide');
    const good = before.fixture.provider.checkpointStorage!.load('c') as AgentCheckpoint & {
      state: Record<string, unknown>;
    };
    const runId = before.fixture.run.id;
    const bad: unknown[] = [
      null,
      1,
      'x',
      [],
      {},
      { ...good, schemaVersion: 2 },
      { ...good, protocolVersion: '0.2' },
      { ...good, commandProtocolVersion: 1 },
      { ...good, sessionId: 'd' },
      { ...good, state: null },
      { ...good, cursorByRun: null },
      { ...good, pendingCommands: [{}] },
      { ...good, state: { ...good.state, order: [null] } },
      { ...good, state: { ...good.state, order: {} } },
      { ...good, state: { ...good.state, runs: { [runId]: 1 } } },
      { ...good, state: { ...good.state, runs: { other: { id: runId, status: 'running' } } } },
      {
        ...good,
        state: {
          ...good.state,
          runs: { [runId]: { id: runId, sessionId: 'd', status: 'running' } },
        },
      },
      { ...good, state: { ...good.state, messages: { x: { id: 'x' } } } },
      { ...good, state: { ...good.state, lastSequenceByRun: { [runId]: 'x' } } },
    ];
    const load = (value: unknown) => ({
      save: noop,
      remove: noop,
      load: () => {
        if (value instanceof Error) throw value;
        return typeof value === 'function' ? value() : value;
      },
    });
    const rejects = () => Promise.reject(new Error('Denied'));
    for (const value of [...bad, rejects, new Error('Denied')]) {
      const scene = reload(before.fixture, { checkpointStorage: load(value) });
      scene.chat.subscribe(noop);
      await scene.clock.flush();
      expect(scene.snapshot).toMatchObject({ messages: [], connectionState: 'idle' });
      expect(scene.clock.reports).toEqual([]);
    }
    expect(reload(before.fixture, { checkpointStorage: load(good) }).texts).toEqual(['Hi', 'On']);
  });
});

describe('a checkpoint', () => {
  it('holds state, cursor and context of one moment', async () => {
    const scene = await begin();
    const { fixture } = scene;
    fixture.run.say('One', ' two');
    await scene.clock.advance(1_000);
    const { id } = fixture.run;
    expect(fixture.provider.checkpointStorage!.load('c')).toMatchObject({
      schemaVersion: 1,
      protocolVersion: '0.1',
      commandProtocolVersion: '0.1',
      sessionId: 'c',
      inputByRun: { [id]: { prompt: 'Hi' } },
      cursorByRun: { [id]: 2 },
      contextByRun: { [id]: { runId: id } },
      pendingCommands: [],
      state: { runs: { [id]: { status: 'running' } } },
    });
    fixture.run.finish();
    await scene.clock.flush();
    await scene.clock.advance(0);
    expect(fixture.provider.checkpointStorage!.load('c')).toMatchObject({
      inputByRun: {},
      cursorByRun: {},
      contextByRun: {},
      state: { runs: { [id]: { status: 'completed' } } },
    });
  });

  it('is written at most once a second, at once at an end, and when the page is hidden', async () => {
    let saves = 0;
    const scene = await begin({
      checkpointStorage: { load: noop, remove: noop, save: () => void saves++ },
    });
    const { fixture, clock, page } = scene;
    await clock.advance(0);
    expect(saves).toBe(1);
    for (let i = 0; i < 100; i++) {
      fixture.run.say('x');
      await clock.advance(9);
    }
    expect(saves).toBe(1);
    await clock.advance(100);
    expect(saves).toBe(2);
    fixture.run.say('y');
    await clock.flush();
    page.setVisible(false);
    expect(saves).toBe(3);
    page.setVisible(true);
    page.setVisible(false);
    page.dispatch('pagehide');
    expect(saves).toBe(3);
    fixture.run.finish();
    await clock.flush();
    await clock.advance(0);
    expect(saves).toBe(4);
    await clock.advance(60_000);
    expect(saves).toBe(4);
    expect(clock.timers).toBe(0);
  });

  it('is written whenever the provider asks for it, of all that there is', async () => {
    let remember: (() => unknown) | undefined;
    const saved: AgentCheckpoint[] = [];
    const scene = await begin({
      checkpointStorage: { load: noop, remove: noop, save: (_id, one) => void saved.push(one) },
      createContext: (given) => {
        remember = given.remember;
        return { events: given.events, runId: given.runId, ended: false };
      },
    });
    expect(saved).toHaveLength(1);
    expect(Object.keys(saved[0]!.contextByRun)).toEqual([scene.fixture.run.id]);
    expect(remember?.()).toBeUndefined();
    expect(saved).toHaveLength(2);
  });

  it('is written although the clock was set back', async () => {
    let saves = 0;
    const scene = await begin({
      checkpointStorage: { load: noop, remove: noop, save: () => void saves++ },
    });
    await scene.clock.advance(0);
    scene.clock.shiftWall(-3_600_000);
    scene.fixture.run.say('x');
    await scene.clock.advance(1_000);
    expect(saves).toBe(2);
  });

  it('is written one at a time, the newest last', async () => {
    const storage = createSlowStorage();
    const scene = createScene({ checkpointStorage: storage });
    scene.chat.subscribe(noop);
    storage.answer();
    await scene.clock.flush();
    scene.chat.onRequest({ prompt: 'Hi' });
    await scene.clock.advance(250);
    expect(storage.saves).toHaveLength(1);
    scene.fixture.run.say('One');
    scene.fixture.run.finish();
    await scene.clock.advance(3_000);
    scene.page.dispatch('pagehide');
    expect(storage.saves).toHaveLength(1);
    storage.answer();
    await scene.clock.advance(0);
    expect(storage.saves).toHaveLength(2);
    storage.answer();
    await scene.clock.advance(5_000);
    expect(JSON.parse(storage.kept.get('c')!).state.runs[scene.fixture.run.id].status).toBe(
      'completed',
    );
    expect(storage.saves).toHaveLength(2);
  });

  it('that is never confirmed holds up the next for 5 s only', async () => {
    const storage = createSlowStorage();
    const scene = createScene({ checkpointStorage: storage });
    scene.chat.subscribe(noop);
    storage.answer();
    await scene.clock.flush();
    scene.chat.onRequest({ prompt: 'Hi' });
    await scene.clock.advance(250);
    scene.fixture.run.say('One');
    await scene.clock.advance(4_749);
    expect(storage.saves).toHaveLength(1);
    await scene.clock.advance(1);
    await scene.clock.advance(0);
    expect(storage.saves).toHaveLength(2);
  });

  it('that storage or provider refuse costs the memory only', async () => {
    const refuse = () => {
      throw new Error('Full');
    };
    for (const options of [
      { checkpointStorage: { load: refuse, save: refuse, remove: refuse } },
      { checkpointStorage: { load: refuse, save: async () => refuse(), remove: refuse } },
      { saveContext: refuse },
    ]) {
      const scene = await begin(options);
      scene.fixture.run.say('A');
      await scene.clock.advance(5_000);
      scene.fixture.run.finish();
      await scene.clock.advance(5_000);
      expect(scene.statuses).toEqual(['completed']);
      expect(scene.texts).toEqual(['Hi', 'A']);
      expect(scene.clock.reports).toEqual([]);
    }
  });

  it('is not written of an input that is no JSON, which runs all the same', async () => {
    const cyclic: { prompt: string; self?: unknown } = { prompt: 'Hi' };
    cyclic.self = cyclic;
    for (const input of [
      cyclic,
      { prompt: 'Hi', n: 1n },
      Object.assign(() => {}, { prompt: 'Hi' }),
    ]) {
      let saves = 0;
      const scene = createScene({
        checkpointStorage: { load: noop, remove: noop, save: () => void saves++ },
      });
      scene.chat.subscribe(noop);
      scene.chat.onRequest(input);
      await scene.clock.advance(2_000);
      scene.page.dispatch('pagehide');
      scene.fixture.run.finish();
      await scene.clock.advance(2_000);
      expect(saves).toBe(0);
      expect(scene.statuses).toEqual(['completed']);
    }
  });

  it('is not written of a conversation in which nothing was said', async () => {
    let saves = 0;
    const scene = createScene({
      checkpointStorage: { load: noop, remove: noop, save: () => void saves++ },
    });
    scene.chat.subscribe(noop);
    scene.page.dispatch('pagehide');
    await scene.clock.advance(5_000);
    expect(saves).toBe(0);
  });

  it('of a run that nobody reads lets the next page go on', async () => {
    const checkpointStorage = createMemoryAgentCheckpointStorage();
    const before = createScene({ checkpointStorage });
    const leave = before.chat.subscribe(noop);
    before.chat.onRequest({ prompt: 'Hi' });
    await before.clock.advance(10);
    before.fixture.run.say('On');
    await before.clock.flush();
    leave();
    await before.clock.advance(0);
    expect(before.page.listeners).toBe(0);
    before.fixture.run.say(' and on');
    const scene = reload(before.fixture);
    expect(scene.texts).toEqual(['Hi', 'On']);
    scene.chat.subscribe(noop);
    before.fixture.run.finish();
    await scene.clock.flush();
    expect(scene.texts).toEqual(['Hi', 'On and on']);
    expect(scene.statuses).toEqual(['completed']);
  });

  it('is written for a conversation that nobody listens to, too', async () => {
    const before = createScene({ checkpointStorage: createMemoryAgentCheckpointStorage() });
    before.chat.onRequest({ prompt: 'Hi' });
    await before.clock.advance(10);
    before.fixture.run.say('On');
    await before.clock.flush();
    before.page.dispatch('pagehide');
    expect(reload(before.fixture).texts).toEqual(['Hi', 'On']);
    before.chat.dispose();
    expect(before.page.listeners).toBe(0);
  });
});

describe('web storage for checkpoints', () => {
  const checkpoint = (sessionId: string) => ({ sessionId }) as AgentCheckpoint;

  it('is sessionStorage, under a prefix', () => {
    const map = new Map<string, string>();
    const sessionStorage = {
      getItem: (key: string) => map.get(key) ?? null,
      setItem: (key: string, value: string) => void map.set(key, value),
      removeItem: (key: string) => void map.delete(key),
    };
    const { environment } = createVirtualClock({
      page: createFakePage({ sessionStorage }).globals,
    });
    const storage = createWebStorageAgentCheckpointStorage(undefined, {}, environment);
    storage.save('a', checkpoint('a'));
    expect([...map.keys()]).toEqual(['runsocket:chat:a']);
    expect(storage.load('a')).toEqual({ sessionId: 'a' });
    expect(storage.load('b')).toBeUndefined();
    storage.remove('a');
    expect(map.size).toBe(0);
    const other = createWebStorageAgentCheckpointStorage(sessionStorage, { prefix: 'x:' });
    other.save('__proto__', checkpoint('b'));
    expect([...map.keys()]).toEqual(['x:__proto__']);
    expect(other.load('__proto__')).toEqual({ sessionId: 'b' });
  });

  it('is nothing where the page has none, denies it, or it is full', () => {
    const refuse = () => {
      throw new Error('QuotaExceededError');
    };
    const denied = createFakePage();
    Object.defineProperty(denied.globals, 'sessionStorage', { get: refuse });
    const inPage = (page: object) => createVirtualClock({ page }).environment;
    for (const storage of [
      createWebStorageAgentCheckpointStorage(),
      createWebStorageAgentCheckpointStorage(null),
      createWebStorageAgentCheckpointStorage(undefined, {}, inPage(denied.globals)),
      createWebStorageAgentCheckpointStorage({
        getItem: refuse,
        setItem: refuse,
        removeItem: refuse,
      }),
      createWebStorageAgentCheckpointStorage({
        getItem: () => '{',
        setItem: noop,
        removeItem: noop,
      }),
    ]) {
      storage.save('a', checkpoint('a'));
      expect(storage.load('a')).toBeUndefined();
      storage.remove('a');
    }
  });

  it('in memory is a copy of what was saved', () => {
    const storage = createMemoryAgentCheckpointStorage();
    const value = { sessionId: 'a', list: [1] } as never;
    storage.save('a', value);
    expect(storage.load('a')).toEqual(value);
    expect(storage.load('a')).not.toBe(value);
    storage.remove('a');
    expect(storage.load('a')).toBeUndefined();
  });

  it('keeps a conversation through createFixture pages of one storage only', async () => {
    const scene = createScene({ fixture: createFixture() });
    scene.chat.subscribe(noop);
    scene.chat.onRequest({ prompt: 'Hi' });
    await scene.clock.flush();
    scene.page.dispatch('pagehide');
    expect(reload(scene.fixture).texts).toEqual([]);
  });
});
