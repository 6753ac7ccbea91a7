import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { createRuns } from '../../src/runs/runs.ts';
import { until } from '../helpers/until.ts';
import { createV1Server, startV1Server, toFakePeer, type V1Options } from '../helpers/v1-server.ts';
import { createWorld, finished, says, started, type TestEvent } from '../helpers/world.ts';

function open(options: V1Options = {}, runsOptions = {}) {
  const server = createV1Server(options);
  const world = createWorld({ peer: toFakePeer(server), client: { token: () => 'new' } });
  const runs = world.runs({ storage: world.storage.page(), ...runsOptions });
  const seen: unknown[] = [];
  let restarts = 0;
  const start = async (runOptions: object = {}) => {
    const run = runs.start({ n: 1 }, { runId: 'a', ...runOptions });
    run.on('event', (event) => seen.push(event.n ?? event.type));
    run.on('restart', () => {
      restarts++;
      seen.splice(0);
    });
    await world.settle();
    return run;
  };
  const types = () => server.received.map(({ type }) => type);
  return { server, world, runs, seen, start, types, restarts: () => restarts };
}
const n = (from: number, to: number): TestEvent[] =>
  Array.from({ length: to - from }, (_, index) => ({ type: 'CUSTOM', n: from + index }));
const numbers = (from: number, to: number) => n(from, to).map((event) => event.n);

describe('hello', () => {
  it('is answered with what the client can do, once on each connection', async () => {
    const { server, world, start } = open();
    await start();
    await world.reconnect();
    const hellos = server.received.filter(({ type }) => type === 'hello');
    expect(hellos).toEqual([
      { type: 'hello', caps: ['batch'] },
      { type: 'hello', caps: ['batch'] },
    ]);
  });

  for (const [what, hello] of [
    ['no v', { type: 'hello', caps: ['ping'] }],
    ['v below 1', { type: 'hello', v: 0, caps: ['ping'] }],
    ['a broken v', { type: 'hello', v: 1.5, caps: ['ping'] }],
    ['v as text', { type: 'hello', v: '1', caps: ['ping'] }],
    ['caps that are no array', { type: 'hello', v: 1, caps: { ping: true } }],
  ] as const) {
    it(`with ${what} is a message like any other`, async () => {
      const world = createWorld();
      const messages: unknown[] = [];
      world.client.on('message', (message) => messages.push(message));
      world.runs().start({}, { runId: 'a' });
      await world.settle();
      world.socket.receive(hello);
      await world.clock.advance(29_000);
      expect(messages).toEqual([hello]);
      expect(world.socket.sent.map(({ type }) => type)).toEqual(['run']);
    });
  }

  it('of a higher version is read as v1', async () => {
    const { start, types } = open({ hello: { v: 9 } });
    await start();
    expect(types()).toEqual(['run', 'hello']);
  });

  it('keeps controls from the listeners; what it does not know reaches them', async () => {
    const { server, world, start } = open();
    const messages: unknown[] = [];
    world.client.on('message', (message) => messages.push(message));
    await start();
    server.broadcast({ type: 'retry', after: 5 });
    server.broadcast({ type: 'pong', n: 1 });
    server.broadcast({ type: 'news' });
    expect(messages).toEqual([{ type: 'news' }]);
  });

  it('makes controls count; before it they are foreign', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    world.socket.receive({ type: 'run.end', runId: 'a', offset: 0, status: 'finished' });
    world.socket.receive({ type: 'run.unknown', runId: 'a', reason: 'evicted' });
    expect(run.getSnapshot().status).toBe('starting');
  });

  it('is forgotten with its connection', async () => {
    const { world, server, start } = open();
    const run = await start();
    server.connect = () => ({ receive() {}, closed() {} });
    await world.reconnect();
    world.socket.receive({ type: 'run.unknown', runId: 'a', reason: 'evicted' });
    expect(run.getSnapshot().status).toBe('streaming');
  });
});

describe('run.accepted', () => {
  it('confirms a start before its first event', async () => {
    const { start, world } = open();
    const run = await start();
    expect(run.getSnapshot().status).toBe('streaming');
    expect(world.stored('runs')?.runs[0]).toMatchObject({ acked: true });
    expect(world.stored('runs')?.runs[0]?.input).toBeUndefined();
  });

  it('tells whether the log was caught up with', async () => {
    const { server, world, start } = open();
    const run = await start();
    server.append('a', ...n(0, 5));
    await world.settle();
    expect(run.getSnapshot().caughtUp).toBe(true);
    world.socket.end();
    server.append('a', ...n(5, 9));
    server.mangle = (frames) => frames.slice(0, 2);
    await world.clock.advance(1_100);
    expect(run.getSnapshot()).toMatchObject({ caughtUp: false, offset: 6 });
  });

  it('with another epoch rebuilds the run from its start', async () => {
    const { server, world, start, seen, restarts } = open();
    await start();
    server.append('a', ...n(0, 3));
    world.socket.end();
    server.reexecute('a');
    server.append('a', ...n(100, 105));
    await world.clock.advance(1_100);
    expect(restarts()).toBe(1);
    expect(seen).toEqual(numbers(100, 105));
    expect(server.received.at(-1)).toEqual({ type: 'resume', runId: 'a' });
    server.append('a', ...n(105, 106));
    expect(seen).toEqual(numbers(100, 106));
  });

  it('with another epoch rebuilds it also where the new log is longer', async () => {
    const { server, world, start, seen } = open();
    await start();
    server.append('a', ...n(0, 3));
    world.socket.end();
    server.reexecute('a');
    server.append('a', ...n(100, 150), finished('a'));
    server.end('a', 'finished');
    await world.clock.advance(1_100);
    expect(seen).toEqual([...numbers(100, 150), 'RUN_FINISHED']);
  });

  it('with the same epoch goes on', async () => {
    const { server, world, start, seen, restarts } = open();
    await start();
    server.append('a', ...n(0, 3));
    world.socket.end();
    server.append('a', ...n(3, 6));
    await world.clock.advance(1_100);
    expect(restarts()).toBe(0);
    expect(seen).toEqual(numbers(0, 6));
  });
});

describe('run.unknown', () => {
  it('never: sends a start that was not confirmed again, with the same id, once started', async () => {
    const { server, world, start } = open();
    server.silent = true;
    const run = await start();
    world.socket.end();
    server.silent = false;
    await world.clock.advance(1_100);
    expect(server.runs.get('a')).toMatchObject({ executions: 1, starts: 1, input: { n: 1 } });
    expect(run.getSnapshot().status).toBe('streaming');
  });

  it('never: is run-lost for a run that was confirmed', async () => {
    const { server, world, start } = open();
    const run = await start();
    world.socket.end();
    server.forget('a');
    await world.clock.advance(1_100);
    expect(run.getSnapshot()).toMatchObject({ status: 'failed', error: { code: 'run-lost' } });
    expect(server.received.filter(({ type }) => type === 'run').length).toBe(1);
    expect(world.storage.map.size).toBe(0);
  });

  it('never: runs a confirmed one again where the server is declared idempotent', async () => {
    const { server, world, start, seen } = open({}, { restart: true });
    await start();
    server.append('a', ...n(0, 3));
    world.socket.end();
    server.forget('a');
    await world.clock.advance(1_100);
    server.append('a', ...n(50, 53));
    expect(server.runs.get('a')?.executions).toBe(1);
    expect(seen).toEqual(numbers(50, 53));
  });

  it('evicted ends the run with run-unknown, forbidden with run-forbidden', async () => {
    for (const [how, code] of [
      ['evict', 'run-unknown'],
      ['forbid', 'run-forbidden'],
    ] as const) {
      const { server, world, start } = open();
      const run = await start();
      world.socket.end();
      server[how]('a');
      await world.clock.advance(1_100);
      expect(run.getSnapshot()).toMatchObject({ status: 'failed', error: { code } });
      expect(world.storage.map.size).toBe(0);
    }
  });

  it('is the end of a run that was cancelled', async () => {
    const { server, world, start } = open({ obeysCancel: false });
    const run = await start();
    run.cancel();
    world.socket.end();
    server.forget('a');
    await world.clock.advance(1_100);
    expect(run.getSnapshot().status).toBe('cancelled');
  });

  it('never: does not start what was stopped before it was confirmed', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    world.network.mode = 'hold';
    world.socket.end();
    run.cancel();
    await world.clock.advance(1_000);
    world.socket.open();
    world.socket.receive({ type: 'hello', v: 1, caps: ['accepted', 'unknown', 'end'] });
    world.socket.receive({ type: 'run.unknown', runId: 'a', reason: 'never' });
    await world.clock.advance(1_000);
    expect(world.socket.sent.map(({ type }) => type)).toEqual(['resume', 'cancel', 'hello']);
    expect(run.getSnapshot().status).toBe('cancelled');
  });

  it('with a reason that is not known ends the run too', async () => {
    const { world, start, server } = open();
    const run = await start();
    server.broadcast({ type: 'run.unknown', runId: 'a', reason: 'moon' });
    await world.settle();
    expect(run.getSnapshot().status).toBe('failed');
  });
});

describe('run.truncated', () => {
  it('goes on from what is left', async () => {
    const { server, world, start, seen } = open();
    await start();
    server.append('a', ...n(0, 3));
    world.socket.end();
    server.append('a', ...n(3, 10));
    server.truncate('a', 7);
    await world.clock.advance(1_100);
    expect(seen).toEqual([0, 1, 2, 7, 8, 9]);
    await world.clock.advance(5_000);
    expect(server.received.at(-1)?.type).not.toBe('resume');
    expect(server.received.filter(({ type }) => type === 'resume').length).toBe(1);
  });

  it('changes nothing for a reader that is past it', async () => {
    const { server, start, seen } = open();
    await start();
    server.append('a', ...n(0, 5));
    server.broadcast({ type: 'run.truncated', runId: 'a', from: 3 });
    server.append('a', ...n(5, 6));
    expect(seen).toEqual(numbers(0, 6));
  });

  it('leaves nothing to overlap with', async () => {
    const { server, world, start } = open({}, { overlap: true });
    await start();
    server.append('a', ...n(0, 3));
    world.socket.end();
    server.append('a', ...n(3, 10));
    server.truncate('a', 10);
    await world.clock.advance(1_100);
    await world.reconnect();
    expect(world.socket.sent[0]).toEqual({ type: 'resume', runId: 'a', after: 9 });
  });

  it('with a place that is no number is ignored', async () => {
    const { server, start, seen } = open();
    await start();
    server.append('a', ...n(0, 2));
    for (const from of ['9', null, Number.NaN, 2 ** 60, undefined]) {
      server.broadcast({ type: 'run.truncated', runId: 'a', from });
    }
    server.append('a', ...n(2, 3));
    expect(seen).toEqual(numbers(0, 3));
  });
});

describe('run.end', () => {
  for (const [status, expected] of [
    ['finished', { status: 'finished' }],
    ['error', { status: 'failed' }],
    ['cancelled', { status: 'cancelled' }],
    ['lost', { status: 'failed', error: { code: 'run-lost' } }],
  ] as const) {
    it(`${status} ends a run that its events left open as ${expected.status}`, async () => {
      const { server, world, start } = open();
      const run = await start();
      server.append('a', started('a'), says('x'));
      server.end('a', status);
      await world.settle();
      expect(run.getSnapshot()).toMatchObject(expected);
      expect(await run.done).toMatchObject(expected);
      expect(world.storage.map.size).toBe(0);
    });
  }

  it('does not change what a terminal event said, but for lost', async () => {
    for (const [status, expected] of [
      ['finished', 'finished'],
      ['error', 'finished'],
      ['cancelled', 'finished'],
      ['lost', 'failed'],
    ] as const) {
      const { server, start } = open();
      const run = await start();
      server.append('a', started('a'), finished('a'));
      server.end('a', status);
      expect((await run.done).status).toBe(expected);
    }
  });

  it('is waited for: a terminal event does not end the run', async () => {
    const { server, world, start, seen } = open();
    const run = await start();
    server.append('a', started('a'), finished('a'));
    await world.clock.advance(15_000);
    expect(world.stored('runs')?.runs.length).toBe(1);
    server.append('a', { type: 'RUN_STARTED', runId: 'again' }, { type: 'CUSTOM', n: 1 });
    server.append('a', { type: 'RUN_FINISHED', runId: 'again' });
    server.end('a', 'finished');
    expect(await run.done).toMatchObject({ status: 'finished', offset: 4 });
    expect(seen).toEqual(['RUN_STARTED', 'RUN_FINISHED', 'RUN_STARTED', 1, 'RUN_FINISHED']);
  });

  it('waits for the events before it', async () => {
    const { server, world, start, seen } = open();
    const run = await start();
    server.append('a', ...n(0, 2));
    server.mangle = () => [];
    server.append('a', ...n(2, 4));
    server.end('a', 'finished');
    await world.settle();
    expect(run.getSnapshot().status).toBe('streaming');
    server.mangle = undefined;
    await world.clock.advance(300);
    expect(seen).toEqual(numbers(0, 4));
    expect(run.getSnapshot().status).toBe('finished');
  });

  it('takes the last event also where it was lost on the way', async () => {
    const { server, world, start, seen } = open();
    const run = await start();
    server.append('a', ...n(0, 3));
    server.mangle = () => [];
    server.append('a', ...n(3, 4));
    server.mangle = undefined;
    server.end('a', 'finished');
    await world.clock.advance(1_000);
    expect(seen).toEqual(numbers(0, 4));
    expect(run.getSnapshot().status).toBe('finished');
  });

  it('that answers the question for a missing event ends the run at once, without it', async () => {
    const { server, world, start, seen } = open();
    const run = await start();
    server.append('a', ...n(0, 3));
    server.mangle = (frames) => frames.filter(({ offset }) => Number(offset) < 3);
    server.append('a', ...n(3, 6));
    server.end('a', 'finished');
    await world.clock.advance(300);
    expect(run.getSnapshot().status).toBe('finished');
    expect(seen).toEqual([0, 1, 2]);
  });

  it('that was sent before the question does not answer it', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    const seen: unknown[] = [];
    run.on('event', (event) => seen.push(event.n));
    await world.settle();
    const at = (offset: number) => ({ runId: 'a', offset, event: { type: 'CUSTOM', n: offset } });
    const end = { type: 'run.end', runId: 'a', offset: 299, status: 'finished' };
    const accepted = { type: 'run.accepted', runId: 'a', epoch: 'e', next: 300 };
    world.socket.receive({ type: 'hello', v: 1, caps: ['accepted', 'end'] }, accepted);
    // Two answers on one connection, both before the question is read: event 5 is lost in each.
    for (let time = 0; time < 2; time++) {
      for (let offset = 0; offset < 300; offset++)
        if (offset !== 5) world.socket.receive(at(offset));
      world.socket.receive(end);
    }
    expect(world.socket.sent.slice(2)).toEqual([{ type: 'resume', runId: 'a', after: 4 }]);
    expect(run.getSnapshot().status).toBe('streaming');
    world.socket.receive(accepted);
    for (let offset = 5; offset < 300; offset++) world.socket.receive(at(offset));
    world.socket.receive(end);
    expect(seen).toEqual(Array.from({ length: 300 }, (_, n) => n));
    expect(run.getSnapshot().status).toBe('finished');
  });

  it('that comes again on a resume ends the run once', async () => {
    const { server, world, start } = open();
    const run = await start();
    let ends = 0;
    run.on('end', () => ends++);
    world.socket.end();
    server.append('a', started('a'), finished('a'));
    server.end('a', 'finished');
    await world.clock.advance(1_100);
    server.broadcast({ type: 'run.end', runId: 'a', offset: 1, status: 'error' });
    await world.settle();
    expect(ends).toBe(1);
    expect(run.getSnapshot().status).toBe('finished');
  });

  it('that comes again drops nothing that is held behind another hole', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    const seen: unknown[] = [];
    run.on('event', (event) => seen.push(event.n));
    await world.settle();
    const at = (offset: number) => ({ runId: 'a', offset, event: { type: 'CUSTOM', n: offset } });
    const end = { type: 'run.end', runId: 'a', offset: 6, status: 'finished' };
    world.socket.receive({ type: 'hello', v: 1, caps: ['accepted', 'end'] });
    world.socket.receive({ type: 'run.accepted', runId: 'a', epoch: 'e', next: 0 });
    world.socket.receive(at(0), at(1), at(3), at(4), at(5), at(6), end);
    await world.clock.advance(300);
    expect(world.socket.sent.at(-1)).toEqual({ type: 'resume', runId: 'a', after: 1 });
    world.socket.receive(at(2), end);
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(run.getSnapshot().status).toBe('finished');
  });

  it('that comes again while another event is missing waits for that one too', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    const seen: unknown[] = [];
    run.on('event', (event) => seen.push(event.n));
    await world.settle();
    const at = (offset: number) => ({ runId: 'a', offset, event: { type: 'CUSTOM', n: offset } });
    const end = { type: 'run.end', runId: 'a', offset: 6, status: 'finished' };
    world.socket.receive({ type: 'hello', v: 1, caps: ['accepted', 'end'] });
    world.socket.receive({ type: 'run.accepted', runId: 'a', epoch: 'e', next: 0 });
    world.socket.receive(at(0), at(1), end);
    await world.clock.advance(300);
    expect(world.socket.sent.at(-1)).toEqual({ type: 'resume', runId: 'a', after: 1 });
    world.socket.receive(at(2), at(3), at(5), at(6), end);
    await world.clock.advance(300);
    world.socket.receive(at(4), at(5), at(6), end);
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(run.getSnapshot().status).toBe('finished');
  });

  it('after a cancel leaves every end but success as cancelled', async () => {
    for (const [status, expected] of [
      ['error', 'cancelled'],
      ['cancelled', 'cancelled'],
      ['finished', 'finished'],
      ['lost', 'cancelled'],
    ] as const) {
      const { server, start } = open({ obeysCancel: false });
      const run = await start();
      server.append('a', started('a'));
      run.cancel();
      server.end('a', status);
      expect((await run.done).status).toBe(expected);
    }
  });

  it('comes after a cancel that the server obeys', async () => {
    const { server, world, start } = open();
    const run = await start();
    server.append('a', started('a'));
    run.cancel();
    await world.settle();
    expect(run.getSnapshot()).toMatchObject({ status: 'cancelled' });
    expect(server.runs.get('a')?.cancels).toBe(1);
  });

  it('is waited for also where only the terminal event arrives before the drop', async () => {
    const { server, world, start } = open();
    const run = await start();
    server.append('a', started('a'), finished('a'));
    world.socket.end();
    server.end('a', 'finished');
    await world.clock.advance(1_100);
    expect(await run.done).toMatchObject({ status: 'finished' });
  });
});

describe('the numbered log of v1', () => {
  it('is read without a hole from the first event on', async () => {
    const { server, world, start, seen } = open();
    await start();
    server.mangle = (frames) => frames.filter(({ offset }) => offset !== 0);
    server.append('a', ...n(0, 3));
    await world.settle();
    expect(seen).toEqual([]);
    server.mangle = undefined;
    await world.clock.advance(300);
    expect(seen).toEqual([0, 1, 2]);
  });

  it('survives live before replay, doubles and disorder', async () => {
    const { server, world, start, seen } = open({
      liveBeforeReplay: true,
      mangle: (frames) => [...frames, ...frames].reverse(),
    });
    await start();
    server.append('a', ...n(0, 10));
    world.socket.end();
    server.append('a', ...n(10, 50));
    await world.clock.advance(1_100);
    server.append('a', ...n(50, 60));
    await world.clock.advance(1_000);
    expect(seen).toEqual(numbers(0, 60));
  });

  it('takes a replay in batches', async () => {
    const { server, world, start, seen } = open();
    await start();
    world.socket.end();
    server.append('a', ...n(0, 950));
    await world.clock.advance(1_100);
    expect(seen).toEqual(numbers(0, 950));
  });

  it('takes no batch from a server that did not announce it', async () => {
    const { server, start, seen } = open({ caps: ['accepted'] });
    await start();
    server.broadcast([{ runId: 'a', offset: 0, event: { type: 'CUSTOM', n: 0 } }]);
    expect(seen).toEqual([]);
  });

  it('takes a batch with rubbish and controls in it', async () => {
    const { server, start, seen } = open();
    const run = await start();
    server.broadcast([
      null,
      [1],
      { runId: 'a', offset: 0, event: { type: 'CUSTOM', n: 0 } },
      'text',
      { type: 'run.end', runId: 'a', offset: 0, status: 'finished' },
    ]);
    expect(seen).toEqual([0]);
    expect(run.getSnapshot().status).toBe('finished');
  });

  it('asks for the next hole too once one was accepted', async () => {
    const { server, world, start, seen } = open({
      mangle: (frames) => frames.filter(({ offset }) => offset !== 2),
    });
    await start();
    server.append('a', ...n(0, 5));
    await world.clock.advance(1_000);
    server.mangle = (frames) => frames.filter(({ offset }) => offset !== 6);
    server.append('a', ...n(5, 9));
    server.mangle = undefined;
    await world.clock.advance(1_000);
    expect(seen).toEqual([0, 1, 3, 4, 5, 6, 7, 8]);
  });

  it('accepts a hole that stays, and goes on numbering', async () => {
    const { server, world, start, seen } = open({
      mangle: (frames) => frames.filter(({ offset }) => offset !== 2 && offset !== 6),
    });
    const run = await start();
    server.append('a', ...n(0, 5));
    await world.clock.advance(1_000);
    expect(seen).toEqual([0, 1, 3, 4]);
    server.append('a', ...n(5, 9));
    await world.clock.advance(1_000);
    expect(seen).toEqual([0, 1, 3, 4, 5, 7, 8]);
    expect(run.getSnapshot().offset).toBe(8);
  });
});

describe('the other capabilities', () => {
  it('policy is announced behind the start, and on each connection', async () => {
    const { server, world, start } = open({}, { policy: 'cancel' });
    await start();
    expect(server.runs.get('a')?.policy).toBe('cancel');
    expect(server.received).toContainEqual({ type: 'policy', runId: 'a', policy: 'cancel' });
    await world.settle();
  });

  it('policy is not sent where it was not announced, nor for keep', async () => {
    const one = open({ caps: ['accepted'] }, { policy: 'cancel' });
    await one.start();
    expect(one.types()).not.toContain('policy');
    const two = open();
    await two.start();
    expect(two.types()).not.toContain('policy');
  });

  it('ping asks after the silence that hello names, and a dead socket is replaced', async () => {
    const { server, world, start, types } = open({ hello: { heartbeat: 7_000 } });
    await start();
    await world.clock.advance(6_900);
    expect(types()).not.toContain('ping');
    await world.clock.advance(200);
    expect(server.received.at(-1)).toMatchObject({ type: 'ping', n: 1 });
    server.silent = true;
    const { length } = world.network.sockets;
    await world.clock.advance(13_000);
    expect(world.network.sockets.length).toBe(length + 1);
    expect(world.socket.sent[0]).toMatchObject({ type: 'resume' });
  });

  it.each([
    [1, 5_000],
    [10_000_000, 60_000],
  ])('ping is held between 5 and 60 s where hello says %i ms', async (heartbeat, asked) => {
    const { world, start, types } = open({ hello: { heartbeat } });
    await start();
    await world.clock.advance(asked - 100);
    expect(types()).not.toContain('ping');
    await world.clock.advance(200);
    expect(types()).toContain('ping');
  });

  it('auth answers reauth with a new token, and only where it was announced', async () => {
    const one = open({ caps: ['auth'] });
    await one.start();
    one.server.broadcast({ type: 'reauth' });
    await one.world.settle();
    expect(one.server.received.at(-1)).toEqual({ type: 'auth', token: 'new' });
    const two = open({ caps: ['accepted'] });
    await two.start();
    two.server.broadcast({ type: 'reauth' });
    await two.world.settle();
    expect(two.types()).not.toContain('auth');
  });

  it('auth sends a token that comes late on no connection but the one that asked', async () => {
    const gives: ((token: string) => void)[] = [];
    const token = () => new Promise<string>((resolve) => gives.push(resolve));
    const server = createV1Server({ caps: ['auth'] });
    const world = createWorld({ peer: toFakePeer(server), client: { token } });
    world.runs().start({}, { runId: 'a' });
    await world.settle();
    server.broadcast({ type: 'reauth' });
    await world.reconnect();
    server.broadcast({ type: 'reauth' });
    gives[0]?.('old');
    await world.settle();
    expect(world.socket.sent.map(({ type }) => type)).toEqual(['resume', 'hello']);
    gives[1]?.('new');
    await world.settle();
    expect(world.socket.sent.at(-1)).toEqual({ type: 'auth', token: 'new' });
    expect(gives.length).toBe(2);
  });

  it('retry delays the next attempt once', async () => {
    const { server, world, start } = open();
    await start();
    server.broadcast({ type: 'retry', after: 10_000 });
    world.socket.end();
    const { length } = world.network.sockets;
    await world.clock.advance(9_900);
    expect(world.network.sockets.length).toBe(length);
    await world.clock.advance(1_200);
    expect(world.network.sockets.length).toBe(length + 1);
  });

  it('maxMessage fails a larger start before it is sent, and nothing else', async () => {
    const { server, world, runs, start } = open({ hello: { maxMessage: 200 } });
    await start();
    const big = runs.start({ text: 'x'.repeat(300) }, { runId: 'big' });
    await world.settle();
    expect(big.getSnapshot()).toMatchObject({ status: 'failed', error: { code: 'too-large' } });
    expect(server.received.some(({ runId }) => runId === 'big')).toBe(false);
    expect(world.socket.state).toBe('open');
  });

  it('maxMessage counts bytes, not characters', async () => {
    const { world, runs, start } = open({ hello: { maxMessage: 200 } });
    await start();
    const big = runs.start({ text: '日'.repeat(100) }, { runId: 'big' });
    await world.settle();
    expect(big.getSnapshot().error?.code).toBe('too-large');
  });
});

describe('a close with 1009', () => {
  it('fails the run whose start was too large, and the others go on', async () => {
    const world = createWorld();
    const runs = world.runs();
    const a = runs.start({}, { runId: 'a' });
    await world.settle();
    world.socket.receive({ runId: 'a', offset: 0, event: { type: 'CUSTOM' } });
    const big = runs.start({ text: 'x'.repeat(5_000) }, { runId: 'big' });
    await world.settle();
    world.socket.end(1009);
    expect(big.getSnapshot()).toMatchObject({ status: 'failed', error: { code: 'too-large' } });
    await world.clock.advance(1_100);
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 0 }]);
    expect(a.getSnapshot().status).toBe('streaming');
  });
});

it('does all of it over real sockets too', async () => {
  const server = await startV1Server({
    onRun: (run) => queueMicrotask(() => server.append(run.runId, ...n(0, 40))),
  });
  const client = createWebSocketClient(server.url, { WebSocket, backoff: { first: 20 } });
  const run = createRuns<unknown, TestEvent>(client).start({}, { runId: 'a' });
  const seen: unknown[] = [];
  run.on('event', (event) => seen.push(event.n));
  await until(() => seen.length === 40);
  server.cut();
  server.append('a', ...n(40, 300));
  await until(() => seen.length === 300);
  server.end('a', 'finished');
  expect((await run.done).status).toBe('finished');
  expect(seen).toEqual(numbers(0, 300));
  client.close();
  await server.close();
});
