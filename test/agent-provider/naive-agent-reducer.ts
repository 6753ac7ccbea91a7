import type { AgentEvent } from '../../src/agent-provider/event-types.ts';

/** Records and entities of unknown shape. */
type Fields = Record<string, unknown>;

/** A state as plain data, with maps in place of records. */
export interface NaiveState {
  readonly sessions: ReadonlyMap<string, Fields>;
  readonly runs: ReadonlyMap<string, Fields>;
  readonly entities: Readonly<Record<string, ReadonlyMap<string, Fields>>>;
  readonly order: readonly Fields[];
  readonly issues: readonly Fields[];
  readonly processed: ReadonlySet<string>;
  readonly last: ReadonlyMap<string, number>;
}

const kinds: Record<string, [record: string, id: string, opener: string, status: string]> = {
  message: ['messages', 'messageId', 'started', 'streaming'],
  reasoning: ['reasoning', 'reasoningId', 'started', 'streaming'],
  tool: ['toolCalls', 'toolCallId', 'requested', 'pending'],
  approval: ['approvals', 'approvalId', 'requested', 'waiting'],
  task: ['tasks', 'taskId', 'created', 'pending'],
  artifact: ['artifacts', 'artifactId', 'created', 'streaming'],
};

/** The state before the first event. */
export const naiveStart: NaiveState = {
  sessions: new Map(),
  runs: new Map(),
  entities: Object.fromEntries(Object.values(kinds).map(([record]) => [record, new Map()])),
  order: [],
  issues: [],
  processed: new Set(),
  last: new Map(),
};

const over = (status: unknown) => ['completed', 'failed', 'cancelled'].includes(status as string);
const keyOf = (runId: string, id: string) => `${runId.length}:${runId}${id}`;
const parts = (content: unknown): unknown[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content as unknown[]);

function opened(type: string, event: AgentEvent): Fields {
  const payload = event.payload as Fields;
  const [kind = ''] = type.split('.');
  const { messageId, reasoningId, toolCallId, approvalId, taskId, artifactId, ...rest } =
    payload as Record<string, string>;
  const known: Record<string, string[]> = {
    message: ['role', 'content'],
    reasoning: ['redacted'],
    tool: ['name', 'arguments', 'index', 'attempt', 'retryOf'],
    approval: ['description', 'risk', 'data', 'editable', 'expiresAt', 'version'],
    task: ['title', 'description'],
    artifact: ['name', 'mediaType', 'content'],
  };
  const defaults: Record<string, Fields> = {
    message: { content: '' },
    reasoning: { content: '', redacted: false },
    tool: { arguments: '', attempt: 1 },
  };
  return {
    ...defaults[kind],
    ...Object.fromEntries(
      Object.entries(rest).filter(
        ([name, value]) => known[kind]!.includes(name) && value !== undefined,
      ),
    ),
    ...(kind === 'approval' ? { toolCallId } : {}),
    id:
      { message: messageId, reasoning: reasoningId, tool: toolCallId, approval: approvalId }[
        kind
      ] ?? (kind === 'task' ? taskId : artifactId),
  };
}

function changed(entity: Fields, event: AgentEvent): Fields {
  const base = { ...entity, updatedAt: event.timestamp };
  const payload = event.payload as Fields;
  const keep = (name: string) => payload[name] ?? entity[name];
  switch (event.type) {
    case 'message.delta':
      return {
        ...base,
        content:
          typeof entity.content === 'string' && typeof payload.delta === 'string'
            ? entity.content + payload.delta
            : [...parts(entity.content), ...parts(payload.delta)],
      };
    case 'message.completed':
      return { ...base, status: 'completed', content: keep('content') };
    case 'reasoning.delta':
      return { ...base, content: `${entity.content}${payload.delta}` };
    case 'reasoning.completed':
      return {
        ...base,
        status: 'completed',
        content: keep('content'),
        summary: payload.summary,
      };
    case 'tool.arguments_delta':
      return { ...base, arguments: `${entity.arguments}${payload.delta}` };
    case 'tool.running':
      return { ...base, status: 'running' };
    case 'tool.completed':
    case 'task.completed':
      return { ...base, status: 'completed', result: payload.result };
    case 'approval.resolved':
      return { ...base, status: 'completed', decision: payload.decision, data: keep('data') };
    case 'task.updated':
      return {
        ...base,
        status: 'running',
        title: keep('title'),
        description: keep('description'),
        progress: keep('progress'),
      };
    case 'artifact.updated':
      return { ...base, content: payload.content, version: keep('version') };
    case 'artifact.completed':
      return {
        ...base,
        status: 'completed',
        content: keep('content'),
        version: keep('version'),
      };
    default:
      return event.type.endsWith('.failed')
        ? { ...base, status: 'failed', error: payload.error }
        : { ...base, status: 'cancelled', reason: payload.reason };
  }
}

/** The rules of the reducer as they are written down, with copies of everything. */
export function naiveReduce(state: NaiveState, event: AgentEvent): NaiveState {
  const { type, runId, sessionId, timestamp, sequence, eventId } = event;
  const id = keyOf(runId, eventId);
  if (state.processed.has(id)) return state;
  const processed = new Set([...state.processed, id]);
  const reject = (code: string): NaiveState => ({
    ...state,
    processed,
    issues: [...state.issues, { code, eventId, runId }],
  });
  const accept = (patch: Partial<NaiveState>): NaiveState => ({
    ...state,
    ...patch,
    processed,
    last: new Map([...state.last, [runId, sequence]]),
  });
  const run = state.runs.get(runId);
  if (sequence <= (state.last.get(runId) ?? -1)) return reject('invalid_sequence');
  if (type !== 'session.started' && run) {
    if (run.sessionId !== sessionId) return reject('invalid_transition');
    if (type !== 'run.started' && run.status !== 'running') return reject('invalid_transition');
  }
  const payload = event.payload as Fields;
  if (type === 'session.started') {
    if (state.sessions.has(sessionId)) return reject('duplicate_entity');
    const session = { id: sessionId, title: payload.title, createdAt: timestamp };
    return accept({ sessions: new Map([...state.sessions, [sessionId, session]]) });
  }
  const times = { createdAt: timestamp, updatedAt: timestamp };
  if (type === 'run.started') {
    if (run) return reject('duplicate_entity');
    const next = { id: runId, sessionId, status: 'running', input: payload.input, ...times };
    return accept({ runs: new Map([...state.runs, [runId, next]]) });
  }
  const [kind = '', verb] = type.split('.');
  if (kind === 'run') {
    if (!run) return reject('missing_run');
    const { output, usage, error, reason } = payload;
    const says = { completed: { output, usage }, failed: { error }, cancelled: { reason } };
    const next = {
      ...run,
      ...says[verb as keyof typeof says],
      status: verb,
      updatedAt: timestamp,
    };
    return accept({ runs: new Map([...state.runs, [runId, next]]) });
  }
  const [record, idName, opener, status] = kinds[kind]!;
  const entityId = payload[idName] as string;
  const key = keyOf(runId, entityId);
  const entity = state.entities[record]!.get(key);
  const write = (next: Fields, order = state.order) =>
    accept({
      entities: {
        ...state.entities,
        [record]: new Map([...state.entities[record]!, [key, next]]),
      },
      order,
    });
  if (verb === opener) {
    if (entity) return reject('duplicate_entity');
    if (!run) return reject('missing_run');
    const { parentId, meta } = event;
    return write({ ...opened(type, event), runId, status, parentId, meta, ...times }, [
      ...state.order,
      { kind, id: entityId, runId },
    ]);
  }
  if (!entity) return reject('missing_entity');
  if (over(entity.status)) return reject('invalid_transition');
  return write(changed(entity, event));
}

/** What a naive state looks like as a state, but for the text of its issues. */
export function naiveView(state: NaiveState): Fields {
  const record = (map: ReadonlyMap<string, unknown>) => Object.fromEntries(map);
  return {
    sessions: record(state.sessions),
    runs: record(state.runs),
    ...Object.fromEntries(Object.entries(state.entities).map(([name, map]) => [name, record(map)])),
    order: state.order,
    issues: state.issues,
    lastSequenceByRun: record(state.last),
  };
}
