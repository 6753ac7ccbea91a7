import { afterEach, describe, expect, it } from 'vitest';
import { createMemoryRunLog, memoryRunLog } from '../../src/server/memory-run-log.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { describeRunLog } from './run-log-contract.ts';

describeRunLog('memoryRunLog', async () => {
  const log = memoryRunLog();
  return { open: async () => log, close: async () => log.dispose?.() };
});

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

function open(options: Parameters<typeof createMemoryRunLog>[0] = {}) {
  const clock = createVirtualClock();
  const log = createMemoryRunLog(options, clock.environment);
  cleanUps.push(() => log.dispose?.());
  const finish = async (runId: string, ...events: unknown[]) => {
    const { epoch } = await log.create(runId, {});
    if (events.length) await log.append(runId, epoch, events);
    await log.end(runId, epoch, 'finished');
    return epoch;
  };
  return { clock, log, finish };
}

const read = async (log: ReturnType<typeof open>['log'], runId: string) => {
  const offsets: number[] = [];
  for await (const batch of log.read(runId, undefined, new AbortController().signal)) {
    offsets.push(...batch.map(({ offset }) => offset));
  }
  return offsets;
};

describe('the memory log', () => {
  it('keeps a finished run for 30 minutes, its id for a day more, and no timer after that', async () => {
    const { clock, log, finish } = open();
    await finish('a', { n: 1 });
    await clock.advance(30 * 60_000 - 1);
    expect(await log.head('a')).toMatchObject({ status: 'finished', next: 1 });
    await clock.advance(1);
    expect(await log.head('a')).toEqual({ unknown: 'evicted' });
    await expect(log.create('a', {})).rejects.toMatchObject({ code: 'run-unknown' });
    expect(log.getSnapshot()).toEqual({ runs: 0, tombstones: 1, bytes: 0 });
    await clock.advance(24 * 3_600_000);
    expect(await log.head('a')).toEqual({ unknown: 'never' });
    expect([clock.timers, log.getSnapshot().tombstones]).toEqual([0, 0]);
  });

  it('never lets go of a run under way', async () => {
    const { clock, log } = open({ maxBytes: 10_000 });
    const { epoch } = await log.create('a', {});
    await log.append('a', epoch, [{ n: 1 }]);
    await clock.advance(100 * 3_600_000);
    expect(await log.head('a')).toMatchObject({ status: 'running', next: 1 });
  });

  it('lets the oldest finished runs go where it is full', async () => {
    const { log, finish } = open({ maxBytes: 10_000 });
    for (const id of ['a', 'b', 'c', 'd']) await finish(id, { text: 'x'.repeat(3_000) });
    expect(await log.head('a')).toEqual({ unknown: 'evicted' });
    for (const id of ['b', 'c', 'd']) expect(await log.head(id)).toMatchObject({ next: 1 });
    expect(log.getSnapshot().bytes).toBeLessThanOrEqual(10_000);
  });

  it('refuses what it has no room for, and then takes what closes the run', async () => {
    const { log } = open({ maxBytes: 5_000 });
    const { epoch } = await log.create('a', {});
    await log.append('a', epoch, [{ text: 'x'.repeat(4_000) }]);
    const more = () => log.append('a', epoch, [{ text: 'x'.repeat(4_000) }]);
    await expect(more()).rejects.toMatchObject({ code: 'too-large' });
    expect(await log.append('a', epoch, [{ type: 'RUN_ERROR' }])).toBe(2);
    const huge = log.append('a', epoch, [{ text: 'x'.repeat(70_000) }]);
    await expect(huge).rejects.toMatchObject({ code: 'too-large' });
    expect(await log.head('a')).toMatchObject({ next: 2 });
  });

  it('counts two bytes for each unit of text beyond Latin-1', async () => {
    const { log } = open();
    const { epoch } = await log.create('a', {});
    await log.append('a', epoch, [{ text: 'x'.repeat(1_000) }]);
    const narrow = log.getSnapshot().bytes;
    await log.append('a', epoch, [{ text: '日'.repeat(1_000) }]);
    expect(log.getSnapshot().bytes - narrow).toBeGreaterThan(narrow + 900);
  });

  it('tells a reader whose run it lets go', async () => {
    const { clock, log, finish } = open();
    const { epoch } = await log.create('slow', {});
    await log.append(
      'slow',
      epoch,
      Array.from({ length: 250 }, (_, n) => ({ n })),
    );
    await log.end('slow', epoch, 'finished');
    const reader = log
      .read('slow', undefined, new AbortController().signal)
      [Symbol.asyncIterator]();
    expect((await reader.next()).value).toHaveLength(100);
    await clock.advance(31 * 60_000);
    await expect(reader.next()).rejects.toMatchObject({ code: 'run-lost' });
    await finish('b');
    expect(await read(log, 'b')).toEqual([]);
  });

  it('keeps a cancel that came too early for two minutes', async () => {
    const { clock, log } = open();
    await log.control('a', { type: 'cancel' });
    await log.control('b', { type: 'cancel' });
    await clock.advance(60_000);
    expect(await log.create('a', {})).toMatchObject({ created: true, cancelled: true });
    await clock.advance(60_000);
    expect((await log.create('b', {})).cancelled).toBeUndefined();
  });

  it('gives readers that stand at the same place the same batch', async () => {
    const { log } = open();
    const { epoch } = await log.create('a', {});
    const { signal } = new AbortController();
    const readers = [1, 2, 3].map(() => log.read('a', undefined, signal)[Symbol.asyncIterator]());
    const waiting = readers.map((reader) => reader.next());
    await log.append('a', epoch, [{ n: 1 }, { n: 2 }]);
    const batches = (await Promise.all(waiting)).map(({ value }) => value);
    expect(new Set(batches).size).toBe(1);
    expect(batches[0]?.map((one: { event: unknown }) => one.event)).toEqual([{ n: 1 }, { n: 2 }]);
  });
});
