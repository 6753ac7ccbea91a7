import { describe, expect, it } from 'vitest';
import { createFakeLocks } from '../helpers/fake-locks.ts';
import { createStorageBytes } from '../helpers/storage.ts';
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
  type World,
} from '../helpers/world.ts';

async function reloaded(world: World, options: object = {}, given: object = {}) {
  const next = world.reload(given);
  const agent = next.agent(options);
  const first = agent.getSnapshot();
  agent.subscribe(() => {});
  await next.settle();
  return { world: next, agent, first };
}

describe('a reload', () => {
  it('shows the conversation at once and resumes after the checkpoint', async () => {
    const { world, agent, log } = await running();
    const next = await reloaded(world);
    expect(next.first).toEqual(agent.getSnapshot());
    expect(next.first.status).toBe('running');
    expect(next.agent.threadId).toBe(agent.threadId);
    expect(next.world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    next.world.socket.receive(...log.frames(says(' two'), finished('a')));
    await next.world.clock.advance(1_000);
    expect(texts(next.agent)).toEqual(['Hi', 'one two']);
    expect(next.world.storage.map.size).toBe(0);
  });

  it('without pagehide shows the question at once and replays the run from its start', async () => {
    const { world } = await running();
    const next = await reloaded(world, {}, { crash: true });
    expect(next.first).toMatchObject({ status: 'running', messages: [user('Hi')] });
    expect(next.world.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
    const log = createLog('a');
    next.world.socket.receive(
      ...log.frames(started('a'), says('one'), says(' two'), finished('a')),
    );
    await next.world.clock.advance(1_000);
    expect(texts(next.agent)).toEqual(['Hi', 'one two']);
    expect(next.world.storage.map.size).toBe(0);
  });

  it('twice in a row, and during the replay, loses and doubles nothing', async () => {
    const { world } = await running();
    const second = await reloaded(world, {}, { crash: true });
    second.world.socket.receive(...createLog('a').frames(started('a')));
    const third = await reloaded(second.world);
    const { after } = third.world.socket.sent[0] as { after: number };
    expect(after).toBe(0);
    third.world.socket.receive(...createLog('a', 1).frames(says('one'), finished('a')));
    expect(texts(third.agent)).toEqual(['Hi', 'one']);
  });

  it('before anything was used does not take the run from the page that will', async () => {
    const { world } = await running();
    const next = world.reload();
    next.agent();
    next.agent();
    await next.settle();
    expect(next.network.sockets.length).toBe(0);
    const third = await reloaded(next);
    expect(types(third.world)).toEqual(['resume a']);
  });

  it('between the write and the send finds a run to ask for, and starts it where it is unknown', async () => {
    const world = createWorld();
    const agent = world.agent();
    // The frame is lost with the page.
    agent.run({ messages: [user('Hi')], tools: [{ name: 't', description: 'd' }] }, { runId: 'a' });
    await world.settle();
    const { input } = world.socket.sent[0] as { input: unknown };
    const next = await reloaded(world, {}, { crash: true });
    expect(types(next.world)).toEqual(['resume a']);
    next.world.socket.receive({ type: 'hello', v: 1, caps: ['unknown'] });
    next.world.socket.receive({ type: 'run.unknown', runId: 'a', reason: 'never' });
    const again = next.world.socket.sent.find(({ type }) => type === 'run');
    expect(again).toEqual({ type: 'run', runId: 'a', input });
    expect(agent.threadId).toBe(next.agent.threadId);
  });

  it('does not start runs that were never sent', async () => {
    const world = createWorld();
    world.network.mode = 'hold';
    const agent = world.agent();
    agent.run({ messages: [user('Hi')] });
    await world.settle();
    expect(world.storage.map.size).toBe(0);
    const next = await reloaded(world);
    expect(next.world.socket.sent).toEqual([]);
    expect(next.agent.getSnapshot()).toMatchObject({ status: 'idle', messages: [] });
  });

  it('with restart sends an unconfirmed start again at once', async () => {
    const world = createWorld();
    world.agent({ restart: true }).run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    const { sent } = world.socket;
    const next = await reloaded(world, { restart: true });
    expect(next.world.socket.sent).toEqual(sent);
  });

  it('after a confirmed start sends no input any more, and stores none', async () => {
    const { world } = await running();
    expect(world.stored()?.runs[0]).toMatchObject({ acked: true });
    expect(world.stored()?.runs[0]).not.toHaveProperty('input');
  });

  it('has what only the start needs until the start is confirmed, and not longer', async () => {
    const world = createWorld();
    const agent = world.agent();
    const tools = [{ name: 'search', description: '', parameters: {} }];
    agent.run({ messages: [user('Hi')], tools }, { runId: 'a' });
    await world.settle();
    expect(world.stored()?.runs).toMatchObject([{ runId: 'a', acked: false, input: { tools } }]);
    world.socket.receive(...createLog('a').frames(started('a')));
    expect(world.stored()?.runs).toMatchObject([{ runId: 'a', acked: true }]);
    expect(world.stored()?.runs[0]).not.toHaveProperty('input');
  });

  it('of a run that nobody answers for ends with run-unreachable, and the record goes', async () => {
    const { world } = await running();
    const next = await reloaded(world);
    await next.world.clock.advance(61_000);
    expect(next.agent.getSnapshot()).toMatchObject({
      status: 'error',
      error: { code: 'run-unreachable' },
    });
    expect(texts(next.agent)).toEqual(['Hi', 'one']);
    expect(next.world.storage.map.size).toBe(0);
  });

  it('after start-unknown or an end has nothing to resume', async () => {
    const { world, log } = await running();
    world.socket.receive(...log.frames(finished('a')));
    await world.clock.advance(1_000);
    const next = await reloaded(world);
    expect(next.world.socket.sent).toEqual([]);
    expect(next.agent.getSnapshot().status).toBe('idle');
  });

  it('within the second after a terminal takes the run up and ends it', async () => {
    const { world, log } = await running();
    world.socket.receive(...log.frames(finished('a')));
    const next = await reloaded(world, {}, { crash: true });
    next.world.socket.receive(...createLog('a').frames(started('a'), says('one'), finished('a')));
    await next.world.clock.advance(1_000);
    expect(next.agent.getSnapshot().status).toBe('finished');
    expect(next.world.storage.map.size).toBe(0);
  });
});

describe('the checkpoint', () => {
  it('is written at pagehide alone, offset and thread in one', async () => {
    const { world, agent } = await running();
    expect(world.stored()?.runs[0]).not.toHaveProperty('checkpoint');
    world.page.dispatch('pagehide');
    expect(world.stored()?.runs[0]).toMatchObject({
      checkpoint: { offset: 1, thread: JSON.parse(JSON.stringify(agent.getSnapshot())) },
    });
  });

  it('is not written beyond 256 kB', async () => {
    const { world, log } = await running();
    world.socket.receive(...log.frames(says('x'.repeat(300_000))));
    const next = await reloaded(world);
    expect(next.world.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
  });

  it('is not written with checkpoint: false, nor before the first event', async () => {
    const { world } = await running({ checkpoint: false });
    world.page.dispatch('pagehide');
    expect(world.stored()?.runs[0]).not.toHaveProperty('checkpoint');
    const fresh = createWorld();
    fresh.agent().run({}, { runId: 'a' });
    await fresh.settle();
    fresh.page.dispatch('pagehide');
    expect(fresh.stored()?.runs[0]).not.toHaveProperty('checkpoint');
  });

  it('is not written while a final close shows an error, which the next page knows nothing of', async () => {
    const { world, agent } = await running();
    world.client.close();
    expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { code: 'closed' } });
    world.network.mode = 'hold';
    world.client.reconnect();
    const next = await reloaded(world);
    expect(next.first.status).toBe('running');
    next.world.socket.receive(...createLog('a').frames(started('a'), says('one'), finished('a')));
    expect(next.agent.getSnapshot().status).toBe('finished');
    expect(texts(next.agent)).toEqual(['Hi', 'one']);
  });

  it('with a string offset does not take the event at it again', async () => {
    const world = createWorld();
    const agent = world.agent();
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    const at = (offset: string, event: object) => ({ runId: 'a', offset, event });
    world.socket.receive(at('x', started('a')), at('y', says('one')));
    const next = await reloaded(world);
    expect(next.world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 'y' }]);
    next.world.socket.receive(at('y', says('one')), at('z', says(' two')));
    expect(texts(next.agent)).toEqual(['Hi', 'one two']);
  });

  it('falls back to the base where the epoch is another', async () => {
    const { world } = await running();
    world.socket.receive({ type: 'hello', v: 1, caps: ['accepted'] });
    world.socket.receive({ type: 'run.accepted', runId: 'a', epoch: 'e1', next: 2 });
    const next = await reloaded(world);
    next.world.socket.receive({ type: 'hello', v: 1, caps: ['accepted'] });
    next.world.socket.receive({ type: 'run.accepted', runId: 'a', epoch: 'e2', next: 9 });
    expect(texts(next.agent)).toEqual(['Hi']);
    expect(next.world.socket.sent.at(-1)).toEqual({ type: 'resume', runId: 'a' });
    next.world.socket.receive(...createLog('a').frames(started('a'), says('other'), finished('a')));
    expect(texts(next.agent)).toEqual(['Hi', 'other']);
  });

  it('falls back to the base where the overlapping event is another', async () => {
    const { world } = await running({ overlap: true });
    const next = await reloaded(world, { overlap: true });
    expect(next.world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 0 }]);
    next.world.socket.receive(...createLog('a', 1).frames(says('other')));
    expect(texts(next.agent)).toEqual(['Hi']);
    await next.world.clock.advance(2_000);
    next.world.socket.receive(...createLog('a').frames(started('a'), says('other'), finished('a')));
    expect(texts(next.agent)).toEqual(['Hi', 'other']);
  });

  it('that is no thread is not used', async () => {
    const { world } = await running();
    world.page.dispatch('pagehide');
    const stored = world.stored();
    for (const checkpoint of [
      7,
      null,
      'x',
      {},
      { offset: 5 },
      { offset: 5, thread: { messages: 1 } },
    ]) {
      const runs = stored?.runs.map((run) => ({ ...run, checkpoint }));
      const bytes = createStorageBytes();
      bytes.map.set('runsocket:ag-ui', JSON.stringify({ v: 1, runs }));
      const next = createWorld({ storage: bytes });
      const agent = next.agent();
      agent.subscribe(() => {});
      await next.settle();
      expect(next.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
      expect(texts(agent)).toEqual(['Hi']);
    }
  });

  it('with an offset that is none is not used', async () => {
    const { world } = await running();
    world.page.dispatch('pagehide');
    const stored = world.stored();
    for (const offset of [null, 2 ** 60, { a: 1 }, true]) {
      const runs = stored?.runs.map((run) => ({
        ...run,
        checkpoint: { ...(run.checkpoint as object), offset },
      }));
      const bytes = createStorageBytes();
      bytes.map.set('runsocket:ag-ui', JSON.stringify({ v: 1, runs }));
      const next = createWorld({ storage: bytes });
      const agent = next.agent();
      agent.subscribe(() => {});
      await next.settle();
      expect(next.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
      next.socket.receive(...createLog('a').frames(started('a'), says('one')));
      expect(texts(agent)).toEqual(['Hi', 'one']);
    }
  });

  it('of an execution that is gone is never used again', async () => {
    const { world } = await running();
    world.socket.receive({ type: 'hello', v: 1, caps: ['accepted'] });
    world.socket.receive({ type: 'run.accepted', runId: 'a', epoch: 'e1', next: 2 });
    const second = world.reload();
    second.agent().subscribe(() => {});
    await second.settle();
    second.socket.receive({ type: 'hello', v: 1, caps: ['accepted'] });
    second.socket.receive({ type: 'run.accepted', runId: 'a', epoch: 'e2', next: 9 });
    // Left before anything of the new log came.
    const third = second.reload();
    const agent = third.agent();
    agent.subscribe(() => {});
    await third.settle();
    expect(third.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
    expect(texts(agent)).toEqual(['Hi']);
  });
});

describe('which record an agent takes', () => {
  it('is the newest without threadId, and its thread id with it', async () => {
    const world = createWorld();
    for (const id of ['t1', 't2', 't3']) {
      world.agent({ threadId: id }).run({ messages: [user(id)] }, { runId: `run-${id}` });
      await world.clock.advance(10);
    }
    const next = await reloaded(world);
    expect(next.agent.threadId).toBe('t3');
    expect(texts(next.agent)).toEqual(['t3']);
    expect(types(next.world)).toEqual(['resume run-t3']);
  });

  it('is that of its threadId, and it leaves others alone', async () => {
    const world = createWorld();
    for (const id of ['t1', 't2']) {
      world.agent({ threadId: id }).run({ messages: [user(id)] }, { runId: `run-${id}` });
      await world.clock.advance(10);
    }
    const next = world.reload();
    const one = next.agent({ threadId: 't1' });
    const none = next.agent({ threadId: 'other' });
    one.subscribe(() => {});
    none.subscribe(() => {});
    await next.settle();
    expect(texts(one)).toEqual(['t1']);
    expect(texts(none)).toEqual([]);
    expect(types(next)).toEqual(['resume run-t1']);
    expect(next.stored()?.runs.map(({ runId }) => runId)).toEqual(['run-t1', 'run-t2']);
  });

  it('is taken once per page', async () => {
    const { world } = await running();
    const next = world.reload();
    const one = next.agent();
    const two = next.agent();
    one.subscribe(() => {});
    two.subscribe(() => {});
    await next.settle();
    expect(types(next)).toEqual(['resume a']);
    expect(two.threadId).not.toBe(one.threadId);
    expect(two.getSnapshot().status).toBe('idle');
  });

  it('is the next one where the newest is taken already', async () => {
    const world = createWorld();
    for (const id of ['t1', 't2']) {
      world.agent({ threadId: id }).run({ messages: [user(id)] }, { runId: `run-${id}` });
      await world.clock.advance(10);
    }
    const { world: page, agent: one } = await reloaded(world);
    const two = page.agent();
    expect([one.threadId, two.threadId]).toEqual(['t2', 't1']);
    expect(texts(two)).toEqual(['t1']);
    two.subscribe(() => {});
    await page.settle();
    expect(types(page)).toEqual(['resume run-t2', 'resume run-t1']);
  });

  it('stands under its name', async () => {
    const world = createWorld();
    world.agent({ name: 'left' }).run({ messages: [user('L')] }, { runId: 'l' });
    world.agent({ name: 'right' }).run({ messages: [user('R')] }, { runId: 'r' });
    await world.settle();
    expect([...world.storage.map.keys()].sort()).toEqual(['runsocket:left', 'runsocket:right']);
    const next = world.reload();
    expect(texts(next.agent({ name: 'right' }))).toEqual(['R']);
    expect(texts(next.agent({ name: 'left' }))).toEqual(['L']);
    expect(texts(next.agent())).toEqual([]);
  });

  it('that is of another thread is purged after 24 h', async () => {
    const world = createWorld();
    world.agent({ threadId: 'old' }).run({}, { runId: 'o' });
    await world.settle();
    const next = world.reload();
    await next.clock.advance(23 * 3_600_000);
    next.agent({ threadId: 't' });
    expect(next.stored()?.runs.length).toBe(1);
    await next.clock.advance(2 * 3_600_000);
    next.agent({ threadId: 't' });
    expect(next.storage.map.size).toBe(0);
  });
});

describe('a run that was stopped before the reload', () => {
  it('gets resume and cancel from the next page until it ends, and stays aborted', async () => {
    const { world, agent } = await running();
    world.network.mode = 'hold';
    world.socket.end();
    agent.abort();
    const next = await reloaded(world);
    expect(next.first.status).toBe('aborted');
    expect(types(next.world)).toEqual(['resume a', 'cancel a']);
    const shown = next.agent.getSnapshot();
    next.world.socket.receive(
      ...createLog('a').frames(started('a'), says('more'), {
        type: 'RUN_ERROR',
        message: 'abort',
      }),
    );
    expect(next.agent.getSnapshot()).toBe(shown);
    await next.world.clock.advance(1_000);
    expect(next.world.storage.map.size).toBe(0);
  });

  it('before its first event is shown as aborted, too', async () => {
    const world = createWorld();
    const agent = world.agent();
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    world.network.mode = 'hold';
    world.socket.end();
    agent.abort();
    expect(world.stored()?.runs[0]).not.toHaveProperty('checkpoint');
    const next = await reloaded(world, {}, { crash: true });
    expect(next.first).toMatchObject({ status: 'aborted', messages: [user('Hi')] });
    expect(types(next.world)).toEqual(['resume a', 'cancel a']);
  });

  it('gets its cancel also where a newer run is taken up', async () => {
    const { world, agent } = await running();
    world.network.mode = 'hold';
    world.socket.end();
    agent.abort();
    await world.clock.advance(1_000);
    agent.run({ messages: [user('two')] }, { runId: 'b' });
    world.socket.open();
    await world.settle();
    expect(types(world)).toEqual(['resume a', 'cancel a', 'run b']);
    const next = await reloaded(world, {}, { crash: true });
    expect(types(next.world)).toEqual(['resume a', 'resume b', 'cancel a']);
  });
});

describe("policy 'cancel'", () => {
  const cancel = { policy: 'cancel' as const };

  it('aborts the thread as soon as the connection drops, and stops the run on reconnect', async () => {
    const { world, agent, log } = await running(cancel);
    world.network.mode = 'hold';
    world.socket.end();
    expect(agent.getSnapshot().status).toBe('aborted');
    expect(world.stored()?.runs).toMatchObject([{ cancel: true }]);
    world.network.mode = 'up';
    await world.clock.advance(1_000);
    expect(types(world)).toEqual(['resume a', 'cancel a']);
    await world.reconnect();
    expect(types(world)).toEqual(['resume a', 'cancel a']);
    world.socket.receive(...log.frames({ type: 'RUN_ERROR', message: 'x' }));
    expect(agent.getSnapshot().status).toBe('aborted');
    await world.clock.advance(1_000);
    expect(world.storage.map.size).toBe(0);
  });

  it('of one run overrides that of the agent, either way', async () => {
    for (const [policy, own, status] of [
      ['keep', 'cancel', 'aborted'],
      ['cancel', 'keep', 'running'],
    ] as const) {
      const world = createWorld();
      const agent = world.agent({ policy });
      agent.run({}, { policy: own });
      await world.settle();
      world.socket.end();
      expect(agent.getSnapshot().status).toBe(status);
    }
  });

  it('after a reload makes the next page send resume and cancel, and shows aborted', async () => {
    const { world } = await running(cancel);
    const next = await reloaded(world, cancel);
    expect(next.agent.getSnapshot().status).toBe('aborted');
    expect(types(next.world)).toEqual(['resume a', 'cancel a']);
  });

  it('after a crash makes the next page send resume and cancel, and shows aborted', async () => {
    const { world } = await running(cancel);
    const next = await reloaded(world, cancel, { crash: true });
    expect(next.agent.getSnapshot().status).toBe('aborted');
    expect(types(next.world)).toEqual(['resume a', 'cancel a']);
  });

  it("of a run outlives the next page's own default", async () => {
    const world = createWorld();
    world.agent().run({ messages: [user('Hi')] }, { runId: 'a', policy: 'cancel' });
    await world.settle();
    const next = await reloaded(world, {}, { crash: true });
    expect(types(next.world)).toEqual(['resume a', 'cancel a']);
  });

  it('does not abort a run whose frame never left', async () => {
    const world = createWorld();
    world.network.mode = 'down';
    const agent = world.agent(cancel);
    agent.run({}, { runId: 'a' });
    await world.clock.advance(5_000);
    expect(agent.getSnapshot().status).toBe('running');
    world.network.mode = 'up';
    world.client.reconnect();
    await world.settle();
    expect(types(world)).toEqual(['run a']);
  });

  it('does not abort on an idle swap, which is no drop', async () => {
    const { world, agent } = await running({ policy: 'cancel' });
    await world.clock.advance(31_000);
    expect(world.network.sockets.length).toBe(2);
    expect(agent.getSnapshot().status).toBe('running');
  });
});

describe("policy 'keep'", () => {
  it('sends no cancel at pagehide, and closes the socket', async () => {
    const { world } = await running();
    world.page.dispatch('pagehide', { persisted: true });
    expect(types(world)).toEqual(['run a']);
    expect(world.socket.state).toBe('ended');
  });

  it('goes on after the page comes back from the back/forward cache', async () => {
    const { world, agent, log } = await running();
    world.page.dispatch('pagehide', { persisted: true });
    await world.clock.advance(600_000);
    expect(world.network.sockets.length).toBe(1);
    world.page.dispatch('pageshow', { persisted: true });
    await world.settle();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    world.socket.receive(...log.frames(says(' two'), finished('a')));
    expect(texts(agent)).toEqual(['Hi', 'one two']);
    expect(agent.getSnapshot().status).toBe('finished');
  });

  it('goes on behind a drop too where the page let go of its agent meanwhile', async () => {
    const { world, agent, log } = await running();
    world.page.dispatch('pagehide', { persisted: true });
    agent.dispose();
    await world.clock.advance(600_000);
    world.page.dispatch('pageshow', { persisted: true });
    agent.connect();
    await world.settle();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    await world.reconnect();
    expect(world.network.sockets.length).toBe(3);
    world.socket.receive(...log.frames(says(' two'), finished('a')));
    expect(texts(agent)).toEqual(['Hi', 'one two']);
  });
});

describe('Web Locks', () => {
  it('are held under runsocket:<runId> while a run is under way', async () => {
    const locks = createFakeLocks();
    const { world, log } = await running({}, { locks: locks.page() });
    expect(locks.held).toEqual(['runsocket:a']);
    world.socket.receive(...log.frames(finished('a')));
    await world.clock.advance(1_000);
    expect(locks.held).toEqual([]);
  });

  it('are released at pagehide, and asked for again at pageshow', async () => {
    const locks = createFakeLocks();
    const { world } = await running({}, { locks: locks.page() });
    world.page.dispatch('pagehide', { persisted: true });
    await world.settle();
    expect(locks.held).toEqual([]);
    world.page.dispatch('pageshow', { persisted: true });
    await world.settle();
    expect(locks.held).toEqual(['runsocket:a']);
  });

  it('are released by dispose()', async () => {
    const locks = createFakeLocks();
    const { world, agent } = await running({}, { locks: locks.page() });
    agent.dispose();
    await world.settle();
    expect([locks.held, locks.waiting]).toEqual([[], 0]);
  });

  it('keep a duplicated tab from cancelling the run of its original by itself', async () => {
    const locks = createFakeLocks();
    const original = await running({ policy: 'cancel' }, { locks: locks.page() });
    const copy = createWorld({ storage: original.world.storage.copy(), locks: locks.page() });
    const agent = copy.agent({ policy: 'cancel' });
    agent.subscribe(() => {});
    await copy.settle();
    expect(types(copy)).toEqual(['resume a']);
    expect(agent.getSnapshot().status).toBe('running');
    copy.socket.receive(...createLog('a').frames(started('a'), says('one'), says(' two')));
    expect(texts(agent)).toEqual(['Hi', 'one two']);
    await copy.reconnect();
    expect(types(copy)).toEqual(['resume a']);
    expect(agent.getSnapshot().status).toBe('running');
    agent.abort();
    expect(types(copy)).toEqual(['resume a', 'cancel a']);
    expect(original.agent.getSnapshot().status).toBe('running');
  });

  it('make a copy the owner when its original is gone, and then it stops the run', async () => {
    const locks = createFakeLocks();
    const first = locks.page();
    const original = await running({ policy: 'cancel' }, { locks: first });
    const copy = createWorld({ storage: original.world.storage.copy(), locks: locks.page() });
    const agent = copy.agent({ policy: 'cancel' });
    agent.subscribe(() => {});
    await copy.settle();
    first.die();
    await copy.settle();
    expect(types(copy)).toEqual(['resume a', 'cancel a']);
    expect(agent.getSnapshot().status).toBe('aborted');
  });

  it('of a page that reloads pass to the next page', async () => {
    const locks = createFakeLocks();
    const { world } = await running({ policy: 'cancel' }, { locks: locks.page() });
    const next = await reloaded(world, { policy: 'cancel' }, { locks: locks.page() });
    expect(types(next.world)).toEqual(['resume a', 'cancel a']);
    expect(locks.held).toEqual(['runsocket:a']);
  });

  it('that are denied make every page the owner', async () => {
    for (const locks of [
      { request: () => Promise.reject(new Error('denied')) },
      {
        request() {
          throw new Error('denied');
        },
      },
    ]) {
      const { world } = await running({ policy: 'cancel' }, { locks });
      // After pagehide the record itself would say that the run is stopped.
      const next = await reloaded(world, { policy: 'cancel' }, { crash: true, locks });
      expect(types(next.world)).toEqual(['resume a', 'cancel a']);
    }
  });
});
