import { expect, it } from 'vitest';
import { agentEventTypes } from '../../src/agent-provider/event-guards.ts';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import { validateAgentProviderEvents } from '../../src/agent-provider/validate-agent-provider-events.ts';
import { factory } from './runner-fixture.ts';

const all = { eventTypes: agentEventTypes };

/** The events of one run, made by what `script` calls. */
function make(script: (create: ReturnType<typeof factory>['create']) => void): AgentEvent[] {
  const events: AgentEvent[] = [];
  const { create } = factory();
  script((...args) => {
    const event = create(...args);
    events.push(event as AgentEvent);
    return event;
  });
  return events;
}

const whole = () =>
  make((create) => {
    create('run.started', {});
    create('message.started', { messageId: 'm', role: 'assistant' });
    create('message.delta', { messageId: 'm', delta: 'x' });
    create('message.completed', { messageId: 'm' });
    create('run.completed', {});
  });

const check = (events: readonly unknown[], capabilities = all) =>
  validateAgentProviderEvents(capabilities, events).map(({ code, eventId }) =>
    eventId === undefined ? code : `${code} ${eventId}`,
  );

it('finds nothing in a run that keeps the contract', () => {
  expect(check(whole())).toEqual([]);
});

it('tells what is no event, and leaves it out of everything else', () => {
  const events: unknown[] = whole();
  events.splice(2, 0, null, 7, { type: 'message.delta', eventId: 'x' });
  events.splice(2, 0, { ...(events[1] as AgentEvent), payload: {} });
  expect(check(events)).toEqual([
    'invalid_event r:1:message.started',
    'invalid_event',
    'invalid_event',
    'invalid_event x',
  ]);
});

it('tells a type that is not declared', () => {
  const eventTypes = agentEventTypes.filter((type) => type !== 'message.delta');
  expect(check(whole(), { eventTypes })).toEqual(['undeclared_event_type r:2:message.delta']);
});

it('tells an id that was used before', () => {
  const events = whole();
  events[2] = { ...events[2], eventId: 'r:1:message.started' } as AgentEvent;
  expect(check(events)).toEqual(['duplicate_event_id r:1:message.started']);
});

it('tells an event of another session or run than the first', () => {
  const events = whole();
  events[2] = { ...events[2], sessionId: 'other' } as AgentEvent;
  events[3] = { ...events[3], runId: 'other' } as AgentEvent;
  expect(check(events)).toEqual([
    'inconsistent_run r:2:message.delta',
    'inconsistent_run r:3:message.completed',
    'invalid_lifecycle r:2:message.delta',
    'invalid_lifecycle r:3:message.completed',
    'invalid_lifecycle',
  ]);
});

it('tells a sequence that is not above all before', () => {
  const events = whole();
  events[2] = { ...events[2], sequence: 1 } as AgentEvent;
  expect(check(events)).toEqual([
    'invalid_sequence r:2:message.delta',
    'invalid_lifecycle r:2:message.delta',
  ]);
});

it('measures a sequence by the highest, not by the last', () => {
  const events = whole().map((event, index) => ({ ...event, sequence: [0, 9, 3, 4, 10][index] }));
  expect(check(events).filter((code) => code.startsWith('invalid_sequence'))).toHaveLength(2);
});

it('counts starts and terminals', () => {
  expect(check([])).toEqual(['missing_run_start', 'missing_run_terminal']);
  expect(check(make((create) => create('run.started', {})))).toEqual(['missing_run_terminal']);
  expect(check(make((create) => create('run.completed', {})))).toEqual([
    'missing_run_start',
    'invalid_lifecycle r:0:run.completed',
  ]);
  const twice = make((create) => {
    create('run.started', {});
    create('run.started', {});
    create('run.failed', { error: { message: 'no' } });
    create('run.cancelled', {});
  });
  expect(check(twice)).toEqual([
    'invalid_lifecycle r:1:run.started',
    'multiple_run_terminals',
    'invalid_lifecycle r:1:run.started',
    'invalid_lifecycle r:3:run.cancelled',
  ]);
});

it('tells each entity that a run leaves open, a waiting approval too', () => {
  const events = make((create) => {
    create('run.started', {});
    create('message.started', { messageId: '__proto__', role: 'assistant' });
    create('reasoning.started', { reasoningId: 'r' });
    create('tool.requested', { toolCallId: 't', name: 'x' });
    create('approval.requested', { approvalId: 'a' });
    create('task.created', { taskId: 'k', title: 'x' });
    create('artifact.created', { artifactId: 'f', name: 'x' });
    create('run.completed', {});
  });
  const issues = validateAgentProviderEvents(all, events);
  expect(issues.map(({ code }) => code)).toEqual(Array(6).fill('invalid_lifecycle'));
  expect(issues.map(({ message }) => message).join()).toContain("'__proto__'");
});

it('tells an event for which the lifecycle has no place', () => {
  const events = make((create) => {
    create('run.started', {});
    create('message.delta', { messageId: 'm', delta: 'x' });
    create('message.started', { messageId: 'm', role: 'x' });
    create('message.completed', { messageId: 'm' });
    create('message.delta', { messageId: 'm', delta: 'x' });
    create('message.started', { messageId: 'm', role: 'x' });
    create('run.completed', {});
    create('message.delta', { messageId: 'm', delta: 'x' });
  });
  expect(check(events)).toEqual([
    'invalid_lifecycle r:1:message.delta',
    'invalid_lifecycle r:4:message.delta',
    'invalid_lifecycle r:5:message.started',
    'invalid_lifecycle r:7:message.delta',
  ]);
});

it('takes linear time', () => {
  const run = (count: number) =>
    make((create) => {
      create('run.started', {});
      create('message.started', { messageId: 'm', role: 'x' });
      for (let i = 0; i < count; i++) create('message.delta', { messageId: 'm', delta: 'x' });
      create('message.completed', { messageId: 'm' });
      create('run.completed', {});
    });
  // The processor's time: what else runs on the machine does not count.
  const measure = (events: readonly AgentEvent[]) => {
    const from = process.cpuUsage();
    expect(validateAgentProviderEvents(all, events)).toEqual([]);
    const { user, system } = process.cpuUsage(from);
    return user + system;
  };
  const [small, large] = [run(5_000), run(50_000)];
  measure(small);
  const best = (events: readonly AgentEvent[]) =>
    Math.min(measure(events), measure(events), measure(events));
  // Ten times the events; a quadratic check would take a hundred times as long.
  expect(best(large) / best(small)).toBeLessThan(40);
});
