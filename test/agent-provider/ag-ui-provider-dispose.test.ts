import { describe, expect, it } from 'vitest';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import type {
  AgUiProvider,
  AgUiProviderInput,
  AgUiProviderOptions,
} from '../../src/agent-provider/ag-ui-provider-types.ts';
import { createAgentChat } from '../../src/agent-provider/agent-chat.ts';
import type { AgentChat } from '../../src/agent-provider/chat-types.ts';
import { getWire } from '../../src/client/wire.ts';
import { createFakeLocks } from '../helpers/fake-locks.ts';
import { createV1Server, toFakePeer } from '../helpers/v1-server.ts';
import { createWorld } from '../helpers/world.ts';
import {
  createPage,
  interrupted,
  runFinished,
  runStarted,
  text,
  textEnd,
  textStart,
  toolCall,
} from './ag-ui-provider-set-up.ts';

type Chat = AgentChat<AgUiProviderInput>;

const saidBy = (chat: Chat) => chat.getSnapshot().messages.map(({ message }) => message.content);
const statusesOf = (chat: Chat) =>
  Object.values(chat.getSnapshot().agentState.runs).map(({ status }) => status);
const runOf = (chat: Chat) => Object.keys(chat.getSnapshot().agentState.runs)[0] ?? '';

/** A page on which a conversation has said one word, and what made its provider makes others. */
async function talking(options: Partial<AgUiProviderOptions> = {}, conversationKey?: string) {
  const server = createV1Server();
  const locks = createFakeLocks();
  const world = createWorld({ peer: toFakePeer(server), locks: locks.page() as never });
  const { environment } = getWire(world.client);
  // The registry of conversations is a page's.
  Object.assign(environment.page, { window: {} });
  function make(): { readonly provider: AgUiProvider; readonly chat: Chat } {
    const provider = createAgUiProvider({ client: world.client as never, ...options });
    return { provider, chat: createAgentChat({ provider, conversationKey }, environment) };
  }
  const { provider, chat } = make();
  const hide = chat.subscribe(() => {});
  chat.onRequest({ prompt: 'Hi' });
  await world.clock.advance(300);
  const [runId = ''] = server.runs.keys();
  server.append(runId, runStarted(runId), textStart(), text('one'));
  await world.settle();
  const cancels = () => server.received.filter(({ type }) => type === 'cancel').length;
  const append: typeof server.append = (...args) => server.append(...args);
  const finish = async (chatOf: Chat) => {
    append(runId, text(' two'), textEnd(), runFinished(runId));
    server.end(runId, 'finished');
    await world.clock.advance(100);
    expect(saidBy(chatOf)).toEqual(['Hi', 'one two']);
    expect(statusesOf(chatOf)).toEqual(['completed']);
    expect(chatOf.getSnapshot().agentState.issues).toEqual([]);
    expect(server.runs.get(runId)?.executions).toBe(1);
  };
  return { server, world, make, provider, chat, hide, runId, cancels, finish };
}

describe('dispose() while a conversation is shown', () => {
  it('lets go of the connection, stops no run, and leaves what is shown as it is', async () => {
    const { world, provider, chat, cancels, server, runId } = await talking({}, 'c');
    provider.dispose();
    provider.dispose();
    expect(chat.getSnapshot()).toMatchObject({ isRequesting: true, connectionState: 'idle' });
    await world.clock.advance(5_000);
    expect(world.client.getSnapshot().status).toBe('idle');
    server.append(runId, text(' two'));
    await world.clock.advance(5_000);
    expect(saidBy(chat)).toEqual(['Hi', 'one']);
    expect(statusesOf(chat)).toEqual(['running']);
    expect(cancels()).toBe(0);
    expect(world.clock.timers).toBe(0);
  });

  it('leaves it to the next provider of the page, which goes on where this one was', async () => {
    const { world, provider, chat, make, hide, cancels, finish } = await talking({}, 'c');
    provider.dispose();
    const next = make();
    // What came last was written down at once, not a second later.
    expect(saidBy(next.chat)).toEqual(['Hi', 'one']);
    next.chat.subscribe(() => {});
    hide();
    await world.settle();
    expect(next.chat.getSnapshot().connectionState).not.toBe('unrecoverable');
    await finish(next.chat);
    expect(saidBy(chat)).toEqual(['Hi', 'one']);
    expect(cancels()).toBe(0);
  });

  it('lets it go on where it is subscribed to again, as in StrictMode', async () => {
    const { world, provider, chat, hide, cancels, finish } = await talking({}, 'c');
    hide();
    provider.dispose();
    chat.subscribe(() => {});
    await world.clock.advance(5_000);
    await finish(chat);
    expect(cancels()).toBe(0);
  });

  it('lets one without a key go on, too, and ends it when it is left', async () => {
    const { world, provider, chat, hide, cancels, finish } = await talking();
    hide();
    provider.dispose();
    const leave = chat.subscribe(() => {});
    await world.settle();
    expect(cancels()).toBe(0);
    await finish(chat);
    const other = await talking();
    other.provider.dispose();
    await other.world.clock.advance(2_000);
    expect(other.cancels()).toBe(0);
    other.hide();
    await other.world.clock.advance(2_000);
    expect(other.cancels()).toBe(1);
    expect(statusesOf(other.chat)).toEqual(['cancelled']);
    leave();
  });

  it('lets it be aborted, and asked', async () => {
    const { world, provider, chat, cancels, server } = await talking({}, 'c');
    provider.dispose();
    await world.clock.advance(2_000);
    chat.abort();
    await world.clock.advance(2_000);
    expect(cancels()).toBe(1);
    expect(statusesOf(chat)).toEqual(['cancelled']);
    provider.dispose();
    chat.onRequest({ prompt: 'And?' });
    await world.settle();
    expect(server.runs.size).toBe(2);
    expect(chat.getSnapshot().connectionState).toBe('connected');
  });

  it.each([
    ['aborted', false],
    ['asked, which aborts what it was saying', true],
  ])('lets it be subscribed to and %s in one turn, with one end', async (_name, before) => {
    const { world, provider, chat, runId, server } = await talking({}, 'c');
    if (before) chat.onRequest({ prompt: 'And?' });
    provider.dispose();
    chat.subscribe(() => {});
    if (!before) chat.abort();
    await world.clock.advance(2_000);
    expect(server.runs.get(runId)?.cancels).toBeGreaterThan(0);
    expect(statusesOf(chat)).toEqual(before ? ['cancelled', 'running'] : ['cancelled']);
    expect(chat.getSnapshot().agentState.issues).toEqual([]);
  });

  it('lets it be answered', async () => {
    const { world, provider, chat, server, runId } = await talking({}, 'c');
    server.append(runId, textEnd(), interrupted(runId, { id: 'i' }));
    server.end(runId, 'finished');
    await world.settle();
    provider.dispose();
    await world.clock.advance(2_000);
    expect(world.client.getSnapshot().status).toBe('idle');
    await chat.agentActions.resolveApproval({
      runId: runOf(chat),
      approvalId: 'i',
      decision: 'approved',
    });
    await world.clock.advance(100);
    const [, second = ''] = server.runs.keys();
    server.append(second, runStarted(second), textStart('m2'), text('two', 'm2'));
    server.append(second, textEnd('m2'), runFinished(second));
    server.end(second, 'finished');
    await world.clock.advance(100);
    expect(saidBy(chat)).toEqual(['Hi', 'one', 'two']);
    expect(statusesOf(chat)).toEqual(['completed']);
  });

  it('calls its tools off, and whoever goes on calls them again', async () => {
    const signals: AbortSignal[] = [];
    const clientTools = {
      look: (_args: unknown, { signal }: { readonly signal: AbortSignal }) =>
        new Promise(() => signals.push(signal)),
    };
    const { world, provider, make, server, runId } = await talking({ clientTools }, 'c');
    server.append(runId, textEnd(), ...toolCall('t'), runFinished(runId));
    server.end(runId, 'finished');
    await world.settle();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    provider.dispose();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    make().chat.subscribe(() => {});
    await world.clock.advance(100);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });

  it('sends no answer that was not written down yet, and the next reading does', async () => {
    const waits: (() => void)[] = [];
    const checkpointStorage = {
      load: () => undefined,
      save: () => new Promise<void>((resolve) => waits.push(resolve)),
      remove: () => {},
    };
    const options = { clientTools: { look: () => 'seen' }, checkpointStorage };
    const { world, provider, chat, server, runId } = await talking(options, 'c');
    server.append(runId, ...toolCall('t'), textEnd(), runFinished(runId));
    server.end(runId, 'finished');
    await world.settle();
    provider.dispose();
    await world.clock.advance(1_000);
    expect(server.runs.size).toBe(1);
    chat.subscribe(() => {});
    await world.clock.advance(100);
    expect(server.runs.size).toBe(2);
  });

  it('aborts the runs of agents whose policy is to cancel', async () => {
    const options = { agentOptions: { policy: 'cancel' } } as const;
    const { world, provider, chat, cancels } = await talking(options, 'c');
    provider.dispose();
    await world.clock.advance(2_000);
    expect(cancels()).toBe(1);
    expect(statusesOf(chat)).toEqual(['cancelled']);
  });
});

describe('dispose() while a run is read without a conversation', () => {
  it('ends it as failed, and the run goes on at the server', async () => {
    const page = createPage();
    page.run();
    await page.settle();
    page.server.append('r', runStarted(), textStart(), text('one'));
    await page.settle();
    page.provider.dispose();
    await page.settle();
    expect(page.lines.at(-1)).toMatch(/run\.failed closed$/);
    expect(page.reading.outcome).toBe('ended');
    expect(page.server.received.some(({ type }) => type === 'cancel')).toBe(false);
  });
});
