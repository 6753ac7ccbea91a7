import { describe, expect, it } from 'vitest';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import { createStorageBytes } from '../helpers/storage.ts';
import { type TestEvent, texts } from '../helpers/world.ts';
import {
  createPage,
  event,
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
  withoutTimes,
} from './ag-ui-provider-set-up.ts';

const resumes = (page: Page) => page.server.received.filter(({ type }) => type === 'resume');
const starts = (page: Page) => page.server.received.filter(({ type }) => type === 'run');
const thread = (page: Page) => page.provider.getAgent('s').getSnapshot();

/** A page in the middle of run `r`: it has said one word. */
async function running(options: PageOptions = {}): Promise<Page> {
  const page = createPage(options);
  page.run();
  await page.settle();
  page.server.append('r', runStarted(), textStart(), text('one'));
  await page.settle();
  return page;
}

/** The rest of that run. */
async function finish(page: Page, ...more: TestEvent[]) {
  page.server.append('r', ...more, textEnd(), runFinished());
  page.server.end('r', 'finished');
  await page.world.clock.advance(100);
}

function expectWhole(page: Page, said: string) {
  expect(page.reading.failure).toBeUndefined();
  expect(page.reading.outcome).toBe('ended');
  expect(textOf(page.store.getSnapshot())).toBe(said);
  expect(texts(page.provider.getAgent('s'))).toEqual(['Hi', said]);
  expect(thread(page).status).toBe('finished');
  expect(faultsOf(page)).toEqual([]);
  expect(starts(page).length).toBe(1);
}

describe('a run that nobody reads', () => {
  it('goes on and is taken up again without a question to the server', async () => {
    const page = await running();
    page.reading.driver.detach();
    await page.settle();
    expect(page.reading.outcome).toBe('detached');
    page.server.append('r', text(' two'));
    await page.settle();
    expect(textOf(page.store.getSnapshot())).toBe('one');
    expect(texts(page.provider.getAgent('s'))).toEqual(['Hi', 'one two']);
    page.again();
    await finish(page, text(' three'));
    expectWhole(page, 'one two three');
    expect(resumes(page)).toEqual([]);
    expect(page.server.received.some(({ type }) => type === 'cancel')).toBe(false);
  });

  it('is whole although it ended meanwhile', async () => {
    const page = await running();
    page.reading.driver.detach();
    await finish(page, text(' two'));
    await page.world.clock.advance(60_000);
    page.again();
    await page.settle();
    expectWhole(page, 'one two');
    expect(resumes(page)).toEqual([]);
  });

  it('is left and taken up many times, at once and in the middle of a frame', async () => {
    const page = await running();
    for (let i = 0; i < 20; i++) {
      page.server.append('r', text(`${i}`), text('.'));
      if (i % 2) await page.settle();
      page.reading.driver.detach();
      if (i % 3) await page.settle();
      page.again();
    }
    await finish(page);
    const said = Array.from({ length: 20 }, (_, i) => `${i}.`).join('');
    expectWhole(page, `one${said}`);
    await page.world.clock.advance(5_000);
    expect(page.world.client.getSnapshot().status).toBe('idle');
  });

  it.each([
    ['a v1', {}],
    ['a plain', { v1: { caps: null } }],
  ])('is read again from %s server where too much was said meanwhile', async (_name, options) => {
    const page = await running(options);
    page.reading.driver.detach();
    await page.settle();
    for (let i = 0; i < 10_100; i++) page.server.append('r', text('.'));
    await page.settle();
    page.again();
    await page.settle();
    await finish(page);
    await page.world.clock.advance(2_000);
    expectWhole(page, `one${'.'.repeat(10_100)}`);
    expect(resumes(page)).toEqual([{ type: 'resume', runId: 'r' }]);
  });

  it('is read again from the server although it is over', async () => {
    const page = await running();
    page.reading.driver.detach();
    await page.settle();
    for (let i = 0; i < 10_100; i++) page.server.append('r', text('.'));
    await finish(page);
    page.again();
    await page.world.clock.advance(1_000);
    expectWhole(page, `one${'.'.repeat(10_100)}`);
  });

  it('that said too much and is gone from the server fails with its code', async () => {
    const page = await running();
    page.reading.driver.detach();
    await page.settle();
    for (let i = 0; i < 10_100; i++) page.server.append('r', text('.'));
    await finish(page);
    page.server.evict('r');
    page.again();
    await page.world.clock.advance(1_000);
    expect(page.lines.at(-1)).toMatch(/run.failed run-unknown/);
    expect(page.lines.filter((line) => /run.started/.test(line)).length).toBe(1);
  });

  it('is left while a chunk is on its way, which comes again', async () => {
    const page = await running();
    // Both sides of one turn: the chunk is given out, and the reader is gone.
    page.server.append('r', text(' two'));
    page.reading.driver.detach();
    page.again();
    await finish(page);
    expectWhole(page, 'one two');
  });

  it('is cancelled by a signal that was aborted meanwhile', async () => {
    const page = await running();
    page.reading.driver.detach();
    await page.settle();
    const reading = page.again();
    reading.controller.abort();
    await page.settle();
    expect(page.lines.at(-1)).toMatch(/run.cancelled/);
    expect(page.server.received.at(-1)).toEqual({ type: 'cancel', runId: 'r' });
  });

  it('gives way to the next run of its session', async () => {
    const page = await running();
    page.reading.driver.detach();
    await page.settle();
    page.run({ prompt: 'Next' }, { runId: 'r2' });
    await page.settle();
    page.server.append('r2', runStarted('r2'), textStart('n'), text('new', 'n'), textEnd('n'));
    page.server.append('r2', runFinished('r2'));
    page.server.end('r2', 'finished');
    await page.settle();
    expect(textOf(page.store.getSnapshot())).toBe('one|new');
    expect(page.server.runs.get('r')?.cancels).toBe(1);
    const { signal } = new AbortController();
    const request = { sessionId: 's', runId: 'r', input: {} };
    expect(() => page.provider.transport.resume?.(request, undefined, signal)).toThrow(
      /not under way/,
    );
  });
});

describe('a reload', () => {
  it('goes on after the last event, and the thread shows all of it', async () => {
    const page = await running();
    const next = await page.reload();
    expect(resumes(next).length).toBe(1);
    await finish(next, text(' two'));
    expectWhole(next, 'one two');
    const sequences = next.events.map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.map((_, index) => index));
  });

  it('without a goodbye loses and doubles nothing', async () => {
    const page = await running();
    const next = await page.reload(page.write(), { crash: true });
    await finish(next, text(' two'));
    expectWhole(next, 'one two');
  });

  it('with an old page that had read on is told the rest again', async () => {
    const page = await running();
    const written = page.write();
    page.server.append('r', text(' two'), text(' three'));
    await page.settle();
    const next = await page.reload(written);
    await finish(next, text(' four'));
    expectWhole(next, 'one two three four');
  });

  it('right after the start, before any event, goes on', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    const next = await page.reload();
    next.server.append('r', runStarted(), textStart(), text('one'));
    await finish(next);
    expectWhole(next, 'one');
  });

  it('before the start was sent starts it where the thread remembers it, or fails', async () => {
    const page = createPage();
    page.world.network.mode = 'hold';
    page.run();
    await page.settle();
    const next = await page.reload();
    await next.world.clock.advance(120_000);
    expect(next.lines.at(-1)).toMatch(/run.failed/);
    expect(next.lines.filter((line) => /run.started/.test(line)).length).toBe(1);
  });

  const script = [
    runStarted(),
    event('STEP_STARTED', { stepName: 'look' }),
    textStart(),
    text('one'),
    text(' two'),
    ...toolCall('t'),
    event('TOOL_CALL_RESULT', { toolCallId: 't', messageId: 'tm', content: 'found' }),
    text(' three'),
    textEnd(),
    event('STEP_FINISHED', { stepName: 'look' }),
    event('STATE_SNAPSHOT', { snapshot: { n: 1 } }),
    event('STATE_DELTA', { delta: [{ op: 'replace', path: '/n', value: 2 }] }),
    runFinished(),
  ];

  async function play(at: number, mode: { crash?: boolean; lag?: boolean; plain?: boolean }) {
    let page = createPage(mode.plain ? { v1: { caps: null } } : {});
    page.run({ messages: [{ id: 'u', role: 'user', content: 'Hi' }] });
    await page.settle();
    for (const [index, one] of script.entries()) {
      const written = page.write();
      page.server.append('r', one);
      await page.settle();
      if (index === at) {
        page = await page.reload(mode.lag ? written : page.write(), { crash: !!mode.crash });
        await page.world.clock.advance(20);
      }
    }
    page.server.end('r', 'finished');
    await page.world.clock.advance(1_500);
    return page;
  }

  it.each([
    ['with a goodbye', {}],
    ['without one', { crash: true }],
    ['with what is written a step behind', { lag: true }],
    ['of a plain server', { plain: true }],
    [
      'of a plain server, without a goodbye and a step behind',
      { plain: true, crash: true, lag: true },
    ],
  ])('at every event, %s, comes to the same state', async (_name, mode) => {
    const undisturbed = await play(-1, mode);
    expect(undisturbed.lines.at(-1)).toMatch(/run.completed/);
    for (let at = 0; at < script.length; at++) {
      const page = await play(at, mode);
      expect(page.reading.failure, `at ${at}`).toBeUndefined();
      expect(withoutTimes(page.store.getSnapshot()), `at ${at}`).toEqual(
        withoutTimes(undisturbed.store.getSnapshot()),
      );
      expect(page.lines, `at ${at}`).toEqual(undisturbed.lines);
      expect(thread(page).messages, `at ${at}`).toEqual(thread(undisturbed).messages);
      expect(faultsOf(page)).toEqual([]);
    }
  });

  it('finds a run that ended while the page was away', async () => {
    const page = await running();
    const written = page.write();
    page.world.reload();
    page.server.append('r', text(' two'));
    const next = await page.reload(written);
    await finish(next);
    expectWhole(next, 'one two');
  });

  it('without a remembered thread asks for what is behind the last event', async () => {
    const provider = { agentOptions: { storage: null } } as const;
    const page = await running({ provider });
    const written = page.write();
    page.server.append('r', text(' two'));
    const next = await page.reload(written);
    expect(resumes(next)).toEqual([{ type: 'resume', runId: 'r', after: 2 }]);
    await finish(next);
    expect(textOf(next.store.getSnapshot())).toBe('one two');
    expect(faultsOf(next)).toEqual([]);
  });

  it('of a run that was ended without an event of its own completes it', async () => {
    const page = await running();
    page.server.end('r', 'finished');
    const next = await page.reload(page.write(), { crash: true });
    await next.world.clock.advance(1_000);
    expect(next.lines.at(-1)).toMatch(/run.completed/);
  });

  it('finds out that a plain server has run it again, and to an earlier end', async () => {
    const page = createPage({ v1: { caps: null } });
    page.run();
    await page.settle();
    page.server.append('r', runStarted(), textStart(), text('one'), text(' two'), text(' three'));
    await page.settle();
    const written = page.write();
    page.server.reexecute('r');
    page.server.append('r', runStarted(), textStart(), text('other'), runFinished());
    const next = await page.reload(written);
    await next.world.clock.advance(2_000);
    expect(next.lines.at(-1)).toMatch(/run.failed run-lost/);
    expect(textOf(next.store.getSnapshot())).toBe('one two three');
  });

  it('under a signal that is aborted cancels the run', async () => {
    const page = await running();
    const { cursor, context } = page.write();
    page.world.reload();
    const { world, provider } = createPage({
      server: page.server,
      clock: page.world.clock,
      storage: page.world.storage,
    });
    const events = createAgentEventFactory({ sessionId: 's', runId: 'r', initialSequence: 4 });
    const restored = provider.restoreContext?.(context, { sessionId: 's', runId: 'r', events });
    const iterable = provider.transport.resume?.(undefined, cursor, AbortSignal.abort());
    const error = await iterable?.[Symbol.asyncIterator]()
      .next()
      .catch((reason) => reason);
    expect(error).toMatchObject({ name: 'AbortError' });
    await world.settle();
    expect(page.server.runs.get('r')?.cancels).toBe(1);
    expect(provider.transformError(error, restored).map(({ type }) => type)).toEqual([
      'message.cancelled',
      'run.cancelled',
    ]);
  });

  it('of a run that the server forgot ends it with the code, without another start', async () => {
    const page = await running();
    page.server.evict('r');
    const next = await page.reload();
    expect(next.lines.slice(-2)).toEqual([
      expect.stringMatching(/message.failed m run-unknown/),
      expect.stringMatching(/run.failed run-unknown/),
    ]);
    expect(next.lines.filter((line) => /run.started/.test(line)).length).toBe(1);
    expect(starts(next).length).toBe(1);
  });

  it('with a thread that stands behind the last event of the run reads it again', async () => {
    const agentOptions = { checkpoint: true };
    const page = await running({ provider: { agentOptions } });
    const written = page.write();
    page.server.append('r', text(' two'));
    await page.settle();
    // The thread was written down with more than the state.
    const next = await page.reload(written);
    await next.world.clock.advance(2_000);
    await finish(next, text(' three'));
    expectWhole(next, 'one two three');
  });

  it('in the middle of a frame of several events goes on in the middle', async () => {
    const provider = {
      agentOptions: {
        event: ({ runId, offset, event }: Record<string, unknown>) =>
          event
            ? [event, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: '!' }].map((one) => ({
                runId,
                offset,
                event: one,
              }))
            : null,
      },
    } as never;
    const page = createPage({ provider, v1: { caps: null } });
    const ids = { sessionId: 's', runId: 'r' };
    const { transport, ...rest } = page.provider;
    const events = createAgentEventFactory(ids);
    const context = rest.createContext({ ...ids, events });
    const tell = (event: AgentEvent) => {
      page.store.dispatch(event);
      page.events.push(event);
    };
    rest.start({}, context).forEach(tell);
    const { signal } = new AbortController();
    const iterator = transport
      .open(rest.prepareRequest({}, context), signal)
      [Symbol.asyncIterator]();
    const next = async () => {
      const { value } = await iterator.next();
      rest.transformChunk(value, context).forEach(tell);
      return transport.getCursor?.(value);
    };
    expect(await next()).toEqual({ runId: 'r' });
    await page.settle();
    page.server.append('r', textStart(), text('one'));
    expect(await next()).toBeUndefined();
    expect(await next()).toEqual({ runId: 'r', offset: 0 });
    expect(await next()).toBeUndefined();
    expect(textOf(page.store.getSnapshot())).toBe('!one');
    const state = JSON.parse(JSON.stringify(page.store.getSnapshot()));
    const after = await page.reload({
      state,
      events: page.events,
      cursor: { runId: 'r', offset: 0 },
      context: JSON.parse(JSON.stringify(rest.saveContext?.(context))),
    });
    after.server.append('r', textEnd());
    await after.settle();
    expect(textOf(after.store.getSnapshot())).toBe('!one!');
  });

  it('with asynchronous storage waits for what is remembered', async () => {
    const bytes = createStorageBytes();
    // A storage object for each page: what one page has taken is free for the next.
    const provider = () => ({
      agentOptions: {
        storage: {
          getItem: async (key: string) => bytes.map.get(key) ?? null,
          setItem: async (key: string, value: string) => void bytes.map.set(key, value),
          removeItem: async (key: string) => void bytes.map.delete(key),
        },
      },
    });
    const page = await running({ provider });
    expect(starts(page).length).toBe(1);
    const next = await page.reload();
    await finish(next, text(' two'));
    expectWhole(next, 'one two');
  });

  it('twice in a row, and in the middle of the replay, goes on', async () => {
    const page = await running();
    const second = await page.reload();
    const third = await second.reload();
    third.server.append('r', text(' two'));
    await third.settle();
    const fourth = await third.reload(third.write(), { crash: true });
    await finish(fourth, text(' three'));
    expectWhole(fourth, 'one two three');
  });

  it('with string offsets goes on behind the one it knows', async () => {
    const number = (message: { offset?: unknown }) =>
      typeof message.offset === 'number' ? { ...message, offset: `#${message.offset}` } : message;
    const provider = {
      agentOptions: {
        event: (message: { event?: unknown }) => (message.event ? number(message as never) : null),
        resume: (runId: string, after: unknown) => ({
          type: 'resume',
          runId,
          ...(after !== undefined && { after: Number(String(after).slice(1)) }),
        }),
      },
    } as never;
    const page = await running({ provider, v1: { caps: null } });
    expect(page.reading.cursor).toEqual({ runId: 'r', offset: '#2' });
    const next = await page.reload();
    next.server.append('r', text(' two'), textEnd(), runFinished());
    await next.world.clock.advance(1_500);
    expectWhole(next, 'one two');
  });

  it('of a server that numbers nothing says that the run cannot be taken up', async () => {
    const provider = {
      agentOptions: {
        event: ({ runId, event }: { runId?: string; event?: unknown }) =>
          event ? { runId, event } : null,
      },
    } as never;
    const page = await running({ provider, v1: { caps: null } });
    const next = await page.reload();
    expect(next.reading.outcome).toBe('unrecoverable');
    expect(textOf(next.store.getSnapshot())).toBe('one');
  });

  it('of a run that never reached its transport asks the server, which knows of none', async () => {
    const page = createPage();
    const ids = { sessionId: 's', runId: 'r' };
    const context = page.provider.createContext({ ...ids, events: createAgentEventFactory(ids) });
    for (const event of page.provider.start({}, context)) {
      page.store.dispatch(event);
      page.events.push(event);
    }
    const saved = JSON.parse(JSON.stringify(page.provider.saveContext?.(context)));
    const state = JSON.parse(JSON.stringify(page.store.getSnapshot()));
    const written = { state, events: page.events, cursor: undefined, context: saved };
    const next = await page.reload(written);
    expect(next.lines.at(-1)).toBe('1 run.failed run-lost');
    expect(next.server.received.some(({ type }) => type === 'run')).toBe(false);
  });

  it('with something else than its own context cannot be taken up', async () => {
    const page = await running();
    const next = await page.reload({ ...page.write(), context: { v: 1 } });
    expect(next.reading.outcome).toBe('unrecoverable');
  });
});

describe('a log that was executed again', () => {
  it('ends the run, because what was told stays told', async () => {
    const page = await running();
    page.server.reexecute('r');
    await page.world.reconnect();
    expect(page.lines.slice(-2)).toEqual([
      expect.stringMatching(/message.failed m run-lost/),
      expect.stringMatching(/run.failed run-lost/),
    ]);
  });

  it('ends it on the next page too', async () => {
    const page = await running();
    page.server.reexecute('r');
    page.server.append('r', runStarted(), textStart(), text('other'), text(' words'));
    const next = await page.reload();
    await next.world.clock.advance(1_000);
    expect(next.lines.at(-1)).toMatch(/run.failed run-lost/);
    expect(textOf(next.store.getSnapshot())).toBe('one');
  });

  it('is of no account while nothing was told', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.server.reexecute('r');
    await page.world.reconnect();
    page.server.append('r', runStarted(), textStart(), text('one'));
    await finish(page);
    expectWhole(page, 'one');
  });
});
