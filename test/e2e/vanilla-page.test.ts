import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { textOf } from '../examples/example-server.ts';
import { askAndPause, inChromium, it, reload, type Stage, until, untilLogged } from './browser.ts';

const question = 'What does my own server have to do?';

async function expectWholeAnswer({ server }: Stage, page: Page, runId: string) {
  await page.locator('#status', { hasText: 'finished' }).waitFor();
  expect(await page.locator('.user').textContent()).toBe(question);
  expect(await page.locator('.assistant').textContent()).toBe(textOf(server.log(runId)));
  expect(server.starts(runId)).toBe(1);
  await until(() => page.evaluate(() => sessionStorage.length === 0));
}

inChromium('the page without a framework', () => {
  it('goes on after reloads and a lost connection, and leaves nothing behind', async ({
    stage,
  }) => {
    const page = await stage.open({}, '/vanilla/');
    const runId = await askAndPause(stage, page, question);
    stage.resume('TEXT_MESSAGE_CONTENT', 60);
    await reload(page);
    await untilLogged(stage.server, runId, 'TEXT_MESSAGE_CONTENT', 60);
    stage.resume('TEXT_MESSAGE_CONTENT', 120);
    // Refused for a while: the first try comes within a second, perhaps too soon for the eye.
    stage.server.dropConnections({ refuseFor: 600_000 });
    await page.locator('#connection', { hasText: 'connection lost' }).waitFor();
    stage.server.dropConnections();
    await untilLogged(stage.server, runId, 'TEXT_MESSAGE_CONTENT', 120);
    stage.resume();
    await reload(page);
    await expectWholeAnswer(stage, page, runId);
  });

  it('keeps what a stopped answer said until the server knows, over a reload too', async ({
    stage,
  }) => {
    const page = await stage.open({}, '/vanilla/');
    const runId = await askAndPause(stage, page, question);
    await page.locator('.assistant').waitFor();
    stage.server.dropConnections({ refuseFor: 600_000 });
    await page.locator('#connection', { hasText: 'connection lost' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('#status', { hasText: 'aborted' }).waitFor();
    const seen = await page.locator('.assistant').textContent();
    await reload(page);
    expect(await page.locator('#status').textContent()).toBe('aborted');
    expect(await page.locator('.assistant').textContent()).toBe(seen);
    stage.server.dropConnections();
    await untilLogged(stage.server, runId, 'RUN_FINISHED');
    expect(stage.server.log(runId).at(-1)?.outcome).toEqual({ type: 'cancelled' });
    await until(() => page.evaluate(() => sessionStorage.length === 0));
  });

  it('stops', async ({ stage }) => {
    const page = await stage.open({}, '/vanilla');
    const runId = await askAndPause(stage, page, question);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('#status', { hasText: 'aborted' }).waitFor();
    await untilLogged(stage.server, runId, 'RUN_FINISHED');
    expect(stage.server.log(runId).at(-1)?.outcome).toEqual({ type: 'cancelled' });
    await until(() => page.evaluate(() => sessionStorage.length === 0));
  });
});
