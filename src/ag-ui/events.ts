import type { JsonPatchOperation } from './apply-patch.ts';
import type { RunAgentInput } from './input.ts';
import type { Interrupt } from './interrupts.ts';
import type { AgUiMessage, AgUiMetadata, ContentPart } from './messages.ts';
import type { TokenUsage } from './thread.ts';

interface BaseEvent<Type extends string> {
  readonly type: Type;
  /** Milliseconds since 1970. */
  readonly timestamp?: number;
  /** The event of the agent framework that this one was made of. */
  readonly rawEvent?: unknown;
  readonly metadata?: AgUiMetadata;
}

interface AttributableEvent<Type extends string> extends BaseEvent<Type> {
  /** The subagent that the event is from; absent: the parent agent. */
  readonly subagentRunId?: string;
}

interface MessageEvent<Type extends string> extends AttributableEvent<Type> {
  readonly messageId: string;
}

interface ToolCallEvent<Type extends string> extends AttributableEvent<Type> {
  readonly toolCallId: string;
}

/** Who a streamed text message can be from. */
export type TextMessageRole = 'developer' | 'system' | 'assistant' | 'user';

/** A text message begins. */
export interface TextMessageStartEvent extends MessageEvent<'TEXT_MESSAGE_START'> {
  /** @default 'assistant' */
  readonly role?: TextMessageRole;
  readonly name?: string;
}

/** More text of a message. */
export interface TextMessageContentEvent extends MessageEvent<'TEXT_MESSAGE_CONTENT'> {
  readonly delta: string;
}

/** A text message is complete. */
export type TextMessageEndEvent = MessageEvent<'TEXT_MESSAGE_END'>;

/** Start, content and end of a text message in one; without `messageId` it goes on with the last. */
export interface TextMessageChunkEvent extends AttributableEvent<'TEXT_MESSAGE_CHUNK'> {
  readonly messageId?: string;
  readonly role?: TextMessageRole;
  readonly delta?: string;
  readonly name?: string;
}

/** A tool call begins. */
export interface ToolCallStartEvent extends ToolCallEvent<'TOOL_CALL_START'> {
  readonly toolCallName: string;
  readonly parentMessageId?: string;
}

/** More of the JSON text of a tool call's arguments. */
export interface ToolCallArgsEvent extends ToolCallEvent<'TOOL_CALL_ARGS'> {
  readonly delta: string;
}

/** The arguments of a tool call are complete. */
export type ToolCallEndEvent = ToolCallEvent<'TOOL_CALL_END'>;

/** Start, arguments and end of a tool call in one; without `toolCallId` it goes on with the last. */
export interface ToolCallChunkEvent extends AttributableEvent<'TOOL_CALL_CHUNK'> {
  readonly toolCallId?: string;
  readonly toolCallName?: string;
  readonly parentMessageId?: string;
  readonly delta?: string;
}

/** What a tool answered. */
export interface ToolCallResultEvent extends ToolCallEvent<'TOOL_CALL_RESULT'> {
  /** @default '<toolCallId>:result' */
  readonly messageId?: string;
  readonly content: string | readonly ContentPart[];
  readonly role?: 'tool';
}

/** The whole shared state. */
export interface StateSnapshotEvent extends AttributableEvent<'STATE_SNAPSHOT'> {
  readonly snapshot: unknown;
}

/** A change of the shared state, as JSON Patch (RFC 6902). */
export interface StateDeltaEvent extends AttributableEvent<'STATE_DELTA'> {
  readonly delta: readonly JsonPatchOperation[];
}

/** The messages as the server has them. */
export interface MessagesSnapshotEvent extends BaseEvent<'MESSAGES_SNAPSHOT'> {
  readonly messages: readonly AgUiMessage[];
}

/** The whole content of an activity message. */
export interface ActivitySnapshotEvent extends MessageEvent<'ACTIVITY_SNAPSHOT'> {
  readonly activityType: string;
  readonly content: Readonly<Record<string, unknown>>;
  /**
   * Whether content that is there already is replaced.
   * @default true
   */
  readonly replace?: boolean;
}

/** A change of an activity message's content, as JSON Patch (RFC 6902). */
export interface ActivityDeltaEvent extends MessageEvent<'ACTIVITY_DELTA'> {
  readonly activityType: string;
  readonly patch: readonly JsonPatchOperation[];
}

/** An event of another system, passed through. */
export interface RawEvent extends AttributableEvent<'RAW'> {
  readonly event: unknown;
  readonly source?: string;
}

/** An event of the application's own. */
export interface CustomEvent extends AttributableEvent<'CUSTOM'> {
  readonly name: string;
  readonly value: unknown;
}

/** A run begins. */
export interface RunStartedEvent extends BaseEvent<'RUN_STARTED'> {
  readonly threadId: string;
  readonly runId: string;
  readonly protocolVersion?: string;
  readonly parentRunId?: string;
  readonly input?: RunAgentInput;
}

/** How a run ended. */
export type RunFinishedOutcome =
  | { readonly type: 'success'; readonly pendingToolCallIds?: readonly string[] }
  | { readonly type: 'interrupt'; readonly interrupts: readonly Interrupt[] }
  | { readonly type: 'cancelled' };

/** A run has ended. */
export interface RunFinishedEvent extends BaseEvent<'RUN_FINISHED'> {
  readonly threadId: string;
  readonly runId: string;
  readonly result?: unknown;
  /** Absent: success. */
  readonly outcome?: RunFinishedOutcome;
  readonly usage?: readonly TokenUsage[];
}

/** A run has failed. */
export interface RunErrorEvent extends BaseEvent<'RUN_ERROR'> {
  readonly message: string;
  readonly code?: string;
  readonly usage?: readonly TokenUsage[];
}

/** A step begins. */
export interface StepStartedEvent extends AttributableEvent<'STEP_STARTED'> {
  readonly stepName: string;
}

/** A step has ended. */
export interface StepFinishedEvent extends AttributableEvent<'STEP_FINISHED'> {
  readonly stepName: string;
}

/** A span of reasoning begins; its id names no message. */
export type ReasoningStartEvent = MessageEvent<'REASONING_START'>;

/** A reasoning message begins. */
export interface ReasoningMessageStartEvent extends MessageEvent<'REASONING_MESSAGE_START'> {
  readonly role?: 'reasoning';
}

/** More text of a reasoning message. */
export interface ReasoningMessageContentEvent extends MessageEvent<'REASONING_MESSAGE_CONTENT'> {
  readonly delta: string;
}

/** A reasoning message is complete. */
export type ReasoningMessageEndEvent = MessageEvent<'REASONING_MESSAGE_END'>;

/** Start, content and end of a reasoning message in one; without `messageId` it goes on with the last. */
export interface ReasoningMessageChunkEvent extends AttributableEvent<'REASONING_MESSAGE_CHUNK'> {
  readonly messageId?: string;
  readonly delta?: string;
}

/** A span of reasoning has ended. */
export type ReasoningEndEvent = MessageEvent<'REASONING_END'>;

/** The encrypted reasoning that goes with a message or a tool call, to be sent back to the agent. */
export interface ReasoningEncryptedValueEvent
  extends AttributableEvent<'REASONING_ENCRYPTED_VALUE'> {
  readonly subtype: 'message' | 'tool-call';
  readonly entityId: string;
  readonly encryptedValue: string;
}

/** A subagent begins. */
export interface SubagentStartedEvent extends BaseEvent<'SUBAGENT_STARTED'> {
  readonly subagentRunId: string;
  readonly name: string;
  readonly description?: string;
  readonly parentSubagentRunId?: string;
  readonly parentToolCallId?: string;
  readonly parentMessageId?: string;
}

/** A subagent has ended. */
export interface SubagentFinishedEvent extends BaseEvent<'SUBAGENT_FINISHED'> {
  readonly subagentRunId: string;
  readonly result?: unknown;
  readonly outcome?:
    | { readonly type: 'success' }
    | { readonly type: 'suspended'; readonly interruptIds?: readonly string[] };
}

/** A subagent has failed; the run goes on. */
export interface SubagentErrorEvent extends BaseEvent<'SUBAGENT_ERROR'> {
  readonly subagentRunId: string;
  readonly message: string;
  readonly code?: string;
}

/** A span of reasoning, as servers before AG-UI 1.0 send it. */
export interface ThinkingSpanEvent extends AttributableEvent<'THINKING_START' | 'THINKING_END'> {
  readonly title?: string;
}

/** A reasoning message begins or ends, as servers before AG-UI 1.0 send it. */
export type ThinkingTextEdgeEvent = AttributableEvent<
  'THINKING_TEXT_MESSAGE_START' | 'THINKING_TEXT_MESSAGE_END'
>;

/** More text of a reasoning message, as servers before AG-UI 1.0 send it. */
export interface ThinkingTextContentEvent
  extends AttributableEvent<'THINKING_TEXT_MESSAGE_CONTENT'> {
  readonly delta: string;
}

/** Every AG-UI event, told apart by `type`; AG-UI's own event types are assignable to it. */
export type AgUiEvent =
  | TextMessageStartEvent
  | TextMessageContentEvent
  | TextMessageEndEvent
  | TextMessageChunkEvent
  | ToolCallStartEvent
  | ToolCallArgsEvent
  | ToolCallEndEvent
  | ToolCallChunkEvent
  | ToolCallResultEvent
  | StateSnapshotEvent
  | StateDeltaEvent
  | MessagesSnapshotEvent
  | ActivitySnapshotEvent
  | ActivityDeltaEvent
  | RawEvent
  | CustomEvent
  | RunStartedEvent
  | RunFinishedEvent
  | RunErrorEvent
  | StepStartedEvent
  | StepFinishedEvent
  | ReasoningStartEvent
  | ReasoningMessageStartEvent
  | ReasoningMessageContentEvent
  | ReasoningMessageEndEvent
  | ReasoningMessageChunkEvent
  | ReasoningEndEvent
  | ReasoningEncryptedValueEvent
  | SubagentStartedEvent
  | SubagentFinishedEvent
  | SubagentErrorEvent
  | ThinkingSpanEvent
  | ThinkingTextEdgeEvent
  | ThinkingTextContentEvent;
