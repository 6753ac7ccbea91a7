import { expect, it } from 'vitest';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import { createOpenEntities, getRunEnd } from '../../src/agent-provider/open-entities.ts';
import { factory, lines } from './runner-fixture.ts';

function follow(script: readonly (readonly [string, object])[]) {
  const events = factory();
  const open = createOpenEntities({ events });
  for (const [type, payload] of script) {
    open.add(events.create(type as never, payload as never) as AgentEvent);
  }
  return open;
}

const everything = [
  ['run.started', {}],
  ['task.created', { taskId: 'x', title: 't' }],
  ['artifact.created', { artifactId: 'x', name: 'n' }],
  ['reasoning.started', { reasoningId: 'x' }],
  ['message.started', { messageId: 'x', role: 'assistant' }],
  ['tool.requested', { toolCallId: 'x', name: 'n' }],
  ['approval.requested', { approvalId: 'x' }],
] as const;
const types = (events: readonly AgentEvent[]) => events.map(({ type }) => type);

it('closes everything in its own way, the last opened first and the run last', () => {
  expect(types(follow(everything).close({ type: 'completed' }))).toEqual([
    'approval.resolved',
    'tool.completed',
    'message.completed',
    'reasoning.completed',
    'artifact.completed',
    'task.completed',
    'run.completed',
  ]);
  const error = { message: 'no', code: 'x' };
  const failed = follow(everything).close({ type: 'failed', error });
  expect(types(failed).slice(1)).toEqual(
    ['tool', 'message', 'reasoning', 'artifact', 'task', 'run'].map((kind) => `${kind}.failed`),
  );
  for (const event of failed.slice(1)) expect(event.payload).toMatchObject({ error });
  const cancelled = follow(everything).close({ type: 'cancelled', reason: 'enough' });
  expect(types(cancelled)).toEqual([
    'approval.resolved',
    'tool.cancelled',
    'message.cancelled',
    'reasoning.cancelled',
    'artifact.failed',
    'task.cancelled',
    'run.cancelled',
  ]);
  expect(cancelled[1]?.payload).toEqual({ toolCallId: 'x', reason: 'enough' });
  expect(cancelled[0]?.payload).toEqual({ approvalId: 'x', decision: 'expired' });
  expect(cancelled[4]?.payload).toEqual({
    artifactId: 'x',
    error: { code: 'cancelled', message: 'enough' },
  });
});

it('leaves out what is closed, and what was opened again behind its end', () => {
  const open = follow([
    ['run.started', {}],
    ['message.started', { messageId: 'a', role: 'x' }],
    ['message.started', { messageId: '__proto__', role: 'x' }],
    ['message.completed', { messageId: 'a' }],
    ['message.started', { messageId: 'a', role: 'x' }],
    ['tool.running', { toolCallId: 'never opened' }],
  ]);
  expect(open.size).toBe(1);
  expect(lines(open.closings({ type: 'completed' }))).toEqual(['6 message.completed __proto__']);
});

it('says that it has begun and ended, and then has nothing to close', () => {
  const early = follow([['message.started', { messageId: 'a', role: 'x' }]]);
  expect([early.started, early.ended, early.size]).toEqual([false, false, 0]);
  expect(early.close({ type: 'completed' })).toEqual([]);
  const over = follow([
    ['run.started', {}],
    ['run.failed', { error: { message: 'no' } }],
    ['message.started', { messageId: 'a', role: 'x' }],
  ]);
  expect([over.started, over.ended, over.size]).toEqual([true, true, 0]);
  expect(over.close({ type: 'completed' })).toEqual([]);
});

it('says whether the lifecycle has a place for an event', () => {
  const { create } = factory();
  const open = follow([
    ['run.started', {}],
    ['message.started', { messageId: 'a', role: 'x' }],
  ]);
  const fits = (type: string, payload: object, one = open) =>
    one.fits(create(type as never, payload as never) as AgentEvent);
  expect(fits('session.started', {})).toBe(true);
  expect(fits('run.completed', {})).toBe(true);
  expect(fits('message.delta', { messageId: 'a', delta: '' })).toBe(true);
  expect(fits('message.started', { messageId: 'b', role: 'x' })).toBe(true);
  expect(fits('run.started', {})).toBe(false);
  expect(fits('message.started', { messageId: 'a', role: 'x' })).toBe(false);
  expect(fits('message.delta', { messageId: 'b', delta: '' })).toBe(false);
  expect(fits('reasoning.delta', { reasoningId: 'a', delta: '' })).toBe(false);
  const none = follow([]);
  expect(fits('run.completed', {}, none)).toBe(false);
  expect(fits('message.started', { messageId: 'a', role: 'x' }, none)).toBe(false);
  const over = follow([
    ['run.started', {}],
    ['run.completed', {}],
  ]);
  expect(fits('run.failed', { error: { message: 'no' } }, over)).toBe(false);
  expect(fits('message.started', { messageId: 'a', role: 'x' }, over)).toBe(false);
});

it('reads the end of a run out of its terminal event', () => {
  const { create } = factory();
  const error = { message: 'no' };
  expect(getRunEnd(create('run.failed', { error }))).toEqual({ type: 'failed', error });
  expect(getRunEnd(create('run.cancelled', { reason: 'x' }))).toEqual({
    type: 'cancelled',
    reason: 'x',
  });
  expect(getRunEnd(create('run.completed', {}))).toEqual({ type: 'completed' });
  expect(getRunEnd(create('run.started', {}))).toBeUndefined();
  expect(getRunEnd(create('message.completed', { messageId: 'm' }))).toBeUndefined();
});
