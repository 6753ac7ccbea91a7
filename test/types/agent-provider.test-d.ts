import { expectTypeOf, it } from 'vitest';
import type {
  AgentActions,
  AgentCheckpoint,
  AgentCheckpointStorage,
  AgentCommandState,
  AgentConnectionState,
  AgentXChatConfig,
  DefaultMessageInfo,
  MessageInfo,
} from '../../src/agent-provider/chat-types.ts';
import type {
  AgentCommand,
  AgentCommandFactory,
  AgentCommandOf,
  AgentCommandPayloadMap,
  AgentCommandType,
} from '../../src/agent-provider/command-types.ts';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import type {
  AgentContentPart,
  AgentError,
  AgentEvent,
  AgentEventEnvelope,
  AgentEventFactory,
  AgentEventMeta,
  AgentEventOf,
  AgentEventPayloadMap,
  AgentEventType,
  AgentMessageContent,
  AgentRole,
  ApprovalDecision,
} from '../../src/agent-provider/event-types.ts';
import type {
  AgentCommandOptions,
  AgentProvider,
  AgentProviderCapabilities,
  AgentProviderContextOptions,
  AgentProviderContractIssue,
  AgentRunOptions,
  AgentTransport,
  AgentTransportKind,
  AnyAgentProvider,
  RunAgentCommandOptions,
  RunAgentProviderOptions,
} from '../../src/agent-provider/provider-types.ts';
import { runAgentCommand } from '../../src/agent-provider/run-agent-command.ts';
import { isAgentProvider, runAgentProvider } from '../../src/agent-provider/run-agent-provider.ts';
import {
  createRunTransport,
  type RunChunk,
  type RunCursor,
} from '../../src/agent-provider/run-transport.ts';
import type {
  AgentApprovalState,
  AgentArtifactState,
  AgentEntityKind,
  AgentEntityReference,
  AgentMessageState,
  AgentProtocolIssue,
  AgentReasoningState,
  AgentRunState,
  AgentSessionState,
  AgentState,
  AgentTaskState,
  AgentToolCallState,
} from '../../src/agent-provider/state-types.ts';
import type { AgentStore } from '../../src/agent-provider/store.ts';
import { validateAgentProviderEvents } from '../../src/agent-provider/validate-agent-provider-events.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';

// What the AX page prints, as it prints it.

interface PageProvider<Input, Request, Chunk, Context = unknown> {
  readonly id: string;
  readonly protocol: {
    readonly name: 'agent-event';
    readonly version: '0.1';
  };
  readonly capabilities: AgentProviderCapabilities;
  readonly transport: PageTransport<Request, Chunk>;

  createContext(options: AgentProviderContextOptions): Context;
  start(input: Input, context: Context): readonly AgentEvent[];
  prepareRequest(input: Input, context: Context): Request;
  transformChunk(chunk: Chunk, context: Context): readonly AgentEvent[];
  flush(context: Context): readonly AgentEvent[];
  transformError(error: unknown, context: Context): readonly AgentEvent[];
  executeCommand?(command: AgentCommand, options: AgentCommandOptions): AsyncIterable<AgentEvent>;
}

interface PageTransport<Request, Chunk> {
  readonly kind: AgentTransportKind;
  open(request: Request, signal: AbortSignal): AsyncIterable<Chunk>;
}

// What the page names in prose and tables.

interface PageConfig<Input, Request, Chunk, Context, ParsedMessage> {
  provider: PageProvider<Input, Request, Chunk, Context>;
  conversationKey?: string;
  defaultMessages?: DefaultMessageInfo<AgentMessageState>[];
  parser?: (message: AgentMessageState) => ParsedMessage | ParsedMessage[];
}

interface Input {
  readonly prompt: string;
}
type Request = { readonly body: string };
type Chunk = { readonly text: string };
type Context = { count: number };

it('a provider of the page is one of ours, and back', () => {
  expectTypeOf<PageProvider<Input, Request, Chunk, Context>>().toExtend<
    AgentProvider<Input, Request, Chunk, Context>
  >();
  expectTypeOf<AgentProvider<Input, Request, Chunk, Context>>().toExtend<
    PageProvider<Input, Request, Chunk, Context>
  >();
  expectTypeOf<AgentProvider<Input, Request, Chunk>>().toExtend<
    PageProvider<Input, Request, Chunk>
  >();
  expectTypeOf<AgentProvider<Input, Request, Chunk, Context>>().toExtend<AnyAgentProvider>();
});

it('a transport of the page is one of ours, and back', () => {
  expectTypeOf<PageTransport<Request, Chunk>>().toExtend<AgentTransport<Request, Chunk>>();
  expectTypeOf<AgentTransport<Request, Chunk>>().toExtend<PageTransport<Request, Chunk>>();
  expectTypeOf<
    'sse' | 'websocket' | 'async-iterable' | 'company.websocket'
  >().toExtend<AgentTransportKind>();
  expectTypeOf<'company'>().not.toExtend<AgentTransportKind>();
});

it('a configuration of the page is one of ours', () => {
  expectTypeOf<PageConfig<Input, Request, Chunk, Context, string>>().toExtend<
    AgentXChatConfig<Input, Request, Chunk, Context, string>
  >();
  expectTypeOf<AgentXChatConfig<Input, Request, Chunk>['provider']>().toEqualTypeOf<
    AgentProvider<Input, Request, Chunk, unknown>
  >();
});

it('the state has the fields of the page', () => {
  expectTypeOf<
    | 'sessions'
    | 'runs'
    | 'messages'
    | 'reasoning'
    | 'toolCalls'
    | 'approvals'
    | 'tasks'
    | 'artifacts'
    | 'issues'
  >().toExtend<keyof AgentState>();
  expectTypeOf<AgentState['messages'][string]>().toEqualTypeOf<AgentMessageState>();
  expectTypeOf<AgentState['runs'][string]>().toEqualTypeOf<AgentRunState>();
  expectTypeOf<AgentState['issues'][number]>().toEqualTypeOf<AgentProtocolIssue>();
});

it('the events are those of the page', () => {
  type Families =
    | `run.${'started' | 'completed' | 'failed' | 'cancelled'}`
    | `message.${'started' | 'delta' | 'completed' | 'failed' | 'cancelled'}`
    | `reasoning.${'started' | 'delta' | 'completed' | 'failed' | 'cancelled'}`
    | `tool.${'requested' | 'arguments_delta' | 'running' | 'completed' | 'failed' | 'cancelled'}`
    | `approval.${'requested' | 'resolved'}`
    | `task.${'created' | 'updated' | 'completed' | 'failed' | 'cancelled'}`
    | `artifact.${'created' | 'updated' | 'completed' | 'failed'}`;
  expectTypeOf<AgentEventType>().toEqualTypeOf<Families | 'session.started'>();
  expectTypeOf<Extract<AgentEvent, { type: 'message.delta' }>>().toEqualTypeOf<
    AgentEventOf<'message.delta'>
  >();
  expectTypeOf<AgentCommandType>().toEqualTypeOf<
    'approval.resolve' | 'tool.retry' | 'run.cancel'
  >();
});

it('the command sample of the page compiles', () => {
  const runtime = {
    async execute(
      command: AgentCommand,
      _options: { signal: AbortSignal },
    ): Promise<AgentEventPayloadMap['approval.resolved']> {
      return { approvalId: command.commandId, decision: 'approved' };
    },
  };
  const capabilities = {
    eventTypes: [
      'approval.resolved',
      'tool.requested',
      'tool.running',
      'tool.completed',
      'run.cancelled',
    ],
    transports: ['company.sse'],
    commands: ['approval.resolve', 'tool.retry', 'run.cancel'],
  } satisfies AgentProviderCapabilities;

  async function* executeCommand(
    command: AgentCommand,
    { signal, initialSequence }: AgentCommandOptions,
  ) {
    const events = createAgentEventFactory({
      sessionId: command.sessionId,
      runId: command.runId,
      initialSequence,
    });

    const result = await runtime.execute(command, { signal });
    yield events.create('approval.resolved', result);
  }
  expectTypeOf(executeCommand).toExtend<NonNullable<AnyAgentProvider['executeCommand']>>();
  expectTypeOf(capabilities).toExtend<AgentProviderCapabilities>();
});

it('the validation sample of the page compiles', () => {
  const check = (provider: PageProvider<Input, Request, Chunk>, events: AgentEvent[]) =>
    validateAgentProviderEvents(provider.capabilities, events);
  expectTypeOf(check).returns.toEqualTypeOf<AgentProviderContractIssue[]>();
});

it('a runner takes a provider of the page, and infers its input', () => {
  const run = (provider: PageProvider<Input, Request, Chunk, Context>) =>
    runAgentProvider({
      provider,
      input: { prompt: 'Analyze this report' },
      run: { sessionId: 's', runId: 'r' },
      onEvent: (event) => expectTypeOf(event).toEqualTypeOf<AgentEvent>(),
    });
  expectTypeOf(run).returns.toEqualTypeOf<Promise<void>>();
  (provider: PageProvider<Input, Request, Chunk, Context>) =>
    runAgentProvider({
      provider,
      // @ts-expect-error a number is no input of this provider
      input: 7,
      run: { sessionId: 's', runId: 'r' },
      onEvent() {},
    });
  (provider: PageProvider<Input, Request, Chunk, Context>, command: AgentCommand) =>
    runAgentCommand({ provider, command, initialSequence: 3, onEvent() {} });
});

it('the guard of a provider narrows', () => {
  const value: unknown = undefined;
  if (isAgentProvider(value)) expectTypeOf(value).toEqualTypeOf<AnyAgentProvider>();
});

it('a run transport is a transport, with the chunks of its events', () => {
  const client = createWebSocketClient('wss://example.com');
  const transport = createRunTransport<{ input: string }, Chunk>(client);
  expectTypeOf(transport).toExtend<AgentTransport<{ input: string }, RunChunk<Chunk>>>();
  expectTypeOf(transport.kind).toEqualTypeOf<'websocket'>();
  expectTypeOf(transport.getCursor).returns.toEqualTypeOf<RunCursor | undefined>();
  const mapped = createRunTransport<Request, Chunk, unknown, unknown, string, number>(client, {
    request: ({ body }) => ({ runId: body, input: body.length }),
    queueLimit: 10,
    policy: 'keep',
  });
  expectTypeOf(mapped.getCursor).returns.toEqualTypeOf<RunCursor<string> | undefined>();
  // @ts-expect-error checkpoints are its memory
  createRunTransport(client, { storage: null });
});

it('every type that a user may want to name is there', () => {
  expectTypeOf<
    [
      AgentActions,
      AgentApprovalState,
      AgentArtifactState,
      AgentCheckpoint,
      AgentCheckpointStorage,
      AgentCommandFactory,
      AgentCommandOf<'run.cancel'>,
      AgentCommandPayloadMap,
      AgentCommandState,
      AgentConnectionState,
      AgentContentPart,
      AgentEntityKind,
      AgentEntityReference,
      AgentError,
      AgentEventEnvelope,
      AgentEventFactory,
      AgentEventMeta,
      AgentMessageContent,
      AgentReasoningState,
      AgentRole,
      AgentRunOptions,
      AgentSessionState,
      AgentStore,
      AgentTaskState,
      AgentToolCallState,
      ApprovalDecision,
      MessageInfo<AgentMessageState>,
      RunAgentCommandOptions,
      RunAgentProviderOptions<Input, Request, Chunk, Context>,
    ]
  >().not.toBeAny();
});
