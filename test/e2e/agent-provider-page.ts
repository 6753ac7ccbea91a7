import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { textOf } from '../examples/example-server.ts';
import { eventually, type Stage, untilLogged } from './browser.ts';

/** Where the page is. */
export const path = '/agent-provider/';

/** The texts of the answers that the page shows. */
export function shownAnswers(page: Page): Promise<string[]> {
  return page.locator('.assistant .ant-bubble-content').allTextContents();
}

/** The button that opens the details of a thought or a tool call; its name says how it stands. */
export function step(page: Page, name: string | RegExp): Locator {
  return page.getByRole('button', { name });
}

/** The card of the approval whose question contains these words. */
export function approval(page: Page, words: string): Locator {
  return page.locator('.approval', { hasText: words });
}

/** Wait until a card asks for an answer. */
export async function untilAsked(page: Page, words: string): Promise<Locator> {
  const card = approval(page, words);
  await card.getByRole('button', { name: 'Approve' }).waitFor();
  return card;
}

/** The conversation is at rest, and shows these answers. */
export function expectAnswers(page: Page, texts: readonly string[]): Promise<void> {
  // A page that is about to take a run up may be at rest, too.
  return eventually(async () => {
    expect(await page.locator('[role=log]').getAttribute('aria-busy')).toBe('false');
    expect(await shownAnswers(page)).toEqual(texts);
  });
}

/** The conversation is at rest, and shows these runs' texts, whole and once, each after one start. */
export async function expectWhole(
  { server }: Stage,
  page: Page,
  ...runIds: readonly string[]
): Promise<void> {
  for (const runId of runIds) await untilLogged(server, runId, 'RUN_FINISHED');
  const texts = runIds.map((runId) => textOf(server.log(runId))).filter((text) => text !== '');
  await expectAnswers(page, texts);
  for (const runId of runIds) expect(server.starts(runId)).toBe(1);
  expect(server.runIds()).toHaveLength(runIds.length);
  expect(await page.getByRole('alert').count()).toBe(0);
}

/** Let nobody in, and wait until the page has noticed. */
export async function disconnect({ server }: Stage, page: Page): Promise<void> {
  server.dropConnections({ refuseFor: 600_000 });
  await page.getByText(/Connection lost/).waitFor();
}
