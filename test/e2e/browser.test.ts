import { expect, it } from 'vitest';
import { chromiumPath, launch } from './browser.ts';

it('finds a Chromium and starts it', async ({ skip }) => {
  if (chromiumPath === undefined) {
    const missing = 'No Chromium was found (CHROMIUM_PATH may name one)';
    if (process.env.RUNSOCKET_REQUIRE_BROWSER) throw new Error(missing);
    const note = `${missing}: the browser tests are skipped.`;
    console.log(note);
    skip(note);
  }
  const browser = await launch();
  expect(browser.isConnected()).toBe(true);
  await browser.close();
});
