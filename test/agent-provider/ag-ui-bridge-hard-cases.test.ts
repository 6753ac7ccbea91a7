import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';
import { createAgentStore } from '../../src/agent-provider/store.ts';
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

const expiresAt = '2030-01-01T00:00:00.000Z';

describe('two interrupts, answered one by one, and resumed', () => {
  it('is one run over two AG-UI runs, resumed only once both are answered', () => {
    const bridge = setUpBridge();
    const events: AgentEvent[] = push(
      bridge,
      started,
      ...call('t1', '{}'),
      interrupt(
        { id: 'i1', reason: 'ask', message: 'Send it?', toolCallId: 't1', expiresAt },
        { id: 'i2', reason: 'pick', responseSchema: { type: 'string' }, metadata: { a: 1 } },
      ),
    );
    expect(bridge.phase).toBe('held');
    expect(bridge.flush()).toEqual([]);
    expect(bridge.waiting).toEqual(['i1', 'i2']);
    events.push(...bridge.answer('i1', 'approved'));
    expect(bridge.resume).toBeUndefined();
    expect(bridge.waiting).toEqual(['i2']);
    events.push(...bridge.answer('i2', 'rejected'));
    expect(bridge.waiting).toEqual([]);
    expect(bridge.resume).toEqual([
      { interruptId: 'i1', status: 'resolved', payload: { approved: true } },
      { interruptId: 'i2', status: 'resolved', payload: { approved: false } },
    ]);
    // Nothing but the run that answers is heard.
    expect(push(bridge, ...text('late', 'x'), finished)).toEqual([]);
    events.push(
      ...push(
        bridge,
        { ...started, runId: 'a2' },
        result('t1', 'sent'),
        { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', delta: 'Done' },
        { ...finished, runId: 'a2' },
      ),
    );
    expect(bridge.resume).toBeUndefined();
    events.push(...bridge.flush());
    expect(bridge.phase).toBe('ended');
    expect(lines(events)).toEqual([
      '0 run.started',
      '1 tool.requested t1 {"name":"look"}',
      '2 tool.arguments_delta t1 {"delta":"{}"}',
      '3 tool.running t1',
      `4 approval.requested i1 {"description":"Send it?","toolCallId":"t1","data":{"reason":"ask"},"expiresAt":${Date.parse(expiresAt)}}`,
      '5 approval.requested i2 {"description":"pick","data":{"reason":"pick","responseSchema":{"type":"string"},"metadata":{"a":1}}}',
      '6 approval.resolved i1 {"decision":"approved"}',
      '7 approval.resolved i2 {"decision":"rejected"}',
      '8 tool.completed t1 {"result":"sent"}',
      '9 message.started m {"role":"assistant"}',
      '10 message.delta m {"delta":"Done"}',
      '11 message.completed m',
      '12 run.completed',
    ]);
  });

  it('gives the edited data of an answer to the agent and to the store', () => {
    const bridge = setUpBridge();
    push(bridge, started, interrupt({ id: 'a' }, { id: 'b' }, { id: 'c' }));
    expect(lines(bridge.answer('a', 'modified', { to: 'x' }))).toEqual([
      '4 approval.resolved a {"decision":"modified","data":{"to":"x"}}',
    ]);
    bridge.answer('b', 'approved', 7);
    bridge.answer('c', 'rejected', { why: 'no' });
    expect(bridge.resume?.map(({ payload }) => payload)).toEqual([
      { to: 'x' },
      7,
      { why: 'no', approved: false },
    ]);
  });

  it('refuses an answer that nothing waits for', () => {
    const bridge = setUpBridge();
    push(bridge, started, interrupt({ id: '__proto__' }));
    const refusal = expect.objectContaining({ code: 'invalid-argument' });
    expect(() => bridge.answer('other', 'approved')).toThrow(refusal);
    expect(() => bridge.answer('__proto__', 'expired' as never)).toThrow(refusal);
    expect(() => bridge.answerTool('t', { result: 1 })).toThrow(refusal);
    expect(lines(bridge.answer('__proto__', 'approved'))).toEqual([
      '2 approval.resolved __proto__ {"decision":"approved"}',
    ]);
    expect(() => bridge.answer('__proto__', 'approved')).toThrow(refusal);
  });
});

const everything = [
  started,
  { type: 'STEP_STARTED', stepName: 'plan' },
  { type: 'ACTIVITY_SNAPSHOT', messageId: 'act', activityType: 'chart', content: { n: 1 } },
  { type: 'REASONING_MESSAGE_START', messageId: 'th', role: 'reasoning' },
  { type: 'TEXT_MESSAGE_START', messageId: 'm' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'Hel' },
  { type: 'TOOL_CALL_START', toolCallId: 't1', toolCallName: 'look' },
  { type: 'TOOL_CALL_ARGS', toolCallId: 't1', delta: '{"q' },
];
const everythingLines = [
  '0 run.started',
  '1 task.created plan {"title":"plan"}',
  '2 artifact.created act {"name":"chart","mediaType":"application/json","content":{"n":1}}',
  '3 reasoning.started th',
  '4 message.started m {"role":"assistant"}',
  '5 message.delta m {"delta":"Hel"}',
  '6 tool.requested t1 {"name":"look"}',
  '7 tool.arguments_delta t1 {"delta":"{\\"q"}',
];

describe('an abort with everything open', () => {
  it('cancels the last opened first, then the run, and says nothing more', () => {
    const bridge = setUpBridge();
    const events = [...push(bridge, ...everything), ...bridge.cancel('user')];
    expect(lines(events)).toEqual([
      ...everythingLines,
      '8 tool.cancelled t1 {"reason":"user"}',
      '9 message.cancelled m {"reason":"user"}',
      '10 reasoning.cancelled th {"reason":"user"}',
      '11 artifact.failed act {"error":{"code":"cancelled","message":"Cancelled"}}',
      '12 task.cancelled plan {"reason":"user"}',
      '13 run.cancelled {"reason":"user"}',
    ]);
    const late = [
      ...push(
        bridge,
        { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'lo' },
        { ...finished, outcome: { type: 'cancelled' } },
        { type: 'RUN_ERROR', message: 'aborted' },
        started,
      ),
      ...bridge.fail(new Error('aborted')),
      ...bridge.cancel(),
      ...bridge.flush(),
      ...bridge.start(),
    ];
    expect(late).toEqual([]);
    expect(bridge.phase).toBe('ended');
  });

  it.each([
    ['an AbortError', new DOMException('stop', 'AbortError'), 'stop'],
    ['an AbortError without a message', { name: 'AbortError' }, undefined],
  ])('takes %s for the abort', (_name, error, reason) => {
    const bridge = setUpBridge();
    push(bridge, ...everything);
    const events = bridge.fail(error);
    expect(lines(events).at(-1)).toBe(
      `13 run.cancelled${reason === undefined ? '' : ` {"reason":"${reason}"}`}`,
    );
  });

  it('cancels at the end that the server says, too', () => {
    const bridge = setUpBridge();
    const events = push(bridge, ...everything, { ...finished, outcome: { type: 'cancelled' } });
    expect(lines(events).slice(8)).toEqual([
      '8 tool.cancelled t1',
      '9 message.cancelled m',
      '10 reasoning.cancelled th',
      '11 artifact.failed act {"error":{"code":"cancelled","message":"Cancelled"}}',
      '12 task.cancelled plan',
    ]);
    expect(lines(bridge.flush())).toEqual(['13 run.cancelled']);
  });

  it('cancels between the end that the server says and the end of the stream', () => {
    const bridge = setUpBridge();
    push(bridge, started, finished);
    expect(lines(bridge.cancel('late'))).toEqual(['1 run.cancelled {"reason":"late"}']);
  });
});

describe('ids that are opened again', () => {
  it('makes entities of their own, and counts answers', () => {
    const bridge = setUpBridge();
    const events = push(
      bridge,
      started,
      ...text('m', 'one'),
      ...text('m', 'two'),
      ...call('t'),
      // The server says it again; nobody has answered.
      ...call('t'),
      result('t', 'first'),
      ...call('t'),
      result('t', 'second'),
      finished,
    );
    expect(lines([...events, ...bridge.flush()])).toEqual([
      '0 run.started',
      '1 message.started m {"role":"assistant"}',
      '2 message.delta m {"delta":"one"}',
      '3 message.completed m',
      '4 message.started m~2 {"role":"assistant"} @{"ag-ui.id":"m"}',
      '5 message.delta m~2 {"delta":"two"}',
      '6 message.completed m~2',
      '7 tool.requested t {"name":"look"}',
      '8 tool.running t',
      '9 tool.completed t {"result":"first"}',
      '10 tool.requested t~2 {"name":"look","attempt":2,"retryOf":"t"} @{"ag-ui.id":"t"}',
      '11 tool.running t~2',
      '12 tool.completed t~2 {"result":"second"}',
      '13 run.completed',
    ]);
  });

  it('are closed in the order in which they were opened again', () => {
    const bridge = setUpBridge();
    push(bridge, started, ...text('m'), { type: 'STEP_STARTED', stepName: 's' });
    push(bridge, { type: 'TEXT_MESSAGE_START', messageId: 'm' });
    expect(lines(bridge.cancel())).toEqual([
      '5 message.cancelled m~2',
      '6 task.cancelled s',
      '7 run.cancelled',
    ]);
  });

  it('takes no id that a server has given', () => {
    const bridge = setUpBridge();
    const events = push(
      bridge,
      started,
      ...call('t~2'),
      ...call('t'),
      result('t'),
      ...call('t'),
      // The alias is taken as well.
      ...call('t~3'),
    );
    expect(lines(events).filter((line) => line.includes('requested'))).toEqual([
      '1 tool.requested t~2 {"name":"look"}',
      '3 tool.requested t {"name":"look"}',
      '6 tool.requested t~3 {"name":"look","attempt":2,"retryOf":"t"} @{"ag-ui.id":"t"}',
      '8 tool.requested t~3~2 {"name":"look"} @{"ag-ui.id":"t~3"}',
    ]);
  });

  it('names what has no id or no name', () => {
    const bridge = setUpBridge();
    const events = push(
      bridge,
      started,
      ...text('', 'a'),
      ...text('message', 'b'),
      ...call('', '', ''),
      { type: 'STEP_STARTED', stepName: '' },
      { type: 'STEP_FINISHED', stepName: '' },
      { type: 'SUBAGENT_STARTED', subagentRunId: '', name: '' },
      { type: 'STEP_STARTED', stepName: '', subagentRunId: '' },
      { type: 'SUBAGENT_ERROR', subagentRunId: '', message: '' },
      { type: 'ACTIVITY_SNAPSHOT', messageId: '', activityType: '', content: {} },
      { type: 'REASONING_MESSAGE_START', messageId: '', role: 'reasoning' },
      { type: 'RUN_ERROR', message: '' },
    );
    expect(lines(events)).toEqual([
      '0 run.started',
      '1 message.started message {"role":"assistant"} @{"ag-ui.id":""}',
      '2 message.delta message {"delta":"a"}',
      '3 message.completed message',
      '4 message.started message~2 {"role":"assistant"} @{"ag-ui.id":"message"}',
      '5 message.delta message~2 {"delta":"b"}',
      '6 message.completed message~2',
      '7 tool.requested tool {"name":"unknown"} @{"ag-ui.id":""}',
      '8 tool.running tool',
      '9 task.created task {"title":"Step"} @{"ag-ui.id":""}',
      '10 task.completed task',
      '11 task.created task~2 {"title":"Subagent"} @{"ag-ui.subagentRunId":"","ag-ui.id":""}',
      '12 task.created / {"title":"Step"} ^task~2 @{"ag-ui.subagentRunId":""}',
      '13 task.failed task~2 {"error":{"message":"The subagent failed."}} @{"ag-ui.subagentRunId":""}',
      '14 artifact.created artifact {"name":"activity","mediaType":"application/json","content":{}} @{"ag-ui.id":""}',
      '15 reasoning.started reasoning @{"ag-ui.id":""}',
      '16 reasoning.failed reasoning {"error":{"message":"The run failed."}}',
      '17 artifact.failed artifact {"error":{"message":"The run failed."}}',
      '18 task.failed / {"error":{"message":"The run failed."}}',
      '19 tool.failed tool {"error":{"message":"The run failed."}}',
    ]);
    expect(lines(bridge.flush())).toEqual([
      '20 run.failed {"error":{"message":"The run failed."}}',
    ]);
  });
});

describe('chunks in lanes', () => {
  it('keeps each lane apart, and closes it before what it belongs to', () => {
    const bridge = setUpBridge();
    const events = push(
      bridge,
      started,
      { type: 'SUBAGENT_STARTED', subagentRunId: 'sub', name: 'helper' },
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'P', delta: 'P1' },
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'C', delta: 'C1', subagentRunId: 'sub' },
      { type: 'TEXT_MESSAGE_CHUNK', delta: 'P2' },
      { type: 'TEXT_MESSAGE_CHUNK', delta: 'C2', subagentRunId: 'sub' },
      { type: 'TOOL_CALL_CHUNK', toolCallId: 't', toolCallName: 'look', delta: '{}' },
      { type: 'SUBAGENT_FINISHED', subagentRunId: 'sub', result: 'fine' },
      { type: 'REASONING_MESSAGE_CHUNK', messageId: 'th', delta: 'hm' },
      finished,
    );
    const sub = '@{"ag-ui.subagentRunId":"sub"}';
    expect(lines([...events, ...bridge.flush()])).toEqual([
      '0 run.started',
      `1 task.created sub {"title":"helper"} ${sub}`,
      '2 message.started P {"role":"assistant"}',
      '3 message.delta P {"delta":"P1"}',
      `4 message.started C {"role":"assistant"} ^sub ${sub}`,
      `5 message.delta C {"delta":"C1"} ${sub}`,
      '6 message.delta P {"delta":"P2"}',
      `7 message.delta C {"delta":"C2"} ${sub}`,
      '8 message.completed P',
      '9 tool.requested t {"name":"look"}',
      '10 tool.arguments_delta t {"delta":"{}"}',
      '11 message.completed C',
      `12 task.completed sub {"result":"fine"} ${sub}`,
      '13 tool.running t',
      '14 reasoning.started th',
      '15 reasoning.delta th {"delta":"hm"}',
      '16 reasoning.completed th',
      '17 tool.completed t',
      '18 run.completed',
    ]);
  });

  it('goes on with the only open stream where nothing says which', () => {
    const bridge = setUpBridge();
    push(bridge, started);
    const chunk = { type: 'TEXT_MESSAGE_CHUNK', delta: 'x' };
    expect(push(bridge, chunk)).toEqual([]);
    push(bridge, { ...chunk, messageId: 'a', subagentRunId: 'one' });
    expect(lines(push(bridge, chunk))).toEqual(['3 message.delta a {"delta":"x"}']);
    push(bridge, { ...chunk, messageId: 'b', subagentRunId: 'two' });
    expect(push(bridge, chunk)).toEqual([]);
    expect(push(bridge, { ...chunk, subagentRunId: 'three' })).toEqual([]);
    expect(push(bridge, { type: 'TOOL_CALL_CHUNK', toolCallId: 't', delta: '{' })).toEqual([]);
    expect(lines(push(bridge, { ...chunk, messageId: 'b' }))).toEqual([
      '6 message.delta b {"delta":"x"}',
    ]);
  });

  it.each([
    ['RAW', {}],
    ['ACTIVITY_SNAPSHOT', { messageId: 'act', activityType: 'a', content: {} }],
    ['ACTIVITY_DELTA', { messageId: 'act', patch: [] }],
    ['REASONING_ENCRYPTED_VALUE', { entityId: 'm', encryptedValue: 'x' }],
    ['SUBAGENT_STARTED', { subagentRunId: 'sub', name: 'helper' }],
    ['SOMETHING_NEW', {}],
  ])('are not cut by %s', (type, rest) => {
    const bridge = setUpBridge();
    push(bridge, started, { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', delta: 'a' });
    const events = push(bridge, { type, ...rest }, { type: 'TEXT_MESSAGE_CHUNK', delta: 'b' });
    expect(lines(events).at(-1)).toMatch(/^\d message.delta m {"delta":"b"}$/);
  });

  it.each([
    ['CUSTOM', { name: 'x' }],
    ['STATE_SNAPSHOT', { snapshot: {} }],
    ['STEP_STARTED', { stepName: 's' }],
    ['REASONING_START', { messageId: 'span' }],
    ['MESSAGES_SNAPSHOT', { messages: [] }],
  ])('are cut by %s', (type, rest) => {
    const bridge = setUpBridge();
    push(bridge, started, { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', delta: 'a' });
    const events = push(bridge, { type, ...rest }, { type: 'TEXT_MESSAGE_CHUNK', delta: 'b' });
    expect(lines(events)).toContain('3 message.completed m');
    expect(lines(events).join()).not.toContain('delta');
  });
});

describe('a failure at the edges', () => {
  const usage: readonly object[] = [
    { model: 'a', inputTokens: 3, outputTokens: 5 },
    { model: 'b', inputTokens: 4, reasoningTokens: 1, constructor: 2, junk: '7' },
  ];

  it('begins and ends a run that fails at once', () => {
    const bridge = setUpBridge();
    const events = push(bridge, { type: 'RUN_ERROR', message: '', code: 'boom', usage });
    expect(lines([...events, ...bridge.flush()])).toEqual([
      '0 run.started',
      '1 run.failed {"error":{"message":"The run failed.","code":"boom","details":{"inputTokens":7,"outputTokens":5,"reasoningTokens":1,"constructor":2}}}',
    ]);
  });

  it('changes nothing after the run has finished', () => {
    const bridge = setUpBridge();
    push(bridge, started, { ...finished, result: 42, usage });
    expect(push(bridge, { type: 'RUN_ERROR', message: 'late' })).toEqual([]);
    expect(lines(bridge.flush())).toEqual([
      '1 run.completed {"output":42,"usage":{"inputTokens":7,"outputTokens":5,"reasoningTokens":1,"constructor":2}}',
    ]);
  });

  it('keeps the first failure', () => {
    const bridge = setUpBridge();
    push(bridge, started, { type: 'RUN_ERROR', message: 'first' }, finished);
    push(bridge, { type: 'RUN_ERROR', message: 'second' });
    expect(lines(bridge.flush())).toEqual(['1 run.failed {"error":{"message":"first"}}']);
  });

  it('lets the open approvals of a held run expire', () => {
    const bridge = setUpBridge();
    push(bridge, started, ...call('t1'), interrupt({ id: 'i1', toolCallId: 't1' }));
    const events = push(bridge, { type: 'RUN_ERROR', message: 'gone' });
    expect(bridge.waiting).toEqual([]);
    expect(lines([...events, ...bridge.flush()])).toEqual([
      '4 approval.resolved i1 {"decision":"expired"}',
      '5 tool.failed t1 {"error":{"message":"gone"}}',
      '6 run.failed {"error":{"message":"gone"}}',
    ]);
  });

  it('names the end of a stream that has none', () => {
    const bridge = setUpBridge();
    push(bridge, ...everything);
    const events = bridge.flush();
    expect(lines(events).at(-1)).toBe(
      '13 run.failed {"error":{"message":"The stream ended before the run.","code":"stream_ended","retryable":true}}',
    );
    expect(events.map(({ type }) => type)).toEqual([
      'tool.failed',
      'message.failed',
      'reasoning.failed',
      'artifact.failed',
      'task.failed',
      'run.failed',
    ]);
  });
});

describe('a reload', () => {
  it('goes on behind what is told, with a bridge that was written down', () => {
    const store = createAgentStore({ protocolMode: 'strict' });
    const bridge = setUpBridge();
    store.batch(push(bridge, ...everything));
    const restored = setUpBridge({ restore: JSON.parse(JSON.stringify(bridge.snapshot())) }, 7);
    const rest = [
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'lo' },
      { type: 'TEXT_MESSAGE_END', messageId: 'm' },
    ];
    const events = push(restored, ...rest);
    expect(lines(events)).toEqual(['8 message.delta m {"delta":"lo"}', '9 message.completed m']);
    store.batch(events);
    expect(Object.values(store.getSnapshot().messages)[0]?.content).toBe('Hello');
    // The first one went on, too, and nothing is shared.
    expect(lines(push(bridge, ...rest))).toEqual(lines(events));
  });

  it('stays held, and takes the answer', () => {
    const bridge = setUpBridge();
    push(bridge, started, interrupt({ id: 'i1' }, { id: 'i2' }));
    bridge.answer('i2', 'rejected');
    const restored = setUpBridge({ restore: bridge.snapshot() }, 3);
    expect(restored.phase).toBe('held');
    expect(restored.waiting).toEqual(['i1']);
    expect(restored.start()).toEqual([]);
    expect(lines(restored.answer('i1', 'approved'))).toEqual([
      '4 approval.resolved i1 {"decision":"approved"}',
    ]);
    expect(restored.resume?.map(({ interruptId }) => interruptId)).toEqual(['i1', 'i2']);
  });

  it('makes the answers again of the input of the run that brought them', () => {
    const bridge = setUpBridge();
    const events = push(
      bridge,
      started,
      interrupt({ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' }, { id: 'e' }),
      {
        ...started,
        runId: 'a2',
        input: {
          resume: [
            { interruptId: 'a', status: 'resolved', payload: { approved: true } },
            { interruptId: 'b', status: 'resolved', payload: { approved: false } },
            { interruptId: 'c', status: 'resolved', payload: { to: 'x' } },
            { interruptId: 'd', status: 'cancelled' },
            null,
          ],
        },
      },
    );
    expect(lines(events.slice(6))).toEqual([
      '6 approval.resolved a {"decision":"approved"}',
      '7 approval.resolved b {"decision":"rejected"}',
      '8 approval.resolved c {"decision":"approved","data":{"to":"x"}}',
      '9 approval.resolved d {"decision":"expired"}',
      '10 approval.resolved e {"decision":"expired"}',
    ]);
    expect(bridge.phase).toBe('running');
  });

  it('fails a run that the server has lost, without a second start', () => {
    const bridge = setUpBridge();
    push(bridge, ...everything);
    const restored = setUpBridge({ restore: bridge.snapshot() }, 7);
    const error = Object.assign(new Error('The log is gone.'), { code: 'log-truncated' });
    const events = restored.fail(error);
    expect(lines(events).at(-1)).toBe(
      '13 run.failed {"error":{"message":"The log is gone.","code":"log-truncated"}}',
    );
    expect(events.filter(({ type }) => type === 'run.started')).toEqual([]);
  });

  it.each([
    ['nothing', null],
    ['text', 'x'],
    ['an empty object', {}],
    ['another version', { version: 2 }],
    ['lists that are none', { version: 1, phase: 'running', entities: 7 }],
    ['entities that are none', { version: 1, phase: 'running', entities: [['a', null]] }],
  ])('refuses to go on from %s', (_name, restore) => {
    expect(() => setUpBridge({ restore })).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
  });
});

describe('the shared state', () => {
  it('waits for a snapshot once a delta has failed', () => {
    const bridge = setUpBridge({ state: { n: 1 } });
    push(bridge, started);
    const replace = (value: number, path = '/n') => ({
      type: 'STATE_DELTA',
      delta: [{ op: 'replace', path, value }],
    });
    const artifact = '"name":"state","mediaType":"application/json"';
    expect(lines(push(bridge, replace(2)))).toEqual([
      `1 artifact.created state {${artifact},"content":{"n":2}}`,
    ]);
    expect(push(bridge, replace(3, '/missing'), replace(3), replace(4))).toEqual([]);
    expect(lines(push(bridge, { type: 'STATE_SNAPSHOT', snapshot: { n: 5 } }))).toEqual([
      '2 artifact.updated state {"content":{"n":5}}',
    ]);
    expect(push(bridge, { type: 'STATE_DELTA', delta: [] })).toEqual([]);
    expect(lines(push(bridge, replace(6)))).toEqual([
      '3 artifact.updated state {"content":{"n":6}}',
    ]);
  });
});
