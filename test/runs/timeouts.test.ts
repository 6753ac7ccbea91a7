import { describe, expect, it } from 'vitest';
import { createLog, createWorld, finished, says, started, type World } from '../helpers/world.ts';

const sent = (world: World) => world.network.sockets.map((socket) => socket.sent);
const storing = (world: World) => world.runs({ storage: world.storage.page() });

describe('startTimeout', () => {
  it('ends a start that no reconnect brought an answer for after 60 s of open connection', async () => {
    const world = createWorld();
    const run = storing(world).start({}, { runId: 'a' });
    await world.settle();
    await world.reconnect();
    await world.clock.advance(59_000);
    expect(run.getSnapshot().status).toBe('starting');
    expect(world.stored('runs')?.runs.length).toBe(1);
    await world.clock.advance(1_100);
    expect(await run.done).toMatchObject({ status: 'failed', error: { code: 'start-unknown' } });
    expect(world.storage.map.size).toBe(0);
  });

  it('does not count on the connection that the start was sent on, nor after an idle swap', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    await world.clock.advance(900_000);
    expect(world.network.sockets.length).toBeGreaterThan(3);
    expect(run.getSnapshot().status).toBe('starting');
  });

  it('counts open connections alone', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    await world.reconnect();
    await world.clock.advance(20_000);
    world.network.mode = 'down';
    world.socket.end();
    await world.clock.advance(600_000);
    expect(run.getSnapshot().status).toBe('starting');
    world.network.mode = 'up';
    world.client.reconnect();
    await world.clock.advance(39_000);
    expect(run.getSnapshot().status).toBe('starting');
    await world.clock.advance(1_100);
    expect(run.getSnapshot()).toMatchObject({ error: { code: 'start-unknown' } });
  });

  it('does not count the time that the page slept', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    await world.reconnect();
    await world.clock.sleep(600_000);
    expect(run.getSnapshot().status).toBe('starting');
    // The sleep is noticed by its dead connection first.
    await world.reconnect();
    await world.clock.advance(50_000);
    expect(run.getSnapshot().status).toBe('starting');
    await world.clock.advance(20_000);
    expect(run.getSnapshot()).toMatchObject({ error: { code: 'start-unknown' } });
  });

  it('does not end because the clock was set forward while the connection was open', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    await world.reconnect();
    world.clock.shiftWall(24 * 3_600_000);
    await world.reconnect();
    await world.clock.advance(50_000);
    expect(run.getSnapshot().status).toBe('starting');
  });

  it('is an option', async () => {
    const world = createWorld();
    const run = world.runs({ startTimeout: 3_000 }).start({}, { runId: 'a' });
    await world.settle();
    await world.reconnect();
    await world.clock.advance(2_900);
    expect(run.getSnapshot().status).toBe('starting');
    await world.clock.advance(200);
    expect(run.getSnapshot().error?.code).toBe('start-unknown');
  });

  it('sends nothing of that run afterwards, whatever reconnects', async () => {
    const world = createWorld();
    const runs = world.runs({ startTimeout: 1_000 });
    const run = runs.start({}, { runId: 'a' });
    const release = world.client.hold();
    await world.settle();
    await world.reconnect();
    await world.clock.advance(1_100);
    expect(run.getSnapshot().status).toBe('failed');
    await world.reconnect();
    await world.clock.advance(60_000);
    expect(world.socket.sent).toEqual([]);
    release();
  });

  it('is taken back by a late event: the run streams, is remembered, and ends', async () => {
    const world = createWorld();
    const runs = world.runs({ startTimeout: 1_000, storage: world.storage.page() });
    const run = runs.start({}, { runId: 'a' });
    const seen: string[] = [];
    run.on('event', ({ type }) => seen.push(type));
    world.client.hold();
    await world.settle();
    await world.reconnect();
    await world.clock.advance(1_100);
    const first = run.done;
    expect(await first).toMatchObject({ status: 'failed' });
    const log = createLog('a');
    world.socket.receive(...log.frames(started('a'), says('x')));
    expect(run.getSnapshot()).toEqual({ id: 'a', status: 'streaming', offset: 1 });
    expect(run.done).not.toBe(first);
    expect(world.stored('runs')?.runs).toMatchObject([{ runId: 'a' }]);
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    world.socket.receive(...log.frames(finished('a')));
    await world.clock.advance(1_000);
    expect(await run.done).toMatchObject({ status: 'finished', offset: 2 });
    expect(seen).toEqual(['RUN_STARTED', 'TEXT_MESSAGE_CHUNK', 'RUN_FINISHED']);
    expect(world.storage.map.size).toBe(0);
  });
});

describe('restart', () => {
  it('sends an unconfirmed start again at once, with the same id and input', async () => {
    const world = createWorld();
    world.runs({ restart: true }).start({ n: 1 }, { runId: 'a' });
    await world.settle();
    await world.reconnect();
    await world.reconnect();
    const run = { type: 'run', runId: 'a', input: { n: 1 } };
    expect(sent(world)).toEqual([[run], [run], [run]]);
  });

  it('resumes once the start is confirmed by an event', async () => {
    const world = createWorld();
    world.runs({ restart: true }).start({}, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a')));
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 0 }]);
  });

  it('never ends with start-unknown', async () => {
    const world = createWorld();
    const run = world.runs({ restart: true, startTimeout: 1_000 }).start({}, { runId: 'a' });
    await world.settle();
    await world.reconnect();
    await world.clock.advance(200_000);
    expect(run.getSnapshot().status).toBe('starting');
  });

  it('does not start again what was cancelled', async () => {
    const world = createWorld();
    const run = world.runs({ restart: true }).start({}, { runId: 'a' });
    await world.settle();
    run.cancel();
    await world.reconnect();
    expect(world.socket.sent.map(({ type }) => type)).toEqual(['resume', 'cancel']);
  });
});

describe('orphanTimeout', () => {
  it('ends a followed run that nothing comes of after 60 s of open connection', async () => {
    const world = createWorld();
    const run = storing(world).follow('a');
    await world.settle();
    await world.clock.advance(59_000);
    expect(run.getSnapshot().status).not.toBe('failed');
    await world.clock.advance(1_100);
    expect(await run.done).toMatchObject({ status: 'failed', error: { code: 'run-unreachable' } });
    expect(world.storage.map.size).toBe(0);
  });

  it('does not end a run that was heard from', async () => {
    const world = createWorld();
    const run = world.runs().follow('a');
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a')));
    await world.reconnect();
    await world.clock.advance(1_200_000);
    expect(run.getSnapshot().status).toBe('streaming');
  });

  it('is not put off by other runs', async () => {
    const world = createWorld();
    const runs = world.runs();
    const run = runs.follow('a');
    runs.start({}, { runId: 'b' });
    await world.settle();
    const log = createLog('b');
    for (let i = 0; i < 12; i++) {
      world.socket.receive(...log.frames(says('x')));
      await world.clock.advance(5_100);
    }
    expect(run.getSnapshot().error?.code).toBe('run-unreachable');
  });

  it('ends a cancelled run that the server never ends', async () => {
    const world = createWorld();
    const run = storing(world).start({}, { runId: 'a' });
    await world.settle();
    const log = createLog('a');
    world.socket.receive(...log.frames(started('a')));
    run.cancel();
    await world.clock.advance(50_000);
    world.socket.receive(...log.frames(says('x')));
    await world.clock.advance(59_000);
    expect(run.getSnapshot().status).toBe('streaming');
    await world.clock.advance(1_100);
    expect(run.getSnapshot()).toMatchObject({ status: 'cancelled' });
    expect(run.getSnapshot().error).toBeUndefined();
    expect(world.storage.map.size).toBe(0);
  });
});

it('a cancelled run of which nothing comes any more is over 60 s after its cancel', async () => {
  const world = createWorld();
  const run = world.runs().start({}, { runId: 'a' });
  await world.settle();
  world.socket.receive(...createLog('a').frames(started('a')));
  await world.clock.advance(10_000);
  run.cancel();
  await world.clock.advance(59_000);
  expect(run.getSnapshot().status).toBe('streaming');
  await world.clock.advance(2_000);
  expect(run.getSnapshot().status).toBe('cancelled');
});

describe('a cancel', () => {
  async function cancelled() {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    const log = createLog('a');
    world.socket.receive(...log.frames(started('a'), says('one')));
    run.cancel();
    await world.settle();
    const talk = async (seconds: number) => {
      for (let n = 0; n < seconds; n++) {
        world.socket.receive(...log.frames(says('more')));
        await world.clock.advance(1_000);
      }
    };
    return { world, run, talk, log };
  }

  it('that a run talks on behind for 5 s is sent once more, on another connection', async () => {
    const { world, talk } = await cancelled();
    await talk(4);
    expect(world.network.sockets.length).toBe(1);
    await talk(2);
    expect(world.network.sockets.length).toBe(2);
    expect(world.socket.sent).toMatchObject([{ type: 'resume' }, { type: 'cancel', runId: 'a' }]);
    await talk(60);
    expect(world.network.sockets.length).toBe(2);
  });

  it('that is heeded, or followed by silence, leaves the connection alone', async () => {
    const heeded = await cancelled();
    await heeded.talk(2);
    heeded.world.socket.receive(...heeded.log.frames(finished('a')));
    await heeded.world.clock.advance(10_000);
    expect(heeded.run.getSnapshot().status).toBe('finished');
    expect(heeded.world.network.sockets.length).toBe(1);
    const silent = await cancelled();
    await silent.world.clock.advance(10_000);
    expect(silent.world.network.sockets.length).toBe(1);
  });
});

describe('silenceTimeout', () => {
  it('is off by default', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a')));
    await world.clock.advance(24 * 3_600_000);
    expect(run.getSnapshot().status).toBe('streaming');
  });

  it('ends a run that was heard from with run-lost', async () => {
    const world = createWorld();
    const runs = world.runs({ silenceTimeout: 120_000 });
    const run = runs.start({}, { runId: 'a' });
    await world.settle();
    const log = createLog('a');
    world.socket.receive(...log.frames(started('a')));
    await world.clock.advance(100_000);
    world.socket.receive(...log.frames(says('x')));
    await world.clock.advance(119_000);
    expect(run.getSnapshot().status).toBe('streaming');
    await world.clock.advance(1_100);
    expect(run.getSnapshot()).toMatchObject({ status: 'failed', error: { code: 'run-lost' } });
  });

  it('is not held off by a known event that an overlapping resume brings again', async () => {
    const world = createWorld();
    const runs = world.runs({ silenceTimeout: 120_000, overlap: true });
    const run = runs.start({}, { runId: 'a' });
    await world.settle();
    const [first, second] = createLog('a').frames(started('a'), says('x'));
    world.socket.receive(first, second);
    for (let n = 0; n < 5; n++) {
      await world.clock.advance(20_000);
      await world.reconnect();
      world.socket.receive(second);
    }
    expect(run.getSnapshot().status).toBe('streaming');
    await world.clock.advance(30_000);
    expect(run.getSnapshot()).toMatchObject({ status: 'failed', error: { code: 'run-lost' } });
  });

  it('counts open connections alone', async () => {
    const world = createWorld();
    const run = world.runs({ silenceTimeout: 120_000 }).start({}, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a')));
    world.network.mode = 'down';
    world.socket.end();
    await world.clock.advance(600_000);
    expect(run.getSnapshot().status).toBe('streaming');
  });
});

describe('idleTimeout', () => {
  it('replaces the connection of a streaming run after 30 s of silence and resumes', async () => {
    const world = createWorld();
    world.runs().start({}, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a')));
    await world.clock.advance(29_000);
    expect(world.network.sockets.length).toBe(1);
    await world.clock.advance(1_100);
    expect(world.network.sockets.length).toBe(2);
    expect(world.network.sockets[0]?.stopped).toBe(true);
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 0 }]);
  });

  it('watches a run that is followed on a connection that is open already', async () => {
    const world = createWorld();
    world.client.hold();
    await world.settle();
    world.runs().follow('a');
    world.socket.receive(...createLog('a').frames(started('a')));
    await world.clock.advance(30_100);
    expect(world.network.sockets.length).toBe(2);
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 0 }]);
  });

  it('doubles up to 5 min while it stays quiet, and falls back with any frame', async () => {
    const world = createWorld();
    world.runs().start({}, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a')));
    const waits: number[] = [];
    for (let i = 0; i < 6; i++) {
      const { length } = world.network.sockets;
      const from = world.clock.now();
      while (world.network.sockets.length === length) await world.clock.advance(1_000);
      waits.push(Math.round((world.clock.now() - from) / 10_000) * 10);
    }
    expect(waits).toEqual([30, 60, 120, 240, 300, 300]);
    world.socket.receive({ anything: true });
    const { length } = world.network.sockets;
    await world.clock.advance(31_000);
    expect(world.network.sockets.length).toBe(length + 1);
  });

  it('leaves a connection without a streaming run alone', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    world.client.hold();
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a'), finished('a')));
    await world.clock.advance(1_000);
    await run.done;
    await world.clock.advance(3_600_000);
    expect(world.network.sockets.length).toBe(1);
  });

  it.each([
    [10_000, 20_000],
    [20_000, 10_000],
  ])('is an option, and the shortest one counts: of %i and %i ms', async (one, other) => {
    const world = createWorld();
    world.runs({ idleTimeout: one }).start({}, { runId: 'a' });
    world.runs({ idleTimeout: other }).start({}, { runId: 'b' });
    await world.settle();
    await world.clock.advance(9_500);
    expect(world.network.sockets.length).toBe(1);
    await world.clock.advance(1_000);
    expect(world.network.sockets.length).toBe(2);
  });

  it('rests while the caller has a heartbeat of its own', async () => {
    const world = createWorld({
      client: { heartbeat: { interval: 20_000, message: { beat: 1 } } },
    });
    world.runs().start({}, { runId: 'a' });
    await world.settle();
    for (let i = 0; i < 20; i++) {
      await world.clock.advance(10_000);
      world.socket.receive({ ok: true });
    }
    expect(world.network.sockets.length).toBe(1);
  });
});

describe('the end of a run of a plain server', () => {
  it('comes 1 s after the last terminal', async () => {
    const world = createWorld();
    const run = storing(world).start({}, { runId: 'a' });
    const ends: unknown[] = [];
    run.on('end', (end) => ends.push(end));
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a'), finished('a')));
    await world.clock.advance(900);
    expect(ends).toEqual([]);
    expect(world.stored('runs')?.runs.length).toBe(1);
    await world.clock.advance(200);
    expect(ends).toEqual([{ id: 'a', status: 'finished', offset: 1 }]);
    expect(world.storage.map.size).toBe(0);
  });

  it('waits for a run that starts again behind a terminal', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    const ends: unknown[] = [];
    run.on('end', (end) => ends.push(end.status));
    await world.settle();
    const log = createLog('a');
    world.socket.receive(...log.frames(started('a'), finished('a')));
    await world.clock.advance(900);
    world.socket.receive(...log.frames(started('a')));
    await world.clock.advance(20_000);
    expect(ends).toEqual([]);
    world.socket.receive(...log.frames(says('x'), finished('a')));
    await world.clock.advance(1_000);
    expect(ends).toEqual(['finished']);
  });

  it('is not told by a terminal that the run has begun again behind, also over a drop', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    const log = createLog('a');
    world.socket.receive(...log.frames(started('a'), finished('a'), started('a')));
    await world.reconnect();
    await world.clock.advance(20_000);
    expect(run.getSnapshot().status).toBe('streaming');
    world.client.close();
    expect(run.getSnapshot()).toMatchObject({ status: 'failed', error: { code: 'closed' } });
  });

  it('counts open connections alone: a drop leaves time for what follows a terminal', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    const log = createLog('a');
    // History that the server replays ahead of the run itself.
    world.socket.receive(...log.frames(started('old'), finished('old')));
    world.network.mode = 'down';
    world.socket.end();
    await world.clock.advance(5_000);
    expect(run.getSnapshot().status).toBe('streaming');
    world.network.mode = 'up';
    world.client.reconnect();
    await world.settle();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    world.socket.receive(...log.frames(started('a'), says('x'), finished('a')));
    await world.clock.advance(1_000);
    expect(await run.done).toMatchObject({ status: 'finished', offset: 4 });
  });

  it('comes 1 s after the next connection where nothing follows', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a'), finished('a')));
    await world.reconnect();
    await world.clock.advance(1_000);
    expect(run.getSnapshot().status).toBe('finished');
  });

  it('takes later events of the run within that second', async () => {
    const world = createWorld();
    const run = world.runs().start({}, { runId: 'a' });
    const seen: string[] = [];
    run.on('event', ({ type }) => seen.push(type));
    await world.settle();
    const log = createLog('a');
    world.socket.receive(...log.frames(started('a'), finished('a'), { type: 'CUSTOM' }));
    await world.clock.advance(1_000);
    world.socket.receive(...log.frames({ type: 'RAW' }));
    expect(seen).toEqual(['RUN_STARTED', 'RUN_FINISHED', 'CUSTOM']);
  });
});

describe('the write before the start', () => {
  it('comes first with synchronous storage', async () => {
    const order: string[] = [];
    const world = createWorld({
      client: {
        inspect(record) {
          if (record.type === 'frame') order.push(record.direction);
        },
      },
    });
    const bytes = world.storage.page();
    const runs = world.runs({
      storage: {
        ...bytes,
        setItem(key, value) {
          order.push('write');
          return bytes.setItem(key, value);
        },
      },
      run() {
        order.push('encode');
        return {} as never;
      },
    });
    world.client.hold();
    await world.settle();
    runs.start({}, { runId: 'a' });
    expect(order).toEqual(['encode', 'write', 'out']);
  });

  it('is waited for with asynchronous storage', async () => {
    const world = createWorld();
    let written = () => {};
    const runs = world.runs({
      storage: {
        getItem: async () => null,
        setItem: () => new Promise<void>((resolve) => (written = resolve)),
        removeItem: async () => {},
      },
    });
    runs.start({}, { runId: 'a' });
    await world.clock.advance(100);
    expect(world.socket.sent).toEqual([]);
    written();
    await world.settle();
    expect(world.socket.sent.length).toBe(1);
    await world.clock.advance(1_000);
    expect(world.socket.sent.length).toBe(1);
  });

  it('is not waited for longer than 250 ms', async () => {
    const world = createWorld();
    const never = new Promise<never>(() => {});
    const runs = world.runs({
      storage: { getItem: async () => null, setItem: () => never, removeItem: () => never },
    });
    runs.start({}, { runId: 'a' });
    await world.clock.advance(240);
    expect(world.socket.sent).toEqual([]);
    await world.clock.advance(20);
    expect(world.socket.sent.length).toBe(1);
  });

  /** A run whose record is being written. */
  async function writing() {
    const world = createWorld();
    let written = () => {};
    const { map } = world.storage;
    const runs = world.runs({
      storage: {
        getItem: async (key) => map.get(key) ?? null,
        setItem: (key, value) =>
          new Promise<void>((resolve) => {
            written = () => {
              map.set(key, value);
              resolve();
            };
          }),
        removeItem: async (key) => void map.delete(key),
      },
    });
    const run = runs.start({}, { runId: 'a' });
    await world.clock.advance(50);
    return { world, run, map, written: () => written() };
  }

  it('does not send what was cancelled while it was written, and leaves nothing behind', async () => {
    const { world, run, map, written } = await writing();
    run.cancel();
    written();
    await world.clock.advance(1_000);
    expect(world.network.sockets[0]?.sent).toEqual([]);
    expect(map.size).toBe(0);
  });

  it('leaves nothing behind where the connection went meanwhile, and comes again with the next', async () => {
    const { world, map, written } = await writing();
    world.network.mode = 'hold';
    world.socket.end();
    written();
    await world.clock.advance(1_000);
    expect(map.size).toBe(0);
    world.socket.open();
    await world.clock.advance(50);
    expect(world.socket.sent).toEqual([]);
    written();
    await world.settle();
    expect(world.socket.sent).toMatchObject([{ type: 'run', runId: 'a' }]);
    expect(map.size).toBe(1);
  });
});
