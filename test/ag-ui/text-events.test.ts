import { describe, expect, it } from 'vitest';
import { reduce, reduceAll, threadOf } from '../helpers/reduce.ts';

const start = (messageId: string, more = {}) => ({
  type: 'TEXT_MESSAGE_START',
  messageId,
  ...more,
});
const text = (messageId: string, delta: unknown, more = {}) => ({
  type: 'TEXT_MESSAGE_CONTENT',
  messageId,
  delta,
  ...more,
});
const end = (messageId: string, more = {}) => ({ type: 'TEXT_MESSAGE_END', messageId, ...more });
const think = (messageId: string, delta: string) => ({
  type: 'REASONING_MESSAGE_CONTENT',
  messageId,
  delta,
});
const startThinking = (messageId: string, more = {}) => ({
  type: 'REASONING_MESSAGE_START',
  messageId,
  role: 'reasoning',
  ...more,
});

describe('text messages', () => {
  it('builds a message out of start, content and end', () => {
    const { messages } = reduceAll(start('m'), text('m', 'Hel'), text('m', 'lo'), end('m'));
    expect(messages).toStrictEqual([{ id: 'm', role: 'assistant', content: 'Hello' }]);
  });

  it.each(['developer', 'system', 'assistant', 'user'])('takes the role %s', (role) => {
    expect(reduceAll(start('m', { role })).messages).toStrictEqual([
      { id: 'm', role, content: '' },
    ]);
  });

  it.each(['tool', 'activity', 'reasoning', 7, null, { toString: 1 }])(
    'reads the role %j as assistant',
    (role) => {
      expect(reduceAll(start('m', { role })).messages[0]?.role).toBe('assistant');
    },
  );

  it('takes name and subagent of the first start, and only its metadata from a second', () => {
    const thread = reduceAll(
      start('m', { role: 'user', name: 'Ann', subagentRunId: 's', metadata: { a: 1, b: 1 } }),
      start('m', { role: 'system', name: 'Bob', subagentRunId: 'x', metadata: { b: 2 } }),
    );
    expect(thread.messages).toStrictEqual([
      {
        id: 'm',
        role: 'user',
        content: '',
        name: 'Ann',
        subagentRunId: 's',
        metadata: { a: 1, b: 2 },
      },
    ]);
  });

  it('returns the same thread for a start of a known id without metadata', () => {
    const thread = reduceAll(start('m'), text('m', 'x'));
    expect(reduce(thread, start('m'))).toBe(thread);
  });

  it('appends again after the end, and to a message in front of others', () => {
    const thread = reduceAll(start('a'), start('b'), text('a', '1'), end('a'), text('a', '2'));
    expect(thread.messages.map((m) => m.content)).toEqual(['12', '']);
  });

  it('goes to the last of several messages that came with one id', () => {
    const message = { id: 'm', role: 'assistant', content: '' };
    const thread = reduce(threadOf(message, message), text('m', 'x'));
    expect(thread.messages.map((m) => m.content)).toEqual(['', 'x']);
  });

  it('keeps every message that did not change', () => {
    const before = reduceAll(start('a'), start('b'), start('c'));
    const after = reduce(before, text('b', 'x'));
    expect(after.messages[0]).toBe(before.messages[0]);
    expect(after.messages[2]).toBe(before.messages[2]);
    expect(before.messages[1]?.content).toBe('');
  });

  it.each([
    ['an unknown id', text('nobody', 'x')],
    ['an empty delta', text('m', '')],
    ['no delta', text('m', undefined)],
    ['a delta that is no text', text('m', { a: 1 })],
    ['an end without metadata', end('m')],
    ['an end of nothing', end('nobody', { metadata: { a: 1 } })],
    ['an end that carries text', end('m', { delta: 'x' })],
    ['metadata that is no object', end('m', { metadata: [1] })],
    ['null metadata', end('m', { metadata: null })],
  ])('returns the same thread for %s', (_, event) => {
    const thread = reduceAll(start('m'), text('m', 'x'));
    expect(reduce(thread, event)).toBe(thread);
  });

  it('merges metadata key by key, never deeper, from start, content and end', () => {
    const thread = reduceAll(
      start('m', { metadata: { a: { x: 1 }, n: 1 } }),
      text('m', '', { metadata: { a: { y: 1 } } }),
      end('m', { metadata: { usage: null } }),
    );
    expect(thread.messages[0]?.metadata).toStrictEqual({ a: { y: 1 }, n: 1, usage: null });
  });

  it('does not touch the parts of a user message', () => {
    const thread = threadOf({ id: 'm', role: 'user', content: [{ type: 'text', text: 'hi' }] });
    expect(reduce(thread, text('m', 'x'))).toBe(thread);
  });

  it.each(['tool', 'activity'])('drops text for the id of a message of role %s', (role) => {
    const thread = threadOf({ id: 'm', role, content: {}, toolCallId: 'c' });
    expect(reduce(thread, start('m'), text('m', 'x'), end('m'))).toBe(thread);
    expect(reduce(thread, startThinking('m'), think('m', 'x'))).toBe(thread);
  });

  it('fills the content of an assistant message that only had tool calls', () => {
    const thread = reduceAll(
      { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f', parentMessageId: 'm' },
      start('m', { name: 'late' }),
      text('m', 'x'),
    );
    expect(thread.messages).toMatchObject([{ id: 'm', content: 'x', toolCalls: [{ id: 'c' }] }]);
  });
});

describe('reasoning', () => {
  it('builds a reasoning message', () => {
    const { messages } = reduceAll(
      { type: 'REASONING_START', messageId: 'r' },
      startThinking('r', { subagentRunId: 's' }),
      think('r', 'hm'),
      { type: 'REASONING_MESSAGE_END', messageId: 'r', metadata: { a: 1 } },
      { type: 'REASONING_END', messageId: 'r' },
    );
    expect(messages).toStrictEqual([
      { id: 'r', role: 'reasoning', content: 'hm', subagentRunId: 's', metadata: { a: 1 } },
    ]);
  });

  it.each(['REASONING_START', 'REASONING_END'])('returns the same thread for %s', (type) => {
    const thread = reduceAll(startThinking('r'));
    expect(reduce(thread, { type, messageId: 'r' })).toBe(thread);
  });

  it('puts reasoning under the id of an answer into a message of its own', () => {
    const { messages } = reduceAll(
      start('m'),
      text('m', 'answer'),
      startThinking('m'),
      think('m', 'thought'),
      text('m', '!'),
    );
    expect(messages).toStrictEqual([
      { id: 'm', role: 'assistant', content: 'answer!' },
      { id: 'm~reasoning', role: 'reasoning', content: 'thought' },
    ]);
  });

  it('puts an answer under the id of reasoning into a message of its own', () => {
    const { messages } = reduceAll(
      startThinking('m'),
      think('m', 'thought'),
      start('m', { role: 'developer' }),
      text('m', 'answer'),
      think('m', ' more'),
      start('m'),
      end('m', { metadata: { a: 1 } }),
    );
    expect(messages).toStrictEqual([
      { id: 'm', role: 'reasoning', content: 'thought more' },
      { id: 'm~developer', role: 'developer', content: 'answer', metadata: { a: 1 } },
    ]);
  });
});

describe('encrypted values', () => {
  const encrypted = (subtype: string, entityId: unknown, encryptedValue: unknown = 'e') => ({
    type: 'REASONING_ENCRYPTED_VALUE',
    subtype,
    entityId,
    encryptedValue,
    metadata: { a: 1 },
  });
  const call = { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f' };

  it('go on a message or a tool call, the last one winning, without the event metadata', () => {
    const { messages } = reduceAll(
      start('m'),
      call,
      encrypted('message', 'm'),
      encrypted('message', 'm', 'e2'),
      encrypted('tool-call', 'c', 'e3'),
    );
    expect(messages[0]).toStrictEqual({
      id: 'm',
      role: 'assistant',
      content: '',
      encryptedValue: 'e2',
    });
    expect(messages[1]).toMatchObject({ toolCalls: [{ id: 'c', encryptedValue: 'e3' }] });
    expect(messages[1]).not.toHaveProperty('encryptedValue');
  });

  it.each([
    ['an unknown message', encrypted('message', 'nobody')],
    ['an unknown call', encrypted('tool-call', 'nobody')],
    ['an activity', encrypted('message', 'act')],
    ['the value that is there', encrypted('message', 'm')],
    ['a value that is no text', encrypted('message', 'm', 7)],
  ])('change nothing for %s', (_, event) => {
    const thread = reduceAll(start('m'), call, encrypted('message', 'm'), {
      type: 'ACTIVITY_SNAPSHOT',
      messageId: 'act',
      activityType: 'plan',
      content: {},
    });
    expect(reduce(thread, event)).toBe(thread);
  });

  it('belong to the thoughts where thoughts and answer share an id', () => {
    const { messages } = reduceAll(start('m'), startThinking('m'), encrypted('message', 'm'));
    expect(messages).toMatchObject([{ id: 'm' }, { id: 'm~reasoning', encryptedValue: 'e' }]);
    expect(messages[0]).not.toHaveProperty('encryptedValue');
  });
});

describe('THINKING_* events of older servers', () => {
  const thinking = (phase: string, more = {}) => ({
    type: `THINKING_TEXT_MESSAGE_${phase}`,
    ...more,
  });

  it('become reasoning messages with ids made of the run and a number', () => {
    const events = [
      { type: 'RUN_STARTED', threadId: 't', runId: 'run1' },
      { type: 'THINKING_START', title: 'Hm' },
      thinking('START'),
      thinking('CONTENT', { delta: 'one' }),
      thinking('END', { metadata: { a: 1 } }),
      { type: 'THINKING_END' },
      thinking('START'),
      thinking('CONTENT', { delta: 'two' }),
      thinking('CONTENT', { delta: '!' }),
      thinking('END'),
    ];
    const thread = reduceAll(...events);
    expect(thread.messages).toStrictEqual([
      { id: 'run1:thinking:0', role: 'reasoning', content: 'one', metadata: { a: 1 } },
      { id: 'run1:thinking:1', role: 'reasoning', content: 'two!' },
    ]);
    expect(thread).not.toHaveProperty('open');
    expect(reduceAll(...events)).toEqual(thread);
  });

  it('begin without a start, and change nothing when nothing is open', () => {
    const thread = reduceAll(thinking('CONTENT', { delta: 'x' }));
    expect(thread.messages).toMatchObject([{ id: 'run:thinking:0', content: 'x' }]);
    const empty = threadOf();
    expect(
      reduce(empty, thinking('END'), { type: 'THINKING_START' }, { type: 'THINKING_END' }),
    ).toBe(empty);
  });
});
