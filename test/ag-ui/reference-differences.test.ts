import { enforceEvents } from '@ag-ui/client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { reduceWithReference } from '../helpers/ag-ui-reference.ts';
import { type LooseEvent, reduce, reduceAll, threadOf } from '../helpers/reduce.ts';

// Each place where this reducer does not do what @ag-ui/client 1.0.0 does, with both behaviours.

beforeAll(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterAll(() => {
  vi.restoreAllMocks();
});

const theirs = (events: LooseEvent[], from = {}) =>
  reduceWithReference(events, { verify: false, ...from });
const run = { type: 'RUN_STARTED', threadId: 't', runId: 'r' };
const finished = { type: 'RUN_FINISHED', threadId: 't', runId: 'r' };
const text = (messageId: string, delta: string) => ({
  type: 'TEXT_MESSAGE_CONTENT',
  messageId,
  delta,
});
const contents = (result: { messages: readonly { content?: unknown }[] }) =>
  result.messages.map(({ content }) => content);
const ids = (result: { messages: readonly { id: string }[] }) =>
  result.messages.map(({ id }) => id);

describe('unlike @ag-ui/client, the reducer', () => {
  it('keeps thoughts and answer under one id apart', async () => {
    const events = [
      { type: 'TEXT_MESSAGE_START', messageId: 'm' },
      text('m', 'ans'),
      { type: 'REASONING_MESSAGE_START', messageId: 'm', role: 'reasoning' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId: 'm', delta: 'think' },
    ];
    expect(contents(await theirs(events))).toEqual(['ansthink']);
    const { messages } = reduceAll(...events);
    expect(messages.map(({ id, content }) => [id, content])).toEqual([
      ['m', 'ans'],
      ['m~reasoning', 'think'],
    ]);
  });

  it('does not overwrite the parts of a message with text', async () => {
    const message = { id: 'u', role: 'user', content: [{ type: 'text', text: 'parts' }] } as const;
    const messages = [structuredClone(message)];
    expect(contents(await theirs([text('u', 'x')], { messages }))).toEqual(['x']);
    expect(contents(reduce(threadOf(message), text('u', 'x')))).toEqual([message.content]);
  });

  it('does not append text to the answer of a tool', async () => {
    const message = { id: 't', role: 'tool', toolCallId: 'c', content: 'ok' } as const;
    expect(contents(await theirs([text('t', 'x')], { messages: [message] }))).toEqual(['okx']);
    expect(contents(reduce(threadOf(message), text('t', 'x')))).toEqual(['ok']);
  });

  it('does not destroy text for an activity of the same id', async () => {
    const message = { id: 'm', role: 'assistant', content: 'answer' } as const;
    const event = {
      type: 'ACTIVITY_SNAPSHOT',
      messageId: 'm',
      activityType: 'plan',
      content: { n: 1 },
    };
    expect(contents(await theirs([event], { messages: [message] }))).toEqual([{ n: 1 }]);
    expect(contents(reduce(threadOf(message), event))).toEqual(['answer']);
  });

  it('replaces a tool result that is delivered twice', async () => {
    const result = { type: 'TOOL_CALL_RESULT', messageId: 'r', toolCallId: 'c', content: 'ok' };
    expect(ids(await theirs([result, result]))).toEqual(['r', 'r']);
    expect(ids(reduceAll(result, result))).toEqual(['r']);
  });

  it('gives a tool result without a message id one of its call', async () => {
    const result = { type: 'TOOL_CALL_RESULT', toolCallId: 'c', content: 'ok' };
    expect(ids(await theirs([result]))).toEqual([undefined]);
    expect(ids(reduceAll(result))).toEqual(['c:result']);
  });

  it('attaches a call to an assistant that has its id already', async () => {
    const events = [
      { type: 'TEXT_MESSAGE_START', messageId: 'c' },
      { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f' },
    ];
    expect(ids(await theirs(events))).toEqual(['c', 'c']);
    expect(ids(reduceAll(...events))).toEqual(['c']);
  });

  it('skips state deltas after one that failed', async () => {
    const events = [
      { type: 'STATE_DELTA', delta: [{ op: 'remove', path: '/x' }] },
      { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/b', value: 1 }] },
    ];
    expect((await theirs(events, { state: { a: 1 } })).state).toEqual({ a: 1, b: 1 });
    const thread = reduceAll({ type: 'STATE_SNAPSHOT', snapshot: { a: 1 } }, ...events);
    expect(thread).toMatchObject({ state: { a: 1 }, stale: true });
    expect(thread.state).not.toHaveProperty('b');
  });

  it('refuses the whole of a delta with an operation that nobody knows', async () => {
    const delta = [
      { op: 'merge', path: '/a', value: 1 },
      { op: 'add', path: '/b', value: 1 },
    ];
    const event = { type: 'STATE_DELTA', delta };
    const { of } = await import('rxjs');
    const enforced: unknown[] = [];
    enforceEvents()(of(structuredClone(event)) as never).subscribe((next) => enforced.push(next));
    expect(enforced).toMatchObject([{ delta: [{ op: 'add' }] }]);
    expect(reduceAll({ type: 'STATE_SNAPSHOT', snapshot: {} }, event)).toMatchObject({
      state: {},
      stale: true,
    });
  });

  it('follows RFC 6902 where fast-json-patch does not', async () => {
    const state = { l: [1, 2] };
    for (const [operation, result] of [
      [
        { op: 'copy', from: '/l/length', path: '/n' },
        { l: [1, 2], n: 2 },
      ],
      [{ op: 'remove', path: '' }, null],
      [
        { op: 'add', path: '/a~2', value: 1 },
        { l: [1, 2], 'a~2': 1 },
      ],
    ] as const) {
      const event = { type: 'STATE_DELTA', delta: [operation] };
      expect((await theirs([event], { state })).state).toEqual(result);
      expect(reduceAll({ type: 'STATE_SNAPSHOT', snapshot: state }, event)).toMatchObject({
        state,
        stale: true,
      });
    }
    // … and takes `__proto__` as a key of its own, as JSON does.
    const event = {
      type: 'STATE_DELTA',
      delta: [{ op: 'add', path: '/__proto__', value: { x: 1 } }],
    };
    expect((await theirs([event], { state })).state).toEqual(state);
    const thread = reduceAll({ type: 'STATE_SNAPSHOT', snapshot: state }, event);
    expect(thread.stale).toBe(false);
    expect(Object.keys(thread.state as object)).toContain('__proto__');
  });

  it('skips activity deltas after one that failed', async () => {
    const activity = { messageId: 'a', activityType: 'plan' };
    const events = [
      { type: 'ACTIVITY_SNAPSHOT', ...activity, content: {} },
      { type: 'ACTIVITY_DELTA', ...activity, patch: [{ op: 'remove', path: '/x' }] },
      { type: 'ACTIVITY_DELTA', ...activity, patch: [{ op: 'add', path: '/b', value: 1 }] },
    ];
    expect((await theirs(events)).messages).toMatchObject([{ content: { b: 1 } }]);
    const { messages } = reduceAll(...events);
    expect(messages).toMatchObject([{ content: {}, stale: true }]);
    expect(messages[0]?.content).toEqual({});
  });

  it('takes the last of several snapshot messages with one id', async () => {
    const event = {
      type: 'MESSAGES_SNAPSHOT',
      messages: [
        { id: 'u', role: 'user', content: '1' },
        { id: 'u', role: 'user', content: '2' },
      ],
    };
    expect(contents(await theirs([event]))).toEqual(['1', '2']);
    expect(contents(reduceAll(event))).toEqual(['2']);
  });

  it('keeps snapshot messages of a role that nobody knows', async () => {
    const event = {
      type: 'MESSAGES_SNAPSHOT',
      messages: [{ id: 'x', role: 'critic', content: 'meh' }],
    };
    const { of } = await import('rxjs');
    const enforced: { messages?: unknown[] }[] = [];
    enforceEvents()(of(structuredClone(event)) as never).subscribe((next) =>
      enforced.push(next as never),
    );
    expect(enforced[0]?.messages).toEqual([]);
    expect(ids(reduceAll(event))).toEqual(['x']);
  });

  it('keeps the objects of messages that an event does not change', async () => {
    const message = { id: 'u', role: 'user', content: 'hi' } as const;
    const messages = [message];
    const event = { type: 'MESSAGES_SNAPSHOT', messages: [{ ...message }] };
    const reference = await theirs([event], { messages });
    expect(reference.messages[0]).not.toBe(message);
    const thread = threadOf(message);
    expect(reduce(thread, event)).toBe(thread);
  });

  it('drops chunks that fit nothing or several things, instead of failing', async () => {
    const open = ['a', 'b'].map((subagentRunId) => ({
      type: 'TEXT_MESSAGE_CHUNK',
      messageId: subagentRunId,
      delta: 'x',
      subagentRunId,
    }));
    for (const events of [
      [{ type: 'TEXT_MESSAGE_CHUNK', delta: 'x' }],
      [{ type: 'TOOL_CALL_CHUNK', toolCallId: 'c', delta: 'x' }],
      [...open, { type: 'TEXT_MESSAGE_CHUNK', delta: 'x' }],
    ]) {
      await expect(theirs(events)).rejects.toThrow();
      expect(reduceAll(...events)).toEqual(reduceAll(...events.slice(0, -1)));
    }
  });

  it('lets the opener win where a later chunk disagrees, instead of failing', async () => {
    const events = [
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', role: 'user', delta: 'a' },
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', role: 'system', delta: 'b' },
    ];
    await expect(theirs(events)).rejects.toThrow('does not match');
    expect(reduceAll(...events).messages).toMatchObject([{ role: 'user', content: 'ab' }]);
  });

  it('goes between two calls by id alone, instead of failing', async () => {
    const chunk = (toolCallId: string, delta: string, toolCallName?: string) => ({
      type: 'TOOL_CALL_CHUNK',
      toolCallId,
      delta,
      ...(toolCallName && { toolCallName }),
    });
    const events = [chunk('a', '1', 'f'), chunk('b', '2', 'g'), chunk('a', '3')];
    await expect(theirs(events)).rejects.toThrow('must have a toolCallName');
    expect(reduceAll(...events).messages).toMatchObject([
      { toolCalls: [{ function: { arguments: '13' } }] },
      { toolCalls: [{ function: { arguments: '2' } }] },
    ]);
  });

  it('goes on with a stream that is resumed in the middle', async () => {
    const messages = [{ id: 'm', role: 'assistant', content: 'Hel' }] as const;
    await expect(
      reduceWithReference([text('m', 'lo')], { messages, verify: true }),
    ).rejects.toThrow('RUN_STARTED');
    expect(contents(reduce(threadOf(...messages), text('m', 'lo')))).toEqual(['Hello']);
  });

  it('keeps interrupts when a plain end follows in the same stream', async () => {
    const asked = {
      ...finished,
      outcome: { type: 'interrupt', interrupts: [{ id: 'i', reason: 'ask' }] },
    };
    expect((await theirs([run, asked, finished])).interrupts).toEqual([]);
    expect(reduceAll(run, asked, finished).interrupts).toMatchObject([{ id: 'i' }]);
  });

  it('knows how a run ended', async () => {
    const events = [run, { type: 'RUN_ERROR', message: 'boom', code: 'x' }];
    expect(Object.keys(await theirs(events))).toEqual(['messages', 'state', 'interrupts']);
    expect(reduceAll(...events)).toMatchObject({
      status: 'error',
      error: { message: 'boom', code: 'x' },
    });
  });

  it('takes the thinking events of older servers, with ids that a replay makes again', async () => {
    const events = [
      run,
      { type: 'THINKING_TEXT_MESSAGE_START' },
      { type: 'THINKING_TEXT_MESSAGE_CONTENT', delta: 'hm' },
      { type: 'THINKING_TEXT_MESSAGE_END' },
    ];
    // Its apply stage does not know them; its boundary before makes random ids.
    expect((await theirs(events)).messages).toEqual([]);
    expect(reduceAll(...events).messages).toEqual([
      { id: 'r:thinking:0', role: 'reasoning', content: 'hm' },
    ]);
  });
});
