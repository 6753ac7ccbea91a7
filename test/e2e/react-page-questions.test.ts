import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { type Agent, textOf } from '../examples/example-server.ts';
import {
  ask,
  eventually,
  inChromium,
  it,
  latestRun,
  picture,
  reload,
  type Stage,
  shownText,
  until,
  untilLogged,
  withStage,
} from './browser.ts';

const refund = 'Refund order 1042.';
const paid = '€48.90 went back to Ada Baker.';

const card = (page: Page, words: string) =>
  page.getByRole('region', { name: 'Your approval is needed' }).filter({ hasText: words });

const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent?.trim());

const untilFocused = (page: Page, name: string) =>
  until(async () => (await focused(page)) === name);

async function untilAsked(page: Page, words: string) {
  const found = card(page, words);
  await found.getByRole('button', { name: 'Accept' }).waitFor();
  return found;
}

/** The conversation is at rest behind a run that said this. */
async function expectSaid({ server }: Stage, page: Page, runId: string, text: string) {
  await untilLogged(server, runId, 'RUN_FINISHED');
  expect(textOf(server.log(runId))).toBe(text);
  await eventually(async () => {
    expect(await page.locator('[role=log]').getAttribute('aria-busy')).toBe('false');
    expect(await shownText(page)).toBe(text);
  });
  expect(server.starts(runId)).toBe(1);
  expect(await page.getByRole('button', { name: 'Accept' }).count()).toBe(0);
  expect(await page.getByRole('alert').count()).toBe(0);
}

inChromium('a question on the chat page', () => {
  it('is answered by keyboard, and the answer is acted on', async ({ stage }) => {
    const page = await stage.open();
    await ask(page, refund);
    await untilAsked(page, 'Pay €48.90 back to Ada Baker for order 1042?');
    await page.getByRole('status').filter({ hasText: 'asks for your approval' }).waitFor();
    await page.getByRole('region', { name: 'Tool call refund_order, waits for you' }).waitFor();
    await until(async () => (await page.title()).startsWith('Your approval is needed'));
    // It takes nobody's focus who may be typing.
    await untilFocused(page, 'question');
    await page.keyboard.press('Shift+Tab');
    await untilFocused(page, 'Decline');
    await page.keyboard.press('Shift+Tab');
    await untilFocused(page, 'Accept');
    await picture(page, 'question-focused');
    await page.keyboard.press('Enter');
    await untilFocused(page, 'question');
    const second = await latestRun(stage.server, 2);
    await expectSaid(stage, page, second, paid);
    await page.getByRole('region', { name: 'Tool call refund_order, done' }).waitFor();
    await until(async () => (await page.title()) === 'runsocket');
  });

  it('is open after reloads, and declined then', async ({ stage }) => {
    const page = await stage.open();
    await ask(page, refund);
    await untilAsked(page, 'Pay €48.90 back');
    await reload(page);
    await untilAsked(page, 'Pay €48.90 back');
    await reload(page);
    const found = await untilAsked(page, 'Pay €48.90 back');
    await found.getByRole('button', { name: 'Decline' }).click();
    await untilFocused(page, 'question');
    const second = await latestRun(stage.server, 2);
    await expectSaid(
      stage,
      page,
      second,
      'The refund was not made; Ada Baker has not been paid anything.',
    );
    await reload(page);
    await page.getByText('The refund was not made').waitFor();
    expect(await page.getByRole('button', { name: 'Accept' }).count()).toBe(0);
  });

  it('loses no answer over a reload right after it', async ({ stage }) => {
    const page = await stage.open();
    await ask(page, refund);
    const found = await untilAsked(page, 'Pay €48.90 back');
    stage.pauseAt('TOOL_CALL_RESULT', 1);
    await found.getByRole('button', { name: 'Accept' }).click();
    const second = await latestRun(stage.server, 2);
    await untilLogged(stage.server, second, 'TOOL_CALL_RESULT');
    await reload(page);
    expect(await page.getByRole('button', { name: 'Accept' }).count()).toBe(0);
    stage.resume();
    await expectSaid(stage, page, second, paid);
    expect(stage.server.runIds()).toHaveLength(2);
  });

  it('comes with others one after the other, and one run brings all answers', async ({ stage }) => {
    const page = await stage.open();
    await ask(page, 'Refund order 1042 and tell the customer.');
    const first = await latestRun(stage.server);
    const found = await untilAsked(page, 'Pay €48.90 back');
    await found.getByText('(1 of 2)').waitFor();
    await found.getByRole('button', { name: 'Accept' }).focus();
    await page.keyboard.press('Enter');
    const letter = await untilAsked(page, 'Write to Ada Baker');
    // An Enter that was held down for too long accepts nothing more.
    await until(() => letter.evaluate((section) => section === document.activeElement));
    await page.keyboard.press('Enter');
    expect(stage.server.runIds()).toEqual([first]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await untilFocused(page, 'Decline');
    await page.keyboard.press('Enter');
    const second = await latestRun(stage.server, 2);
    await expectSaid(stage, page, second, `${paid} No letter was written to Ada Baker.`);
  });

  it('gives way to another one of the user', async ({ stage }) => {
    const page = await stage.open();
    await ask(page, refund);
    await untilAsked(page, 'Pay €48.90 back');
    await ask(page, 'What happens when I reload this page?');
    const second = await latestRun(stage.server, 2);
    await untilLogged(stage.server, second, 'RUN_FINISHED');
    await expectSaid(stage, page, second, textOf(stage.server.log(second)));
    expect(textOf(stage.server.log(second))).toContain('You asked: “What happens when I reload');
    expect(await card(page, 'Pay €48.90 back').count()).toBe(0);
    await page.getByRole('region', { name: 'Tool call refund_order, no result' }).waitFor();
  });

  it.for([
    ['light', 1280],
    ['dark', 360],
  ] as const)('looks right in %s at %i pixels', async ([colorScheme, width], { stage }) => {
    const page = await stage.open({ colorScheme, viewport: { width, height: 700 } });
    await ask(page, 'Refund order 1042 and tell the customer.');
    const found = await untilAsked(page, 'Pay €48.90 back');
    await eventually(async () => {
      for (const name of ['Accept', 'Decline']) {
        const box = await found.getByRole('button', { name }).boundingBox();
        expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(700);
      }
    });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    await picture(page, `question-${colorScheme}-${width}`);
  });
});

/** The answers that the agent below was given, by what it was asked. */
const answers = new Map<string, unknown[]>();

/** Asks for leave: what is `late` cannot be given any more, and what `fails` takes no answer at first. */
const hasty: Agent = async function* ({ input, runId }) {
  const messages = input.messages as { content: string }[];
  const words = String(messages[0]?.content);
  if (input.resume) {
    const given = [...(answers.get(words) ?? []), input.resume];
    answers.set(words, given);
    if (words === 'fails' && given.length === 1) throw new Error('Not now.');
    yield { type: 'TEXT_MESSAGE_CHUNK', messageId: runId, role: 'assistant', delta: 'Well.' };
    return;
  }
  answers.delete(words);
  const expiresAt = words === 'late' ? new Date(0).toISOString() : undefined;
  const interrupts = [{ id: '__proto__', reason: 'approval', expiresAt }];
  yield { type: 'RUN_FINISHED', outcome: { type: 'interrupt', interrupts } };
};

const itHastily = withStage(() => ({ agent: hasty }));

inChromium('a question on the chat page that is not answered at once', () => {
  itHastily('is dismissed when it is too late', async ({ stage }) => {
    const page = await stage.open();
    await ask(page, 'late');
    await page.getByText('It is too late to answer.').waitFor();
    expect(await page.getByRole('button', { name: 'Accept' }).count()).toBe(0);
    await picture(page, 'question-expired');
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.getByText('Well.').waitFor();
    await page.getByText('It is too late to answer.').waitFor({ state: 'detached' });
    expect(answers.get('late')).toEqual([[{ interruptId: '__proto__', status: 'cancelled' }]]);
  });

  itHastily('is answered again when the answer failed', async ({ stage }) => {
    const page = await stage.open();
    await ask(page, 'fails');
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.getByRole('alert').getByText('The answer broke off.').waitFor();
    // To ask once more would have the agent ask once more.
    expect(await page.getByRole('button', { name: 'Ask again' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.getByText('Well.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    const answer = { interruptId: '__proto__', status: 'resolved', payload: { approved: true } };
    expect(answers.get('fails')).toEqual([[answer], [answer]]);
  });
});
