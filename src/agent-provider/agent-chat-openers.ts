import { createSharedEventFactory } from './event-factory.ts';
import type { AgentEvent, AgentEventPayloadMap, AgentEventType } from './event-types.ts';
import { getAgentEntityKey, type StateNode, toNode } from './state-node.ts';
import { getIn, type RecordVersion } from './state-records.ts';
import type { AgentEntityKind, AgentState } from './state-types.ts';

/** What of each kind a state keeps where, and how it opens. */
const kinds: Readonly<
  Record<
    AgentEntityKind,
    readonly [
      record: keyof StateNode & keyof AgentState,
      type: AgentEventType,
      id: string,
      name?: string,
    ]
  >
> = {
  message: ['messages', 'message.started', 'messageId', 'role'],
  reasoning: ['reasoning', 'reasoning.started', 'reasoningId'],
  tool: ['toolCalls', 'tool.requested', 'toolCallId', 'name'],
  approval: ['approvals', 'approval.requested', 'approvalId'],
  task: ['tasks', 'task.created', 'taskId', 'title'],
  artifact: ['artifacts', 'artifact.created', 'artifactId', 'name'],
};

/** Events that would open what a run of the state has open, in the order it opened. */
export function getOpeners(state: AgentState, sessionId: string, runId: string): AgentEvent[] {
  const events = createSharedEventFactory({ last: -1 }, { sessionId, runId });
  const node = toNode(state);
  return state.order.flatMap(({ kind, id, runId: owner }) => {
    if (owner !== runId || !Object.hasOwn(kinds, kind)) return [];
    const [record, type, idName, name] = kinds[kind];
    const entities = node[record] as unknown as RecordVersion<Readonly<Record<string, unknown>>>;
    const entity = getIn(entities, getAgentEntityKey(runId, id));
    if (!entity || /^(comp|fail|canc)/.test(String(entity.status))) return [];
    const payload = { [idName]: id, ...(name && { [name]: entity[name] }) };
    return events.create(type, payload as AgentEventPayloadMap[typeof type]) as AgentEvent;
  });
}

/** The last sequence that a run of the state has used, or -1. */
export const getLastSequence = (state: AgentState, runId: string): number =>
  getIn(toNode(state).lastSequenceByRun, runId) ?? -1;
