import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { type Agent, createScriptedAgent, textOf } from '../examples/example-server.ts';
import {
  ask,
  askAndPause,
  inChromium,
  latestRun,
  type Stage,
  until,
  untilLogged,
  withStage,
} from './browser.ts';
import {
  buildChaosPage,
  expectWhole,
  listen,
  openUsersContext,
  tell,
  untilShown,
} from './chaos-page.ts';

const question = 'What happens in bad times?';
const path = '/chaos/';
const elsewhere = '/chaos/elsewhere.html';
// A page that comes from the back/forward cache does not load.
const asItComes = { waitUntil: 'commit' } as const;

const talk = 'Talk!';

// One text of 50,000 words in a run that then waits for its end.
const talker: Agent = async function* ({ signal }) {
  yield { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' };
  for (let n = 0; n < 50_000; n++) {
    yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: n % 10 ? 'x ' : '\n' };
  }
  yield { type: 'CUSTOM', name: 'said', value: true };
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
};

let folder: Promise<string> | undefined;
const it = withStage(async () => {
  folder ??= buildChaosPage();
  const scripted = await createScriptedAgent({ pace: 5 });
  return {
    pages: { [path]: await folder },
    // The origin of a sandbox.
    env: { ORIGINS: 'null' },
    agent: (run) => (JSON.stringify(run.input.messages).includes(talk) ? talker : scripted)(run),
  };
});

async function open(stage: Stage, at = path) {
  const context = await stage.openContext();
  const page = stage.watch(await context.newPage());
  const heard = listen(page);
  await page.goto(stage.address + at);
  return { page, heard };
}

inChromium('a page in the back/forward cache', () => {
  it.for([
    ['in the middle of the run', 'TEXT_MESSAGE_CONTENT', 90],
    ['after its end', 'RUN_FINISHED', 1],
  ] as const)(
    'holds no connection, cancels nothing, and goes on %s',
    async ([, type, count], { stage }) => {
      const { page, heard } = await open(stage);
      const runId = await askAndPause(stage, page, question);
      await untilShown(stage, page, runId);
      await page.goto(stage.address + elsewhere);
      await until(() => stage.server.connections() === 0);
      stage.resume(type, count);
      await untilLogged(stage.server, runId, type, count);
      expect(stage.server.connections()).toBe(0);
      await page.goBack(asItComes);
      await untilShown(stage, page, runId);
      // In the cache it is frozen, too, at once or later.
      const { life, closes } = await tell(page, ({ life, closes }) => ({ life, closes }));
      expect(life.filter((event) => event.startsWith('page'))).toEqual([
        'pageshow false',
        'pagehide true',
        'pageshow true',
      ]);
      // The page has closed it, before the browser did.
      expect(closes).toEqual(['1000 pagehide']);
      stage.resume();
      await expectWhole(stage, page, runId);
      expect(heard).toMatchObject({ sockets: { length: 2 }, sent: ['run', 'resume'] });
      expect(stage.server.connections()).toBe(1);
    },
  );
});

inChromium('a frozen page', () => {
  it('goes on with its run, though the browser takes its connection', async ({ stage }) => {
    const { context, close } = await openUsersContext();
    try {
      const page = stage.watch(await context.newPage());
      const heard = listen(page);
      await page.goto(stage.address + path);
      const runId = await askAndPause(stage, page, question);
      await untilShown(stage, page, runId);
      const seen = textOf(stage.server.log(runId));
      const session = await context.newCDPSession(page);
      await session.send('Page.setWebLifecycleState', { state: 'frozen' });
      await until(() => tell(page, ({ life }) => life.at(-1) === 'freeze'));
      stage.resume('TEXT_MESSAGE_CONTENT', 90);
      await untilLogged(stage.server, runId, 'TEXT_MESSAGE_CONTENT', 90);
      expect(await page.locator('.assistant').textContent()).toBe(seen);
      // Chromium closes the WebSocket of a page that was frozen when it goes on.
      await session.send('Page.setWebLifecycleState', { state: 'active' });
      await untilShown(stage, page, runId);
      stage.resume();
      await expectWhole(stage, page, runId);
      const { life, closes } = await tell(page, ({ life, closes }) => ({ life, closes }));
      expect(life).toEqual(['pageshow false', 'freeze', 'resume']);
      expect(closes).toEqual(['1006 Connection failed: 1006']);
      expect(heard).toMatchObject({ sockets: { length: 2 }, sent: ['run', 'resume'] });
      expect(stage.server.connections()).toBe(1);
    } finally {
      await close();
    }
  });
});

inChromium('a page without a storage', () => {
  it('in a sandbox gets its answer whole over a lost connection, and says what it cannot do', async ({
    stage,
  }) => {
    const { page } = await open(stage, '/chaos/frame.html');
    const frame = await (await page.waitForSelector('iframe')).contentFrame();
    if (!frame) throw new Error('no frame');
    await frame.locator('#status', { hasText: 'idle' }).waitFor();
    const denied = await frame.evaluate(async () => {
      const names: string[] = [];
      try {
        void sessionStorage;
      } catch (error) {
        names.push((error as Error).name);
      }
      await navigator.locks.request('x', () => {}).catch((error) => names.push(error.name));
      return names;
    });
    expect(denied).toEqual(['SecurityError', 'SecurityError']);
    stage.pauseAt('TEXT_MESSAGE_CONTENT', 30);
    await frame.getByLabel('Your question').fill(question);
    await frame.getByLabel('Your question').press('Enter');
    const runId = await latestRun(stage.server);
    await untilLogged(stage.server, runId, 'TEXT_MESSAGE_CONTENT', 30);
    stage.server.dropConnections();
    stage.resume();
    await expectWhole(stage, frame, runId);
    await page.reload();
  });

  it('that is full gets its answer whole, and is remembered again once there is room', async ({
    stage,
  }) => {
    const { page, heard } = await open(stage);
    await page.evaluate(() => {
      let piece = 'x'.repeat(2 ** 22);
      let name = 0;
      while (piece) {
        try {
          sessionStorage.setItem(`${name}`, piece);
          name++;
        } catch {
          piece = piece.slice(0, piece.length / 2);
        }
      }
    });
    const first = await askAndPause(stage, page, question);
    stage.server.dropConnections();
    stage.resume();
    await expectWhole(stage, page, first);
    const errors = await tell(page, (chaos) => chaos.errors);
    expect(new Set(errors)).toEqual(new Set(['storage']));
    await page.reload();
    await page.locator('#status', { hasText: 'idle' }).waitFor();
    await page.evaluate(() => sessionStorage.clear());
    const second = await askAndPause(stage, page, question);
    await page.reload();
    await page.locator('#status', { hasText: 'running' }).waitFor();
    stage.resume();
    await expectWhole(stage, page, second);
    expect(heard.sent).toEqual(['run', 'resume', 'run', 'resume']);
  });
});

inChromium('a tab that opens itself again', () => {
  const locks = (page: Page) =>
    page.evaluate(async () => {
      const { held = [], pending = [] } = await navigator.locks.query();
      return [held.map(({ name }) => name), pending.map(({ name }) => name)];
    });
  /** A copy of the page, with a copy of its sessionStorage, as the browser makes it. */
  async function duplicate(stage: Stage, page: Page) {
    const opened = page.waitForEvent('popup');
    await page.evaluate(() => void window.open(location.href));
    const copy = stage.watch(await opened);
    await copy.locator('#status', { hasText: 'running' }).waitFor();
    return copy;
  }

  it('owns its run alone, and its copy neither stops the run nor starts it', async ({ stage }) => {
    const { page } = await open(stage, `${path}?policy=cancel`);
    const runId = await askAndPause(stage, page, question);
    const copy = await duplicate(stage, page);
    await untilShown(stage, copy, runId);
    const lock = `runsocket:${runId}`;
    await until(async () => (await locks(page)).flat().length === 2);
    expect(await locks(page)).toEqual([[lock], [lock]]);
    expect(await copy.locator('.user').textContent()).toBe(question);
    await copy.reload();
    await untilShown(stage, copy, runId);
    await copy.close();
    stage.resume();
    await expectWhole(stage, page, runId);
    await until(async () => (await locks(page)).flat().length === 0);
  });

  it('leaves the run to its copy when it is closed, whose policy then stops it', async ({
    stage,
  }) => {
    const { page } = await open(stage, `${path}?policy=cancel`);
    const runId = await askAndPause(stage, page, question);
    const copy = await duplicate(stage, page);
    await untilShown(stage, copy, runId);
    await page.close();
    await copy.locator('#status', { hasText: 'aborted' }).waitFor();
    await untilLogged(stage.server, runId, 'RUN_FINISHED');
    expect(stage.server.log(runId).at(-1)?.outcome).toEqual({ type: 'cancelled' });
    expect(stage.server.starts(runId)).toBe(1);
  });

  it.for(['original', 'copy'] as const)(
    'is stopped with its copy from the %s',
    async (which, { stage }) => {
      const { page } = await open(stage);
      const runId = await askAndPause(stage, page, question);
      const copy = await duplicate(stage, page);
      await untilShown(stage, copy, runId);
      await tell(which === 'original' ? page : copy, ({ agent }) => agent.abort());
      for (const tab of [page, copy])
        await tab.locator('#status', { hasText: 'aborted' }).waitFor();
      await untilLogged(stage.server, runId, 'RUN_FINISHED');
      expect(stage.server.log(runId).at(-1)?.outcome).toEqual({ type: 'cancelled' });
      for (const tab of [page, copy]) await untilShown(stage, tab, runId);
    },
  );
});

inChromium('a replay of 50,000 events', () => {
  it('is told at most once a frame', async ({ stage }) => {
    const { page } = await open(stage, `${path}?replay`);
    await ask(page, talk);
    const runId = await latestRun(stage.server);
    await untilLogged(stage.server, runId, 'CUSTOM');
    await page.reload();
    await untilShown(stage, page, runId);
    const { told, painted, blocked } = await tell(page, ({ counts, blocked }) => ({
      ...counts,
      blocked,
    }));
    expect(told).toBeGreaterThan(0);
    // A frame of the page is one of the screen, or what is left of it when the page is busy.
    expect(told).toBeLessThanOrEqual(painted + 2);
    if (process.env.FIGURES) console.log({ told, painted, blocked: Math.round(blocked) });
  });
});
