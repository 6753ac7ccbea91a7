import { describe, expect, it } from 'vitest';
import { reduce, reduceAll, threadOf } from '../helpers/reduce.ts';

const text = (delta: unknown, messageId?: unknown, more = {}) => ({
  type: 'TEXT_MESSAGE_CHUNK',
  delta,
  messageId,
  ...more,
});
const think = (delta: string, messageId?: string, more = {}) => ({
  type: 'REASONING_MESSAGE_CHUNK',
  delta,
  messageId,
  ...more,
});
const call = (delta: unknown, toolCallId?: string, toolCallName?: string, more = {}) => ({
  type: 'TOOL_CALL_CHUNK',
  delta,
  toolCallId,
  toolCallName,
  ...more,
});
const contents = (thread: ReturnType<typeof reduceAll>) =>
  thread.messages.map((m) => ('toolCalls' in m ? m.toolCalls?.[0]?.function.arguments : m.content));

describe('chunks', () => {
  it('open with an id and go on without one', () => {
    const thread = reduceAll(
      text('a', 'm', { role: 'user', name: 'Ann', metadata: { x: 1 } }),
      text('b', undefined, { role: 'system', name: 'Bob', metadata: { y: 1 } }),
      text('c', 'm'),
    );
    expect(thread.messages).toStrictEqual([
      { id: 'm', role: 'user', content: 'abc', name: 'Ann', metadata: { x: 1, y: 1 } },
    ]);
    expect(thread.open).toEqual({ chunks: [{ kind: 'text', id: 'm' }] });
  });

  it('build tool calls and reasoning too', () => {
    const thread = reduceAll(
      think('hm', 'r'),
      think('!'),
      call('{"a', 'c', 'f', { parentMessageId: 'p' }),
      call('":1}', undefined, 'other name'),
    );
    expect(thread.messages).toMatchObject([
      { id: 'r', role: 'reasoning', content: 'hm!' },
      { id: 'p', toolCalls: [{ id: 'c', function: { name: 'f', arguments: '{"a":1}' } }] },
    ]);
  });

  it('go over to another id, and come back', () => {
    expect(contents(reduceAll(text('1', 'a'), text('2', 'b'), text('3', 'a'), text('4')))).toEqual([
      '134',
      '2',
    ]);
  });

  it('take an empty id as an id', () => {
    expect(reduceAll(text('x', '')).messages).toMatchObject([{ id: '', content: 'x' }]);
  });

  it('open without text', () => {
    expect(reduceAll(text(undefined, 'm')).messages).toMatchObject([{ id: 'm', content: '' }]);
  });

  it.each([
    ['text without id, with nothing open', text('x')],
    ['a call without id, with nothing open', call('x', undefined, 'f')],
    ['a call without name', call('x', 'c')],
    ['an id that is no text', text('x', 7)],
  ])('change nothing for %s', (_, event) => {
    const thread = threadOf();
    expect(reduce(thread, event)).toBe(thread);
  });

  it('change nothing without id where something of another kind is open', () => {
    const thread = reduceAll(think('x', 'r'));
    expect(reduce(thread, text('y'), call('z'))).toBe(thread);
  });

  it('go on with a known call without its name', () => {
    const thread = reduceAll(call('1', 'c', 'f'), call('2', 'd', 'g'), call('3', 'c'));
    expect(contents(thread)).toEqual(['13', '2']);
  });

  const open = [text('x', 'm', { subagentRunId: 's' }), text('y', 'n')];

  it.each([
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'TOOL_CALL_START',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_END',
    'TOOL_CALL_RESULT',
    'STATE_SNAPSHOT',
    'STATE_DELTA',
    'STEP_STARTED',
    'STEP_FINISHED',
    'REASONING_START',
    'REASONING_MESSAGE_START',
    'REASONING_MESSAGE_CONTENT',
    'REASONING_MESSAGE_END',
    'REASONING_END',
    'THINKING_START',
    'CUSTOM',
  ])('are closed in their own lane by %s', (type) => {
    const lanes = (thread: ReturnType<typeof reduceAll>) =>
      thread.open?.chunks?.map((chunk) => chunk.subagentRunId);
    expect(lanes(reduceAll(...open, { type }))).toEqual(['s']);
    expect(lanes(reduceAll(...open, { type, subagentRunId: 's' }))).toEqual([undefined]);
    expect(lanes(reduceAll(...open, { type, subagentRunId: null }))).toEqual(['s']);
  });

  it.each([
    ['RUN_STARTED', { runId: 'r' }],
    ['RUN_FINISHED', {}],
    ['RUN_ERROR', {}],
    ['MESSAGES_SNAPSHOT', { messages: [] }],
  ])('are closed in all lanes by %s', (type, more) => {
    expect(reduceAll(...open, { type, ...more }).open?.chunks).toBeUndefined();
  });

  it.each(['SUBAGENT_FINISHED', 'SUBAGENT_ERROR'])(
    'are closed with their subagent by %s',
    (type) => {
      const thread = reduceAll(...open, { type, subagentRunId: 's' });
      expect(thread.open?.chunks).toEqual([{ kind: 'text', id: 'n' }]);
      expect(reduce(thread, { type })).toBe(thread);
    },
  );

  it.each([
    'RAW',
    'ACTIVITY_SNAPSHOT',
    'ACTIVITY_DELTA',
    'REASONING_ENCRYPTED_VALUE',
    'SUBAGENT_STARTED',
    'SOMETHING_NEW',
  ])('stay open through %s', (type) => {
    const thread = reduceAll(...open, { type, content: {}, messageId: 'x', activityType: 'y' });
    expect(thread.open?.chunks).toHaveLength(2);
  });

  it('without an id or a subagent go on with the parent agent, or with the only lane that fits', () => {
    expect(contents(reduceAll(...open, text('!')))).toEqual(['x', 'y!']);
    expect(contents(reduceAll(text('x', 'm', { subagentRunId: 's' }), text('!')))).toEqual(['x!']);
    const two = reduceAll(
      ...['s', 'z'].map((subagentRunId) => text(subagentRunId, subagentRunId, { subagentRunId })),
    );
    expect(reduce(two, text('!'))).toBe(two);
    expect(contents(reduce(two, text('!', undefined, { subagentRunId: 'z' })))).toEqual([
      's',
      'z!',
    ]);
  });

  it('of an open id go on in its lane, whatever subagent they name', () => {
    const thread = reduceAll(...open, text('!', 'm', { subagentRunId: 'other' }));
    expect(contents(thread)).toEqual(['x!', 'y']);
    expect(thread.open?.chunks).toHaveLength(2);
  });

  it('end the arguments of a call when they are closed, but not when the run breaks off', () => {
    expect(reduceAll(call('{', 'c', 'f')).open?.unended).toEqual(['c']);
    expect(reduceAll(call('{', 'c', 'f'), text('x', 'm')).open?.unended).toBeUndefined();
    expect(reduceAll(call('{', 'c', 'f'), { type: 'RUN_ERROR' }).open).toEqual({ unended: ['c'] });
    expect(reduceAll(call('{', 'c', 'f'), { type: 'RUN_FINISHED' }).open).toBeUndefined();
  });

  it('leave nothing behind when they are closed', () => {
    const thread = reduceAll(text('x', 'm'), { type: 'CUSTOM', name: 'n', value: 1 });
    expect(thread).not.toHaveProperty('open');
  });
});
