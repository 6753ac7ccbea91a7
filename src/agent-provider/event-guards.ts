import { isRecord } from '../internal/json-values.ts';
import type {
  AgentEvent,
  AgentEventProtocol,
  AgentEventProtocolVersion,
  AgentEventType,
  UnknownAgentEventEnvelope,
} from './event-types.ts';

/** The name of the event protocol. */
export const AGENT_EVENT_PROTOCOL: AgentEventProtocol = 'agent-event';

/** The version of the event protocol that this package speaks. */
export const AGENT_EVENT_PROTOCOL_VERSION: AgentEventProtocolVersion = '0.1';

type Check = (value: unknown, payload: object) => boolean;

const present: Check = (_value, payload) => 'content' in payload;
const decision: Check = (value) =>
  value === 'approved' || value === 'rejected' || value === 'modified' || value === 'expired';
const integer = (value: unknown): boolean => value === undefined || Number.isInteger(value);
const positive: Check = (value) => integer(value) && ((value ?? 1) as number) > 0;
const number: Check = (value) => value === undefined || Number.isFinite(value);
const flag = (value: unknown): boolean => value === undefined || typeof value === 'boolean';
const text: Check = (value) => typeof value === 'string';

/** Whether `value` is a string with something in it. */
export const isId = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** Whether `value` is absent or a string. */
export const isOptionalText = (value: unknown): boolean =>
  value === undefined || typeof value === 'string';

/** Whether `value` is absent, a string or a finite number. */
export const isOptionalVersion = (value: unknown): boolean =>
  isOptionalText(value) || Number.isFinite(value);

/** Whether `value` is absent or an object that is not an array. */
export const isOptionalRecord = (value: unknown): boolean => value === undefined || isRecord(value);

const usage: Check = (value) =>
  value === undefined || (isRecord(value) && Object.values(value).every(Number.isFinite));

const error: Check = (value) =>
  isRecord(value) && isId(value.message) && isOptionalText(value.code) && flag(value.retryable);

const part = (value: unknown): boolean => {
  if (!isRecord(value)) return false;
  const { type } = value;
  if (type === 'text') return typeof value.text === 'string';
  if (type === 'image' || type === 'file') {
    return (
      isOptionalText(value.url) &&
      isOptionalText(value.mediaType) &&
      (type === 'image' || isOptionalText(value.name))
    );
  }
  return typeof type === 'string' && type.includes('.') && 'data' in value;
};

const delta = (value: unknown): boolean =>
  typeof value === 'string' || (Array.isArray(value) && value.every(part));
const content: Check = (value) => value === undefined || delta(value);

const anything: Check = () => true;

/** The members of each payload, and what is checked of them. */
export const payloadChecks: Readonly<Record<AgentEventType, Readonly<Record<string, Check>>>> = {
  'session.started': { title: isOptionalText },
  'run.started': { input: anything },
  'run.completed': { output: anything, usage },
  'run.failed': { error },
  'run.cancelled': { reason: isOptionalText },
  'message.started': { messageId: isId, role: isId, content },
  'message.delta': { messageId: isId, delta },
  'message.completed': { messageId: isId, content },
  'message.failed': { messageId: isId, error },
  'message.cancelled': { messageId: isId, reason: isOptionalText },
  'reasoning.started': { reasoningId: isId, redacted: flag },
  'reasoning.delta': { reasoningId: isId, delta: text },
  'reasoning.completed': { reasoningId: isId, content: isOptionalText, summary: isOptionalText },
  'reasoning.failed': { reasoningId: isId, error },
  'reasoning.cancelled': { reasoningId: isId, reason: isOptionalText },
  'tool.requested': {
    toolCallId: isId,
    name: isId,
    arguments: isOptionalText,
    index: integer,
    attempt: positive,
    retryOf: isOptionalText,
  },
  'tool.arguments_delta': { toolCallId: isId, delta: text },
  'tool.running': { toolCallId: isId },
  'tool.completed': { toolCallId: isId, result: anything },
  'tool.failed': { toolCallId: isId, error },
  'tool.cancelled': { toolCallId: isId, reason: isOptionalText },
  'approval.requested': {
    approvalId: isId,
    toolCallId: isOptionalText,
    description: isOptionalText,
    risk: isOptionalText,
    data: anything,
    editable: flag,
    expiresAt: number,
    version: isOptionalVersion,
  },
  'approval.resolved': { approvalId: isId, decision, data: anything },
  'task.created': { taskId: isId, title: isId, description: isOptionalText },
  'task.updated': {
    taskId: isId,
    title: isOptionalText,
    description: isOptionalText,
    progress: number,
  },
  'task.completed': { taskId: isId, result: anything },
  'task.failed': { taskId: isId, error },
  'task.cancelled': { taskId: isId, reason: isOptionalText },
  'artifact.created': {
    artifactId: isId,
    name: isId,
    mediaType: isOptionalText,
    content: anything,
  },
  'artifact.updated': { artifactId: isId, content: present, version: anything },
  'artifact.completed': { artifactId: isId, content: anything, version: anything },
  'artifact.failed': { artifactId: isId, error },
};

/** Every type of event. */
export const agentEventTypes: readonly AgentEventType[] = /* @__PURE__ */ Object.keys(
  payloadChecks,
) as AgentEventType[];

/** Whether `value` has all that an event has around its payload; the payload is an object. */
export function isAgentEventEnvelope(value: unknown): value is UnknownAgentEventEnvelope {
  return (
    isRecord(value) &&
    value.protocolVersion === AGENT_EVENT_PROTOCOL_VERSION &&
    typeof value.type === 'string' &&
    Object.hasOwn(payloadChecks, value.type) &&
    isId(value.eventId) &&
    isId(value.sessionId) &&
    isId(value.runId) &&
    Number.isInteger(value.sequence) &&
    (value.sequence as number) >= 0 &&
    Number.isFinite(value.timestamp) &&
    isOptionalText(value.parentId) &&
    isRecord(value.payload) &&
    isOptionalRecord(value.meta)
  );
}

/** Whether `value` is an event whose payload has what its type asks for; more members are allowed. */
export function isAgentEvent(value: unknown): value is AgentEvent {
  if (!isAgentEventEnvelope(value)) return false;
  const { payload } = value;
  const checks = payloadChecks[value.type];
  for (const name in checks) {
    if (!checks[name]!(payload[name], payload)) return false;
  }
  return true;
}
