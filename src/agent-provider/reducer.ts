import { RunSocketError } from '../internal/errors.ts';
import type { AgentEvent } from './event-types.ts';
import { type Fields, type Rule, rules } from './reducer-rules.ts';
import {
  addId,
  createInitialAgentState,
  getAgentEntityKey,
  hasId,
  type StateNode,
  toNode,
  toState,
} from './state-node.ts';
import { addTo, getIn, type RecordVersion, setIn } from './state-records.ts';
import type { AgentProtocolIssue, AgentState } from './state-types.ts';

const isOver = (status: unknown): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** What is wrong with an event, as the code of the issue and its text; the first rule that fits decides. */
function judge(
  node: StateNode,
  event: AgentEvent,
  { of, opens }: Rule,
  id: string,
  entity: Fields | undefined,
  last: number | undefined,
): readonly [AgentProtocolIssue['code'], string] | undefined {
  const { type, runId, sequence } = event;
  if (last !== undefined && sequence <= last) {
    return ['invalid_sequence', `The sequence ${sequence} is not above ${last}.`];
  }
  const run = getIn(node.runs, runId);
  if (run && type !== 'session.started') {
    if (run.sessionId !== event.sessionId) {
      return ['invalid_transition', `The run '${runId}' is of session '${run.sessionId}'.`];
    }
    if (run.status !== 'running' && type !== 'run.started') {
      return ['invalid_transition', `The run '${runId}' is ${run.status}.`];
    }
  }
  const what = `The ${of.label} '${id}'`;
  if (opens) {
    if (entity) return ['duplicate_entity', `${what} has begun already.`];
    if (!run && of.kind) return ['missing_run', `The run '${runId}' has not begun.`];
  } else if (!entity) {
    return [of.kind ? 'missing_entity' : 'missing_run', `${what} has not begun.`];
  } else if (isOver(entity.status)) {
    return ['invalid_transition', `${what} is ${entity.status}.`];
  }
  return undefined;
}

/** The entity after an event. */
function transform(
  entity: Fields | undefined,
  { of, opens, status, takes, apply }: Rule,
  id: string,
  { runId, sessionId, parentId, meta, timestamp, payload: typed }: AgentEvent,
): Fields {
  const payload = typed as Fields;
  let next: Fields;
  if (!opens) {
    next = { ...entity, updatedAt: timestamp };
  } else if (of.kind) {
    next = { id, runId, status, ...opens, createdAt: timestamp, updatedAt: timestamp };
    if (parentId !== undefined) next.parentId = parentId;
    if (meta !== undefined) next.meta = meta;
  } else {
    next = { id, createdAt: timestamp };
    if (status) Object.assign(next, { sessionId, updatedAt: timestamp });
  }
  if (status) next.status = status;
  if (takes) {
    for (const name of takes) if (payload[name] !== undefined) next[name] = payload[name];
  }
  apply?.(next, payload);
  return next;
}

type Writable = { -readonly [Name in keyof StateNode]: StateNode[Name] };

/**
 * The node after an event; the same one for an event that was processed before.
 *
 * `refuse` hears of an event against the rules before anything happens, and may throw.
 */
export function reduceNode(
  node: StateNode,
  event: AgentEvent,
  refuse?: (issue: AgentProtocolIssue) => void,
): StateNode {
  const { type, eventId, runId, sequence } = event;
  const rule = rules.get(type);
  if (!rule) {
    throw new RunSocketError('invalid-argument', `There is no event type '${type}'.`);
  }
  if (hasId(node, runId, eventId)) return node;
  if (node.floor && Object.hasOwn(node.floor, runId) && sequence <= node.floor[runId]!) return node;

  const { name, kind, id: idName } = rule.of;
  const id = idName
    ? ((event.payload as Fields)[idName] as string)
    : name === 'runs'
      ? runId
      : event.sessionId;
  const key = kind ? getAgentEntityKey(runId, id) : id;
  const records = node[name] as RecordVersion<unknown>;
  const entity = getIn(records, key) as Fields | undefined;
  const last = getIn(node.lastSequenceByRun, runId);
  const problem = judge(node, event, rule, id, entity, last);
  const next: Writable = { ...node, idCount: node.idCount + 1, state: undefined };
  if (problem) {
    const issue = { code: problem[0], eventId, runId, message: problem[1] };
    refuse?.(issue);
    next.issues = addTo(node.issues, issue);
  } else {
    next[name] = setIn(records, key, transform(entity, rule, id, event), entity) as never;
    next.lastSequenceByRun = setIn(node.lastSequenceByRun, runId, sequence, last);
    if (kind && rule.opens) next.order = addTo(node.order, { kind, id, runId });
  }
  next.ids = addId(node, runId, eventId);
  return next;
}

/**
 * The state after an event.
 *
 * The state that is given stays as it is. An event against the rules adds an issue, one that was
 * processed before changes nothing: the same object is returned. Each event takes constant time as
 * long as it is reduced from the newest state; from an older one it copies what has changed since.
 * A plain object in the shape of a state is taken too; where it has no `processedEventIds`, what
 * `lastSequenceByRun` covers counts as processed. Throws a RunSocketError `invalid-argument` for an
 * unknown type of event.
 */
export function reduceAgentState(state: AgentState, event: AgentEvent): AgentState {
  const node = toNode(state);
  const next = reduceNode(node, event);
  return next === node ? state : toState(next);
}

/** The state after a list of events. @default initial an empty state */
export function replayAgentEvents(
  events: readonly AgentEvent[],
  initial: AgentState = createInitialAgentState(),
): AgentState {
  const first = toNode(initial);
  let node = first;
  for (const event of events) node = reduceNode(node, event);
  return node === first ? initial : toState(node);
}
