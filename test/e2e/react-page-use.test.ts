import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { textOf } from '../examples/example-server.ts';
import {
  ask,
  askAndPause,
  expectNothingRemembered,
  expectWholeAnswer,
  inChromium,
  it,
  latestRun,
  picture,
  pressDrop,
  reload,
  type Stage,
  shownText,
  until,
  untilLogged,
  untilShown,
} from './browser.ts';

const question = 'What happens when I reload this page?';

const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent?.trim());

const toEnd = (page: Page) =>
  page.locator('[role=log]').evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight);

/** Wait until nothing scrolls any more: a wheel does so over several frames. */
const untilStill = (page: Page) =>
  page.locator('[role=log]').evaluate(
    (log) =>
      new Promise<void>((done) => {
        let last: number | undefined;
        const look = () => {
          if (log.scrollTop === last) return done();
          last = log.scrollTop;
          requestAnimationFrame(() => requestAnimationFrame(look));
        };
        look();
      }),
  );

/** As the browser's "Duplicate tab": a page of the same context with a copy of the sessionStorage. */
async function duplicate(stage: Stage, page: Page): Promise<Page> {
  const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage }));
  const copy = stage.watch(await page.context().newPage());
  await copy.addInitScript((text) => {
    if (sessionStorage.length > 0) return;
    for (const [key, value] of Object.entries(JSON.parse(text))) {
      sessionStorage.setItem(key, String(value));
    }
  }, kept);
  await copy.goto(page.url());
  return copy;
}

inChromium('a duplicated tab', () => {
  it('shows the run beside the first tab, and neither stops it by itself', async ({ stage }) => {
    const page = await stage.open();
    const runId = await askAndPause(stage, page, question);
    const copy = await duplicate(stage, page);
    const third = await duplicate(stage, page);
    await third.locator('.assistant .text').waitFor();
    await third.close();
    stage.resume();
    await expectWholeAnswer(page, stage.server, runId, question);
    await expectWholeAnswer(copy, stage.server, runId, question);
    await expectNothingRemembered(page);
    await expectNothingRemembered(copy);
  });

  it.for(['first', 'second'] as const)(
    'stops the run of both from the %s tab',
    async (which, { stage }) => {
      const page = await stage.open();
      const runId = await askAndPause(stage, page, question);
      const copy = await duplicate(stage, page);
      await copy.locator('.assistant .text').waitFor();
      const [stopper, other] = which === 'first' ? [page, copy] : [copy, page];
      await stopper.bringToFront();
      await stopper.getByRole('button', { name: 'Stop' }).click();
      await other.bringToFront();
      await other.getByText('This answer was stopped.').waitFor();
      await untilLogged(stage.server, runId, 'RUN_FINISHED');
      expect(stage.server.log(runId).at(-1)?.outcome).toEqual({ type: 'cancelled' });
      expect(await shownText(other)).toBe(textOf(stage.server.log(runId)));
      expect(stage.server.starts(runId)).toBe(1);
      await expectNothingRemembered(other);
      await stopper.bringToFront();
      await expectNothingRemembered(stopper);
    },
  );
});

inChromium('using the chat page', () => {
  it('needs the keyboard only', async ({ stage }) => {
    const page = await stage.open();
    const { keyboard } = page;
    await until(async () => (await focused(page)) === 'question');
    await keyboard.type('First line');
    await keyboard.press('Shift+Enter');
    stage.pauseAt('TEXT_MESSAGE_CONTENT', 10);
    await keyboard.type('and second');
    await keyboard.press('Enter');
    const runId = await latestRun(stage.server);
    expect(await page.locator('.user .text').textContent()).toBe('First line\nand second');
    expect(await page.getByLabel('Your question').inputValue()).toBe('');
    await untilLogged(stage.server, runId, 'TEXT_MESSAGE_CONTENT', 10);
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await keyboard.press('Tab');
    expect(await focused(page)).toBe('Stop');
    await keyboard.press('Enter');
    await page.getByText('This answer was stopped.').waitFor();
    await until(async () => (await focused(page)) === 'question');

    stage.resume('TEXT_MESSAGE_CONTENT', 5);
    await keyboard.type('Again');
    await keyboard.press('Enter');
    const second = await latestRun(stage.server, 2);
    await untilLogged(stage.server, second, 'TEXT_MESSAGE_CONTENT', 5);
    // From here on the page listens to the key.
    await until(async () => (await page.title()).startsWith('Answering…'));
    await keyboard.press('Escape');
    await untilLogged(stage.server, second, 'RUN_FINISHED');
    expect(stage.server.log(second).at(-1)?.outcome).toEqual({ type: 'cancelled' });
    expect(await focused(page)).toBe('question');
    await keyboard.press('Enter');
    await keyboard.press('Escape');
    expect(stage.server.runIds()).toHaveLength(2);
  });

  it('lets the keyboard reach everything, in reading order', async ({ stage }) => {
    const page = await stage.open({ viewport: { width: 1280, height: 1200 } });
    await ask(page, question);
    await expectWholeAnswer(page, stage.server, await latestRun(stage.server), question);
    await page.locator('.skip').focus();
    const stops: (string | undefined)[] = [];
    for (let count = 0; count < 6; count++) {
      stops.push((await focused(page))?.slice(0, 24));
      await page.keyboard.press('Tab');
    }
    expect(stops).toEqual([
      'Skip to the question fie',
      'Drop connection',
      'New conversation',
      expect.stringContaining('What happens'),
      'Thoughts',
      'question',
    ]);
    await page.locator('.skip').focus();
    await page.keyboard.press('Enter');
    expect(await focused(page)).toBe('question');
  });

  it('tells assistive technology what is what', async ({ stage }) => {
    const page = await stage.open();
    await askAndPause(stage, page, question);
    await page.getByRole('log', { name: 'Conversation' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'Connected' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'The agent is answering.' }).waitFor();
    await page.getByRole('heading', { name: 'You asked', level: 3 }).waitFor();
    await page.getByRole('heading', { name: 'The agent answered', level: 3 }).waitFor();
    await page.getByRole('region', { name: 'Tool call search_notes, done' }).waitFor();
    await page.getByRole('progressbar', { name: /\d of 4 done/ }).waitFor();
    await page.getByRole('complementary', { name: 'Plan and connection' }).waitFor();
    // A countdown would be read out every second.
    await pressDrop(stage, page);
    await page.locator('[aria-hidden=true]', { hasText: /next try in/ }).waitFor();
    expect(await page.getByRole('status').first().textContent()).toBe('Connection lost');
  });

  it('follows the answer until the reader scrolls away, and again at the end', async ({
    stage,
  }) => {
    const page = await stage.open({ viewport: { width: 390, height: 500 } });
    const runId = await askAndPause(stage, page, question, 'TEXT_MESSAGE_CONTENT', 80);
    await untilShown(stage, page, runId);
    await until(async () => (await toEnd(page)) < 2);
    await page.locator('[role=log]').hover();
    await page.mouse.wheel(0, -200);
    await until(async () => (await toEnd(page)) > 150);
    await untilStill(page);
    stage.resume();
    const jump = page.getByRole('button', { name: 'Jump to the latest' });
    await jump.waitFor();
    const place = await page.locator('[role=log]').evaluate((log) => log.scrollTop);
    await expectWholeAnswer(page, stage.server, runId, question);
    expect(await page.locator('[role=log]').evaluate((log) => log.scrollTop)).toBe(place);
    await jump.click();
    await until(async () => (await toEnd(page)) < 2);
    expect(await jump.count()).toBe(0);
  });

  it.for([
    ['light', 1280, 800],
    ['dark', 1280, 800],
    ['light', 390, 844],
    ['dark', 320, 600],
  ] as const)('looks right in %s at %i pixels', async ([colorScheme, width, height], { stage }) => {
    const page = await stage.open({ colorScheme, viewport: { width, height } });
    await picture(page, `welcome-${colorScheme}-${width}`);
    await askAndPause(stage, page, question, 'TEXT_MESSAGE_CONTENT', 90);
    await page.getByText('Writing…').waitFor();
    await page.getByText('Connected', { exact: true }).waitFor();
    await picture(page, `answer-${colorScheme}-${width}`);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    for (const part of ['.badge', '.user', '.streaming', '#question', '.stop']) {
      expect(await page.locator(part).last().isVisible()).toBe(true);
    }
    expect(await page.locator('.steps').isVisible()).toBe(width > 960);
    await pressDrop(stage, page);
    await page.getByText(/next try in/).waitFor();
    await picture(page, `lost-${colorScheme}-${width}`);
    expect(await page.getByRole('button', { name: 'Jump to the latest' }).count()).toBe(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  });

  it('talks to the server that the address names', async ({ stage }) => {
    const page = await stage.open(
      {},
      `/?server=${encodeURIComponent(stage.server.url.replace('127.0.0.1', 'localhost'))}`,
    );
    await ask(page, question);
    await expectWholeAnswer(page, stage.server, await latestRun(stage.server), question);
    await reload(page);
    expect(await page.locator('.user .text').textContent()).toBe(question);
  });
});
