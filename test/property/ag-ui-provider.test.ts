import { describe, expect, it } from 'vitest';
import {
  createPage,
  faultsOf,
  type Page,
  withoutTimes,
} from '../agent-provider/ag-ui-provider-set-up.ts';
import { generateRuns } from '../helpers/ag-ui-runs.ts';
import { createRandom } from '../helpers/random.ts';
import type { TestEvent } from '../helpers/world.ts';

const seeds = 60;

/** What happens between two events of the server. */
type Mishap = (page: Page, random: () => number) => Promise<Page>;

const mishaps: readonly Mishap[] = [
  async (page) => {
    await page.world.reconnect();
    return page;
  },
  async (page, random) => {
    page.reading.driver.detach();
    if (random() < 0.5) await page.settle();
    if (random() < 0.5) await page.world.reconnect();
    page.again();
    return page;
  },
  (page, random) => page.reload(page.write(), { crash: random() < 0.5 }),
  async (page) => {
    const written = page.write();
    await page.settle();
    return page.reload(written);
  },
];

/** Plays a random run, with something going wrong after about one event in ten. */
async function play(seed: number, disturbed: boolean, plain: boolean): Promise<Page> {
  const { events, messages, state } = generateRuns(seed, { actions: 20, runs: 1 + (seed % 2) });
  const random = createRandom(seed);
  let page = createPage({
    provider: { agentOptions: { messages, state } },
    ...(plain && { v1: { caps: null } }),
  });
  page.run({ messages: [{ id: 'question', role: 'user', content: 'Hi' }] });
  await page.settle();
  for (const event of events) {
    page.server.append('r', event as unknown as TestEvent);
    if (random() < 0.5) await page.settle();
    if (random() > 0.1) continue;
    const mishap = mishaps[Math.floor(random() * mishaps.length)] as Mishap;
    if (disturbed) page = await mishap(page, random);
  }
  page.server.end('r', 'finished');
  await page.world.clock.advance(3_000);
  return page;
}

describe.each([
  ['v1', false],
  ['plain', true],
])('random runs of a %s server', (_name, plain) => {
  it('come to the same state and the same thread, whatever happens to page and connection', async () => {
    let ended = 0;
    for (let seed = 1; seed <= seeds; seed++) {
      const quiet = await play(seed, false, plain);
      const page = await play(seed, true, plain);
      const name = `seed ${seed}`;
      expect(page.reading.failure, name).toBeUndefined();
      expect(page.lines, name).toEqual(quiet.lines);
      expect(withoutTimes(page.store.getSnapshot()), name).toEqual(
        withoutTimes(quiet.store.getSnapshot()),
      );
      expect(page.reading.outcome, name).toBe(quiet.reading.outcome);
      const threads = [page, quiet].map((one) => one.provider.getAgent('s').getSnapshot());
      expect(threads[0]?.messages, name).toEqual(threads[1]?.messages);
      expect(threads[0]?.state, name).toEqual(threads[1]?.state);
      if (page.reading.outcome !== 'ended') continue;
      ended++;
      expect(faultsOf(page), name).toEqual([]);
    }
    expect(ended).toBeGreaterThan(seeds / 2);
  }, 120_000);
});
