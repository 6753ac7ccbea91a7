import { describe, expect, it } from 'vitest';
import { createRuns } from '../../src/runs/runs.ts';
import { createRandom } from '../helpers/random.ts';
import { type CutKind, startTcpProxy } from '../helpers/tcp-proxy.ts';
import type { TestEvent } from '../helpers/world.ts';
import { later, openPage, textOf } from './real-set-up.ts';
import { startStage } from './real-stage.ts';

const sayWord = (delta: string): TestEvent => ({
  type: 'TEXT_MESSAGE_CONTENT',
  messageId: 'm',
  delta,
});
const sayStart: TestEvent = { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' };

const closes = 20;
const cutKinds: readonly CutKind[] = ['fin', 'rst'];

describe.each(['plain', 'v1'] as const)('with a %s server', (kind) => {
  it('64 runs on one socket are whole after 20 closes', async () => {
    const stage = await startStage(kind, () => {});
    const { proxy } = stage;
    const page = openPage(proxy.port);
    const runs = createRuns<object, TestEvent>(page.client);
    const all = Array.from({ length: 64 }, () => runs.start({ messages: [] }));
    const heard = all.map((run) => {
      const events: TestEvent[] = [];
      run.on('event', (event) => events.push(event));
      return events;
    });
    const wordsOf = (n: number) =>
      heard[n]?.filter(({ delta }) => delta !== undefined).map(({ delta }) => delta);
    await page.drive(() => stage.executions.size === 64);
    for (const { id } of all) stage.say(id, sayStart);
    for (let close = 0; close < closes; close++) {
      // Some of it is on its way, some comes while there is no connection.
      for (const { id } of all) stage.say(id, sayWord(`${close} `));
      if (close % 3) await new Promise((resolve) => setImmediate(resolve));
      proxy.cut(cutKinds[close % 2]);
      await page.drive(() => page.client.getSnapshot().status !== 'open');
      for (const { id } of all) stage.say(id, sayWord(`after ${close} `));
      await page.drive(() => proxy.accepted === close + 2);
      await page.drive(() => page.client.getSnapshot().status === 'open');
    }
    for (const { id } of all) stage.end(id);
    await page.rest(runs);
    expect(all.map((run) => run.getSnapshot().status)).toEqual(Array(64).fill('finished'));
    const expected = Array.from({ length: closes }, (_, n) => [`${n} `, `after ${n} `]).flat();
    for (const [n, { id }] of all.entries()) {
      expect(wordsOf(n)).toEqual(expected);
      expect(heard[n]?.filter(({ type }) => type === 'RUN_FINISHED').length).toBe(1);
      expect(stage.executions.get(id)).toBe(1);
      if (kind === 'plain') expect(stage.starts(id)).toBe(1);
    }
    expect([proxy.accepted, page.mostSockets, page.errors]).toEqual([closes + 1, 1, []]);
    runs.dispose();
    page.close();
    await page.drive(() => stage.live === 0);
    expect([page.clock.timers, stage.errors]).toEqual([0, []]);
  }, 60_000);

  it('16 followers of one run, each with faults of its own, all read the same', async () => {
    const stage = await startStage(kind, () => {});
    const random = createRandom(16);
    const pages = await Promise.all(
      Array.from({ length: 16 }, async (_, n) => {
        const proxy = await startTcpProxy(stage.port);
        later(proxy.close);
        return { ...openPage(proxy.port, { seed: n + 1 }), proxy };
      }),
    );
    const [first, ...others] = pages;
    if (!first) throw new Error('no page');
    const runId = first.agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
    await first.drive(() => stage.executions.has(runId));
    for (const { agent } of others) agent.follow(runId);
    stage.say(runId, sayStart);
    const faults: ((page: (typeof pages)[number]) => unknown)[] = [
      ({ proxy }) => proxy.cut('fin'),
      ({ proxy }) => proxy.cut('rst'),
      ({ proxy }) => proxy.cutAfter(1 + Math.floor(random() * 500), 'down'),
      ({ proxy }) => proxy.cutAfter(1 + Math.floor(random() * 300), 'up', 'fin'),
      ({ client }) => client.reconnect(),
      ({ page }) => page.setOnline(false),
      ({ page }) => page.setOnline(true),
      ({ page }) => page.dispatch('pagehide', { persisted: true }),
      ({ page }) => page.dispatch('pageshow', { persisted: true }),
      ({ clock }) => clock.advance(20_000),
      ({ agent, client }) => {
        agent.dispose();
        client.close();
        agent.connect();
      },
    ];
    let said = '';
    let count = 0;
    for (let n = 0; n < 150; n++) {
      said += `${n} `;
      stage.say(runId, sayWord(`${n} `));
      for (const page of pages) {
        if (random() < 0.15) {
          await faults[Math.floor(random() * faults.length)]?.(page);
          count++;
        }
        // Those who wait do so until now and then one of their waits is over.
        const { status, retryAt = 0 } = page.client.getSnapshot();
        if (status === 'waiting' && random() < 0.3) {
          await page.clock.advance(Math.max(0, retryAt - page.clock.now()) + 1);
        }
      }
    }
    for (const { page } of pages) {
      page.setOnline(true);
      page.dispatch('pageshow', { persisted: true });
    }
    expect(stage.isCancelled(runId)).toBe(false);
    stage.end(runId);
    for (const page of pages) {
      await page.drive(() => page.agent.getSnapshot().status !== 'running');
      await page.rest();
    }
    expect(count).toBeGreaterThan(200);
    for (const { agent, storage, errors } of pages) {
      expect([agent.getSnapshot().status, textOf(agent)]).toEqual(['finished', said]);
      expect([[...storage.map], errors]).toEqual([[], []]);
    }
    expect(stage.executions).toEqual(new Map([[runId, 1]]));
    for (const page of pages) page.close();
    await first.drive(() => stage.live === 0);
    expect(stage.errors).toEqual([]);
  }, 120_000);
});
