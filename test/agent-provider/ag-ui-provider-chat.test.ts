import { describe, expect, it } from 'vitest';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import type {
  AgUiProviderInput,
  AgUiProviderOptions,
} from '../../src/agent-provider/ag-ui-provider-types.ts';
import { createAgentChat } from '../../src/agent-provider/agent-chat.ts';
import type { AgentChat } from '../../src/agent-provider/chat-types.ts';
import { getWire } from '../../src/client/wire.ts';
import { createV1Server, toFakePeer, type V1Server } from '../helpers/v1-server.ts';
import { createWorld, texts, type World } from '../helpers/world.ts';
import {
  interrupted,
  runFinished,
  runStarted,
  text,
  textEnd,
  textStart,
  toolCall,
} from './ag-ui-provider-set-up.ts';

/** One page with a conversation over AG-UI. */
interface ChatPage {
  readonly world: World;
  readonly server: V1Server;
  readonly chat: AgentChat<AgUiProviderInput>;
  readonly provider: ReturnType<typeof createAgUiProvider>;
  /** The newest run at the server. */
  readonly runId: string;
  show(): () => void;
  said(): unknown[];
  reload(crash?: boolean): Promise<ChatPage>;
}

function createChatPage(
  options: Partial<AgUiProviderOptions> = {},
  conversationKey: string | undefined = 'c',
  old?: ChatPage,
): ChatPage {
  const server = old?.server ?? createV1Server();
  const world = old?.world.reload() ?? createWorld({ peer: toFakePeer(server) });
  const provider = createAgUiProvider({ client: world.client as never, ...options });
  const environment = { ...getWire(world.client).environment };
  // The registry of conversations is a page's.
  Object.assign(environment.page, { window: {} });
  const chat = createAgentChat({ provider, conversationKey }, environment);
  return {
    world,
    server,
    chat,
    provider,
    get runId() {
      return [...server.runs.keys()].at(-1) ?? '';
    },
    show: () => chat.subscribe(() => {}),
    said: () => chat.getSnapshot().messages.map(({ message }) => message.content),
    async reload(crash) {
      if (crash) await world.clock.advance(5_000);
      const next = createChatPage(options, conversationKey, this);
      next.show();
      await next.world.settle();
      return next;
    },
  };
}

async function running(options?: Partial<AgUiProviderOptions>, key?: string) {
  const page = createChatPage(options, key);
  const hide = page.show();
  page.chat.onRequest({ prompt: 'Hi' });
  await page.world.settle();
  page.server.append(page.runId, runStarted(page.runId), textStart(), text('one'));
  await page.world.settle();
  return { page, hide };
}

async function finish(page: ChatPage, word: string) {
  page.server.append(page.runId, text(word), textEnd(), runFinished(page.runId));
  page.server.end(page.runId, 'finished');
  await page.world.clock.advance(100);
}

describe('a conversation over AG-UI', () => {
  it('shows what its thread shows', async () => {
    const { page } = await running();
    expect(page.said()).toEqual(['Hi', 'one']);
    expect(page.chat.getSnapshot().isRequesting).toBe(true);
    await finish(page, ' two');
    expect(page.said()).toEqual(['Hi', 'one two']);
    expect(texts(page.provider.getAgent('c'))).toEqual(['Hi', 'one two']);
    expect(page.chat.getSnapshot()).toMatchObject({
      isRequesting: false,
      agentState: { issues: [] },
    });
    expect(page.world.network.sockets.length).toBe(1);
  });

  it('goes on while nobody shows it, and is whole when somebody does', async () => {
    const { page, hide } = await running();
    hide();
    await page.world.clock.advance(1_000);
    page.server.append(page.runId, text(' two'));
    await page.world.clock.advance(1_000);
    expect(page.server.received.some(({ type }) => type === 'cancel')).toBe(false);
    page.show();
    await page.world.settle();
    expect(page.said()).toEqual(['Hi', 'one two']);
    await finish(page, ' three');
    expect(page.said()).toEqual(['Hi', 'one two three']);
    expect(page.server.received.some(({ type }) => type === 'resume')).toBe(false);
  });

  it.each([false, true])('goes on after a reload (crash: %s)', async (crash) => {
    const { page } = await running();
    const next = await page.reload(crash);
    expect(next.said()).toEqual(['Hi', 'one']);
    expect(next.chat.getSnapshot().isRequesting).toBe(true);
    await finish(next, ' two');
    expect(next.said()).toEqual(['Hi', 'one two']);
    expect(texts(next.provider.getAgent('c'))).toEqual(['Hi', 'one two']);
    expect(next.chat.getSnapshot().agentState.issues).toEqual([]);
    expect(next.server.runs.size).toBe(1);
  });

  it('goes on after a reload right behind the question', async () => {
    const page = createChatPage();
    page.show();
    page.chat.onRequest({ prompt: 'Hi' });
    await page.world.settle();
    const next = await page.reload();
    next.server.append(next.runId, runStarted(next.runId), textStart());
    await finish(next, 'one');
    expect(next.said()).toEqual(['Hi', 'one']);
    expect(next.chat.getSnapshot().agentState.issues).toEqual([]);
  });

  it('keeps what was said over a reload after its end', async () => {
    const { page } = await running();
    await finish(page, ' two');
    const next = await page.reload();
    expect(next.said()).toEqual(['Hi', 'one two']);
    next.chat.onRequest({ prompt: 'And?' });
    await next.world.settle();
    const { messages } = next.server.runs.get(next.runId)!.input as { messages: object[] };
    expect(messages).toMatchObject([
      { content: 'Hi' },
      { content: 'one two' },
      { content: 'And?' },
    ]);
  });

  it.each([
    ['before an answer', 0],
    ['between two answers', 1],
    ['right after the last answer', 2],
  ])('keeps its questions over a reload %s', async (_name, given) => {
    const page = createChatPage();
    page.show();
    page.chat.onRequest({ prompt: 'Hi' });
    await page.world.settle();
    const first = page.runId;
    page.server.append(first, runStarted(first), ...toolCall('t'));
    page.server.append(first, interrupted(first, { id: 'i1', toolCallId: 't' }, { id: 'i2' }));
    page.server.end(first, 'finished');
    await page.world.settle();
    const answer = async (one: ChatPage, approvalId: string) => {
      const [runId = ''] = Object.keys(one.chat.getSnapshot().agentState.runs);
      await one.chat.agentActions.resolveApproval({ runId, approvalId, decision: 'approved' });
    };
    const ids = ['i1', 'i2'];
    for (const id of ids.slice(0, given)) await answer(page, id);
    const next = await page.reload();
    for (const id of ids.slice(given)) await answer(next, id);
    await next.world.settle();
    expect(next.server.runs.size).toBe(2);
    expect(next.server.runs.get(next.runId)?.executions).toBe(1);
    next.server.append(next.runId, runStarted(next.runId), textStart());
    await finish(next, 'done');
    const { agentState, isRequesting } = next.chat.getSnapshot();
    expect(isRequesting).toBe(false);
    expect(agentState.issues).toEqual([]);
    expect(Object.values(agentState.runs)).toMatchObject([{ status: 'completed' }]);
    expect(Object.values(agentState.approvals)).toMatchObject([
      { decision: 'approved' },
      { decision: 'approved' },
    ]);
    expect(next.said()).toEqual(['Hi', 'done']);
  });

  it('is cancelled by its user, and a second question does not wait', async () => {
    const { page } = await running();
    const first = page.runId;
    page.chat.onRequest({ prompt: 'No, this' });
    await page.world.settle();
    expect(page.server.runs.get(first)?.cancels).toBe(1);
    page.server.append(page.runId, runStarted(page.runId), textStart('n'), text('new', 'n'));
    page.server.append(page.runId, textEnd('n'), runFinished(page.runId));
    page.server.end(page.runId, 'finished');
    await page.world.settle();
    expect(page.said()).toEqual(['Hi', 'one', 'No, this', 'new']);
    const { agentState } = page.chat.getSnapshot();
    expect(Object.values(agentState.runs).map(({ status }) => status)).toEqual([
      'cancelled',
      'completed',
    ]);
    expect(agentState.issues).toEqual([]);
  });

  it('ends at the server’s word by cancelRun', async () => {
    const { page } = await running();
    const [runId = ''] = Object.keys(page.chat.getSnapshot().agentState.runs);
    await page.chat.agentActions.cancelRun({ runId, reason: 'enough' });
    await page.world.settle();
    expect(page.chat.getSnapshot().agentState.runs[runId]).toMatchObject({
      status: 'cancelled',
      reason: 'enough',
    });
  });

  it('is asked again by onReload under another message id', async () => {
    const { page } = await running();
    await finish(page, ' two');
    const [question] = page.chat.getSnapshot().messages;
    page.chat.onReload(question!.id);
    await page.world.settle();
    const ids = page.provider
      .getAgent('c')
      .getSnapshot()
      .messages.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(page.said()).toEqual(['Hi', 'one two', 'Hi']);
  });
});
