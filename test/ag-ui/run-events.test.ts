import { describe, expect, it } from 'vitest';
import { endRun } from '../../src/ag-ui/run-events.ts';
import { emptyThread } from '../../src/ag-ui/thread.ts';
import { deepFreeze } from '../helpers/deep-freeze.ts';
import { reduce, reduceAll, threadOf } from '../helpers/reduce.ts';

const run = (runId = 'r', more = {}) => ({ type: 'RUN_STARTED', threadId: 't', runId, ...more });
const finished = (more = {}) => ({ type: 'RUN_FINISHED', threadId: 't', runId: 'r', ...more });
const failed = (more = {}) => ({ type: 'RUN_ERROR', message: 'boom', ...more });
const cancelled = finished({ outcome: { type: 'cancelled' } });
const interrupt = (...ids: string[]) =>
  finished({
    outcome: { type: 'interrupt', interrupts: ids.map((id) => ({ id, reason: 'ask' })) },
  });
const step = (stepName: unknown, subagentRunId?: string) => ({
  type: 'STEP_STARTED',
  stepName,
  subagentRunId,
});
const stepEnd = (stepName: unknown, subagentRunId?: string) => ({
  type: 'STEP_FINISHED',
  stepName,
  subagentRunId,
});

describe('a run', () => {
  it('starts: the thread knows it and forgets the run before', () => {
    const before = reduceAll(
      run('one', { parentRunId: 'p' }),
      step('a'),
      { type: 'SUBAGENT_STARTED', subagentRunId: 's', name: 'n' },
      { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f' },
      finished({ result: 1, usage: [{ inputTokens: 1 }] }),
      failed({ code: 'x' }),
    );
    expect(before).toMatchObject({ result: 1, parentRunId: 'p', status: 'error' });
    const { messages, ...thread } = reduce(before, run('two'));
    expect(messages).toBe(before.messages);
    expect(thread).toStrictEqual({
      state: undefined,
      status: 'running',
      stale: false,
      runId: 'two',
    });
  });

  it('appends the messages of its input that are new, and leaves known ones and the state alone', () => {
    const thread = deepFreeze(
      emptyThread({ state: { a: 1 }, messages: [{ id: 'u', role: 'user', content: 'mine' }] }),
    );
    const next = reduce(
      thread,
      run('r', {
        input: {
          state: { a: 2 },
          messages: [
            { id: 'u', role: 'user', content: 'theirs' },
            { id: 'v', role: 'user', content: 'new', subagentRunId: null },
            { id: 'v', role: 'user', content: 'again' },
            null,
            { role: 'user', content: 'no id' },
          ],
        },
      }),
    );
    expect(next.messages).toStrictEqual([
      { id: 'u', role: 'user', content: 'mine' },
      { id: 'v', role: 'user', content: 'new' },
    ]);
    expect(next.state).toBe(thread.state);
  });

  it('starts while one is running without harm to messages and state', () => {
    const thread = reduceAll(run(), { type: 'TEXT_MESSAGE_START', messageId: 'm' }, run());
    expect(thread).toMatchObject({ status: 'running', messages: [{ id: 'm' }] });
  });

  it('starts again after its end', () => {
    expect(reduceAll(run(), finished(), run()).status).toBe('running');
    expect(reduceAll(run(), failed(), run())).not.toHaveProperty('error');
  });

  it.each([
    ['success', finished({ outcome: { type: 'success' }, result: { a: 1 } }), 'finished', { a: 1 }],
    ['no outcome', finished({ result: 0 }), 'finished', 0],
    ['a null outcome and result', finished({ outcome: null, result: null }), 'finished', undefined],
    ['an outcome nobody knows', finished({ outcome: { type: 'later' } }), 'finished', undefined],
    ['an interrupt', interrupt('i'), 'finished', undefined],
    ['a cancellation', cancelled, 'aborted', undefined],
  ])('finishes with %s', (_, event, status, result) => {
    const thread = reduceAll(run(), event);
    expect(thread.status).toBe(status);
    expect(thread.result).toEqual(result);
    expect('result' in thread).toBe(result !== undefined);
  });

  it('finishes without having started', () => {
    expect(reduceAll(finished()).status).toBe('finished');
  });

  it('keeps its usage', () => {
    const usage = [{ model: 'm', inputTokens: 3 }];
    expect(reduceAll(run(), finished({ usage })).usage).toEqual(usage);
    expect(reduceAll(run(), failed({ usage })).usage).toEqual(usage);
    expect(reduceAll(run(), finished({ usage: 'x' }))).not.toHaveProperty('usage');
  });

  it.each([
    ['message and code', failed({ code: 'c' }), { message: 'boom', code: 'c' }],
    ['no message', failed({ message: undefined }), { message: 'Run failed' }],
    ['fields of other types', failed({ message: {}, code: 7 }), { message: 'Run failed' }],
  ])('fails with %s', (_, event, error) => {
    const thread = reduceAll(run(), { type: 'TEXT_MESSAGE_START', messageId: 'm' }, event);
    expect(thread).toMatchObject({ status: 'error', messages: [{ id: 'm' }] });
    expect(thread.error).toStrictEqual(error);
  });

  it.each([
    ['RUN_FINISHED after RUN_ERROR', [failed(), finished({ result: 1 })], 'error'],
    ['RUN_ERROR after RUN_ERROR', [failed(), failed({ message: 'later' })], 'error'],
    ['RUN_FINISHED after a cancellation', [cancelled, finished({ result: 1 })], 'aborted'],
    ['RUN_ERROR after a cancellation', [cancelled, failed()], 'aborted'],
  ])('keeps its end: %s changes nothing', (_, [first, second], status) => {
    const thread = reduceAll(run(), first as never);
    expect(reduce(thread, second as never)).toBe(thread);
    expect(thread.status).toBe(status);
  });

  it('fails although it had finished', () => {
    expect(reduceAll(run(), finished({ result: 1 }), failed())).toMatchObject({
      status: 'error',
      error: { message: 'boom' },
      result: 1,
    });
  });

  it('keeps what it waits for when its end comes twice', () => {
    const call = { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f' };
    const once = reduceAll(run(), call, finished());
    expect(once.pendingToolCallIds).toEqual(['c']);
    expect(reduce(once, finished())).toBe(once);
  });

  it('keeps its status whatever content arrives late', () => {
    const thread = reduceAll(run(), failed());
    const later = reduce(thread, { type: 'TEXT_MESSAGE_START', messageId: 'm' }, step('x'));
    expect(later).toMatchObject({ status: 'error', messages: [{ id: 'm' }] });
  });
});

describe('steps', () => {
  it('show the innermost one that is open', () => {
    const steps = (...events: ReturnType<typeof step>[]) => reduceAll(run(), ...events).step;
    expect(steps(step('a'))).toBe('a');
    expect(steps(step('a'), step('b'))).toBe('b');
    expect(steps(step('a'), step('b'), stepEnd('b'))).toBe('a');
    expect(steps(step('a'), step('b'), stepEnd('a'))).toBe('b');
    expect(steps(step('a'), step('a'), stepEnd('a'))).toBe('a');
    expect(steps(step('a'), step('b'), step('a'), stepEnd('a'))).toBe('b');
    expect(steps(step('a'), stepEnd('a'))).toBeUndefined();
  });

  it('leave nothing behind when they are closed', () => {
    expect(reduceAll(step('a'), stepEnd('a'))).toStrictEqual(threadOf());
  });

  it.each([
    ['of a subagent', step('x', 's')],
    ['without a name', step(undefined)],
    ['that ends without having started', stepEnd('x')],
    ['that a subagent ends', stepEnd('a', 's')],
  ])('return the same thread for one %s', (_, event) => {
    const thread = reduceAll(run(), step('a'));
    expect(reduce(thread, event)).toBe(thread);
  });

  it.each([finished(), failed(), cancelled, interrupt('i'), run('next')])(
    'end with the run: %o',
    (event) => {
      const thread = reduceAll(run(), step('a'), step('b'), event);
      expect(thread).not.toHaveProperty('step');
      expect(thread).not.toHaveProperty('open');
    },
  );
});

describe('interrupts', () => {
  const ids = (thread: ReturnType<typeof reduceAll>) => thread.interrupts?.map(({ id }) => id);
  const echo = (...answered: string[]) => ({
    input: { messages: [], resume: answered.map((interruptId) => ({ interruptId })) },
  });

  it('stay on the thread, without the nulls of older servers', () => {
    const thread = reduceAll(
      run(),
      finished({
        outcome: {
          type: 'interrupt',
          interrupts: [{ id: 'i', reason: 'ask', subagentRunId: null, extra: 1 }, null, { id: 7 }],
        },
      }),
    );
    expect(thread.interrupts).toStrictEqual([{ id: 'i', reason: 'ask', extra: 1 }]);
  });

  it.each([
    ['the run that answers them succeeds', [run('b', echo('i')), finished()], undefined],
    ['the run that answers them is cancelled', [run('b', echo('i')), cancelled], undefined],
    ['the run that answers them fails', [run('b', echo('i')), failed()], ['i']],
    ['a run that answers none succeeds', [run('b', echo()), finished()], ['i']],
    ['a run that answers others succeeds', [run('b', echo('x')), finished()], ['i']],
    ['a run that asks again is interrupted', [run('b', echo('i')), interrupt('j')], ['j']],
    ['a run that answers none is interrupted', [run('b', echo()), interrupt('j')], ['i', 'j']],
    ['it is not known what a run that succeeds answers', [run('b'), finished()], undefined],
    ['it is not known what a run that is cancelled answers', [run('b'), cancelled], ['i']],
    ['it is not known what an interrupted run answers', [run('b'), interrupt('j')], ['j']],
    ['a run ends twice', [finished()], ['i']],
    ['a run starts', [run('b')], ['i']],
  ])('when %s: %o', (_, events, left) => {
    expect(ids(reduce(reduceAll(run(), interrupt('i')), ...(events as [])))).toEqual(left);
  });

  it('are cleared by what the thread notes itself rather than by the echo', () => {
    const open = reduceAll(run(), interrupt('i', 'j'));
    const noted = { ...open, open: { answers: ['i'] } };
    const started = reduce(noted, run('b', echo('j')));
    expect(started.open).toEqual({ answers: ['i'] });
    const thread = reduce(started, finished());
    expect(ids(thread)).toEqual(['j']);
    expect(thread).not.toHaveProperty('open');
  });

  it('are replaced by id when they are asked again', () => {
    const open = reduceAll(run(), interrupt('i'));
    const thread = reduce({ ...open, open: { answers: [] } }, run('b'), interrupt('i'));
    expect(ids(thread)).toEqual(['i']);
  });
});

describe('subagents', () => {
  const start = (subagentRunId: unknown, more = {}) => ({
    type: 'SUBAGENT_STARTED',
    subagentRunId,
    name: 'helper',
    ...more,
  });
  const end = (subagentRunId: unknown, more = {}) => ({
    type: 'SUBAGENT_FINISHED',
    subagentRunId,
    ...more,
  });
  const fail = (subagentRunId: unknown, more = {}) => ({
    type: 'SUBAGENT_ERROR',
    subagentRunId,
    message: 'no',
    ...more,
  });

  it('are listed with where they come from', () => {
    const thread = reduceAll(
      run(),
      start('a', { description: 'd', parentToolCallId: 'c', parentMessageId: 'm' }),
      start('b', { parentSubagentRunId: 'a' }),
    );
    expect(thread.subagents).toStrictEqual([
      { id: 'a', name: 'helper', status: 'running', description: 'd', toolCallId: 'c' },
      { id: 'b', name: 'helper', status: 'running', parentId: 'a' },
    ]);
    expect(thread.status).toBe('running');
  });

  it.each([
    ['finish', end('a', { result: 1 }), { status: 'finished', result: 1 }],
    ['finish with success', end('a', { outcome: { type: 'success' } }), { status: 'finished' }],
    ['are suspended', end('a', { outcome: { type: 'suspended' } }), { status: 'suspended' }],
    ['fail', fail('a', { code: 'c' }), { status: 'error', error: { message: 'no', code: 'c' } }],
  ])('%s, and the run goes on', (_, event, more) => {
    const before = reduceAll(run(), start('a'), start('b'));
    const thread = reduce(before, event);
    expect(thread.subagents?.[0]).toStrictEqual({ id: 'a', name: 'helper', ...more });
    expect(thread.subagents?.[1]).toBe(before.subagents?.[1]);
    expect(thread.status).toBe('running');
  });

  it.each([
    ['an end of nobody', end('x')],
    ['a failure of nobody', fail('x')],
    ['an end without id', end(undefined)],
    ['a start without id', start(7)],
  ])('return the same thread for %s', (_, event) => {
    const thread = reduceAll(run(), start('a'));
    expect(reduce(thread, event)).toBe(thread);
  });

  it('start again in their old place', () => {
    const thread = reduceAll(run(), start('a'), start('b'), end('a'), start('a', { name: 'x' }));
    expect(thread.subagents?.map(({ name, status }) => [name, status])).toEqual([
      ['x', 'running'],
      ['helper', 'running'],
    ]);
  });

  it.each([
    [finished(), 'finished'],
    [failed(), 'error'],
    [cancelled, 'aborted'],
  ])('that still run take the status of the run: %o', (event, status) => {
    const thread = reduceAll(run(), start('a'), start('b'), end('b'), event);
    expect(thread.subagents?.map((subagent) => subagent.status)).toEqual([status, 'finished']);
  });
});

describe('endRun', () => {
  const thread = reduceAll(
    run(),
    step('a'),
    { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f' },
    { type: 'SUBAGENT_STARTED', subagentRunId: 's', name: 'n' },
    { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', delta: 'x' },
  );

  it('closes what is open but the calls that never ended', () => {
    const ended = endRun(thread, 'aborted');
    expect(ended).toMatchObject({ status: 'aborted', open: { unended: ['c'] } });
    expect(ended.open).toEqual({ unended: ['c'] });
    expect(ended).not.toHaveProperty('step');
    expect(ended).not.toHaveProperty('error');
    expect(ended.subagents?.[0]?.status).toBe('aborted');
    expect(ended.messages).toBe(thread.messages);
  });

  it('takes an error', () => {
    expect(endRun(thread, 'error', { message: 'lost', code: 'run-lost' })).toMatchObject({
      status: 'error',
      error: { message: 'lost', code: 'run-lost' },
    });
  });
});
