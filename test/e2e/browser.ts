import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { describe, expect, type TestAPI, test, vi } from 'vitest';
import {
  type Agent,
  createScriptedAgent,
  type ExampleServer,
  startExample,
  textOf,
} from '../examples/example-server.ts';

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/**
 * Where a Chromium is: what `CHROMIUM_PATH` says, or one of the usual places. Undefined on a machine
 * without one, where the browser tests are skipped.
 */
export const chromiumPath: string | undefined = (
  process.env.CHROMIUM_PATH ? [process.env.CHROMIUM_PATH] : places
).find((path) => existsSync(path));

/** A suite that needs a browser; its tests run side by side. */
export function inChromium(name: string, tests: () => void): void {
  describe.skipIf(chromiumPath === undefined)(`${name} in Chromium`, { concurrent: true }, tests);
}

/** How long a wait may take on a machine that is busy with other things, in ms. */
const patience = 60_000;
/** How many times slower than it is the processor is made for the pages: to find what depends on it. */
const slowdown = Number(process.env.E2E_SLOWDOWN ?? 1);

const results = fileURLToPath(new URL('../../test-results/', import.meta.url));

// What Chromium itself says about a connection that was lost on purpose.
const networkNoise = /^(WebSocket connection to|Failed to load resource: net::)/;

/** What every Chromium here is started with. */
export const chromiumArgs: readonly string[] = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launch(): Promise<Browser> {
  return chromium.launch({
    ...(chromiumPath !== undefined && { executablePath: chromiumPath }),
    // Playwright turns the back/forward cache off; a user's browser has it.
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
    args: [...chromiumArgs],
  });
}

/** A server with the pages, and contexts of a browser that look at it. */
export interface Stage {
  readonly server: ExampleServer;
  readonly address: string;
  /** What the pages said on the console that they should not. */
  readonly complaints: string[];
  /** Let the agent say nothing more once it has said so many events of a type, until `resume()`. */
  pauseAt(type: string, count: number): void;
  /** Let it go on, to its end or to the next pause. */
  resume(type?: string, count?: number): void;
  openContext(options?: Parameters<Browser['newContext']>[0]): Promise<BrowserContext>;
  open(options?: Parameters<Browser['newContext']>[0], path?: string): Promise<Page>;
  watch(page: Page): Page;
  close(): Promise<void>;
}

/** Options of {@link createStage}. */
export interface StageOptions {
  readonly pace?: number;
  readonly port?: number;
  /** Folders of pages beside the examples, by the path they are served under. */
  readonly pages?: Readonly<Record<string, string>>;
  /** What the example server reads from its environment. */
  readonly env?: Record<string, string>;
  /** @default the scripted one of the example */
  readonly agent?: Agent;
}

export async function createStage(
  browser: Browser,
  { pace = 5, port = 0, pages: ownPages, env = {}, agent: ownAgent }: StageOptions = {},
): Promise<Stage> {
  const { pages } = (await import(
    /* @vite-ignore */ new URL('../../scripts/examples.mjs', import.meta.url).href
  )) as { pages: Record<string, string> };
  const scripted = ownAgent ?? (await createScriptedAgent({ pace }));
  let mark: { readonly type: string; readonly count: number } | undefined;
  const held = new Set<() => void>();
  const agent: Agent = async function* (run) {
    const said = new Map<string, number>();
    for await (const event of scripted(run)) {
      const count = (said.get(event.type) ?? 0) + 1;
      said.set(event.type, count);
      yield event;
      if (event.type === mark?.type && count >= mark.count) {
        // An agent that is held still hears that it is to stop.
        await new Promise<void>((resolve) => {
          held.add(resolve);
          run.signal.addEventListener('abort', () => resolve());
        });
      }
    }
  };
  function resume(type?: string, count = 0) {
    mark = type === undefined ? undefined : { type, count };
    for (const release of held) release();
    held.clear();
  }
  const server = await startExample({ agent, port, pages: { ...ownPages, ...pages }, env });
  const contexts: BrowserContext[] = [];
  const address = `http://127.0.0.1:${server.port}`;
  const complaints: string[] = [];
  const stage: Stage = {
    server,
    address,
    complaints,
    pauseAt(type, count) {
      mark = { type, count };
    },
    resume,
    async openContext(options) {
      const context = await browser.newContext(options);
      context.setDefaultTimeout(patience);
      contexts.push(context);
      return context;
    },
    watch(page) {
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('console', (message) => {
        if (!['error', 'warning'].includes(message.type())) return;
        if (!networkNoise.test(message.text())) complaints.push(message.text());
      });
      return page;
    },
    async open(options, path = '/') {
      const context = await stage.openContext(options);
      const page = stage.watch(await context.newPage());
      if (slowdown > 1) {
        const session = await context.newCDPSession(page);
        await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
      }
      await page.goto(address + path);
      return page;
    },
    async close() {
      resume();
      for (const context of contexts) await context.close();
      await server.close();
    },
  };
  return stage;
}

// biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of what a fixture needs
async function useBrowser({}, use: (browser: Browser) => Promise<void>): Promise<void> {
  const browser = await launch();
  await use(browser);
  await browser.close();
}

/** A test with a browser for its file, and with a server and contexts of its own. */
export function withStage(
  options?: () => StageOptions | Promise<StageOptions>,
): TestAPI<{ browser: Browser; stage: Stage }> {
  return test.extend<{ browser: Browser; stage: Stage }>({
    browser: [useBrowser, { scope: 'file' }],
    stage: async ({ browser }, use) => {
      const stage = await createStage(browser, await options?.());
      await use(stage);
      await stage.close();
      expect(stage.complaints).toEqual([]);
    },
  });
}

/** {@link withStage}, with the example server. */
export const it: TestAPI<{ browser: Browser; stage: Stage }> = withStage();

/** Keep a picture of the page, for people to look at. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(results, { recursive: true });
  await page.screenshot({ path: `${results}${name}.png` });
}

/** Wait until something is so. (`expect.poll` knows no tests that run side by side.) */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const start = Date.now();
  while (!(await condition())) {
    if (Date.now() - start > patience) throw new Error(`Never came true: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Wait until nothing that is checked fails any more: for what a page shows a frame or two later. */
export function eventually(check: () => Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: patience, interval: 20 });
}

/** Wait until a run's log says something of a type, at least so often. */
export async function untilLogged(
  server: ExampleServer,
  runId: string,
  type: string,
  count = 1,
): Promise<void> {
  await until(() => server.log(runId).filter((event) => event.type === type).length >= count);
}

/** The id of the latest run. */
export async function latestRun(server: ExampleServer, count = 1): Promise<string> {
  await until(() => server.runIds().length === count);
  return server.runIds().at(-1) as string;
}

/** What the page shows of the latest answer. */
export async function shownText(page: Page): Promise<string> {
  return (await page.locator('.assistant .text').last().textContent()) ?? '';
}

/** The page is done with the run, and shows its log: the text whole and once, after one start. */
export async function expectWholeAnswer(
  page: Page,
  server: ExampleServer,
  runId: string,
  question: string,
): Promise<void> {
  await untilLogged(server, runId, 'RUN_FINISHED');
  const log = server.log(runId);
  expect(log.at(-1)).not.toHaveProperty('outcome');
  // A page that is about to take the run up again may be at rest, too.
  await eventually(async () => {
    expect(await page.locator('[role=log]').getAttribute('aria-busy')).toBe('false');
    expect(await page.locator('.assistant .text').count()).toBeGreaterThan(0);
    expect(await shownText(page)).toBe(textOf(log));
    expect(await page.locator('.tool').last().getAttribute('data-status')).toBe('done');
    expect(await page.locator('.steps li:not([data-status=done])').count()).toBe(0);
  });
  expect(await page.locator('.user .text').last().textContent()).toBe(question);
  expect(server.starts(runId)).toBe(1);
}

/** The page has shown all that the agent has said so far. */
export async function untilShown(
  { server }: Pick<Stage, 'server'>,
  page: Page,
  runId: string,
): Promise<void> {
  await page.locator('.assistant .text').first().waitFor();
  await until(async () => (await shownText(page)) === textOf(server.log(runId)));
}

/** Press the page's own button that drops the connection, and let nobody in again. */
export async function pressDrop({ server }: Pick<Stage, 'server'>, page: Page): Promise<void> {
  const dropped = page.waitForResponse((response) => response.url().endsWith('/agent/drop'));
  await page
    .getByRole('button', { name: 'Drop connection' })
    .and(page.locator('[aria-disabled=false]'))
    .click();
  await dropped;
  server.dropConnections({ refuseFor: 600_000 });
}

/** Let the page in again, which tries at once. */
export async function reconnect({ server }: Pick<Stage, 'server'>, page: Page): Promise<void> {
  server.dropConnections();
  const tryNow = page.getByRole('button', { name: 'Try now' });
  await until(async () => {
    // It may be in by itself before the button is pressed.
    if (await tryNow.isVisible())
      await tryNow.dispatchEvent('click', {}, { timeout: 100 }).catch(() => {});
    return page.getByText(/^Connected/).isVisible();
  });
}

/** The page remembers no run for the next one; it gives a run a second to go on behind its end. */
export async function expectNothingRemembered(page: Page): Promise<void> {
  const remembered = () =>
    page.evaluate(() =>
      Object.values(sessionStorage).flatMap(
        (text) => (JSON.parse(text).runs ?? []) as { runId: string }[],
      ),
    );
  await until(async () => (await remembered()).length === 0);
}

/** Type a question and send it. */
export async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.keyboard.press('Enter');
}

/** Ask, and wait until the agent has said so many events of a type, and holds on. */
export async function askAndPause(
  { server, pauseAt }: Stage,
  page: Page,
  question: string,
  type = 'TEXT_MESSAGE_CONTENT',
  count = 30,
): Promise<string> {
  pauseAt(type, count);
  const runs = server.runIds().length;
  await ask(page, question);
  const runId = await latestRun(server, runs + 1);
  await untilLogged(server, runId, type, count);
  return runId;
}

/** Reload, and wait until the page shows its conversation. */
export async function reload(page: Page): Promise<void> {
  await page.reload();
  await page.locator('[role=log]').waitFor();
}
