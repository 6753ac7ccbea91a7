import { defaultEnvironment } from '../internal/environment.ts';
import { isRecord } from '../internal/json-values.ts';
import type {
  AgentCommand,
  AgentCommandFactory,
  AgentCommandFactoryOptions,
  AgentCommandType,
} from './command-types.ts';
import { isId, isOptionalRecord, isOptionalText, isOptionalVersion } from './event-guards.ts';

/** The name of the command protocol. */
export const AGENT_COMMAND_PROTOCOL: 'agent-command' = 'agent-command';

/** The version of the command protocol that this package speaks. */
export const AGENT_COMMAND_PROTOCOL_VERSION: '0.1' = '0.1';

const rules: Readonly<
  Record<AgentCommandType, (payload: Readonly<Record<string, unknown>>) => boolean>
> = {
  'approval.resolve': ({ approvalId, decision, expectedVersion }) =>
    isId(approvalId) &&
    (decision === 'approved' || decision === 'rejected' || decision === 'modified') &&
    isOptionalVersion(expectedVersion),
  'tool.retry': ({ toolCallId }) => isId(toolCallId),
  'run.cancel': ({ reason }) => isOptionalText(reason),
};

/** Every type of command. */
export const agentCommandTypes: readonly AgentCommandType[] = /* @__PURE__ */ Object.keys(
  rules,
) as AgentCommandType[];

/** Whether `value` is a command whose payload has what its type asks for; more members are allowed. */
export function isAgentCommand(value: unknown): value is AgentCommand {
  return (
    isRecord(value) &&
    value.commandProtocol === AGENT_COMMAND_PROTOCOL &&
    value.commandProtocolVersion === AGENT_COMMAND_PROTOCOL_VERSION &&
    isId(value.type) &&
    Object.hasOwn(rules, value.type) &&
    isId(value.commandId) &&
    isId(value.idempotencyKey) &&
    isId(value.sessionId) &&
    isId(value.runId) &&
    Number.isFinite(value.timestamp) &&
    isRecord(value.payload) &&
    isOptionalRecord(value.meta) &&
    rules[value.type as AgentCommandType](value.payload)
  );
}

/** Make a factory of the commands of one run; the payload is neither checked nor copied. */
export function createAgentCommandFactory({
  sessionId,
  runId,
  now = defaultEnvironment.now,
  createCommandId = (type) => `${runId}:command:${defaultEnvironment.randomId()}:${type}`,
  createIdempotencyKey = (commandId) => `${commandId}:idempotency`,
}: AgentCommandFactoryOptions): AgentCommandFactory {
  return {
    create(type, payload, options = {}) {
      const { commandId = createCommandId(type), meta } = options;
      return {
        commandProtocol: AGENT_COMMAND_PROTOCOL,
        commandProtocolVersion: AGENT_COMMAND_PROTOCOL_VERSION,
        type,
        commandId,
        idempotencyKey: options.idempotencyKey ?? createIdempotencyKey(commandId, type),
        sessionId,
        runId,
        timestamp: options.timestamp ?? now(),
        payload,
        ...(meta !== undefined && { meta }),
      };
    },
  };
}

/** The key that a command is remembered by. */
export const getAgentCommandKey = (command: AgentCommand): string => command.commandId;

/** The key of what a user can do: a type of command for a run, and an entity of it where there is one. */
export const getAgentActionKey = (action: {
  readonly runId: string;
  readonly type: AgentCommandType;
  readonly entityId?: string | undefined;
}): string => `${action.runId.length}:${action.runId}:${action.type}:${action.entityId ?? ''}`;

/** The key of the action that a command carries out. */
export function getAgentCommandActionKey({ runId, type, payload }: AgentCommand): string {
  const { approvalId, toolCallId } = payload as { approvalId?: string; toolCallId?: string };
  return getAgentActionKey({
    runId,
    type,
    entityId: type === 'approval.resolve' ? approvalId : type === 'tool.retry' ? toolCallId : '',
  });
}
