import { describe, expect, it } from 'vitest';
import * as zod4 from 'zod';
import * as zod3 from 'zod-3';
import { createRunInput, restOfInput } from '../../src/ag-ui/input.ts';
import type { AgUiMessage } from '../../src/ag-ui/messages.ts';
import { type AgUiThread, emptyThread } from '../../src/ag-ui/thread.ts';
import { deepFreeze } from '../helpers/deep-freeze.ts';
import { reduce, reduceAll, threadOf } from '../helpers/reduce.ts';

const ids = { threadId: 't', runId: 'r' };
const call = (id: string) => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: '{}' },
  encryptedValue: `e-${id}`,
});

describe('createRunInput', () => {
  it('sends messages and empty tools, context and forwardedProps, and nothing else', () => {
    expect(createRunInput(threadOf({ id: 'u', role: 'user', content: 'hi' }), ids)).toStrictEqual({
      threadId: 't',
      runId: 'r',
      messages: [{ id: 'u', role: 'user', content: 'hi' }],
      tools: [],
      context: [],
      forwardedProps: {},
    });
  });

  it.each([null, 0, '', false, { a: 1 }])('sends the state %j', (state) => {
    expect(createRunInput(emptyThread({ state }), ids).state).toBe(state);
  });

  it('leaves a stale state out, unless it is passed', () => {
    const stale = reduce(deepFreeze(emptyThread<unknown>({ state: { a: 1 } })), {
      type: 'STATE_DELTA',
      delta: [{ op: 'remove', path: '/x' }],
    });
    expect(stale.stale).toBe(true);
    expect(createRunInput(stale, ids)).not.toHaveProperty('state');
    const input = { state: { a: 2 } };
    expect(createRunInput(stale, { ...ids, input }).state).toBe(input.state);
  });

  it('prefers what the caller passes, and passes resume, parentRunId and protocolVersion', () => {
    const input = {
      tools: [{ name: 'n', description: 'd', parameters: { type: 'object' } }],
      context: [{ description: 'd', value: 'v' }],
      forwardedProps: { command: 1 },
      state: { mine: true },
      resume: [{ interruptId: 'i', status: 'resolved' as const, payload: 1 }],
      parentRunId: 'p',
      protocolVersion: '1.0',
    };
    const thread = deepFreeze(emptyThread({ state: { mine: false } }));
    expect(createRunInput(thread, { ...ids, input: deepFreeze(input) })).toStrictEqual({
      ...ids,
      messages: [],
      ...input,
    });
  });

  it('does not let input change the ids, and ignores what is undefined or unknown', () => {
    const input = { threadId: 'x', runId: 'y', tools: undefined, messages: [], signal: 1 } as never;
    expect(createRunInput(threadOf(), { ...ids, input })).toStrictEqual({
      ...ids,
      messages: [],
      tools: [],
      context: [],
      forwardedProps: {},
    });
  });

  it('sends every field of every message but the activities', () => {
    const messages = [
      { id: 's', role: 'system', content: 'x', name: 'n' },
      { id: 'a', role: 'assistant', toolCalls: [call('c')], metadata: { usage: 1 }, extra: 1 },
      {
        id: 't',
        role: 'tool',
        toolCallId: 'c',
        content: [{ type: 'text', text: 'x' }],
        error: 'e',
      },
      { id: 'r', role: 'reasoning', content: 'x', encryptedValue: 'e', subagentRunId: 's' },
      { id: 'act', role: 'activity', activityType: 'plan', content: {}, stale: true },
    ] as unknown as AgUiMessage[];
    const input = createRunInput(threadOf(...messages), ids);
    expect(input.messages).toStrictEqual(messages.slice(0, 4));
    expect(input.messages[1]).toBe(messages[1]);
  });

  describe('leaves calls out whose arguments never ended', () => {
    const start = (toolCallId: string, parentMessageId: string) => ({
      type: 'TOOL_CALL_START',
      toolCallId,
      toolCallName: 'f',
      parentMessageId,
    });
    const broken = reduceAll(
      { type: 'TEXT_MESSAGE_START', messageId: 'm' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'text' },
      start('half', 'm'),
      start('alone', 'n'),
      start('whole', 'o'),
      { type: 'TOOL_CALL_END', toolCallId: 'whole' },
      start('half2', 'o'),
      { type: 'RUN_ERROR', message: 'x' },
    );

    it('and the message where nothing else is in it', () => {
      const { messages } = createRunInput(broken, ids);
      expect(messages).toMatchObject([
        { id: 'm', content: 'text' },
        { id: 'o', toolCalls: [{ id: 'whole' }] },
      ]);
      expect(messages[0]).not.toHaveProperty('toolCalls');
      expect(messages).toHaveLength(2);
      expect(broken.messages).toHaveLength(3);
    });

    it('but not those that were answered all the same', () => {
      const answered: AgUiThread<unknown> = {
        ...broken,
        messages: [
          ...broken.messages,
          { id: 'x', role: 'tool', toolCallId: 'alone', content: 'ok' },
        ],
      };
      expect(createRunInput(answered, ids).messages.map(({ id }) => id)).toEqual([
        'm',
        'n',
        'o',
        'x',
      ]);
    });
  });

  it('survives messages of any shape', () => {
    const thread = threadOf(
      { id: 'a', role: 'assistant', toolCalls: 'x' },
      { id: 'b', role: 'assistant', toolCalls: [null, 7] },
    );
    expect(createRunInput({ ...thread, open: { unended: ['c'] } }, ids).messages).toEqual(
      thread.messages,
    );
  });
});

describe('restOfInput', () => {
  it('is all of a run that its base thread lacks', () => {
    const rest = { tools: [], context: [], forwardedProps: {}, resume: [], parentRunId: 'p' };
    expect(restOfInput({ ...rest, state: null, messages: [], junk: 1 } as never)).toStrictEqual({
      ...rest,
      state: null,
    });
  });

  it('is nothing where there is nothing', () => {
    expect(restOfInput(undefined)).toBeUndefined();
    expect(restOfInput({ messages: [] })).toBeUndefined();
  });

  it('makes the same input again, out of the base thread and JSON', () => {
    const base = deepFreeze(
      emptyThread<unknown>({
        state: { n: 1 },
        messages: [{ id: 'u', role: 'user', content: 'hi' }],
      }),
    );
    const input = {
      messages: [{ role: 'user' as const, content: 'hi' }],
      tools: [{ name: 'n', description: 'd' }],
      state: { n: 2 },
      resume: [{ interruptId: 'i', status: 'cancelled' as const }],
    };
    const stored = JSON.parse(JSON.stringify({ base, rest: restOfInput(input) }));
    expect(createRunInput(stored.base, { ...ids, input: stored.rest })).toEqual(
      createRunInput(base, { ...ids, input }),
    );
  });

  it('has tools with the JSON Schema of their schema objects, which JSON would spoil', () => {
    const parameters = zod4.object({ city: zod4.string() });
    const plain = { name: 'p', description: 'P', parameters: { type: 'object' } };
    const tools = [{ name: 'z', description: 'Z', parameters }, plain];
    const rest = restOfInput({ tools });
    expect(rest?.tools?.[0]).toMatchObject({
      name: 'z',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    });
    expect(rest?.tools?.[1]).toBe(plain);
    const stored = JSON.parse(JSON.stringify(rest));
    expect(createRunInput(emptyThread(), { ...ids, input: stored }).tools).toEqual(
      createRunInput(emptyThread(), { ...ids, input: { tools } }).tools,
    );
  });

  it('refuses a schema object that cannot tell its JSON Schema', () => {
    const parameters = zod3.object({ city: zod3.string() });
    expect(() => restOfInput({ tools: [{ name: 'find', description: 'F', parameters }] })).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message: expect.stringMatching(/find.*z\.toJSONSchema/),
      }),
    );
  });
});
