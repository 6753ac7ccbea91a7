import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import type { TestEvent } from '../helpers/world.ts';
import { answer, openPage, type RealPage, talk, textOf } from './real-set-up.ts';
import { type ServerKind, type Stage, startStage } from './real-stage.ts';

let seed = 0;

/** The next page over the same storage. A page that crashed says nothing more, and its time is over. */
function reload(page: RealPage, { proxy }: Stage, crash: boolean): RealPage {
  if (!crash) page.page.dispatch('pagehide', { persisted: false });
  page.crash();
  const clock = createVirtualClock({ seed: ++seed, start: page.clock.now() });
  const next = openPage(proxy.port, { clock, storage: page.storage });
  next.agent.connect();
  return next;
}

const textIn = (events: readonly TestEvent[]) => events.map(({ delta }) => delta ?? '').join('');

/** Reloads `times` times behind the event at `index` of a run; the rest is said while no page is there. */
async function reloadAt(kind: ServerKind, index: number, crash: boolean, times: number) {
  const stage = await startStage(kind, () => {});
  let page = openPage(stage.proxy.port, { seed: ++seed });
  const runId = page.agent.run({ messages: [{ role: 'user', content: 'Hi' }] });
  await page.drive(() => stage.executions.has(runId));
  stage.say(runId, ...talk.slice(0, index));
  await page.drive(() => textOf(page.agent) === textIn(talk.slice(0, index)));
  for (let n = 0; n < times; n++) page = reload(page, stage, crash);
  stage.say(runId, ...talk.slice(index));
  stage.end(runId);
  const { agent, storage, errors } = page;
  await page.drive(() => agent.getSnapshot().status !== 'running');
  await page.rest();
  const said = agent.getSnapshot().messages.map(({ content }) => content);
  expect([index, agent.getSnapshot().status, said]).toEqual([index, 'finished', ['Hi', answer]]);
  expect([stage.executions, [...storage.map], errors]).toEqual([new Map([[runId, 1]]), [], []]);
  if (kind === 'plain') expect(stage.starts(runId)).toBe(1);
  page.close();
  await page.drive(() => stage.live === 0);
}

describe.each(['plain', 'v1'] as const)('with a %s server a page that is reloaded', (kind) => {
  it.each<[string, boolean, number]>([
    ['in order', false, 1],
    ['by a crash', true, 1],
    ['twice in a row', false, 2],
    ['by two crashes in a row', true, 2],
  ])(
    'behind any event, %s, shows all of the run once',
    async (_, crash, times) => {
      for (let index = 0; index <= talk.length; index++) await reloadAt(kind, index, crash, times);
    },
    120_000,
  );
});
