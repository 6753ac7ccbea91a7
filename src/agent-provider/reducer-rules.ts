import { payloadChecks } from './event-guards.ts';
import type { AgentEventType, AgentMessageContent } from './event-types.ts';
import type { AgentEntityKind } from './state-types.ts';

/** A payload, or an entity that is being made: their members are known by the type of the event. */
export type Fields = Record<string, unknown>;

/** What an accepted event of one type does to the entity it is about. */
export interface Rule {
  readonly type: AgentEventType;
  readonly kind: AgentEntityKind | 'session' | 'run';
  /** The record of the state that the entity is in. */
  readonly record:
    | 'sessions'
    | 'runs'
    | 'messages'
    | 'reasoning'
    | 'toolCalls'
    | 'approvals'
    | 'tasks'
    | 'artifacts';
  /** The member of the payload with the entity's id; sessions and runs have theirs elsewhere. */
  readonly id: string | undefined;
  /** The entity begins, with these members. */
  readonly opens: Fields | undefined;
  /** The status from then on, if it changes. */
  readonly status: string | undefined;
  /** The members of the payload that are taken where they are given. */
  readonly takes: readonly string[];
  /** Of those, `null` is taken for "not given". */
  readonly skipsNull: boolean;
  /** What else there is to do. */
  readonly apply: ((entity: Fields, payload: Fields) => void) | undefined;
}

const families: Readonly<
  Record<
    Rule['kind'],
    readonly [Rule['record'], id?: string | undefined, status?: string, opens?: Fields]
  >
> = {
  session: ['sessions'],
  run: ['runs', undefined, 'running'],
  message: ['messages', 'messageId', 'streaming', { content: '' }],
  reasoning: ['reasoning', 'reasoningId', 'streaming', { content: '', redacted: false }],
  tool: ['toolCalls', 'toolCallId', 'pending', { arguments: '', attempt: 1 }],
  approval: ['approvals', 'approvalId', 'waiting'],
  task: ['tasks', 'taskId', 'pending'],
  artifact: ['artifacts', 'artifactId', 'streaming'],
};

const statuses: Readonly<Record<string, string>> = {
  running: 'running',
  completed: 'completed',
  resolved: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  'task.updated': 'running',
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

const extras: Readonly<Record<string, Rule['apply']>> = {
  'message.delta': appendContent,
  'reasoning.delta': appendContent,
  'tool.arguments_delta': (entity, { delta }) => {
    entity.arguments += delta as string;
  },
  'reasoning.completed': (entity, { summary }) => {
    if (summary === undefined) delete entity.summary;
  },
  'artifact.updated': (entity, { content }) => {
    entity.content = content;
  },
};

function makeRule(type: AgentEventType): Rule {
  const [kind, verb] = type.split('.') as [Rule['kind'], string];
  const [record, id, status, opens = {}] = families[kind];
  const begins = /^(started|requested|created)$/.test(verb);
  const isAnswer = kind === 'approval' || kind === 'artifact';
  return {
    type,
    kind,
    record,
    id,
    opens: begins ? opens : undefined,
    status: begins ? status : statuses[verb === 'updated' ? type : verb],
    takes: Object.keys(payloadChecks[type]).filter((name) => name !== id && name !== 'delta'),
    skipsNull: isAnswer && !begins,
    apply: extras[type],
  };
}

/** What each type of event does. A map, as it takes strings that the engine has not seen before well. */
export const rules: ReadonlyMap<string, Rule> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ (Object.keys(payloadChecks) as AgentEventType[]).map((type) => [
    type,
    makeRule(type),
  ]),
);
