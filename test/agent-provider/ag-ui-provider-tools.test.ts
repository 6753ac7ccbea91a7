import { describe, expect, it } from 'vitest';
import type { AgUiClientTool } from '../../src/agent-provider/ag-ui-provider-types.ts';
import type { LockManagerLike } from '../../src/internal/environment.ts';
import { createFakeLocks } from '../helpers/fake-locks.ts';
import {
  createPage,
  faultsOf,
  type Page,
  type PageOptions,
  runFinished,
  runStarted,
  text,
  textEnd,
  textOf,
  textStart,
  toolCall,
} from './ag-ui-provider-set-up.ts';

type Tools = Readonly<Record<string, AgUiClientTool>>;

/** A page whose run has called tools of the page and finished. */
async function calling(
  clientTools: Tools,
  calls: readonly [id: string, name: string, args?: string][] = [['t', 'where', '{"deep":true}']],
  options: PageOptions = {},
): Promise<Page> {
  const page = createPage({ ...options, provider: { clientTools } });
  page.run({});
  await page.settle();
  page.server.append('r', runStarted(), ...calls.flatMap((call) => toolCall(...call)));
  page.server.append(
    'r',
    runFinished('r', { outcome: { type: 'success', pendingToolCallIds: calls.map(([id]) => id) } }),
  );
  page.server.end('r', 'finished');
  await page.settle();
  return page;
}

/** The AG-UI run that carries the answers. */
const nextRun = (page: Page) => [...page.server.runs.values()][1];

/** The tool messages that it was sent. */
const answers = (page: Page) =>
  (nextRun(page)?.input as { messages: Record<string, unknown>[] } | undefined)?.messages
    .filter(({ role }) => role === 'tool')
    .map(({ id: _, ...message }) => message);

async function finish(page: Page) {
  const runId = nextRun(page)?.runId ?? '';
  page.server.append(runId, runStarted(runId), textStart(), text('done'), textEnd());
  page.server.append(runId, runFinished(runId));
  page.server.end(runId, 'finished');
  await page.world.clock.advance(100);
}

/** A tool that answers when the test says so. */
function createSlowTool() {
  let resolve: (value: unknown) => void = () => {};
  const calls: { readonly args: unknown; readonly signal: AbortSignal }[] = [];
  const tool: AgUiClientTool = (args, { signal }) => {
    calls.push({ args, signal });
    return new Promise((done) => {
      resolve = done;
    });
  };
  return { tool, calls, answer: (value: unknown) => resolve(value) };
}

describe('a tool of the page', () => {
  it('is run with its arguments, and the agent goes on with its answer', async () => {
    const calls: unknown[] = [];
    const page = await calling({
      where: async (args, { signal: _, ...call }) => {
        calls.push({ args, ...call });
        return { city: 'Oslo' };
      },
    });
    expect(calls).toEqual([
      {
        args: { deep: true },
        toolCallId: 't',
        name: 'where',
        text: '{"deep":true}',
        sessionId: 's',
        runId: 'r',
      },
    ]);
    expect(answers(page)).toEqual([{ role: 'tool', toolCallId: 't', content: '{"city":"Oslo"}' }]);
    expect(nextRun(page)?.runId.length).toBeGreaterThan(20);
    await finish(page);
    expect(page.lines).toEqual([
      '0 run.started',
      '1 tool.requested t',
      expect.stringMatching(/2 tool.arguments_delta t/),
      '3 tool.running t',
      '4 tool.completed t',
      '5 message.started m',
      '6 message.delta m done',
      '7 message.completed m',
      '8 run.completed',
    ]);
    expect(page.events[4]?.payload).toMatchObject({ result: { city: 'Oslo' } });
    expect(page.reading.outcome).toBe('ended');
    expect(faultsOf(page)).toEqual([]);
    const thread = page.provider.getAgent('s').getSnapshot();
    expect(thread.messages.at(-1)?.content).toBe('done');
    expect(thread.pendingToolCallIds).toBeUndefined();
  });

  it('may be several at once, with one run for all answers', async () => {
    const slow = createSlowTool();
    const page = await calling({ slow: slow.tool, quick: () => 'now' }, [
      ['a', 'slow'],
      ['b', 'quick'],
    ]);
    expect(page.server.runs.size).toBe(1);
    expect(page.lines.at(-1)).toMatch(/tool.completed b/);
    slow.answer('later');
    await page.settle();
    expect(page.server.runs.size).toBe(2);
    expect(answers(page)).toEqual([
      { role: 'tool', toolCallId: 'b', content: 'now' },
      { role: 'tool', toolCallId: 'a', content: 'later' },
    ]);
    await finish(page);
    expect(faultsOf(page)).toEqual([]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no GPS');
      },
      'no GPS',
    ],
    [
      'rejects',
      async () => {
        throw new Error('no GPS');
      },
      'no GPS',
    ],
    [
      'throws nothing to read',
      () => {
        throw undefined;
      },
      'The tool failed.',
    ],
    ['answers with what is no JSON', () => 1n, expect.stringMatching(/BigInt/)],
  ] as [string, AgUiClientTool, unknown][])(
    'that %s has failed, and the agent is told',
    async (_name, where, message) => {
      const page = await calling({ where });
      expect(page.lines.at(-1)).toMatch(/tool.failed t/);
      expect(page.events.at(-1)?.payload).toMatchObject({ error: { message } });
      expect(answers(page)).toMatchObject([{ role: 'tool', toolCallId: 't', error: message }]);
      await finish(page);
      expect(page.lines.at(-1)).toMatch(/run.completed/);
    },
  );

  it('gets undefined where its arguments are no JSON', async () => {
    const seen: unknown[] = [];
    await calling({ where: (args, { text }) => void seen.push(args, text) }, [
      ['t', 'where', '{"a'],
    ]);
    expect(seen).toEqual([undefined, '{"a']);
  });

  it('without an answer gives an empty one', async () => {
    const page = await calling({ where: () => undefined });
    expect(answers(page)).toEqual([{ role: 'tool', toolCallId: 't', content: '' }]);
  });

  it('that the page does not have completes without a result', async () => {
    const page = await calling({ other: () => 1 }, [['t', 'constructor']]);
    await page.settle();
    expect(page.lines.slice(4)).toEqual(['4 tool.completed t', '5 run.completed']);
    expect(page.server.runs.size).toBe(1);
    expect(page.reading.outcome).toBe('ended');
  });

  it('that the page does not have leaves the others to be told', async () => {
    const page = await calling({ where: () => 'here' }, [
      ['a', 'where'],
      ['b', 'nowhere'],
    ]);
    expect(answers(page)).toEqual([{ role: 'tool', toolCallId: 'a', content: 'here' }]);
    await finish(page);
    expect(page.lines.at(-1)).toMatch(/run.completed/);
  });

  it('of a plain server does not wait for its log to close', async () => {
    const page = await calling({ where: () => 'here' }, undefined, { v1: { caps: null } });
    expect(page.server.runs.size).toBe(2);
  });

  it('is aborted with its run', async () => {
    const slow = createSlowTool();
    const page = await calling({ where: slow.tool });
    page.reading.controller.abort();
    await page.settle();
    expect(slow.calls[0]?.signal.aborted).toBe(true);
    expect(page.lines.slice(4)).toEqual([
      expect.stringMatching(/4 tool.cancelled t/),
      expect.stringMatching(/5 run.cancelled/),
    ]);
    slow.answer('late');
    await page.settle();
    expect(page.server.runs.size).toBe(1);
    expect(page.lines.length).toBe(6);
  });

  it('is aborted by a cancel of its run', async () => {
    const slow = createSlowTool();
    const page = await calling({ where: slow.tool });
    await page.command('run.cancel', {});
    await page.settle();
    expect(slow.calls[0]?.signal.aborted).toBe(true);
    expect(page.lines.at(-1)).toMatch(/run.cancelled/);
    expect(page.reading.outcome).toBe('ended');
  });

  it('that answers a run which was cancelled meanwhile tells nothing', async () => {
    const slow = createSlowTool();
    const page = await calling({ where: slow.tool });
    page.reading.driver.detach();
    await page.settle();
    slow.answer('late');
    await page.settle();
    await page.command('run.cancel', {});
    const { transport, transformChunk } = page.provider;
    const { signal } = new AbortController();
    const request = { sessionId: 's', runId: 'r', input: {} };
    const iterator = transport.resume?.(request, undefined, signal)[Symbol.asyncIterator]();
    const { value } = (await iterator?.next()) ?? {};
    expect(value?.event.type).toBe('RAW');
    expect(transformChunk(value!, page.reading.driver.context)).toEqual([]);
    expect(await iterator?.next()).toEqual({ done: true, value: undefined });
  });

  it('goes on while nobody reads, and is run once', async () => {
    const slow = createSlowTool();
    const page = await calling({ where: slow.tool });
    page.reading.driver.detach();
    await page.settle();
    slow.answer('here');
    await page.settle();
    page.again();
    await page.settle();
    expect(slow.calls.length).toBe(1);
    expect(answers(page)).toEqual([{ role: 'tool', toolCallId: 't', content: 'here' }]);
    await finish(page);
    expect(faultsOf(page)).toEqual([]);
  });

  it('is called off where another view of the thread answers in its place', async () => {
    const slow = createSlowTool();
    const page = await calling({ where: slow.tool });
    const message = { role: 'tool', toolCallId: 't', content: 'there' } as const;
    const runId = page.provider.getAgent('s').run({ messages: [message] });
    await page.settle();
    expect(slow.calls.map(({ signal }) => signal.aborted)).toEqual([true]);
    const input = nextRun(page)?.input;
    page.server.append(runId, { type: 'RUN_STARTED', threadId: 't', runId, input });
    await finish(page);
    expect(page.lines.at(-1)).toMatch(/run.completed/);
    expect(textOf(page.store.getSnapshot())).toBe('done');
    expect(faultsOf(page)).toEqual([]);
  });

  it('is run again by the next page where no answer was written down', async () => {
    const slow = createSlowTool();
    const page = await calling({ where: slow.tool });
    const next = await page.reload();
    expect(slow.calls.length).toBe(2);
    slow.answer('here');
    await next.settle();
    await finish(next);
    expect(textOf(next.store.getSnapshot())).toBe('done');
    expect(faultsOf(next)).toEqual([]);
  });

  it('is not run again by the next page where its answer was', async () => {
    const slow = createSlowTool();
    let quick = 0;
    const page = await calling({ slow: slow.tool, quick: () => ++quick }, [
      ['a', 'slow'],
      ['b', 'quick'],
    ]);
    const next = await page.reload();
    slow.answer('here');
    await next.settle();
    expect(quick).toBe(1);
    expect(answers(next)).toEqual([
      { role: 'tool', toolCallId: 'b', content: '1' },
      { role: 'tool', toolCallId: 'a', content: 'here' },
    ]);
  });

  it('is not run again while the run that carries its answer streams on the next page', async () => {
    let runs = 0;
    const tools = { where: () => ++runs };
    const page = await calling(tools);
    const next = await page.reload();
    expect(runs).toBe(1);
    expect(next.server.runs.size).toBe(2);
    await finish(next);
    expect(textOf(next.store.getSnapshot())).toBe('done');
    expect(next.lines.at(-1)).toMatch(/run.completed/);
  });
});

describe('a duplicated tab', () => {
  /** A copy of a page, as its user makes it. */
  async function duplicate(page: Page, locks: LockManagerLike, tool: AgUiClientTool) {
    const copied = createPage(
      {
        server: page.server,
        clock: page.world.clock,
        storage: page.world.storage.copy(),
        locks,
        provider: { clientTools: { where: tool } },
      },
      page.write(),
    );
    (copied as unknown as { adopt(request: unknown): void }).adopt({
      input: {},
      sessionId: 's',
      runId: 'r',
    });
    await copied.settle();
    return copied;
  }

  it('runs no tools of the run of its original', async () => {
    const locks = createFakeLocks();
    const slow = createSlowTool();
    const page = await calling({ where: slow.tool }, undefined, { locks: locks.page() });
    const copied = await duplicate(page, locks.page(), slow.tool);
    await copied.world.clock.advance(5_000);
    expect(slow.calls.length).toBe(1);
    slow.answer('here');
    await page.settle();
    await finish(page);
    expect(page.lines.at(-1)).toMatch(/run.completed/);
    // The lock of the original is free long after the copy has given up.
    await page.world.clock.advance(60_000);
    expect(slow.calls.length).toBe(1);
    expect(copied.reading.outcome).toBeUndefined();
    await copied.command('run.cancel', {});
    await copied.settle();
    expect(copied.lines.at(-1)).toMatch(/run.cancelled/);
  });

  it('runs none either where the original is through at once', async () => {
    const locks = createFakeLocks();
    const ran: string[] = [];
    const page = createPage({
      locks: locks.page(),
      provider: { clientTools: { where: () => void ran.push('original') } },
    });
    page.run({});
    await page.settle();
    page.server.append('r', runStarted());
    await page.settle();
    const copied = await duplicate(page, locks.page(), () => void ran.push('copy'));
    page.server.append('r', ...toolCall('t', 'where'), runFinished('r'));
    page.server.end('r', 'finished');
    await page.settle();
    await finish(page);
    await page.world.clock.advance(60_000);
    expect(page.lines.at(-1)).toMatch(/run.completed/);
    expect(copied.lines.at(-1)).toMatch(/tool.running t/);
    expect(ran).toEqual(['original']);
  });
});
