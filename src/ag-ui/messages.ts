/** Extra information on an event, a message or a tool call; the key `ag-ui` is reserved by AG-UI. */
export type AgUiMetadata = Record<string, unknown>;

/** Media as base64 text. */
export interface DataSource {
  readonly type: 'data';
  readonly value: string;
  readonly mimeType: string;
}

/** Media at an address. */
export interface UrlSource {
  readonly type: 'url';
  readonly value: string;
  readonly mimeType?: string;
}

/** Media behind an opaque handle of a provider. */
export interface FileSource {
  readonly type: 'file';
  readonly value: string;
  readonly provider?: string;
  readonly mimeType?: string;
}

/** Where the media of a content part is. */
export type PartSource = DataSource | UrlSource | FileSource;

/** Text in a message of several parts. */
export interface TextPart {
  readonly type: 'text';
  readonly id?: string;
  readonly text: string;
  readonly metadata?: unknown;
}

/** An image, a recording, a film or a document in a message of several parts. */
export interface MediaPart<Type extends string = 'image' | 'audio' | 'video' | 'document'> {
  readonly type: Type;
  readonly id?: string;
  readonly source: PartSource;
  readonly metadata?: unknown;
}

/** One part of a user's or a tool's message. */
export type ContentPart =
  | TextPart
  | MediaPart<'image'>
  | MediaPart<'audio'>
  | MediaPart<'video'>
  | MediaPart<'document'>;

/** A call of a tool; `arguments` is JSON text, cut short while it streams, and never parsed here. */
export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  readonly encryptedValue?: string;
  readonly metadata?: AgUiMetadata;
}

interface BaseMessage {
  readonly id: string;
  readonly metadata?: AgUiMetadata;
  /** The subagent that wrote the message; absent: the parent agent, or the user. */
  readonly subagentRunId?: string;
}

interface NamedMessage extends BaseMessage {
  readonly name?: string;
  readonly encryptedValue?: string;
}

/** A developer's instruction. */
export interface DeveloperMessage extends NamedMessage {
  readonly role: 'developer';
  readonly content: string;
}

/** A system prompt. */
export interface SystemMessage extends NamedMessage {
  readonly role: 'system';
  readonly content: string;
}

// The arrays in messages are mutable only in type, so that AG-UI's own `Message[]` takes them.

/** What the agent says, and the tools it calls. */
export interface AssistantMessage extends NamedMessage {
  readonly role: 'assistant';
  readonly content?: string;
  readonly toolCalls?: ToolCall[];
}

/** What the user says. */
export interface UserMessage extends NamedMessage {
  readonly role: 'user';
  readonly content: string | ContentPart[];
}

/** What a tool answered. */
export interface ToolMessage extends BaseMessage {
  readonly role: 'tool';
  readonly content: string | ContentPart[];
  readonly toolCallId: string;
  readonly error?: string;
  readonly encryptedValue?: string;
}

/** Structured content between the messages, for display; never sent to the agent. */
export interface ActivityMessage extends BaseMessage {
  readonly role: 'activity';
  readonly activityType: string;
  readonly content: Record<string, unknown>;
  /** An `ACTIVITY_DELTA` failed; later ones are skipped until an `ACTIVITY_SNAPSHOT`. */
  readonly stale?: true;
}

/** What the agent thinks. */
export interface ReasoningMessage extends BaseMessage {
  readonly role: 'reasoning';
  readonly content: string;
  readonly encryptedValue?: string;
}

/**
 * A message of a thread: AG-UI's `Message`, field by field, so a value fits wherever AG-UI's own
 * type is asked for. Fields that are not named here are kept as they came.
 */
export type AgUiMessage =
  | DeveloperMessage
  | SystemMessage
  | AssistantMessage
  | UserMessage
  | ToolMessage
  | ActivityMessage
  | ReasoningMessage;

/** Who a message is from. */
export type AgUiRole = AgUiMessage['role'];
