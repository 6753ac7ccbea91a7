import { isAgentEvent } from './event-guards.ts';
import type { AgentEvent } from './event-types.ts';
import { getRunEnd } from './open-entities.ts';
import type { AgentProviderCapabilities, AgentProviderContractIssue } from './provider-types.ts';
import { replayAgentEvents } from './reducer.ts';

/**
 * Check all events of one run against the contract; an empty list says that they keep it.
 *
 * What is no event at all is told and left out of the other checks. One fault may break two rules and
 * then gives two issues. Takes linear time.
 *
 * @example
 * expect(validateAgentProviderEvents(provider.capabilities, events)).toEqual([]);
 */
export function validateAgentProviderEvents(
  capabilities: Pick<AgentProviderCapabilities, 'eventTypes'>,
  events: readonly unknown[],
): AgentProviderContractIssue[] {
  const issues: AgentProviderContractIssue[] = [];
  const declared = new Set<string>(capabilities.eventTypes);
  const ids = new Set<string>();
  const valid: AgentEvent[] = [];
  let last = -1;
  let starts = 0;
  let ends = 0;

  function add(code: AgentProviderContractIssue['code'], message: string, eventId?: unknown) {
    issues.push({ code, message, ...(typeof eventId === 'string' && { eventId }) });
  }

  for (const [index, event] of events.entries()) {
    if (!isAgentEvent(event)) {
      const { eventId } = (event ?? {}) as { readonly eventId?: unknown };
      add('invalid_event', `Item ${index} is no event.`, eventId);
      continue;
    }
    const { type, eventId, sessionId, runId, sequence } = event;
    valid.push(event);
    const { sessionId: session, runId: run } = valid[0]!;
    if (!declared.has(type)) {
      add('undeclared_event_type', `The type ${type} is not declared.`, eventId);
    }
    if (ids.has(eventId)) add('duplicate_event_id', 'The id was used before.', eventId);
    ids.add(eventId);
    if (sessionId !== session || runId !== run) {
      add('inconsistent_run', `The event is not of run ${run} in session ${session}.`, eventId);
    }
    if (sequence <= last) {
      add('invalid_sequence', `The sequence ${sequence} is not above ${last}.`, eventId);
    }
    last = Math.max(last, sequence);
    if (type === 'run.started' && ++starts === 2) {
      add('invalid_lifecycle', 'The run begins twice.', eventId);
    }
    if (getRunEnd(event)) ends++;
  }

  if (!starts) add('missing_run_start', 'There is no run.started.');
  if (!ends) add('missing_run_terminal', 'There is no terminal event.');
  if (ends > 1) add('multiple_run_terminals', `There are ${ends} terminal events.`);
  const state = replayAgentEvents(valid);
  for (const { message, eventId } of state.issues) add('invalid_lifecycle', message, eventId);
  if (ends !== 1) return issues;
  const { messages, reasoning, toolCalls, approvals, tasks, artifacts } = state;
  for (const record of [messages, reasoning, toolCalls, approvals, tasks, artifacts]) {
    for (const { id, status } of Object.values(record)) {
      if (!/^(completed|failed|cancelled)$/.test(status)) {
        add('invalid_lifecycle', `The run ends while '${id}' is ${status}.`);
      }
    }
  }
  return issues;
}
