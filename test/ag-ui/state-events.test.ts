import { describe, expect, it } from 'vitest';
import { emptyThread } from '../../src/ag-ui/thread.ts';
import { deepFreeze } from '../helpers/deep-freeze.ts';
import { reduce, reduceAll, threadOf } from '../helpers/reduce.ts';

const snapshot = (value: unknown) => ({ type: 'STATE_SNAPSHOT', snapshot: value });
const delta = (...operations: unknown[]) => ({ type: 'STATE_DELTA', delta: operations });
const add = (path: string, value: unknown) => ({ op: 'add', path, value });

describe('shared state', () => {
  it.each([null, 0, '', false, [1], { a: { b: 1 } }])('is any JSON value: %j', (value) => {
    const thread = reduce(deepFreeze(emptyThread<unknown>({ state: { old: 1 } })), snapshot(value));
    expect(thread.state).toBe(value);
  });

  it('changes by deltas that share what they do not touch', () => {
    const before = reduceAll(snapshot({ a: { b: 1 }, c: { d: 1 } }));
    const after = reduce(before, delta(add('/a/x', 2), { op: 'remove', path: '/a/b' }));
    expect(after.state).toEqual({ a: { x: 2 }, c: { d: 1 } });
    expect((after.state as { c: unknown }).c).toBe((before.state as { c: unknown }).c);
    expect(before.state).toEqual({ a: { b: 1 }, c: { d: 1 } });
  });

  it.each([
    ['a missing path', [{ op: 'replace', path: '/x/y', value: 1 }]],
    ['a failed test', [add('/n', 1), { op: 'test', path: '/a', value: 2 }]],
    ['an unknown operation beside a good one', [{ op: 'merge', path: '/a' }, add('/n', 1)]],
    ['a removed root', [{ op: 'remove', path: '' }]],
    ['an inherited name', [{ op: 'replace', path: '/toString', value: 1 }]],
    ['no operation', [null]],
  ])('is stale and unchanged after a delta with %s', (_, operations) => {
    const before = reduceAll(snapshot({ a: 1 }));
    const after = reduce(before, delta(...operations));
    expect(after).toStrictEqual({ ...before, stale: true });
    expect(after.state).toBe(before.state);
  });

  it.each([undefined, null, 'x', {}])('is stale after the delta %j', (value) => {
    expect(reduceAll(snapshot({}), { type: 'STATE_DELTA', delta: value }).stale).toBe(true);
  });

  it('skips deltas while it is stale, through runs, until a snapshot', () => {
    const stale = reduceAll(snapshot({ a: 1 }), delta({ op: 'remove', path: '/x' }));
    expect(reduce(stale, delta(add('/b', 1)))).toBe(stale);
    const later = reduce(stale, { type: 'RUN_STARTED', threadId: 't', runId: 'r' });
    expect(later.stale).toBe(true);
    const fresh = reduce(later, snapshot(later.state), delta(add('/b', 1)));
    expect(fresh).toMatchObject({ stale: false, state: { a: 1, b: 1 } });
  });

  it('is stale when a delta arrives before any snapshot', () => {
    expect(reduceAll(delta(add('/a', 1))).stale).toBe(true);
    expect(reduceAll(delta(add('', { a: 1 })))).toMatchObject({ stale: false, state: { a: 1 } });
  });

  it.each([
    ['an empty delta', delta()],
    ['a delta that writes what is there', delta({ op: 'replace', path: '/a', value: 1 })],
    ['the same snapshot', snapshot(1)],
    ['a snapshot without a value', { type: 'STATE_SNAPSHOT' }],
  ])('returns the same thread for %s', (_, event) => {
    const thread = reduceAll(snapshot(event.type === 'STATE_DELTA' ? { a: 1 } : 1));
    expect(reduce(thread, event)).toBe(thread);
  });

  it('takes __proto__ as a key like any other', () => {
    const thread = reduceAll(snapshot({}), delta(add('/__proto__', { polluted: 1 })));
    expect(Object.keys(thread.state as object)).toEqual(['__proto__']);
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('activities', () => {
  const activity = (content: unknown, more = {}) => ({
    type: 'ACTIVITY_SNAPSHOT',
    messageId: 'a',
    activityType: 'plan',
    content,
    ...more,
  });
  const change = (patch: unknown, more = {}) => ({
    type: 'ACTIVITY_DELTA',
    messageId: 'a',
    activityType: 'plan',
    patch,
    ...more,
  });

  it('are made by their first snapshot, also by one that does not replace', () => {
    for (const replace of [undefined, true, false, null]) {
      const { messages } = reduceAll(
        activity({ n: 1 }, { replace, subagentRunId: 's', metadata: { m: 1 } }),
      );
      expect(messages).toStrictEqual([
        {
          id: 'a',
          role: 'activity',
          activityType: 'plan',
          content: { n: 1 },
          subagentRunId: 's',
          metadata: { m: 1 },
        },
      ]);
    }
  });

  it('are replaced with type and subagent, and keep their metadata and place', () => {
    const { messages } = reduceAll(
      activity({ n: 1 }, { subagentRunId: 's', metadata: { m: 1 } }),
      { type: 'TEXT_MESSAGE_START', messageId: 'm' },
      activity({ x: 2 }, { activityType: 'other', metadata: { o: 1 } }),
    );
    expect(messages[0]).toStrictEqual({
      id: 'a',
      role: 'activity',
      activityType: 'other',
      content: { x: 2 },
      metadata: { m: 1, o: 1 },
    });
  });

  it('keep their own where a snapshot does not replace, and take its metadata', () => {
    const before = reduceAll(activity({ n: 1 }, { subagentRunId: 's' }));
    expect(reduce(before, activity({ x: 2 }, { replace: false, activityType: 'other' }))).toBe(
      before,
    );
    const after = reduce(before, activity({ x: 2 }, { replace: false, metadata: { m: 1 } }));
    expect(after.messages[0]).toEqual({ ...before.messages[0], metadata: { m: 1 } });
  });

  it.each(['assistant', 'user', 'tool', 'reasoning'])(
    'never take the place of a message of role %s',
    (role) => {
      const thread = threadOf({ id: 'a', role, content: 'text' });
      expect(
        reduce(thread, activity({ n: 1 }), change([{ op: 'add', path: '/x', value: 1 }])),
      ).toBe(thread);
    },
  );

  it('change by deltas, with type and metadata', () => {
    const before = reduceAll(activity({ items: [1], keep: {} }));
    const after = reduce(
      before,
      change([{ op: 'add', path: '/items/-', value: 2 }], {
        activityType: 'other',
        metadata: { m: 1 },
      }),
    );
    expect(after.messages[0]).toMatchObject({
      activityType: 'other',
      content: { items: [1, 2] },
      metadata: { m: 1 },
    });
    expect(before.messages[0]?.content).toEqual({ items: [1], keep: {} });
  });

  it.each([
    ['does not fit', [{ op: 'remove', path: '/x' }]],
    ['makes it no object', [{ op: 'replace', path: '', value: 7 }]],
    ['is missing', undefined],
  ])('are stale after a delta whose patch %s, until their next snapshot', (_, patch) => {
    const before = reduceAll(activity({ n: 1 }));
    const stale = reduce(before, change(patch));
    expect(stale.messages).toStrictEqual([{ ...before.messages[0], stale: true }]);
    expect(stale.stale).toBe(false);
    const good = [{ op: 'add', path: '/x', value: 1 }];
    expect(reduce(stale, change(good))).toBe(stale);
    expect(reduce(stale, change(good, { metadata: { m: 1 } })).messages[0]).toMatchObject({
      content: { n: 1 },
      metadata: { m: 1 },
    });
    const fresh = reduce(stale, activity({ n: 2 }), change(good));
    expect(fresh.messages[0]).toStrictEqual({ ...before.messages[0], content: { n: 2, x: 1 } });
  });

  it.each([
    ['a delta for nobody', change([], { messageId: 'x' })],
    ['an empty delta', change([])],
    ['a snapshot without content', activity(undefined)],
    ['content that is no object', activity('x')],
    ['a list as content', activity([])],
    ['a snapshot without type', activity({}, { activityType: undefined })],
    ['a snapshot without id', activity({}, { messageId: undefined })],
  ])('return the same thread for %s', (_, event) => {
    const thread = reduceAll(activity({ n: 1 }));
    expect(reduce(thread, event)).toBe(thread);
  });
});

describe.each([
  ['RAW', { event: { a: 1 } }],
  ['CUSTOM', { name: 'n', value: 1 }],
  ['META', { metaType: 'thumbs', payload: {} }],
  ['SOMETHING_NEW', { messageId: 'm', delta: 'x' }],
  ['toString', {}],
  ['__proto__', {}],
  ['constructor', {}],
])('an event of type %s', (type, more) => {
  it('returns the same thread', () => {
    const thread = reduceAll({ type: 'TEXT_MESSAGE_START', messageId: 'm' });
    expect(reduce(thread, { type, metadata: { a: 1 }, ...more })).toBe(thread);
  });
});
