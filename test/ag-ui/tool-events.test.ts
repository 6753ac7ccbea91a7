import { describe, expect, it } from 'vitest';
import { reduce, reduceAll, threadOf } from '../helpers/reduce.ts';

const start = (toolCallId: unknown, more = {}) => ({
  type: 'TOOL_CALL_START',
  toolCallId,
  toolCallName: 'f',
  ...more,
});
const args = (toolCallId: string, delta: unknown, more = {}) => ({
  type: 'TOOL_CALL_ARGS',
  toolCallId,
  delta,
  ...more,
});
const end = (toolCallId: string, more = {}) => ({ type: 'TOOL_CALL_END', toolCallId, ...more });
const result = (toolCallId: unknown, messageId: unknown, content: unknown = 'ok', more = {}) => ({
  type: 'TOOL_CALL_RESULT',
  toolCallId,
  messageId,
  content,
  ...more,
});
const call = (id: string, more = {}) => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: '' },
  ...more,
});
const assistant = (id: string, more = {}) => ({ id, role: 'assistant', ...more });

describe('tool calls', () => {
  it('attach to the assistant that is their parent', () => {
    const { messages } = reduce(
      threadOf(assistant('m', { content: 'x' })),
      start('c', { parentMessageId: 'm', subagentRunId: 's', metadata: { a: 1 } }),
      start('d', { parentMessageId: 'm' }),
    );
    expect(messages).toStrictEqual([
      assistant('m', { content: 'x', toolCalls: [call('c', { metadata: { a: 1 } }), call('d')] }),
    ]);
  });

  it('make an assistant of the parent id where nobody has it, with the subagent', () => {
    const { messages } = reduceAll(start('c', { parentMessageId: 'm', subagentRunId: 's' }));
    expect(messages).toStrictEqual([
      assistant('m', { toolCalls: [call('c')], subagentRunId: 's' }),
    ]);
  });

  it.each([undefined, null, '', 7])('make an assistant of their own id for the parent %j', (id) => {
    const { messages } = reduceAll(start('c', { parentMessageId: id }));
    expect(messages).toStrictEqual([assistant('c', { toolCalls: [call('c')] })]);
  });

  it.each(['user', 'tool', 'reasoning'])(
    'make an assistant of their own id where a message of role %s has the parent id',
    (role) => {
      const { messages } = reduce(
        threadOf({ id: 'm', role, content: '' }),
        start('c', { parentMessageId: 'm' }),
      );
      expect(messages.map((m) => m.id)).toEqual(['m', 'c']);
    },
  );

  it('attach to the answer where thoughts have its id', () => {
    const { messages } = reduceAll(
      { type: 'REASONING_MESSAGE_START', messageId: 'm' },
      { type: 'TEXT_MESSAGE_START', messageId: 'm' },
      start('c', { parentMessageId: 'm' }),
    );
    expect(messages[1]).toMatchObject({ id: 'm~assistant', toolCalls: [{ id: 'c' }] });
  });

  it('keep their arguments and take the new name when they start again', () => {
    const thread = reduceAll(
      start('c'),
      args('c', '{}'),
      start('c', { toolCallName: 'g', metadata: { a: 1 }, parentMessageId: 'other' }),
    );
    expect(thread.messages).toStrictEqual([
      assistant('c', {
        toolCalls: [call('c', { function: { name: 'g', arguments: '{}' }, metadata: { a: 1 } })],
      }),
    ]);
    expect(reduce(thread, start('c', { toolCallName: 'g' }))).toMatchObject({
      messages: thread.messages,
    });
  });

  it('gather their arguments and metadata, and keep their neighbours', () => {
    const before = reduceAll(
      start('c', { parentMessageId: 'm' }),
      start('d', { parentMessageId: 'm' }),
    );
    const after = reduce(
      before,
      args('c', '{"a'),
      args('c', '":1', { metadata: { n: 1 } }),
      end('c', { metadata: { usage: 2 } }),
    );
    const calls = (thread: typeof before) =>
      (thread.messages[0] as { toolCalls?: unknown[] }).toolCalls ?? [];
    expect(calls(after)[0]).toStrictEqual(
      call('c', { function: { name: 'f', arguments: '{"a":1' }, metadata: { n: 1, usage: 2 } }),
    );
    expect(calls(after)[1]).toBe(calls(before)[1]);
  });

  it.each([
    ['arguments of an unknown call', args('nobody', 'x')],
    ['empty arguments', args('c', '')],
    ['arguments that are no text', args('c', 7)],
    ['the end of an unknown call', end('nobody', { metadata: { a: 1 } })],
    ['a start without id', start(undefined)],
    ['a start without name', { type: 'TOOL_CALL_START', toolCallId: 'x' }],
    ['a result without call id', result(undefined, 'r')],
  ])('return the same thread for %s', (_, event) => {
    const thread = reduceAll(start('c'), args('c', '{}'));
    expect(reduce(thread, event)).toBe(thread);
  });

  it('return the same thread for an end that was there before', () => {
    const thread = reduceAll(start('c'), end('c'));
    expect(reduce(thread, end('c'))).toBe(thread);
  });
});

describe('tool results', () => {
  const history = [assistant('m', { toolCalls: [call('c'), call('d')] }), assistant('later')];

  it('go behind the call and the results already there, in the order they arrive', () => {
    const { messages } = reduce(threadOf(...history), result('d', 'r1'), result('c', 'r2'));
    expect(messages.map((m) => m.id)).toEqual(['m', 'r1', 'r2', 'later']);
    expect(messages[1]).toStrictEqual({ id: 'r1', role: 'tool', toolCallId: 'd', content: 'ok' });
  });

  it('go to the end where nobody made the call', () => {
    const { messages } = reduce(
      threadOf(...history),
      result('x', 'r', [{ type: 'text', text: 'part' }], {
        subagentRunId: 's',
        metadata: { a: 1 },
      }),
    );
    expect(messages[2]).toStrictEqual({
      id: 'r',
      role: 'tool',
      toolCallId: 'x',
      content: [{ type: 'text', text: 'part' }],
      subagentRunId: 's',
      metadata: { a: 1 },
    });
  });

  it('replace the result of the same call and message in place', () => {
    const { messages } = reduce(
      threadOf(...history),
      result('c', 'r', 'one', { metadata: { a: 1 } }),
      result('d', 'r2'),
      result('c', 'r', 'two'),
    );
    expect(messages.map((m) => [m.id, m.content])).toEqual([
      ['m', undefined],
      ['r', 'two'],
      ['r2', 'ok'],
      ['later', undefined],
    ]);
    expect(messages[1]?.metadata).toEqual({ a: 1 });
  });

  it('return the same thread for a result that is there already', () => {
    const thread = reduce(threadOf(...history), result('c', 'r'));
    expect(reduce(thread, result('c', 'r'))).toBe(thread);
  });

  it('are added where another call has the same message id', () => {
    const { messages } = reduce(threadOf(...history), result('c', 'r', '1'), result('d', 'r', '2'));
    expect(messages.map((m) => m.content)).toEqual([undefined, '1', '2', undefined]);
  });

  it.each([undefined, null, 7])('get an id of the call for the message id %j', (messageId) => {
    const { messages } = reduce(threadOf(...history), result('c', messageId));
    expect(messages[1]?.id).toBe('c:result');
  });

  it.each([undefined, null, 7, { a: 1 }])('count without content for the content %j', (content) => {
    const { messages } = reduce(threadOf(...history), result('c', 'r', content));
    expect(messages[1]?.content).toBe(content === undefined ? 'ok' : '');
  });
});

describe('the calls of a run', () => {
  const run = { type: 'RUN_STARTED', threadId: 't', runId: 'r' };
  const finished = { type: 'RUN_FINISHED', threadId: 't', runId: 'r' };

  it('wait for answers when the run finishes: those it started and nobody answered, in order', () => {
    const thread = reduceAll(
      start('old'),
      end('old'),
      run,
      ...['a', 'b', 'c'].flatMap((id) => [start(id), end(id)]),
      result('b', 'r'),
      finished,
    );
    expect(thread.pendingToolCallIds).toEqual(['a', 'c']);
    expect(thread).not.toHaveProperty('open');
    expect(reduce(thread, run)).not.toHaveProperty('pendingToolCallIds');
  });

  it('wait for answers as the run says, where it names any', () => {
    const named = (pendingToolCallIds: unknown) =>
      reduceAll(run, start('a'), end('a'), {
        ...finished,
        outcome: { type: 'success', pendingToolCallIds },
      }).pendingToolCallIds;
    expect(named(['x'])).toEqual(['x']);
    expect(named([])).toEqual(['a']);
    expect(named('x')).toEqual(['a']);
  });

  it('do not wait after an interrupt, a cancellation or a failure', () => {
    for (const event of [
      { ...finished, outcome: { type: 'interrupt', interrupts: [{ id: 'i', reason: 'x' }] } },
      { ...finished, outcome: { type: 'cancelled' } },
      { type: 'RUN_ERROR', message: 'x' },
    ]) {
      expect(reduceAll(run, start('a'), end('a'), event)).not.toHaveProperty('pendingToolCallIds');
    }
  });

  it('are answered for good when their start is seen again', () => {
    const thread = reduceAll(
      run,
      start('a'),
      end('a'),
      result('a', 'r'),
      start('a'),
      end('a'),
      finished,
    );
    expect(thread).not.toHaveProperty('pendingToolCallIds');
  });

  it('count for the run when they came by a snapshot and start again', () => {
    const thread = reduceAll(
      run,
      { type: 'MESSAGES_SNAPSHOT', messages: [assistant('m', { toolCalls: [call('a')] })] },
      start('a'),
      args('a', '{}'),
      end('a'),
      finished,
    );
    expect(thread.pendingToolCallIds).toEqual(['a']);
  });

  it.each([
    ['a failure', { type: 'RUN_ERROR', message: 'x' }, ['a']],
    ['a cancellation', { ...finished, outcome: { type: 'cancelled' } }, ['a']],
    ['success', finished, undefined],
  ])('that never ended are remembered after %s: %o', (_, event, unended) => {
    const thread = reduceAll(run, start('a'), start('b'), end('b'), event);
    expect(thread.open).toEqual(unended && { unended });
    // … also through the next run.
    expect(reduce(thread, run, finished).open).toEqual(unended && { unended });
    expect(reduce(thread, result('a', 'late')).open).toBeUndefined();
  });
});
