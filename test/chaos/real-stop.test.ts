import { describe, expect, it } from 'vitest';
import { openPage, type RealPage, textOf } from './real-set-up.ts';
import { type ServerKind, type Stage, startStage } from './real-stage.ts';

const times = Number(process.env.STOPS ?? 5);

/** A run that says a word every other millisecond until it is told to stop. */
function talkForEver(stage: Stage, runId: string): void {
  stage.say(runId, { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' });
  const timer = setInterval(() => {
    if (stage.isCancelled(runId)) {
      clearInterval(timer);
      stage.end(runId);
    } else stage.say(runId, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'on ' });
  }, 2);
  // Whatever else goes wrong, a test ends.
  timer.unref();
}

type Stopping = (page: RealPage, stage: Stage) => Promise<RealPage | undefined>;

const isWaiting = ({ client }: RealPage) => client.getSnapshot().status === 'waiting';

/** Breaks the connection and waits until the run has gone on behind it. */
async function resume(page: RealPage, { proxy }: Stage) {
  proxy.cut();
  await page.drive(() => isWaiting(page));
  const { length } = textOf(page.agent);
  await page.drive(() => textOf(page.agent).length > length);
}

/** Another page over the same storage. */
const reload = (page: RealPage, { proxy }: Stage) => {
  page.page.dispatch('pagehide', { persisted: false });
  page.client.close();
  return openPage(proxy.port, { clock: page.clock, storage: page.storage });
};

const stoppings: Record<string, Stopping> = {
  async 'once it was resumed'(page, stage) {
    await resume(page, stage);
    page.agent.abort();
    return undefined;
  },
  async 'while there is no connection'(page, { proxy }) {
    proxy.cut('fin');
    await page.drive(() => isWaiting(page));
    page.agent.abort();
    return undefined;
  },
  async 'right before the connection breaks'(page, { proxy }) {
    page.agent.abort();
    proxy.cut();
    return undefined;
  },
  async 'in the middle of the frame that says so'(page, { proxy }) {
    proxy.cutAfter(20, 'up');
    page.agent.abort();
    return undefined;
  },
  async 'into a half-open connection'(page, { proxy }) {
    proxy.blackHole(true);
    page.agent.abort();
    const stop = page.client.subscribe(() => {
      if (page.client.getSnapshot().status === 'connecting') proxy.blackHole(false);
    });
    while (page.client.getSnapshot().status === 'open') await page.clock.advance(1_000);
    stop();
    return undefined;
  },
  async 'by the page after a reload'(page, stage) {
    const next = reload(page, stage);
    next.agent.connect();
    await next.drive(
      () => textOf(next.agent).length > 0 && next.client.getSnapshot().status === 'open',
    );
    next.agent.abort();
    return next;
  },
  async 'while there is no connection, before a reload'(page, stage) {
    stage.proxy.cut();
    await page.drive(() => isWaiting(page));
    page.agent.abort();
    const next = reload(page, stage);
    next.agent.connect();
    return next;
  },
};

async function stop(kind: ServerKind, stopping: Stopping | undefined, seed: number) {
  const stage = await startStage(kind, talkForEver);
  const first = openPage(stage.proxy.port, { seed });
  const runId = first.agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
  await first.drive(() => textOf(first.agent).length > 9);
  const page = (await stopping?.(first, stage)) ?? first;
  const { agent, clock } = page;
  const shown = agent.getSnapshot();
  await page.drive(() => stage.isCancelled(runId));
  await page.rest();
  // What the run said after the stop has changed nothing.
  expect(agent.getSnapshot()).toEqual(shown);
  expect([shown.status, stage.executions.get(runId), [...page.storage.map], page.errors]).toEqual([
    'aborted',
    1,
    [],
    [],
  ]);
  first.close();
  page.close();
  stage.proxy.cut();
  await page.drive(() => stage.live === 0);
  expect(clock.timers).toBe(0);
}

describe.each(['plain', 'v1'] as const)('a run of a %s server that never ends', (kind) => {
  it.each(Object.keys(stoppings))(
    'is stopped %s',
    async (name) => {
      for (let n = 1; n <= times; n++) await stop(kind, stoppings[name], n);
    },
    120_000,
  );
});
