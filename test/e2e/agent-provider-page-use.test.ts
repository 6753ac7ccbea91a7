import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { textOf } from '../examples/example-server.ts';
import {
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
  eventually,
  inChromium,
  it,
  latestRun,
  picture,
  pressDrop,
  reload,
  until,
  untilLogged,
} from './browser.ts';

const lookUp = 'What is in order 1044?';
const everything = 'Where is order 1043? Refund it and tell the customer.';

const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: element } = document;
    return element?.id || element?.getAttribute('aria-label') || element?.textContent?.trim();
  });

const threadAnswers = async (page: Page) =>
  (await page.locator('.ag-ui [data-role=assistant] .text').allTextContents()).filter(
    (text) => text !== '',
  );

// The answer to the server's own hello.
const isNoHello = (type: string) => type !== 'hello';

inChromium('both views of a run', () => {
  it('say the same over one connection, in the middle and at the end', async ({ stage }) => {
    const context = await stage.openContext();
    const page = stage.watch(await context.newPage());
    const sockets: string[] = [];
    const sent: string[] = [];
    page.on('websocket', (socket) => {
      sockets.push(socket.url());
      socket.on('framesent', ({ payload }) => sent.push(JSON.parse(String(payload)).type));
    });
    await page.goto(`${stage.address}${path}?both`);
    const first = await askAndPause(stage, page, everything, 'REASONING_MESSAGE_CONTENT', 5);
    stage.resume('TEXT_MESSAGE_CONTENT', 12);
    await page.getByRole('button', { name: 'Retry track_parcel' }).click();
    await untilLogged(stage.server, first, 'TEXT_MESSAGE_CONTENT', 12);
    const said = textOf(stage.server.log(first));
    await until(async () => (await shownAnswers(page))[0] === said);
    await until(async () => (await threadAnswers(page))[0] === said);
    stage.resume();
    for (const words of ['Pay €79.00 back', 'Write to Ben Okafor']) {
      const card = await untilAsked(page, words);
      await card.getByRole('button', { name: 'Approve' }).click();
    }
    const second = await latestRun(stage.server, 2);
    await expectWhole(stage, page, first, second);
    await page.getByTestId('thread-status').getByText('finished').waitFor();
    await eventually(async () =>
      expect(await threadAnswers(page)).toEqual(await shownAnswers(page)),
    );
    await page.getByText('track_parcel({"order":"1043"})', { exact: true }).waitFor();
    expect(sockets).toHaveLength(1);
    // What was sent last may be told last.
    await until(() => sent.filter(isNoHello).length >= 3);
    expect(sent.filter(isNoHello)).toEqual(['run', 'app.retry', 'run']);
  });

  it('say the same after a reload in the middle, with one resume', async ({ stage }) => {
    const page = await stage.open({}, `${path}?both`);
    const runId = await askAndPause(stage, page, lookUp, 'TEXT_MESSAGE_CONTENT', 10);
    const said = textOf(stage.server.log(runId));
    await until(async () => (await shownAnswers(page))[0] === said);
    const sockets: string[] = [];
    const sent: string[] = [];
    page.on('websocket', (socket) => {
      sockets.push(socket.url());
      socket.on('framesent', ({ payload }) => sent.push(JSON.parse(String(payload)).type));
    });
    await reload(page);
    await until(() => sent.some(isNoHello));
    stage.resume();
    await expectWhole(stage, page, runId);
    await until(async () => (await threadAnswers(page))[0] === textOf(stage.server.log(runId)));
    await eventually(async () =>
      expect(await threadAnswers(page)).toEqual(await shownAnswers(page)),
    );
    expect(sockets).toHaveLength(1);
    expect(sent.filter(isNoHello)).toEqual(['resume']);
  });
});

inChromium('several conversations', () => {
  it('keep a run whole while another conversation is shown', async ({ stage }) => {
    const page = await stage.open({}, path);
    const first = await askAndPause(stage, page, lookUp, 'TEXT_MESSAGE_CONTENT', 5);
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByText('An agent that asks before it acts').waitFor();
    expect(await shownAnswers(page)).toEqual([]);
    stage.resume();
    await untilLogged(stage.server, first, 'RUN_FINISHED');
    await ask(page, 'What is in order 1043?');
    const second = await latestRun(stage.server, 2);
    await untilLogged(stage.server, second, 'RUN_FINISHED');
    await expectAnswers(page, [textOf(stage.server.log(second))]);
    await page.getByRole('tab', { name: lookUp }).click();
    await expectAnswers(page, [textOf(stage.server.log(first))]);
    expect(stage.server.log(first).at(-1)).not.toHaveProperty('outcome');
    await reload(page);
    await expectAnswers(page, [textOf(stage.server.log(first))]);
    await page.getByRole('tab', { name: 'What is in order 1043?' }).click();
    await expectAnswers(page, [textOf(stage.server.log(second))]);
  });
});

inChromium('using the page of Ant Design X', () => {
  it('needs the keyboard only', async ({ stage }) => {
    const page = await stage.open({}, path);
    const { keyboard } = page;
    const untilFocused = (name: string) => until(async () => (await focused(page)) === name);
    await untilFocused('question');
    await keyboard.type('Where is the parcel of order 1042?');
    await keyboard.press('Shift+Enter');
    await keyboard.type('Refund it.');
    await keyboard.press('Enter');
    const first = await latestRun(stage.server);
    expect(await page.locator('.user .ant-bubble-content').textContent()).toBe(
      'Where is the parcel of order 1042?\nRefund it.',
    );
    await page.getByRole('button', { name: 'Retry track_parcel' }).waitFor();
    await keyboard.press('Shift+Tab');
    await untilFocused('Retry track_parcel');
    await keyboard.press('Enter');
    await untilFocused('question');
    await untilAsked(page, 'Pay €48.90 back');
    await keyboard.press('Shift+Tab');
    await untilFocused('Refuse');
    await keyboard.press('Shift+Tab');
    await untilFocused('Approve');
    await keyboard.press('Enter');
    await untilFocused('question');
    const second = await latestRun(stage.server, 2);
    await expectWhole(stage, page, first, second);
    const thoughts = step(page, 'Thoughts');
    await thoughts.focus();
    expect(await thoughts.getAttribute('aria-expanded')).toBe('false');
    await keyboard.press('Enter');
    await page.locator('.thought').waitFor();
    await keyboard.press('Space');
    await until(async () => (await page.locator('.thought').count()) === 0);
    await page.locator('.skip').focus();
    await keyboard.press('Enter');
    await untilFocused('question');
  });

  it('tells assistive technology what is what', async ({ stage }) => {
    const page = await stage.open({}, `${path}?both`);
    await askAndPause(stage, page, everything, 'REASONING_MESSAGE_CONTENT', 5);
    await page.getByRole('log', { name: 'Conversation' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'Connected' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'The agent is answering.' }).waitFor();
    await page.getByRole('heading', { name: 'You asked', level: 3 }).waitFor();
    await page.getByRole('group', { name: 'What the agent did' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.getByRole('complementary', { name: 'The AG-UI thread' }).waitFor();
    await page.getByRole('switch', { name: 'AG-UI thread' }).waitFor();
    await page.getByRole('navigation', { name: 'Conversations' }).waitFor();
    stage.resume();
    await page.getByRole('button', { name: 'Retry track_parcel' }).click();
    await untilAsked(page, 'Pay €79.00 back');
    await page.getByRole('group', { name: 'The agent asks for your approval' }).first().waitFor();
    await page.getByRole('status').filter({ hasText: 'asks for your approval' }).waitFor();
    await until(async () => (await page.title()).includes('Your approval is needed'));
    await page.getByRole('heading', { name: 'The agent answered', level: 3 }).waitFor();
  });

  it.for([
    ['light', 1280, 800],
    ['dark', 1280, 800],
    ['light', 390, 844],
    ['dark', 320, 600],
  ] as const)('looks right in %s at %i pixels', async ([colorScheme, width, height], { stage }) => {
    const page = await stage.open({ colorScheme, viewport: { width, height } }, path);
    const look = async (name: string) => {
      await picture(page, `ant-design-x-${name}-${colorScheme}-${width}`);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      const { y = height, height: size = 0 } =
        (await page.locator('#question').boundingBox()) ?? {};
      expect(y + size).toBeLessThan(height);
    };
    await look('welcome');
    await askAndPause(stage, page, everything, 'REASONING_MESSAGE_CONTENT', 40);
    await step(page, 'Thinking…').waitFor();
    await look('thinking');
    stage.resume('TEXT_MESSAGE_CONTENT', 25);
    const retry = page.getByRole('button', { name: 'Retry track_parcel' });
    await retry.waitFor();
    await look('failed-tool');
    await retry.click();
    await page.locator('.ant-bubble-updating').waitFor();
    await look('answer');
    stage.resume();
    const card = await untilAsked(page, 'Pay €79.00 back');
    await card.scrollIntoViewIfNeeded();
    await look('approval');
    for (const name of ['Approve', 'Refuse']) {
      expect(await card.getByRole('button', { name }).isVisible()).toBe(true);
    }
    await card.getByRole('button', { name: 'Approve' }).click();
    const letter = await untilAsked(page, 'Write to Ben Okafor');
    await letter.getByRole('button', { name: 'Refuse' }).click();
    await page.locator('[role=log][aria-busy=false]').waitFor();
    await page.getByRole('switch', { name: 'AG-UI thread' }).click();
    await page.locator('.ag-ui [data-role=assistant]').first().waitFor();
    await until(() =>
      page
        .locator('.ag-ui')
        .evaluate((panel) => panel.getBoundingClientRect().bottom <= innerHeight),
    );
    await look('both');
    await pressDrop(stage, page);
    await page.getByText(/Connection lost/).waitFor();
    await look('lost');
  });
});
