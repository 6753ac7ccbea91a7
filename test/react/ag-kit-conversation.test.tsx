import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { agKitRuns } from '../../src/ag-kit/ag-kit-runs.ts';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import { createWebStorageAgentCheckpointStorage } from '../../src/agent-provider/checkpoint-storage.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { useAgUiAgent } from '../../src/react/use-ag-ui-agent.ts';
import { useXChat } from '../../src/react/use-x-chat.ts';
import {
  type AgKitServer,
  questions,
  startAgKitServer,
  wholeConversation,
} from '../ag-kit/conversation-set-up.ts';
import { createStorageBytes, type StorageBytes } from '../helpers/storage.ts';
import { until } from '../helpers/until.ts';

const cleanUps: (() => unknown)[] = [];
const consoleError = vi.spyOn(console, 'error');

beforeEach(() => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  consoleError.mockReset();
});
afterEach(async () => {
  cleanup();
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  expect(consoleError.mock.calls).toEqual([]);
});

/** Waits inside of React's act for what comes without it. */
const settle = (condition: () => boolean) => act(() => until(condition));

/** A component that shows the conversation. */
interface View {
  /** Who said what, tool results left out. */
  said(): (readonly [role: string, content: string])[];
  /** What the tool said. */
  toolResult(): unknown;
  /** The open question. */
  question(): string | undefined;
  isBusy(): boolean;
  ask(question: string): void;
  answer(approved: boolean): void;
  /** The page is left; another one may open over the same bytes. */
  leave(): void;
}

const connect = (server: AgKitServer) =>
  createWebSocketClient(server.url, { WebSocket, backoff: { first: 5, min: 5, max: 50 } });

function openThread(server: AgKitServer, bytes: StorageBytes): View {
  const client = connect(server);
  const agent = createAgUiAgent(client, {
    ...agKitRuns(),
    storage: bytes.page(),
    remember: 'thread',
  });
  const view = renderHook(() => useAgUiAgent(agent));
  const thread = () => view.result.current;
  return {
    said: () =>
      thread()
        .messages.filter(({ role }) => role !== 'tool')
        .map(({ role, content }) => [role, String(content)]),
    toolResult: () => thread().messages.find(({ role }) => role === 'tool')?.content,
    question: () => thread().interrupts?.[0]?.message,
    isBusy: () => thread().status === 'running',
    ask: (content) => act(() => void agent.run({ messages: [{ role: 'user', content }] })),
    answer(approved) {
      const [interrupt] = thread().interrupts ?? [];
      const answers = {
        [interrupt?.id ?? '']: { status: 'resolved', payload: { approved } } as const,
      };
      act(() => void agent.answer(answers));
    },
    leave() {
      act(() => void window.dispatchEvent(new Event('pagehide')));
      view.unmount();
      agent.dispose();
      client.close();
    },
  };
}

function openChat(server: AgKitServer, bytes: StorageBytes): View {
  const client = connect(server);
  const provider = createAgUiProvider({
    client: client as never,
    agentOptions: { ...agKitRuns(), storage: bytes.page() },
    checkpointStorage: createWebStorageAgentCheckpointStorage(bytes.page() as never),
  });
  const view = renderHook(() => useXChat({ provider, conversationKey: 'booking' }));
  const chat = () => view.result.current;
  const waiting = () =>
    Object.values(chat().agentState.approvals).find(({ status }) => status === 'waiting');
  return {
    said: () => chat().messages.map(({ message }) => [message.role, String(message.content)]),
    toolResult: () => Object.values(chat().agentState.toolCalls)[0]?.result,
    question: () => waiting()?.description,
    isBusy: () => chat().isRequesting,
    ask: (prompt) => act(() => chat().onRequest({ prompt })),
    answer(approved) {
      const { runId, id: approvalId } = waiting() ?? { runId: '', id: '' };
      const decision = approved ? 'approved' : 'rejected';
      act(() => void chat().agentActions.resolveApproval({ runId, approvalId, decision }));
    },
    leave() {
      act(() => void window.dispatchEvent(new Event('pagehide')));
      expect(chat().agentState.issues).toEqual([]);
      view.unmount();
      provider.dispose();
      client.close();
    },
  };
}

describe.each([
  ['useAgUiAgent', openThread],
  ['useXChat', openChat],
] as const)('a conversation with an AG-Kit server, in %s', (_, open) => {
  const spoken = wholeConversation.filter(([role]) => role !== 'tool');

  it('has three turns with a tool, an answer and a refusal, and is reloaded in each', async () => {
    const server = await startAgKitServer();
    cleanUps.push(() => server.close());
    const bytes = createStorageBytes();
    let view = open(server, bytes);
    cleanUps.push(() => view.leave());
    const shows = (count: number) => () =>
      JSON.stringify(view.said()) === JSON.stringify(spoken.slice(0, count));
    const reload = () => {
      view.leave();
      view = open(server, bytes);
    };

    // A tool is under way.
    view.ask(questions[0]);
    await settle(shows(2));
    await server.waits();
    reload();
    await settle(shows(2));
    server.go();
    await settle(() => shows(3)() && !view.isBusy());
    expect(view.toolResult()).toBe('{"at":"10:04"}');

    // A question waits.
    view.ask(questions[1]);
    await settle(() => view.question() === 'Book the 10:04?');
    reload();
    await settle(() => view.question() === 'Book the 10:04?');
    expect(view.said()).toEqual(spoken.slice(0, 5));
    view.answer(true);
    await settle(() => view.said().at(-1)?.[1] === 'Booked.');
    await server.waits();
    reload();
    await settle(() => view.said().at(-1)?.[1] === 'Booked.');
    server.go();
    await settle(() => shows(6)() && !view.isBusy());
    expect(view.question()).toBeUndefined();

    // A refusal is on its way.
    view.ask(questions[2]);
    await settle(() => view.question() === 'Book the 18:02?');
    view.answer(false);
    await settle(() => view.said().at(-1)?.[1] === 'Then ');
    await server.waits();
    reload();
    await settle(() => view.said().at(-1)?.[1] === 'Then ');
    server.go();
    await settle(() => shows(9)() && !view.isBusy());
    reload();
    await settle(shows(9));
    expect(view.said()).toEqual(spoken);

    expect(server.errors).toEqual([]);
    expect(server.starts()).toEqual([1, 1, 1, 1, 1]);
    const { conversationId } = server.inputs[0] ?? {};
    expect(conversationId).toMatch(/./);
    const ask = (content: string) => ({ conversationId, messages: [{ role: 'user', content }] });
    const resume = (interruptId: string, approved: boolean) => ({
      conversationId,
      resume: { interruptId, payload: { approved } },
    });
    expect(server.inputs).toEqual([
      ask(questions[0]),
      ask(questions[1]),
      resume('i1', true),
      ask(questions[2]),
      resume('i2', false),
    ]);
  });
});
