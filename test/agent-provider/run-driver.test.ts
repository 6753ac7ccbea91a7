import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import { findLiveAgentRun } from '../../src/agent-provider/live-agent-run.ts';
import { runAgentCommand } from '../../src/agent-provider/run-agent-command.ts';
import { driveAgentProvider } from '../../src/agent-provider/run-driver.ts';
import type { DriveOptions } from '../../src/agent-provider/run-driver-types.ts';
import { createAgentStore } from '../../src/agent-provider/store.ts';
import { RunSocketError } from '../../src/internal/errors.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import {
  createFixture,
  createPipe,
  delta,
  type FixtureContext,
  lines,
  message,
  type Pipe,
  type Script,
} from './runner-fixture.ts';

/** A chunk of a log: a script with its place. */
type Placed = Script & { readonly place?: number };
type Options = Partial<DriveOptions<unknown, unknown, Script, FixtureContext>>;

const at = (place: number, script: Script): Placed => Object.assign([...script], { place });

/** A provider with a transport that resumes; `asked` says how it was called. */
function createResumable(changes: Parameters<typeof createFixture>[0] = {}) {
  const asked: unknown[] = [];
  const pipes: Pipe<Script>[] = [];
  const signals: AbortSignal[] = [];
  const pipe = (signal: AbortSignal) => {
    signals.push(signal);
    const made = createPipe<Script>();
    pipes.push(made);
    return made;
  };
  const provider = createFixture({
    transport: {
      kind: 'async-iterable',
      open(request, signal) {
        asked.push(['open', request]);
        return pipe(signal);
      },
      getCursor: (chunk) => (chunk as Placed).place,
      resume(request, cursor, signal) {
        asked.push(['resume', request, cursor]);
        return pipe(signal);
      },
    },
    classifyError: (error) => ({ retryable: (error as Error).message === 'again' }),
    saveContext: () => ({ saved: true }),
    restoreContext: (saved, { events }) => {
      if (!(saved as { saved?: boolean })?.saved) throw new Error('not mine');
      return { events, calls: [] };
    },
    ...changes,
  });
  return { provider, asked, pipes, signals };
}

function drive(fixture: ReturnType<typeof createResumable>, more: Options = {}) {
  const clock = createVirtualClock();
  const controller = new AbortController();
  const events: AgentEvent[] = [];
  const cursors: unknown[] = [];
  const connections: string[] = [];
  const state = { outcome: undefined as unknown, error: undefined as unknown };
  const driver = driveAgentProvider(
    {
      provider: fixture.provider,
      input: { q: 1 },
      run: { sessionId: 's', runId: 'r', signal: controller.signal },
      onEvent: (event: AgentEvent) => events.push(event),
      onCursor: (cursor: unknown) => cursors.push([cursor, events.length]),
      onConnection: (connection: string) => connections.push(connection),
      reconnect: {},
      ...(more as object),
    },
    clock.environment,
  );
  driver.done.then(
    (outcome) => {
      state.outcome = outcome;
    },
    (error) => {
      state.error = error;
    },
  );
  return { driver, clock, controller, events, cursors, connections, state };
}

const request = { input: { q: 1 } };

describe('reconnecting', () => {
  it('resumes behind the last cursor whose events were all given out', async () => {
    const fixture = createResumable();
    const { pipes, asked } = fixture;
    const { clock, events, cursors, connections, state } = drive(fixture);
    pipes[0]!.push(at(4, message()), at(5, [...delta('a'), ...delta('b')]), delta('unplaced'));
    pipes[0]!.fail(new Error('again'));
    await clock.advance(0);
    expect(cursors).toEqual([
      [4, 2],
      [5, 4],
    ]);
    expect(connections).toEqual(['connecting', 'connected', 'reconnecting']);
    await clock.advance(499);
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    pipes[1]!.push(at(6, [['message.completed', { messageId: 'm' }]]));
    pipes[1]!.end();
    await clock.advance(0);
    expect(asked).toEqual([
      ['open', request],
      ['resume', request, 5],
    ]);
    expect(connections).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
    expect(lines(events).slice(-2)).toEqual(['5 message.completed m', '6 run.completed']);
    expect(state).toEqual({ outcome: 'ended', error: undefined });
    expect(clock.timers).toBe(0);
  });

  it('asks from the start where no chunk had a place yet', async () => {
    const fixture = createResumable();
    const { clock } = drive(fixture);
    fixture.pipes[0]!.fail(new Error('again'));
    await clock.advance(500);
    expect(fixture.asked).toEqual([
      ['open', request],
      ['resume', request, undefined],
    ]);
  });

  it('waits 500, 1000 and 2000 ms, and tells transformError only then', async () => {
    const fixture = createResumable();
    const { clock, events, state } = drive(fixture);
    for (const [index, wait] of [500, 1_000, 2_000].entries()) {
      fixture.pipes[index]!.fail(new Error('again'));
      await clock.advance(wait - 1);
      expect(fixture.pipes).toHaveLength(index + 1);
      expect(lines(events)).toEqual(['0 run.started']);
      await clock.advance(1);
      expect(fixture.pipes).toHaveLength(index + 2);
    }
    fixture.pipes[3]!.fail(new Error('again'));
    await clock.advance(0);
    expect(lines(events)).toEqual(['0 run.started', '1 run.failed']);
    expect(state.outcome).toBe('ended');
  });

  it('keeps to the budget that it is given', async () => {
    const fixture = createResumable();
    const reconnect = { maxAttempts: 4, initialDelay: 10, maxDelay: 25 };
    const { clock, state } = drive(fixture, { reconnect });
    for (const [index, wait] of [10, 20, 25, 25].entries()) {
      fixture.pipes[index]!.fail(new Error('again'));
      await clock.advance(wait);
      expect(fixture.pipes).toHaveLength(index + 2);
    }
    fixture.pipes[4]!.fail(new Error('again'));
    await clock.advance(0);
    expect(state.outcome).toBe('ended');
  });

  it('counts anew once a chunk came', async () => {
    const fixture = createResumable();
    const { clock, state } = drive(fixture);
    for (let index = 0; index < 10; index++) {
      fixture.pipes[index]!.push(at(index, []));
      fixture.pipes[index]!.fail(new Error('again'));
      await clock.advance(500);
      expect(fixture.asked.at(-1)).toEqual(['resume', request, index]);
    }
    expect(state.outcome).toBeUndefined();
  });

  const noResume = createResumable();
  const { getCursor, resume, ...bare } = noResume.provider.transport;
  it.each<[string, Parameters<typeof createFixture>[0], unknown, Options]>([
    ['an error that the provider does not call retryable', {}, new Error('final'), {}],
    [
      'an AbortError',
      { classifyError: () => ({ retryable: true }) },
      new DOMException('x', 'AbortError'),
      {},
    ],
    ['any error where the caller wants none', {}, new Error('again'), { reconnect: false }],
    [
      'any error where the caller does not ask for it',
      {},
      new Error('again'),
      { reconnect: undefined },
    ],
    [
      'any error without getCursor',
      { transport: { ...bare, resume: resume! } },
      new Error('again'),
      {},
    ],
    [
      'any error without resume',
      { transport: { ...bare, getCursor: getCursor! } },
      new Error('again'),
      {},
    ],
  ])('does not happen for %s', async (_name, changes, error, options) => {
    const fixture = createResumable(changes);
    const { clock, state } = drive(fixture, options);
    (fixture.pipes[0] ?? noResume.pipes.at(-1))!.fail(error);
    await clock.advance(60_000);
    expect(state.outcome).toBe('ended');
    expect(fixture.provider.calls).toContain('transformError');
    expect(fixture.asked.length).toBeLessThan(2);
  });

  it('does not happen for a fault of the provider, nor for one of the consumer', async () => {
    const fault = createResumable({
      transformChunk() {
        throw new Error('again');
      },
    });
    const first = drive(fault);
    fault.pipes[0]!.push(message());
    await first.clock.advance(60_000);
    expect(first.state.outcome).toBe('ended');
    expect(fault.asked).toHaveLength(1);

    const consumer = createResumable();
    const second = drive(consumer, {
      onEvent({ type }: AgentEvent) {
        if (type === 'message.started') throw new Error('again');
      },
    });
    consumer.pipes[0]!.push(message());
    await second.clock.advance(60_000);
    expect(second.state.error).toMatchObject({ message: 'again' });
    expect(consumer.asked).toHaveLength(1);
  });

  it('is called off by an abort: the run is cancelled at once', async () => {
    const fixture = createResumable();
    const { clock, controller, events, state } = drive(fixture);
    fixture.pipes[0]!.push(at(0, message()));
    fixture.pipes[0]!.fail(new Error('again'));
    await clock.advance(100);
    controller.abort();
    await clock.advance(0);
    expect(lines(events).slice(2)).toEqual(['2 message.cancelled m', '3 run.cancelled']);
    expect(state.outcome).toBe('ended');
    expect(clock.timers).toBe(0);
    await clock.advance(60_000);
    expect(fixture.asked).toHaveLength(1);
  });

  it('is called off by detach()', async () => {
    const fixture = createResumable();
    const { clock, driver, state } = drive(fixture);
    fixture.pipes[0]!.fail(new Error('again'));
    await clock.advance(100);
    driver.detach();
    await clock.advance(60_000);
    expect(state.outcome).toBe('detached');
    expect(fixture.asked).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });
});

describe('detach()', () => {
  it('stops reading, cancels nothing and gives out nothing more', async () => {
    const fixture = createResumable();
    const { clock, driver, events, state } = drive(fixture);
    fixture.pipes[0]!.push(at(0, message()));
    await clock.advance(0);
    driver.detach();
    fixture.pipes[0]!.push(at(1, delta('late')));
    await clock.advance(0);
    expect(state.outcome).toBe('detached');
    expect(fixture.pipes[0]!.left).toBe(true);
    expect(fixture.signals[0]!.aborted).toBe(false);
    expect(lines(events)).toEqual(['0 run.started', '1 message.started m']);
    expect(fixture.provider.calls).not.toContain('transformError');
  });

  it('lets the chunk under way be given out whole, with its cursor', async () => {
    const fixture = createResumable();
    const seen: string[] = [];
    const { clock, driver, cursors, state } = drive(fixture, {
      onEvent({ type }: AgentEvent) {
        seen.push(type);
        if (type === 'message.started') driver.detach();
      },
    });
    fixture.pipes[0]!.push(at(7, [...message(), ...delta('a')]), at(8, delta('b')));
    await clock.advance(0);
    expect(seen).toEqual(['run.started', 'message.started', 'message.delta']);
    expect(cursors.map((one) => (one as unknown[])[0])).toEqual([7]);
    expect(state.outcome).toBe('detached');
    expect(fixture.pipes[0]!.asked).toBe(1);
  });

  it('lets the run fail where its chunk under way cannot be read', async () => {
    const fixture = createResumable({
      transformChunk() {
        driver.detach();
        throw new Error('oops');
      },
    });
    const { clock, driver, events, state } = drive(fixture);
    fixture.pipes[0]!.push(at(0, message()));
    await clock.advance(0);
    expect(lines(events)).toEqual(['0 run.started', '1 run.failed']);
    expect(state.outcome).toBe('ended');
  });

  it('changes nothing behind the end of the run', async () => {
    const fixture = createResumable();
    const { clock, driver, state } = drive(fixture);
    fixture.pipes[0]!.push([['run.completed', {}]]);
    await clock.advance(0);
    driver.detach();
    await clock.advance(0);
    expect(state.outcome).toBe('ended');
    expect(fixture.signals[0]!.aborted).toBe(true);
  });

  it('gives way to an abort', async () => {
    const fixture = createResumable();
    const { clock, driver, controller, events, state } = drive(fixture);
    driver.detach();
    controller.abort();
    await clock.advance(0);
    expect(lines(events)).toEqual(['0 run.started', '1 run.cancelled']);
    expect(state.outcome).toBe('ended');
    expect(fixture.signals[0]!.aborted).toBe(true);
  });
});

describe('going on with a run', () => {
  it('with its live context goes on with its sequence and its request', async () => {
    const fixture = createResumable();
    const first = drive(fixture);
    fixture.pipes[0]!.push(at(3, [...message(), ...delta('a')]));
    await first.clock.advance(0);
    first.driver.detach();
    await first.clock.advance(0);
    const second = drive(fixture, {
      resume: {
        cursor: 3,
        context: { live: first.driver.context },
        open: first.events,
      },
    });
    expect(second.driver.context).toBe(first.driver.context);
    fixture.pipes[1]!.push(at(4, [...delta('b'), ['message.completed', { messageId: 'm' }]]));
    fixture.pipes[1]!.end();
    await second.clock.advance(0);
    expect(fixture.asked).toEqual([
      ['open', request],
      ['resume', request, 3],
    ]);
    expect(lines(second.events)).toEqual([
      '3 message.delta m',
      '4 message.completed m',
      '5 run.completed',
    ]);
    expect(second.connections).toEqual(['reconnecting', 'connected']);
    expect(fixture.provider.calls.filter((call) => call === 'start')).toHaveLength(1);
    const store = createAgentStore({ protocolMode: 'strict' });
    store.batch([...first.events, ...second.events]);
  });

  it('goes on behind what commands have used meanwhile', async () => {
    const fixture = createResumable();
    const first = drive(fixture);
    await first.clock.advance(0);
    first.driver.detach();
    await first.clock.advance(0);
    const second = drive(fixture, {
      run: { sessionId: 's', runId: 'r', initialSequence: 6 },
      resume: { cursor: 0, context: { live: first.driver.context }, open: [] },
    });
    fixture.pipes[1]!.push(message());
    await second.clock.advance(0);
    expect(lines(second.events)).toEqual(['7 message.started m']);
  });

  it('with a saved context begins behind the initial sequence, and closes what was open', async () => {
    const fixture = createResumable();
    const first = drive(fixture);
    fixture.pipes[0]!.push(at(3, [...message(), ...delta('a')]));
    await first.clock.advance(0);
    const next = createResumable();
    const second = drive(next, {
      run: { sessionId: 's', runId: 'r', initialSequence: 2 },
      resume: { cursor: 3, context: { saved: { saved: true } }, open: first.events.slice(1, 2) },
    });
    next.pipes[0]!.push(at(4, [['run.completed', {}]]));
    await second.clock.advance(0);
    expect(next.asked).toEqual([['resume', undefined, 3]]);
    expect(lines(second.events)).toEqual(['4 message.completed m', '5 run.completed']);
    expect(next.provider.calls).toEqual([]);
  });

  it('makes the context of a provider anew that writes none down', async () => {
    const next = createResumable({ restoreContext: undefined as never });
    const { clock, events, state } = drive(next, {
      run: { sessionId: 's', runId: 'r', initialSequence: 7 },
      resume: { cursor: 3, context: { saved: undefined }, open: [] },
    });
    next.pipes[0]!.push(at(4, [...message(), ['run.completed', {}]]));
    await clock.advance(0);
    expect(next.asked).toEqual([['resume', undefined, 3]]);
    expect(state.outcome).toBe('ended');
    expect(lines(events)).toEqual([
      '8 message.started m',
      '10 message.completed m',
      '11 run.completed',
    ]);
  });

  it.each<[string, Parameters<typeof createFixture>[0], unknown]>([
    ['cannot be restored', {}, { foreign: true }],
    ['a provider cannot restore', { restoreContext: undefined as never }, { saved: true }],
    ['its transport cannot resume', { transport: createFixture().transport }, { saved: true }],
  ])('is unrecoverable where the context or the run %s', async (_name, changes, saved) => {
    const fixture = createResumable(changes);
    const { clock, state, events } = drive(fixture, {
      resume: { cursor: 3, context: { saved }, open: [] },
    });
    await clock.advance(0);
    expect(state.outcome).toBe('unrecoverable');
    expect(events).toEqual([]);
    expect(fixture.asked).toEqual([]);
  });

  it('is unrecoverable also under an aborted signal, where nothing can be asked', async () => {
    const fixture = createResumable();
    const { clock, state, events } = drive(fixture, {
      run: { sessionId: 's', runId: 'r', signal: AbortSignal.abort() },
      resume: { cursor: 3, context: { saved: { foreign: true } }, open: [] },
    });
    await clock.advance(0);
    expect(state).toEqual({ outcome: 'unrecoverable', error: undefined });
    expect(events).toEqual([]);
  });

  it('is unrecoverable where the transport does not know the cursor', async () => {
    const error = new RunSocketError('invalid-argument', 'no');
    for (const resume of [
      () => {
        throw error;
      },
      () => {
        const pipe = createPipe<Script>();
        pipe.fail(error);
        return pipe;
      },
    ]) {
      const base = createResumable().provider.transport;
      const fixture = createResumable({ transport: { ...base, resume } });
      const { clock, state, events } = drive(fixture, {
        resume: { cursor: 3, context: { saved: { saved: true } }, open: [] },
      });
      await clock.advance(60_000);
      expect(state.outcome).toBe('unrecoverable');
      expect(events).toEqual([]);
    }
  });

  it('fails where the run is not there any more', async () => {
    const fixture = createResumable();
    const { clock, state, events } = drive(fixture, {
      run: { sessionId: 's', runId: 'r', initialSequence: 4 },
      resume: { cursor: 3, context: { saved: { saved: true } }, open: [] },
    });
    fixture.pipes[0]!.fail(new RunSocketError('run-unknown', 'gone'));
    await clock.advance(0);
    expect(lines(events)).toEqual(['5 run.failed']);
    expect(state.outcome).toBe('ended');
  });

  it('under an aborted signal tells the transport, and cancels', async () => {
    const fixture = createResumable();
    const first = drive(fixture);
    fixture.pipes[0]!.push(at(3, message()));
    await first.clock.advance(0);
    first.driver.detach();
    await first.clock.advance(0);
    const second = drive(fixture, {
      run: { sessionId: 's', runId: 'r', signal: AbortSignal.abort() },
      resume: { cursor: 3, context: { live: first.driver.context }, open: first.events },
    });
    await second.clock.advance(0);
    expect(fixture.asked.at(-1)).toEqual(['resume', request, 3]);
    expect(fixture.signals[1]!.aborted).toBe(true);
    expect(fixture.pipes[1]!.asked).toBe(1);
    expect(lines(second.events)).toEqual(['2 message.cancelled m', '3 run.cancelled']);
    expect(second.state.outcome).toBe('ended');
  });

  it('in the same moment leaves it to be found by its commands', async () => {
    const fixture = createResumable();
    const first = drive(fixture);
    fixture.pipes[0]!.push(at(0, message()));
    await first.clock.advance(0);
    first.driver.detach();
    const second = drive(fixture, {
      resume: { cursor: 0, context: { live: first.driver.context }, open: first.events },
    });
    await second.clock.advance(0);
    expect(first.state.outcome).toBe('detached');
    const { provider } = fixture;
    const run = { sessionId: 's', runId: 'r' };
    expect(findLiveAgentRun(provider, run)?.last).toBe(1);
    second.controller.abort();
    await second.clock.advance(0);
    expect(findLiveAgentRun(provider, run)).toBeUndefined();
  });

  it('can be detached and taken up again and again', async () => {
    const fixture = createResumable();
    const events: AgentEvent[] = [];
    let current = drive(fixture);
    for (let turn = 0; turn < 20; turn++) {
      const script = turn ? delta('x') : message();
      fixture.pipes.at(-1)!.push(at(turn, script));
      await current.clock.advance(0);
      current.driver.detach();
      await current.clock.advance(0);
      events.push(...current.events);
      current = drive(fixture, {
        resume: { cursor: turn, context: { live: current.driver.context }, open: events },
      });
    }
    fixture.pipes.at(-1)!.push([['message.completed', { messageId: 'm' }]]);
    fixture.pipes.at(-1)!.end();
    await current.clock.advance(0);
    events.push(...current.events);
    const store = createAgentStore({ protocolMode: 'strict' });
    store.batch(events);
    expect(events).toHaveLength(23);
  });
});

it('lets the consumer of cursors and connections throw as it does', async () => {
  const error = new Error('consumer');
  const fail = () => {
    throw error;
  };
  for (const options of [{ onCursor: fail }, { onConnection: fail }]) {
    const fixture = createResumable();
    const { clock, state } = drive(fixture, options);
    fixture.pipes[0]?.push(at(0, message()));
    await clock.advance(0);
    expect(state.error).toBe(error);
    expect(fixture.provider.calls).not.toContain('transformError');
  }
});

it('keeps two runs of one provider apart, whatever their ids are', async () => {
  const fixture = createResumable();
  const ids = [
    ['__proto__', 'constructor'],
    ['__proto__c', 'onstructor'],
  ] as const;
  const runs = ids.map(([sessionId, runId]) => drive(fixture, { run: { sessionId, runId } }));
  fixture.pipes[0]!.push([...message(), ...delta('x')]);
  await runs[0]!.clock.advance(0);
  fixture.pipes[1]!.push(message());
  await runs[1]!.clock.advance(0);
  expect(lines(runs[0]!.events).at(-1)).toBe('2 message.delta m');
  expect(lines(runs[1]!.events).at(-1)).toBe('1 message.started m');
  const command = {
    commandProtocol: 'agent-command',
    commandProtocolVersion: '0.1',
    type: 'run.cancel',
    commandId: 'c',
    idempotencyKey: 'i',
    sessionId: ids[0][0],
    runId: ids[0][1],
    timestamp: 1,
    payload: {},
  } as const;
  let initial: number | undefined;
  Object.assign(fixture.provider, {
    capabilities: { ...fixture.provider.capabilities, commands: ['run.cancel'] },
    executeCommand(_command: unknown, options: { readonly initialSequence: number }) {
      initial = options.initialSequence;
      const none = createPipe();
      none.end();
      return none;
    },
  });
  await runAgentCommand({
    provider: fixture.provider as never,
    command,
    initialSequence: 0,
    onEvent() {},
  });
  expect(initial).toBe(2);
});
