import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as zod4 from 'zod';
import * as zod3 from 'zod-3';
import { createPicks, generateAgKit, randomJson } from './random-streams.ts';

type Schemas = typeof import('../../src/ag-kit/schemas.ts');
type Name = keyof Schemas;

const majors = { 'zod 3': zod3, 'zod 4': zod4 } as const;
const schemas = {} as Record<keyof typeof majors, Schemas>;

beforeAll(async () => {
  for (const major of ['zod 3', 'zod 4'] as const) {
    vi.resetModules();
    vi.doMock('zod', () => majors[major]);
    schemas[major] = await import('../../src/ag-kit/schemas.ts');
  }
});
afterAll(() => {
  vi.doUnmock('zod');
});

/** What both majors say of a value, which must be the same. */
function check(name: Name, value: unknown): { success: boolean; data?: unknown } {
  const [one, other] = (['zod 3', 'zod 4'] as const).map((major) => {
    const { success, data } = schemas[major][name].safeParse(value);
    return success ? { success, data } : { success };
  });
  expect({ name, value, verdict: one }).toEqual({ name, value, verdict: other });
  return one!;
}

const isAccepted = (name: Name, value: unknown): boolean => check(name, value).success;

const user = { role: 'user', content: 'Hello' };
const call = { id: 'c', type: 'function', function: { name: 'find', arguments: '{}' } };
const tool = { name: 'find', description: 'Finds.', parameters: { type: 'object' } };

describe('the schemas', () => {
  it('are made by the major that they are tested with', () => {
    expect('_zod' in schemas['zod 4'].toolSchema).toBe(true);
    expect('_zod' in schemas['zod 3'].toolSchema).toBe(false);
  });

  it.each<[Name, unknown]>([
    ['systemMessageSchema', { role: 'system', content: '' }],
    ['userMessageSchema', user],
    ['userMessageSchema', { role: 'user', content: '' }],
    ['toolMessageSchema', { role: 'tool', content: '', toolCallId: '' }],
    ['assistantMessageSchema', { role: 'assistant' }],
    ['assistantMessageSchema', { role: 'assistant', content: 'x', toolCalls: [call] }],
    ['assistantMessageSchema', { role: 'assistant', content: undefined, toolCalls: [] }],
    ['clientMessageSchema', { role: 'tool', content: 'x', toolCallId: 'c' }],
    ['toolSchema', tool],
    ['toolSchema', { name: '', description: '', parameters: 0 }],
    ['toolSchema', { ...tool, parameters: '{"type":"object"}' }],
    ['toolSchema', { ...tool, parameters: null }],
    ['sendMessageInputSchema', { conversationId: '' }],
    ['sendMessageInputSchema', { conversationId: 't', messages: [], tools: [] }],
    [
      'sendMessageInputSchema',
      {
        conversationId: 't',
        messages: [user],
        resume: { interruptId: 'i', payload: { ok: true } },
        tools: [tool],
      },
    ],
    ['sendMessageEventSchema', { type: 'text', content: '' }],
    ['sendMessageEventSchema', { type: 'tool-call-start', toolCallId: 'c', toolCallName: 'n' }],
    ['sendMessageEventSchema', { type: 'tool-call-args', toolCallId: 'c', delta: '{' }],
    ['sendMessageEventSchema', { type: 'tool-call-end', toolCallId: 'c' }],
    ['sendMessageEventSchema', { type: 'tool-result', toolCallId: 'c', result: 'r' }],
    ['sendMessageEventSchema', { type: 'interrupt', id: '', reason: '', payload: null }],
  ])('%s takes %j as it is', (name, value) => {
    expect(check(name, value)).toEqual({ success: true, data: value });
  });

  it.each<[Name, unknown]>([
    ['toolSchema', { name: 'find', description: 'Finds.' }],
    ['sendMessageInputSchema', { conversationId: 't', resume: { interruptId: 'i' } }],
    ['sendMessageInputSchema', { conversationId: 't', tools: [{ name: 'a', description: 'b' }] }],
    ['sendMessageEventSchema', { type: 'interrupt', id: 'i', reason: 'r' }],
  ])('%s takes %j, where a key is missing that holds anything', (name, value) => {
    const { success, data } = check(name, value);
    expect(success).toBe(true);
    expect(JSON.stringify(data)).toBe(JSON.stringify(value));
  });

  it.each<[Name, unknown]>([
    ['systemMessageSchema', { role: 'developer', content: 'x' }],
    ['userMessageSchema', { role: 'user', content: [{ type: 'text', text: 'x' }] }],
    ['toolMessageSchema', { role: 'tool', content: 'x' }],
    ['assistantMessageSchema', { role: 'assistant', content: null }],
    ['assistantMessageSchema', { role: 'assistant', toolCalls: [{ ...call, type: 'other' }] }],
    ['assistantMessageSchema', { role: 'assistant', toolCalls: [{ id: 'c', type: 'function' }] }],
    ['clientMessageSchema', { role: 'developer', content: 'x' }],
    ['clientMessageSchema', 'text'],
    ['toolSchema', { name: 'find', parameters: {} }],
    ['sendMessageInputSchema', { messages: [user] }],
    ['sendMessageInputSchema', { conversationId: 1 }],
    ['sendMessageInputSchema', { conversationId: 't', messages: user }],
    ['sendMessageInputSchema', { conversationId: 't', messages: null }],
    ['sendMessageInputSchema', { conversationId: 't', resume: { payload: 1 } }],
    ['sendMessageInputSchema', null],
    ['sendMessageEventSchema', { type: 'tool-result', toolCallId: 'c', result: { a: 1 } }],
    ['sendMessageEventSchema', { type: 'text' }],
    ['sendMessageEventSchema', { type: 'interrupt', id: 'i' }],
    ['sendMessageEventSchema', { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x' }],
    ['sendMessageEventSchema', '[DONE]'],
  ])('%s refuses %j', (name, value) => {
    expect(isAccepted(name, value)).toBe(false);
  });

  it('leave out keys that they do not know', () => {
    expect(check('clientMessageSchema', { ...user, id: 'm', name: 'n' }).data).toEqual(user);
    const event = { type: 'text', content: 'a' };
    expect(check('sendMessageEventSchema', { ...event, offset: 3 }).data).toEqual(event);
    expect(
      check('sendMessageInputSchema', {
        conversationId: 't',
        runId: 'r',
        tools: [{ ...tool, a: 1 }],
      }).data,
    ).toEqual({ conversationId: 't', tools: [tool] });
  });

  it('say the same of every event of a stream', () => {
    for (let seed = 1; seed <= 100; seed++) {
      for (const event of generateAgKit(seed)) {
        expect(isAccepted('sendMessageEventSchema', event)).toBe(event !== '[DONE]');
      }
    }
  });

  it('say the same of what is almost right', () => {
    const samples: [Name, object][] = [
      ['clientMessageSchema', { role: 'assistant', content: 'x', toolCalls: [call] }],
      ['clientMessageSchema', { role: 'tool', content: 'x', toolCallId: 'c' }],
      ['toolSchema', tool],
      [
        'sendMessageInputSchema',
        {
          conversationId: 't',
          messages: [user, { role: 'assistant', toolCalls: [call] }],
          resume: { interruptId: 'i', payload: 1 },
          tools: [tool],
        },
      ],
      ['sendMessageEventSchema', { type: 'tool-call-start', toolCallId: 'c', toolCallName: 'n' }],
      ['sendMessageEventSchema', { type: 'interrupt', id: 'i', reason: 'r', payload: [] }],
    ];
    const verdicts = { true: 0, false: 0 };
    for (let seed = 1; seed <= 2000; seed++) {
      const { pick, chance, below } = createPicks(seed);
      const [name, sample] = pick(samples);
      const value = structuredClone(sample);
      // One field somewhere in it is changed, removed or added.
      let at = value as Record<string, unknown>;
      for (;;) {
        const key = pick(Object.keys(at));
        const next = at[key];
        if (typeof next === 'object' && next && Object.keys(next)[0] && chance(0.7)) {
          at = next as Record<string, unknown>;
          continue;
        }
        if (chance(0.3)) delete at[key];
        else if (chance(0.2)) at[`more${below(3)}`] = randomJson(seed);
        else at[key] = chance(0.2) ? undefined : randomJson(seed);
        break;
      }
      verdicts[`${isAccepted(name, value)}`]++;
    }
    expect(verdicts.true).toBeGreaterThan(200);
    expect(verdicts.false).toBeGreaterThan(200);
  });
});
