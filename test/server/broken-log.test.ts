import { describe, expect, it } from 'vitest';
import { RunSocketError } from '../../src/internal/errors.ts';
import { createMemoryRunLog, type MemoryRunLog } from '../../src/server/memory-run-log.ts';
import type { RunLog } from '../../src/server/run-log.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { ask, createPuppet, later, says, serveHere } from './set-up.ts';

/** A server on a memory log, some of whose functions a test replaces. */
function start(change: (log: MemoryRunLog) => Partial<RunLog>) {
  const clock = createVirtualClock();
  const puppet = createPuppet();
  const memory = createMemoryRunLog({}, clock.environment);
  const log: RunLog = { ...memory, ...change(memory) };
  const errors: unknown[] = [];
  const options = { run: puppet.run, log, onError: (error: unknown) => errors.push(error) };
  const here = serveHere(options, clock);
  later(here.close);
  return { clock, puppet, memory, log, errors, options, ...here };
}

const down = new Error('The store is down.');

describe('a store that is away for a while', () => {
  it.each([
    ['before it wrote', false],
    ['after it wrote', true],
  ])('loses and doubles nothing: it fails %s', async (_, writes) => {
    let isDown = false;
    const { clock, puppet, dial, errors } = start((memory) => ({
      async append(...all) {
        if (isDown && !writes) throw down;
        const next = await memory.append(...all);
        if (isDown) throw down;
        return next;
      },
      head: async (runId) => {
        if (isDown) throw down;
        return memory.head(runId);
      },
    }));
    const line = dial();
    line.send(ask());
    await clock.flush();
    isDown = true;
    puppet.say('a', 'one', 'two');
    await clock.advance(10_000);
    puppet.say('a', 'three');
    await clock.advance(1_000);
    isDown = false;
    await clock.advance(2_000);
    puppet.end('a');
    await clock.flush();
    expect(
      line
        .events()
        .map(({ event }) => (event as { delta?: string }).delta)
        .join(''),
    ).toBe('onetwothree');
    expect(line.offsets()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(line.controls('run.end')).toMatchObject([{ status: 'finished' }]);
    expect(errors.length).toBeGreaterThan(5);
    expect(new Set(errors)).toEqual(new Set([down]));
  });

  it('is written to for a minute, and then the run is left to its lease', async () => {
    let isDown = false;
    const { clock, puppet, dial, server, memory } = start((log) => ({
      append: (...all) => (isDown ? Promise.reject(down) : log.append(...all)),
    }));
    const line = dial();
    line.send(ask());
    await clock.flush();
    isDown = true;
    puppet.say('a', 'one');
    await clock.advance(59_000);
    expect(server.getSnapshot().running).toBe(1);
    await clock.advance(5_000);
    expect(server.getSnapshot().running).toBe(0);
    expect(puppet.signals.get('a')?.aborted).toBe(true);
    expect(await memory.head('a')).toMatchObject({ status: 'running', next: 2 });
  });

  it('ends the log when it is back, if the run has ended meanwhile', async () => {
    let isDown = false;
    const { clock, puppet, dial } = start((log) => ({
      end: (...all) => (isDown ? Promise.reject(down) : log.end(...all)),
    }));
    const line = dial();
    line.send(ask());
    await clock.flush();
    isDown = true;
    puppet.end('a');
    await clock.advance(20_000);
    expect(line.controls('run.end')).toEqual([]);
    isDown = false;
    await clock.advance(2_000);
    expect(line.controls('run.end')).toMatchObject([{ status: 'finished' }]);
  });

  it('sends a client that asks for a run away, to ask again', async () => {
    const { clock, dial, errors } = start(() => ({ head: () => Promise.reject(down) }));
    const line = dial();
    line.send({ type: 'resume', runId: 'a' });
    await clock.flush();
    expect([line.closed.code, errors]).toEqual([1013, [down]]);
    expect(line.controls().at(-1)).toMatchObject({ type: 'retry' });
  });

  it('is read again from where a follower stands', async () => {
    let failures = 0;
    const { clock, puppet, dial } = start((memory) => ({
      async *read(...all) {
        let count = 0;
        for await (const batch of memory.read(...all)) {
          yield batch;
          if (++count === 3 && failures++ < 4) throw down;
        }
      },
    }));
    const line = dial();
    line.send(ask());
    for (let n = 0; n < 30; n++) {
      puppet.say('a', `${n}`);
      await clock.advance(500);
    }
    puppet.end('a');
    await clock.advance(1_000);
    expect(failures).toBeGreaterThan(3);
    expect(line.offsets()).toEqual(Array.from({ length: 34 }, (_, index) => index));
  });

  it('whose readers stop early has its end told behind the last event', async () => {
    const { clock, puppet, dial } = start((memory) => ({
      async *read(...all) {
        for await (const batch of memory.read(...all)) return yield batch.slice(0, 2);
      },
    }));
    dial().send(ask());
    puppet.say('a', 'one', 'two', 'three', 'four');
    puppet.end('a');
    await clock.advance(1_000);
    const late = dial();
    late.send({ type: 'resume', runId: 'a' });
    await clock.advance(1_000);
    expect(late.offsets()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(late.messages.at(-1)).toMatchObject({ type: 'run.end', offset: 7 });
  });

  it('that gives more than it was asked for is told from where a follower stands', async () => {
    const { clock, puppet, dial } = start((memory) => ({
      read: (runId, _, signal, epoch) => memory.read(runId, undefined, signal, epoch),
    }));
    dial().send(ask());
    puppet.say('a', 'one', 'two');
    await clock.advance(1_000);
    const late = dial();
    late.send({ type: 'resume', runId: 'a', after: 1 });
    await clock.advance(1_000);
    puppet.end('a');
    await clock.advance(1_000);
    expect(late.offsets()).toEqual([2, 3, 4, 5]);
    expect(late.messages.at(-1)).toMatchObject({ type: 'run.end', offset: 5 });
  });

  it('that cannot be read any more sends the follower away', async () => {
    const { clock, dial } = start(() => ({
      // biome-ignore lint/correctness/useYield: it fails at once.
      async *read() {
        throw down;
      },
    }));
    const line = dial();
    line.send(ask());
    await clock.advance(10_000);
    expect(line.closed.code).toBe(1013);
  });
});

describe('a run that is not this process’s any more', () => {
  it('stops here, and writes nothing more', async () => {
    let isOurs = true;
    const { clock, puppet, dial, server, memory } = start((log) => ({
      lease: async (...all) => isOurs && log.lease(...all),
    }));
    const line = dial();
    line.send(ask());
    await clock.flush();
    isOurs = false;
    await clock.advance(4_000);
    expect(puppet.signals.get('a')?.aborted).toBe(true);
    puppet.say('a', 'never heard');
    await clock.advance(1_000);
    expect(await memory.head('a')).toMatchObject({ next: 2, status: 'running' });
    expect(server.getSnapshot().running).toBe(0);
  });

  it('is ended for its followers by whoever finds its lease run out', async () => {
    const { clock, puppet, dial, memory } = start(() => ({}));
    const line = dial();
    line.send(ask());
    await clock.flush();
    const head = await memory.head('a');
    if ('unknown' in head) throw new Error('no run');
    await memory.append('a', head.epoch, [
      { type: 'RUN_ERROR', message: 'lost', code: 'run-lost' },
    ]);
    await memory.end('a', head.epoch, 'lost');
    puppet.say('a', 'never heard');
    await clock.advance(1_000);
    expect(line.controls('run.end')).toMatchObject([{ status: 'lost', offset: 2 }]);
    expect(line.events().some(says('never heard'))).toBe(false);
  });

  it('keeps its lease as long as its agent is at work', async () => {
    const leases: number[] = [];
    const { clock, puppet, dial } = start((log) => ({
      lease(runId, epoch, ttl) {
        leases.push(ttl);
        return log.lease(runId, epoch, ttl);
      },
    }));
    dial().send(ask());
    await clock.advance(60_000);
    expect(leases.length).toBeGreaterThan(15);
    expect(new Set(leases)).toEqual(new Set([10_000]));
    puppet.end('a');
    await clock.flush();
    const before = leases.length;
    await clock.advance(60_000);
    expect(leases.length).toBe(before);
  });

  it('is looked for in the shared log at once, and every few seconds', async () => {
    let sweeps = 0;
    const { clock } = start(() => ({
      async sweep() {
        sweeps++;
        if (sweeps % 2) throw down;
        return [];
      },
    }));
    expect(sweeps).toBe(1);
    await clock.advance(60_000);
    expect(sweeps).toBeGreaterThan(6);
    expect(sweeps).toBeLessThan(14);
  });
});

describe('a log that is another', () => {
  it('is never spliced: a reader of the old one is told that the run is lost', async () => {
    const { clock, puppet, dial } = start((memory) => ({
      async *read(runId, after, signal, epoch) {
        let count = 0;
        for await (const batch of memory.read(runId, after, signal, epoch)) {
          yield batch;
          if (++count === 2) throw new RunSocketError('run-lost', 'gone');
        }
      },
      head: async (runId) => {
        const head = await memory.head(runId);
        return 'unknown' in head ? head : { ...head, epoch: count++ < 1 ? head.epoch : 'another' };
      },
    }));
    let count = 0;
    const line = dial();
    line.send(ask());
    await clock.flush();
    puppet.say('a', 'one');
    await clock.flush();
    expect(line.controls('run.end')).toEqual([
      { type: 'run.end', runId: 'a', offset: 2, status: 'lost' },
    ]);
  });

  it('is not read on when the old one ends without a word', async () => {
    let isAnother = false;
    const { clock, puppet, dial } = start((memory) => ({
      async *read(...all) {
        for await (const batch of memory.read(...all)) {
          yield batch;
          if (isAnother) return;
        }
      },
      head: async (runId) => {
        const head = await memory.head(runId);
        return 'unknown' in head || !isAnother ? head : { ...head, epoch: 'another', next: 99 };
      },
    }));
    const line = dial();
    line.send(ask());
    await clock.flush();
    isAnother = true;
    puppet.say('a', 'one');
    await clock.flush();
    expect(line.controls('run.end')).toMatchObject([{ offset: 2, status: 'lost' }]);
  });

  it('is not written to by the old producer', async () => {
    let isSwapped = false;
    const { clock, puppet, dial, server } = start((memory) => ({
      append: (...all) => (isSwapped ? Promise.reject(down) : memory.append(...all)),
      head: async (runId) => {
        const head = await memory.head(runId);
        return isSwapped && !('unknown' in head) ? { ...head, epoch: 'another', next: 0 } : head;
      },
    }));
    dial().send(ask());
    await clock.flush();
    isSwapped = true;
    puppet.say('a', 'one');
    await clock.advance(100);
    expect(server.getSnapshot().running).toBe(0);
  });

  it('that was shortened tells who asks from before its start, and who reads into the hole', async () => {
    const { clock, puppet, dial } = start((memory) => ({
      head: async (runId) => {
        const head = await memory.head(runId);
        return 'unknown' in head ? head : { ...head, from: Math.min(2, head.next) };
      },
      async *read(...all) {
        for await (const batch of memory.read(...all)) {
          for (const one of batch) if (one.offset > 1 && one.offset !== 3) yield [one];
        }
      },
    }));
    dial().send(ask());
    puppet.say('a', 'two', 'three', 'four');
    await clock.advance(1_000);
    const line = dial();
    line.send({ type: 'resume', runId: 'a' });
    await clock.flush();
    expect(line.controls('run.truncated')).toEqual([
      { type: 'run.truncated', runId: 'a', from: 2 },
      { type: 'run.truncated', runId: 'a', from: 4 },
    ]);
    expect(line.offsets()).toEqual([2, 4]);
  });
});

it('starts a run once that two connections ask for before either knows of the other', async () => {
  const { clock, puppet, dial } = start(() => ({}));
  const lines = [dial(), dial()];
  for (const line of lines) line.send(ask());
  puppet.say('a', 'one');
  puppet.end('a');
  await clock.advance(1_000);
  expect(puppet.starts.get('a')).toBe(1);
  for (const line of lines) expect(line.offsets()).toEqual([0, 1, 2, 3, 4]);
});

it('cancels a run whose cancel overtakes the answer to its start', async () => {
  let go = () => {};
  const { clock, puppet, dial, server } = start((memory) => ({
    async create(...all) {
      const made = await memory.create(...all);
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      return made;
    },
  }));
  const line = dial();
  line.send(ask());
  await clock.flush();
  await server.cancel('a');
  go();
  await clock.flush();
  expect(line.controls('run.end')).toMatchObject([{ status: 'cancelled' }]);
  expect(puppet.starts.size).toBe(0);
});

it('disposes of a server whose log cannot be reached', async () => {
  const { clock, dial, server, puppet } = start((memory) => ({
    append: (_, __, events) =>
      JSON.stringify(events).includes('RUN_ERROR')
        ? Promise.reject(down)
        : memory.append(_, __, events),
  }));
  dial().send(ask());
  await clock.flush();
  expect(puppet.starts.size).toBe(1);
  let isDone = false;
  void server.dispose({ grace: 0 }).then(() => {
    isDone = true;
  });
  await clock.advance(5_100);
  expect(isDone).toBe(true);
});
