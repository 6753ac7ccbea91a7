import { expect } from 'vitest';
import type { Agent } from '../examples/example-server.ts';
import { path, untilAsked } from './agent-provider-page.ts';
import { ask, inChromium, latestRun, picture, until, withStage } from './browser.ts';

const message = 'Book the 10:11 to Basel?';

/** What the agent tells of its question, by the user's words. */
const metadata: Record<string, unknown> = {
  fields: { payload: { message, to: 'Basel', price: 31, seats: [{ car: 3, seat: '12A' }] } },
  text: { payload: JSON.stringify({ message, to: 'Basel', price: 31 }) },
  words: { payload: 'by rail', risk: { of: 'delay' } },
  list: { payload: [31, 'francs'], flexible: false, note: null },
  hostile: {
    payload: JSON.parse(`{"__proto__": {"a": 1}, "constructor": "x", "to": "${'x'.repeat(2000)}"}`),
  },
  none: 'a text',
};

/** What came with a question that dropped one that was too late, by thread. */
const dropped = new Map<unknown, unknown>();

/** An agent that asks for leave, as AG-Kit's servers do: with a payload of any shape. */
const asking: Agent = async function* ({ input, runId }) {
  const messages = input.messages as { content: string }[];
  if (input.resume) {
    dropped.set(messages.at(-1)?.content, input.resume);
    yield { type: 'TEXT_MESSAGE_CHUNK', messageId: runId, role: 'assistant', delta: 'Well.' };
    return;
  }
  const outcome = {
    type: 'interrupt',
    interrupts: [
      {
        id: `${runId}-leave`,
        reason: 'approval',
        message,
        ...(messages.at(-1)?.content === 'late' && { expiresAt: new Date(1).toISOString() }),
        metadata: metadata[messages.at(-1)?.content ?? ''],
      },
    ],
  };
  yield { type: 'RUN_FINISHED', outcome };
};

const it = withStage(() => ({ agent: asking }));

inChromium('what an approval is about', () => {
  it.for([
    [
      'fields',
      [
        ['to', 'Basel'],
        ['price', '31'],
        ['seats', '[\n  {\n    "car": 3,\n    "seat": "12A"\n  }\n]'],
      ],
    ],
    [
      'text',
      [
        ['to', 'Basel'],
        ['price', '31'],
      ],
    ],
    ['words', [['payload', 'by rail']]],
    [
      'list',
      [
        ['payload', '[\n  31,\n  "francs"\n]'],
        ['flexible', 'false'],
        ['note', 'null'],
      ],
    ],
    [
      'hostile',
      [
        ['__proto__', '{\n  "a": 1\n}'],
        ['constructor', 'x'],
        ['to', 'x'.repeat(2000)],
      ],
    ],
    ['none', []],
  ] as const)('is readable where the payload is %s', async ([kind, rows], { stage }) => {
    const page = await stage.open({ viewport: { width: 360, height: 740 } }, path);
    await ask(page, kind);
    const card = await untilAsked(page, message);
    expect(
      await card
        .getByRole('row')
        .evaluateAll((found) =>
          found.map((row) => [...row.querySelectorAll('span')].map((cell) => cell.textContent)),
        ),
    ).toEqual(rows);
    expect(await card.textContent()).not.toContain('[object Object]');
    await until(() => page.evaluate(() => document.documentElement.scrollWidth === innerWidth));
    await picture(page, `ant-design-x-approval-${kind}-360`);
  });

  it('cannot be given too late, and the conversation goes on', async ({ stage }) => {
    const page = await stage.open({}, path);
    await ask(page, 'late');
    const card = await untilAsked(page, message);
    await card.getByText('It is too late to answer. Stop the answer to go on.').waitFor();
    for (const name of ['Approve', 'Refuse']) {
      expect(await card.getByRole('button', { name }).isDisabled()).toBe(true);
    }
    const first = await latestRun(stage.server);
    await page.getByRole('button', { name: 'Stop' }).click();
    await card.getByText('Not answered').waitFor();
    await ask(page, 'Then something else.');
    await page.getByText('Well.').waitFor();
    expect(dropped.get('Then something else.')).toEqual([
      { interruptId: `${first}-leave`, status: 'cancelled' },
    ]);
  });
});
