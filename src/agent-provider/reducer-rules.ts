import type { AgentEventType, AgentMessageContent } from './event-types.ts';
import type { AgentEntityKind } from './state-types.ts';

/** A payload, or an entity that is being made: their members are known by the type of the event. */
export type Fields = Record<string, unknown>;

/** A kind of what events are about. */
export interface Family {
  readonly name:
    | 'sessions'
    | 'runs'
    | 'messages'
    | 'reasoning'
    | 'toolCalls'
    | 'approvals'
    | 'tasks'
    | 'artifacts';
  /** What people call one. */
  readonly label: string;
  /** The kind in `order`, and the member of the payload with its id; sessions and runs have neither. */
  readonly kind?: AgentEntityKind;
  readonly id?: string;
}

/** What an accepted event does to its entity. */
export interface Rule {
  readonly of: Family;
  /** The entity begins, with these members. */
  readonly opens?: Fields;
  /** The status from then on. */
  readonly status?: string;
  /** The members of the payload that are taken as they are, where they are given. */
  readonly takes?: readonly string[];
  /** What else there is to do. */
  readonly apply?: (entity: Fields, payload: Fields) => void;
}

const session: Family = { name: 'sessions', label: 'session' };
const run: Family = { name: 'runs', label: 'run' };
const message: Family = { name: 'messages', label: 'message', kind: 'message', id: 'messageId' };
const reasoning: Family = {
  name: 'reasoning',
  label: 'reasoning',
  kind: 'reasoning',
  id: 'reasoningId',
};
const tool: Family = { name: 'toolCalls', label: 'tool call', kind: 'tool', id: 'toolCallId' };
const approval: Family = {
  name: 'approvals',
  label: 'approval',
  kind: 'approval',
  id: 'approvalId',
};
const task: Family = { name: 'tasks', label: 'task', kind: 'task', id: 'taskId' };
const artifact: Family = {
  name: 'artifacts',
  label: 'artifact',
  kind: 'artifact',
  id: 'artifactId',
};

const toParts = (content: AgentMessageContent) =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

function appendContent(entity: Fields, { delta }: Fields): void {
  const content = entity.content as AgentMessageContent;
  entity.content =
    typeof content === 'string' && typeof delta === 'string'
      ? content + delta
      : [...toParts(content), ...toParts(delta as AgentMessageContent)];
}

const failed = (of: Family): Rule => ({ of, status: 'failed', takes: ['error'] });
const cancelled = (of: Family): Rule => ({ of, status: 'cancelled', takes: ['reason'] });

/** What each type of event does. */
const table = (): Readonly<Record<AgentEventType, Rule>> => ({
  'session.started': { of: session, opens: {}, takes: ['title'] },
  'run.started': { of: run, opens: {}, status: 'running', takes: ['input'] },
  'run.completed': { of: run, status: 'completed', takes: ['output', 'usage'] },
  'run.failed': failed(run),
  'run.cancelled': cancelled(run),
  'message.started': {
    of: message,
    opens: { content: '' },
    status: 'streaming',
    takes: ['role', 'content'],
  },
  'message.delta': { of: message, apply: appendContent },
  'message.completed': { of: message, status: 'completed', takes: ['content'] },
  'message.failed': failed(message),
  'message.cancelled': cancelled(message),
  'reasoning.started': {
    of: reasoning,
    opens: { content: '', redacted: false },
    status: 'streaming',
    takes: ['redacted'],
  },
  'reasoning.delta': {
    of: reasoning,
    apply(entity, { delta }) {
      entity.content += delta as string;
    },
  },
  'reasoning.completed': {
    of: reasoning,
    status: 'completed',
    takes: ['content'],
    apply(entity, { summary }) {
      if (summary === undefined) delete entity.summary;
      else entity.summary = summary;
    },
  },
  'reasoning.failed': failed(reasoning),
  'reasoning.cancelled': cancelled(reasoning),
  'tool.requested': {
    of: tool,
    opens: { arguments: '', attempt: 1 },
    status: 'pending',
    takes: ['name', 'arguments', 'index', 'attempt', 'retryOf'],
  },
  'tool.arguments_delta': {
    of: tool,
    apply(entity, { delta }) {
      entity.arguments += delta as string;
    },
  },
  'tool.running': { of: tool, status: 'running' },
  'tool.completed': { of: tool, status: 'completed', takes: ['result'] },
  'tool.failed': failed(tool),
  'tool.cancelled': cancelled(tool),
  'approval.requested': {
    of: approval,
    opens: {},
    status: 'waiting',
    takes: ['toolCallId', 'description', 'risk', 'data', 'editable', 'expiresAt', 'version'],
  },
  'approval.resolved': {
    of: approval,
    status: 'completed',
    takes: ['decision'],
    apply(entity, { data }) {
      if (data != null) entity.data = data;
    },
  },
  'task.created': { of: task, opens: {}, status: 'pending', takes: ['title', 'description'] },
  'task.updated': { of: task, status: 'running', takes: ['title', 'description', 'progress'] },
  'task.completed': { of: task, status: 'completed', takes: ['result'] },
  'task.failed': failed(task),
  'task.cancelled': cancelled(task),
  'artifact.created': {
    of: artifact,
    opens: {},
    status: 'streaming',
    takes: ['name', 'mediaType', 'content'],
  },
  'artifact.updated': {
    of: artifact,
    apply(entity, { content, version }) {
      entity.content = content;
      if (version != null) entity.version = version;
    },
  },
  'artifact.completed': {
    of: artifact,
    status: 'completed',
    apply(entity, { content, version }) {
      if (content != null) entity.content = content;
      if (version != null) entity.version = version;
    },
  },
  'artifact.failed': failed(artifact),
});

/** What each type of event does. A map, as it takes strings that the engine has not seen before well. */
export const rules: ReadonlyMap<string, Rule> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ Object.entries(/* @__PURE__ */ table()),
);
