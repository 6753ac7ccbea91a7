import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { textOf } from '../examples/example-server.ts';
import {
  approval,
  disconnect,
  expectAnswers,
  expectWhole,
  path,
  shownAnswers,
  step,
  untilAsked,
} from './agent-provider-page.ts';
import {
  ask,
  askAndPause,
  createStage,
  eventually,
  inChromium,
  it,
  latestRun,
  reconnect,
  reload,
  type Stage,
  until,
  untilLogged,
} from './browser.ts';

const lookUp = 'What is in order 1044?';
const refund = 'Refund order 1042.';
const refundAndTell = 'Refund order 1042 and tell the customer.';
const track = 'Track the parcel of order 1044.';

const open = (stage: Stage) => stage.open({}, path);

/** Ask, and wait until the first run has ended with its questions. */
async function askForLeave(stage: Stage, page: Page, question = refund) {
  await ask(page, question);
  const first = await latestRun(stage.server);
  const card = await untilAsked(page, 'Pay €48.90 back');
  return { first, card };
}

inChromium('the page of Ant Design X', () => {
  it('shows an answer with its thoughts and its tool call', async ({ stage }) => {
    const page = await open(stage);
    const runId = await askAndPause(stage, page, lookUp, 'REASONING_MESSAGE_CONTENT', 5);
    await step(page, 'Thinking…').waitFor();
    await page.getByText('This is about order 1044.').waitFor();
    stage.resume('TOOL_CALL_END', 1);
    await step(page, 'find_order is at work…').waitFor();
    stage.resume('TEXT_MESSAGE_CONTENT', 8);
    await page.locator('.ant-bubble-updating').waitFor();
    stage.resume();
    await expectWhole(stage, page, runId);
    expect(await page.locator('.user .ant-bubble-content').textContent()).toBe(lookUp);
    await until(async () => (await page.locator('.thought').count()) === 0);
    await step(page, 'Thoughts').click();
    const log = stage.server.log(runId);
    const thoughts = log.filter((event) => event.type === 'REASONING_MESSAGE_CONTENT');
    expect(await page.locator('.thought').textContent()).toBe(
      thoughts.map((event) => event.delta).join(''),
    );
    await step(page, 'find_order done').click();
    const result = log.find((event) => event.type === 'TOOL_CALL_RESULT');
    await eventually(async () =>
      expect(await page.locator('.details dd').allTextContents()).toEqual([
        '{"number":"1044"}',
        result?.content,
      ]),
    );
  });

  it('does what is approved', async ({ stage }) => {
    const page = await open(stage);
    const { first, card } = await askForLeave(stage, page);
    expect(await card.textContent()).toContain('Money that is paid back is gone.');
    expect(await card.textContent()).toMatch(/\d+:\d\d left to answer/);
    await step(page, 'refund_order waits for you').waitFor();
    expect(await page.locator('[role=log]').getAttribute('aria-busy')).toBe('true');
    await card.getByRole('button', { name: 'Approve' }).click();
    await card.getByText('Approved', { exact: true }).waitFor();
    const second = await latestRun(stage.server, 2);
    await expectWhole(stage, page, first, second);
    expect((await shownAnswers(page)).at(-1)).toBe('€48.90 went back to Ada Baker.');
    await step(page, 'refund_order done').waitFor();
    expect(await card.getByRole('button').count()).toBe(0);
  });

  it('leaves undone what is refused', async ({ stage }) => {
    const page = await open(stage);
    const { first, card } = await askForLeave(stage, page);
    await card.getByRole('button', { name: 'Refuse' }).click();
    await card.getByText('Refused', { exact: true }).waitFor();
    const second = await latestRun(stage.server, 2);
    await expectWhole(stage, page, first, second);
    expect((await shownAnswers(page)).at(-1)).toContain('The refund was not made');
    await step(page, 'refund_order failed').waitFor();
    await page.getByText('You refused it.').waitFor();
    expect(await page.getByRole('button', { name: /Retry/ }).count()).toBe(0);
  });

  it('goes on once both of two questions are answered', async ({ stage }) => {
    const page = await open(stage);
    const { first, card } = await askForLeave(stage, page, refundAndTell);
    const letter = await untilAsked(page, 'Write to Ada Baker');
    await card.getByRole('button', { name: 'Approve' }).click();
    await card.getByText('Approved', { exact: true }).waitFor();
    expect(stage.server.runIds()).toEqual([first]);
    await letter.getByRole('button', { name: 'Refuse' }).click();
    const second = await latestRun(stage.server, 2);
    await expectWhole(stage, page, first, second);
    expect((await shownAnswers(page)).at(-1)).toBe(
      '€48.90 went back to Ada Baker. No letter was written to Ada Baker.',
    );
  });

  it('tries a failed tool again, as often as it fails', async ({ stage }) => {
    const page = await open(stage);
    await ask(page, `${track} Fail twice.`);
    const runId = await latestRun(stage.server);
    const retry = page.getByRole('button', { name: 'Retry track_parcel' });
    for (const attempt of ['failed', 'failed, attempt 2']) {
      await step(page, `track_parcel ${attempt}`).waitFor();
      await retry.click();
    }
    await step(page, 'track_parcel done, attempt 3').waitFor();
    await expectWhole(stage, page, runId);
    expect(await page.locator('.failure').allTextContents()).toEqual([
      'The carrier did not answer in time.',
      'The carrier did not answer in time.',
    ]);
    expect(await retry.count()).toBe(0);
  });

  it('stops an answer, and a reload leaves it stopped', async ({ stage }) => {
    const page = await open(stage);
    const runId = await askAndPause(stage, page, lookUp, 'TEXT_MESSAGE_CONTENT', 10);
    const said = textOf(stage.server.log(runId));
    await until(async () => (await shownAnswers(page))[0] === said);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('This answer was stopped.').waitFor();
    await untilLogged(stage.server, runId, 'RUN_FINISHED');
    expect(stage.server.log(runId).at(-1)?.outcome).toEqual({ type: 'cancelled' });
    await reload(page);
    await page.getByText('This answer was stopped.').waitFor();
    await expectAnswers(page, [said]);
    stage.resume();
    await ask(page, 'What is in order 1043?');
    const second = await latestRun(stage.server, 2);
    await untilLogged(stage.server, second, 'RUN_FINISHED');
    await expectAnswers(page, [said, textOf(stage.server.log(second))]);
  });

  it('stops while it waits for an approval or a retry', async ({ stage }) => {
    const page = await open(stage);
    const { card } = await askForLeave(stage, page);
    await page.keyboard.press('Escape');
    await card.getByText('Not answered').waitFor();
    await page.getByText('This answer was stopped.').waitFor();
    await step(page, 'refund_order stopped').waitFor();
    await ask(page, track);
    const second = await latestRun(stage.server, 2);
    await step(page, 'track_parcel failed').waitFor();
    await page.keyboard.press('Escape');
    await until(async () => (await page.getByText('This answer was stopped.').count()) === 2);
    await untilLogged(stage.server, second, 'RUN_FINISHED');
    expect(stage.server.log(second).at(-1)?.outcome).toEqual({ type: 'cancelled' });
    expect(await page.getByRole('button', { name: /Retry/ }).count()).toBe(0);
  });
});

inChromium('a reload of the page of Ant Design X', () => {
  it.for([
    ['while it thinks', 'REASONING_MESSAGE_CONTENT', 10],
    ['while a tool is called', 'TOOL_CALL_ARGS', 1],
    ['while a tool is at work', 'TOOL_CALL_END', 1],
    ['in the middle of the text', 'TEXT_MESSAGE_CONTENT', 15],
  ] as const)('goes on %s', async ([, type, count], { stage }) => {
    const page = await open(stage);
    const runId = await askAndPause(stage, page, lookUp, type, count);
    stage.resume('TEXT_MESSAGE_CONTENT', 20);
    await reload(page);
    expect(await page.locator('.user .ant-bubble-content').textContent()).toBe(lookUp);
    expect(await page.locator('[role=log]').getAttribute('aria-busy')).toBe('true');
    stage.resume();
    await expectWhole(stage, page, runId);
    await step(page, 'Thoughts').waitFor();
    await step(page, 'find_order done').waitFor();
    await reload(page);
    await expectWhole(stage, page, runId);
  });

  it('takes an approval that waited over it', async ({ stage }) => {
    const page = await open(stage);
    const { first } = await askForLeave(stage, page);
    await reload(page);
    await reload(page);
    const card = await untilAsked(page, 'Pay €48.90 back');
    expect(await page.locator('[role=log]').getAttribute('aria-busy')).toBe('true');
    await card.getByRole('button', { name: 'Approve' }).click();
    const second = await latestRun(stage.server, 2);
    await expectWhole(stage, page, first, second);
    expect((await shownAnswers(page)).at(-1)).toBe('€48.90 went back to Ada Baker.');
    await step(page, 'refund_order done').waitFor();
  });

  it('keeps the first of two answers', async ({ stage }) => {
    const page = await open(stage);
    const { first, card } = await askForLeave(stage, page, refundAndTell);
    await card.getByRole('button', { name: 'Approve' }).click();
    await card.getByText('Approved', { exact: true }).waitFor();
    await reload(page);
    await card.getByText('Approved', { exact: true }).waitFor();
    const letter = await untilAsked(page, 'Write to Ada Baker');
    await letter.getByRole('button', { name: 'Refuse' }).click();
    const second = await latestRun(stage.server, 2);
    await expectWhole(stage, page, first, second);
    expect((await shownAnswers(page)).at(-1)).toBe(
      '€48.90 went back to Ada Baker. No letter was written to Ada Baker.',
    );
  });

  it('takes the retry of a tool that waited over it', async ({ stage }) => {
    const page = await open(stage);
    await ask(page, track);
    const runId = await latestRun(stage.server);
    await step(page, 'track_parcel failed').waitFor();
    await reload(page);
    await page.getByRole('button', { name: 'Retry track_parcel' }).click();
    await step(page, 'track_parcel done, attempt 2').waitFor();
    await expectWhole(stage, page, runId);
  });

  it.for([
    ['before the answer has left', false],
    ['after the server has begun to act', true],
  ] as const)('loses no answer right after it, %s', async ([, waits], { stage }) => {
    const page = await open(stage);
    const { first, card } = await askForLeave(stage, page);
    stage.pauseAt('TOOL_CALL_RESULT', 1);
    if (waits) {
      await card.getByRole('button', { name: 'Approve' }).click();
      await untilLogged(stage.server, await latestRun(stage.server, 2), 'TOOL_CALL_RESULT');
      await page.reload();
    } else {
      const loaded = page.waitForEvent('load');
      await card
        .getByRole('button', { name: 'Approve' })
        .evaluate((button: HTMLElement) => {
          button.click();
          location.reload();
        })
        // The page may be gone before it can say that it has done so.
        .catch((error) => {
          if (!/navigation|context was destroyed/.test(String(error))) throw error;
        });
      await loaded;
    }
    await approval(page, 'Pay €48.90 back').getByText('Approved', { exact: true }).waitFor();
    stage.resume();
    const second = await latestRun(stage.server, 2);
    await expectWhole(stage, page, first, second);
    expect((await shownAnswers(page)).at(-1)).toBe('€48.90 went back to Ada Baker.');
    await step(page, 'refund_order done').waitFor();
  });
});

inChromium('a lost connection of the page of Ant Design X', () => {
  it('costs nothing in the middle of the text', async ({ stage }) => {
    const page = await open(stage);
    const runId = await askAndPause(stage, page, lookUp, 'TEXT_MESSAGE_CONTENT', 10);
    await disconnect(stage, page);
    stage.resume('TEXT_MESSAGE_CONTENT', 20);
    await untilLogged(stage.server, runId, 'TEXT_MESSAGE_CONTENT', 20);
    await reconnect(stage, page);
    stage.resume();
    await expectWhole(stage, page, runId);
  });

  it('takes an answer and a retry that were given without it', async ({ stage }) => {
    const page = await open(stage);
    const { first, card } = await askForLeave(stage, page);
    await disconnect(stage, page);
    await card.getByRole('button', { name: 'Approve' }).click();
    await card.getByText('Approved', { exact: true }).waitFor();
    expect(stage.server.runIds()).toEqual([first]);
    await reconnect(stage, page);
    const second = await latestRun(stage.server, 2);
    await expectWhole(stage, page, first, second);
    await ask(page, track);
    await step(page, 'track_parcel failed').waitFor();
    await disconnect(stage, page);
    await page.getByRole('button', { name: 'Retry track_parcel' }).click();
    await reconnect(stage, page);
    await step(page, 'track_parcel done, attempt 2').waitFor();
    await expectWhole(stage, page, first, second, await latestRun(stage.server, 3));
  });

  it('says so when the server has lost the run, and asks again', async ({ stage, browser }) => {
    const page = await open(stage);
    const runId = await askAndPause(stage, page, lookUp, 'TEXT_MESSAGE_CONTENT', 10);
    const said = textOf(stage.server.log(runId));
    await until(async () => (await shownAnswers(page))[0] === said);
    const { port } = stage.server;
    await stage.server.close();
    stage.resume();
    const restarted = await createStage(browser, { port });
    try {
      const alert = page.getByRole('alert');
      await alert.getByText('was lost by the server').waitFor();
      await alert.getByRole('button', { name: 'Ask again' }).click();
      const again = await latestRun(restarted.server, 1);
      await untilLogged(restarted.server, again, 'RUN_FINISHED');
      await expectAnswers(page, [said, textOf(restarted.server.log(again))]);
      expect(await page.locator('.user').count()).toBe(2);
    } finally {
      await restarted.close();
    }
  });
});
