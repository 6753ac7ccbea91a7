/** A system prompt. */
export type SystemMessage = { role: 'system'; content: string };

/** What the user says. */
export type UserMessage = { role: 'user'; content: string };

/** What a tool answered. */
export type ToolMessage = { role: 'tool'; content: string; toolCallId: string };

/** What the agent says, and the tools it calls; `arguments` is JSON text. */
export type AssistantMessage = {
  role: 'assistant';
  content?: string;
  toolCalls?: Array<{
    id: string;
    type: 'function';
    function: { name: string; arguments: string };
  }>;
};

/** A message of a request. */
export type ClientMessage = SystemMessage | UserMessage | ToolMessage | AssistantMessage;

/** A tool that the client offers to the agent. */
export type Tool = {
  name: string;
  description: string;
  /** The JSON Schema of its arguments, as an object or as JSON text. */
  // biome-ignore lint/suspicious/noExplicitAny: it is so in AG-Kit, whose samples must compile.
  parameters: any;
};

/** What starts a conversation or goes on with it. */
export type SendMessageInput = {
  conversationId: string;
  /** The messages that the server does not have yet. */
  messages?: ClientMessage[];
  /** The answer to an interrupt. (A run's events are resumed by the `resume` message.) */
  resume?: { interruptId: string; payload: unknown };
  tools?: Tool[];
};

/** One event of the agent's answer. */
export type SendMessageEvent =
  | { type: 'text'; content: string }
  | { type: 'tool-call-start'; toolCallId: string; toolCallName: string }
  | { type: 'tool-call-args'; toolCallId: string; delta: string }
  | { type: 'tool-call-end'; toolCallId: string }
  | { type: 'tool-result'; toolCallId: string; result: string }
  | { type: 'interrupt'; id: string; reason: string; payload: unknown };
