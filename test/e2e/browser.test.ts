import { expect, it } from 'vitest';
import { chromiumPath, launch } from './browser.ts';

it('finds a Chromium and starts it', async ({ skip }) => {
  if (chromiumPath === undefined) {
    const note = 'No Chromium was found: the browser tests are skipped (set CHROMIUM_PATH).';
    if (process.env.RUNSOCKET_REQUIRE_BROWSER) throw new Error(note);
    console.log(note);
    skip(note);
  }
  const browser = await launch();
  expect(browser.isConnected()).toBe(true);
  await browser.close();
});
