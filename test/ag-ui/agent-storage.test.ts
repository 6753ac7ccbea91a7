import { describe, expect, it } from 'vitest';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import { createClient } from '../../src/client/websocket-client.ts';
import type { RunStorage } from '../../src/runs/types.ts';
import { createFakeDialer } from '../helpers/fake-dialer.ts';
import { fakeWebSocket } from '../helpers/fake-page.ts';
import { createStorageBytes } from '../helpers/storage.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import {
  createLog,
  createWorld,
  finished,
  says,
  sentTypes,
  started,
  texts,
  user,
  type World,
  type WorldOptions,
} from '../helpers/world.ts';

const denied = () => {
  throw new Error('denied');
};

/** One whole run on storage that misbehaves; it has to go as if there were none. */
async function runThrough(given: WorldOptions, options: Parameters<World['agent']>[0] = {}) {
  const world = createWorld(given);
  const agent = world.agent(options);
  const errors: string[] = [];
  agent.on('error', ({ code }) => errors.push(code));
  agent.subscribe(() => {});
  agent.run({ messages: [user('Hi')] }, { runId: 'a' });
  await world.clock.advance(300);
  const log = createLog('a');
  world.socket.receive(...log.frames(started('a'), says('one')));
  await world.reconnect();
  expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
  world.page.dispatch('pagehide');
  world.page.dispatch('pageshow');
  await world.settle();
  world.socket.receive(...log.frames(says(' two'), finished('a')));
  await world.clock.advance(1_000);
  expect(texts(agent)).toEqual(['Hi', 'one two']);
  expect(agent.getSnapshot().status).toBe('finished');
  return { world, agent, errors };
}

describe('storage that fails costs only the memory', () => {
  it('where reading the property sessionStorage throws', async () => {
    await runThrough({ sessionStorage: denied });
  });

  it('where there is none, or null is asked for', async () => {
    const { errors } = await runThrough({ sessionStorage: null });
    expect(errors).toEqual([]);
    const { world } = await runThrough({}, { storage: null });
    expect(world.storage.map.size).toBe(0);
  });

  it('where there is no document: the storage of a process would mix up those whom it serves', async () => {
    const bytes = createStorageBytes();
    const open = () => {
      const page = { WebSocket: fakeWebSocket, sessionStorage: bytes.page() };
      const { environment, flush } = createVirtualClock({ page });
      const dialer = createFakeDialer();
      const client = createClient('ws://x', {}, { environment, dialer: dialer.create });
      return { agent: createAgUiAgent(client), dialer, flush };
    };
    const one = open();
    one.agent.run({ messages: [user('a secret')] });
    await one.flush();
    one.dialer.open();
    expect(one.dialer.sent.length).toBe(1);
    one.agent.dispose();
    expect(texts(open().agent)).toEqual([]);
    expect(bytes.map.size).toBe(0);
  });

  it('where every access throws, and it is reported once for each kind', async () => {
    const { errors } = await runThrough({
      sessionStorage: { getItem: denied, setItem: denied, removeItem: denied },
    });
    expect(new Set(errors)).toEqual(new Set(['storage']));
    expect(errors.length).toBeLessThanOrEqual(4);
  });

  it('where every access rejects', async () => {
    const { errors } = await runThrough({
      sessionStorage: {
        getItem: async () => denied(),
        setItem: async () => denied(),
        removeItem: async () => denied(),
      },
    });
    expect(new Set(errors)).toEqual(new Set(['storage']));
  });

  it('where only writing throws', async () => {
    const bytes = createStorageBytes();
    await runThrough({ sessionStorage: { ...bytes.page(), setItem: denied } });
    expect(bytes.map.size).toBe(0);
  });

  it('where only removing throws', async () => {
    const bytes = createStorageBytes();
    await runThrough({ sessionStorage: { ...bytes.page(), removeItem: denied } });
  });

  it('where nothing is ever answered', async () => {
    const never = () => new Promise<never>(() => {});
    await runThrough({ sessionStorage: { getItem: never, setItem: never, removeItem: never } });
  });
});

describe('what stands in storage already', () => {
  for (const [what, text] of [
    ['broken JSON', '{"v":1,"runs":['],
    ['no object', '7'],
    ['null', 'null'],
    ['an array', '[]'],
    ['another version', '{"v":2,"runs":[{"runId":"a","threadId":"t","sentAt":1}]}'],
    ['no version', '{"runs":[{"runId":"a","threadId":"t","sentAt":1}]}'],
    ['runs that are no list', '{"v":1,"runs":{"a":1}}'],
    ['records that are none', '{"v":1,"runs":[null,7,"x",{},{"runId":7},{"runId":"a"},[]]}'],
  ] as const) {
    it(`is ignored where it is ${what}, and written over by the next run`, async () => {
      const storage = createStorageBytes(new Map([['runsocket:ag-ui', text]]));
      const { world } = await runThrough({ storage });
      expect(world.storage.map.size).toBe(0);
    });
  }

  for (const record of [
    {},
    { base: 7, policy: 'moon', acked: 'x', input: 9, epoch: 4 },
    { base: { messages: [null, 7, { id: 'u', role: 'user', content: 'Hi' }] } },
    { base: { messages: {} }, checkpoint: { offset: 4 } },
    { base: null, checkpoint: null, input: null },
  ]) {
    it(`is taken as far as it goes: ${JSON.stringify(record)}`, async () => {
      const runs = [{ runId: 'a', threadId: 't', sentAt: Date.UTC(2026, 0, 1), ...record }];
      const storage = createStorageBytes(
        new Map([['runsocket:ag-ui', JSON.stringify({ v: 1, runs })]]),
      );
      const world = createWorld({ storage });
      const agent = world.agent();
      agent.subscribe(() => {});
      await world.settle();
      expect(world.socket.sent[0]).toMatchObject({ type: 'resume', runId: 'a' });
      world.socket.receive(...createLog('a').frames(started('a'), says('x'), finished('a')));
      await world.clock.advance(1_000);
      expect(texts(agent).at(-1)).toBe('x');
      expect(agent.threadId).toBe('t');
      expect(storage.map.size).toBe(0);
    });
  }

  it('cannot reach a prototype', async () => {
    const runs =
      '[{"runId":"__proto__","threadId":"constructor","sentAt":1767225600000,"__proto__":{"x":1},' +
      '"base":{"__proto__":{"polluted":1},"messages":[{"id":"__proto__","role":"user","content":"Hi"}]}}]';
    const storage = createStorageBytes(new Map([['runsocket:ag-ui', `{"v":1,"runs":${runs}}`]]));
    const world = createWorld({ storage });
    const agent = world.agent();
    agent.subscribe(() => {});
    await world.settle();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: '__proto__' }]);
    expect((agent.getSnapshot() as unknown as { polluted?: number }).polluted).toBeUndefined();
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe('storage that is full', () => {
  /** Bytes that hold no more than `limit` characters. */
  function createFull(limit: number) {
    const bytes = createStorageBytes();
    const open = (): RunStorage => {
      const page = bytes.page();
      return {
        ...page,
        setItem(key, value) {
          if (value.length > limit) throw new Error('QuotaExceededError');
          return page.setItem(key, value);
        },
      };
    };
    return { bytes, open };
  }

  async function fill(limit: number, history: number, answer = 'one') {
    const { bytes, open } = createFull(limit);
    const world = createWorld({ sessionStorage: open(), storage: bytes });
    const agent = world.agent({
      messages: Array.from({ length: history }, (_, i) => ({
        id: `h${i}`,
        ...user(`old ${i} ${'x'.repeat(100)}`),
      })),
    });
    const errors: string[] = [];
    agent.on('error', ({ code, message }) => errors.push(`${code}: ${message}`));
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a'), says(answer)));
    const next = world.reload({ sessionStorage: open() });
    const again = next.agent();
    again.subscribe(() => {});
    await next.settle();
    return { world: next, agent: again, errors };
  }

  it('gives up the checkpoint first: the run is replayed on the whole conversation', async () => {
    const { world, agent, errors } = await fill(1_500, 3, 'y'.repeat(2_000));
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
    expect(texts(agent).length).toBe(4);
    expect(agent.getSnapshot().historyLost).toBeUndefined();
    expect(errors.length).toBe(1);
  });

  it('then older messages, and says so', async () => {
    const { world, agent, errors } = await fill(1_500, 40);
    expect(world.socket.sent[0]).toMatchObject({ type: 'resume', runId: 'a' });
    const shown = texts(agent);
    expect(shown.length).toBeGreaterThan(1);
    expect(shown.length).toBeLessThan(41);
    expect(shown).toContain('Hi');
    expect(agent.getSnapshot()).toMatchObject({ historyLost: true, status: 'running' });
    expect(errors.length).toBeGreaterThan(0);
  });

  it('then the base: the run alone is shown', async () => {
    const { world, agent } = await fill(260, 40);
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
    expect(agent.getSnapshot()).toMatchObject({ historyLost: true, status: 'running' });
    world.socket.receive(...createLog('a').frames(started('a'), says('one'), finished('a')));
    expect(texts(agent).at(-1)).toBe('one');
  });

  it('then the record: nothing is resumed, and the run went on all the same', async () => {
    const { world, agent } = await fill(20, 40);
    expect(world.socket.sent).toEqual([]);
    expect(agent.getSnapshot().status).toBe('idle');
  });

  it('reports each loss once, however often it is met', async () => {
    const { open, bytes } = createFull(20);
    const world = createWorld({ sessionStorage: open(), storage: bytes });
    const agent = world.agent();
    const errors: string[] = [];
    agent.on('error', ({ code, message }) => errors.push(`${code}: ${message}`));
    for (let i = 0; i < 5; i++) {
      agent.run({ messages: [user('Hi')] });
      await world.settle();
    }
    expect(errors.length).toBeGreaterThan(0);
    expect(new Set(errors).size).toBe(errors.length);
  });

  it('keeps the other records of its name', async () => {
    const { open, bytes } = createFull(900);
    const world = createWorld({ sessionStorage: open(), storage: bytes });
    world.agent({ threadId: 't1' }).run({ messages: [user('small')] }, { runId: 'small' });
    await world.settle();
    world.agent({ threadId: 't2' }).run({ messages: [user('x'.repeat(5_000))] }, { runId: 'big' });
    await world.settle();
    expect(world.stored()?.runs.map(({ runId }) => runId)).toContain('small');
  });
});

describe('what is written', () => {
  it('is one key, version 1, with what the run found and the messages it was given', async () => {
    const world = createWorld();
    const agent = world.agent({ state: { s: 1 }, messages: [{ id: 'h', ...user('old') }] });
    agent.run({ messages: [{ id: 'u', ...user('Hi') }], forwardedProps: { f: 1 } }, { runId: 'a' });
    await world.settle();
    expect([...world.storage.map.keys()]).toEqual(['runsocket:ag-ui']);
    expect(world.stored()).toMatchObject({
      v: 1,
      runs: [
        {
          runId: 'a',
          threadId: agent.threadId,
          sentAt: world.clock.now(),
          policy: 'keep',
          acked: false,
          input: { forwardedProps: { f: 1 } },
          base: { state: { s: 1 }, messages: [{ id: 'h' }, { id: 'u' }], status: 'running' },
        },
      ],
    });
    expect(world.stored()?.runs[0]?.input).not.toHaveProperty('messages');
  });

  it('is read, changed and written back: two agents of one name keep both records', async () => {
    const world = createWorld();
    world.agent({ threadId: 't1' }).run({}, { runId: 'a' });
    const two = world.agent({ threadId: 't2' });
    two.run({}, { runId: 'b' });
    await world.settle();
    expect(world.stored()?.runs.map(({ runId }) => runId)).toEqual(['a', 'b']);
    world.socket.receive(...createLog('b').frames(started('b'), finished('b')));
    await world.clock.advance(1_000);
    expect(world.stored()?.runs.map(({ runId }) => runId)).toEqual(['a']);
  });

  it('is not written once for each event', async () => {
    let writes = 0;
    const bytes = createStorageBytes();
    const page = bytes.page();
    const world = createWorld({
      storage: bytes,
      sessionStorage: {
        ...page,
        setItem(key, value) {
          writes++;
          return page.setItem(key, value);
        },
      },
    });
    world.agent().run({}, { runId: 'a' });
    await world.settle();
    const log = createLog('a');
    for (let i = 0; i < 500; i++) world.socket.receive(...log.frames(says('x')));
    expect(writes).toBeLessThan(5);
  });
});

describe("remember: 'thread'", () => {
  const options = { remember: 'thread' as const };

  it('keeps the finished thread for the next page, and its id', async () => {
    const { world, agent } = await runThrough({}, options);
    const next = world.reload();
    const again = next.agent(options);
    expect(again.threadId).toBe(agent.threadId);
    expect(again.getSnapshot()).toEqual(JSON.parse(JSON.stringify(agent.getSnapshot())));
    again.subscribe(() => {});
    await next.settle();
    expect(next.socket.sent).toEqual([]);
    again.run({ messages: [user('more')] });
    expect(texts(again)).toEqual(['Hi', 'one two', 'more']);
  });

  it('is not the default', async () => {
    const { world } = await runThrough({});
    expect(texts(world.reload().agent())).toEqual([]);
  });

  it('leaves a thread of another id alone', async () => {
    const { world } = await runThrough({}, options);
    const next = world.reload();
    expect(texts(next.agent({ ...options, threadId: 'other' }))).toEqual([]);
    expect(texts(next.agent(options))).toEqual(['Hi', 'one two']);
  });

  it('stands beside the run that streams, which comes first', async () => {
    const { world, agent } = await runThrough({}, options);
    agent.run({ messages: [user('more')] }, { runId: 'b' });
    await world.settle();
    const next = world.reload({ crash: true });
    const again = next.agent(options);
    again.subscribe(() => {});
    await next.settle();
    expect(next.socket.sent).toEqual([{ type: 'resume', runId: 'b' }]);
    expect(texts(again)).toEqual(['Hi', 'one two', 'more']);
  });

  it('goes with reset()', async () => {
    const { world, agent } = await runThrough({}, options);
    expect(world.stored()?.thread).toBeDefined();
    agent.reset();
    expect(world.storage.map.size).toBe(0);
  });

  it('also keeps an aborted and a failed thread', async () => {
    for (const how of ['abort', 'error'] as const) {
      const world = createWorld();
      const agent = world.agent(options);
      agent.run({ messages: [user('Hi')] }, { runId: 'a' });
      await world.settle();
      const log = createLog('a');
      world.socket.receive(...log.frames(started('a'), says('x')));
      if (how === 'abort') agent.abort();
      world.socket.receive(...log.frames({ type: 'RUN_ERROR', message: 'no' }));
      await world.clock.advance(1_000);
      const again = world.reload().agent(options);
      expect(again.getSnapshot().status).toBe(how === 'abort' ? 'aborted' : 'error');
      expect(texts(again)).toEqual(['Hi', 'x']);
    }
  });
});

describe('asynchronous storage', () => {
  /** Storage whose answers wait for `go`. */
  function createSlow(bytes = createStorageBytes()) {
    const waiting: (() => void)[] = [];
    const later = <T>(answer: () => T) =>
      new Promise<T>((resolve) => waiting.push(() => resolve(answer())));
    const { map } = bytes;
    return {
      bytes,
      open: (): RunStorage => ({
        getItem: (key: string) => later(() => map.get(key) ?? null),
        setItem: (key: string, value: string) => later(() => void map.set(key, value)),
        removeItem: (key: string) => later(() => void map.delete(key)),
      }),
      async go(world: World) {
        for (let i = 0; i < 20; i++) {
          for (const answer of waiting.splice(0)) answer();
          await world.settle();
        }
      },
    };
  }

  async function streaming() {
    const slow = createSlow();
    const world = createWorld({ sessionStorage: slow.open(), storage: slow.bytes });
    const agent = world.agent();
    await slow.go(world);
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await slow.go(world);
    world.socket.receive(...createLog('a').frames(started('a'), says('one')));
    await slow.go(world);
    return { world, agent, slow };
  }

  it('is read after the agent was made; its run is then taken', async () => {
    const { world, slow } = await streaming();
    const next = world.reload({ crash: true, sessionStorage: slow.open() });
    const again = next.agent();
    let calls = 0;
    again.subscribe(() => calls++);
    await next.settle();
    expect(again.getSnapshot().status).toBe('idle');
    await slow.go(next);
    expect(again.getSnapshot()).toMatchObject({ status: 'running', messages: [user('Hi')] });
    expect(calls).toBeGreaterThan(0);
    expect(next.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
  });

  it('that answers after run() does not take the thread from it: what streamed is stopped', async () => {
    const { world, slow } = await streaming();
    const next = world.reload({ crash: true, sessionStorage: slow.open() });
    const again = next.agent();
    again.run({ messages: [user('new')] }, { runId: 'b' });
    await slow.go(next);
    expect(texts(again)).toEqual(['new']);
    expect(sentTypes(next).sort()).toEqual(['cancel a', 'resume a', 'run b']);
  });

  it('that answers after run() forgets the run that this one took the place of', async () => {
    const { world, slow } = await streaming();
    const next = world.reload({ crash: true, sessionStorage: slow.open() });
    const again = next.agent();
    again.run({ messages: [user('new')] }, { runId: 'b' });
    await slow.go(next);
    next.socket.receive(...createLog('a', 2).frames({ type: 'RUN_ERROR', message: 'stopped' }));
    await next.clock.advance(2_000);
    await slow.go(next);
    expect(next.stored()?.runs.map(({ runId }) => runId)).toEqual(['b']);
    expect(texts(again)).toEqual(['new']);
    next.socket.receive(...createLog('b').frames(started('b'), says('done'), finished('b')));
    await next.clock.advance(1_000);
    await slow.go(next);
    // It would come back as the newest once this one is over.
    const last = next.reload({ sessionStorage: slow.open() });
    const agent = last.agent();
    agent.connect();
    await slow.go(last);
    expect(texts(agent)).toEqual([]);
    expect(last.socket.sent).toEqual([]);
  });

  it('that answers after run() has a run cancelled that was stopped before', async () => {
    const { world, agent, slow } = await streaming();
    agent.abort();
    await slow.go(world);
    const next = world.reload({ crash: true, sessionStorage: slow.open() });
    const again = next.agent();
    again.run({ messages: [user('new')] }, { runId: 'b' });
    await slow.go(next);
    expect(sentTypes(next).sort()).toEqual(['cancel a', 'resume a', 'run b']);
    next.socket.receive(...createLog('a', 2).frames({ type: 'RUN_ERROR', message: 'stopped' }));
    next.socket.receive(...createLog('b').frames(started('b'), says('done')));
    await next.clock.advance(1_000);
    await slow.go(next);
    expect(texts(again)).toEqual(['new', 'done']);
    expect(next.stored()?.runs.map(({ runId }) => runId)).toEqual(['b']);
  });

  it('that fails to read once loses nothing that stands in it', async () => {
    const bytes = createStorageBytes();
    const page = bytes.page();
    let isBusy = false;
    const open = (): RunStorage => ({
      getItem: async (key) => (isBusy ? denied() : page.getItem(key)),
      setItem: async (key, value) => page.setItem(key, value),
      removeItem: async (key) => page.removeItem(key),
    });
    const world = createWorld({ storage: bytes, sessionStorage: open() });
    const agent = world.agent();
    await world.settle();
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    isBusy = true;
    world.socket.receive(...createLog('a').frames(started('a'), says('one')));
    await world.settle();
    isBusy = false;
    const next = world.reload({ crash: true, sessionStorage: open() });
    const again = next.agent();
    again.connect();
    await next.settle();
    expect(texts(again)).toEqual(['Hi']);
    expect(sentTypes(next)).toEqual(['resume a']);
  });

  it('keeps the records of two agents of one name', async () => {
    const bytes = createStorageBytes();
    const page = bytes.page();
    const world = createWorld({
      storage: bytes,
      sessionStorage: {
        getItem: async (key) => page.getItem(key),
        setItem: async (key, value) => page.setItem(key, value),
        removeItem: async (key) => page.removeItem(key),
      },
    });
    const one = world.agent({ threadId: 't1' });
    const two = world.agent({ threadId: 't2' });
    await world.settle();
    one.run({}, { runId: 'a' });
    two.run({}, { runId: 'b' });
    await world.clock.advance(1_000);
    expect(
      world
        .stored()
        ?.runs.map(({ runId }) => runId)
        .sort(),
    ).toEqual(['a', 'b']);
  });

  it('that is waited for before a start is not waited for after dispose(), and keeps nothing of it', async () => {
    const slow = createSlow();
    const world = createWorld({ sessionStorage: slow.open(), storage: slow.bytes });
    const agent = world.agent();
    await slow.go(world);
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    expect(world.client.getSnapshot().status).toBe('open');
    agent.dispose();
    world.client.close();
    expect(world.clock.timers).toBe(0);
    await slow.go(world);
    expect(slow.bytes.map.size).toBe(0);
    agent.subscribe(() => {});
    world.client.reconnect();
    await world.settle();
    await slow.go(world);
    expect(world.socket.sent.map(({ type, runId }) => `${type} ${runId}`)).toEqual(['run a']);
  });

  it('is not written for ever after dispose()', async () => {
    const { world, agent, slow } = await streaming();
    agent.dispose();
    await slow.go(world);
    await world.clock.advance(1_000);
    expect(world.clock.timers).toBe(0);
  });
});
