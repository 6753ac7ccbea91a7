import { describe, expect, it } from 'vitest';
import type { AgentCommand } from '../../src/agent-provider/command-types.ts';
import { createAgentCommandFactory } from '../../src/agent-provider/commands.ts';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import { agentEventTypes } from '../../src/agent-provider/event-guards.ts';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import type { AgentCommandOptions } from '../../src/agent-provider/provider-types.ts';
import {
  AgentCommandRunnerError,
  runAgentCommand,
} from '../../src/agent-provider/run-agent-command.ts';
import { runAgentProvider } from '../../src/agent-provider/run-agent-provider.ts';
import { createAgentStore } from '../../src/agent-provider/store.ts';
import { validateAgentProviderEvents } from '../../src/agent-provider/validate-agent-provider-events.ts';
import {
  createFixture,
  createPipe,
  delta,
  factory,
  lines,
  message,
  settle,
} from './runner-fixture.ts';

const commands = createAgentCommandFactory({ sessionId: 's', runId: 'r' });
const approve = commands.create('approval.resolve', { approvalId: 'i', decision: 'approved' });
const cancel = commands.create('run.cancel', {});

type Execute = (command: AgentCommand, options: AgentCommandOptions) => AsyncIterable<AgentEvent>;

const withCommands = (executeCommand: Execute | undefined, changes: object = {}) =>
  createFixture({
    capabilities: {
      eventTypes: agentEventTypes,
      transports: ['async-iterable'],
      commands: ['approval.resolve', 'run.cancel', 'tool.retry'],
    },
    ...(executeCommand && { executeCommand }),
    ...changes,
  });

function execute(
  provider: ReturnType<typeof withCommands>,
  more: Partial<Parameters<typeof runAgentCommand>[0]> = {},
) {
  const events: AgentEvent[] = [];
  const state = { settled: '', error: undefined as unknown };
  const done = runAgentCommand({
    provider: provider as never,
    command: approve,
    initialSequence: 4,
    onEvent: (event) => events.push(event),
    ...more,
  }).then(
    () => {
      state.settled = 'resolved';
    },
    (error) => {
      state.settled = 'rejected';
      state.error = error;
    },
  );
  return { events, state, done };
}

/** A provider as the AX page's sample writes it: a factory of its own behind `initialSequence`. */
const sample: Execute = async function* (command, { initialSequence }) {
  const { sessionId, runId } = command;
  const { create } = createAgentEventFactory({ sessionId, runId, initialSequence });
  yield command.type === 'run.cancel'
    ? create('run.cancelled', command.payload)
    : create('approval.resolved', { approvalId: 'i', decision: 'approved' });
};

describe('a command', () => {
  it('gives out its events behind the initial sequence', async () => {
    const { events, state, done } = execute(withCommands(sample));
    await done;
    expect(lines(events)).toEqual(['5 approval.resolved i']);
    expect(state).toEqual({ settled: 'resolved', error: undefined });
  });

  it('is handed on with what it is executed with', async () => {
    const seen: unknown[] = [];
    const now = () => 7;
    const provider = withCommands(async function* (...args) {
      seen.push(...args);
      yield* [];
    });
    await execute(provider, { now }).done;
    expect(seen[0]).toBe(approve);
    expect(seen[1]).toMatchObject({ initialSequence: 4, now });
    expect((seen[1] as AgentCommandOptions).signal).toBeInstanceOf(AbortSignal);
  });

  it('is refused in the order of the contract', async () => {
    const none = withCommands(undefined, { protocol: { name: 'agent-event', version: '9' } });
    const old = withCommands(sample, { protocol: { name: 'agent-event', version: '9' } });
    const undeclared = withCommands(sample, {
      capabilities: { eventTypes: agentEventTypes, transports: [], commands: ['run.cancel'] },
    });
    const signal = AbortSignal.abort();
    const bad = { ...approve, payload: { approvalId: 'i', decision: 'expired' } } as never;
    const cases: [string, Parameters<typeof execute>][] = [
      ['invalid_command', [none, { command: bad, signal }]],
      ['invalid_command', [old, { command: null as never, signal }]],
      ['protocol_error', [none, { signal }]],
      ['unsupported_capability', [withCommands(undefined), { signal }]],
      ['unsupported_capability', [undeclared, { signal }]],
      ['unsupported_capability', [createFixture({ executeCommand: sample }), { signal }]],
    ];
    for (const [code, args] of cases) {
      const { state, done } = execute(...args);
      await done;
      expect(state.error).toBeInstanceOf(AgentCommandRunnerError);
      expect(state.error).toMatchObject({ name: 'AgentCommandRunnerError', code });
    }
    const { state, done } = execute(withCommands(sample), { signal });
    await done;
    expect(state.error).toMatchObject({ name: 'AbortError' });
  });

  const { create } = factory(4);
  it.each<[string, () => unknown[]]>([
    ['is no event', () => [{ type: 'approval.resolved' }]],
    ['is of another session', () => [{ ...create('run.cancelled', {}), sessionId: 'x' }]],
    ['is of another run', () => [{ ...create('run.cancelled', {}), runId: 'x' }]],
    ['is not declared', () => [create('task.created', { taskId: 't', title: 'x' })]],
    ['repeats a sequence', () => [create('tool.running', { toolCallId: 't' }, { sequence: 4 })]],
    [
      'goes back',
      () => [10, 9].map((sequence) => create('tool.running', { toolCallId: 't' }, { sequence })),
    ],
  ])('fails with protocol_error where an event %s', async (name, make) => {
    let left = false;
    const provider = withCommands(
      async function* () {
        try {
          yield* make() as AgentEvent[];
          yield create('run.cancelled', {});
        } finally {
          left = true;
        }
      },
      {
        capabilities: {
          eventTypes: agentEventTypes.filter((type) => type !== 'task.created'),
          transports: [],
          commands: ['approval.resolve'],
        },
      },
    );
    const { events, state, done } = execute(provider);
    await done;
    await settle();
    expect(state.error).toMatchObject({ code: 'protocol_error' });
    expect(events).toHaveLength(name === 'goes back' ? 1 : 0);
    expect(left).toBe(true);
  });

  it('lets what the provider and the consumer throw come out as it was', async () => {
    const error = new Error('mine');
    const throwing = execute(
      withCommands(() => {
        throw error;
      }),
    );
    await throwing.done;
    expect(throwing.state.error).toBe(error);
    const rejecting = execute(
      // biome-ignore lint/correctness/useYield: it fails before.
      withCommands(async function* () {
        throw error;
      }),
    );
    await rejecting.done;
    expect(rejecting.state.error).toBe(error);
    let signal: AbortSignal | undefined;
    const consuming = execute(
      withCommands((command, options) => {
        signal = options.signal;
        return sample(command, options);
      }),
      {
        onEvent() {
          throw error;
        },
      },
    );
    await consuming.done;
    expect(consuming.state.error).toBe(error);
    expect(signal?.aborted).toBe(true);
  });

  it('rejects with an AbortError as soon as it is aborted, whatever the provider does', async () => {
    const controller = new AbortController();
    const pipe = createPipe<AgentEvent>({ hangs: true });
    let signal: AbortSignal | undefined;
    const { events, state, done } = execute(
      withCommands((_command, options) => {
        signal = options.signal;
        return pipe;
      }),
      { signal: controller.signal },
    );
    await settle();
    controller.abort();
    await done;
    expect(state.error).toMatchObject({ name: 'AbortError' });
    expect(signal?.aborted).toBe(true);
    expect(pipe.left).toBe(true);
    pipe.push(create('run.cancelled', {}));
    await settle();
    expect(events).toEqual([]);
  });

  it('is aborted by its consumer behind an event, and even behind the last one', async () => {
    const controller = new AbortController();
    const { events, state, done } = execute(withCommands(sample), {
      signal: controller.signal,
      onEvent(event) {
        events.push(event);
        controller.abort();
      },
    });
    await done;
    expect(events).toHaveLength(1);
    expect(state.error).toMatchObject({ name: 'AbortError' });
  });
});

describe('a command of a run under way', () => {
  function start(executeCommand: Execute, changes: object = {}) {
    const provider = withCommands(executeCommand, changes);
    const events: AgentEvent[] = [];
    const state = { ended: false };
    const onEvent = (event: AgentEvent) => {
      events.push(event);
    };
    const controller = new AbortController();
    const run = runAgentProvider({
      provider,
      input: 1,
      run: { sessionId: 's', runId: 'r', signal: controller.signal },
      onEvent,
    }).then(() => {
      state.ended = true;
    });
    const send = (more: Parameters<typeof execute>[1] = {}) => {
      const last = events.at(-1)?.sequence ?? -1;
      return execute(provider, { initialSequence: last, onEvent, ...more });
    };
    const valid = () => validateAgentProviderEvents(provider.capabilities, events);
    return { provider, events, run, send, state, valid, controller };
  }
  const ask = [['approval.requested', { approvalId: 'i' }]] as const;

  it('and the stream draw on one sequence: nothing of either is lost', async () => {
    const { provider, events, run, send, valid } = start(sample);
    const [pipe] = provider.pipes;
    pipe!.push([...message(), ...delta('one '), ...ask]);
    pipe!.push(delta('two '));
    await settle();
    const { state, done } = send();
    pipe!.push(delta('three '));
    await done;
    pipe!.push([...delta('four'), ['message.completed', { messageId: 'm' }]]);
    pipe!.end();
    await run;
    expect(state.settled).toBe('resolved');
    expect(lines(events)).toEqual([
      '0 run.started',
      '1 message.started m',
      '2 message.delta m',
      '3 approval.requested i',
      '4 message.delta m',
      '5 approval.resolved i',
      '6 message.delta m',
      '7 message.delta m',
      '8 message.completed m',
      '9 run.completed',
    ]);
    expect(valid()).toEqual([]);
    const store = createAgentStore({ protocolMode: 'strict' });
    store.batch(events);
    expect(Object.values(store.getSnapshot().messages)[0]?.content).toBe('one two three four');
  });

  it('goes on behind it also where the provider made a factory of its own', async () => {
    const { provider, events, run, send, valid } = start(sample, {
      createContext: () => ({
        events: createAgentEventFactory({ sessionId: 's', runId: 'r' }),
        calls: [],
      }),
    });
    const [pipe] = provider.pipes;
    pipe!.push([...message(), ...ask, ...delta('one ')]);
    await settle();
    await send().done;
    pipe!.push(delta('two '), [...delta('three'), ['message.completed', { messageId: 'm' }]]);
    pipe!.end();
    await run;
    expect(lines(events).slice(3)).toEqual([
      '3 message.delta m',
      '4 approval.resolved i',
      '5 message.delta m',
      '6 message.delta m',
      '7 message.completed m',
      '8 run.completed',
    ]);
    expect(new Set(events.map(({ eventId }) => eventId)).size).toBe(events.length);
    expect(valid()).toEqual([]);
  });

  it('begins behind the initial sequence where that is higher, and the stream behind it', async () => {
    const { provider, events, send } = start(sample);
    provider.pipes[0]!.push(ask);
    await settle();
    await send({ initialSequence: 40 }).done;
    provider.pipes[0]!.push(message());
    await settle();
    expect(lines(events)).toEqual([
      '0 run.started',
      '1 approval.requested i',
      '41 approval.resolved i',
      '42 message.started m',
    ]);
  });

  it('that lost the race for its sequence fails, and the run goes on', async () => {
    let answer = () => {};
    const { provider, events, run, send, valid } = start(async function* (command, options) {
      const events = createAgentEventFactory({
        sessionId: 's',
        runId: 'r',
        initialSequence: options.initialSequence,
      });
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      yield events.create('approval.resolved', { approvalId: 'i', decision: 'approved' });
      void command;
    });
    const [pipe] = provider.pipes;
    pipe!.push([...message(), ...ask]);
    await settle();
    const { state, done } = send();
    await settle();
    pipe!.push(delta('meanwhile'));
    await settle();
    answer();
    await done;
    expect(state.error).toMatchObject({ code: 'protocol_error' });
    pipe!.push([['message.completed', { messageId: 'm' }]]);
    pipe!.end();
    await run;
    expect(lines(events)).toEqual([
      '0 run.started',
      '1 message.started m',
      '2 approval.requested i',
      '3 message.delta m',
      '4 message.completed m',
      '6 approval.resolved i',
      '7 run.completed',
    ]);
    expect(events.at(-2)?.payload).toMatchObject({ decision: 'expired' });
    expect(valid()).toEqual([]);
  });

  it('that ends the run lets go of its transport, and nothing is added', async () => {
    const { provider, events, run, send, state, valid } = start(sample);
    const [pipe] = provider.pipes;
    pipe!.push([...message(), ...ask]);
    await settle();
    const command = commands.create('run.cancel', { reason: 'enough' });
    await send({ command }).done;
    await run;
    expect(state.ended).toBe(true);
    expect(lines(events).slice(3)).toEqual([
      '3 approval.resolved i',
      '4 message.cancelled m',
      '5 run.cancelled',
    ]);
    expect(events.at(-1)?.payload).toEqual({ reason: 'enough' });
    expect(pipe!.left).toBe(true);
    expect(provider.signals[0]!.aborted).toBe(true);
    expect(provider.calls).not.toContain('transformError');
    pipe!.push(delta('late'));
    await settle();
    expect(events).toHaveLength(6);
    expect(valid()).toEqual([]);
  });

  it('adds nothing to a run that has ended meanwhile', async () => {
    const own: { factory?: ReturnType<typeof factory> } = {};
    let answer = () => {};
    const { provider, events, run, send } = start(
      async function* () {
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        yield own.factory!.create('run.cancelled', {});
      },
      {
        createContext({ events }: { readonly events: ReturnType<typeof factory> }) {
          own.factory = events;
          return { events, calls: [] };
        },
      },
    );
    const { done } = send({ command: cancel });
    await settle();
    provider.pipes[0]!.push([['run.completed', {}]]);
    await settle();
    answer();
    await done;
    await run;
    expect(lines(events)).toEqual(['0 run.started', '1 run.completed']);
  });

  it('may use the factory of the run', async () => {
    const own: { factory?: ReturnType<typeof factory> } = {};
    const { provider, events, send } = start(
      async function* () {
        yield own.factory!.create('approval.resolved', { approvalId: 'i', decision: 'approved' });
      },
      {
        createContext({ events }: { readonly events: ReturnType<typeof factory> }) {
          own.factory = events;
          return { events, calls: [] };
        },
      },
    );
    provider.pipes[0]!.push(ask);
    await settle();
    const { state, done } = send();
    await done;
    provider.pipes[0]!.push(message());
    await settle();
    expect(state.settled).toBe('resolved');
    expect(lines(events).slice(1)).toEqual([
      '1 approval.requested i',
      '2 approval.resolved i',
      '3 message.started m',
    ]);
  });

  it('that has answered an approval leaves an abort nothing of it to close', async () => {
    const { provider, events, run, send, controller } = start(sample);
    provider.pipes[0]!.push(ask);
    await settle();
    await send().done;
    controller.abort();
    await run;
    expect(lines(events).slice(1)).toEqual([
      '1 approval.requested i',
      '2 approval.resolved i',
      '3 run.cancelled',
    ]);
  });

  it('is of this provider alone: equal ids at another one are another run', async () => {
    const { provider, send } = start(sample);
    provider.pipes[0]!.push([...message(), ...delta('x')]);
    await settle();
    const other = execute(withCommands(sample), { initialSequence: 0 });
    await other.done;
    expect(lines(other.events)).toEqual(['1 approval.resolved i']);
    const { done } = send({ command: cancel });
    await done;
  });
});
