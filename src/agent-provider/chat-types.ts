import type { AgentCommand, AgentCommandDecision } from './command-types.ts';
import type { AgentProvider } from './provider-types.ts';
import type { AgentMessageState, AgentState } from './state-types.ts';

/** What became of a message, in the words of Ant Design X. */
export type MessageStatus = 'local' | 'loading' | 'updating' | 'success' | 'error' | 'abort';

/** A message as components show it. */
export interface MessageInfo<Message> {
  readonly id: number | string;
  readonly message: Message;
  readonly status: MessageStatus;
  readonly extraInfo?: Readonly<Record<string, unknown>>;
}

/** A message to begin with. @default id `default_<index>`, status `local` */
export type DefaultMessageInfo<Message> = Pick<MessageInfo<Message>, 'message'> &
  Partial<Omit<MessageInfo<Message>, 'message'>>;

/** The messages to begin with, or what loads them. */
export type DefaultMessages<Message> =
  | readonly DefaultMessageInfo<Message>[]
  | ((info: {
      readonly conversationKey: AgentConversationKey | undefined;
    }) => readonly DefaultMessageInfo<Message>[] | Promise<readonly DefaultMessageInfo<Message>[]>);

/** Names a conversation. */
export type AgentConversationKey = string | number | symbol;

/** Options of `useXChat` and `createAgentChat`. */
export interface AgentXChatConfig<
  Input,
  Request,
  Chunk,
  Context = unknown,
  ParsedMessage = AgentMessageState,
> {
  /** The only way to an agent. */
  readonly provider: AgentProvider<Input, Request, Chunk, Context>;
  /** Keeps conversations apart. @default one of the hook's own */
  readonly conversationKey?: AgentConversationKey | undefined;
  /** Shown before what the agent says; no events are made of them. */
  readonly defaultMessages?: DefaultMessages<AgentMessageState> | undefined;
  /** Makes what a component shows of a message. */
  readonly parser?:
    | ((message: AgentMessageState) => ParsedMessage | readonly ParsedMessage[])
    | undefined;
}

/** What a command was sent as. */
export interface AgentActionResult {
  readonly commandId: string;
  readonly idempotencyKey: string;
}

/** What `resolveApproval` takes. */
export interface ResolveApprovalInput {
  readonly runId: string;
  readonly approvalId: string;
  readonly decision: AgentCommandDecision;
  readonly data?: unknown;
  /** Refuses the answer to a question that has changed since. */
  readonly expectedVersion?: string | number | undefined;
}

/**
 * What a user can ask of a run. Each throws at once where it is not possible, and its promise settles
 * with the command.
 */
export interface AgentActions {
  resolveApproval(input: ResolveApprovalInput): Promise<AgentActionResult>;
  retryTool(input: {
    readonly runId: string;
    readonly toolCallId: string;
  }): Promise<AgentActionResult>;
  cancelRun(input: {
    readonly runId: string;
    readonly reason?: string | undefined;
  }): Promise<AgentActionResult>;
}

/** What became of a command. */
export type AgentCommandStatus = 'submitting' | 'succeeded' | 'failed';

/** Why a command failed. */
export interface AgentCommandError {
  readonly code:
    | 'unsupported_capability'
    | 'invalid_command'
    | 'provider_error'
    | 'protocol_error'
    | 'interrupted';
  readonly message: string;
  readonly retryable: boolean;
  readonly cause?: unknown;
}

/** A command and what became of it. */
export interface AgentCommandState {
  readonly command: AgentCommand;
  /** Its key in `commandStates`. */
  readonly key: string;
  readonly status: AgentCommandStatus;
  readonly error?: AgentCommandError;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** How a conversation stands with its agent. */
export type AgentConnectionState =
  | 'idle'
  | 'restoring'
  | 'connecting'
  | 'connected'
  | 'reconnecting'
  | 'unrecoverable'
  | 'failed';

/** A conversation written down for the next page: one value, as plain JSON. */
export interface AgentCheckpoint {
  readonly schemaVersion: 1;
  readonly protocolVersion: '0.1';
  readonly commandProtocolVersion: '0.1';
  readonly sessionId: string;
  readonly state: AgentState;
  /** What each run that is under way was asked. */
  readonly inputByRun: Readonly<Record<string, unknown>>;
  /** The last chunk of each of these whose events are all in `state`. */
  readonly cursorByRun: Readonly<Record<string, unknown>>;
  /** What the provider's `saveContext` gave at that chunk. */
  readonly contextByRun: Readonly<Record<string, unknown>>;
  /** Commands without an end; shown as interrupted, never sent again by themselves. */
  readonly pendingCommands: readonly AgentCommand[];
  /** Milliseconds since 1970. */
  readonly savedAt: number;
}

/** Where conversations are written down. Each function may be synchronous or return a promise, and may throw. */
export interface AgentCheckpointStorage {
  load(sessionId: string): unknown;
  save(sessionId: string, checkpoint: AgentCheckpoint): unknown;
  remove(sessionId: string): unknown;
}

/** How often and how fast a run that lost its transport is asked for again. All durations in ms. */
export interface AgentReconnectOptions {
  /** @default 3 */
  readonly maxAttempts?: number | undefined;
  /** @default 500 */
  readonly initialDelay?: number | undefined;
  /** @default 5000 */
  readonly maxDelay?: number | undefined;
}

/** What a provider may bring for the chat besides its contract. */
export interface AgentChatOptions {
  /** @default nowhere */
  readonly checkpointStorage?: AgentCheckpointStorage | null | undefined;
  /** `false`: never. */
  readonly reconnect?: AgentReconnectOptions | false | undefined;
  /** Calls `listener` when the provider lets go of its runs; returns what ends that. A conversation then writes itself down and reads no more. @default never */
  readonly onDispose?: ((listener: () => void) => () => void) | undefined;
}

/** Everything a conversation shows; the same object until something changes. */
export interface AgentChatSnapshot<ParsedMessage = AgentMessageState> {
  readonly messages: readonly MessageInfo<AgentMessageState>[];
  readonly parsedMessages: readonly MessageInfo<ParsedMessage>[];
  readonly agentState: AgentState;
  readonly commandStates: Readonly<Record<string, AgentCommandState>>;
  /** The newest command of each action, by `getAgentActionKey`. */
  readonly latestCommandByAction: Readonly<Record<string, string>>;
  readonly connectionState: AgentConnectionState;
  /** A run of the conversation is under way. */
  readonly isRequesting: boolean;
  readonly isDefaultMessagesRequesting: boolean;
}

/** What a conversation can be told. */
export interface AgentChatMethods<Input> {
  readonly agentActions: AgentActions;
  /** Starts a run; one that is under way is aborted first. Throws where there is no provider. */
  onRequest(input: Input): void;
  /** Starts a run again, by default with the input of the run that the message is of. Throws for an unknown message. */
  onReload(id: string | number, input?: Input): void;
  /** Cancels every run of the conversation that is under way; never throws. */
  abort(): void;
  /** Starts a run in a conversation, once it is there. */
  queueRequest(conversationKey: AgentConversationKey, input: Input): void;
  setMessages(
    next:
      | readonly MessageInfo<AgentMessageState>[]
      | ((
          messages: readonly MessageInfo<AgentMessageState>[],
        ) => readonly MessageInfo<AgentMessageState>[]),
  ): boolean;
  setMessage(
    id: string | number,
    next:
      | Partial<MessageInfo<AgentMessageState>>
      | ((message: MessageInfo<AgentMessageState>) => Partial<MessageInfo<AgentMessageState>>),
  ): boolean;
  removeMessage(id: string | number): boolean;
}

/** A conversation without a framework. Made by `createAgentChat`. */
export interface AgentChat<Input, ParsedMessage = AgentMessageState>
  extends AgentChatMethods<Input> {
  readonly sessionId: string;
  getSnapshot(): AgentChatSnapshot<ParsedMessage>;
  /** What a server renders, and the first render of a page. */
  getServerSnapshot(): AgentChatSnapshot<ParsedMessage>;
  /** Get notified of changes. While somebody listens, runs are followed; without a listener resumable ones go on at the server and are taken up again by the next. */
  subscribe(listener: () => void): () => void;
  /** Stop for good: runs of a resumable transport go on at the server, all others are aborted. */
  dispose(): void;
}
