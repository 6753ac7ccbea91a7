import { describe, expect, it } from 'vitest';
import { createAgentCommandFactory } from '../../src/agent-provider/commands.ts';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import { texts } from '../helpers/world.ts';
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

const expiresAt = '2027-01-01T00:00:00.000Z';

/** A page whose run asks two questions. */
async function asking(options: PageOptions = {}): Promise<Page> {
  const page = createPage(options);
  page.run({});
  await page.settle();
  page.server.append(
    'r',
    runStarted(),
    ...toolCall('t1'),
    interrupted(
      'r',
      { id: 'i1', reason: 'why', toolCallId: 't1', expiresAt },
      { id: 'i2', reason: 'why not' },
    ),
  );
  page.server.end('r', 'finished');
  await page.settle();
  return page;
}

const approve = (page: Page, key = 'k1') =>
  page.command('approval.resolve', { approvalId: 'i1', decision: 'approved' }, key);
const reject = (page: Page, key = 'k2') =>
  page.command('approval.resolve', { approvalId: 'i2', decision: 'rejected' }, key);

const asked = [
  '0 run.started',
  '1 tool.requested t1',
  '2 tool.arguments_delta t1 {}',
  '3 tool.running t1',
  '4 approval.requested i1',
  '5 approval.requested i2',
];
const answered = ['6 approval.resolved i1 approved', '7 approval.resolved i2 rejected'];
const told = [
  '8 tool.completed t1',
  '9 message.started m',
  '10 message.delta m done',
  '11 message.completed m',
  '12 run.completed',
];

async function answerAtServer(page: Page, runId = 'k2') {
  page.server.append(
    runId,
    runStarted(runId),
    event('TOOL_CALL_RESULT', { toolCallId: 't1', messageId: 'tm', content: 'found' }),
    event('TEXT_MESSAGE_CHUNK', { messageId: 'm', role: 'assistant', delta: 'done' }),
    runFinished(runId),
  );
  page.server.end(runId, 'finished');
  await page.world.clock.advance(1_500);
}

const resume = [
  { interruptId: 'i1', status: 'resolved', payload: { approved: true } },
  { interruptId: 'i2', status: 'resolved', payload: { approved: false } },
];

describe('two interrupts', () => {
  it('are answered one by one, and one AG-UI run goes on with both answers', async () => {
    const page = await asking();
    expect(page.lines).toEqual(asked);
    expect(page.events[4]?.payload).toMatchObject({
      toolCallId: 't1',
      expiresAt: Date.parse(expiresAt),
    });
    await approve(page);
    await page.settle();
    expect([...page.server.runs.keys()]).toEqual(['r']);
    await reject(page);
    await page.settle();
    expect([...page.server.runs.keys()]).toEqual(['r', 'k2']);
    expect(page.server.runs.get('k2')?.input).toMatchObject({ resume });
    expect(page.reading.outcome).toBeUndefined();
    await answerAtServer(page);
    expect(page.lines).toEqual([...asked, ...answered, ...told]);
    expect(page.reading.outcome).toBe('ended');
    expect(faultsOf(page)).toEqual([]);
    const thread = page.provider.getAgent('s').getSnapshot();
    expect(thread.interrupts).toBeUndefined();
    expect(thread.messages.at(-1)?.content).toBe('done');
  });

  it('are answered in any order, and edited data goes along', async () => {
    const page = await asking();
    await page.command('approval.resolve', { approvalId: 'i2', decision: 'approved' }, 'k1');
    const data = { city: 'Oslo' };
    await page.command('approval.resolve', { approvalId: 'i1', decision: 'modified', data }, 'k2');
    await page.settle();
    expect(page.server.runs.get('k2')?.input).toMatchObject({
      resume: [
        { interruptId: 'i1', status: 'resolved', payload: data },
        { interruptId: 'i2', status: 'resolved', payload: { approved: true } },
      ],
    });
  });

  it('cannot be answered twice, nor where nothing waits', async () => {
    const page = await asking();
    await approve(page);
    await expect(approve(page)).rejects.toMatchObject({ code: 'invalid-argument' });
    await expect(
      page.command('approval.resolve', { approvalId: '__proto__', decision: 'approved' }),
    ).rejects.toMatchObject({ code: 'invalid-argument' });
    await reject(page);
    await page.settle();
    await answerAtServer(page);
    await expect(reject(page)).rejects.toMatchObject({ code: 'invalid-argument' });
    expect(page.lines).toEqual([...asked, ...answered, ...told]);
  });

  it('of a plain server are answered before its run is over', async () => {
    const page = createPage({ v1: { caps: null } });
    page.run({});
    await page.settle();
    page.server.append('r', runStarted(), ...toolCall('t1'));
    page.server.append('r', interrupted('r', { id: 'i1', toolCallId: 't1' }, { id: 'i2' }));
    await page.settle();
    await approve(page);
    await reject(page);
    await page.settle();
    await answerAtServer(page);
    expect(page.lines).toEqual([...asked, ...answered, ...told]);
    expect(faultsOf(page)).toEqual([]);
  });

  it('survive a drop while they wait, and one while the answer is on its way', async () => {
    const page = await asking();
    await page.world.reconnect();
    await approve(page);
    await reject(page);
    page.world.socket.end();
    await page.world.clock.advance(3_000);
    await answerAtServer(page);
    expect(page.lines).toEqual([...asked, ...answered, ...told]);
    expect(page.server.runs.get('k2')?.executions).toBe(1);
  });

  it('whose answer cannot be sent end the run as failed', async () => {
    const page = await asking();
    await approve(page);
    await page.command('approval.resolve', {
      approvalId: 'i2',
      decision: 'modified',
      data: { n: 1n },
    });
    await page.settle();
    expect(page.lines.slice(7)).toEqual([
      '7 approval.resolved i2 modified',
      expect.stringMatching(/tool.failed t1/),
      expect.stringMatching(/run.failed/),
    ]);
    expect(page.reading.outcome).toBe('ended');
    expect(faultsOf(page)).toEqual([]);
  });

  it('go on with a run that fails', async () => {
    const page = await asking();
    await approve(page);
    await reject(page);
    await page.settle();
    page.server.append('k2', event('RUN_ERROR', { message: 'no' }));
    page.server.end('k2', 'error');
    await page.settle();
    expect(page.lines.slice(8)).toEqual([
      expect.stringMatching(/tool.failed t1/),
      expect.stringMatching(/run.failed/),
    ]);
  });

  it('go on with a run that does not say that it starts', async () => {
    const page = await asking();
    await approve(page);
    await reject(page);
    await page.settle();
    page.server.append('k2', textStart(), text('done'), textEnd(), runFinished('k2'));
    page.server.end('k2', 'finished');
    await page.settle();
    expect(page.lines.at(-1)).toMatch(/run.completed/);
    expect(textOf(page.store.getSnapshot())).toBe('done');
  });

  it('go on with a run that asks again', async () => {
    const page = await asking();
    await approve(page);
    await reject(page);
    await page.settle();
    page.server.append('k2', runStarted('k2'), interrupted('k2', { id: 'i3', reason: 'more' }));
    page.server.end('k2', 'finished');
    await page.settle();
    expect(page.lines.at(-1)).toBe('8 approval.requested i3');
    await page.command('approval.resolve', { approvalId: 'i3', decision: 'approved' }, 'k3');
    await page.settle();
    expect(page.server.runs.get('k3')?.input).toMatchObject({
      resume: [{ interruptId: 'i3', status: 'resolved' }],
    });
    await answerAtServer(page, 'k3');
    expect(page.lines.at(-1)).toMatch(/run.completed/);
    expect(faultsOf(page)).toEqual([]);
  });

  it('whose run fails behind them are expired', async () => {
    const page = createPage({ v1: { caps: null } });
    page.run({});
    await page.settle();
    page.server.append('r', runStarted(), interrupted('r', { id: 'i1' }, { id: 'i2' }));
    page.server.append('r', event('RUN_ERROR', { message: 'no' }));
    await page.world.clock.advance(1_500);
    expect(page.lines.slice(3)).toEqual([
      expect.stringMatching(/approval.resolved i\d expired/),
      expect.stringMatching(/approval.resolved i\d expired/),
      expect.stringMatching(/run.failed/),
    ]);
  });

  it('are answered while the server goes on by itself, and no event is lost', async () => {
    const page = createPage();
    page.run({});
    await page.settle();
    page.server.append('r', runStarted(), ...toolCall('t1'));
    page.server.append('r', interrupted('r', { id: 'i1', toolCallId: 't1' }, { id: 'i2' }));
    await page.settle();
    const command = approve(page);
    page.server.append('r', runStarted('r'), textStart(), text('one'));
    await command;
    await page.settle();
    page.server.append('r', text(' two'), textEnd(), runFinished('r'));
    page.server.end('r', 'finished');
    await page.settle();
    expect(page.lines.slice(6, 11)).toEqual([
      '6 approval.resolved i1 approved',
      '7 approval.resolved i2 expired',
      '8 message.started m',
      '9 message.delta m one',
      '10 message.delta m  two',
    ]);
    expect(page.lines.at(-1)).toMatch(/run.completed/);
    expect(faultsOf(page)).toEqual([]);
  });

  it('are expired by a cancel, with an end at once', async () => {
    const page = await asking();
    await approve(page);
    await page.command('run.cancel', { reason: 'changed my mind' });
    await page.settle();
    expect(page.lines.slice(6)).toEqual([
      '6 approval.resolved i1 approved',
      '7 approval.resolved i2 expired',
      expect.stringMatching(/8 tool.cancelled t1/),
      '9 run.cancelled changed my mind',
    ]);
    expect(page.reading.outcome).toBe('ended');
    expect([...page.server.runs.keys()]).toEqual(['r']);
    expect(faultsOf(page)).toEqual([]);
  });

  it('that another view of the thread answers go on in the store too', async () => {
    const page = await asking();
    const agent = page.provider.getAgent('s');
    const runId = agent.answer({
      i1: { status: 'resolved', payload: { approved: true } },
      i2: { status: 'cancelled' },
    });
    await page.settle();
    page.server.append(
      runId,
      event('RUN_STARTED', { threadId: 't', runId, input: page.server.runs.get(runId)?.input }),
      textStart(),
      text('done'),
      textEnd(),
      runFinished(runId),
    );
    page.server.end(runId, 'finished');
    await page.settle();
    expect(page.lines.slice(6, 8)).toEqual([
      '6 approval.resolved i1 approved',
      '7 approval.resolved i2 expired',
    ]);
    expect(page.lines.at(-1)).toMatch(/run.completed/);
    expect(textOf(page.store.getSnapshot())).toBe('done');
    expect(texts(agent).at(-1)).toBe('done');
    expect(faultsOf(page)).toEqual([]);
  });

  it('are answered while nobody reads, and the answer leaves at once', async () => {
    const page = await asking();
    page.reading.driver.detach();
    await page.settle();
    await approve(page);
    await reject(page);
    await page.settle();
    expect([...page.server.runs.keys()]).toEqual(['r', 'k2']);
    page.again();
    await answerAtServer(page);
    expect(page.lines).toEqual([...asked, ...answered, ...told]);
  });

  it('end the chunks of a reader when they are cancelled', async () => {
    const { world, server, provider } = createPage();
    const ids = { sessionId: 's', runId: 'r' };
    const context = provider.createContext({ ...ids, events: createAgentEventFactory(ids) });
    provider.start({}, context);
    const { signal } = new AbortController();
    let over = false;
    const read = async () => {
      for await (const chunk of provider.transport.open(
        provider.prepareRequest({}, context),
        signal,
      )) {
        provider.transformChunk(chunk, context);
      }
      over = true;
    };
    const reading = read();
    await world.settle();
    server.append('r', runStarted(), interrupted('r', { id: 'i1' }));
    server.end('r', 'finished');
    await world.settle();
    const command = createAgentCommandFactory(ids).create('run.cancel', {});
    const types: string[] = [];
    for await (const { type } of provider.executeCommand!(command, {
      signal,
      initialSequence: 9,
    })) {
      types.push(type);
    }
    expect(types).toEqual(['approval.resolved', 'run.cancelled']);
    await reading;
    expect(over).toBe(true);
  });

  it('wait for a reader who is away', async () => {
    const page = await asking();
    page.reading.driver.detach();
    await page.world.clock.advance(60_000);
    page.again();
    await page.settle();
    expect(page.lines).toEqual(asked);
    await approve(page);
    await reject(page);
    await page.settle();
    await answerAtServer(page);
    expect(page.lines).toEqual([...asked, ...answered, ...told]);
  });
});

describe('a reload while questions wait', () => {
  it.each([
    ['with a goodbye', false],
    ['without one', true],
  ])('%s keeps them, and their answers go on', async (_name, crash) => {
    const page = await asking();
    const next = await page.reload(page.write(), { crash });
    expect(next.reading.outcome).toBeUndefined();
    expect(next.lines).toEqual(asked);
    await approve(next);
    await reject(next);
    await next.settle();
    expect(next.server.runs.get('k2')?.input).toMatchObject({ resume });
    await answerAtServer(next);
    expect(next.lines).toEqual([...asked, ...answered, ...told]);
    expect(faultsOf(next)).toEqual([]);
    expect(next.provider.getAgent('s').getSnapshot().messages.at(-1)?.content).toBe('done');
  });

  it('asks the server for nothing, which may have forgotten the run', async () => {
    const page = await asking();
    page.server.evict('r');
    const next = await page.reload();
    await next.world.clock.advance(5_000);
    expect(next.lines).toEqual(asked);
    expect(next.reading.outcome).toBeUndefined();
  });

  it('keeps the first answer', async () => {
    const page = await asking();
    await approve(page);
    const next = await page.reload();
    await reject(next);
    await next.settle();
    expect(next.server.runs.get('k2')?.input).toMatchObject({ resume });
    await answerAtServer(next);
    expect(next.lines).toEqual([...asked, ...answered, ...told]);
  });

  /** The last answer as a command whose every step is the test's. */
  function rejectByHand(page: Page) {
    const { signal } = new AbortController();
    const command = {
      commandProtocol: 'agent-command',
      commandProtocolVersion: '0.1',
      type: 'approval.resolve',
      commandId: 'c',
      idempotencyKey: 'k2',
      sessionId: 's',
      runId: 'r',
      timestamp: 0,
      payload: { approvalId: 'i2', decision: 'rejected' },
    } as const;
    const events = page.provider.executeCommand!(command, { signal, initialSequence: 6 });
    return events[Symbol.asyncIterator]();
  }

  it('sends them again where nothing remembers that they were sent', async () => {
    const page = await asking({ provider: { agentOptions: { storage: null } } });
    await approve(page);
    const command = rejectByHand(page);
    const { value } = await command.next();
    page.store.dispatch(value);
    page.events.push(value);
    command.next();
    const written = page.write();
    await page.settle();
    const next = await page.reload(written, { crash: true });
    expect(next.server.runs.get('k2')).toMatchObject({ starts: 2, executions: 1 });
    await answerAtServer(next);
    expect(next.lines).toEqual([...asked, ...answered, ...told]);
  });

  it.each([
    ['before the run that carries the last answer', 1],
    ['right behind it', 2],
  ])('%s sends them once', async (_name, steps) => {
    const page = await asking();
    await approve(page);
    const command = rejectByHand(page);
    const { value } = await command.next();
    page.store.dispatch(value);
    page.events.push(value);
    if (steps > 1) command.next();
    const next = await page.reload(page.write(), { crash: true });
    expect([...next.server.runs.keys()]).toEqual(['r', 'k2']);
    expect(next.server.runs.get('k2')?.input).toMatchObject({ resume });
    expect(next.server.runs.get('k2')?.starts).toBe(1);
    await answerAtServer(next);
    expect(next.lines).toEqual([...asked, ...answered, ...told]);
  });

  it.each([
    ['with what was written after the answers', true],
    ['with what was written before them', false],
  ])('takes up the run that carries the answers, %s', async (_name, after) => {
    const page = await asking();
    const before = page.write();
    await approve(page);
    await reject(page);
    await page.settle();
    const next = await page.reload(after ? page.write() : before, { crash: true });
    expect(next.server.runs.get('k2')?.starts).toBe(1);
    next.server.append(
      'k2',
      event('RUN_STARTED', { threadId: 't', runId: 'k2', input: { resume } }),
      event('TOOL_CALL_RESULT', { toolCallId: 't1', messageId: 'tm', content: 'found' }),
      event('TEXT_MESSAGE_CHUNK', { messageId: 'm', role: 'assistant', delta: 'done' }),
      runFinished('k2'),
    );
    next.server.end('k2', 'finished');
    await next.settle();
    expect(next.lines).toEqual([...asked, ...answered, ...told]);
    expect(faultsOf(next)).toEqual([]);
  });

  it('and a cancel on the next page end the run', async () => {
    const page = await asking();
    const next = await page.reload();
    next.reading.controller.abort();
    await next.settle();
    expect(next.lines.slice(6)).toEqual([
      '6 approval.resolved i2 expired',
      '7 approval.resolved i1 expired',
      expect.stringMatching(/8 tool.cancelled t1/),
      expect.stringMatching(/9 run.cancelled/),
    ]);
    expect(next.reading.outcome).toBe('ended');
  });

  it('of a plain server that has not closed its log yet keeps them', async () => {
    const page = createPage({ v1: { caps: null } });
    page.run({});
    await page.settle();
    page.server.append('r', runStarted(), ...toolCall('t1'));
    page.server.append('r', interrupted('r', { id: 'i1', toolCallId: 't1' }, { id: 'i2' }));
    await page.settle();
    const next = await page.reload(page.write(), { crash: true });
    await next.world.clock.advance(3_000);
    expect(next.lines).toEqual(asked);
    await approve(next);
    await reject(next);
    await next.settle();
    await answerAtServer(next);
    expect(next.lines).toEqual([...asked, ...answered, ...told]);
  });
});
