import { describe, expect, it } from 'vitest';
import { applyAgUiEvent } from '../../src/ag-ui/apply-event.ts';
import {
  createLog,
  createWorld,
  finished,
  says,
  started,
  texts,
  user,
  type World,
} from '../helpers/world.ts';

async function running(options: Parameters<World['agent']>[0] = {}) {
  const world = createWorld();
  const agent = world.agent(options);
  let calls = 0;
  agent.subscribe(() => calls++);
  const errors: string[] = [];
  agent.on('error', ({ code }) => errors.push(code));
  agent.run({ messages: [user('Hi')] }, { runId: 'a' });
  await world.settle();
  const log = createLog('a');
  world.socket.receive(...log.frames(started('a')));
  await world.clock.advance(100);
  calls = 0;
  return { world, agent, log, errors, calls: () => calls };
}

describe('notifications', () => {
  it('of live events come one by one', async () => {
    const { world, log, calls } = await running();
    for (let i = 1; i <= 20; i++) {
      world.socket.receive(...log.frames(says('x')));
      expect(calls()).toBe(i);
    }
  });

  it('do not come for an event that changes nothing', async () => {
    const { world, agent, log, calls } = await running();
    const before = agent.getSnapshot();
    world.socket.receive(...log.frames({ type: 'RAW' }, { type: 'CUSTOM' }, { type: 'MOON' }));
    expect(calls()).toBe(0);
    expect(agent.getSnapshot()).toBe(before);
  });

  it('of a replay come once a frame, and the thread has it all', async () => {
    const { world, agent, log, calls } = await running();
    await world.reconnect();
    world.socket.receive(...log.frames(...Array.from({ length: 2_000 }, () => says('x'))));
    expect(calls()).toBe(0);
    expect(texts(agent)[1]).toBe('x'.repeat(2_000));
    await world.clock.advance(16);
    expect(calls()).toBe(1);
    await world.clock.advance(100);
    expect(calls()).toBe(1);
    world.socket.receive(...log.frames(says('y')));
    expect(calls()).toBe(2);
  });

  it('of a replay that falters come once a frame behind each pause too', async () => {
    const { world, agent, log, calls } = await running();
    await world.reconnect();
    for (let burst = 1; burst <= 5; burst++) {
      world.socket.receive(...log.frames(...Array.from({ length: 400 }, () => says('x'))));
      // As on a slow line: the next window comes a round trip later.
      await world.clock.advance(120);
      expect(texts(agent)[1]).toBe('x'.repeat(400 * burst));
    }
    // The first event behind a pause may be a live one, and is told at once.
    expect(calls()).toBe(1 + 2 * 4);
  });

  it('of a replay with a v1 server end with what was written before', async () => {
    const { world, log, calls } = await running();
    await world.reconnect();
    world.socket.receive({ type: 'hello', v: 1, caps: ['accepted'] });
    world.socket.receive({ type: 'run.accepted', runId: 'a', epoch: 'e', next: 3 });
    world.socket.receive(...log.frames(says('x'), says('y')));
    expect(calls()).toBe(0);
    world.socket.receive(...log.frames(says('live')));
    expect(calls()).toBe(1);
    await world.clock.advance(50);
    expect(calls()).toBe(1);
  });

  it('of an array frame come once', async () => {
    const { world, agent, log, calls } = await running();
    world.socket.receive({ type: 'hello', v: 1, caps: ['batch'] });
    world.socket.receive(log.frames(says('x'), says('y'), says('z')));
    expect(texts(agent)[1]).toBe('xyz');
    expect(calls()).toBe(0);
    await world.clock.advance(16);
    expect(calls()).toBe(1);
  });

  it('are not left out where the terminal comes in a replay', async () => {
    const { world, agent, log, calls } = await running();
    await world.reconnect();
    world.socket.receive(...log.frames(says('x'), finished('a')));
    await world.clock.advance(16);
    expect(calls()).toBe(1);
    expect(agent.getSnapshot().status).toBe('finished');
  });

  it('of a listener that throws stop nobody else', async () => {
    const { world, agent, log } = await running();
    let heard = 0;
    agent.subscribe(() => {
      throw new Error('boom');
    });
    agent.subscribe(() => heard++);
    agent.on('event', () => {
      throw new Error('boom');
    });
    agent.on('event', () => heard++);
    world.socket.receive(...log.frames(says('x'), says('y')));
    expect(texts(agent)[1]).toBe('xy');
    expect(heard).toBe(4);
    expect(world.clock.reports.length).toBe(4);
  });

  it('may start, stop and unsubscribe from inside', async () => {
    const { world, agent, log } = await running();
    let once = false;
    const stop = agent.subscribe(() => {
      stop();
      if (once) return;
      once = true;
      agent.run({ messages: [user('again')] }, { runId: 'b' });
    });
    world.socket.receive(...log.frames(says('x'), says('lost')));
    expect(texts(agent)).toEqual(['Hi', 'x', 'again']);
    expect(world.socket.sent.map(({ type, runId }) => `${type} ${runId}`)).toEqual([
      'run a',
      'cancel a',
      'run b',
    ]);
  });

  it('tell each event once it is folded in', async () => {
    const { world, agent, log } = await running();
    const seen: unknown[] = [];
    agent.on('event', (event) => seen.push([event.type, texts(agent).at(-1)]));
    world.socket.receive(...log.frames(says('x'), says('y')));
    expect(seen).toEqual([
      ['TEXT_MESSAGE_CHUNK', 'x'],
      ['TEXT_MESSAGE_CHUNK', 'xy'],
    ]);
  });
});

describe('a STATE_DELTA that fails', () => {
  const bad = { type: 'STATE_DELTA', delta: [{ op: 'remove', path: '/none' }] };
  const snapshot = { type: 'STATE_SNAPSHOT', snapshot: { fresh: true } };
  const options = { resync: ((runId: string) => ({ type: 'resync', runId })) as never };
  const resyncs = (world: World) => world.socket.sent.filter(({ type }) => type === 'resync');

  it('leaves the state, marks the thread stale and is reported', async () => {
    const { world, agent, log, errors } = await running({ state: { n: 1 } });
    world.socket.receive(...log.frames(bad));
    expect(agent.getSnapshot()).toMatchObject({ stale: true, state: { n: 1 }, status: 'running' });
    expect(errors).toEqual(['patch-failed']);
    expect(world.socket.sent.length).toBe(1);
  });

  it('asks once for a snapshot, until one comes, then once more the next time', async () => {
    const { world, agent, log } = await running({ ...options, state: {} });
    world.socket.receive(...log.frames(bad, bad, bad));
    expect(resyncs(world)).toEqual([{ type: 'resync', runId: 'a' }]);
    world.socket.receive(...log.frames(snapshot));
    expect(agent.getSnapshot()).toMatchObject({ stale: false, state: { fresh: true } });
    world.socket.receive(...log.frames(bad));
    expect(resyncs(world).length).toBe(2);
  });

  it('asks only once while other events change the thread', async () => {
    const { world, agent, log } = await running({ ...options, state: {} });
    world.socket.receive(...log.frames(bad, says('one'), says(' two'), bad));
    expect(agent.getSnapshot().stale).toBe(true);
    expect(texts(agent)).toEqual(['Hi', 'one two']);
    expect(resyncs(world)).toEqual([{ type: 'resync', runId: 'a' }]);
  });

  it('is asked for once more after a reconnect while it is stale', async () => {
    const { world, log } = await running({ ...options, state: {} });
    world.socket.receive(...log.frames(bad));
    await world.reconnect();
    expect(world.socket.sent.map(({ type }) => type)).toEqual(['resume', 'resync']);
    world.socket.receive(...log.frames(snapshot));
    await world.reconnect();
    expect(resyncs(world)).toEqual([]);
  });

  it('is not asked for once the run is over or stopped', async () => {
    const { world, agent, log } = await running({ ...options, state: {} });
    world.socket.receive(...log.frames(bad, finished('a')));
    await world.clock.advance(1_000);
    agent.connect();
    await world.reconnect();
    expect(resyncs(world)).toEqual([]);
  });

  it('with a resync that throws is reported and stops nothing', async () => {
    const { world, agent, log, errors } = await running({
      state: {},
      resync: () => {
        throw new Error('boom');
      },
    });
    world.socket.receive(...log.frames(bad, says('x')));
    expect(errors.sort()).toEqual(['invalid-argument', 'patch-failed']);
    expect(texts(agent)[1]).toBe('x');
  });
});

describe('what belongs to the caller and throws', () => {
  it('reduce: is reported, the thread stays and is stale, and the cursor moves on', async () => {
    const { world, agent, log, errors } = await running({
      reduce(thread, event) {
        if (event.type === 'CUSTOM') throw new Error('boom');
        return applyAgUiEvent(thread, event);
      },
    });
    world.socket.receive(...log.frames(says('x'), { type: 'CUSTOM' }, says('y')));
    expect(texts(agent)[1]).toBe('xy');
    expect(agent.getSnapshot().stale).toBe(true);
    expect(errors[0]).toBe('bad-message');
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 3 }]);
  });

  it('resume: ends the run with invalid-argument', async () => {
    const { world, agent } = await running({
      resume: () => {
        throw new Error('boom');
      },
    });
    await world.reconnect();
    expect(agent.getSnapshot()).toMatchObject({
      status: 'error',
      error: { code: 'invalid-argument' },
    });
    expect(world.storage.map.size).toBe(0);
  });

  it('cancel: leaves the thread aborted and throws nothing', async () => {
    const { agent } = await running({
      cancel: () => {
        throw new Error('boom');
      },
    });
    agent.abort();
    expect(agent.getSnapshot().status).toBe('aborted');
  });

  it('event: is reported as bad-message and the run goes on', async () => {
    const { world, agent, log, errors } = await running({
      event: (message: { event: { type: string } }) => {
        if (message.event.type === 'BOOM') throw new Error('boom');
        return message as never;
      },
    } as never);
    world.socket.receive(...log.frames(says('x'), { type: 'BOOM' }, says('y')));
    expect(errors).toContain('bad-message');
    expect(texts(agent)[1]).toContain('x');
  });
});

describe('the end of the connection for good', () => {
  it('by a final close puts the thread in error, with the cause, and keeps the record', async () => {
    const { world, agent } = await running();
    world.socket.end(1008, 'no such agent');
    expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { code: 'closed' } });
    expect(agent.getSnapshot().error?.message).toContain('no such agent');
    expect(world.stored()?.runs.length).toBe(1);
  });

  it('is taken back by reconnect(): the run resumes where it was', async () => {
    const { world, agent, log } = await running();
    world.socket.end(1008);
    world.client.reconnect();
    await world.settle();
    expect(agent.getSnapshot().status).toBe('running');
    expect(agent.getSnapshot().error).toBeUndefined();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 0 }]);
    world.socket.receive(...log.frames(says('x'), finished('a')));
    await world.clock.advance(1_000);
    expect(agent.getSnapshot().status).toBe('finished');
    expect(world.storage.map.size).toBe(0);
  });

  it('by client.close() too, also for a run that waits to be sent', async () => {
    const world = createWorld();
    world.network.mode = 'hold';
    const agent = world.agent();
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    world.client.close();
    expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { code: 'closed' } });
    world.network.mode = 'up';
    world.client.reconnect();
    await world.settle();
    expect(world.socket.sent.map(({ type }) => type)).toEqual(['run']);
    expect(agent.getSnapshot().status).toBe('running');
  });

  it('by exhausted retries tells the first cause', async () => {
    const world = createWorld({ client: { maxRetries: 2 } });
    const agent = world.agent();
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a')));
    world.network.mode = 'down';
    world.socket.end(4500, 'first cause');
    expect(agent.getSnapshot().status).toBe('running');
    expect(agent.getSnapshot().error).toBeUndefined();
    await world.clock.advance(60_000);
    expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { code: 'closed' } });
    expect(agent.getSnapshot().error?.message).toContain('first cause');
  });

  it('can be followed by an abort, which reaches the server once there is a connection', async () => {
    const { world, agent } = await running();
    world.socket.end(1008);
    agent.abort();
    expect(agent.getSnapshot().status).toBe('aborted');
    world.client.reconnect();
    await world.settle();
    expect(world.socket.sent.map(({ type }) => type)).toEqual(['resume', 'cancel']);
    expect(agent.getSnapshot().status).toBe('aborted');
  });

  it('is not caused by closes that are retried', async () => {
    const { world, agent } = await running();
    for (const code of [1000, 1001, 1006, 1011, 1012, 4408, 4429]) {
      await world.reconnect(code);
      expect([code, agent.getSnapshot().status]).toEqual([code, 'running']);
    }
  });
});

describe('codes of runs reach the thread', () => {
  it('start-unknown, and a late event takes it back', async () => {
    const world = createWorld();
    const agent = world.agent({ startTimeout: 1_000 });
    agent.connect();
    agent.run({ messages: [user('Hi')] }, { runId: 'a' });
    await world.settle();
    await world.reconnect();
    await world.clock.advance(1_100);
    expect(agent.getSnapshot()).toMatchObject({
      status: 'error',
      error: { code: 'start-unknown' },
    });
    const log = createLog('a');
    world.socket.receive(...log.frames(started('a'), says('x')));
    expect(agent.getSnapshot().status).toBe('running');
    expect(agent.getSnapshot().error).toBeUndefined();
    world.socket.receive(...log.frames(finished('a')));
    expect(agent.getSnapshot().status).toBe('finished');
    expect(texts(agent)).toEqual(['Hi', 'x']);
  });

  it('run-lost, run-unknown, run-forbidden and log-truncated', async () => {
    for (const [message, code] of [
      [{ type: 'run.end', runId: 'a', offset: 0, status: 'lost' }, 'run-lost'],
      [{ type: 'run.unknown', runId: 'a', reason: 'evicted' }, 'run-unknown'],
      [{ type: 'run.unknown', runId: 'a', reason: 'forbidden' }, 'run-forbidden'],
      [{ type: 'run.unknown', runId: 'a', reason: 'never' }, 'run-lost'],
    ] as const) {
      const { world, agent } = await running();
      world.socket.receive({ type: 'hello', v: 1, caps: ['end', 'unknown'] }, message);
      expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { code } });
    }
    const { world, agent, errors } = await running();
    world.socket.receive(
      { type: 'hello', v: 1, caps: ['truncated'] },
      { type: 'run.truncated', runId: 'a', from: 9 },
    );
    expect(errors).toEqual(['log-truncated']);
    expect(agent.getSnapshot()).toMatchObject({ stale: true, status: 'running' });
  });

  it('a gap that stays marks the thread stale', async () => {
    const { world, agent, log, errors } = await running();
    world.socket.receive(...log.frames(says('x')));
    log.frames(says('lost'));
    const behind = log.frames(says('y'));
    world.socket.receive(...behind);
    await world.clock.advance(300);
    expect(agent.getSnapshot().stale).toBe(false);
    world.socket.receive(...behind);
    expect(agent.getSnapshot().stale).toBe(true);
    expect(texts(agent)[1]).toBe('xy');
    expect(errors.length).toBeGreaterThan(0);
  });

  it('lost also where the thread had finished', async () => {
    const { world, agent, log } = await running();
    world.socket.receive({ type: 'hello', v: 1, caps: ['end'] });
    world.socket.receive(...log.frames(finished('a')));
    world.socket.receive({ type: 'run.end', runId: 'a', offset: 1, status: 'lost' });
    expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { code: 'run-lost' } });
  });

  it('too-large', async () => {
    const world = createWorld();
    const agent = world.agent();
    agent.run({ messages: [user('x'.repeat(1_000))] });
    await world.settle();
    world.socket.end(1009);
    expect(agent.getSnapshot()).toMatchObject({ status: 'error', error: { code: 'too-large' } });
  });
});
