import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { type BrowserContext, chromium, type Frame, type Page } from 'playwright-core';
import { expect } from 'vitest';
import type { AgUiAgent } from '../../src/ag-ui/agent-types.ts';
import { textOf } from '../examples/example-server.ts';
import { chromiumArgs, chromiumPath, type Stage, until, untilLogged } from './browser.ts';

/** What the page tells its test. */
export interface Chaos {
  readonly agent: AgUiAgent;
  /** The events of the page's life, oldest first. */
  readonly life: readonly string[];
  /** The codes of the errors that the agent reported. */
  readonly errors: readonly string[];
  /** Why connections ended, oldest first. */
  readonly closes: readonly string[];
  /** How often the agent told of a change, and how often the page painted meanwhile. */
  readonly counts: { readonly told: number; readonly painted: number };
  /** The time in tasks that took longer than 50 ms, in ms. */
  readonly blocked: number;
}

/** Build the page from the built package; the folder that it is in. */
export async function buildChaosPage(): Promise<string> {
  const source = fileURLToPath(new URL('pages/chaos/', import.meta.url));
  const folder = fileURLToPath(new URL('../../test-results/chaos-page', import.meta.url));
  for (const name of ['index', 'frame', 'elsewhere']) {
    cpSync(join(source, `${name}.html`), join(folder, `${name}.html`));
  }
  await build({
    entryPoints: [join(source, 'page.js')],
    outfile: join(folder, 'page.js'),
    bundle: true,
    format: 'iife',
    logLevel: 'error',
  });
  return folder;
}

/** Something of what the page tells. */
export function tell<Value>(
  page: Page | Frame,
  what: (chaos: Chaos) => Value | Promise<Value>,
): Promise<Value> {
  return page.evaluate(`(${what})(globalThis.chaos)`) as Promise<Value>;
}

/** What the page sent that concerns runs, on all of its connections, from now on. */
export function listen(page: Page): { readonly sockets: string[]; readonly sent: string[] } {
  const heard = { sockets: [] as string[], sent: [] as string[] };
  page.on('websocket', (socket) => {
    heard.sockets.push(socket.url());
    socket.on('framesent', ({ payload }) => {
      const { type } = JSON.parse(String(payload));
      if (/^(run|resume|cancel)$/.test(type)) heard.sent.push(type);
    });
  });
  return heard;
}

/** The page shows the run's text, whole and once, after one start that nobody cancelled. */
export async function expectWhole(
  { server }: Stage,
  page: Page | Frame,
  runId: string,
): Promise<void> {
  await untilLogged(server, runId, 'RUN_FINISHED');
  await page.locator('#status', { hasText: 'finished' }).waitFor();
  const log = server.log(runId);
  expect(log.at(-1)).not.toHaveProperty('outcome');
  expect(await page.locator('.assistant').last().textContent()).toBe(textOf(log));
  expect(server.starts(runId)).toBe(1);
}

/** The page has shown all that the agent has said so far. */
export async function untilShown(
  { server }: Stage,
  page: Page | Frame,
  runId: string,
): Promise<void> {
  await until(async () => {
    const said = textOf(server.log(runId));
    return (await page.locator('.assistant').last().textContent()) === said;
  });
}

/**
 * A context as a user's browser has it. Playwright tells the pages of its own contexts that they are
 * in front, and a page that is in front cannot be frozen.
 */
export async function openUsersContext(): Promise<{
  readonly context: BrowserContext;
  close(): Promise<void>;
}> {
  const profile = mkdtempSync(join(tmpdir(), 'chaos-profile-'));
  const told = join(profile, 'DevToolsActivePort');
  const chrome = spawn(
    chromiumPath as string,
    [...chromiumArgs, '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'],
    { stdio: 'ignore' },
  );
  const ended = once(chrome, 'exit');
  const close = async () => {
    chrome.kill();
    await ended;
    // Its helpers may write a little longer.
    rmSync(profile, { recursive: true, force: true, maxRetries: 20 });
  };
  try {
    await until(() => existsSync(told) && readFileSync(told, 'utf8').includes('\n'));
    const [port] = readFileSync(told, 'utf8').split('\n');
    const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`, {
      noDefaults: true,
      timeout: 90_000,
    });
    const [context] = browser.contexts();
    if (!context) throw new Error('The browser has no context.');
    return { context, close };
  } catch (error) {
    await close();
    throw error;
  }
}
