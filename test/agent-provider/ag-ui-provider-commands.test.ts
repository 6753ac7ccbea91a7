import { describe, expect, it } from 'vitest';
import {
  createPage,
  event,
  faultsOf,
  interrupted,
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

async function running(options: PageOptions = {}): Promise<Page> {
  const page = createPage(options);
  page.run({});
  await page.settle();
  page.server.append('r', runStarted(), textStart(), text('one'));
  await page.settle();
  return page;
}

/** What becomes of a promise, without waiting for it. */
function watch(promise: Promise<unknown>): { outcome: unknown } {
  const watched: { outcome: unknown } = { outcome: 'waits' };
  promise.then(
    () => {
      watched.outcome = 'done';
    },
    (error) => {
      watched.outcome = error;
    },
  );
  return watched;
}

describe('run.cancel', () => {
  it('asks the server, and the run is what it is until the server has ended it', async () => {
    const page = await running({ v1: { obeysCancel: false } });
    const command = watch(page.command('run.cancel', { reason: 'enough' }));
    await page.settle();
    expect(page.server.received.at(-1)).toEqual({ type: 'cancel', runId: 'r' });
    expect(command.outcome).toBe('waits');
    expect(page.store.getSnapshot().runs.r?.status).toBe('running');
    expect(page.provider.getAgent('s').getSnapshot().status).toBe('running');
    page.server.append('r', text(' more'), textEnd());
    page.server.append('r', runFinished('r', { outcome: { type: 'cancelled' } }));
    page.server.end('r', 'cancelled');
    await page.settle();
    expect(command.outcome).toBe('done');
    expect(page.lines.at(-1)).toMatch(/run.cancelled enough/);
    expect(textOf(page.store.getSnapshot())).toBe('one more');
    expect(page.reading.outcome).toBe('ended');
    expect(faultsOf(page)).toEqual([]);
  });

  it('fails where the server does not end the run, which goes on', async () => {
    const page = await running({ v1: { obeysCancel: false } });
    const command = watch(page.command('run.cancel', {}));
    await page.world.clock.advance(9_000);
    expect(command.outcome).toBe('waits');
    await page.world.clock.advance(2_000);
    expect(command.outcome).toMatchObject({ code: 'timeout' });
    page.server.append('r', text(' more'), textEnd(), runFinished());
    page.server.end('r', 'finished');
    await page.settle();
    expect(textOf(page.store.getSnapshot())).toBe('one more');
    expect(page.lines.at(-1)).toMatch(/run.completed/);
  });

  it('waits as long as it is told', async () => {
    const page = await running({ v1: { obeysCancel: false }, provider: { cancelTimeout: 50 } });
    const command = watch(page.command('run.cancel', {}));
    await page.world.clock.advance(60);
    expect(command.outcome).toMatchObject({ code: 'timeout' });
    expect(page.world.clock.reports).toEqual([]);
  });

  it('makes a cancellation of an error that follows it', async () => {
    const page = await running({ v1: { obeysCancel: false } });
    const command = watch(page.command('run.cancel', { reason: 'enough' }));
    await page.settle();
    page.server.append('r', event('RUN_ERROR', { message: 'aborted' }));
    page.server.end('r', 'error');
    await page.settle();
    expect(command.outcome).toBe('done');
    expect(page.lines.slice(-2)).toEqual([
      expect.stringMatching(/message.cancelled m/),
      expect.stringMatching(/run.cancelled enough/),
    ]);
    // Nothing of the run is left that a command could find.
    await expect(page.command('run.cancel', {})).rejects.toMatchObject({
      code: 'invalid-argument',
    });
  });

  it('is lost against an end that was on its way', async () => {
    const page = await running({ v1: { obeysCancel: false } });
    const command = watch(page.command('run.cancel', {}));
    page.server.append('r', textEnd(), runFinished());
    page.server.end('r', 'finished');
    await page.settle();
    expect(command.outcome).toBe('done');
    expect(page.lines.at(-1)).toMatch(/run.completed/);
  });

  it('of a run that has finished changes nothing any more', async () => {
    const page = await running({ v1: { obeysCancel: false } });
    page.server.append('r', textEnd(), runFinished());
    await page.settle();
    const command = watch(page.command('run.cancel', {}));
    await page.settle();
    page.server.append('r', event('RUN_ERROR', { message: 'aborted' }));
    page.server.end('r', 'cancelled');
    await page.settle();
    expect(command.outcome).toBe('done');
    expect(page.lines.at(-1)).toMatch(/run.completed/);
  });

  it('is not turned down by a question', async () => {
    const page = await running({ v1: { obeysCancel: false } });
    const command = watch(page.command('run.cancel', { reason: 'enough' }));
    await page.settle();
    page.server.append('r', textEnd(), interrupted('r', { id: 'i', reason: 'why' }));
    page.server.end('r', 'finished');
    await page.settle();
    expect(command.outcome).toBe('done');
    expect(page.lines.slice(-2)).toEqual([
      expect.stringMatching(/approval.resolved i expired/),
      expect.stringMatching(/run.cancelled enough/),
    ]);
    expect(page.reading.outcome).toBe('ended');
  });

  it('ends a run that was never sent at once', async () => {
    const page = createPage();
    page.world.network.mode = 'hold';
    page.run({});
    await page.settle();
    await page.command('run.cancel', {});
    await page.settle();
    expect(page.lines.at(-1)).toMatch(/run.cancelled/);
    expect(page.reading.outcome).toBe('ended');
  });

  it('goes on over a reload', async () => {
    const page = await running({ v1: { obeysCancel: false } });
    watch(page.command('run.cancel', {}));
    await page.settle();
    const next = await page.reload();
    expect(next.server.runs.get('r')?.cancels).toBe(2);
    next.server.append('r', event('RUN_ERROR', { message: 'aborted' }));
    next.server.end('r', 'error');
    await next.settle();
    expect(next.lines.at(-1)).toMatch(/run.cancelled/);
  });

  it('works for a run of the next page', async () => {
    const page = await running();
    const next = await page.reload();
    await next.command('run.cancel', {});
    await next.settle();
    expect(next.server.runs.get('r')?.cancels).toBe(1);
    expect(next.lines.at(-1)).toMatch(/run.cancelled/);
  });

  it('of a run that is not here is refused', async () => {
    const page = createPage();
    await expect(page.command('run.cancel', {})).rejects.toMatchObject({
      code: 'invalid-argument',
    });
  });

  it('that is aborted by its agent counts as cancelled in the store', async () => {
    const page = await running();
    page.provider.getAgent('s').abort();
    await page.settle();
    expect(page.lines.at(-1)).toMatch(/run.cancelled/);
    expect(page.reading.outcome).toBe('ended');
  });
});

describe('tool.retry', () => {
  const asked: unknown[] = [];
  const provider = {
    toolFailure: ({ content }: { content: unknown }) =>
      content === 'down' ? { message: 'It is down.', retryable: true } : null,
    retryTool: (call: unknown, { runId, sessionId }: { runId: string; sessionId: string }) => {
      asked.push({ call, runId, sessionId });
    },
  };

  async function failing() {
    asked.length = 0;
    const page = createPage({ provider });
    page.run({});
    await page.settle();
    page.server.append('r', runStarted(), ...toolCall('t', 'look', '{"at":1}'));
    page.server.append('r', event('TOOL_CALL_RESULT', { toolCallId: 't', content: 'down' }));
    await page.settle();
    return page;
  }

  it('hands the call on, and what comes of it comes with the run', async () => {
    const page = await failing();
    expect(page.lines.at(-1)).toMatch(/tool.failed t/);
    expect(page.events.at(-1)?.payload).toMatchObject({ error: { retryable: true } });
    await page.command('tool.retry', { toolCallId: 't' });
    expect(asked).toEqual([
      { call: { id: 't', name: 'look', arguments: '{"at":1}' }, runId: 'r', sessionId: 's' },
    ]);
    page.server.append('r', ...toolCall('t', 'look', '{"at":1}'));
    page.server.append('r', event('TOOL_CALL_RESULT', { toolCallId: 't', content: 'up' }));
    page.server.append('r', runFinished());
    page.server.end('r', 'finished');
    await page.settle();
    const tools = Object.values(page.store.getSnapshot().toolCalls);
    expect(tools.map(({ status, attempt, retryOf }) => ({ status, attempt, retryOf }))).toEqual([
      { status: 'failed', attempt: 1, retryOf: undefined },
      { status: 'completed', attempt: 2, retryOf: 't' },
    ]);
    expect(faultsOf(page)).toEqual([]);
  });

  it('of a call that has not failed is refused', async () => {
    const page = await failing();
    await expect(page.command('tool.retry', { toolCallId: 'other' })).rejects.toMatchObject({
      code: 'invalid-argument',
    });
    expect(asked).toEqual([]);
  });

  it('that cannot be asked for fails, and the run goes on', async () => {
    const page = createPage({
      provider: {
        ...provider,
        retryTool: async () => {
          throw new Error('no way');
        },
      },
    });
    page.run({});
    await page.settle();
    page.server.append('r', runStarted(), ...toolCall('t'));
    page.server.append('r', event('TOOL_CALL_RESULT', { toolCallId: 't', content: 'down' }));
    await page.settle();
    await expect(page.command('tool.retry', { toolCallId: 't' })).rejects.toThrow('no way');
    expect(page.store.getSnapshot().runs.r?.status).toBe('running');
  });
});
