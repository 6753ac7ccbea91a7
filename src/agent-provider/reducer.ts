import { RunSocketError } from '../internal/errors.ts';
import type { AgentEvent } from './event-types.ts';
import { type Fields, type Rule, rules } from './reducer-rules.ts';
import {
  addId,
  copyNode,
  createInitialAgentState,
  getAgentEntityKey,
  hasId,
  type StateNode,
  toNode,
  toState,
} from './state-node.ts';
import { addTo, getIn, type RecordVersion, setIn } from './state-records.ts';
import type { AgentEntityKind, AgentProtocolIssue, AgentState } from './state-types.ts';

const isOver = (status: unknown): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

type Problem = readonly [code: AgentProtocolIssue['code'], message: string];

/** What is wrong with an event; the first rule that fits decides. */
function judge(
  node: StateNode,
  { type, runId, sessionId, sequence }: AgentEvent,
  { kind, id: isEntity, opens }: Rule,
  id: string,
  entity: Fields | undefined,
  last: number | undefined,
): Problem | undefined {
  if (last !== undefined && sequence <= last) {
    return ['invalid_sequence', `The sequence ${sequence} is not above ${last}.`];
  }
  const run = getIn(node.runs, runId);
  if (run && kind !== 'session') {
    if (run.sessionId !== sessionId) {
      return ['invalid_transition', `The run '${runId}' is of session '${run.sessionId}'.`];
    }
    if (run.status !== 'running' && type !== 'run.started') {
      return ['invalid_transition', `The run '${runId}' is ${run.status}.`];
    }
  }
  if (opens) {
    if (entity) return ['duplicate_entity', `The ${kind} '${id}' has begun already.`];
    if (!run && isEntity) return ['missing_run', `The run '${runId}' has not begun.`];
  } else if (!entity) {
    return [isEntity ? 'missing_entity' : 'missing_run', `The ${kind} '${id}' has not begun.`];
  } else if (isOver(entity.status)) {
    return ['invalid_transition', `The ${kind} '${id}' is ${entity.status}.`];
  }
  return undefined;
}

/** The entity after an event. */
function transform(
  entity: Fields | undefined,
  { kind, id: isEntity, opens, status, takes, skipsNull, apply }: Rule,
  id: string,
  { runId, sessionId, parentId, meta, timestamp, payload }: AgentEvent,
): Fields {
  const given = payload as Fields;
  // Faster than a spread, as are the assignments after it.
  const next: Fields = Object.assign({}, entity, opens);
  if (opens) {
    next.id = id;
    next.createdAt = timestamp;
    if (isEntity) {
      next.runId = runId;
      if (parentId !== undefined) next.parentId = parentId;
      if (meta !== undefined) next.meta = meta;
    } else if (status) {
      next.sessionId = sessionId;
    }
  }
  if (status) next.status = status;
  if (kind !== 'session') next.updatedAt = timestamp;
  for (const name of takes) {
    const value = given[name];
    if (value !== undefined && (value !== null || !skipsNull)) next[name] = value;
  }
  apply?.(next, given);
  return next;
}

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
  const last = getIn(node.lastSequenceByRun, runId);
  if (hasId(node, event, last)) return node;
  if (node.floor && Object.hasOwn(node.floor, runId) && sequence <= node.floor[runId]!) return node;

  const { kind, record, id: idName, opens } = rule;
  const id = idName
    ? ((event.payload as Fields)[idName] as string)
    : kind === 'run'
      ? runId
      : event.sessionId;
  const key = idName ? getAgentEntityKey(runId, id) : id;
  const versions = node[record] as RecordVersion<unknown>;
  const entity = getIn(versions, key) as Fields | undefined;
  const problem = judge(node, event, rule, id, entity, last);
  const next = copyNode(node);
  if (problem) {
    const issue = { code: problem[0], eventId, runId, message: problem[1] };
    refuse?.(issue);
    next.issues = addTo(node.issues, issue);
  }
  next.ids = addId(node, event, problem ? undefined : rule.type);
  next.idCount = next.ids.count;
  if (!problem) {
    next[record] = setIn(versions, key, transform(entity, rule, id, event), entity) as never;
    next.lastSequenceByRun = setIn(node.lastSequenceByRun, runId, sequence, last);
    if (opens && idName) {
      next.order = addTo(node.order, { kind: kind as AgentEntityKind, id, runId });
    }
  }
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
