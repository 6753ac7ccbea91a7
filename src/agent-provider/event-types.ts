/** The name of the event protocol; a provider declares it, events do not carry it. */
export type AgentEventProtocol = 'agent-event';

/** The version that every event carries. */
export type AgentEventProtocolVersion = '0.1';

/** Extra information on an event. */
export type AgentEventMeta = Readonly<Record<string, unknown>>;

/** What went wrong with a run or an entity. */
export interface AgentError {
  readonly code?: string;
  /** Never empty. */
  readonly message: string;
  /** Whether trying again may help. */
  readonly retryable?: boolean;
  readonly details?: unknown;
}

/** Who a message is from. */
export type AgentRole = 'assistant' | 'user' | 'system' | 'tool' | (string & {});

/** What became of an approval. */
export type ApprovalDecision = 'approved' | 'rejected' | 'modified' | 'expired';

/** One part of a message; types of your own have a dot in their name. */
export type AgentContentPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image';
      readonly url?: string;
      readonly data?: unknown;
      readonly mediaType?: string;
    }
  | {
      readonly type: 'file';
      readonly url?: string;
      readonly data?: unknown;
      readonly mediaType?: string;
      readonly name?: string;
    }
  | { readonly type: `${string}.${string}`; readonly data: unknown };

/** What a message says. */
export type AgentMessageContent = string | readonly AgentContentPart[];

interface Failed {
  readonly error: AgentError;
}

interface Cancelled {
  readonly reason?: string;
}

interface OfMessage {
  readonly messageId: string;
}

interface OfReasoning {
  readonly reasoningId: string;
}

interface OfTool {
  readonly toolCallId: string;
}

interface OfTask {
  readonly taskId: string;
}

interface OfArtifact {
  readonly artifactId: string;
}

/** The payload of each type of event. */
export interface AgentEventPayloadMap {
  'session.started': { readonly title?: string };
  'run.started': { readonly input?: unknown };
  'run.completed': {
    readonly output?: unknown;
    /** What the run cost; every value a finite number. */
    readonly usage?: Readonly<Record<string, number>>;
  };
  'run.failed': Failed;
  'run.cancelled': Cancelled;
  'message.started': OfMessage & {
    readonly role: AgentRole;
    readonly content?: AgentMessageContent;
  };
  'message.delta': OfMessage & { readonly delta: AgentMessageContent };
  /** `content` replaces what was streamed. */
  'message.completed': OfMessage & { readonly content?: AgentMessageContent };
  'message.failed': OfMessage & Failed;
  'message.cancelled': OfMessage & Cancelled;
  'reasoning.started': OfReasoning & { readonly redacted?: boolean };
  'reasoning.delta': OfReasoning & { readonly delta: string };
  'reasoning.completed': OfReasoning & { readonly content?: string; readonly summary?: string };
  'reasoning.failed': OfReasoning & Failed;
  'reasoning.cancelled': OfReasoning & Cancelled;
  'tool.requested': OfTool & {
    readonly name: string;
    /** JSON text, or its beginning. */
    readonly arguments?: string;
    readonly index?: number;
    /** Which try this is. @default 1 */
    readonly attempt?: number;
    /** The tool call that this one tries again. */
    readonly retryOf?: string;
  };
  'tool.arguments_delta': OfTool & { readonly delta: string };
  'tool.running': OfTool;
  'tool.completed': OfTool & { readonly result?: unknown };
  'tool.failed': OfTool & Failed;
  'tool.cancelled': OfTool & Cancelled;
  'approval.requested': {
    readonly approvalId: string;
    readonly toolCallId?: string;
    readonly description?: string;
    readonly risk?: 'low' | 'medium' | 'high' | (string & {});
    readonly data?: unknown;
    /** Whether the answer may change `data`. @default true */
    readonly editable?: boolean;
    /** When it can no longer be answered, in ms since 1970. */
    readonly expiresAt?: number;
    /** What an answer may name as `expectedVersion`. */
    readonly version?: string | number;
  };
  'approval.resolved': {
    readonly approvalId: string;
    readonly decision: ApprovalDecision;
    readonly data?: unknown;
  };
  'task.created': OfTask & { readonly title: string; readonly description?: string };
  'task.updated': OfTask & {
    readonly title?: string;
    readonly description?: string;
    readonly progress?: number;
  };
  'task.completed': OfTask & { readonly result?: unknown };
  'task.failed': OfTask & Failed;
  'task.cancelled': OfTask & Cancelled;
  'artifact.created': OfArtifact & {
    readonly name: string;
    readonly mediaType?: string;
    readonly content?: unknown;
  };
  /** `content` replaces what was there. */
  'artifact.updated': OfArtifact & {
    readonly content: unknown;
    readonly version?: string | number;
  };
  'artifact.completed': OfArtifact & {
    readonly content?: unknown;
    readonly version?: string | number;
  };
  'artifact.failed': OfArtifact & Failed;
}

/** The type of an event. */
export type AgentEventType = keyof AgentEventPayloadMap;

/** What every event has around its payload. */
export interface AgentEventEnvelope<
  Type extends AgentEventType = AgentEventType,
  Payload extends AgentEventPayloadMap[Type] = AgentEventPayloadMap[Type],
> {
  readonly protocolVersion: AgentEventProtocolVersion;
  readonly type: Type;
  /** Unique in its run. */
  readonly eventId: string;
  readonly sessionId: string;
  readonly runId: string;
  /** Grows within a run; an integer from 0 on. */
  readonly sequence: number;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  /** The entity that the event's entity belongs to. */
  readonly parentId?: string;
  readonly payload: Payload;
  readonly meta?: AgentEventMeta;
}

/** The event of one type. */
export type AgentEventOf<Type extends AgentEventType> = AgentEventEnvelope<
  Type,
  AgentEventPayloadMap[Type]
>;

/** An event of an agent's run. */
export type AgentEvent = { [Type in AgentEventType]: AgentEventOf<Type> }[AgentEventType];

/** What `isAgentEventEnvelope` has checked: all but the payload's members. */
export interface UnknownAgentEventEnvelope extends Omit<AgentEventEnvelope, 'payload'> {
  readonly payload: Record<string, unknown>;
}

/** What one event is made with besides its type and payload. */
export interface CreateAgentEventOptions {
  readonly eventId?: string | undefined;
  /** @default the last one + 1 */
  readonly sequence?: number | undefined;
  /** @default the current time */
  readonly timestamp?: number | undefined;
  readonly parentId?: string | undefined;
  readonly meta?: AgentEventMeta | undefined;
}

/** Makes the events of one run, with its sequence. */
export interface AgentEventFactory {
  create<Type extends AgentEventType>(
    type: Type,
    payload: AgentEventPayloadMap[Type],
    options?: CreateAgentEventOptions,
  ): AgentEventOf<Type>;
  /** The last sequence that was given out. */
  getSequence(): number;
}

/** Options of `createAgentEventFactory`. */
export interface AgentEventFactoryOptions {
  readonly sessionId: string;
  readonly runId: string;
  /** The sequence before the first event's. @default -1 */
  readonly initialSequence?: number | undefined;
  /** @default the wall clock */
  readonly now?: (() => number) | undefined;
  /** @default `<runId>:<sequence>:<type>` */
  readonly createEventId?: ((sequence: number, type: AgentEventType) => string) | undefined;
}
