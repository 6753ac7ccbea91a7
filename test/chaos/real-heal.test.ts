import { describe, expect, it } from 'vitest';
import { openPage, type RealPage, textOf } from './real-set-up.ts';
import { type ServerKind, type Stage, startStage } from './real-stage.ts';

const drops = 40;

const wakeUps: Record<string, (page: RealPage, stage: Stage) => Promise<unknown> | unknown> = {
  'offline and online'({ page }) {
    page.setOnline(false);
    page.setOnline(true);
  },
  'a drop and then online': async (page, { proxy }) => {
    proxy.cut();
    await page.drive(() => page.client.getSnapshot().status === 'waiting');
    page.page.dispatch('online');
  },
  'a drop and then a tab that is looked at again': async (page, { proxy }) => {
    proxy.cut();
    await page.drive(() => page.client.getSnapshot().status === 'waiting');
    page.page.setVisible(true);
  },
  'pagehide and pageshow'({ page }) {
    page.dispatch('pagehide', { persisted: true });
    page.dispatch('pageshow', { persisted: true });
  },
  'reconnect()': ({ client }) => client.reconnect(),
  async 'a swap by the watchdog'(page, { proxy }) {
    const stop = page.client.subscribe(() => {
      if (page.client.getSnapshot().status === 'connecting') proxy.blackHole(false);
    });
    proxy.blackHole(true);
    while (page.client.getSnapshot().status === 'open') await page.clock.advance(100);
    stop();
  },
};

async function startRun(kind: ServerKind) {
  const stage = await startStage(kind, () => {});
  const page = openPage(stage.proxy.port, { seed: 3 });
  const { agent } = page;
  const runId = agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
  await page.drive(() => stage.executions.has(runId));
  stage.say(runId, { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' });
  let said = '';
  /** Says a word, and waits until the page shows it; returns how far the clock went meanwhile. */
  const say = async () => {
    const start = page.clock.now();
    const word = `${said.length} `;
    said += word;
    stage.say(runId, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: word });
    await page.drive(() => textOf(agent) === said);
    return page.clock.now() - start;
  };
  return { stage, page, say, isOpen: () => page.client.getSnapshot().status === 'open' };
}

describe.each(['plain', 'v1'] as const)('the next event of a %s server is applied', (kind) => {
  it.each(Object.keys(wakeUps))('without any wait after %s', async (name) => {
    const { stage, page, say } = await startRun(kind);
    for (let n = 0; n < 5; n++) {
      await say();
      const { accepted } = stage.proxy;
      await wakeUps[name]?.(page, stage);
      expect(await say()).toBe(0);
      expect(stage.proxy.accepted).toBe(accepted + 1);
      expect(page.mostSockets).toBe(1);
    }
    page.close();
  });

  it('within a second after a drop, and after half of that on average', async () => {
    const { stage, page, say, isOpen } = await startRun(kind);
    const waits: number[] = [];
    for (let n = 0; n < drops; n++) {
      await say();
      // A stable life between two drops: each is the first.
      await page.clock.advance(6_000);
      stage.proxy.cut(n % 2 ? 'fin' : 'rst');
      const start = page.clock.now();
      await page.drive(() => !isOpen());
      await say();
      waits.push(page.clock.now() - start);
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_002);
    const mean = waits.reduce((sum, ms) => sum + ms) / drops;
    expect(mean).toBeGreaterThan(350);
    expect(mean).toBeLessThan(650);
    page.close();
  });
});
