import { describe, expect, it } from 'vitest';
import type { Direction } from '../helpers/tcp-proxy.ts';
import { openPage, type RealPage, textOf } from './real-set-up.ts';
import { type ServerKind, startStage } from './real-stage.ts';

const rounds = Number(process.env.ROUNDS ?? 6);
const both: undefined = undefined;

/** What a hole may cost by the protocol: ping and answer, or the idle timeout and some. */
const bounds = { v1: 15_000 + 5_000, plain: 30_000 + 10_000 };

/** Lets the clock run in steps until `isDone`; returns what it took. */
async function take({ clock }: RealPage, isDone: () => boolean, most = 600_000): Promise<number> {
  const start = clock.now();
  while (!isDone()) {
    if (clock.now() - start > most) return Number.POSITIVE_INFINITY;
    await clock.advance(100);
  }
  return clock.now() - start;
}

async function startRun(kind: ServerKind) {
  const stage = await startStage(kind, () => {});
  const page = openPage(stage.proxy.port);
  const { agent, client } = page;
  const runId = agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
  await page.drive(() => stage.executions.has(runId));
  stage.say(runId, { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' });
  let said = '';
  const say = (word: string) => {
    said += word;
    stage.say(runId, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: word });
  };
  const isRead = () => textOf(agent) === said;
  const finish = async () => {
    stage.end(runId);
    await page.drive(() => agent.getSnapshot().status !== 'running');
    await page.rest();
    expect([agent.getSnapshot().status, textOf(agent)]).toEqual(['finished', said]);
    expect(stage.executions.get(runId)).toBe(1);
    expect([[...page.storage.map], page.errors, page.mostSockets]).toEqual([[], [], 1]);
    // What the server still held for those it could not reach goes with the old connections.
    page.close();
    stage.proxy.cut();
    await page.drive(() => stage.live === 0);
  };
  return { stage, page, agent, client, say, isRead, finish };
}

describe.each(['plain', 'v1'] as const)('a half-open connection to a %s server', (kind) => {
  it.each<[string, Direction | undefined]>([
    ['both ways', both],
    ['on the way up', 'up'],
    ['on the way down', 'down'],
  ])(
    '%s is found in its time, each time, and costs nothing',
    async (_, direction) => {
      const { stage, page, client, say, isRead, finish } = await startRun(kind);
      const times: number[] = [];
      // The next handshake must not be swallowed: the hole closes before its first byte leaves.
      client.subscribe(() => {
        if (client.getSnapshot().status === 'connecting') stage.proxy.blackHole(false);
      });
      for (let round = 0; round < rounds; round++) {
        say(`${round} `);
        await page.drive(isRead);
        stage.proxy.blackHole(true, direction);
        // With a hole on the way up alone, what the server says is a sign of life.
        if (direction !== 'up') say('unheard ');
        times.push(await take(page, () => client.getSnapshot().status !== 'open'));
        await page.drive(isRead);
      }
      expect(Math.max(...times)).toBeLessThanOrEqual(bounds[kind]);
      if (process.env.ROUNDS) console.info(`${kind} ${direction ?? 'both'}: ${times}`);
      await finish();
    },
    120_000,
  );

  it('is found where the handshake is swallowed, by the connect timeout', async () => {
    const { stage, page, client, say, isRead, finish } = await startRun(kind);
    say('one ');
    await page.drive(isRead);
    stage.proxy.blackHole(true);
    stage.proxy.cut();
    await page.drive(() => client.getSnapshot().status === 'connecting');
    const time = await take(page, () => client.getSnapshot().status !== 'connecting');
    expect(time).toBeLessThanOrEqual(8_100);
    expect(time).toBeGreaterThan(7_900);
    stage.proxy.blackHole(false);
    say('two ');
    await page.drive(isRead);
    await finish();
  });
});
