import type { ApprovalDecision } from './event-types.ts';

/** What a command can decide about an approval; only time makes one `expired`. */
export type AgentCommandDecision = Exclude<ApprovalDecision, 'expired'>;

/** Extra information on a command. */
export type AgentCommandMeta = Readonly<Record<string, unknown>>;

/** The payload of each type of command. */
export interface AgentCommandPayloadMap {
  'approval.resolve': {
    readonly approvalId: string;
    readonly decision: AgentCommandDecision;
    readonly data?: unknown;
    /** Refuses the answer to a question that has changed. */
    readonly expectedVersion?: string | number;
  };
  'tool.retry': { readonly toolCallId: string };
  'run.cancel': { readonly reason?: string };
}

/** The type of a command. */
export type AgentCommandType = keyof AgentCommandPayloadMap;

/** What every command has around its payload. */
export interface AgentCommandEnvelope<Type extends AgentCommandType = AgentCommandType> {
  readonly commandProtocol: 'agent-command';
  readonly commandProtocolVersion: '0.1';
  readonly type: Type;
  readonly commandId: string;
  /** The same for every try of one intent. */
  readonly idempotencyKey: string;
  readonly sessionId: string;
  readonly runId: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly payload: AgentCommandPayloadMap[Type];
  readonly meta?: AgentCommandMeta;
}

/** The command of one type. */
export type AgentCommandOf<Type extends AgentCommandType> = AgentCommandEnvelope<Type>;

/** What a user asks of a run besides its input. */
export type AgentCommand = { [Type in AgentCommandType]: AgentCommandOf<Type> }[AgentCommandType];

/** What one command is made with besides its type and payload. */
export interface CreateAgentCommandOptions {
  readonly commandId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly timestamp?: number | undefined;
  readonly meta?: AgentCommandMeta | undefined;
}

/** Makes the commands of one run. */
export interface AgentCommandFactory {
  create<Type extends AgentCommandType>(
    type: Type,
    payload: AgentCommandPayloadMap[Type],
    options?: CreateAgentCommandOptions,
  ): AgentCommandOf<Type>;
}

/** Options of `createAgentCommandFactory`. */
export interface AgentCommandFactoryOptions {
  readonly sessionId: string;
  readonly runId: string;
  /** @default the wall clock */
  readonly now?: (() => number) | undefined;
  /** @default `<runId>:command:<random id>:<type>`, never the same again after a reload */
  readonly createCommandId?: ((type: AgentCommandType) => string) | undefined;
  /** @default `<commandId>:idempotency` */
  readonly createIdempotencyKey?:
    | ((commandId: string, type: AgentCommandType) => string)
    | undefined;
}
