import { expectTypeOf, it } from 'vitest';
import type {
  AgUiProvider,
  AgUiProviderInput,
} from '../../src/agent-provider/ag-ui-provider-types.ts';
import { createAgentChat } from '../../src/agent-provider/agent-chat.ts';
import type {
  AgentActionResult,
  AgentActions,
  AgentChat,
  AgentConnectionState,
  AgentXChatConfig,
  DefaultMessageInfo,
  MessageInfo,
} from '../../src/agent-provider/chat-types.ts';
import type { AgentProvider } from '../../src/agent-provider/provider-types.ts';
import type { AgentMessageState, AgentState } from '../../src/agent-provider/state-types.ts';
import { type UseXChatResult, useXChat } from '../../src/react/index.ts';

interface Ask {
  readonly prompt: string;
}

declare const provider: AgentProvider<Ask, { readonly url: string }, string, { open: boolean }>;
declare const agUiProvider: AgUiProvider;
declare const loadMessages: () => Promise<DefaultMessageInfo<AgentMessageState>[]>;

function Sample() {
  const { messages, agentState, onRequest, abort, isRequesting } = useXChat({
    provider,
    conversationKey: 'conversation-1',
  });
  onRequest({ prompt: 'Analyze this report' });
  expectTypeOf(messages).toEqualTypeOf<readonly MessageInfo<AgentMessageState>[]>();
  expectTypeOf(agentState).toEqualTypeOf<AgentState>();
  expectTypeOf(abort).toEqualTypeOf<() => void>();
  expectTypeOf(isRequesting).toEqualTypeOf<boolean>();
}

function Wrong() {
  // @ts-expect-error The input lacks its prompt.
  useXChat({ provider }).onRequest({});
  // @ts-expect-error There is no conversation without a provider.
  useXChat({ conversationKey: 'c' });
}

it('compiles the sample of the reference page', () => {
  expectTypeOf(Sample).toBeFunction();
});

it('infers the input from the provider', () => {
  const chat = () => useXChat({ provider });
  expectTypeOf(chat).returns.toEqualTypeOf<UseXChatResult<Ask, AgentMessageState>>();
  expectTypeOf<ReturnType<typeof chat>['onRequest']>().parameters.toEqualTypeOf<[input: Ask]>();
  expectTypeOf<ReturnType<typeof chat>['onReload']>().parameters.toEqualTypeOf<
    [id: string | number, input?: Ask]
  >();
  const agUi = () => useXChat({ provider: agUiProvider });
  expectTypeOf<ReturnType<typeof agUi>['onRequest']>().parameters.toEqualTypeOf<
    [input: AgUiProviderInput]
  >();
  expectTypeOf(() => createAgentChat({ provider })).returns.toEqualTypeOf<
    AgentChat<Ask, AgentMessageState>
  >();
  expectTypeOf(Wrong).toBeFunction();
});

it('infers the parsed message from the parser', () => {
  const one = () =>
    useXChat({ provider, parser: ({ role }) => ({ role: String(role), shown: true }) });
  expectTypeOf<ReturnType<typeof one>['parsedMessages'][number]['message']>().toEqualTypeOf<{
    role: string;
    shown: boolean;
  }>();
  const many = () => useXChat({ provider, parser: ({ id }) => [id, id] });
  expectTypeOf<
    ReturnType<typeof many>['parsedMessages'][number]['message']
  >().toEqualTypeOf<string>();
  const chat = () => createAgentChat({ provider, parser: () => 7 });
  expectTypeOf<
    ReturnType<ReturnType<typeof chat>['getSnapshot']>['parsedMessages']
  >().toEqualTypeOf<readonly MessageInfo<number>[]>();
});

it('takes the configuration of the reference page', () => {
  type Config = AgentXChatConfig<Ask, { readonly url: string }, string, { open: boolean }, string>;
  expectTypeOf<{
    provider: typeof provider;
    conversationKey: string;
    defaultMessages: DefaultMessageInfo<AgentMessageState>[];
    parser: (message: AgentMessageState) => string | string[];
  }>().toExtend<Config>();
  expectTypeOf<{
    provider: typeof provider;
    conversationKey: symbol;
    defaultMessages: typeof loadMessages;
  }>().toExtend<Config>();
});

it('types the actions and the connection', () => {
  const chat = () => useXChat({ provider });
  expectTypeOf<ReturnType<typeof chat>['agentActions']>().toEqualTypeOf<AgentActions>();
  expectTypeOf<ReturnType<typeof chat>['connectionState']>().toEqualTypeOf<AgentConnectionState>();
  expectTypeOf<AgentActions['resolveApproval']>().returns.toEqualTypeOf<
    Promise<AgentActionResult>
  >();
  type Decision = Parameters<AgentActions['resolveApproval']>[0]['decision'];
  expectTypeOf<Decision>().toEqualTypeOf<'approved' | 'rejected' | 'modified'>();
});
