import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { textOf } from '../examples/example-server.ts';
import {
  ask,
  askAndPause,
  createStage,
  expectNothingRemembered,
  expectWholeAnswer,
  inChromium,
  it,
  latestRun,
  picture,
  reconnect,
  reload,
  type Stage,
  shownText,
  until,
  untilLogged,
  untilShown,
} from './browser.ts';

const question = 'What happens when I reload this page?';

// A page that comes from the back/forward cache does not load.
const asItComes = { waitUntil: 'commit' } as const;

async function askFirst({ server }: Stage, page: Page, text = question) {
  await ask(page, text);
  return latestRun(server);
}

inChromium('the chat page', () => {
  it('shows an answer with its thoughts, its tool call and its plan', async ({ stage }) => {
    const page = await stage.open();
    const runId = await askAndPause(stage, page, question, 'REASONING_MESSAGE_CONTENT', 5);
    await page.locator('.reasoning summary', { hasText: 'Thinking…' }).waitFor();
    stage.resume('TOOL_CALL_END', 1);
    await page.locator('.tool[data-status=running]').waitFor();
    stage.resume();
    await expectWholeAnswer(page, stage.server, runId, question);
    const thoughtsTold = page.locator('.reasoning .text');
    await thoughtsTold.waitFor({ state: 'hidden' });
    await page.locator('.reasoning summary', { hasText: 'Thoughts' }).click();
    const log = stage.server.log(runId);
    const thoughts = log.filter((event) => event.type === 'REASONING_MESSAGE_CONTENT');
    expect(await thoughtsTold.textContent()).toBe(thoughts.map((event) => event.delta).join(''));
    const result = log.find((event) => event.type === 'TOOL_CALL_RESULT');
    expect(await page.locator('.tool dd').last().textContent()).toBe(result?.content);
    await page.getByText('The answer is complete.').waitFor({ state: 'attached' });
    await expectNothingRemembered(page);
  });

  it.for([
    ['while it thinks', 'REASONING_MESSAGE_CONTENT', 10],
    ['during the tool call', 'TOOL_CALL_END', 1],
    ['in the middle of the text', 'TEXT_MESSAGE_CONTENT', 80],
  ] as const)('goes on after a reload %s', async ([, type, count], { stage }) => {
    const page = await stage.open();
    const runId = await askAndPause(stage, page, question, type, count);
    stage.resume('TEXT_MESSAGE_CONTENT', 150);
    await reload(page);
    expect(await page.locator('.user .text').textContent()).toBe(question);
    expect(await page.locator('[role=log]').getAttribute('aria-busy')).toBe('true');
    stage.resume();
    await expectWholeAnswer(page, stage.server, runId, question);
    await expectNothingRemembered(page);
  });

  it('goes on after two reloads in a row', async ({ stage }) => {
    const page = await stage.open();
    const runId = await askAndPause(stage, page, question, 'TEXT_MESSAGE_CONTENT', 60);
    stage.resume();
    await reload(page);
    await reload(page);
    await expectWholeAnswer(page, stage.server, runId, question);
  });

  it('goes on after a reload that cuts another one short', async ({ stage }) => {
    const page = await stage.open();
    const runId = await askAndPause(stage, page, question, 'TEXT_MESSAGE_CONTENT', 60);
    stage.resume();
    await page.addInitScript(() => {
      if (window.name !== 'impatient') return;
      window.name = '';
      setTimeout(() => location.reload(), 30);
    });
    await page.evaluate(() => {
      window.name = 'impatient';
    });
    let loads = 0;
    page.on('framenavigated', () => loads++);
    await page.reload({ waitUntil: 'commit' });
    await until(() => loads === 2);
    await expectWholeAnswer(page, stage.server, runId, question);
  });

  it('shows the conversation again after a reload behind the answer', async ({ stage }) => {
    const page = await stage.open();
    const runId = await askFirst(stage, page);
    await expectWholeAnswer(page, stage.server, runId, question);
    await reload(page);
    await expectWholeAnswer(page, stage.server, runId, question);
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByText('Ask something, then try to lose the answer.').waitFor();
    await until(() => page.evaluate(() => sessionStorage.length === 0));
  });

  it('keeps the first answer when the second is reloaded', async ({ stage }) => {
    const page = await stage.open();
    const first = await askFirst(stage, page);
    await expectWholeAnswer(page, stage.server, first, question);
    const second = await askAndPause(stage, page, 'And when I am offline?');
    stage.resume();
    await reload(page);
    await expectWholeAnswer(page, stage.server, second, 'And when I am offline?');
    expect(await page.locator('.user').count()).toBe(2);
    expect(await page.locator('.assistant .text').first().textContent()).toBe(
      textOf(stage.server.log(first)),
    );
    expect(textOf(stage.server.log(second))).toContain('This is question 2');
  });

  it('goes on after the network was gone', async ({ stage }) => {
    const page = await stage.open();
    const runId = await askAndPause(stage, page, question, 'TEXT_MESSAGE_CONTENT', 40);
    await page.context().setOffline(true);
    await page.getByText('Offline', { exact: true }).waitFor();
    expect(await page.locator('.countdown').count()).toBe(0);
    await page.getByText('The answer goes on as soon as it is back.').waitFor();
    stage.resume('TEXT_MESSAGE_CONTENT', 120);
    await untilLogged(stage.server, runId, 'TEXT_MESSAGE_CONTENT', 120);
    expect((await shownText(page)).length).toBeLessThan(textOf(stage.server.log(runId)).length);
    await page.context().setOffline(false);
    stage.resume();
    await expectWholeAnswer(page, stage.server, runId, question);
  });

  it('asks behind a stopped answer once the network is back, and keeps the mark', async ({
    stage,
  }) => {
    const page = await stage.open();
    await askAndPause(stage, page, question, 'TEXT_MESSAGE_CONTENT', 20);
    await page.locator('.steps[data-moving]').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    const stopped = page.getByText('This answer was stopped.');
    await stopped.waitFor();
    await page.context().setOffline(true);
    await page.getByText('Offline', { exact: true }).waitFor();
    stage.resume();
    await ask(page, 'And when I am offline?');
    await page.getByText('Your question is asked as soon as it is back.').waitFor();
    await picture(page, 'asked-offline');
    expect(await page.locator('.steps').count()).toBe(1);
    expect(await page.locator('.steps[data-moving]').count()).toBe(0);
    expect(stage.server.runIds()).toHaveLength(1);
    await page.context().setOffline(false);
    const second = await latestRun(stage.server, 2);
    await expectWholeAnswer(page, stage.server, second, 'And when I am offline?');
    expect(await stopped.count()).toBe(1);
    await reload(page);
    expect(await stopped.count()).toBe(1);
    expect(await page.locator('.log > *').allTextContents()).toEqual([
      expect.stringContaining(question),
      expect.stringContaining('Thoughts'),
      expect.stringContaining('search_notes'),
      'This answer was stopped.',
      expect.stringContaining('And when I am offline?'),
      expect.stringContaining('Thoughts'),
      expect.stringContaining('search_notes'),
    ]);
  });

  it('begins a line of the wire for each run', async ({ stage }) => {
    const page = await stage.open();
    await askAndPause(stage, page, question, 'TEXT_MESSAGE_CONTENT', 20);
    const events = page.locator('.wire li', { hasText: 'event' });
    await events.filter({ hasText: /events 0 – \d+$/ }).waitFor();
    const second = await askAndPause(stage, page, 'And in a tunnel?', 'TEXT_MESSAGE_CONTENT', 5);
    const { length } = stage.server.log(second);
    await events.filter({ hasText: new RegExp(`events 0 – ${length - 1}$`) }).waitFor();
    for (const text of await events.allTextContents()) {
      const [from, to = from] = (text.match(/\d+/g) ?? []).map(Number);
      expect(from).toBeLessThanOrEqual(Number(to));
    }
  });

  it.for([undefined, 1000, 1012, 4000])(
    'goes on after the server ended the connection (code %s)',
    async (code, { stage }) => {
      const page = await stage.open();
      const runId = await askAndPause(stage, page, question);
      stage.resume();
      stage.server.dropConnections(code === undefined ? {} : { code });
      await page.locator('.wire', { hasText: 'connection lost' }).waitFor();
      await expectWholeAnswer(page, stage.server, runId, question);
    },
  );

  it('counts down to the next try, and tries at once when told to', async ({ stage }) => {
    const page = await stage.open();
    const runId = await askAndPause(stage, page, question, 'TEXT_MESSAGE_CONTENT', 20);
    stage.resume();
    stage.server.dropConnections({ refuseFor: 600_000 });
    // Long enough for the button to be pressed first.
    await page.getByText(/next try in ([5-9]|1\d) s/).waitFor();
    expect(await page.locator('.wire li', { hasText: 'connection lost' }).count()).toBe(1);
    await reconnect(stage, page);
    await expectWholeAnswer(page, stage.server, runId, question);
  });

  it('goes on after Back and Forward, from the back/forward cache', async ({ stage }) => {
    const page = await stage.open();
    await page.evaluate(() => {
      addEventListener('pageshow', (event) => {
        document.documentElement.dataset.persisted = String(event.persisted);
      });
    });
    const runId = await askAndPause(stage, page, question);
    stage.resume();
    await page.goto(`${stage.address}/vanilla/`);
    await untilLogged(stage.server, runId, 'TEXT_MESSAGE_CONTENT', 60);
    await page.goBack(asItComes);
    await page.locator('html[data-persisted=true]').waitFor({ state: 'attached' });
    await page.goForward(asItComes);
    await page.goBack(asItComes);
    await page.locator('html[data-persisted=true]').waitFor({ state: 'attached' });
    await page.getByText('Connected', { exact: true }).waitFor();
    await expectWholeAnswer(page, stage.server, runId, question);
    await expectNothingRemembered(page);
  });

  it('stops an answer, and a reload leaves it stopped', async ({ stage }) => {
    const page = await stage.open();
    const runId = await askAndPause(stage, page, question);
    await untilShown(stage, page, runId);
    const seen = textOf(stage.server.log(runId));
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('This answer was stopped.').waitFor();
    await untilLogged(stage.server, runId, 'RUN_FINISHED');
    expect(await shownText(page)).toBe(seen);
    expect(textOf(stage.server.log(runId))).toBe(seen);
    expect(stage.server.log(runId).at(-1)?.outcome).toEqual({ type: 'cancelled' });
    await expectNothingRemembered(page);
    await reload(page);
    expect(await page.locator('.user .text').textContent()).toBe(question);
    expect(await page.locator('[role=log]').getAttribute('aria-busy')).toBe('false');
    expect(await shownText(page)).toBe(seen);
  });

  it('stops an answer without a connection: the server hears of it after a reload', async ({
    stage,
  }) => {
    const page = await stage.open();
    const runId = await askAndPause(stage, page, question, 'TEXT_MESSAGE_CONTENT', 20);
    await untilShown(stage, page, runId);
    stage.server.dropConnections({ refuseFor: 600_000 });
    await page.getByText('Connection lost', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('This answer was stopped.').waitFor();
    const seen = await shownText(page);
    expect(seen).not.toBe('');
    await reload(page);
    expect(await page.locator('.user .text').textContent()).toBe(question);
    expect(await page.locator('[role=log]').getAttribute('aria-busy')).toBe('false');
    expect(await shownText(page)).toBe(seen);
    stage.server.dropConnections();
    await untilLogged(stage.server, runId, 'RUN_FINISHED');
    expect(stage.server.log(runId).at(-1)?.outcome).toEqual({ type: 'cancelled' });
    await expectNothingRemembered(page);
  });

  it('tells what happened when the server has lost the run, and asks again', async ({
    stage,
    browser,
  }) => {
    const page = await stage.open();
    await askAndPause(stage, page, question);
    const { port } = stage.server;
    await stage.server.close();
    stage.resume();
    const restarted = await createStage(browser, { port });
    try {
      await page.getByText('The server lost this run').waitFor();
      await expectNothingRemembered(page);
      await page.getByRole('button', { name: 'Ask again' }).click();
      const again = await latestRun(restarted.server, 1);
      await expectWholeAnswer(page, restarted.server, again, question);
      expect(await page.getByRole('alert').count()).toBe(0);
    } finally {
      await restarted.close();
    }
  });

  it('says so when the server closes for good, and goes on when told to', async ({ stage }) => {
    const page = await stage.open();
    const runId = await askAndPause(stage, page, question, 'TEXT_MESSAGE_CONTENT', 20);
    stage.resume();
    stage.server.dropConnections({ code: 1008, reason: 'not you' });
    const alert = page.getByRole('alert');
    await alert.getByText('The server closed the connection for good.').waitFor();
    await page.getByText('Disconnected', { exact: true }).waitFor();
    await alert.getByRole('button', { name: 'Reconnect' }).click();
    await expectWholeAnswer(page, stage.server, runId, question);
    expect(await alert.count()).toBe(0);
  });

  it('keeps two browsers apart', async ({ stage }) => {
    const [one, two] = await Promise.all([stage.open(), stage.open()]);
    await ask(one, 'What may I do with two tabs?');
    const first = await latestRun(stage.server, 1);
    const second = await askAndPause(stage, two, 'How do I stop an answer?');
    stage.resume();
    await Promise.all([reload(one), reload(two)]);
    await expectWholeAnswer(one, stage.server, first, 'What may I do with two tabs?');
    await expectWholeAnswer(two, stage.server, second, 'How do I stop an answer?');
  });
});
