import { expectTypeOf, it } from 'vitest';
import {
  type AgUiAgent,
  type AgUiAgentOptions,
  type AgUiEvent,
  type AgUiMessage,
  type AgUiThread,
  applyAgUiEvent,
  applyPatch,
  createAgUiAgent,
  type JsonPatchOperation,
  type RunAgentInput,
} from '../../src/ag-ui/index.ts';
import { createWebSocketClient, type RunStorage, type WebSocketClient } from '../../src/index.ts';
import { useAgUiAgent } from '../../src/react/index.ts';

// What the AG-UI over WebSockets reference page names, as it names it.

interface Plan {
  readonly tasks: readonly string[];
}

interface PageThread<S> {
  readonly messages: readonly AgUiMessage[];
  readonly state: S;
  readonly status: 'idle' | 'running' | 'finished' | 'error' | 'aborted';
  readonly step?: string;
  readonly error?: { message: string; code?: string };
  readonly result?: unknown;
  readonly stale: boolean;
}

interface PageOptions<S, In, Out> {
  threadId?: string;
  state?: S;
  name?: string;
  run?: (input: RunAgentInput, runId: string) => Out;
  resume?: (runId: string, after: number | undefined) => Out;
  cancel?: (runId: string) => Out;
  resync?: (runId: string) => Out;
  event?: (message: In) => { runId: string; offset: number; event: AgUiEvent } | null | undefined;
  policy?: 'keep' | 'cancel';
  storage?: RunStorage | null;
}

interface Frame {
  readonly id: string;
  readonly n: number;
  readonly body: AgUiEvent;
}

it('a thread fits the thread of the page, and back', () => {
  expectTypeOf<AgUiThread<Plan>>().toExtend<PageThread<Plan>>();
  expectTypeOf<PageThread<Plan>>().toExtend<AgUiThread<Plan>>();
  expectTypeOf<Pick<AgUiThread<Plan>, 'messages' | 'state' | 'status' | 'stale'>>().toEqualTypeOf<
    Pick<PageThread<Plan>, 'messages' | 'state' | 'status' | 'stale'>
  >();
  expectTypeOf<AgUiThread<Plan>['step']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<AgUiThread<Plan>['result']>().toEqualTypeOf<unknown>();
});

it('a message has the fields of the page', () => {
  type Fields = {
    readonly id: string;
    readonly role: string;
    readonly content?: unknown;
  };
  expectTypeOf<AgUiMessage>().toExtend<Fields>();
  type Assistant = Extract<AgUiMessage, { role: 'assistant' }>;
  expectTypeOf<NonNullable<Assistant['toolCalls']>[number]>().toExtend<{
    readonly id: string;
    readonly type: 'function';
    readonly function: { readonly name: string; readonly arguments: string };
  }>();
  expectTypeOf<Extract<AgUiMessage, { role: 'tool' }>['toolCallId']>().toEqualTypeOf<string>();
  expectTypeOf<
    Extract<AgUiMessage, { role: 'activity' }>['activityType']
  >().toEqualTypeOf<string>();
});

it('createAgUiAgent takes every option of the page', () => {
  expectTypeOf<PageOptions<Plan, Frame, string>>().toExtend<
    AgUiAgentOptions<Plan, Frame, string>
  >();
  const client = {} as WebSocketClient<Frame, string>;
  const options = {} as PageOptions<Plan, Frame, string>;
  const make = () => createAgUiAgent<Plan, Frame, string>(client, options);
  expectTypeOf(make).returns.toEqualTypeOf<AgUiAgent<Plan>>();
  const infer = () => createAgUiAgent(client, options);
  expectTypeOf(infer).returns.toExtend<AgUiAgent<Plan>>();
  const plain = () => createAgUiAgent(client);
  expectTypeOf(plain).returns.toEqualTypeOf<AgUiAgent<unknown>>();
  const nothingStored = () => createAgUiAgent(client, { storage: null });
  expectTypeOf(nothingStored).returns.toExtend<AgUiAgent>();
  const session = () => createAgUiAgent(client, { storage: {} as Storage });
  expectTypeOf(session).returns.toExtend<AgUiAgent>();
});

it('an agent has the members of the page', () => {
  expectTypeOf<AgUiAgent<Plan>['run']>().toBeCallableWith();
  expectTypeOf<AgUiAgent<Plan>['run']>().toBeCallableWith(
    {
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ name: 'look', description: 'looks', parameters: {} }],
      context: [{ description: 'd', value: 'v' }],
      forwardedProps: { any: 1 },
    },
    { policy: 'cancel' },
  );
  expectTypeOf<AgUiAgent<Plan>['run']>().returns.toEqualTypeOf<string>();
  expectTypeOf<AgUiAgent<Plan>['abort']>().toEqualTypeOf<() => void>();
  expectTypeOf<AgUiAgent<Plan>['getSnapshot']>().toEqualTypeOf<() => AgUiThread<Plan>>();
  expectTypeOf<AgUiAgent<Plan>['subscribe']>().toEqualTypeOf<
    (listener: () => void) => () => void
  >();
  expectTypeOf<AgUiAgent<Plan>['dispose']>().toEqualTypeOf<() => void>();
  expectTypeOf<AgUiAgent<Plan>['client']>().toExtend<object>();
  expectTypeOf<AgUiAgent<Plan>['runs']>().toExtend<object>();
});

it('the sample that wraps the reducer compiles as it stands, and is taken by the agent', () => {
  const reduce = (thread: AgUiThread<Plan>, event: AgUiEvent): AgUiThread<Plan> =>
    event.type === 'CUSTOM' && event.name === 'reset_plan'
      ? { ...thread, state: { tasks: [] } }
      : applyAgUiEvent(thread, event);
  const make = () => createAgUiAgent<Plan>(createWebSocketClient('wss://x.test'), { reduce });
  expectTypeOf(make).returns.toEqualTypeOf<AgUiAgent<Plan>>();
});

it('applyAgUiEvent and applyPatch have the signatures of the page', () => {
  expectTypeOf(applyAgUiEvent<Plan>).toBeCallableWith({} as AgUiThread<Plan>, {} as AgUiEvent);
  expectTypeOf(applyAgUiEvent<Plan>).returns.toEqualTypeOf<AgUiThread<Plan>>();
  expectTypeOf(applyPatch<Plan>).toBeCallableWith(
    {} as Plan,
    [
      { op: 'add', path: '/a', value: 1 },
      { op: 'remove', path: '/a' },
      { op: 'replace', path: '/a', value: null },
      { op: 'move', from: '/a', path: '/b' },
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'test', path: '/a', value: 1 },
    ] as readonly JsonPatchOperation[],
  );
  expectTypeOf(applyPatch<Plan>).returns.toEqualTypeOf<Plan>();
});

it('string offsets need the type parameter, whose default stays number', () => {
  const client = {} as WebSocketClient<Frame, string>;
  const numbers = () =>
    createAgUiAgent(client, {
      resume(runId, after) {
        expectTypeOf(after).toEqualTypeOf<number | undefined>();
        return runId;
      },
    });
  const strings = () =>
    createAgUiAgent<Plan, Frame, string, string>(client, {
      resume(runId, after) {
        expectTypeOf(after).toEqualTypeOf<string | undefined>();
        return `${runId}${after}`;
      },
      event: (message) => ({ runId: message.id, offset: `${message.n}`, event: message.body }),
    });
  expectTypeOf(numbers).toBeFunction();
  expectTypeOf(strings).toBeFunction();
});

it('useAgUiAgent gives the thread of its agent', () => {
  expectTypeOf(useAgUiAgent<Plan>).toBeCallableWith({} as AgUiAgent<Plan>);
  const use = (agent: AgUiAgent<Plan>) => useAgUiAgent(agent);
  expectTypeOf(use).returns.toEqualTypeOf<AgUiThread<Plan>>();
});
