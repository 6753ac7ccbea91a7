import { describe, expect, it } from 'vitest';
import { createRunsCore } from '../../src/runs/runs.ts';
import { createWorld, type TestEvent, type World } from '../helpers/world.ts';

const at = (offset: unknown, n: unknown = offset) => ({
  runId: 'a',
  offset,
  event: { type: 'CUSTOM', n },
});

/** A run under way, what it hands out, and what is reported. */
async function follow(
  given: { world?: World; offset?: unknown; options?: object } = {},
): Promise<{ world: World; seen: unknown[]; errors: string[]; restarts: () => number }> {
  const world = given.world ?? createWorld();
  const run = world.runs<number>(given.options).start({}, { runId: 'a' });
  const seen: unknown[] = [];
  const errors: string[] = [];
  let restarts = 0;
  run.on('event', (event: TestEvent) => seen.push(event.n));
  run.on('restart', () => restarts++);
  world.client.on('error', ({ code }) => errors.push(code));
  await world.settle();
  return { world, seen, errors, restarts: () => restarts };
}

describe('offsets of a plain server', () => {
  it('at or below the cursor are dropped', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1), at(1), at(0), at(2), at(1), at(2));
    expect(seen).toEqual([0, 1, 2]);
  });

  it('may begin anywhere, and be sparse from the start', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(10), at(20), at(35), at(36), at(90));
    expect(seen).toEqual([10, 20, 35, 36, 90]);
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 90 }]);
  });

  it('may be negative', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(-5), at(-3), at(-4), at(0));
    expect(seen).toEqual([-5, -3, 0]);
  });

  it('may be fractions', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0.5), at(0.25), at(1.5));
    expect(seen).toEqual([0.5, 1.5]);
  });

  for (const [what, offset] of [
    ['beyond 2^53', 2 ** 53 + 2],
    ['true', true],
    ['an object', { a: 1 }],
    ['an array', [1]],
  ] as const) {
    it(`that are ${what} are reported and cost neither the cursor nor the run`, async () => {
      const { world, seen, errors } = await follow();
      world.socket.receive(at(0), at(1), at(offset, 'bad'), at(2));
      expect(seen).toEqual([0, 1, 2]);
      expect(errors).toEqual(['bad-message']);
    });
  }

  it('that cannot be numbers come out of a mapper just the same', async () => {
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, 2n as unknown as number]) {
      const { world, seen, errors } = await follow({
        options: {
          event: (message: { offset: number; event: TestEvent }) => ({
            runId: 'a',
            offset: message.event.n === 'bad' ? bad : message.offset,
            event: message.event,
          }),
        },
      });
      world.socket.receive(at(0), at(1, 'bad'), at(1));
      expect(seen).toEqual([0, 1]);
      expect(errors).toEqual(['bad-message']);
    }
  });

  it('may be strings: each is taken once, and the last one is asked for', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at('x'), at('y'), at('x'), at('b'), at('y'), at('__proto__'), at('a'));
    expect(seen).toEqual(['x', 'y', 'b', '__proto__', 'a']);
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 'a' }]);
    world.socket.receive(at('y'), at('a'), at('z'));
    expect(seen.slice(5)).toEqual(['z']);
  });

  it('may be missing: the event is applied and the cursor stays', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(undefined, 'p'), at(undefined, 'p'), at(1));
    expect(seen).toEqual([0, 'p', 'p', 1]);
    world.socket.receive(at(undefined, 'q'));
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
  });
});

describe('a gap in offsets that were consecutive', () => {
  it('holds back what is behind it for 250 ms, then asks again', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1), at(3), at(4));
    await world.clock.advance(240);
    expect(seen).toEqual([0, 1]);
    expect(world.socket.sent.length).toBe(1);
    await world.clock.advance(20);
    expect(world.socket.sent.slice(1)).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    world.socket.receive(at(2), at(3), at(4), at(5));
    expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
    await world.clock.advance(20_000);
    expect(world.socket.sent.length).toBe(2);
  });

  it('is closed by a late event without asking', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1), at(4), at(3), at(2));
    expect(seen).toEqual([0, 1, 2, 3, 4]);
    await world.clock.advance(5_000);
    expect(world.socket.sent.length).toBe(1);
  });

  it('is accepted the second time', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1), at(3));
    await world.clock.advance(300);
    world.socket.receive(at(3), at(4));
    expect(seen).toEqual([0, 1, 3, 4]);
  });

  it('makes the run sparse for good once it is accepted', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1), at(3));
    await world.clock.advance(300);
    world.socket.receive(at(3), at(7), at(9));
    expect(seen).toEqual([0, 1, 3, 7, 9]);
    await world.clock.advance(1_000);
    expect(world.socket.sent.length).toBe(2);
  });

  it('does not stop the run for ever where the server answers nothing', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1), at(3), at(4));
    await world.clock.advance(10_000);
    expect(world.network.sockets.length).toBe(2);
    world.socket.receive(at(3), at(4));
    await world.clock.advance(20_000);
    expect(seen).toEqual([0, 1, 3, 4]);
    expect(world.network.sockets.length).toBe(2);
  });

  it('is asked for on another connection where this one brings no answer: it may be dead', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1), at(3), at(4));
    await world.clock.advance(5_500);
    expect(seen).toEqual([0, 1]);
    expect(world.network.sockets.length).toBe(2);
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    world.socket.receive(at(2), at(3), at(4));
    await world.clock.advance(20_000);
    expect(seen).toEqual([0, 1, 2, 3, 4]);
    expect(world.network.sockets.length).toBe(2);
  });

  it('is not given up because the page slept while its answer was on the way', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1), at(3));
    await world.clock.advance(300);
    await world.clock.sleep(60_000);
    world.socket.receive(at(2), at(3));
    expect(seen).toEqual([0, 1, 2, 3]);
    expect(world.network.sockets.length).toBe(1);
  });

  it('asks at once when 256 events wait, and never holds more', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1));
    for (let offset = 3; offset < 3 + 255; offset++) world.socket.receive(at(offset));
    expect(world.socket.sent.length).toBe(1);
    world.socket.receive(at(258));
    expect(world.socket.sent.slice(1)).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    for (let offset = 2; offset < 300; offset++) world.socket.receive(at(offset));
    expect(seen).toEqual(Array.from({ length: 300 }, (_, n) => n));
  });

  it('holds the first 256 events behind it, and no more', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1));
    for (let offset = 3; offset < 1_000; offset++) world.socket.receive(at(offset));
    world.socket.receive(at(2));
    expect(seen).toEqual(Array.from({ length: 3 + 256 }, (_, n) => n));
  });

  it('does not become a loss because more events than that are on their way behind it', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1));
    // The server writes on while the question travels.
    for (let offset = 3; offset < 500; offset++) world.socket.receive(at(offset));
    expect(world.socket.sent.slice(1)).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    for (let offset = 2; offset < 500; offset++) world.socket.receive(at(offset));
    expect(seen).toEqual(Array.from({ length: 500 }, (_, n) => n));
  });

  it('loses nothing that was held when the connection drops', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1), at(3), at(4));
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    world.socket.receive(at(2), at(3), at(4), at(5));
    expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('that is met again after a reconnect is asked for again, then accepted', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1));
    await world.reconnect();
    world.socket.receive(at(3), at(4));
    expect(seen).toEqual([0, 1]);
    await world.clock.advance(300);
    expect(world.socket.sent.length).toBe(2);
    world.socket.receive(at(3));
    expect(seen).toEqual([0, 1, 3, 4]);
  });

  it('is over where a listener has the run read from its start: nothing more of what was held is told', async () => {
    const world = createWorld();
    const core = createRunsCore<unknown, TestEvent, unknown, unknown, number>(world.client, {}, {});
    const run = core.start({}, { runId: 'a' });
    const seen: unknown[] = [];
    let isFirst = true;
    run.on('restart', () => seen.splice(0));
    run.on('event', ({ n }) => {
      seen.push(n);
      if (n !== 1 || !isFirst) return;
      isFirst = false;
      core.rewind('a');
    });
    await world.settle();
    world.socket.receive({ type: 'hello', v: 1, caps: ['accepted'] });
    world.socket.receive({ type: 'run.accepted', runId: 'a', epoch: 'e', next: 0 });
    world.socket.receive(at(0), at(2), at(3), at(1));
    expect(seen).toEqual([]);
    await world.settle();
    world.socket.receive(at(0), at(1), at(2), at(3));
    expect(seen).toEqual([0, 1, 2, 3]);
  });

  it('does not hold back what has no offset', async () => {
    const { world, seen } = await follow();
    world.socket.receive(at(0), at(1), at(3), at(undefined, 'p'));
    expect(seen).toEqual([0, 1, 'p']);
  });
});

describe('a mapper', () => {
  const options = {
    event: (message: { n: number; parts?: readonly unknown[]; boom?: boolean }) => {
      if (message.boom) throw new Error('boom');
      if (message.parts) {
        return message.parts.map((n, index) => ({
          runId: 'a',
          ...(index === 0 && { offset: message.n }),
          event: { type: 'CUSTOM', n },
        }));
      }
      return message.n === undefined
        ? null
        : { runId: 'a', offset: message.n, event: { type: 'CUSTOM', n: message.n } };
    },
  };

  it('that makes several events of a frame moves the cursor once', async () => {
    const { world, seen } = await follow({ options });
    world.socket.receive({ n: 0, parts: ['x', 'y'] }, { n: 1 }, { n: 1 }, { n: 2, parts: ['z'] });
    expect(seen).toEqual(['x', 'y', 1, 'z']);
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 2 }]);
    world.socket.receive({ n: 0, parts: ['x', 'y'] }, { n: 2, parts: ['z'] }, { n: 3 });
    expect(seen.slice(4)).toEqual([3]);
  });

  it('takes the last defined offset of a frame for the frame', async () => {
    const event = (message: { offsets: number[] }) =>
      message.offsets.map((offset) => ({
        runId: 'a',
        ...(offset >= 0 && { offset }),
        event: { type: 'CUSTOM', n: offset },
      }));
    const { world, seen } = await follow({ options: { event } });
    world.socket.receive({ offsets: [3, 4, -1] });
    expect(seen).toEqual([3, 4, -1]);
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 4 }]);
  });

  it('that makes an empty list or nothing skips the frame', async () => {
    const { world, seen, errors } = await follow({ options });
    world.socket.receive({ n: 0 }, { parts: [] }, {}, { n: 1 });
    expect(seen).toEqual([0, 1]);
    expect(errors).toEqual([]);
  });

  it('that throws is reported as bad-message and loses only that frame', async () => {
    const { world, seen, errors } = await follow({ options });
    world.socket.receive({ n: 0 }, { boom: true }, { n: 1 });
    expect(seen).toEqual([0, 1]);
    expect(errors).toEqual(['bad-message']);
    expect(world.network.sockets.length).toBe(1);
  });

  it('is told the newest run under way and where it stands', async () => {
    const told: unknown[] = [];
    const world = createWorld();
    const runs = world.runs({
      event(message: { n: number }, context) {
        told.push(context);
        return { runId: context.runId ?? '?', offset: message.n, event: { type: 'CUSTOM' } };
      },
    });
    const a = runs.start({}, { runId: 'a' });
    await world.settle();
    world.socket.receive({ n: 0 }, { n: 1 });
    runs.start({}, { runId: 'b' });
    world.socket.receive({ n: 0 });
    expect(told).toEqual([{ runId: 'a' }, { runId: 'a', offset: 0 }, { runId: 'b' }]);
    expect(a.getSnapshot().offset).toBe(1);
  });

  it('may read other controls than those of protocol v1', async () => {
    const world = createWorld();
    const runs = world.runs({
      control: (message: { over?: string }) =>
        message.over ? { type: 'run.end', runId: message.over, status: 'finished' } : null,
    });
    const run = runs.start({}, { runId: 'a' });
    await world.settle();
    world.socket.receive(at(0), { over: 'a' });
    expect(await run.done).toMatchObject({ status: 'finished' });
  });

  it('that throws in control is reported and stops nothing', async () => {
    const { world, seen, errors } = await follow({
      options: {
        control(message: { boom?: boolean }) {
          if (message.boom) throw new Error('boom');
          return undefined;
        },
      },
    });
    world.socket.receive(at(0), { boom: true }, at(1));
    expect(seen).toEqual([0, 1]);
    expect(errors).toEqual(['bad-message']);
  });
});

describe('overlap', () => {
  const options = { overlap: true };

  it('asks for one event more than it needs and goes on where that is the same', async () => {
    const { world, seen, restarts } = await follow({ options });
    world.socket.receive(at(0), at(1), at(2));
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
    world.socket.receive(at(2), at(3));
    expect(seen).toEqual([0, 1, 2, 3]);
    expect(restarts()).toBe(0);
  });

  it('restarts where the event is another one, and reads the log from its start', async () => {
    const { world, seen, restarts } = await follow({ options });
    world.socket.receive(at(0), at(1), at(2));
    await world.reconnect();
    world.socket.receive(at(2, 'other'));
    expect(restarts()).toBe(1);
    await world.clock.advance(2_000);
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a' }]);
    world.socket.receive(at(0, 'p'), at(1, 'q'), at(2, 'other'));
    expect(seen).toEqual([0, 1, 2, 'p', 'q', 'other']);
  });

  it('restarts where the log is shorter than what was read', async () => {
    const { world, seen, restarts } = await follow({ options });
    world.socket.receive(at(0), at(1), at(2));
    await world.reconnect();
    world.socket.receive(at(3));
    expect(restarts()).toBe(1);
    await world.clock.advance(2_000);
    world.socket.receive(at(0), at(1), at(2), at(3));
    expect(seen.slice(3)).toEqual([0, 1, 2, 3]);
  });

  it('restarts where the same event stands at another place', async () => {
    const { world, restarts } = await follow({ options });
    world.socket.receive(at(0), at(1), at(2, 'same'));
    await world.reconnect();
    world.socket.receive(at(3, 'same'));
    expect(restarts()).toBe(1);
  });

  it('does not care for the order of keys', async () => {
    const { world, restarts } = await follow({ options });
    const one = (event: object) => ({ runId: 'a', offset: 1, event });
    world.socket.receive(at(0), one({ type: 'CUSTOM', value: { x: 1, y: [2, { z: 3, w: 4 }] } }));
    await world.reconnect();
    world.socket.receive(one({ value: { y: [2, { w: 4, z: 3 }], x: 1 }, type: 'CUSTOM' }), at(2));
    expect(restarts()).toBe(0);
  });

  it('is off by default', async () => {
    const { world } = await follow();
    world.socket.receive(at(0), at(1));
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 1 }]);
  });

  it('does not apply without an offset before the last one', async () => {
    const { world } = await follow({ options });
    world.socket.receive(at(0));
    await world.reconnect();
    expect(world.socket.sent).toEqual([{ type: 'resume', runId: 'a', after: 0 }]);
  });
});
