import { describe, expect, it } from 'vitest';
import { reduce, reduceAll, threadOf } from '../helpers/reduce.ts';

const user = (id: string, content = id) => ({ id, role: 'user', content });
const bot = (id: string, content = id, more = {}) => ({ id, role: 'assistant', content, ...more });
const thought = (id: string, content = id) => ({ id, role: 'reasoning', content });
const activity = (id: string, activityType = 'plan') => ({
  id,
  role: 'activity',
  activityType,
  content: {},
});
const snapshot = (messages: unknown, metadata?: unknown) => ({
  type: 'MESSAGES_SNAPSHOT',
  messages,
  ...(metadata !== undefined && { metadata }),
});
const types = (authoritativeActivityTypes: unknown) => ({
  '@ag-ui/client': { authoritativeActivityTypes },
});
const idsAfter = (local: Record<string, unknown>[], event: ReturnType<typeof snapshot>) =>
  reduce(threadOf(...local), event).messages.map(({ id }) => id);

describe('a messages snapshot', () => {
  it('replaces in place, removes what is missing, and appends what is new in its own order', () => {
    const { messages } = reduce(
      threadOf(user('a'), bot('b'), user('c')),
      snapshot([bot('x'), user('c', 'C'), user('y'), user('a', 'A')]),
    );
    expect(messages).toEqual([user('a', 'A'), user('c', 'C'), bot('x'), user('y')]);
  });

  it('keeps the objects of equal messages, and the thread where all are equal', () => {
    const before = threadOf(
      user('a'),
      bot('b', 'x', { toolCalls: [{ id: 'c', type: 'function', function: { name: 'f' } }] }),
      { id: 'u', role: 'user', content: [{ type: 'text', text: 'parts' }] },
    );
    const copy = structuredClone(before.messages) as object[];
    expect(reduce(before, snapshot(copy))).toBe(before);
    const after = reduce(before, snapshot([copy[0], { ...copy[1], content: 'y' }, copy[2]]));
    expect(after.messages[0]).toBe(before.messages[0]);
    expect(after.messages[1]).not.toBe(before.messages[1]);
    expect(after.messages[2]).toBe(before.messages[2]);
  });

  it('sees every difference between messages', () => {
    const before = threadOf(bot('b', 'x', { metadata: { a: [1], b: null } }));
    for (const metadata of [
      { a: [1] },
      { a: [2], b: null },
      { a: { 0: 1 }, b: null },
      { a: [1], c: null },
      { a: [1], b: null, c: 1 },
    ]) {
      expect(reduce(before, snapshot([bot('b', 'x', { metadata })])).messages[0]?.metadata).toBe(
        metadata,
      );
    }
    expect(reduce(before, snapshot([bot('b', 'x', { metadata: { b: null, a: [1] } })]))).toBe(
      before,
    );
  });

  it('does not take what every object inherits for equal', () => {
    const metadata = JSON.parse('{"__proto__":{}}');
    const before = threadOf(bot('b', 'x', { metadata }));
    const after = reduce(before, snapshot([bot('b', 'x', { metadata: { a: 1 } })]));
    expect(after.messages[0]?.metadata).toEqual({ a: 1 });
  });

  it.each([
    ['keeps local thoughts where it brings none', [bot('b')], ['r', 'b']],
    ['removes local thoughts where it brings some', [bot('b'), thought('s')], ['b', 's']],
    ['keeps thoughts where it is empty', [], ['r']],
  ])('%s', (_, messages, ids) => {
    expect(idsAfter([user('a'), thought('r'), bot('b')], snapshot(messages))).toEqual(ids);
  });

  it.each([
    ['keeps local activities where it brings none', [], undefined, ['p', 'o']],
    ['removes local activities where it brings some', [activity('n')], undefined, ['n']],
    ['removes those of the types it declares', [], types(['plan']), ['o']],
    ['keeps the others, though it brings some', [activity('n')], types(['plan']), ['o', 'n']],
    ['removes all where it declares null', [], types(null), []],
    ['removes none where its declaration is invalid', [activity('n')], types(7), ['p', 'o', 'n']],
    ['removes none where a type is no text', [activity('n')], types(['plan', 7]), ['p', 'o', 'n']],
    [
      'removes none where the namespace is invalid',
      [activity('n')],
      { '@ag-ui/client': 7 },
      ['p', 'o', 'n'],
    ],
    [
      'goes by what it brings where it declares nothing',
      [activity('n')],
      { '@ag-ui/client': {} },
      ['n'],
    ],
    ['goes by what it brings where metadata is null', [activity('n')], null, ['n']],
  ])('%s', (_, messages, metadata, ids) => {
    expect(idsAfter([activity('p'), activity('o', 'other')], snapshot(messages, metadata))).toEqual(
      ids,
    );
  });

  it('takes the last of several messages with one id', () => {
    const { messages } = reduceAll(snapshot([user('a', '1'), bot('b'), user('a', '2')]));
    expect(messages).toEqual([user('a', '2'), bot('b')]);
  });

  it('removes what is doubled here', () => {
    expect(idsAfter([user('a'), user('a')], snapshot([user('a')]))).toEqual(['a']);
  });

  it('drops what is no message, and null subagents', () => {
    const { messages } = reduceAll(
      snapshot([null, 7, 'x', {}, { id: 3 }, { ...bot('b'), subagentRunId: null }]),
    );
    expect(messages).toStrictEqual([bot('b')]);
  });

  it('keeps roles and fields nobody knows', () => {
    const strange = { id: 'x', role: 'critic', verdict: { stars: 3 } };
    expect(reduceAll(snapshot([strange])).messages).toEqual([strange]);
  });

  it.each([undefined, null, {}, 'x'])('changes nothing for the messages %j', (messages) => {
    const thread = threadOf(user('a'));
    expect(reduce(thread, snapshot(messages))).toBe(thread);
  });

  it('makes a stale activity fresh', () => {
    const stale = { ...activity('p'), stale: true };
    expect(reduce(threadOf(stale), snapshot([activity('p')])).messages).toStrictEqual([
      activity('p'),
    ]);
  });

  it('keeps thoughts and answer under one id apart, as they were while they streamed', () => {
    const streamed = reduceAll(
      { type: 'REASONING_MESSAGE_CHUNK', messageId: 'm', delta: 'thought' },
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', delta: 'answer' },
      { type: 'STATE_SNAPSHOT', snapshot: 1 },
    );
    expect(reduce(streamed, snapshot([thought('m', 'thought'), bot('m', 'answer')]))).toBe(
      streamed,
    );
    expect(reduce(streamed, snapshot([bot('m', 'answer')]))).toBe(streamed);
    const again = reduce(streamed, snapshot([bot('m', 'better')]));
    expect(again.messages).toEqual([thought('m', 'thought'), bot('m~assistant', 'better')]);
  });
});
