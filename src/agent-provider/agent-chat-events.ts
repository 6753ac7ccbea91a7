import type { Environment } from '../internal/environment.ts';
import { getLastSequence, getOpeners } from './agent-chat-openers.ts';
import { createSharedEventFactory } from './event-factory.ts';
import type { AgentEvent } from './event-types.ts';
import { type AgentRunEnd, createOpenEntities, getRunEnd } from './open-entities.ts';
import { toNode } from './state-node.ts';
import { getIn } from './state-records.ts';
import type { AgentRunState } from './state-types.ts';
import type { AgentStore } from './store.ts';

/** Puts the events of a conversation into its store, and adds those that must not be missing. */
export interface AgentChatEvents {
  /** Takes an event of a run; returns its end where that is over now. */
  take(event: AgentEvent): AgentRunEnd | undefined;
  /** Ends a run with all that it has open; one that never began begins first. */
  close(runId: string, input: unknown, end: AgentRunEnd): void;
  /** The last sequence that a run has used, or -1. */
  lastSequence(runId: string): number;
  /** Events that would open what a run has open. */
  openers(runId: string): readonly AgentEvent[];
  /** What the state says of a run. */
  find(runId: string): AgentRunState | undefined;
}

/** Make what puts events into a store; `onEvent` hears of each after it. */
export function createAgentChatEvents(
  store: AgentStore,
  sessionId: string,
  { now }: Environment,
  onEvent: (event: AgentEvent) => void,
): AgentChatEvents {
  let announced = false;

  const lastSequence = (runId: string) => getLastSequence(store.getSnapshot(), runId);
  const factoryOf = (runId: string) =>
    createSharedEventFactory({ last: lastSequence(runId) }, { sessionId, runId, now });
  const openers = (runId: string) => getOpeners(store.getSnapshot(), sessionId, runId);
  const find = (runId: string) => getIn(toNode(store.getSnapshot()).runs, runId);

  function give(event: AgentEvent) {
    store.dispatch(event);
    onEvent(event);
  }

  // A session begins once, under an id of its own: the runs' sequences stay theirs.
  function dispatch(event: AgentEvent) {
    const isSession = event.type === 'session.started';
    announced ||= getIn(toNode(store.getSnapshot()).sessions, sessionId) !== undefined;
    if (announced && isSession) return;
    if (!announced && !isSession) {
      give(factoryOf(sessionId).create('session.started', {}) as AgentEvent);
    }
    announced = true;
    give(event);
  }

  return {
    take(event) {
      dispatch(event);
      const end = getRunEnd(event);
      const { status = 'running' } = (end && find(event.runId)) ?? {};
      return status === 'running' ? undefined : end;
    },
    close(runId, input, end) {
      if (!find(runId)) {
        dispatch(factoryOf(runId).create('run.started', { input }) as AgentEvent);
      }
      const tracker = createOpenEntities({ events: factoryOf(runId), started: true });
      for (const event of openers(runId)) tracker.add(event);
      if (find(runId)?.status === 'running') tracker.close(end).forEach(dispatch);
    },
    lastSequence,
    openers,
    find,
  };
}
