import { describe, expect, it } from 'vitest';
import * as zod4 from 'zod';
import * as zod3 from 'zod-3';
import { fromSendMessageInput, toSendMessageInput } from '../../src/ag-kit/send-message-input.ts';
import type { RunAgentInput } from '../../src/ag-ui/input.ts';
import type { AgUiMessage } from '../../src/ag-ui/messages.ts';

const input = (more: Partial<RunAgentInput> = {}): RunAgentInput => ({
  threadId: 't',
  runId: 'r',
  messages: [],
  tools: [],
  context: [],
  ...more,
});
const messages: AgUiMessage[] = [
  { id: 'u1', role: 'user', content: 'One.' },
  { id: 'a1', role: 'assistant', content: 'Two.' },
  { id: 'u2', role: 'user', content: 'Three.' },
];

describe('a request to an AG-Kit server', () => {
  it('has the messages behind the one that it knows', () => {
    const contents = (cursor?: string) =>
      toSendMessageInput(input({ messages }), cursor).messages?.map(({ content }) => content);
    expect(contents('a1')).toEqual(['Three.']);
    expect(contents('u2')).toBeUndefined();
    expect(contents()).toEqual(['One.', 'Two.', 'Three.']);
    expect(contents('gone')).toEqual(['One.', 'Two.', 'Three.']);
    expect(contents('__proto__')).toEqual(['One.', 'Two.', 'Three.']);
    const nameless = messages.map(({ id, ...message }) => message) as AgUiMessage[];
    expect(toSendMessageInput(input({ messages: nameless })).messages).toHaveLength(3);
  });

  it('has no keys for what there is not', () => {
    expect(Object.keys(toSendMessageInput(input({ state: { a: 1 }, resume: [] })))).toEqual([
      'conversationId',
    ]);
  });

  it('has text in place of parts, and neither thoughts nor activities', () => {
    const mixed: AgUiMessage[] = [
      { id: 'd', role: 'developer', content: 'Be brief.' },
      {
        id: 'u',
        role: 'user',
        content: [
          { type: 'text', text: 'Look ' },
          { type: 'image', source: { type: 'url', value: 'https://x' } },
          { type: 'text', text: 'here.' },
        ],
      },
      { id: 'q', role: 'reasoning', content: 'Hm.' },
      { id: 'v', role: 'activity', activityType: 'x', content: {} },
      { id: 'n', role: 'assistant', content: null as never },
    ];
    expect(toSendMessageInput(input({ messages: mixed })).messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Look here.' },
      { role: 'assistant' },
    ]);
  });

  it('answers the first interrupt', () => {
    const resume = [
      { interruptId: 'i', status: 'resolved', payload: { ok: true } },
      { interruptId: 'j', status: 'resolved' },
    ] as const;
    expect(toSendMessageInput(input({ resume: [...resume] })).resume).toEqual({
      interruptId: 'i',
      payload: { ok: true },
    });
    expect(toSendMessageInput(input({ resume: [resume[1]] })).resume).toEqual({
      interruptId: 'j',
      payload: {},
    });
  });

  it('cannot cancel an interrupt, unless a payload stands for that', () => {
    const cancelled = input({ resume: [{ interruptId: 'i', status: 'cancelled' }] });
    expect(() => toSendMessageInput(cancelled)).toThrow(
      expect.objectContaining({
        name: 'RunSocketError',
        code: 'unsupported',
        message: 'AG-Kit cannot cancel: pass a cancelPayload or messages.',
      }),
    );
    expect(
      toSendMessageInput(cancelled, undefined, { cancelPayload: { cancelled: true } }).resume,
    ).toEqual({ interruptId: 'i', payload: { cancelled: true } });
  });

  it('leaves an interrupt unanswered that is cancelled by a new question', () => {
    const messages = [
      { id: 'a', role: 'user' as const, content: 'Pay.' },
      { id: 'b', role: 'user' as const, content: 'Wait.' },
    ];
    const cancelled = input({
      messages,
      resume: [{ interruptId: 'i', status: 'cancelled', payload: 'no' }],
    });
    const sent = { conversationId: 't', messages: [{ role: 'user', content: 'Wait.' }] };
    expect(toSendMessageInput(cancelled, 'a')).toEqual(sent);
    expect(toSendMessageInput(cancelled, 'a')).not.toHaveProperty('resume');
    // What is no message for AG-Kit is none to go on with.
    const thought = { id: 'c', role: 'reasoning' as const, content: 'Hm.' };
    expect(() =>
      toSendMessageInput({ ...cancelled, messages: [...messages, thought] }, 'b'),
    ).toThrow(expect.objectContaining({ code: 'unsupported' }));
  });

  it('sends the first answer of several that AG-Kit can say', () => {
    const answers = input({
      resume: [
        { interruptId: 'i', status: 'cancelled' },
        { interruptId: 'j', status: 'resolved', payload: { approved: true } },
        { interruptId: 'k', status: 'resolved', payload: 1 },
      ],
    });
    expect(toSendMessageInput(answers).resume).toEqual({
      interruptId: 'j',
      payload: { approved: true },
    });
    expect(toSendMessageInput(answers, undefined, { cancelPayload: false }).resume).toEqual({
      interruptId: 'i',
      payload: false,
    });
  });

  it('has payload and parameters as JSON text where it is asked to', () => {
    const given = input({
      resume: [{ interruptId: 'i', status: 'resolved', payload: 'yes' }],
      tools: [
        { name: 'a', description: 'A', parameters: { type: 'object' } },
        { name: 'b', description: 'B' },
        { name: 'c', description: 'C', parameters: '{"type":"object"}' },
      ],
    });
    const { resume, tools } = toSendMessageInput(given, undefined, { jsonText: true });
    expect(resume?.payload).toBe('"yes"');
    expect(tools?.map(({ parameters }) => parameters)).toEqual([
      '{"type":"object"}',
      '{}',
      '{"type":"object"}',
    ]);
  });

  it('has the JSON Schema of a zod 4 schema', () => {
    const parameters = zod4.object({ city: zod4.string() });
    const { tools } = toSendMessageInput(
      input({ tools: [{ name: 'a', description: 'A', parameters }] }),
    );
    expect(tools?.[0]?.parameters).toMatchObject({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    });
  });

  it('has the JSON Schema of any schema that can tell it', () => {
    const asked: unknown[] = [];
    const parameters = {
      '~standard': {
        version: 1,
        vendor: 'mine',
        jsonSchema: {
          input(options: unknown) {
            asked.push(options);
            return { type: 'object' };
          },
        },
      },
    };
    const tool = { name: 'a', description: 'A', parameters };
    expect(toSendMessageInput(input({ tools: [tool] })).tools?.[0]?.parameters).toEqual({
      type: 'object',
    });
    expect(asked).toEqual([{ target: 'draft-2020-12' }]);
  });

  it('refuses a zod 3 schema with advice', () => {
    const parameters = zod3.object({ city: zod3.string() });
    const tool = { name: 'find', description: 'A', parameters };
    expect(() => toSendMessageInput(input({ tools: [tool] }))).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message: expect.stringMatching(/find.*z\.toJSONSchema/),
      }),
    );
  });
});

describe('a request from an AG-Kit client', () => {
  it('follows the thread that is known', () => {
    const given = { conversationId: 't', messages: [{ role: 'user' as const, content: 'Three.' }] };
    const { messages: all } = fromSendMessageInput(given, {
      runId: 'r',
      messages: messages.slice(0, 2),
    });
    expect(all).toEqual([
      ...messages.slice(0, 2),
      { id: 'ag-kit-input:r:0', role: 'user', content: 'Three.' },
    ]);
  });

  it('has the same ids each time', () => {
    const given = { conversationId: 't', messages: [{ role: 'user' as const, content: 'a' }] };
    expect(fromSendMessageInput(given, { runId: 'r' })).toEqual(
      fromSendMessageInput(given, { runId: 'r' }),
    );
  });

  it.each([
    [{ ok: true }, { ok: true }],
    ['{"ok":true}', { ok: true }],
    ['"yes"', 'yes'],
    ['yes', 'yes'],
    ['{"ok":', '{"ok":'],
    [null, null],
  ])('has the payload %j read as %j', (payload, expected) => {
    const resume = { interruptId: 'i', payload };
    expect(fromSendMessageInput({ conversationId: 't', resume }, { runId: 'r' }).resume).toEqual([
      { interruptId: 'i', status: 'resolved', payload: expected },
    ]);
  });

  it('has tools whose parameters were objects, JSON text or missing', () => {
    const tools = [
      { name: 'a', description: 'A', parameters: { type: 'object' } },
      { name: 'b', description: 'B', parameters: '{"type":"object"}' },
      { name: 'c', description: 'C' } as never,
    ];
    expect(fromSendMessageInput({ conversationId: 't', tools }, { runId: 'r' }).tools).toEqual([
      { name: 'a', description: 'A', parameters: { type: 'object' } },
      { name: 'b', description: 'B', parameters: { type: 'object' } },
      { name: 'c', description: 'C' },
    ]);
  });

  it('is a whole input where nothing else came', () => {
    expect(fromSendMessageInput({ conversationId: 't' }, { runId: 'r' })).toEqual(input());
  });
});
