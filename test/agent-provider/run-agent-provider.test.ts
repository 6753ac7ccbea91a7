import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import type { RunAgentProviderOptions } from '../../src/agent-provider/provider-types.ts';
import { isAgentProvider, runAgentProvider } from '../../src/agent-provider/run-agent-provider.ts';
import { createAgentStore } from '../../src/agent-provider/store.ts';
import { validateAgentProviderEvents } from '../../src/agent-provider/validate-agent-provider-events.ts';
import {
  createFixture,
  createPipe,
  delta,
  type factory,
  lines,
  message,
  type Script,
  settle,
} from './runner-fixture.ts';

type Options = Partial<RunAgentProviderOptions<unknown, unknown, Script, never>>;

function run(provider: ReturnType<typeof createFixture>, more: Options = {}) {
  const events: AgentEvent[] = [];
  const controller = new AbortController();
  const state = { settled: undefined as string | undefined, error: undefined as unknown };
  const done = runAgentProvider({
    provider,
    input: { q: 1 },
    run: { sessionId: 's', runId: 'r', signal: controller.signal, now: () => 1 },
    onEvent: (event) => events.push(event),
    ...(more as object),
  }).then(
    () => {
      state.settled = 'resolved';
    },
    (error) => {
      state.settled = 'rejected';
      state.error = error;
    },
  );
  const valid = () => validateAgentProviderEvents(provider.capabilities, events);
  return { events, controller, state, done, valid };
}

describe('a run', () => {
  it('gives out start, chunks and flush, in order', async () => {
    const provider = createFixture();
    const { events, done, state, valid } = run(provider);
    provider.pipes[0]!.push(message(), [...delta('a'), ...delta('b')]);
    provider.pipes[0]!.push([['message.completed', { messageId: 'm' }]]);
    provider.pipes[0]!.end();
    await done;
    expect(lines(events)).toEqual([
      '0 run.started',
      '1 message.started m',
      '2 message.delta m',
      '3 message.delta m',
      '4 message.completed m',
      '5 run.completed',
    ]);
    expect(events[0]).toMatchObject({ payload: { input: { q: 1 } }, timestamp: 1 });
    expect(provider.calls).toEqual(['createContext', 'start', 'prepareRequest', 'open', 'flush']);
    expect(state).toMatchObject({ settled: 'resolved' });
    expect(valid()).toEqual([]);
  });

  it('gives out what it starts with at once', () => {
    const { events } = run(createFixture());
    expect(lines(events)).toEqual(['0 run.started']);
  });

  it('begins behind the initial sequence, and makes ids as it is told', async () => {
    const provider = createFixture();
    const { events, done } = run(provider, {
      run: {
        sessionId: 's',
        runId: 'r',
        initialSequence: 41,
        createEventId: (sequence: number) => `e${sequence}`,
      },
    });
    provider.pipes[0]!.end();
    await done;
    expect(lines(events)).toEqual(['42 run.started', '43 run.completed']);
    expect(events.map(({ eventId }) => eventId)).toEqual(['e42', 'e43']);
  });

  it('hands its options and the request on', async () => {
    const seen: unknown[] = [];
    const fixture = createFixture();
    const provider = createFixture({
      createContext(options) {
        seen.push(options);
        return fixture.createContext(options);
      },
      transport: {
        kind: 'async-iterable',
        open(request, signal) {
          seen.push(request, signal);
          const pipe = createPipe<Script>();
          pipe.end();
          return pipe;
        },
      },
    });
    await run(provider).done;
    expect(seen[0]).toMatchObject({ sessionId: 's', runId: 'r' });
    expect(seen[1]).toEqual({ input: { q: 1 } });
    expect((seen[2] as AbortSignal).aborted).toBe(true);
  });

  it('tells transformError of whatever fails in the provider or its transport, and resolves', async () => {
    const oops = () => {
      throw new Error('oops');
    };
    const failures: [string, Parameters<typeof createFixture>[0], boolean][] = [
      ['start', { start: oops }, false],
      ['prepareRequest', { prepareRequest: oops }, true],
      ['open', { transport: { kind: 'async-iterable', open: oops } }, true],
      ['transformChunk', { transformChunk: oops }, true],
      ['flush', { flush: oops }, true],
    ];
    for (const [name, changes, started] of failures) {
      const provider = createFixture(changes);
      const { events, done, state } = run(provider);
      provider.pipes[0]?.push(message());
      provider.pipes[0]?.end();
      await done;
      expect(state, name).toEqual({ settled: 'resolved', error: undefined });
      expect(events.at(-1), name).toMatchObject({
        type: 'run.failed',
        payload: { error: { message: 'oops' } },
      });
      expect(events[0]?.type === 'run.started', name).toBe(started);
    }
    const provider = createFixture();
    const { events, done } = run(provider);
    provider.pipes[0]!.push(message());
    provider.pipes[0]!.fail(new Error('oops'));
    await done;
    expect(lines(events)).toEqual([
      '0 run.started',
      '1 message.started m',
      '3 message.failed m',
      '4 run.failed',
    ]);
  });

  it('aborts a transport whose chunk could not be read, and leaves it', async () => {
    const seen: boolean[] = [];
    const provider = createFixture({
      transport: {
        kind: 'async-iterable',
        async *open(_request, signal) {
          try {
            yield message();
          } finally {
            seen.push(signal.aborted);
          }
        },
      },
      transformChunk() {
        throw new Error('oops');
      },
    });
    await run(provider).done;
    expect(seen).toEqual([true]);
  });

  it('rejects with what transformError throws', async () => {
    const provider = createFixture({
      transformError() {
        throw new Error('worse');
      },
    });
    const { done, state } = run(provider);
    provider.pipes[0]!.fail(new Error('oops'));
    await done;
    expect(state).toMatchObject({ settled: 'rejected', error: { message: 'worse' } });
  });
});

describe('before a run', () => {
  it('another protocol version and an undeclared transport are refused, in this order', async () => {
    const bad = { name: 'agent-event', version: '0.2' } as never;
    const capabilities = { eventTypes: [], transports: [] };
    const both = createFixture({ protocol: bad, capabilities });
    const first = run(both);
    await first.done;
    expect(first.state.error).toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('0.2'),
    });
    const second = run(createFixture({ capabilities }));
    await second.done;
    expect(second.state.error).toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('async-iterable'),
    });
    expect(both.calls).toEqual([]);
  });

  it('what createContext throws comes out as it was', async () => {
    const error = new Error('no context');
    const provider = createFixture({
      createContext() {
        throw error;
      },
    });
    const { done, state } = run(provider);
    await done;
    expect(state.error).toBe(error);
    expect(provider.calls).toEqual([]);
  });

  it('a provider is known by the name of its protocol alone', () => {
    expect(isAgentProvider(createFixture())).toBe(true);
    expect(isAgentProvider({ protocol: { name: 'agent-event' } })).toBe(true);
    for (const other of [
      undefined,
      null,
      1,
      'x',
      [],
      {},
      { protocol: null },
      { protocol: 'agent-event' },
      { protocol: { name: 'other', version: '0.1' } },
    ]) {
      expect(isAgentProvider(other)).toBe(false);
    }
  });
});

describe('an event that breaks the protocol', () => {
  const bad: [string, (events: ReturnType<typeof factory>) => unknown][] = [
    ['is not valid', () => ({ type: 'message.delta' })],
    ['is nothing', () => undefined],
    ['is of another session', (e) => ({ ...e.create('run.started', {}), sessionId: 'x' })],
    ['is of another run', (e) => ({ ...e.create('run.started', {}), runId: 'x' })],
    ['is not declared', (e) => e.create('task.created', { taskId: 't', title: 'x' })],
  ];
  it.each(bad)('rejects where it %s, and is not told to transformError', async (_name, make) => {
    const all = createFixture();
    const provider = createFixture({
      capabilities: {
        eventTypes: all.capabilities.eventTypes.filter((type) => type !== 'task.created'),
        transports: ['async-iterable'],
      },
      transformChunk: (_chunk, { events }) => [
        events.create('message.started', { messageId: 'm', role: 'x' }),
        make(events) as AgentEvent,
        events.create('message.delta', { messageId: 'm', delta: 'x' }),
      ],
    });
    const { events, done, state } = run(provider);
    provider.pipes[0]!.push([]);
    await done;
    expect(state.error).toMatchObject({ name: 'RunSocketError', code: 'bad-message' });
    expect(provider.calls).not.toContain('transformError');
    expect(lines(events)).toEqual(['0 run.started', '1 message.started m']);
    expect(provider.signals[0]!.aborted).toBe(true);
    expect(provider.pipes[0]!.left).toBe(true);
  });

  it('rejects from transformError, too', async () => {
    const provider = createFixture({ transformError: () => [{} as AgentEvent] });
    const { done, state } = run(provider);
    provider.pipes[0]!.fail(new Error('oops'));
    await done;
    expect(state.error).toMatchObject({ code: 'bad-message' });
  });

  it('is one against the lifecycle only where the run is strict', async () => {
    const script: Script = [...delta('x', 'unknown'), ...message(), ...message()];
    const lax = createFixture();
    const first = run(lax);
    lax.pipes[0]!.push(script);
    lax.pipes[0]!.end();
    await first.done;
    expect(first.state.settled).toBe('resolved');
    expect(first.events).toHaveLength(6);
    for (const part of [
      delta('x', 'unknown'),
      [...message(), ...message()],
      [['run.started', {}]] as Script,
      [...message(), ['run.completed', {}]] as Script,
      [...message(), ['message.completed', { messageId: 'm' }], ...delta('x')] as Script,
    ]) {
      const provider = createFixture();
      const { done, state } = run(provider, { strict: true });
      provider.pipes[0]!.push(part);
      await done;
      expect(state.error, JSON.stringify(part)).toMatchObject({ code: 'bad-message' });
    }
    const repeating = createFixture({
      transformChunk: (_chunk, { events }) => [
        events.create('message.started', { messageId: 'm', role: 'x' }, { sequence: 0 }),
      ],
    });
    const { done, state } = run(repeating, { strict: true });
    repeating.pipes[0]!.push([]);
    await done;
    expect(state.error).toMatchObject({ code: 'bad-message' });
  });
});

describe('what the consumer throws', () => {
  const error = new Error('consumer');
  const throwAt = (type: string) => (event: AgentEvent) => {
    if (event.type === type) throw error;
  };
  it.each([
    ['start', 'run.started'],
    ['a chunk', 'message.started'],
    ['flush', 'run.completed'],
    ['transformError', 'run.failed'],
    ['the cancellation of what is open', 'message.cancelled'],
  ])('comes out as it was from %s', async (where, type) => {
    const provider = createFixture();
    const { done, state, controller } = run(provider, { onEvent: throwAt(type) });
    const [pipe] = provider.pipes;
    if (where === 'flush') pipe!.end();
    else if (where === 'transformError') pipe!.fail(new Error('oops'));
    else pipe?.push(message());
    await settle();
    if (type === 'message.cancelled') controller.abort();
    await done;
    expect(state).toEqual({ settled: 'rejected', error });
    if (where !== 'transformError') {
      expect(provider.calls.includes('transformError')).toBe(type === 'message.cancelled');
    }
    if (pipe) expect(provider.signals[0]!.aborted).toBe(true);
  });
});

describe('an aborted run', () => {
  const open: Script = [
    ['task.created', { taskId: 't', title: 'Step' }],
    ['artifact.created', { artifactId: 'a', name: 'doc' }],
    ['reasoning.started', { reasoningId: 'm' }],
    ['message.started', { messageId: 'm', role: 'assistant' }],
    ['tool.requested', { toolCallId: 'c', name: 'search' }],
    ['approval.requested', { approvalId: 'i', toolCallId: 'c' }],
  ];
  const cancelled = [
    '7 approval.resolved i',
    '8 tool.cancelled c',
    '9 message.cancelled m',
    '10 reasoning.cancelled m',
    '11 artifact.failed a',
    '12 task.cancelled t',
    '13 run.cancelled',
  ];
  const started = (changes: Parameters<typeof createFixture>[0] = {}, more: Options = {}) => {
    const provider = createFixture(changes);
    const result = run(provider, more);
    provider.pipes[0]?.push(open);
    return { provider, ...result };
  };

  it('ends with the cancellation of what is open, last opened first, and then its own', async () => {
    const { provider, events, controller, done, state, valid } = started();
    await settle();
    controller.abort();
    await done;
    expect(lines(events).slice(7)).toEqual(cancelled);
    expect(events[7]).toMatchObject({ payload: { decision: 'expired' } });
    expect(events[11]).toMatchObject({ payload: { error: { code: 'cancelled' } } });
    expect(events.at(-1)?.payload).toEqual({});
    expect(state.settled).toBe('resolved');
    expect(valid()).toEqual([]);
    const store = createAgentStore({ protocolMode: 'strict' });
    store.batch(events);
    expect(provider.calls.at(-1)).toBe('transformError');
  });

  it('does so where the transport ignores the signal and hangs in return()', async () => {
    const pipe = createPipe<Script>({ hangs: true });
    const { events, controller, done } = started({
      transport: { kind: 'async-iterable', open: () => pipe },
    });
    pipe.push(open);
    await settle();
    controller.abort();
    await done;
    expect(lines(events).slice(7)).toEqual(cancelled);
    expect(pipe.left).toBe(true);
    pipe.push(delta('late'));
    pipe.end();
    await settle();
    expect(events).toHaveLength(14);
  });

  it('does so where the transport ends quietly on the abort, and completes nothing', async () => {
    const { provider, events, controller, done } = started({
      transport: {
        kind: 'async-iterable',
        async *open(_request, signal) {
          yield open;
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        },
      },
    });
    await settle();
    controller.abort();
    await done;
    expect(lines(events).slice(7)).toEqual(cancelled);
    expect(provider.calls).not.toContain('flush');
  });

  it('does so where the transport fails with an error of its own', async () => {
    const { events, controller, done } = started({
      transport: {
        kind: 'async-iterable',
        async *open(_request, signal) {
          yield open;
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          throw new Error('socket hang up');
        },
      },
    });
    await settle();
    controller.abort();
    await done;
    expect(lines(events).slice(7)).toEqual(cancelled);
  });

  it('drops a chunk that comes together with the abort', async () => {
    const { provider, events, controller, done } = started();
    await settle();
    provider.pipes[0]!.push(delta('late'));
    controller.abort();
    await done;
    expect(lines(events).slice(7)).toEqual(cancelled);
  });

  it('drops a chunk that has come and was not looked at yet', async () => {
    let bring = (_result: IteratorResult<Script>) => {};
    const next = new Promise<IteratorResult<Script>>((resolve) => {
      bring = resolve;
    });
    const { events, controller, done } = started({
      transport: {
        kind: 'async-iterable',
        open: () => ({ [Symbol.asyncIterator]: () => ({ next: () => next }) }),
      },
    });
    next.then(() => controller.abort());
    bring({ done: false, value: message() });
    await done;
    expect(lines(events)).toEqual(['0 run.started', '1 run.cancelled']);
  });

  it('is never told as completed, however close its end was', async () => {
    const ends = new Set<string | undefined>();
    for (let turns = 0; turns < 20; turns++) {
      const controller = new AbortController();
      const events: AgentEvent[] = [];
      const late: string[] = [];
      const { done } = run(
        createFixture({
          transport: {
            kind: 'async-iterable',
            async *open() {
              yield* [];
            },
          },
        }),
        {
          run: { sessionId: 's', runId: 'r', signal: controller.signal },
          onEvent(event) {
            events.push(event);
            if (controller.signal.aborted) late.push(event.type);
          },
        },
      );
      for (let turn = 0; turn < turns; turn++) await undefined;
      controller.abort();
      await done;
      expect(events).toHaveLength(2);
      expect(late).not.toContain('run.completed');
      ends.add(events[1]?.type);
    }
    expect([...ends].sort()).toEqual(['run.cancelled', 'run.completed']);
  });

  it('gives out nothing more where the consumer throws at what transformError says', async () => {
    const error = new Error('consumer');
    const seen: string[] = [];
    const { controller, done, state } = started(
      {
        transformError: (_error, { events }) => [
          events.create('tool.cancelled', { toolCallId: 'c' }),
        ],
      },
      {
        onEvent({ type }) {
          seen.push(type);
          if (type === 'tool.cancelled') throw error;
        },
      },
    );
    await settle();
    controller.abort();
    await done;
    expect(state.error).toBe(error);
    expect(seen.at(-1)).toBe('tool.cancelled');
  });

  it('gives transformError an AbortError, whatever the reason is, and the reason to run.cancelled', async () => {
    const reasons: [unknown, string | undefined][] = [
      [undefined, undefined],
      [new DOMException('left', 'AbortError'), undefined],
      ['enough', 'enough'],
      [new Error('too long'), 'too long'],
      [null, 'Aborted'],
      [{ code: 1 }, 'Aborted'],
    ];
    for (const [reason, told] of reasons) {
      const errors: unknown[] = [];
      const { events, controller, done } = started({
        transformError(error) {
          errors.push(error);
          return [];
        },
      });
      await settle();
      controller.abort(reason);
      await done;
      expect(errors).toHaveLength(1);
      expect(errors[0]).toMatchObject({ name: 'AbortError' });
      expect(events.at(-1)).toMatchObject({ type: 'run.cancelled' });
      expect(events.at(-1)?.payload).toEqual(told === undefined ? {} : { reason: told });
    }
  });

  it('leaves the end to a provider that tells one, and closes what it leaves open before', async () => {
    const { events, controller, done, valid } = started({
      transformError: (_error, { events: make }) => [
        make.create('tool.cancelled', { toolCallId: 'c' }),
        make.create('run.cancelled', { reason: 'user' }),
        make.create('message.cancelled', { messageId: 'm' }),
      ],
    });
    await settle();
    controller.abort();
    await done;
    expect(lines(events).slice(7)).toEqual([
      '7 tool.cancelled c',
      '10 approval.resolved i',
      '11 message.cancelled m',
      '12 reasoning.cancelled m',
      '13 artifact.failed a',
      '14 task.cancelled t',
      '15 run.cancelled',
    ]);
    expect(events.at(-1)?.payload).toEqual({ reason: 'user' });
    expect(valid()).toEqual([]);
  });

  it('closes entities by types that the provider has declared, and the nearest where one is missing', async () => {
    const all = createFixture().capabilities;
    const missing = ['tool.cancelled', 'message.cancelled', 'message.failed', 'run.cancelled'];
    const capabilities = {
      ...all,
      eventTypes: all.eventTypes.filter(
        (type) => !missing.includes(type) && !type.startsWith('approval.res'),
      ),
    };
    const { events, controller, done } = started({ capabilities });
    await settle();
    controller.abort();
    await done;
    expect(lines(events).slice(7)).toEqual([
      '7 tool.failed c',
      '8 message.completed m',
      '9 reasoning.cancelled m',
      '10 artifact.failed a',
      '11 task.cancelled t',
      '12 run.cancelled',
    ]);
  });

  it('ends with run.cancelled even where no terminal type is declared', async () => {
    const { events, controller, done } = started({
      capabilities: { eventTypes: ['run.started'], transports: ['async-iterable'] },
      flush: () => [],
      transformChunk: () => [],
    });
    await settle();
    controller.abort();
    await done;
    expect(lines(events)).toEqual(['0 run.started', '1 run.cancelled']);
  });

  it('is ended before what transformError throws comes out', async () => {
    const { events, controller, done, state } = started({
      transformError() {
        throw new Error('worse');
      },
    });
    await settle();
    controller.abort();
    await done;
    expect(lines(events).slice(7)).toEqual(cancelled);
    expect(state.error).toMatchObject({ message: 'worse' });
  });

  it('is ended before the protocol error of what transformError returns comes out', async () => {
    const { events, controller, done, state } = started({
      transformError: () => [{} as AgentEvent],
    });
    await settle();
    controller.abort();
    await done;
    expect(lines(events).slice(7)).toEqual(cancelled);
    expect(state.error).toMatchObject({ code: 'bad-message' });
  });

  it('opens no transport under a signal that is aborted already', async () => {
    const provider = createFixture();
    const { events, done } = run(provider, {
      run: { sessionId: 's', runId: 'r', signal: AbortSignal.abort() },
    });
    await done;
    expect(lines(events)).toEqual(['0 run.started', '1 run.cancelled']);
    expect(provider.calls).toEqual(['createContext', 'start', 'transformError']);
  });

  it('opens no transport where the consumer aborts it while it starts', async () => {
    const provider = createFixture();
    const controller = new AbortController();
    const events: AgentEvent[] = [];
    await run(provider, {
      run: { sessionId: 's', runId: 'r', signal: controller.signal },
      onEvent(event) {
        events.push(event);
        controller.abort();
      },
    }).done;
    expect(lines(events)).toEqual(['0 run.started', '1 run.cancelled']);
    expect(provider.calls).not.toContain('open');
  });

  it('has begun before it ends, where nothing was told of it yet', async () => {
    const { events, controller, done, valid } = started({
      start: () => [],
      transformChunk: () => [],
    });
    await settle();
    controller.abort();
    await done;
    expect(lines(events)).toEqual(['0 run.started', '1 run.cancelled']);
    expect(events[0]?.payload).toEqual({ input: { q: 1 } });
    expect(valid()).toEqual([]);
  });

  it('forwards the reason to the transport', async () => {
    const { provider, controller, done } = started();
    controller.abort('enough');
    await done;
    expect(provider.signals[0]!.reason).toBe('enough');
  });

  it('leaves no listener on its signal', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: never[]) => {
      listeners++;
      (addEventListener as (...args: unknown[]) => void).apply(signal, args);
    };
    signal.removeEventListener = (...args: never[]) => {
      listeners--;
      (removeEventListener as (...args: unknown[]) => void).apply(signal, args);
    };
    const provider = createFixture();
    const { done } = run(provider, { run: { sessionId: 's', runId: 'r', signal } });
    expect(listeners).toBe(1);
    provider.pipes[0]!.end();
    await done;
    expect(listeners).toBe(0);
  });
});

describe('behind the terminal event of a run', () => {
  it('nothing is given out, the transport is left, and neither flush nor transformError is asked', async () => {
    const provider = createFixture();
    const { events, done, state } = run(provider);
    provider.pipes[0]!.push([['run.completed', {}], ...message(), ['run.failed', {}]]);
    provider.pipes[0]!.push(message('late'));
    await done;
    expect(lines(events)).toEqual(['0 run.started', '1 run.completed']);
    expect(provider.pipes[0]!.left).toBe(true);
    expect(provider.signals[0]!.aborted).toBe(true);
    expect(provider.calls.slice(-1)).toEqual(['open']);
    expect(state.settled).toBe('resolved');
  });

  it('an abort changes nothing', async () => {
    const provider = createFixture();
    const controller = new AbortController();
    const events: AgentEvent[] = [];
    const { done } = run(provider, {
      run: { sessionId: 's', runId: 'r', signal: controller.signal },
      onEvent(event) {
        events.push(event);
        if (event.type === 'run.completed') controller.abort();
      },
    });
    provider.pipes[0]!.push([['run.completed', {}]]);
    await done;
    expect(lines(events)).toEqual(['0 run.started', '1 run.completed']);
    expect(provider.calls).not.toContain('transformError');
  });

  it.each([
    ['run.completed', {}, 'message.completed m'],
    ['run.failed', { error: { message: 'no' } }, 'message.failed m'],
    ['run.cancelled', {}, 'message.cancelled m'],
  ])('%s closes what is open in its own way', async (type, payload, closing) => {
    const provider = createFixture();
    const { events, done, valid } = run(provider);
    provider.pipes[0]!.push(message(), [[type, payload]]);
    await done;
    expect(lines(events).slice(2)).toEqual([`3 ${closing}`, `4 ${type}`]);
    expect(events[3]?.eventId).not.toBe(events[2]?.eventId);
    expect(valid()).toEqual([]);
  });
});

it('gives out a sequence that the provider itself repeats as it is', async () => {
  const provider = createFixture({
    transformChunk: (_chunk, { events }) =>
      [0, 5, 5].map((sequence) => events.create('tool.running', { toolCallId: 't' }, { sequence })),
  });
  const { events, done } = run(provider);
  provider.pipes[0]!.push([]);
  provider.pipes[0]!.end();
  await done;
  expect(events.map(({ sequence }) => sequence)).toEqual([0, 0, 5, 5, 6]);
});

it('gives out 100,000 chunks without piling up what waits for them', async () => {
  const provider = createFixture({
    transport: {
      kind: 'async-iterable',
      async *open() {
        yield message();
        for (let i = 0; i < 100_000; i++) yield delta('x');
      },
    },
  });
  let count = 0;
  await run(provider, {
    onEvent() {
      count++;
    },
  }).done;
  expect(count).toBe(100_004);
});
