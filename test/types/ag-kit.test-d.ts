import { expectTypeOf, it } from 'vitest';
import type * as z from 'zod';
import { agKitRuns } from '../../src/ag-kit/ag-kit-runs.ts';
import { agKitToAgUi } from '../../src/ag-kit/ag-kit-to-ag-ui.ts';
import { agUiToAgKit } from '../../src/ag-kit/ag-ui-to-ag-kit.ts';
import type {
  assistantMessageSchema,
  clientMessageSchema,
  sendMessageEventSchema,
  systemMessageSchema,
  toolMessageSchema,
  toolSchema,
  userMessageSchema,
} from '../../src/ag-kit/schemas.ts';
import { sendMessageInputSchema } from '../../src/ag-kit/schemas.ts';
import { fromSendMessageInput, toSendMessageInput } from '../../src/ag-kit/send-message-input.ts';
import type {
  AssistantMessage,
  ClientMessage,
  SendMessageEvent,
  SendMessageInput,
  SystemMessage,
  Tool,
  ToolMessage,
  UserMessage,
} from '../../src/ag-kit/types.ts';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import type { RunAgentInput } from '../../src/ag-ui/input.ts';
import { createAgUiProvider } from '../../src/agent-provider/ag-ui-provider.ts';
import type { WebSocketClient } from '../../src/client/types.ts';

// The types of the AG-Kit page, as they stand there.
type PageSendMessageInput = {
  conversationId: string;
  messages?: Array<
    | { role: 'system'; content: string }
    | { role: 'user'; content: string }
    | { role: 'tool'; content: string; toolCallId: string }
    | {
        role: 'assistant';
        content?: string;
        toolCalls?: Array<{
          id: string;
          type: 'function';
          function: { name: string; arguments: string };
        }>;
      }
  >;
  resume?: { interruptId: string; payload: unknown };
  // biome-ignore lint/suspicious/noExplicitAny: it is so on the page.
  tools?: Array<{ name: string; description: string; parameters: any }>;
};
type PageSendMessageEvent =
  | { type: 'text'; content: string }
  | { type: 'tool-call-start'; toolCallId: string; toolCallName: string }
  | { type: 'tool-call-args'; toolCallId: string; delta: string }
  | { type: 'tool-call-end'; toolCallId: string }
  | { type: 'tool-result'; toolCallId: string; result: string }
  | { type: 'interrupt'; id: string; reason: string; payload: unknown };
type PageAssistantMessage = {
  role: 'assistant';
  content?: string;
  toolCalls?: Array<{
    id: string;
    type: 'function';
    function: { name: string; arguments: string };
  }>;
};
type PageTool = {
  name: string;
  description: string;
  // biome-ignore lint/suspicious/noExplicitAny: it is so on the page.
  parameters: any;
};

it('has the types of the AG-Kit page', () => {
  expectTypeOf<SendMessageInput>().toEqualTypeOf<PageSendMessageInput>();
  expectTypeOf<SendMessageEvent>().toEqualTypeOf<PageSendMessageEvent>();
  expectTypeOf<SystemMessage>().toEqualTypeOf<{ role: 'system'; content: string }>();
  expectTypeOf<UserMessage>().toEqualTypeOf<{ role: 'user'; content: string }>();
  expectTypeOf<ToolMessage>().toEqualTypeOf<{
    role: 'tool';
    content: string;
    toolCallId: string;
  }>();
  expectTypeOf<AssistantMessage>().toEqualTypeOf<PageAssistantMessage>();
  expectTypeOf<ClientMessage>().toEqualTypeOf<
    SystemMessage | UserMessage | ToolMessage | AssistantMessage
  >();
  expectTypeOf<Tool>().toEqualTypeOf<PageTool>();
});

it('wants payload and parameters, as the page does', () => {
  // @ts-expect-error payload is missing
  const event: SendMessageEvent = { type: 'interrupt', id: 'i', reason: 'r' };
  // @ts-expect-error parameters are missing
  const tool: Tool = { name: 'a', description: 'b' };
  expectTypeOf(event).toExtend<SendMessageEvent>();
  expectTypeOf(tool).toExtend<Tool>();
});

it('lets messages be changed in place', () => {
  const input: SendMessageInput = { conversationId: 't', messages: [] };
  input.messages?.push({ role: 'user', content: 'Hello' });
  input.conversationId = 'other';
  expectTypeOf(input.messages).toEqualTypeOf<ClientMessage[] | undefined>();
});

it('has schemas of these types', () => {
  expectTypeOf(sendMessageInputSchema.parse({})).toEqualTypeOf<SendMessageInput>();
  expectTypeOf<z.infer<typeof sendMessageInputSchema>>().toEqualTypeOf<SendMessageInput>();
  expectTypeOf<z.infer<typeof sendMessageEventSchema>>().toEqualTypeOf<SendMessageEvent>();
  expectTypeOf<z.infer<typeof systemMessageSchema>>().toEqualTypeOf<SystemMessage>();
  expectTypeOf<z.infer<typeof userMessageSchema>>().toEqualTypeOf<UserMessage>();
  expectTypeOf<z.infer<typeof toolMessageSchema>>().toEqualTypeOf<ToolMessage>();
  expectTypeOf<z.infer<typeof assistantMessageSchema>>().toEqualTypeOf<AssistantMessage>();
  expectTypeOf<z.infer<typeof clientMessageSchema>>().toEqualTypeOf<ClientMessage>();
  expectTypeOf<z.infer<typeof toolSchema>>().toEqualTypeOf<Tool>();
});

it('maps between the types of both sides', () => {
  const { push, start, end, fail } = agKitToAgUi({ threadId: 't', runId: 'r' });
  const event = { type: 'text', content: 'a' } as SendMessageEvent;
  expectTypeOf(push(event)).toEqualTypeOf<AgUiEvent[]>();
  expectTypeOf(push('[DONE]')).toEqualTypeOf<AgUiEvent[]>();
  expectTypeOf(push({ type: '[DONE]' })).toEqualTypeOf<AgUiEvent[]>();
  expectTypeOf(push({} as AgUiEvent)).toEqualTypeOf<AgUiEvent[]>();
  expectTypeOf(push(JSON.parse('{}'))).toEqualTypeOf<AgUiEvent[]>();
  expectTypeOf([start, end]).items.toEqualTypeOf<() => AgUiEvent[]>();
  expectTypeOf(fail(new Error('No.'))).toEqualTypeOf<AgUiEvent[]>();
  // @ts-expect-error this is no event of either side
  push({ type: 'text-start', content: 'a' });
  expectTypeOf(agUiToAgKit().push({} as AgUiEvent)).toEqualTypeOf<
    (SendMessageEvent | '[DONE]')[]
  >();
  expectTypeOf(toSendMessageInput({} as RunAgentInput, 'm')).toEqualTypeOf<SendMessageInput>();
  expectTypeOf(
    fromSendMessageInput({} as SendMessageInput, { runId: 'r', messages: [] }),
  ).toEqualTypeOf<RunAgentInput>();
});

it('fits agents and providers on clients of any type', () => {
  interface Frame {
    readonly type: string;
  }
  const plain = {} as WebSocketClient;
  const typed = {} as WebSocketClient<Frame, Frame>;
  const check = () => {
    createAgUiAgent(plain, { ...agKitRuns() });
    createAgUiAgent<{ n: number }>(plain, { ...agKitRuns(), state: { n: 1 } });
    createAgUiAgent(typed, { ...agKitRuns(), threadId: 't', restart: true });
    createAgUiAgent(plain, { ...agKitRuns<string>() });
    createAgUiAgent(plain, { ...agKitRuns(), checkpoint: false, policy: 'cancel' });
    createAgUiProvider({ client: plain as never, agentOptions: agKitRuns() });
    createAgUiProvider({
      client: plain as never,
      agentOptions: { ...agKitRuns({ jsonText: true, cancelPayload: null }), overlap: true },
    });
    // @ts-expect-error there is no such option
    agKitRuns({ text: true });
  };
  expectTypeOf(check).returns.toBeVoid();
});
