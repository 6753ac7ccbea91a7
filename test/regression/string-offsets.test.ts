import { describe, expect, it } from 'vitest';
import { createWorld, finished, says, started, texts, user, type World } from '../helpers/world.ts';

const at = (offset: string, event: object) => ({ runId: 'a', offset, event });
const log = [
  at('1-0', started('a')),
  at('__proto__', says('one')),
  at('0-7', says(' two')),
  at('9-9', says(' three')),
];

async function running(given: object = {}): Promise<World> {
  const world = createWorld();
  world.agent(given).run({ messages: [user('Hi')] }, { runId: 'a' });
  await world.settle();
  world.socket.receive(...log.slice(0, 3));
  return world;
}

async function reload(world: World, given: object = {}) {
  const next = world.reload(given);
  const agent = next.agent();
  agent.subscribe(() => {});
  await next.settle();
  return { world: next, agent };
}

describe('places that are named by strings, in which nobody sees an order', () => {
  it('are known behind a reload, so that a replay from the start doubles nothing', async () => {
    const { world, agent } = await reload(await running());
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: '0-7' }]);
    world.socket.receive(...log, ...log);
    expect(texts(agent)).toEqual(['Hi', 'one two three']);
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: '9-9' }]);
  });

  it('are known behind two reloads', async () => {
    const second = await reload(await running());
    second.world.socket.receive(...log);
    const { world, agent } = await reload(second.world);
    world.socket.receive(...log, at('8', finished('a')));
    expect(agent.getSnapshot().status).toBe('finished');
    expect(texts(agent)).toEqual(['Hi', 'one two three']);
  });

  it('are known behind a second reload before which nothing came', async () => {
    const second = await reload(await running());
    const { world, agent } = await reload(second.world);
    world.socket.receive(...log, at('8', finished('a')));
    expect(texts(agent)).toEqual(['Hi', 'one two three']);
  });

  it('are those of the checkpoint, however late slow storage writes it', async () => {
    const map = new Map<string, string>();
    const writes: (() => void)[] = [];
    let isSlow = false;
    const storage = {
      getItem: async (key: string) => map.get(key) ?? null,
      setItem: (key: string, value: string) => void map.set(key, value),
      removeItem: (key: string) => void map.delete(key),
    };
    const slow = {
      ...storage,
      getItem: (key: string) =>
        new Promise<string | null>((resolve) => {
          const answer = () => resolve(map.get(key) ?? null);
          if (isSlow) writes.push(answer);
          else answer();
        }),
    };
    const world = await running({ storage: slow });
    isSlow = true;
    world.page.dispatch('pagehide', { persisted: true });
    world.page.dispatch('pageshow', { persisted: true });
    await world.settle();
    world.socket.receive(...log);
    for (const write of writes) write();
    isSlow = false;
    await world.settle();
    const { runs } = JSON.parse([...map.values()][0] ?? '') as {
      readonly runs: readonly { readonly checkpoint: { offset?: string; seen?: string[] } }[];
    };
    const { offset, seen } = runs[0]?.checkpoint ?? {};
    expect(offset).toBe('0-7');
    expect(seen).toEqual(expect.arrayContaining(['1-0', '__proto__', '0-7']));
    expect(seen).not.toContain('9-9');
  });

  it('cost nothing where storage has something else in their place', async () => {
    for (const seen of [7, null, 'x', {}, [{}, 1]]) {
      const world = await running();
      world.page.dispatch('pagehide');
      const [key, text] = [...world.storage.map][0] as [string, string];
      const stored = JSON.parse(text) as { runs: { checkpoint: { seen: unknown } }[] };
      for (const { checkpoint } of stored.runs) checkpoint.seen = seen;
      world.storage.map.set(key, JSON.stringify(stored));
      // A page that is left once more would write it down again.
      const next = await reload(world, { crash: true });
      next.world.socket.receive(...log.slice(2), at('8', finished('a')));
      expect(texts(next.agent)).toEqual(['Hi', 'one two three']);
    }
  });

  it('that look like numbers have no order either, so that another execution is noticed', async () => {
    const world = createWorld();
    const agent = world.agent({ overlap: true });
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    world.socket.receive(at('9', started('a')), at('8', says('one')), at('7', says(' two')));
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: '8' }]);
    world.socket.receive(at('5', started('a')), at('4', says('other')));
    expect(texts(agent)).toEqual(['Hi']);
    await world.clock.advance(2_000);
    world.socket.receive(at('5', started('a')), at('4', says('other')), at('3', finished('a')));
    expect(texts(agent)).toEqual(['Hi', 'other']);
  });

  it('that a double cannot tell apart are signs of life', async () => {
    const world = createWorld();
    const agent = world.agent({ silenceTimeout: 10_000 });
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    for (let n = 1; n < 9; n++) {
      world.socket.receive(at(`700000000000000000${n}`, says(`${n}`)));
      await world.clock.advance(6_000);
    }
    expect(agent.getSnapshot().status).toBe('running');
    expect(texts(agent)).toEqual(['Hi', '12345678']);
  });

  it('are no sign of life where an overlapping resume brings the last one again', async () => {
    const world = createWorld();
    const agent = world.agent({ overlap: true, silenceTimeout: 20_000 });
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    world.socket.receive(at('x', started('a')), at('y', says('one')));
    for (let n = 0; n < 5; n++) {
      await world.clock.advance(6_000);
      if (agent.getSnapshot().status !== 'running') break;
      await world.reconnect();
      world.socket.receive(at('y', says('one')));
    }
    expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { code: 'run-lost' } });
  });
});
