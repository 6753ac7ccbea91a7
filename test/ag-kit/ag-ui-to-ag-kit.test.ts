import { describe, expect, it } from 'vitest';
import { agUiToAgKit } from '../../src/ag-kit/ag-ui-to-ag-kit.ts';
import { chatOf } from './ag-kit-client.ts';

/** All that a run becomes, which AG-Kit's own client must be able to take. */
function map(...events: readonly unknown[]): unknown[] {
  const mapper = agUiToAgKit();
  const stream = (events as never[]).flatMap(mapper.push);
  chatOf(stream);
  return stream;
}

const text = (content: string) => ({ type: 'text', content });
const start = (toolCallId: string, toolCallName = 'find') => ({
  type: 'tool-call-start',
  toolCallId,
  toolCallName,
});
const args = (toolCallId: string, delta = '{}') => ({ type: 'tool-call-args', toolCallId, delta });
const end = (toolCallId: string) => ({ type: 'tool-call-end', toolCallId });
const result = (toolCallId: string, value = 'found') => ({
  type: 'tool-result',
  toolCallId,
  result: value,
});

const say = (delta: unknown, messageId = 'm') => ({
  type: 'TEXT_MESSAGE_CONTENT',
  messageId,
  delta,
});
const callStart = (toolCallId: unknown, toolCallName: unknown = 'find') => ({
  type: 'TOOL_CALL_START',
  toolCallId,
  toolCallName,
});
const callArgs = (toolCallId: unknown, delta: unknown = '{}') => ({
  type: 'TOOL_CALL_ARGS',
  toolCallId,
  delta,
});
const callEnd = (toolCallId: unknown) => ({ type: 'TOOL_CALL_END', toolCallId });
const callResult = (toolCallId: unknown, content: unknown = 'found') => ({
  type: 'TOOL_CALL_RESULT',
  messageId: 'x',
  toolCallId,
  content,
});
const finished = (outcome?: unknown) => ({
  type: 'RUN_FINISHED',
  threadId: 't',
  runId: 'r',
  outcome,
});

describe('a run', () => {
  it('becomes text, calls and results', () => {
    const run = [
      { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
      { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
      say('Let me '),
      say(''),
      say('look.'),
      callStart('c'),
      callArgs('c'),
      callEnd('c'),
      { type: 'TEXT_MESSAGE_END', messageId: 'm' },
      callResult('c'),
      finished(),
    ];
    expect(map(...run)).toEqual([
      text('Let me '),
      text('look.'),
      start('c'),
      args('c'),
      end('c'),
      result('c'),
      '[DONE]',
    ]);
  });

  it.each([
    [undefined],
    [{ type: 'success', pendingToolCallIds: ['c'] }],
    [{ type: 'cancelled' }],
    [{ type: 'interrupt', interrupts: 'none' }],
    ['odd'],
  ])('ends with [DONE] once: %j', (outcome) => {
    expect(map(finished(outcome), finished(outcome), say('late'))).toEqual(['[DONE]']);
  });

  it('breaks the stream where it failed', () => {
    const { push } = agUiToAgKit();
    let error: unknown;
    try {
      push({ type: 'RUN_ERROR', message: 'No model.', code: 'no_model' });
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ message: 'No model.', code: 'no_model' });
    expect(push({ type: 'RUN_FINISHED', threadId: 't', runId: 'r' })).toEqual([]);
  });

  it('says a failure that has no message', () => {
    expect(() => agUiToAgKit().push({ type: 'RUN_ERROR' } as never)).toThrow('Run failed');
  });

  it('passes nothing that is not text, calls or the end', () => {
    const lost = [
      { type: 'STATE_SNAPSHOT', snapshot: {} },
      { type: 'STATE_DELTA', delta: [] },
      { type: 'MESSAGES_SNAPSHOT', messages: [] },
      { type: 'ACTIVITY_SNAPSHOT', messageId: 'a', activityType: 'x', content: {} },
      { type: 'ACTIVITY_DELTA', messageId: 'a', activityType: 'x', patch: [] },
      { type: 'STEP_STARTED', stepName: 's' },
      { type: 'STEP_FINISHED', stepName: 's' },
      { type: 'REASONING_START', messageId: 'q' },
      { type: 'REASONING_MESSAGE_START', messageId: 'q' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId: 'q', delta: 'hm' },
      { type: 'REASONING_MESSAGE_CHUNK', messageId: 'q2', delta: 'hm' },
      { type: 'REASONING_MESSAGE_END', messageId: 'q' },
      { type: 'REASONING_END', messageId: 'q' },
      { type: 'SUBAGENT_STARTED', subagentRunId: 's', name: 'helper' },
      { type: 'SUBAGENT_FINISHED', subagentRunId: 's' },
      { type: 'RAW', event: {} },
      { type: 'CUSTOM', name: 'n', value: 1 },
      { type: 'THINKING_TEXT_MESSAGE_CONTENT', delta: 'hm' },
      { type: '__proto__' },
      {},
      null,
      'text',
    ];
    expect(map(...lost)).toEqual([]);
  });

  it('passes only what the assistant says', () => {
    const run = [
      { type: 'TEXT_MESSAGE_START', messageId: 'u', role: 'user' },
      say('mine', 'u'),
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 's', role: 'system', delta: 'rules' },
      { type: 'TEXT_MESSAGE_CHUNK', delta: ' and more' },
      { type: 'TEXT_MESSAGE_START', messageId: '__proto__' },
      say('yours', '__proto__'),
    ];
    expect(map(...run)).toEqual([text('yours')]);
  });
});

describe('calls', () => {
  it('keep results back while the arguments of others stream', () => {
    const run = [
      callStart('a'),
      callStart('b'),
      callEnd('a'),
      callArgs('b', '{'),
      callResult('a'),
      callArgs('b', '}'),
      say('Then '),
      callStart('c'),
      callArgs('c', '1'),
      callEnd('b'),
      callResult('c'),
      callResult('b'),
      finished(),
    ];
    expect(map(...run)).toEqual([
      start('a'),
      start('b'),
      end('a'),
      args('b', '{'),
      args('b', '}'),
      end('b'),
      result('a'),
      text('Then '),
      start('c'),
      args('c', '1'),
      end('c'),
      result('c'),
      result('b'),
      '[DONE]',
    ]);
  });

  it('that wait themselves take no arguments behind their end', () => {
    const run = [
      callStart('a'),
      callResult('x'),
      callStart('b'),
      callArgs('b', '1'),
      callEnd('b'),
      callArgs('b', 'late'),
      callEnd('a'),
    ];
    expect(map(...run)).toEqual([
      start('a'),
      end('a'),
      result('x'),
      start('b'),
      args('b', '1'),
      end('b'),
    ]);
  });

  it('keep back nothing once no arguments stream', () => {
    const { push } = agUiToAgKit();
    const steps = [callStart('a'), callEnd('a'), callResult('a'), say('x')] as never[];
    expect(steps.map((event) => push(event).length)).toEqual([1, 1, 1, 1]);
  });

  it('end where the run ends or their result comes', () => {
    expect(map(callStart('a'), callResult('a'))).toEqual([start('a'), end('a'), result('a')]);
    expect(map(callStart('a'), callStart('b'), callEnd('a'), callResult('a'), finished())).toEqual([
      start('a'),
      start('b'),
      end('a'),
      end('b'),
      result('a'),
      '[DONE]',
    ]);
  });

  it('start, end and are answered once', () => {
    const run = [
      callStart('a'),
      callStart('a', 'other'),
      callEnd('a'),
      callEnd('a'),
      callArgs('a'),
      callResult('a'),
      callResult('a', 'again'),
      callStart('a'),
      callArgs('x'),
      callEnd('x'),
    ];
    expect(map(...run)).toEqual([start('a'), end('a'), result('a')]);
  });

  it('are answered from outside the run', () => {
    expect(map(callResult('old'))).toEqual([result('old')]);
  });

  it('are skipped where something is missing', () => {
    const run = [
      callStart(undefined),
      callStart('a', null),
      callArgs('a'),
      callStart('b'),
      callArgs('b', {}),
      callResult({}),
      callResult(undefined),
    ];
    expect(map(...run)).toEqual([start('b')]);
  });

  it('have results in text', () => {
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ];
    const media = [...parts, { type: 'image', source: { type: 'url', value: 'https://x' } }];
    const results = [parts, media, [], [null], null, 7];
    expect(map(...results.map((content, index) => callResult(`c${index}`, content)))).toEqual(
      ['ab', JSON.stringify(media), '', '[null]', '', '7'].map((value, index) =>
        result(`c${index}`, value),
      ),
    );
  });

  it('let a hundred thousand events go that waited for them', () => {
    const { push } = agUiToAgKit();
    const texts = Array.from({ length: 100_000 }, (_, index) => say(`${index}`));
    const run = [callStart('a'), callResult('x'), ...texts] as never[];
    expect(run.flatMap(push)).toEqual([start('a')]);
    const before = performance.now();
    expect(push(callEnd('a') as never)).toHaveLength(texts.length + 2);
    // One by one off the front of a list it takes ten seconds.
    expect(performance.now() - before).toBeLessThan(2500);
  });

  it('may be nested as deep as they like', () => {
    const ids = Array.from({ length: 3000 }, (_, index) => `c${index}`);
    const run = [
      ...ids.flatMap((id) => [callStart(id), callResult(`before ${id}`)]),
      ...ids.reverse().map(callEnd),
      finished(),
    ];
    expect(map(...run)).toHaveLength(3 * ids.length + 1);
  });

  it('take ids that every object has', () => {
    const run = ['__proto__', 'constructor'].flatMap((id) => [
      callStart(id),
      callArgs(id),
      callEnd(id),
      callResult(id),
    ]);
    expect(map(...run)).toHaveLength(8);
  });
});

describe('chunks', () => {
  const chunk = (more: object) => ({ type: 'TOOL_CALL_CHUNK', ...more });

  it('of text are text', () => {
    const run = [
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', delta: 'a' },
      { type: 'TEXT_MESSAGE_CHUNK', delta: 'b' },
      { type: 'TEXT_MESSAGE_CHUNK' },
    ];
    expect(map(...run)).toEqual([text('a'), text('b')]);
  });

  it('of a call start it; it ends with its result or with the run', () => {
    const run = [
      chunk({ toolCallId: 'a', toolCallName: 'find', delta: '{' }),
      chunk({ delta: '}' }),
      chunk({ toolCallId: 'b', toolCallName: 'pay' }),
      say('x'),
      callResult('b'),
      callResult('a'),
      chunk({ toolCallId: 'd', toolCallName: 'find', delta: '1' }),
      finished(),
    ];
    expect(map(...run)).toEqual([
      start('a'),
      args('a', '{'),
      args('a', '}'),
      start('b', 'pay'),
      text('x'),
      end('b'),
      end('a'),
      result('b'),
      result('a'),
      start('d'),
      args('d', '1'),
      end('d'),
      '[DONE]',
    ]);
  });

  it('end the calls of who has a result: what follows it waits for nobody', () => {
    const run = [
      chunk({ toolCallId: 'page', toolCallName: 'pay', delta: '{}' }),
      chunk({ toolCallId: 'other', toolCallName: 'find', subagentRunId: 's' }),
      chunk({ toolCallId: 'server', toolCallName: 'find' }),
      callResult('server'),
      chunk({ delta: 'late' }),
      { ...chunk({ delta: '1' }), subagentRunId: 's' },
      { ...callResult('other'), subagentRunId: 's' },
      say('Then'),
    ];
    expect(map(...run)).toEqual([
      start('page', 'pay'),
      args('page'),
      start('other'),
      start('server'),
      end('server'),
      end('page'),
      args('other', '1'),
      end('other'),
      result('server'),
      result('other'),
      text('Then'),
    ]);
  });

  it('of subagents go on each with its own call, or with the one that they name', () => {
    const run = [
      chunk({ toolCallId: 'a', toolCallName: 'find', subagentRunId: 's' }),
      chunk({ toolCallId: 'b', toolCallName: 'find', subagentRunId: 't' }),
      chunk({ delta: '1', subagentRunId: 's' }),
      chunk({ delta: '2', subagentRunId: 't' }),
      chunk({ delta: '3', toolCallId: 'a' }),
      chunk({ delta: '4' }),
      finished(),
    ];
    expect(chatOf(map(...run) as never).messages).toMatchObject([
      { toolCalls: [{ arguments: '134' }, { arguments: '2' }] },
    ]);
  });

  it('that name nothing go on with the only call there is', () => {
    const run = [
      chunk({ toolCallId: 'a', toolCallName: 'find', subagentRunId: 's' }),
      chunk({ delta: '1' }),
      finished(),
    ];
    expect(map(...run)).toEqual([start('a'), args('a', '1'), end('a'), '[DONE]']);
  });

  it('that belong to nothing are skipped', () => {
    const run = [chunk({ delta: '1' }), chunk({ toolCallId: 'a', delta: '1' }), finished()];
    expect(map(...run)).toEqual(['[DONE]']);
  });
});

describe('interrupts', () => {
  const ask = (...interrupts: unknown[]) =>
    map(finished({ type: 'interrupt', interrupts })).slice(0, -1);
  const asked = { id: 'i', reason: 'approval' };

  it('come before the end, each in an event', () => {
    const metadata = { payload: 'x' };
    expect(
      map(finished({ type: 'interrupt', interrupts: [{ ...asked, metadata }, asked] })),
    ).toEqual([
      { type: 'interrupt', ...asked, payload: 'x' },
      { type: 'interrupt', ...asked, payload: {} },
      '[DONE]',
    ]);
  });

  it('have in their payload what AG-Kit does not know', () => {
    const rest = {
      message: 'Pay?',
      toolCallId: 'c',
      responseSchema: { type: 'object' },
      expiresAt: '2030-01-01T00:00:00Z',
    };
    const payload = { price: 24, message: 'Own.' };
    const metadata = { note: 1 };
    expect(
      ask(
        { ...asked, ...rest },
        { ...asked, ...rest, metadata },
        { ...asked, ...rest, metadata: { payload } },
        { ...asked, ...rest, metadata: { payload: ['a'] } },
        { ...asked, metadata: { payload: null } },
      ),
    ).toEqual(
      [rest, { ...rest, metadata }, { ...rest, ...payload }, ['a'], null].map((one) => ({
        type: 'interrupt',
        ...asked,
        payload: one,
      })),
    );
  });

  it('are skipped where they are none', () => {
    expect(ask(null, 'x', {}, { id: 1, reason: 'r' })).toEqual([]);
  });
});
