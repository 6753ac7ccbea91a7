import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import type { AgUiProviderInput } from '../../src/agent-provider/ag-ui-provider-types.ts';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import { runAgentProvider } from '../../src/agent-provider/run-agent-provider.ts';
import { createAgentStore } from '../../src/agent-provider/store.ts';
import { validateAgentProviderEvents } from '../../src/agent-provider/validate-agent-provider-events.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { startPlainServer } from '../helpers/plain-server.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { until } from '../helpers/until.ts';
import { startV1Server } from '../helpers/v1-server.ts';
import { texts } from '../helpers/world.ts';
import {
  interrupted,
  runFinished,
  runStarted,
  text,
  textEnd,
  textOf,
  textStart,
} from './ag-ui-provider-set-up.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A runner that knows the reference page of Agent Providers and nothing else. */
async function runMinimally<Input, Request, Chunk, Context>(
  provider: {
    readonly transport: { open(request: Request, signal: AbortSignal): AsyncIterable<Chunk> };
    createContext(options: {
      readonly sessionId: string;
      readonly runId: string;
      readonly signal: AbortSignal;
      readonly events: ReturnType<typeof createAgentEventFactory>;
    }): Context;
    start(input: Input, context: Context): readonly AgentEvent[];
    prepareRequest(input: Input, context: Context): Request;
    transformChunk(chunk: Chunk, context: Context): readonly AgentEvent[];
    flush(context: Context): readonly AgentEvent[];
    transformError(error: unknown, context: Context): readonly AgentEvent[];
  },
  input: Input,
  run: { readonly sessionId: string; readonly runId: string; readonly signal: AbortSignal },
  onEvent: (event: AgentEvent) => void,
) {
  const context = provider.createContext({ ...run, events: createAgentEventFactory(run) });
  try {
    provider.start(input, context).forEach(onEvent);
    const request = provider.prepareRequest(input, context);
    for await (const chunk of provider.transport.open(request, run.signal)) {
      provider.transformChunk(chunk, context).forEach(onEvent);
    }
    provider.flush(context).forEach(onEvent);
  } catch (error) {
    provider.transformError(error, context).forEach(onEvent);
  }
}

/** A provider behind a proxy, and a run of it on a runner. */
async function start(port: number, runner: 'minimal' | 'ours', sessionId = 's') {
  const proxy = await startTcpProxy(port);
  const client = createWebSocketClient(`ws://127.0.0.1:${proxy.port}`, {
    WebSocket,
    backoff: { first: 5, min: 5, max: 20 },
  });
  const provider = createAgUiProvider({ client: client as never });
  const store = createAgentStore({ protocolMode: 'strict' });
  const events: AgentEvent[] = [];
  const controller = new AbortController();
  const run = { sessionId, runId: 'r', signal: controller.signal };
  const onEvent = (event: AgentEvent) => {
    store.dispatch(event);
    events.push(event);
  };
  const input: AgUiProviderInput = { prompt: 'Hi' };
  const done =
    runner === 'ours'
      ? runAgentProvider({ provider, input, run, onEvent })
      : runMinimally(provider, input, run, onEvent);
  cleanUps.push(proxy.close, () => client.close());
  const said = () => textOf(store.getSnapshot());
  const faults = () => validateAgentProviderEvents(provider.capabilities, events);
  return { proxy, provider, store, events, controller, done, said, faults };
}

describe.each(['minimal', 'ours'] as const)('on a runner that is %s', (runner) => {
  it('a run of a plain server survives broken connections', async () => {
    const server = await startPlainServer();
    cleanUps.push(server.close);
    const { proxy, provider, done, said, faults, events } = await start(server.port, runner);
    await until(() => server.runs.size === 1);
    server.append('r', runStarted(), textStart());
    let whole = '';
    for (let i = 0; i < 30; i++) {
      whole += `${i} `;
      server.append('r', text(`${i} `));
      if (i % 10 === 4) {
        await until(() => said().length > 0);
        proxy.cut(i % 20 === 4 ? 'rst' : 'fin');
      }
    }
    server.append('r', textEnd(), runFinished());
    await done;
    expect(said()).toBe(whole);
    expect(texts(provider.getAgent('s'))).toEqual(['Hi', whole]);
    expect(faults()).toEqual([]);
    expect(events.at(-1)?.type).toBe('run.completed');
    expect(server.errors).toEqual([]);
  });

  it('a run of a v1 server that is aborted ends as cancelled', async () => {
    const server = await startV1Server();
    cleanUps.push(server.close);
    const { controller, done, said, faults, events } = await start(server.port, runner);
    await until(() => server.runs.size === 1);
    server.append('r', runStarted(), textStart(), text('one'));
    await until(() => said() === 'one');
    controller.abort();
    await done;
    expect(events.at(-1)?.type).toBe('run.cancelled');
    expect(faults()).toEqual([]);
    await until(() => server.runs.get('r')?.status === 'cancelled');
  });

  it('a run that asks is cancelled while it waits', async () => {
    const server = await startV1Server();
    cleanUps.push(server.close);
    const { controller, done, faults, events } = await start(server.port, runner);
    await until(() => server.runs.size === 1);
    server.append('r', runStarted(), interrupted('r', { id: 'i', reason: 'why' }));
    server.end('r', 'finished');
    await until(() => events.at(-1)?.type === 'approval.requested');
    controller.abort();
    await done;
    expect(events.slice(-2).map(({ type }) => type)).toEqual([
      'approval.resolved',
      'run.cancelled',
    ]);
    expect(faults()).toEqual([]);
  });
});

describe('long runs', () => {
  it('are read in linear time', async () => {
    const server = await startV1Server();
    cleanUps.push(server.close);
    const measure = async (count: number, sessionId: string) => {
      const page = await start(server.port, 'ours', sessionId);
      await until(() => server.runs.size === 1);
      // The processor's time: what else runs on the machine does not count.
      const begin = process.cpuUsage();
      server.append('r', runStarted(), textStart());
      for (let i = 0; i < count; i++) server.append('r', text('.'));
      server.append('r', textEnd(), runFinished());
      server.end('r', 'finished');
      await page.done;
      expect(page.said().length).toBe(count);
      server.forget('r');
      const { user, system } = process.cpuUsage(begin);
      return (user + system) / count;
    };
    await measure(2_000, 'warm');
    const short = await measure(5_000, 'a');
    const long = await measure(40_000, 'b');
    // Noise aside: quadratic work would make it eight.
    expect(long / short).toBeLessThan(6);
  }, 120_000);
});
