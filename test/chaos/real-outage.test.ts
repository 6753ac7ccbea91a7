import { describe, expect, it } from 'vitest';
import { openPage, type RealPage, textOf } from './real-set-up.ts';
import { type ServerKind, type Stage, startStage } from './real-stage.ts';

const minute = 60_000;

/** Lets the clock go on to `end`: jumps over waits, and leaves each attempt its time. */
async function pass({ clock, client }: RealPage, end: number, isAnswered: boolean): Promise<void> {
  while (clock.now() < end) {
    const { status, retryAt = 0 } = client.getSnapshot();
    if (status === 'waiting') {
      await clock.advance(Math.ceil(Math.max(0, Math.min(retryAt, end) - clock.now())) + 1);
    } else if (isAnswered) await new Promise((resolve) => setImmediate(resolve));
    else await clock.advance(500);
  }
}

const outages: Record<string, (stage: Stage, on: boolean) => unknown> = {
  refuses: ({ proxy }, on) => proxy.refuse(on),
  'never answers': ({ proxy }, on) => {
    proxy.blackHole(on);
    proxy.cut();
  },
};

/** Says a word before, during and after an outage; returns when attempts were made in it. */
async function endure(kind: ServerKind, ms: number, outage: string): Promise<number[]> {
  const stage = await startStage(kind, () => {});
  const page = openPage(stage.proxy.port, { seed: ms });
  const { agent, client, clock } = page;
  const attempts: number[] = [];
  const runId = agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
  await page.drive(() => stage.executions.has(runId));
  stage.say(runId, { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' });
  const say = (delta: string) =>
    stage.say(runId, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta });
  say('before ');
  await page.drive(() => textOf(agent) === 'before ');
  const start = clock.now();
  client.subscribe(() => {
    if (client.getSnapshot().status === 'connecting') attempts.push(clock.now() - start);
  });
  await outages[outage]?.(stage, true);
  say('during ');
  await page.drive(() => client.getSnapshot().status !== 'open');
  await pass(page, start + ms, outage === 'refuses');
  expect([agent.getSnapshot().status, textOf(agent)]).toEqual(['running', 'before ']);
  const made = attempts.length;
  await outages[outage]?.(stage, false);
  say('after');
  await page.drive(() => textOf(agent) === 'before during after');
  // From the end of the outage to a connection, the longest wait of the backoff.
  expect(clock.now() - start - ms).toBeLessThanOrEqual(21_000);
  stage.end(runId);
  await page.drive(() => agent.getSnapshot().status !== 'running');
  await page.rest();
  expect(agent.getSnapshot().status).toBe('finished');
  expect(stage.executions.get(runId)).toBe(1);
  expect([[...page.storage.map], page.errors, page.mostSockets]).toEqual([[], [], 1]);
  page.close();
  await page.drive(() => stage.live === 0);
  expect(clock.timers).toBe(0);
  return attempts.slice(0, made);
}

describe.each(['plain', 'v1'] as const)('a run of a %s server', (kind) => {
  it.each([100, 3_000, 30_000, 10 * minute])(
    'survives %i ms of refusals',
    async (ms) => {
      const attempts = await endure(kind, ms, 'refuses');
      // No storm: 20 s at most between two attempts, and hardly more than one in 5 s for long.
      for (const from of attempts) {
        expect(attempts.filter((at) => at >= from && at < from + minute).length).toBeLessThan(20);
      }
      expect(attempts.length).toBeGreaterThanOrEqual(Math.floor(ms / 21_000));
    },
    60_000,
  );

  it.each([30_000, 10 * minute])(
    'survives %i ms without an answer to any attempt',
    async (ms) => {
      const attempts = await endure(kind, ms, 'never answers');
      // Each takes the connect timeout besides.
      expect(attempts.length).toBeGreaterThanOrEqual(Math.floor(ms / 29_000));
      expect(attempts.length).toBeLessThanOrEqual(Math.ceil(ms / 8_000) + 1);
    },
    60_000,
  );
});
