import type {
  AgentError,
  AgentEventMeta,
  AgentMessageContent,
  AgentRole,
  ApprovalDecision,
} from './event-types.ts';

/** What became of a run. */
export type AgentRunStatus = 'running' | 'completed' | 'failed' | 'cancelled';

/** What became of an entity; the last three are ends. */
export type AgentEntityStatus =
  | 'pending'
  | 'streaming'
  | 'running'
  | 'waiting'
  | 'completed'
  | 'failed'
  | 'cancelled';

/** A conversation. */
export interface AgentSessionState {
  readonly id: string;
  readonly title?: string;
  readonly createdAt: number;
}

/** A run. */
export interface AgentRunState {
  readonly id: string;
  readonly sessionId: string;
  readonly status: AgentRunStatus;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly usage?: Readonly<Record<string, number>>;
  readonly error?: AgentError;
  readonly reason?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

interface EntityState {
  readonly id: string;
  readonly runId: string;
  /** From the event that opened the entity. */
  readonly parentId?: string;
  readonly status: AgentEntityStatus;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** From the event that opened the entity. */
  readonly meta?: AgentEventMeta;
}

interface FallibleState extends EntityState {
  readonly error?: AgentError;
  readonly reason?: string;
}

/** A message. */
export interface AgentMessageState extends FallibleState {
  readonly role: AgentRole;
  readonly content: AgentMessageContent;
}

/** What the agent thought. */
export interface AgentReasoningState extends FallibleState {
  readonly content: string;
  readonly summary?: string;
  readonly redacted: boolean;
}

/** A call of a tool. */
export interface AgentToolCallState extends FallibleState {
  readonly name: string;
  /** JSON text, cut short while it streams. */
  readonly arguments: string;
  readonly index?: number;
  /** Which try this is, from 1 on. */
  readonly attempt?: number;
  /** The tool call that this one tries again. */
  readonly retryOf?: string;
  readonly result?: unknown;
}

/** A question to the user. */
export interface AgentApprovalState extends EntityState {
  readonly toolCallId?: string;
  readonly description?: string;
  readonly risk?: string;
  readonly data?: unknown;
  readonly editable?: boolean;
  readonly expiresAt?: number;
  readonly version?: string | number;
  readonly decision?: ApprovalDecision;
}

/** A step or a subagent. */
export interface AgentTaskState extends FallibleState {
  readonly title: string;
  readonly description?: string;
  readonly progress?: number;
  readonly result?: unknown;
}

/** Something that a run makes. */
export interface AgentArtifactState extends EntityState {
  readonly name: string;
  readonly mediaType?: string;
  readonly content?: unknown;
  readonly version?: string | number;
  readonly error?: AgentError;
}

/** The kinds of entities. */
export type AgentEntityKind = 'message' | 'reasoning' | 'tool' | 'approval' | 'task' | 'artifact';

/** Names an entity. */
export interface AgentEntityReference {
  readonly kind: AgentEntityKind;
  readonly id: string;
  readonly runId: string;
}

/** An event that broke the rules. */
export interface AgentProtocolIssue {
  readonly code:
    | 'duplicate_entity'
    | 'invalid_sequence'
    | 'invalid_transition'
    | 'missing_entity'
    | 'missing_run';
  readonly eventId: string;
  readonly runId: string;
  readonly message: string;
}

/**
 * All that the events of a conversation say. Never changed in place; an entity that did not change
 * stays the same object.
 *
 * `runs` and `sessions` are keyed by id, entities by `getAgentEntityKey(runId, id)`. It is plain JSON;
 * `processedEventIds` is not enumerable and so not in it.
 */
export interface AgentState {
  readonly sessions: Readonly<Record<string, AgentSessionState>>;
  readonly runs: Readonly<Record<string, AgentRunState>>;
  readonly messages: Readonly<Record<string, AgentMessageState>>;
  readonly reasoning: Readonly<Record<string, AgentReasoningState>>;
  readonly toolCalls: Readonly<Record<string, AgentToolCallState>>;
  readonly approvals: Readonly<Record<string, AgentApprovalState>>;
  readonly tasks: Readonly<Record<string, AgentTaskState>>;
  readonly artifacts: Readonly<Record<string, AgentArtifactState>>;
  /** Every entity, in the order they opened. */
  readonly order: readonly AgentEntityReference[];
  readonly issues: readonly AgentProtocolIssue[];
  /** By the event's key; not enumerable. */
  readonly processedEventIds: Readonly<Record<string, true>>;
  /** The last sequence accepted of each run. */
  readonly lastSequenceByRun: Readonly<Record<string, number>>;
}
