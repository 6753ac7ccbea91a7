import { describe, expect, it } from 'vitest';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import { agentEventTypes } from '../../src/agent-provider/event-guards.ts';
import type { AgentEvent, AgentEventFactory } from '../../src/agent-provider/event-types.ts';
import type { AgentProvider } from '../../src/agent-provider/provider-types.ts';
import { createRunTransport, type RunChunk } from '../../src/agent-provider/run-transport.ts';
import { createAgentStore } from '../../src/agent-provider/store.ts';
import { validateAgentProviderEvents } from '../../src/agent-provider/validate-agent-provider-events.ts';
import { createV1Server, toFakePeer } from '../helpers/v1-server.ts';
import { createWorld, finished, type TestEvent } from '../helpers/world.ts';
import { runAsThePageSays } from './ax-page-runner.ts';

type Provider = AgentProvider<{ readonly prompt: string }, unknown, never, unknown>;
type World = ReturnType<typeof createWorld>;

/** A provider of a custom protocol over this package's transport. */
function createTransportProvider(world: World): Provider {
  const transport = createRunTransport<{ input: unknown; runId: string }, TestEvent>(world.client);
  type Context = { readonly events: AgentEventFactory; readonly runId: string; open: boolean };
  const close = (context: Context, verb: 'completed' | 'failed' | 'cancelled', more: object) => {
    const { events, open } = context;
    const closing = open
      ? [events.create(`message.${verb}`, { messageId: 'm', ...more } as never)]
      : [];
    return [...closing, events.create(`run.${verb}`, more as never)] as AgentEvent[];
  };
  const provider: AgentProvider<
    { readonly prompt: string },
    { input: unknown; runId: string },
    RunChunk<TestEvent>,
    Context
  > = {
    id: 'custom',
    protocol: { name: 'agent-event', version: '0.1' },
    capabilities: { eventTypes: agentEventTypes, transports: ['websocket'], resumable: true },
    transport,
    createContext: ({ events, runId }) => ({ events, runId, open: false }),
    start: (input, { events }) => [events.create('run.started', { input })],
    prepareRequest: (input, { runId }) => ({ runId, input }),
    transformChunk({ event }, context) {
      const { events } = context;
      if (typeof event.delta !== 'string') return [];
      const opening = context.open
        ? []
        : [events.create('message.started', { messageId: 'm', role: 'assistant' })];
      context.open = true;
      return [...opening, events.create('message.delta', { messageId: 'm', delta: event.delta })];
    },
    flush: (context) => close(context, 'completed', {}),
    transformError: (error, context) =>
      (error as Error).name === 'AbortError'
        ? close(context, 'cancelled', {})
        : close(context, 'failed', { error: { message: (error as Error).message } }),
  };
  return provider as unknown as Provider;
}

/** Providers of this package; each answers `{ prompt }` with the text that the server streams. */
const providers: readonly (readonly [string, (world: World) => Provider])[] = [
  ['a provider over createRunTransport', createTransportProvider],
  [
    'createAgUiProvider()',
    ({ client }) =>
      createAgUiProvider({ client, agentOptions: { storage: null } }) as unknown as Provider,
  ],
];

describe.each(providers)('%s behind a runner that knows the page alone', (_name, create) => {
  function start() {
    const server = createV1Server();
    const world = createWorld({ peer: toFakePeer(server) });
    const provider = create(world);
    const store = createAgentStore({ protocolMode: 'strict' });
    const controller = new AbortController();
    const events: AgentEvent[] = [];
    const done = runAsThePageSays(
      provider as never,
      { prompt: 'Hello' },
      { sessionId: 's', runId: 'r', signal: controller.signal },
      createAgentEventFactory,
      (event) => {
        events.push(event as AgentEvent);
        store.dispatch(event as AgentEvent);
      },
    );
    const say = (delta: string) => {
      const [runId] = server.runs.keys();
      server.append(runId!, {
        type: 'TEXT_MESSAGE_CHUNK',
        messageId: 'm',
        role: 'assistant',
        delta,
      });
    };
    const finish = () => {
      const [runId] = server.runs.keys();
      server.append(runId!, finished(runId!));
      server.end(runId!, 'finished');
    };
    const issues = () => validateAgentProviderEvents(provider.capabilities, events);
    const answer = () =>
      Object.values(store.getSnapshot().messages)
        .filter(({ role }) => role === 'assistant')
        .map(({ content }) => content)
        .join('');
    return { server, world, events, done, say, finish, issues, answer, controller };
  }

  it('runs to its end, across a connection that drops', async () => {
    const { server, world, events, done, say, finish, issues, answer } = start();
    await world.settle();
    say('one ');
    await world.settle();
    server.cut(1006);
    say('two ');
    await world.clock.advance(30_000);
    say('three');
    finish();
    await world.clock.advance(5_000);
    await done;
    expect(answer()).toBe('one two three');
    expect(events.at(-1)?.type).toBe('run.completed');
    expect(issues()).toEqual([]);
  });

  it('is cancelled by the signal', async () => {
    const { server, world, events, done, say, issues, answer, controller } = start();
    await world.settle();
    say('one');
    await world.settle();
    controller.abort();
    await world.clock.advance(5_000);
    await done;
    expect(answer()).toBe('one');
    expect(events.at(-1)?.type).toBe('run.cancelled');
    expect(issues()).toEqual([]);
    expect([...server.runs.values()][0]).toMatchObject({ cancels: 1, status: 'cancelled' });
  });

  it('tells the loss of its run', async () => {
    const { server, world, events, done, say, issues } = start();
    await world.settle();
    say('one');
    await world.settle();
    server.end([...server.runs.keys()][0]!, 'lost');
    await world.clock.advance(5_000);
    await done;
    expect(events.at(-1)?.type).toBe('run.failed');
    expect(issues()).toEqual([]);
  });
});
