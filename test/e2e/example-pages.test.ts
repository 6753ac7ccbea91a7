import type { JSHandle, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Agent } from '../examples/example-server.ts';
import {
  ask,
  eventually,
  inChromium,
  latestRun,
  picture,
  until,
  untilLogged,
  withStage,
} from './browser.ts';

const word = 'Donaudampfschifffahrtsgesellschaftskapitaen'.repeat(12);
const code = `\`\`\`js\nconst answer = await fetch("https://example.com/${'a/very/long/path/'.repeat(9)}");\n\`\`\``;
const reason = `${'x'.repeat(300)} is what the model said.`;
const many = 100;

/** Says what pages have a hard time to show: `long`, `broken` or `many`; all else does not end. */
const agent: Agent = async function* ({ input, runId, signal }) {
  const messages = input.messages as { content: string }[];
  const words = messages.at(-1)?.content;
  const say = (id: string, delta: string, role = 'assistant') => [
    { type: 'TEXT_MESSAGE_START', messageId: runId + id, role },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: runId + id, delta },
    { type: 'TEXT_MESSAGE_END', messageId: runId + id },
  ];
  if (words === 'long') {
    const toolCallId = `${runId}-call`;
    const toolCallName = `find_${'a_very_long_name_'.repeat(9)}`;
    yield { type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId: `${runId}a` };
    yield { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify({ word }) };
    yield { type: 'TOOL_CALL_END', toolCallId };
    yield { type: 'TOOL_CALL_RESULT', messageId: `${runId}r`, toolCallId, content: word };
    yield* say('a', `${word}\n\n${code}`);
  } else if (words === 'broken') {
    yield* say('a', 'I begin');
    yield { type: 'RUN_ERROR', message: reason };
  } else if (words === 'many') {
    for (let index = 1; index <= many; index++) {
      yield* say(`q${index}`, `Question ${index}`, 'user');
      yield* say(`a${index}`, `Answer ${index}.`);
    }
  } else {
    yield* say('a', 'I begin');
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  }
};

const it = withStage(() => ({ agent }));

const pages = [
  ['of React', '/'],
  ['of Ant Design X', '/agent-provider/'],
  ['without a framework', '/vanilla/'],
] as const;

const phone = { viewport: { width: 360, height: 640 } } as const;

/** What is wider than the place that it has, and sticks out of it. */
const sticksOut = (page: Page) =>
  page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll('[role=log] *, [role=status] *')]
      .filter(
        (element) =>
          element.clientWidth > 0 &&
          element.scrollWidth > element.clientWidth + 1 &&
          !element.closest('.hidden'),
      )
      .map((element) => element.outerHTML.slice(0, 200)),
  );

const focused = (page: Page) => page.evaluate(() => document.activeElement?.id);

/** Whether an element is within the window, and not below its edge. */
const isInView = (page: Page, text: string) =>
  page
    .getByText(text, { exact: true })
    .last()
    .evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    });

/** What an element is framed with; the field of a question is framed by what is around it. */
const frameOf = (element: JSHandle<HTMLElement>) =>
  element.evaluate(async (inner) => {
    const outer = (inner.matches('textarea') && inner.closest('.field, .ant-sender')) || inner;
    const ends = outer.getAnimations().map(({ finished }) => finished.catch(() => {}));
    await Promise.all(ends);
    const { outline, boxShadow } = getComputedStyle(outer);
    return `${outline} ${boxShadow}`;
  });

inChromium('every example page', () => {
  for (const [name, path] of pages) {
    it(`${name} holds long words, code and a long error on a phone`, async ({ stage }) => {
      const page = await stage.open({ ...phone, colorScheme: 'dark' }, path);
      await ask(page, 'long');
      await page.getByText('```').last().waitFor();
      await untilLogged(stage.server, await latestRun(stage.server), 'RUN_FINISHED');
      expect(await sticksOut(page)).toEqual([]);
      await ask(page, 'broken');
      await page.getByText(reason).waitFor();
      await picture(page, `long-${path.replaceAll('/', '') || 'react'}`);
      expect(await sticksOut(page)).toEqual([]);
    });

    it(`${name} shows the end of 200 messages`, async ({ stage }) => {
      const page = await stage.open(phone, path);
      await ask(page, 'many');
      await until(async () => (await page.getByText(/^Answer \d+\.$/).count()) === many);
      await eventually(async () => expect(await isInView(page, `Answer ${many}.`)).toBe(true));
      await eventually(async () => {
        const { y = Infinity, height = 0 } = (await page.locator('#question').boundingBox()) ?? {};
        expect(y + height).toBeLessThanOrEqual(640);
      });
    });

    it(`${name} says that the server is down, keeps the question, and stops it by Escape`, async ({
      stage,
    }) => {
      stage.server.dropConnections({ refuseFor: 600_000 });
      const page = await stage.open(phone, path);
      await page
        .getByRole('status')
        .filter({ hasText: /connection lost/i })
        .waitFor();
      await ask(page, 'Is anybody there?');
      await page.getByRole('button', { name: 'Stop' }).and(page.locator(':enabled')).waitFor();
      if (path !== '/vanilla/') await page.getByText(/^The connection is gone/).waitFor();
      await picture(page, `down-${path.replaceAll('/', '') || 'react'}`);
      await page.keyboard.press('Escape');
      await page
        .getByText(/stopped|aborted/)
        .first()
        .waitFor();
      await until(async () => (await focused(page)) === 'question');
      expect(stage.server.runIds()).toEqual([]);
      // The next one is asked when the server is there.
      await ask(page, 'And now?');
      stage.server.dropConnections();
      await page.getByText('I begin').waitFor();
      expect(stage.server.runIds()).toHaveLength(1);
    });

    it(`${name} shows where the focus is`, async ({ stage }) => {
      const page = await stage.open({}, path);
      await ask(page, 'Go on.');
      await page.getByText('I begin').waitFor();
      await page.locator('.skip, #question').first().focus();
      const alike: string[] = [];
      const seen: string[] = [];
      for (let stops = 0; stops < 20; stops++) {
        const stop = await page.evaluateHandle(() => document.activeElement as HTMLElement);
        const name = await stop.evaluate((element) => element.id || element.textContent || '');
        if (await stop.evaluate((element) => element === document.body)) break;
        const focused = await frameOf(stop);
        await stop.evaluate((element) => element.blur());
        if ((await frameOf(stop)) === focused) alike.push(name);
        seen.push(name);
        await stop.evaluate((element) => element.focus());
        await page.keyboard.press('Tab');
      }
      expect(alike).toEqual([]);
      expect(seen).toContain('question');
    });
  }
});
