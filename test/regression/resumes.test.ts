import { describe, expect, it } from 'vitest';
import type { FakeSocket, Message } from '../helpers/fake-network.ts';
import {
  createLog,
  createWorld,
  finished,
  says,
  started,
  type TestEvent,
  texts,
  user,
  type World,
} from '../helpers/world.ts';
import { createScene, foldOf, plain, servers, shown } from './set-up.ts';

const words = ['It ', 'goes ', 'on ', 'and ', 'on.'];
const story: readonly TestEvent[] = [
  started('a'),
  ...words.map((word) => says(word)),
  finished('a'),
];
const whole = ['Hi', words.join('')];

/** The page that comes after a drop, a reload or a crash, and its agent. */
function comeBack(world: World, how: 'drop' | 'reload' | 'crash') {
  if (how === 'drop') {
    world.socket.end();
    return { world, agent: undefined };
  }
  const next = world.reload({ crash: how === 'crash' });
  const agent = next.agent();
  agent.subscribe(() => {});
  return { world: next, agent };
}

// https://github.com/vercel/resumable-stream/pull/41, https://github.com/vercel/chatbot/pull/986
describe.each(servers)('a resume that reaches %s', (_, options) => {
  // The request waits at the server's door, or its answer does.
  it.each(['request', 'answer'] as const)(
    'at any moment between the first and the last event ends whole, however long its %s takes',
    async (slow) => {
      const end = story.length + 1;
      for (const how of ['drop', 'reload', 'crash'] as const) {
        for (let seen = 0; seen <= end; seen++) {
          for (let answered = seen; answered <= end; answered++) {
            let held: (() => void)[] | undefined;
            const wait = (task: () => void) => (held ? void held.push(task) : task());
            const { server, world: first } = createScene(options, {}, (peer) => ({
              ...peer,
              message(socket, message) {
                const arrive = () => peer.message?.(answering(socket), message);
                if (slow === 'request') wait(arrive);
                else arrive();
              },
              open: (socket) => peer.open?.(answering(socket)),
              close: (socket) => peer.close?.(answering(socket)),
            }));
            const proxies = new Map<FakeSocket, FakeSocket>();
            const answering = (socket: FakeSocket): FakeSocket => {
              const known = proxies.get(socket);
              if (known) return known;
              const slowly = slow === 'answer' ? wait : (task: () => void) => task();
              const made = {
                ...socket,
                frame: (data: string) => slowly(() => socket.frame(data)),
                end: socket.end,
              };
              proxies.set(socket, made);
              return made;
            };
            let logged = 0;
            const logUpTo = (count: number) => {
              for (; logged < count; logged++) {
                const event = story[logged];
                if (event) server.append('a', event);
                else server.end('a', 'finished');
              }
            };
            let agent = first.agent();
            agent.subscribe(() => {});
            agent.run({ messages: [user('Hi')] }, { runId: 'a' });
            await first.settle();
            logUpTo(seen);
            held = [];
            const { world, agent: nextAgent } = comeBack(first, how);
            agent = nextAgent ?? agent;
            await world.clock.advance(1_001);
            logUpTo(answered);
            for (const task of held.splice(0)) task();
            held = undefined;
            await world.settle();
            logUpTo(end);
            await world.clock.advance(1_001);
            const where = [how, seen, answered];
            // A run that was over for one page is not asked for by the next.
            const isOver = how !== 'drop' && seen === end && options !== plain;
            expect([...where, shown(agent.getSnapshot())]).toEqual([
              ...where,
              isOver
                ? { status: 'idle', messages: [] }
                : {
                    status: 'finished',
                    messages: [
                      ['user', 'Hi'],
                      ['assistant', whole[1]],
                    ],
                  },
            ]);
            expect([...where, world.storage.map.size]).toEqual([...where, 0]);
          }
        }
      }
    },
  );
});

// https://github.com/vercel/resumable-stream/issues/19, https://github.com/vercel/ai/issues/6823
describe.each(servers)('a run of %s that is stopped right after a reload', (_, options) => {
  it.each(['reload', 'crash'] as const)(
    'at any of its events is cancelled there once, and shown as aborted (%s)',
    async (how) => {
      for (let seen = 0; seen < story.length; seen++) {
        const { server, world: first } = createScene(options);
        first.agent().run({ messages: [user('Hi')] }, { runId: 'a' });
        await first.settle();
        server.append('a', ...story.slice(0, seen));
        const { world, agent } = comeBack(first, how);
        await world.settle();
        expect([seen, server.runs.get('a')?.cancels]).toEqual([seen, 0]);
        expect(agent?.getSnapshot().status).toBe('running');
        agent?.abort();
        await world.settle();
        expect([seen, server.runs.get('a')]).toMatchObject([
          seen,
          { cancels: 1, executions: 1, status: 'cancelled' },
        ]);
        const said = words.slice(0, Math.max(seen - 1, 0)).join('');
        expect(agent && texts(agent)).toEqual(said ? ['Hi', said] : ['Hi']);
        await world.clock.advance(1_001);
        expect(agent?.getSnapshot().status).toBe('aborted');
        expect(server.runs.get('a')?.cancels).toBe(1);
        expect(world.storage.map.size).toBe(0);
      }
    },
  );
});

// https://github.com/cloudflare/agents/issues/1951 and 1733
describe.each(servers)('%s that attaches live before the replay', (_, options) => {
  it('and sends each event twice shows each of them once', async () => {
    const { server, world } = createScene({ ...options, liveBeforeReplay: true });
    server.mangle = (frames) => [...frames, ...frames];
    // The next event comes between the attach and the replay of the others.
    let overlap: TestEvent | undefined;
    const { mangle } = server;
    server.mangle = (frames, connection) => {
      const live = overlap;
      overlap = undefined;
      if (live) server.append('a', live);
      return mangle?.(frames, connection) ?? frames;
    };
    const agent = world.agent();
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    const events = [started('a'), ...Array.from({ length: 40 }, (_, n) => says(`${n} `))];
    for (let n = 0; n < events.length; ) {
      server.append('a', ...events.slice(n, n + 3));
      n += 3;
      overlap = events[n++];
      await world.reconnect();
      await world.clock.advance(300);
    }
    overlap = undefined;
    server.append('a', finished('a'));
    server.end('a', 'finished');
    await world.clock.advance(1_001);
    expect(server.runs.get('a')?.log).toHaveLength(events.length + 1);
    expect(shown(agent.getSnapshot())).toEqual(shown(foldOf(...events, finished('a'))));
    expect(agent.getSnapshot().stale).toBeFalsy();
  });
});

// https://github.com/langfuse/langfuse/pull/15939
describe.each(servers)('%s that begins each answer to a resume with RUN_STARTED', (_, options) => {
  it('makes neither the status flicker nor an error', async () => {
    const { server, world } = createScene(options, {}, (peer) => ({
      ...peer,
      message(socket, message: Message) {
        if (message.type === 'resume') {
          socket.receive({ runId: 'a', offset: 0, event: started('a') });
        }
        peer.message?.(socket, message);
      },
    }));
    const agent = world.agent();
    const statuses: string[] = [];
    agent.subscribe(() => statuses.push(agent.getSnapshot().status));
    const errors: unknown[] = [];
    agent.on('error', (error) => errors.push(error));
    world.client.on('error', (error) => errors.push(error));
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    for (const event of story.slice(0, -1)) {
      server.append('a', event);
      await world.reconnect();
      await world.clock.advance(300);
    }
    expect(new Set(statuses)).toEqual(new Set(['running']));
    statuses.splice(0);
    server.append('a', finished('a'));
    // Its end is not known yet: it is asked for once more.
    await world.reconnect();
    server.end('a', 'finished');
    await world.clock.advance(1_001);
    expect(new Set(statuses)).toEqual(new Set(['finished']));
    expect(errors).toEqual([]);
    expect(texts(agent)).toEqual(whole);
    expect(agent.getSnapshot().error).toBeUndefined();
  });
});

// https://github.com/purplefish-ai/factory-factory/pull/441
describe.each(servers)('a replay of 50,000 events by %s', (_, options) => {
  const length = 50_000;
  const events = [started('a'), ...Array.from({ length }, (_, n) => says(n % 10 ? 'x' : '\n'))];

  it('is told once a frame, and is all there', async () => {
    const { server, world: first } = createScene(options);
    first.agent().run({ messages: [user('Hi')] }, { runId: 'a' });
    await first.settle();
    server.append('a', ...events, finished('a'));
    // They come over 500 ms, in pieces, as from a socket.
    const next = first.reload({ crash: true });
    const { mangle } = server;
    server.mangle = () => [];
    const agent = next.agent();
    let told = 0;
    agent.subscribe(() => told++);
    await next.settle();
    server.mangle = mangle;
    const { frames } = createLog('a');
    const before = next.clock.now();
    const pieces = 250;
    const all = frames(...events, finished('a'));
    const size = Math.ceil(all.length / pieces);
    told = 0;
    for (let n = 0; n < all.length; n += size) {
      const piece = all.slice(n, n + size);
      if (options === plain) next.socket.receive(...piece);
      else next.socket.receive(piece);
      await next.clock.advance(2);
    }
    const painted = (next.clock.now() - before) / 16;
    expect(told).toBeLessThanOrEqual(painted + 1);
    expect(told).toBeGreaterThan(painted / 2);
    server.end('a', 'finished');
    await next.clock.advance(1_001);
    expect(agent.getSnapshot().status).toBe('finished');
    const text = texts(agent)[1] as string;
    expect(text.length).toBe(length);
    expect(text).toBe(events.map((event) => event.delta ?? '').join(''));
  });
});

// https://github.com/robtaussig/react-use-websocket/issues/135
it('1,000 events in one task are all reduced, and the next snapshot has them all', async () => {
  let reduced = 0;
  const world = createWorld();
  const { applyAgUiEvent } = await import('../../src/ag-ui/apply-event.ts');
  const agent = world.agent({
    reduce(thread, event) {
      reduced++;
      return applyAgUiEvent(thread, event);
    },
  });
  agent.run({ messages: [user('Hi')] }, { runId: 'a' });
  await world.settle();
  const snapshots = new Set<unknown>();
  agent.subscribe(() => snapshots.add(agent.getSnapshot()));
  const events = [started('a'), ...Array.from({ length: 999 }, (_, n) => says(`${n} `))];
  world.socket.receive(...createLog('a').frames(...events));
  expect(reduced).toBe(1_000);
  expect(shown(agent.getSnapshot())).toEqual(shown(foldOf(...events)));
  await world.clock.advance(20);
  expect([...snapshots].at(-1)).toBe(agent.getSnapshot());
});
