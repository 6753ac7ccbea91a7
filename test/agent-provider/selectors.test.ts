import { describe, expect, it } from 'vitest';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import { reduceAgentState, replayAgentEvents } from '../../src/agent-provider/reducer.ts';
import {
  selectAgentTimeline,
  selectApproval,
  selectRun,
  selectRunningRuns,
  selectToolCall,
} from '../../src/agent-provider/selectors.ts';
import { createInitialAgentState } from '../../src/agent-provider/state-node.ts';
import type { AgentState } from '../../src/agent-provider/state-types.ts';

const events = createAgentEventFactory({ sessionId: 's', runId: 'r' });
const other = createAgentEventFactory({ sessionId: 's', runId: 'other' });
const state = replayAgentEvents([
  events.create('run.started', {}),
  events.create('reasoning.started', { reasoningId: 'x' }),
  events.create('reasoning.started', { reasoningId: 'y', redacted: true }),
  events.create('reasoning.delta', { reasoningId: 'y', delta: 'secret' }),
  events.create('message.started', { messageId: 'm', role: 'assistant' }),
  events.create('task.created', { taskId: 'k', title: 'T' }),
  events.create('artifact.created', { artifactId: 'f', name: 'n' }),
  events.create('tool.requested', { toolCallId: 't', name: 'n' }),
  events.create('approval.requested', { approvalId: 'a', toolCallId: 't' }),
  other.create('run.started', {}),
  other.create('message.started', { messageId: 'm', role: 'user' }),
]);
const empty = createInitialAgentState();
const restored: AgentState = JSON.parse(JSON.stringify(state));

describe('one entity', () => {
  it.each([
    ['a state', state],
    ['plain data', restored],
  ])('is found by its run and id in %s', (_name, from) => {
    expect(selectRun(from, 'r')).toMatchObject({ id: 'r', status: 'running' });
    expect(selectToolCall(from, { runId: 'r', toolCallId: 't' })).toMatchObject({ id: 't' });
    expect(selectApproval(from, { runId: 'r', approvalId: 'a' })).toMatchObject({ id: 'a' });
    for (const name of ['none', 'constructor', '__proto__', '']) {
      expect(selectRun(from, name)).toBe(undefined);
      expect(selectToolCall(from, { runId: 'r', toolCallId: name })).toBe(undefined);
      expect(selectApproval(from, { runId: name, approvalId: 'a' })).toBe(undefined);
    }
    expect(selectToolCall(from, { runId: 'other', toolCallId: 't' })).toBe(undefined);
  });
});

describe('the running runs', () => {
  it('are those of a session that did not end', () => {
    expect(selectRunningRuns(state, 's').map((run) => run.id)).toEqual(['r', 'other']);
    const ended = reduceAgentState(state, events.create('run.completed', {}));
    expect(selectRunningRuns(ended, 's').map((run) => run.id)).toEqual(['other']);
    expect(selectRunningRuns(state, 'none')).toEqual([]);
    expect(selectRunningRuns(empty, 's')).toEqual([]);
  });

  it('are the same array until a run changes', () => {
    const runs = selectRunningRuns(state, 's');
    expect(selectRunningRuns(state, 's')).toBe(runs);
    expect(selectRunningRuns(state, 'none')).toBe(selectRunningRuns(state, 'none'));
    const later = reduceAgentState(
      state,
      events.create('message.delta', { messageId: 'm', delta: 'a' }),
    );
    expect(selectRunningRuns(later, 's')).toBe(runs);
    const ended = reduceAgentState(later, other.create('run.completed', {}));
    expect(selectRunningRuns(ended, 's')).not.toBe(runs);
  });
});

describe('the timeline', () => {
  const kinds = (options: Parameters<typeof selectAgentTimeline>[1], from = state) =>
    selectAgentTimeline(from, options).map(({ kind, entity }) => `${kind} ${entity.id}`);

  it('has what a run shows in the order it came, without tasks and artifacts', () => {
    const all = ['reasoning x', 'reasoning y', 'message m', 'tool t', 'approval a'];
    expect(kinds({ runId: 'r' })).toEqual(all);
    expect(kinds({ runId: 'r' }, restored)).toEqual(all);
    expect(kinds({ runId: 'r', includeReasoning: false })).toEqual(all.slice(2));
    expect(kinds({ runId: 'other' })).toEqual(['message m']);
    expect(kinds({ runId: 'none' })).toEqual([]);
  });

  it('empties redacted reasoning, which stays in the state', () => {
    const [, entry] = selectAgentTimeline(state, { runId: 'r' });
    expect(entry).toMatchObject({ kind: 'reasoning', entity: { id: 'y', content: '' } });
    expect(state.reasoning['1:ry']!.content).toBe('secret');
  });

  it('is the same array for the same state and options', () => {
    const timeline = selectAgentTimeline(state, { runId: 'r' });
    expect(selectAgentTimeline(state, { runId: 'r', includeReasoning: true })).toBe(timeline);
    expect(selectAgentTimeline(state, { runId: 'r', includeReasoning: false })).not.toBe(timeline);
    expect(selectAgentTimeline(state, { runId: 'none' })).toBe(
      selectAgentTimeline(state, { runId: 'none' }),
    );
  });

  it('keeps the entries of entities that did not change', () => {
    const before = selectAgentTimeline(state, { runId: 'r' });
    const later = reduceAgentState(
      state,
      events.create('message.delta', { messageId: 'm', delta: 'b' }),
    );
    const after = selectAgentTimeline(later, { runId: 'r' });
    expect(after.map((entry, index) => entry === before[index])).toEqual([
      true,
      true,
      false,
      true,
      true,
    ]);
    expect(after[2]!.entity).toBe(later.messages['1:rm']);
  });

  it('passes over references to nothing', () => {
    const order = [
      { kind: 'message', id: 'gone', runId: 'r' },
      { kind: 'constructor', id: 'm', runId: 'r' },
      ...state.order,
    ] as AgentState['order'];
    expect(kinds({ runId: 'r' }, { ...state, order })).toHaveLength(5);
  });
});
