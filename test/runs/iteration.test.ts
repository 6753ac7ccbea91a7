import { expect, it } from 'vitest';
import { createLog, createWorld, finished, says, started } from '../helpers/world.ts';

async function running() {
  const world = createWorld();
  const runs = world.runs();
  const run = runs.start({}, { runId: 'a' });
  await world.settle();
  return { world, runs, run, log: createLog('a') };
}

it('iterates over the events from the next one on, and ends with the run', async () => {
  const { world, run, log } = await running();
  world.socket.receive(...log.frames(started('a')));
  const seen: string[] = [];
  const loop = (async () => {
    for await (const event of run) seen.push(event.type);
  })();
  await world.settle();
  world.socket.receive(...log.frames(says('x'), finished('a')));
  await world.clock.advance(1_000);
  await loop;
  expect(seen).toEqual(['TEXT_MESSAGE_CHUNK', 'RUN_FINISHED']);
});

it('gives every reader every event, however slow it is', async () => {
  const { world, run, log } = await running();
  const read = async () => {
    let count = 0;
    for await (const _ of run) count++;
    return count;
  };
  const readers = [read(), read()];
  await world.settle();
  world.socket.receive(...log.frames(...Array.from({ length: 500 }, () => says('x'))));
  world.socket.receive(...log.frames(finished('a')));
  await world.clock.advance(1_000);
  expect(await Promise.all(readers)).toEqual([501, 501]);
});

it('stops following where the last loop is left, and cancels nothing', async () => {
  const { world, run, log } = await running();
  const loop = (async () => {
    for await (const event of run) return event.type;
    return undefined;
  })();
  await world.settle();
  world.socket.receive(...log.frames(started('a'), says('x')));
  expect(await loop).toBe('RUN_STARTED');
  await world.clock.advance(5_000);
  expect(world.network.sockets.length).toBe(1);
  expect(world.socket.state).toBe('ended');
  expect(world.socket.sent.map(({ type }) => type)).toEqual(['run']);
});

it.each(['the run', 'follow()'])(
  'follows again where %s is iterated after the last loop was left',
  async (what) => {
    const { world, runs, run, log } = await running();
    const leave = (async () => {
      for await (const _ of run) break;
    })();
    world.socket.receive(...log.frames(started('a')));
    await leave;
    await world.clock.advance(5_000);
    expect(world.socket.state).toBe('ended');
    const seen: string[] = [];
    const loop = (async () => {
      for await (const event of what === 'the run' ? run : runs.follow('a')) {
        seen.push(event.type);
        if (event.type === 'RUN_FINISHED') break;
      }
    })();
    // Longer than a connection that nobody wants.
    await world.clock.advance(5_000);
    expect(world.socket.state).toBe('open');
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 0 }]);
    world.socket.receive(...log.frames(says('x'), finished('a')));
    await loop;
    expect(seen).toEqual(['TEXT_MESSAGE_CHUNK', 'RUN_FINISHED']);
  },
);

it('goes on following for the others where one loop is left', async () => {
  const { world, run, log } = await running();
  const seen: string[] = [];
  run.on('event', ({ type }) => seen.push(type));
  const loop = (async () => {
    for await (const _ of run) break;
  })();
  await world.settle();
  world.socket.receive(...log.frames(started('a')));
  await loop;
  world.socket.receive(...log.frames(says('x')));
  expect(seen).toEqual(['RUN_STARTED', 'TEXT_MESSAGE_CHUNK']);
});

it('throws the reason of a run that failed outside its events', async () => {
  const { world, run } = await running();
  const loop = (async () => {
    for await (const _ of run);
  })();
  loop.catch(() => {});
  await world.settle();
  world.socket.receive({ type: 'hello', v: 1, caps: ['unknown'] });
  world.socket.receive({ type: 'run.unknown', runId: 'a', reason: 'forbidden' });
  await expect(loop).rejects.toMatchObject({ code: 'run-forbidden' });
});

it('ends without an error where the events of the run tell of it, or it was cancelled', async () => {
  const one = await running();
  const failed = (async () => {
    for await (const _ of one.run);
    return 'ended';
  })();
  await one.world.settle();
  one.world.socket.receive(...one.log.frames({ type: 'RUN_ERROR', message: 'no' }));
  await one.world.clock.advance(1_000);
  expect(await failed).toBe('ended');
  const two = createWorld();
  const run = two.runs().start({});
  const cancelled = (async () => {
    for await (const _ of run);
    return 'ended';
  })();
  run.cancel();
  expect(await cancelled).toBe('ended');
});

it('of a run that is over ends at once', async () => {
  const { world, run, log } = await running();
  world.socket.receive(...log.frames(started('a'), finished('a')));
  await world.clock.advance(1_000);
  const seen: unknown[] = [];
  for await (const event of run) seen.push(event);
  expect(seen).toEqual([]);
});

it('tells its snapshots: the same object until it changes, and the runs that are under way', async () => {
  const { world, runs, run, log } = await running();
  let calls = 0;
  runs.subscribe(() => calls++);
  const before = run.getSnapshot();
  expect(run.getSnapshot()).toBe(before);
  expect(runs.getSnapshot()).toBe(runs.getSnapshot());
  expect(runs.getSnapshot()).toEqual([before]);
  world.socket.receive(...log.frames(started('a')));
  expect(run.getSnapshot()).not.toBe(before);
  expect(calls).toBeGreaterThan(0);
  world.socket.receive(...log.frames(finished('a')));
  await world.clock.advance(1_000);
  expect(runs.getSnapshot()).toEqual([]);
  expect(runs.get('a')).toBe(run);
  expect(runs.get('b')).toBeUndefined();
});

it('lets listeners throw without harm to the run or to each other', async () => {
  const { world, run, log } = await running();
  const seen: string[] = [];
  for (const type of ['event', 'end'] as const) {
    run.on(type, () => {
      throw new Error('boom');
    });
    run.on(type, () => seen.push(type));
  }
  world.socket.receive(...log.frames(started('a'), finished('a')));
  await world.clock.advance(1_000);
  expect(seen).toEqual(['event', 'event', 'end']);
  expect(world.clock.reports.length).toBe(3);
});

it('returns the run under way where its id is started or followed again', async () => {
  const { world, runs, run } = await running();
  expect(runs.follow('a')).toBe(run);
  expect(runs.start({}, { runId: 'a' })).toBe(run);
  expect(world.socket.sent.length).toBe(1);
});

it('cancels a run through its signal, before and after the start', async () => {
  const world = createWorld();
  const runs = world.runs();
  const before = runs.start({}, { runId: 'a', signal: AbortSignal.abort() });
  const controller = new AbortController();
  runs.start({}, { runId: 'b', signal: controller.signal });
  await world.settle();
  controller.abort();
  expect((await before.done).status).toBe('cancelled');
  expect(world.socket.sent.map(({ type, runId }) => `${type} ${runId}`)).toEqual([
    'run b',
    'cancel b',
  ]);
});

it('sends nothing for a signal that was aborted before the start, on an open connection either', async () => {
  const world = createWorld();
  world.client.hold();
  await world.settle();
  const run = world.runs().start({}, { runId: 'a', signal: AbortSignal.abort() });
  await world.settle();
  expect(world.socket.sent).toEqual([]);
  expect(run.getSnapshot().status).toBe('cancelled');
});

it('disposes at any point without a timer left, and takes the runs up with the next use', async () => {
  const { world, runs, log } = await running();
  world.socket.receive(...log.frames(started('a')));
  runs.dispose();
  runs.dispose();
  await world.clock.advance(2_000);
  expect(world.clock.timers).toBe(0);
  expect(world.socket.state).toBe('ended');
  runs.follow('a');
  await world.settle();
  expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 0 }]);
});
