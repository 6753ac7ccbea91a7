import { describe, expect, it } from 'vitest';
import { type AgKitToAgUiOptions, agKitToAgUi } from '../../src/ag-kit/ag-kit-to-ag-ui.ts';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import { validateAgUiEvents } from '../../src/ag-ui/validate-ag-ui-events.ts';
import { reduceAll } from '../helpers/reduce.ts';
import { generateGarbage } from './random-streams.ts';

const ids = { threadId: 't', runId: 'r' };
const started = { type: 'RUN_STARTED', ...ids };

/** All that a stream becomes, which must be in AG-UI's order. */
function map(stream: readonly unknown[], options?: Partial<AgKitToAgUiOptions>): AgUiEvent[] {
  const mapper = agKitToAgUi({ ...ids, ...options });
  const events = (stream as never[]).flatMap(mapper.push);
  expect(validateAgUiEvents(events)).toEqual([]);
  return events;
}

const text = (content: unknown) => ({ type: 'text', content });
const start = (toolCallId: unknown, toolCallName: unknown = 'find') => ({
  type: 'tool-call-start',
  toolCallId,
  toolCallName,
});
const args = (toolCallId: unknown, delta: unknown = '{}') => ({
  type: 'tool-call-args',
  toolCallId,
  delta,
});
const end = (toolCallId: unknown) => ({ type: 'tool-call-end', toolCallId });
const result = (toolCallId: unknown, value: unknown = 'found') => ({
  type: 'tool-result',
  toolCallId,
  result: value,
});
const interrupt = (id: unknown, payload?: unknown, reason: unknown = 'approval') => ({
  type: 'interrupt',
  id,
  reason,
  payload,
});
const success = { type: 'RUN_FINISHED', ...ids, outcome: { type: 'success' } };

describe('a stream', () => {
  it('becomes one run with a message, a call and its result', () => {
    const stream = [
      text('Let me '),
      text('look.'),
      start('c1'),
      args('c1', '{"q":'),
      args('c1', '1}'),
      end('c1'),
      result('c1'),
      text('Here.'),
      '[DONE]',
    ];
    const messageId = 'ag-kit:r:0';
    expect(map(stream)).toEqual([
      started,
      { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'Let me ' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'look.' },
      {
        type: 'TOOL_CALL_START',
        toolCallId: 'c1',
        toolCallName: 'find',
        parentMessageId: messageId,
      },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{"q":' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '1}' },
      { type: 'TOOL_CALL_END', toolCallId: 'c1' },
      { type: 'TEXT_MESSAGE_END', messageId },
      {
        type: 'TOOL_CALL_RESULT',
        messageId: 'ag-kit:r:1',
        toolCallId: 'c1',
        content: 'found',
        role: 'tool',
      },
      { type: 'TEXT_MESSAGE_START', messageId: 'ag-kit:r:2', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'ag-kit:r:2', delta: 'Here.' },
      { type: 'TEXT_MESSAGE_END', messageId: 'ag-kit:r:2' },
      success,
    ]);
  });

  it('keeps text and calls in one message, whichever comes first', () => {
    const { messages } = reduceAll(
      ...map([start('a'), end('a'), text('So.'), start('b'), end('b'), '[DONE]']),
    );
    expect(messages).toMatchObject([
      { id: 'ag-kit:r:0', content: 'So.', toolCalls: [{ id: 'a' }, { id: 'b' }] },
    ]);
  });

  it('gives the same ids when it is read again', () => {
    const stream = [text('a'), start('c'), result('c'), text('b'), '[DONE]'];
    expect(map(stream)).toEqual(map(stream));
  });

  it('starts once, by start() or by its first event', () => {
    const mapper = agKitToAgUi(ids);
    expect(mapper.start()).toEqual([started]);
    expect(mapper.start()).toEqual([]);
    expect(mapper.push({ type: 'text', content: 'a' })).toHaveLength(2);
    const other = agKitToAgUi(ids);
    expect(other.push({ type: 'text', content: 'a' })[0]).toEqual(started);
    expect(other.start()).toEqual([]);
  });

  it.each([['[DONE]'], [{ type: '[DONE]' }]])('ends with %j', (done) => {
    expect(map([text('a'), done]).at(-1)).toEqual(success);
    expect(map([done])).toEqual([started, success]);
  });

  it('has nothing behind its end', () => {
    const mapper = agKitToAgUi(ids);
    mapper.push('[DONE]');
    for (const event of [text('a'), start('c'), '[DONE]', interrupt('i'), { type: 'CUSTOM' }]) {
      expect(mapper.push(event as never)).toEqual([]);
    }
    expect([...mapper.start(), ...mapper.end(), ...mapper.fail(new Error('late'))]).toEqual([]);
  });

  it('skips empty text', () => {
    expect(map([text(''), '[DONE]'])).toEqual([started, success]);
  });

  it('ends calls that are open, and names those that nobody answered', () => {
    const events = map([start('a'), start('b'), end('a'), start('c'), result('c'), '[DONE]']);
    expect(events.slice(-2)).toEqual([
      { type: 'TOOL_CALL_END', toolCallId: 'b' },
      { ...success, outcome: { type: 'success', pendingToolCallIds: ['a', 'b'] } },
    ]);
  });

  it('ends a call before its result', () => {
    expect(map([start('c'), result('c')]).map(({ type }) => type)).toEqual([
      'RUN_STARTED',
      'TOOL_CALL_START',
      'TOOL_CALL_END',
      'TOOL_CALL_RESULT',
    ]);
  });

  it('takes the result of a call that an earlier run made', () => {
    const { messages } = reduceAll(...map([result('old', 'done'), text('Good.'), '[DONE]']));
    expect(messages).toMatchObject([
      { role: 'tool', toolCallId: 'old', content: 'done' },
      { role: 'assistant', content: 'Good.' },
    ]);
  });

  it('goes on with a call whose arguments stream while another is answered', () => {
    const stream = [
      start('a'),
      start('b'),
      args('b', '{'),
      end('a'),
      result('a'),
      args('b', '}'),
      end('b'),
      result('b'),
      '[DONE]',
    ];
    const { messages } = reduceAll(...map(stream));
    expect(messages).toMatchObject([
      {
        role: 'assistant',
        toolCalls: [{ id: 'a' }, { id: 'b', function: { arguments: '{}' } }],
      },
      { toolCallId: 'a' },
      { toolCallId: 'b' },
    ]);
  });
});

describe('what does not belong', () => {
  it.each([
    ['a second start', [start('c'), args('c', '1'), start('c', 'other')]],
    ['a start of an answered call', [start('c'), result('c'), start('c')]],
    ['a second result', [start('c'), result('c'), result('c', 'again')]],
    ['arguments of no call', [args('x')]],
    ['arguments behind the end', [start('c'), end('c'), args('c')]],
    ['the end of no call', [end('x')]],
    ['a second end', [start('c'), end('c'), end('c')]],
    ['text that is none', [text(1)]],
    ['text that is missing', [{ type: 'text' }]],
    ['a call without a name', [start('c', null)]],
    ['a call without an id', [start(undefined)]],
    ['arguments that are an object', [start('c'), args('c', {})]],
    ['a result that is an object', [start('c'), result('c', { a: 1 })]],
    ['an interrupt without an id', [interrupt(undefined)]],
    ['an interrupt without a reason', [interrupt('i', {}, null)]],
    ['an unknown event', [{ type: 'text-start' }]],
    ['a type that is in every object', [{ type: '__proto__' }]],
    ['no event', [null]],
    ['text in place of an event', ['text']],
    ['a list', [[text('a')]]],
  ])('is skipped: %s', (_, stream) => {
    const mapper = agKitToAgUi(ids);
    mapper.start();
    const before = stream.slice(0, -1) as never[];
    before.flatMap(mapper.push);
    expect(mapper.push(stream.at(-1) as never)).toEqual([]);
  });

  it('leaves a stream in order, whatever comes', () => {
    for (let seed = 1; seed <= 3000; seed++) {
      const stream = generateGarbage(seed);
      const mapper = agKitToAgUi({ ...ids, done: seed % 2 ? 'optional' : 'required' });
      const events = [
        ...(seed % 3 ? mapper.start() : []),
        ...(stream as never[]).flatMap(mapper.push),
        ...mapper.end(),
      ];
      expect({ seed, issues: validateAgUiEvents(events) }).toEqual({ seed, issues: [] });
      const ends = events.filter(({ type }) => /^RUN_(FINISHED|ERROR)$/.test(type));
      expect(ends).toEqual([events.at(-1)]);
    }
  });

  it('takes ids that every object has', () => {
    const stream = [start('__proto__'), args('__proto__'), result('__proto__'), '[DONE]'];
    expect(reduceAll(...map(stream)).messages).toMatchObject([
      { toolCalls: [{ id: '__proto__', function: { arguments: '{}' } }] },
      { toolCallId: '__proto__' },
    ]);
    const asked = map([interrupt('__proto__'), '[DONE]']).at(-1);
    expect(asked).toMatchObject({ outcome: { interrupts: [{ id: '__proto__' }] } });
  });
});

describe('an interrupt', () => {
  const interruptsOf = (...stream: unknown[]) => {
    const { outcome } = map([...stream, '[DONE]']).at(-1) as Extract<
      AgUiEvent,
      { type: 'RUN_FINISHED' }
    >;
    return outcome?.type === 'interrupt' ? outcome.interrupts : undefined;
  };

  it('is held back until the run ends with it', () => {
    const mapper = agKitToAgUi(ids);
    mapper.start();
    expect(mapper.push(interrupt('i', { price: 24 }) as never)).toEqual([]);
    expect(mapper.push('[DONE]')).toEqual([
      {
        type: 'RUN_FINISHED',
        ...ids,
        outcome: {
          type: 'interrupt',
          interrupts: [{ id: 'i', reason: 'approval', metadata: { payload: { price: 24 } } }],
        },
      },
    ]);
  });

  it('tells the fields that AG-UI has, as far as their types fit', () => {
    const payload = {
      message: 'Pay?',
      toolCallId: 'c',
      responseSchema: { type: 'object' },
      expiresAt: '2030-01-01T00:00:00Z',
    };
    expect(interruptsOf(interrupt('i', payload))).toEqual([
      { id: 'i', reason: 'approval', ...payload, metadata: { payload } },
    ]);
    const wrong = { message: 1, toolCallId: null, responseSchema: 'x', expiresAt: 12 };
    expect(interruptsOf(interrupt('i', wrong))).toEqual([
      { id: 'i', reason: 'approval', metadata: { payload: wrong } },
    ]);
  });

  it.each([['{"message":"Pay?"}', 'Pay?'], ['{"message":1}'], ['Pay?'], ['["message"]'], [null]])(
    'keeps the payload %j as it came',
    (payload, message?: string) => {
      expect(interruptsOf(interrupt('i', payload))).toEqual([
        { id: 'i', reason: 'approval', ...(message && { message }), metadata: { payload } },
      ]);
    },
  );

  it('may lack its payload', () => {
    expect(interruptsOf({ type: 'interrupt', id: 'i', reason: 'approval' })).toEqual([
      { id: 'i', reason: 'approval' },
    ]);
  });

  it('stands beside others; one that is told twice is told anew', () => {
    const stream = [interrupt('i', 1), interrupt('j', 2), interrupt('i', 3)];
    expect(interruptsOf(...stream)).toEqual([
      { id: 'i', reason: 'approval', metadata: { payload: 3 } },
      { id: 'j', reason: 'approval', metadata: { payload: 2 } },
    ]);
  });
});

describe('a stream that ends without [DONE]', () => {
  it('is an error', () => {
    const mapper = agKitToAgUi(ids);
    mapper.push({ type: 'text', content: 'a' });
    expect(mapper.end()).toEqual([
      { type: 'RUN_ERROR', message: 'The stream ended without [DONE].', code: 'run-lost' },
    ]);
    expect(mapper.end()).toEqual([]);
  });

  it('is an error where nothing came', () => {
    const events = agKitToAgUi(ids).end();
    expect(events).toMatchObject([started, { type: 'RUN_ERROR', code: 'run-lost' }]);
  });

  it('is whole where [DONE] is optional', () => {
    const mapper = agKitToAgUi({ ...ids, done: 'optional' });
    mapper.push({ type: 'text', content: 'a' });
    expect(mapper.end()).toEqual([{ type: 'TEXT_MESSAGE_END', messageId: 'ag-kit:r:0' }, success]);
    expect(mapper.end()).toEqual([]);
  });

  it.each([
    [new Error('No route.'), { message: 'No route.' }],
    [Object.assign(new Error('Busy.'), { status: 503 }), { message: 'Busy.', code: '503' }],
    [
      { message: 'Gone.', code: 'ECONNRESET', status: 1 },
      { message: 'Gone.', code: 'ECONNRESET' },
    ],
    ['text', { message: 'text' }],
    [undefined, { message: 'Run failed' }],
    [{ message: 12 }, { message: 'Run failed' }],
  ])('tells why: %j', (error, told) => {
    const mapper = agKitToAgUi(ids);
    expect(mapper.fail(error)).toEqual([started, { type: 'RUN_ERROR', ...told }]);
    expect([...mapper.fail(error), ...mapper.push('[DONE]')]).toEqual([]);
  });
});

describe('AG-UI events in the stream', () => {
  const message = [
    { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'a' },
    { type: 'TEXT_MESSAGE_END', messageId: 'm' },
  ];

  it('pass as they are', () => {
    const stream = [
      started,
      ...message,
      { type: 'CUSTOM', name: 'n', value: 1, extra: true },
      { type: 'RUN_FINISHED', ...ids },
    ];
    expect(map([...stream, '[DONE]'])).toEqual(stream);
    const failed = [started, { type: 'RUN_ERROR', message: 'No.' }];
    expect(map([...failed, '[DONE]'])).toEqual(failed);
  });

  it('need no RUN_STARTED, and only one counts', () => {
    expect(map([...message, '[DONE]'])).toEqual([started, ...message, success]);
    expect(map([text('a'), started, '[DONE]']).filter((one) => one.type === 'RUN_STARTED')).toEqual(
      [started],
    );
  });

  it('are of the run that was asked for, whatever their server calls it', () => {
    const theirs = { threadId: 'x', runId: 'y' };
    const mapper = agKitToAgUi(ids);
    mapper.start();
    expect(mapper.push({ type: 'RUN_STARTED', ...theirs })).toEqual([]);
    expect(mapper.push({ type: 'RUN_FINISHED', ...theirs })).toMatchObject([{ runId: 'r' }]);
    const input = { ...theirs, messages: [], tools: [], context: [] };
    expect(map([{ type: 'RUN_STARTED', ...theirs, input }, text('a'), '[DONE]'])).toMatchObject([
      { type: 'RUN_STARTED', threadId: 'x', runId: 'r', input },
      {},
      {},
      {},
      success,
    ]);
    const failed = { type: 'RUN_ERROR', message: 'No.' };
    expect(map([{ ...failed, ...theirs }]).at(-1)).toEqual({ ...failed, ...theirs, runId: 'r' });
  });

  it('end once', () => {
    const stream = [started, ...message, { type: 'RUN_FINISHED', ...ids }];
    expect(map([...stream, stream.at(-1), ...stream, '[DONE]'])).toEqual(stream);
  });

  it('are ended where they are open', () => {
    const open = [
      { type: 'TEXT_MESSAGE_START', messageId: 'm', subagentRunId: 's' },
      { type: 'REASONING_START', messageId: 'm' },
      { type: 'REASONING_MESSAGE_START', messageId: 'm', role: 'reasoning' },
      { type: 'STEP_STARTED', stepName: 'one' },
      { type: 'SUBAGENT_STARTED', subagentRunId: 's', name: 'helper' },
      { type: 'SUBAGENT_STARTED', subagentRunId: 's2', name: 'helper' },
      { type: 'SUBAGENT_ERROR', subagentRunId: 's2', message: 'No.' },
      { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'find' },
    ];
    const events = map([...open, '[DONE]']);
    expect(events.slice(9).map(({ type }) => type)).toEqual([
      'TOOL_CALL_END',
      'SUBAGENT_FINISHED',
      'STEP_FINISHED',
      'REASONING_MESSAGE_END',
      'REASONING_END',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ]);
    expect(events.at(-1)).toMatchObject({ outcome: { pendingToolCallIds: ['c'] } });
    expect(map([started, text('a'), { type: 'RUN_FINISHED', ...ids }]).at(-2)).toEqual({
      type: 'TEXT_MESSAGE_END',
      messageId: 'ag-kit:r:0',
    });
  });

  it('end with the interrupts that came before', () => {
    const events = map([interrupt('i'), { type: 'RUN_FINISHED', ...ids, result: 1 }]);
    expect(events.at(-1)).toEqual({
      type: 'RUN_FINISHED',
      ...ids,
      result: 1,
      outcome: { type: 'interrupt', interrupts: [{ id: 'i', reason: 'approval' }] },
    });
  });

  it('answer calls, too', () => {
    const answer = { type: 'TOOL_CALL_RESULT', toolCallId: 'c', content: 'x', messageId: 'm' };
    expect(map([start('c'), end('c'), answer, '[DONE]']).at(-1)).toEqual(success);
    expect(map([start('c'), answer, result('c'), '[DONE]']).at(-1)).toEqual(success);
  });
});
