import { describe, expect, it } from 'vitest';
import { RunSocketError } from '../../src/internal/errors.ts';
import {
  call,
  finished,
  interrupt,
  lines,
  push,
  result,
  setUpBridge,
  started,
  text,
} from './bridge-set-up.ts';

describe('several runs in one stream', () => {
  it('are one run, with what all of them cost and the last result', () => {
    const bridge = setUpBridge();
    const usage = [{ inputTokens: 1 }];
    const events = push(
      bridge,
      started,
      ...call('t'),
      { ...finished, result: 1, usage },
      // Not yet over: this is the same stream.
      { ...started, runId: 'a2' },
      result('t'),
      ...text('m', 'x'),
      { ...finished, result: 2, usage },
    );
    expect(lines([...events, ...bridge.flush()]).slice(3)).toEqual([
      '3 tool.completed t {"result":"ok"}',
      '4 message.started m {"role":"assistant"}',
      '5 message.delta m {"delta":"x"}',
      '6 message.completed m',
      '7 run.completed {"output":2,"usage":{"inputTokens":2}}',
    ]);
  });

  it('end as the last one does, whatever became of the first', () => {
    const bridge = setUpBridge();
    const events = push(
      bridge,
      started,
      { type: 'TEXT_MESSAGE_START', messageId: 'm' },
      { type: 'RUN_ERROR', message: 'once' },
      started,
      ...text('m', 'again'),
      finished,
    );
    expect(lines([...events, ...bridge.flush()])).toEqual([
      '0 run.started',
      '1 message.started m {"role":"assistant"}',
      '2 message.failed m {"error":{"message":"once"}}',
      '3 message.started m~2 {"role":"assistant"} @{"ag-ui.id":"m"}',
      '4 message.delta m~2 {"delta":"again"}',
      '5 message.completed m~2',
      '6 run.completed',
    ]);
  });

  it('say what comes between the end and the end of the stream', () => {
    const bridge = setUpBridge();
    push(bridge, started, finished);
    expect(bridge.phase).toBe('ending');
    expect(push(bridge, ...text('m', 'late'))).toHaveLength(3);
    expect(lines(bridge.flush())).toEqual(['4 run.completed']);
  });

  it('end as they said where the connection fails after it', () => {
    const bridge = setUpBridge();
    push(bridge, started, finished);
    expect(lines(bridge.fail(new Error('lost')))).toEqual(['1 run.completed']);
  });

  it('do not hide that the run was lost', () => {
    const bridge = setUpBridge();
    push(bridge, started, finished);
    const [event] = bridge.fail(new RunSocketError('run-lost', 'gone'));
    expect(event).toMatchObject({ type: 'run.failed', payload: { error: { code: 'run-lost' } } });
  });
});

describe('a settled interrupt', () => {
  const settled = () => {
    const bridge = setUpBridge({ interrupts: 'settle' });
    push(bridge, started, ...call('t'), { type: 'STEP_STARTED', stepName: 's' });
    return bridge;
  };

  it('expires, and its tools are cancelled', () => {
    const bridge = settled();
    const events = push(bridge, interrupt({ id: 'i', reason: 'ask', toolCallId: 't' }));
    expect(bridge.phase).toBe('ending');
    expect(bridge.waiting).toEqual([]);
    expect(lines([...events, ...bridge.flush()])).toEqual([
      '4 approval.requested i {"description":"ask","toolCallId":"t","data":{"reason":"ask"}}',
      '5 approval.resolved i {"decision":"expired"}',
      '6 task.completed s',
      '7 tool.cancelled t',
      '8 run.completed {"output":{"interrupts":[{"id":"i","reason":"ask","toolCallId":"t"}]}}',
    ]);
  });

  it('is answered by the run behind it in the log', () => {
    const bridge = settled();
    push(bridge, interrupt({ id: 'i', reason: 'ask', toolCallId: 't' }));
    const resume = [{ interruptId: 'i', status: 'resolved', payload: { approved: true } }];
    const events = push(bridge, { ...started, input: { resume } }, result('t'));
    expect(lines(events)).toEqual([
      '5 approval.resolved i {"decision":"approved"}',
      '6 tool.completed t {"result":"ok"}',
    ]);
  });
});

describe('an interrupt', () => {
  it('without a question is none', () => {
    const bridge = setUpBridge();
    push(bridge, started, { ...finished, outcome: { type: 'interrupt', interrupts: [null, {}] } });
    expect(lines(bridge.flush())).toEqual(['1 run.completed']);
  });

  it('asks once for an id, and again in a later run', () => {
    const bridge = setUpBridge();
    const twice = interrupt({ id: 'i', expiresAt: 'soon' }, { id: 'i' });
    expect(lines(push(bridge, started, twice)).slice(1)).toEqual([
      '1 approval.requested i {"data":{}}',
    ]);
    bridge.answer('i', 'approved');
    expect(lines(push(bridge, started, twice))).toEqual([
      '3 approval.requested i~2 {"data":{}} @{"ag-ui.id":"i"}',
    ]);
    expect(bridge.waiting).toEqual(['i~2']);
    bridge.answer('i~2', 'rejected');
    expect(bridge.resume).toEqual([
      { interruptId: 'i', status: 'resolved', payload: { approved: false } },
    ]);
  });

  it.each([
    ['is cancelled', 'cancelled', (bridge: ReturnType<typeof setUpBridge>) => bridge.cancel()],
    ['fails', 'failed', (bridge: ReturnType<typeof setUpBridge>) => bridge.fail(new Error('x'))],
  ])('expires with a run that %s', (_name, how, end) => {
    const bridge = setUpBridge();
    push(bridge, started, ...call('t'), interrupt({ id: 'i' }));
    expect(end(bridge).map(({ type }) => type)).toEqual([
      'approval.resolved',
      `tool.${how}`,
      `run.${how}`,
    ]);
    expect(bridge.waiting).toEqual([]);
    expect(bridge.resume).toBeUndefined();
  });
});

describe('the end', () => {
  it.each([
    [
      'an error',
      Object.assign(new Error('no'), { code: 'run-lost', retryable: false }),
      '{"message":"no","code":"run-lost","retryable":false}',
    ],
    ['text', 'no', '{"message":"no"}'],
    ['nothing', undefined, '{"message":"The run failed."}'],
    ['a symbol', Symbol('x'), '{"message":"The run failed."}'],
  ])('fails with %s', (_name, error, expected) => {
    expect(lines(setUpBridge().fail(error))).toEqual([
      '0 run.started',
      `1 run.failed {"error":${expected}}`,
    ]);
  });

  it('comes without a beginning', () => {
    expect(lines(setUpBridge().cancel(''))).toEqual([
      '0 run.started',
      '1 run.cancelled {"reason":""}',
    ]);
    expect(
      setUpBridge()
        .flush()
        .map(({ type }) => type),
    ).toEqual(['run.started', 'run.failed']);
  });

  it('adds no numbers that are none', () => {
    const bridge = setUpBridge();
    const usage = [{ a: 1e308, b: '1', ['__proto__']: 1 }, { a: 1e308, b: 2, c: null }, null, 'xy'];
    push(bridge, started, { ...finished, usage });
    expect(lines(bridge.flush())).toEqual([
      '1 run.completed {"usage":{"a":1e+308,"__proto__":1,"b":2}}',
    ]);
  });
});
