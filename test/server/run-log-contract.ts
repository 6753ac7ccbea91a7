import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LoggedEvent, RunLog, RunLogControl } from '../../src/server/run-log.ts';
import { until } from '../helpers/until.ts';

/** Where the logs of a test come from: two on one store where processes can share it, else one twice. */
export interface RunLogSetUp {
  open(): Promise<RunLog>;
  close(): Promise<void>;
}

const never = () => new AbortController().signal;

/** What a follower has read so far. */
export function follow(
  log: RunLog,
  runId: string,
  after?: number,
  signal: AbortSignal = never(),
  epoch?: string,
): { readonly events: LoggedEvent[]; readonly done: Promise<unknown> } {
  const events: LoggedEvent[] = [];
  const read = async () => {
    for await (const batch of log.read(runId, after, signal, epoch)) events.push(...batch);
  };
  // The error, where there is one: a test waits for it.
  const done = read().then(
    () => 'ended',
    (error) => error,
  );
  return { events, done };
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => ({ type: 'CUSTOM', value: from + index }));
const values = (events: readonly LoggedEvent[]) =>
  events.map(({ offset, event }) => [offset, (event as { value: number }).value]);
const pairs = (from: number, to: number) => numbers(from, to).map(({ value }) => [value, value]);

/** Ids that have broken something somewhere. */
export const hostileIds: readonly string[] = [
  '__proto__',
  'constructor',
  '}',
  '{}',
  '}{',
  'a{b}c',
  '%7b',
  '*',
  ' ',
  'a\nb\r\n',
  'ü🙂',
  '\ud800',
  '\udc00x',
  'x'.repeat(1_000),
];

/** Register the tests that every RunLog passes. */
export function describeRunLog(name: string, setUp: () => Promise<RunLogSetUp>): void {
  describe(`${name} as a RunLog`, () => {
    let source: RunLogSetUp;
    let log: RunLog;
    let other: RunLog;

    beforeEach(async () => {
      source = await setUp();
      log = await source.open();
      other = await source.open();
    });
    afterEach(() => source.close());

    it('lets one of many callers create a run', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 ? log : other).create('a', {})),
      );
      expect(answers.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(answers.map(({ epoch }) => epoch)).size).toBe(1);
    });

    it('creates no run a second time, running or ended', async () => {
      const { epoch } = await log.create('a', {});
      await expect(other.create('a', {})).resolves.toMatchObject({ epoch, created: false });
      await log.end('a', epoch, 'finished');
      await expect(other.create('a', {})).resolves.toMatchObject({ epoch, created: false });
    });

    it('numbers events from 0 without holes', async () => {
      const { epoch } = await log.create('a', {});
      expect(await log.append('a', epoch, numbers(0, 3))).toBe(3);
      expect(await log.append('a', epoch, numbers(3, 4))).toBe(4);
      expect(await log.append('a', epoch, [])).toBe(4);
      await log.end('a', epoch, 'finished');
      const { events, done } = follow(other, 'a');
      expect(await done).toBe('ended');
      expect(values(events)).toEqual(pairs(0, 4));
    });

    it('writes in the order of the calls, awaited or not', async () => {
      const { epoch } = await log.create('a', {});
      const nexts = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          log.append('a', epoch, numbers(index * 3, index * 3 + 3)),
        ),
      );
      expect(nexts).toEqual(Array.from({ length: 50 }, (_, index) => index * 3 + 3));
      await log.end('a', epoch, 'finished');
      const { events, done } = follow(other, 'a');
      await done;
      expect(values(events)).toEqual(pairs(0, 150));
    });

    it('ends behind what was appended before, awaited or not', async () => {
      const { epoch } = await log.create('a', {});
      const appended = log.append('a', epoch, numbers(0, 10));
      await log.end('a', epoch, 'finished');
      expect(await appended).toBe(10);
      expect(await log.head('a')).toMatchObject({ next: 10, status: 'finished' });
    });

    it('reads what is written, and then each event as it is', async () => {
      const { epoch } = await log.create('a', {});
      await log.append('a', epoch, numbers(0, 5));
      const { events, done } = follow(other, 'a');
      await until(() => events.length === 5);
      await log.append('a', epoch, numbers(5, 6));
      await until(() => events.length === 6);
      await log.append('a', epoch, numbers(6, 8));
      await log.end('a', epoch, 'finished');
      expect(await done).toBe('ended');
      expect(values(events)).toEqual(pairs(0, 8));
    });

    it('waits for the first event of a run', async () => {
      const { epoch } = await log.create('a', {});
      const first = follow(log, 'a');
      const second = follow(other, 'a', undefined, never(), epoch);
      await log.append('a', epoch, numbers(0, 1));
      await until(() => first.events.length === 1 && second.events.length === 1);
      await log.end('a', epoch, 'error');
      expect(await Promise.all([first.done, second.done])).toEqual(['ended', 'ended']);
    });

    it('reads behind an offset', async () => {
      const { epoch } = await log.create('a', {});
      await log.append('a', epoch, numbers(0, 10));
      const live = follow(other, 'a', 6);
      const ahead = follow(other, 'a', 9);
      await until(() => live.events.length === 3);
      await log.append('a', epoch, numbers(10, 12));
      await log.end('a', epoch, 'finished');
      await Promise.all([live.done, ahead.done]);
      expect(values(live.events)).toEqual(pairs(7, 12));
      expect(values(ahead.events)).toEqual(pairs(10, 12));
    });

    it('gives every follower all events while they are written', async () => {
      const { epoch } = await log.create('a', {});
      const followers: ReturnType<typeof follow>[] = [];
      for (let index = 0; index < 100; index++) {
        followers.push(follow(index % 2 ? log : other, 'a'));
        await log.append('a', epoch, numbers(index * 20, index * 20 + 20));
      }
      await log.end('a', epoch, 'finished');
      const all = JSON.stringify(pairs(0, 2_000));
      for (const { events, done } of followers) {
        expect(await done).toBe('ended');
        expect(JSON.stringify(values(events))).toBe(all);
      }
    });

    it('reads a long log in batches', async () => {
      const { epoch } = await log.create('a', {});
      const text = 'x'.repeat(2_000);
      await log.append(
        'a',
        epoch,
        numbers(0, 3_000).map((event) => ({ ...event, text })),
      );
      await log.end('a', epoch, 'finished');
      const events: LoggedEvent[] = [];
      let largest = 0;
      for await (const batch of other.read('a', undefined, never())) {
        largest = Math.max(largest, batch.length);
        events.push(...batch);
      }
      expect(values(events)).toEqual(pairs(0, 3_000));
      expect(largest).toBeLessThan(1_500);
    });

    it('stops reading when its signal aborts', async () => {
      const { epoch } = await log.create('a', {});
      const stop = new AbortController();
      const { events, done } = follow(other, 'a', undefined, stop.signal);
      await log.append('a', epoch, numbers(0, 1));
      await until(() => events.length === 1);
      stop.abort();
      expect(await done).toBe('ended');
      const late = follow(other, 'a', undefined, stop.signal);
      expect(await late.done).toBe('ended');
      expect(late.events).toEqual([]);
    });

    it('goes on for others when a follower leaves', async () => {
      const { epoch } = await log.create('a', {});
      await log.append('a', epoch, numbers(0, 1));
      const stays = follow(other, 'a');
      for await (const _ of other.read('a', undefined, never())) break;
      await log.append('a', epoch, numbers(1, 3));
      await until(() => stays.events.length === 3);
      const again = follow(other, 'a', 1);
      await log.end('a', epoch, 'finished');
      await Promise.all([stays.done, again.done]);
      expect(values(again.events)).toEqual(pairs(2, 3));
    });

    it('throws run-lost to who reads a run that is not known, or another epoch', async () => {
      expect(await follow(log, 'nobody').done).toMatchObject({ code: 'run-lost' });
      const { epoch } = await log.create('a', {});
      await log.append('a', epoch, numbers(0, 1));
      const { events, done } = follow(other, 'a', undefined, never(), `${epoch}x`);
      expect(await done).toMatchObject({ code: 'run-lost' });
      expect(events).toEqual([]);
    });

    it('takes no events for another epoch, for a run that has ended, or for none', async () => {
      const { epoch } = await log.create('a', {});
      const lost = { code: 'run-lost' };
      await expect(log.append('a', `${epoch}x`, numbers(0, 1))).rejects.toMatchObject(lost);
      await expect(log.append('nobody', epoch, numbers(0, 1))).rejects.toMatchObject(lost);
      expect(await log.append('a', epoch, numbers(0, 1))).toBe(1);
      await log.end('a', epoch, 'finished');
      await expect(log.append('a', epoch, numbers(1, 2))).rejects.toMatchObject(lost);
      expect(await log.head('a')).toMatchObject({ next: 1 });
    });

    it('ends a run once, and only for its epoch', async () => {
      const { epoch } = await log.create('a', {});
      await other.end('a', `${epoch}x`, 'lost');
      await other.end('nobody', epoch, 'lost');
      expect(await log.head('a')).toMatchObject({ status: 'running' });
      await log.end('a', epoch, 'cancelled');
      await other.end('a', epoch, 'error');
      expect(await log.head('a')).toMatchObject({ status: 'cancelled' });
    });

    it('tells where a log stands', async () => {
      expect(await log.head('a')).toEqual({ unknown: 'never' });
      const meta = { threadId: 't "1"', principal: '__proto__' };
      const { epoch } = await log.create('a', meta);
      const head = { epoch, from: 0, next: 0, status: 'running', meta };
      expect(await other.head('a')).toEqual(head);
      await log.append('a', epoch, numbers(0, 7));
      expect(await other.head('a')).toEqual({ ...head, next: 7 });
      await log.end('a', epoch, 'error');
      expect(await other.head('a')).toEqual({ ...head, next: 7, status: 'error' });
    });

    it('gives back the events as they were', async () => {
      const written = [
        { type: 'A', text: 'ü🙂\0\ud800 "\\"', nested: { list: [1, 2.5, null, true, ''] } },
        JSON.parse('{"__proto__":{"polluted":1},"constructor":2}'),
        { big: 2 ** 53, text: 'x'.repeat(300_000) },
      ];
      const { epoch } = await log.create('a', {});
      await log.append('a', epoch, written);
      const json = ['{"type": "B",  "spaced": 1}'];
      await log.append(
        'a',
        epoch,
        json.map((text) => JSON.parse(text)),
        json,
      );
      await log.end('a', epoch, 'finished');
      const { events, done } = follow(other, 'a');
      await done;
      const all = [...written, JSON.parse(json[0]!)];
      expect(events.map(({ event }) => event)).toEqual(all);
      expect(events.map(({ event }) => JSON.stringify(event))).toEqual(
        all.map((event) => JSON.stringify(event)),
      );
      for (const { event, json: text } of events) {
        if (text !== undefined) expect(JSON.parse(text)).toEqual(event);
      }
    });

    it('keeps runs with any id apart', async () => {
      const epochs = await Promise.all(
        hostileIds.map(async (id, index) => {
          const { epoch, created } = await log.create(id, { threadId: id.slice(0, 8) });
          expect(created).toBe(true);
          await log.append(id, epoch, [{ value: index }]);
          return epoch;
        }),
      );
      expect(new Set(epochs).size).toBe(hostileIds.length);
      for (const [index, id] of hostileIds.entries()) {
        const { events, done } = follow(other, id);
        await log.end(id, epochs[index]!, 'finished');
        expect(await done).toBe('ended');
        expect(values(events)).toEqual([[0, index]]);
      }
    });

    it('leases a run to its producer until it ends', async () => {
      const { epoch } = await log.create('a', {});
      expect(await log.lease('a', epoch, 5_000)).toBe(true);
      expect(await log.lease('a', `${epoch}x`, 5_000)).toBe(false);
      expect(await log.lease('nobody', epoch, 5_000)).toBe(false);
      await log.end('a', epoch, 'finished');
      expect(await log.lease('a', epoch, 5_000)).toBe(false);
    });

    it('tells every listener of a run, until it stops', async () => {
      const heard: Record<string, [string, RunLogControl['type']][]> = { here: [], there: [] };
      const { epoch } = await log.create('__proto__', {});
      const stop = log.onControl((runId, { type }) => heard.here?.push([runId, type]));
      other.onControl((runId, { type }) => heard.there?.push([runId, type]));
      // The first one may come before it is listened to: who asks again is heard.
      await until(() => {
        void other.control('first', { type: 'followers' });
        return heard.here?.[0] !== undefined && heard.there?.[0] !== undefined;
      });
      const cancelled = ([runId, type]: [string, string]) =>
        runId === '__proto__' && type === 'cancel';
      await other.control('__proto__', { type: 'cancel' });
      await until(() => Object.values(heard).every((list) => list.some(cancelled)));
      stop();
      const count = heard.here?.length;
      await log.control('last', { type: 'followed' });
      await until(() => heard.there?.at(-1)?.[0] === 'last');
      expect(heard.here).toHaveLength(count!);
      await log.end('__proto__', epoch, 'cancelled');
    });

    it('remembers a cancel that comes before its run', async () => {
      await other.control('a', { type: 'cancel' });
      expect(await log.create('a', {})).toMatchObject({ created: true, cancelled: true });
      expect((await log.create('b', {})).cancelled).toBeFalsy();
      await other.control('c', { type: 'followers' });
      expect((await log.create('c', {})).cancelled).toBeFalsy();
    });

    it('rejects an event that is no JSON, and writes nothing of the call', async () => {
      const { epoch } = await log.create('a', {});
      const cyclic: Record<string, unknown> = {};
      cyclic.self = cyclic;
      await expect(log.append('a', epoch, [...numbers(0, 2), cyclic])).rejects.toThrow();
      await expect(log.append('a', epoch, [10n])).rejects.toThrow();
      expect(await log.append('a', epoch, numbers(0, 1))).toBe(1);
    });
  });
}
