import { describe, expect, it } from 'vitest';
import type { AgUiBridgeOptions } from '../../src/agent-provider/bridge-types.ts';
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

const chunk = (messageId: string, delta: string) => ({
  type: 'TEXT_MESSAGE_CHUNK',
  messageId,
  delta,
});
const snapshot = (...messages: readonly unknown[]) => ({ type: 'MESSAGES_SNAPSHOT', messages });
const said = (id: string, content: unknown, role = 'assistant', rest?: object) => ({
  id,
  role,
  content,
  ...rest,
});

describe('the start of a run', () => {
  it('tells the question, and no echo of it', () => {
    const bridge = setUpBridge({ input: { messages: [{ id: 'q', role: 'user', content: 'Hi' }] } });
    expect(bridge.phase).toBe('new');
    expect(lines(bridge.start())).toEqual([
      '0 run.started {"input":{"messages":[{"id":"q","role":"user","content":"Hi"}]}}',
      '1 message.started q {"role":"user","content":"Hi"}',
      '2 message.completed q',
    ]);
    expect(bridge.phase).toBe('running');
    const echo = { type: 'TEXT_MESSAGE_START', messageId: 'q', role: 'user' };
    const events = [
      started,
      echo,
      ...text('q', 'Hi'),
      ...text('q', 'Hi'),
      snapshot(said('q', 'Hi', 'user')),
    ];
    expect([...bridge.start(), ...push(bridge, ...events)]).toEqual([]);
  });

  it('tells a prompt, and messages without ids', () => {
    expect(lines(setUpBridge({ input: { prompt: 'Hi' } }).start())).toEqual([
      '0 run.started {"input":{"prompt":"Hi"}}',
      '1 message.started message {"role":"user","content":"Hi"} @{"ag-ui.id":""}',
      '2 message.completed message',
    ]);
    const messages = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: [] },
      { role: 'tool', toolCallId: 'old', content: 'x' },
    ] as const;
    expect(lines(setUpBridge({ input: { messages: messages as never } }).start()).slice(1)).toEqual(
      [
        '1 message.started message {"role":"system","content":"Be kind."} @{"ag-ui.id":""}',
        '2 message.completed message',
      ],
    );
  });

  it('takes the input of the server where the page has none', () => {
    const bridge = setUpBridge();
    const input = { messages: [said('old', 'x')], state: 1 };
    expect(lines(push(bridge, { ...started, input }))).toEqual([
      `0 run.started {"input":${JSON.stringify({ input }.input)}}`,
    ]);
  });

  it('comes with whatever comes first', () => {
    const bridge = setUpBridge();
    expect(lines(push(bridge, { type: 'NEWS' }, ...text('m', 'x')))).toEqual([
      '0 run.started',
      '1 message.started m {"role":"assistant"}',
      '2 message.delta m {"delta":"x"}',
      '3 message.completed m',
    ]);
  });

  it('maps every kind of content', () => {
    const source = (type: string, value: string, mimeType?: string) => ({ type, value, mimeType });
    const handle = { type: 'document', source: source('file', 'f1') };
    const content = [
      { type: 'text', text: 'see' },
      { type: 'image', source: source('url', 'https://x.test/i') },
      { type: 'image', source: source('data', 'aGk=', 'image/png') },
      { type: 'audio', source: source('data', 'aGk=', 'audio/ogg') },
      { type: 'document', source: source('url', 'https://x.test/d', 'text/plain') },
      { type: 'binary', mimeType: 'image/png', url: 'https://x.test/b' },
      handle,
      null,
      { type: 'text', text: 7 },
    ];
    const bridge = setUpBridge({
      input: { messages: [{ id: 'q', role: 'user', content: content as never }] },
    });
    expect(bridge.start()[1]?.payload).toEqual({
      messageId: 'q',
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        { type: 'image', url: 'https://x.test/i' },
        { type: 'image', data: 'aGk=', mediaType: 'image/png' },
        { type: 'file', data: 'aGk=', mediaType: 'audio/ogg' },
        { type: 'file', url: 'https://x.test/d', mediaType: 'text/plain' },
        {
          type: 'ag-ui.part',
          data: { type: 'binary', mimeType: 'image/png', url: 'https://x.test/b' },
        },
        { type: 'ag-ui.part', data: handle },
        { type: 'ag-ui.part', data: null },
        { type: 'ag-ui.part', data: { type: 'text', text: 7 } },
      ],
    });
  });
});

describe('the envelope', () => {
  it('keeps the time and the metadata of an event, and the subagent it is from', () => {
    const bridge = setUpBridge();
    push(bridge, started, { type: 'SUBAGENT_STARTED', subagentRunId: 'sub', name: 'x' });
    const [start, delta] = push(
      bridge,
      {
        type: 'TEXT_MESSAGE_START',
        messageId: 'm',
        timestamp: 5,
        metadata: { model: 'x' },
        subagentRunId: 'sub',
      },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x', timestamp: Number.NaN },
    );
    expect(start).toMatchObject({
      timestamp: 5,
      parentId: 'sub',
      meta: { 'ag-ui.metadata': { model: 'x' }, 'ag-ui.subagentRunId': 'sub' },
    });
    expect(delta).toMatchObject({ timestamp: 1_000 });
    expect(delta).not.toHaveProperty('meta');
  });
});

describe('streams', () => {
  it('say nothing for what is empty, unknown or no text', () => {
    const bridge = setUpBridge();
    push(bridge, started, { type: 'TEXT_MESSAGE_START', messageId: 'm' });
    const content = { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm' };
    expect(
      push(
        bridge,
        { ...content, delta: '' },
        { ...content, delta: 7 },
        content,
        { ...content, messageId: 'other', delta: 'x' },
        { ...content, messageId: undefined, delta: 'x' },
        { type: 'TEXT_MESSAGE_END', messageId: 'other' },
        { type: 'TEXT_MESSAGE_START', messageId: 7 },
        { type: 'TOOL_CALL_START' },
        { type: 'TOOL_CALL_RESULT', content: 'x' },
        { type: 'REASONING_MESSAGE_CONTENT', messageId: 'm', delta: 'x' },
        { type: 'toString' },
        { type: 7 },
        null as never,
      ),
    ).toEqual([]);
  });

  it('keep text and thoughts under one id apart', () => {
    const bridge = setUpBridge();
    const events = push(
      bridge,
      started,
      { type: 'REASONING_MESSAGE_START', messageId: 'm', role: 'reasoning' },
      { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'developer' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId: 'm', delta: 'hm' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'yes' },
      { type: 'REASONING_MESSAGE_END', messageId: 'm' },
    );
    expect(lines(events).slice(1)).toEqual([
      '1 reasoning.started m',
      '2 message.started m {"role":"developer"}',
      '3 reasoning.delta m {"delta":"hm"}',
      '4 message.delta m {"delta":"yes"}',
      '5 reasoning.completed m',
    ]);
  });

  it('show a span of hidden thoughts, and none with messages of its own', () => {
    const bridge = setUpBridge();
    const span = (type: string, messageId: string, subagentRunId?: string) => ({
      type: `REASONING_${type}`,
      messageId,
      subagentRunId,
    });
    const events = push(
      bridge,
      started,
      span('START', 'hidden'),
      { type: 'REASONING_ENCRYPTED_VALUE', subtype: 'message', entityId: 'x', encryptedValue: 'y' },
      // Another lane's thoughts are not inside.
      span('MESSAGE_START', 'other', 'sub'),
      span('END', 'hidden'),
      span('START', 'r'),
      span('MESSAGE_START', 'r'),
      span('MESSAGE_END', 'r'),
      span('END', 'r'),
      span('END', 'never'),
    );
    expect(lines(events).slice(1)).toEqual([
      '1 reasoning.started other ^sub @{"ag-ui.subagentRunId":"sub"}',
      '2 reasoning.started hidden {"redacted":true}',
      '3 reasoning.completed hidden',
      '4 reasoning.started r',
      '5 reasoning.completed r',
    ]);
  });

  it('take the thinking of older servers', () => {
    const bridge = setUpBridge();
    const thinking = (type: string, delta?: string) => ({
      type: `THINKING_TEXT_MESSAGE_${type}`,
      delta,
    });
    const events = push(
      bridge,
      started,
      { type: 'THINKING_START' },
      thinking('START'),
      thinking('CONTENT', 'a'),
      thinking('END'),
      thinking('CONTENT', 'b'),
      thinking('START'),
      thinking('END'),
      { type: 'THINKING_END' },
    );
    expect(lines(events).slice(1)).toEqual([
      '1 reasoning.started thinking',
      '2 reasoning.delta thinking {"delta":"a"}',
      '3 reasoning.completed thinking',
      '4 reasoning.started thinking~2 @{"ag-ui.id":"thinking"}',
      '5 reasoning.delta thinking~2 {"delta":"b"}',
      '6 reasoning.completed thinking~2',
    ]);
  });
});

describe('tools', () => {
  it('take a result before the end, and one without a call', () => {
    const bridge = setUpBridge();
    const [begin, args, end] = call('t', '{}') as [object, object, object];
    const events = push(
      bridge,
      started,
      begin,
      result('t', [{ a: 1 }]),
      args,
      end,
      result('t'),
      result('u'),
    );
    expect(lines(events).slice(1)).toEqual([
      '1 tool.requested t {"name":"look"}',
      '2 tool.running t',
      '3 tool.completed t {"result":[{"a":1}]}',
      '4 tool.requested u {"name":"unknown"}',
      '5 tool.running u',
      '6 tool.completed u {"result":"ok"}',
    ]);
  });

  it('know the names of calls that an earlier run left open', () => {
    const bridge = setUpBridge();
    const owner = (id: string) => ({
      id: `m-${id}`,
      role: 'assistant',
      toolCalls: [{ id, type: 'function', function: { name: `name-${id}`, arguments: '' } }],
    });
    const messages = [
      owner('a'),
      owner('b'),
      { id: 'r', role: 'tool', toolCallId: 'b', content: '' },
    ];
    const events = push(bridge, { ...started, input: { messages } }, result('a'), result('b'));
    expect(lines(events).filter((line) => line.includes('requested'))).toEqual([
      '1 tool.requested a {"name":"name-a"}',
      '4 tool.requested b {"name":"unknown"}',
    ]);
  });

  it('belong to their message, or else to their subagent', () => {
    const bridge = setUpBridge();
    const events = push(
      bridge,
      started,
      { type: 'SUBAGENT_STARTED', subagentRunId: '', name: 'x', parentToolCallId: 'p' },
      { type: 'TEXT_MESSAGE_START', messageId: '' },
      { type: 'TOOL_CALL_START', toolCallId: 'a', toolCallName: 'n', parentMessageId: '' },
      { type: 'TOOL_CALL_START', toolCallId: 'b', toolCallName: 'n', parentMessageId: 'later' },
      { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'n', subagentRunId: '' },
      { type: 'SUBAGENT_STARTED', subagentRunId: 'in', name: 'y', parentSubagentRunId: '' },
    );
    expect(events.map(({ parentId }) => parentId)).toEqual([
      undefined,
      'p',
      undefined,
      'message',
      'later',
      'task',
      'task',
    ]);
  });

  it('fail where the application says so, and are told as messages where it wants them', () => {
    const seen: unknown[] = [];
    const bridge = setUpBridge({
      toolMessages: true,
      toolFailure(one) {
        seen.push(one);
        return one.content === 'bad' ? { message: '', code: 'E', retryable: true } : undefined;
      },
    });
    const events = push(
      bridge,
      started,
      ...call('t', '{"q":1}'),
      result('t', 'bad'),
      ...call('t'),
      {
        ...result('t'),
        messageId: undefined,
      },
    );
    expect(lines(events).slice(4)).toEqual([
      '4 tool.failed t {"error":{"message":"The tool failed.","code":"E","retryable":true,"details":"bad"}}',
      '5 message.started t-result {"role":"tool","content":"bad"} ^t',
      '6 message.completed t-result',
      '7 tool.requested t~2 {"name":"look","attempt":2,"retryOf":"t"} @{"ag-ui.id":"t"}',
      '8 tool.running t~2',
      '9 tool.completed t~2 {"result":"ok"}',
      '10 message.started t:result {"role":"tool","content":"ok"} ^t~2',
      '11 message.completed t:result',
    ]);
    expect(seen).toEqual([
      { toolCallId: 't', name: 'look', content: 'bad' },
      { toolCallId: 't', name: 'look', content: 'ok' },
    ]);
    expect(bridge.tool('t')).toEqual({ id: 't', name: 'look', arguments: '{"q":1}' });
    expect(bridge.tool('t~2')).toBeUndefined();
    expect(bridge.tool('__proto__')).toBeUndefined();
  });

  it.each<[string, Partial<AgUiBridgeOptions>, object]>([
    [
      'toolFailure',
      {
        toolFailure: () => {
          throw new Error('oops');
        },
      },
      result('t'),
    ],
    [
      'custom',
      {
        custom: () => {
          throw new Error('oops');
        },
      },
      { type: 'CUSTOM', name: 'x' },
    ],
  ])('and the run fail where %s throws', (_name, options, event) => {
    const bridge = setUpBridge(options);
    const events = push(bridge, started, ...call('t'), event, finished);
    expect(lines(events).slice(3)).toEqual([
      '3 tool.failed t {"error":{"message":"oops"}}',
      '4 run.failed {"error":{"message":"oops"}}',
    ]);
    expect(bridge.phase).toBe('ended');
  });
});

describe('client-side tools', () => {
  it('are completed without a result where nobody answers', () => {
    const bridge = setUpBridge();
    push(bridge, started, ...call('t'), finished);
    expect(lines(bridge.flush())).toEqual(['3 tool.completed t', '4 run.completed']);
  });

  it('hold the run open until all of them are answered', () => {
    const bridge = setUpBridge({ clientTools: true });
    push(bridge, started, ...call('a', '{"q":1}'), ...call('b'), ...text('m', 'x'), {
      ...finished,
      result: 'first',
    });
    expect(bridge.phase).toBe('held');
    expect(bridge.flush()).toEqual([]);
    expect(bridge.resume).toBeUndefined();
    expect(bridge.pendingTools).toEqual([
      { toolCallId: 'a', name: 'look', arguments: '{"q":1}' },
      { toolCallId: 'b', name: 'look', arguments: '' },
    ]);
    const restored = setUpBridge({ clientTools: true, restore: bridge.snapshot() }, 9);
    expect(restored.pendingTools).toEqual(bridge.pendingTools);
    expect(lines(bridge.answerTool('b', { result: { ok: true } }))).toEqual([
      '9 tool.completed b {"result":{"ok":true}}',
    ]);
    expect(() => bridge.answerTool('b', { result: 1 })).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
    expect(bridge.phase).toBe('held');
    expect(lines(bridge.answerTool('a', { error: { message: '', retryable: true } }))).toEqual([
      '10 tool.failed a {"error":{"message":"The tool failed.","retryable":true}}',
    ]);
    expect(bridge.tool('a')).toEqual({ id: 'a', name: 'look', arguments: '{"q":1}' });
    // Nothing waits any more: the end counts, unless the agent goes on.
    expect(bridge.phase).toBe('ending');
    const events = push(bridge, { ...started, runId: 'a2' }, { ...finished, result: 'second' });
    expect(lines([...events, ...bridge.flush()])).toEqual(['11 run.completed {"output":"second"}']);
  });

  it('wait only where the server says so, if it says anything', () => {
    const bridge = setUpBridge({ clientTools: true });
    const outcome = { type: 'success', pendingToolCallIds: ['b', 'gone', 7] };
    push(bridge, started, ...call('a'), ...call('b'), { ...finished, outcome });
    expect(bridge.pendingTools.map(({ toolCallId }) => toolCallId)).toEqual(['b']);
  });

  it('are answered by the input of the run that goes on', () => {
    const bridge = setUpBridge({ clientTools: true });
    push(bridge, started, ...call('a'), ...call('b'), finished);
    const messages = [
      { id: 'r1', role: 'tool', toolCallId: 'a', content: 'fine' },
      { id: 'r2', role: 'tool', toolCallId: 'b', content: 'why', error: '' },
      { id: 'r3', role: 'tool', toolCallId: 'foreign', content: 'x' },
    ];
    const events = push(bridge, { ...started, runId: 'a2', input: { messages } });
    expect(lines(events)).toEqual([
      '5 tool.completed a {"result":"fine"}',
      '6 tool.failed b {"error":{"message":"The tool failed.","details":"why"}}',
    ]);
    expect(bridge.phase).toBe('running');
  });
});

describe('steps and subagents', () => {
  it('are tasks; a name may come again, and in a subagent', () => {
    const bridge = setUpBridge();
    const step = (type: string, subagentRunId?: string) => ({
      type: `STEP_${type}`,
      stepName: 'plan',
      subagentRunId,
    });
    const events = push(
      bridge,
      started,
      step('STARTED'),
      step('STARTED'),
      step('STARTED', 'sub'),
      step('FINISHED'),
      step('FINISHED'),
      step('STARTED'),
    );
    expect(lines(events).slice(1)).toEqual([
      '1 task.created plan {"title":"plan"}',
      '2 task.created sub/plan {"title":"plan"} ^sub @{"ag-ui.subagentRunId":"sub"}',
      '3 task.completed plan',
      '4 task.created plan~2 {"title":"plan"} @{"ag-ui.id":"plan"}',
    ]);
  });

  it('stay open while they are suspended, and go on after it', () => {
    const bridge = setUpBridge();
    const sub = (type: string, rest?: object) => ({
      type: `SUBAGENT_${type}`,
      subagentRunId: 'sub',
      ...rest,
    });
    const begin = sub('STARTED', { name: 'x', description: 'helps' });
    const events = push(
      bridge,
      started,
      begin,
      sub('FINISHED', { outcome: { type: 'suspended', interruptIds: ['i'] } }),
      interrupt({ id: 'i', subagentRunId: 'sub' }),
    );
    push(bridge, started);
    events.push(
      ...push(bridge, begin, sub('ERROR', { message: 'no', code: 'E' }), begin, sub('FINISHED')),
    );
    const meta = '@{"ag-ui.subagentRunId":"sub"}';
    expect(lines(events).slice(1)).toEqual([
      `1 task.created sub {"title":"x","description":"helps"} ${meta}`,
      `2 approval.requested i {"data":{}} ^sub ${meta}`,
      `4 task.failed sub {"error":{"message":"no","code":"E"}} ${meta}`,
      '5 task.created sub~2 {"title":"x","description":"helps"} @{"ag-ui.subagentRunId":"sub","ag-ui.id":"sub"}',
      `6 task.completed sub~2 ${meta}`,
    ]);
  });
});

describe('activities', () => {
  it('are artifacts, with their whole content each time', () => {
    const bridge = setUpBridge();
    const activity = (content: unknown, rest?: object) => ({
      type: 'ACTIVITY_SNAPSHOT',
      messageId: 'act',
      activityType: 'chart',
      content,
      ...rest,
    });
    const delta = (path: string, messageId = 'act') => ({
      type: 'ACTIVITY_DELTA',
      messageId,
      patch: [{ op: 'replace', path, value: 2 }],
    });
    const events = push(
      bridge,
      started,
      delta('/n', 'unknown'),
      activity('no content'),
      activity({ n: 1 }),
      activity({ n: 9 }, { replace: false }),
      delta('/n'),
      delta('/gone'),
      delta('/n'),
      activity({ n: 3 }),
      delta('/n'),
      // The whole content is no object any more.
      delta(''),
      snapshot({ id: 'act', role: 'activity', activityType: 'chart', content: { n: 2 } }),
      snapshot({ id: 'act', role: 'activity', activityType: 'chart', content: { n: 2 } }),
    );
    expect(lines(events).slice(1)).toEqual([
      '1 artifact.created act {"name":"chart","mediaType":"application/json","content":{"n":1}}',
      '2 artifact.updated act {"content":{"n":2}}',
      '3 artifact.updated act {"content":{"n":3}}',
      '4 artifact.updated act {"content":{"n":2}}',
      '5 artifact.updated act {"content":{"n":2}}',
    ]);
    push(bridge, finished);
    expect(lines(bridge.flush())).toEqual(['6 artifact.completed act', '7 run.completed']);
  });

  it('open again in the run after a failure', () => {
    const bridge = setUpBridge({ state: { n: 1 } });
    const delta = [{ op: 'replace', path: '/n', value: 2 }];
    const events = push(
      bridge,
      started,
      { type: 'STATE_SNAPSHOT', snapshot: { n: 1 } },
      { type: 'ACTIVITY_SNAPSHOT', messageId: 'act', activityType: 'a', content: { n: 1 } },
      { type: 'RUN_ERROR', message: 'x' },
      started,
      { type: 'STATE_DELTA', delta },
      { type: 'ACTIVITY_DELTA', messageId: 'act', patch: delta },
    );
    expect(lines(events).slice(5)).toEqual([
      '5 artifact.created state~2 {"name":"state","mediaType":"application/json","content":{"n":2}} @{"ag-ui.id":"state"}',
      '6 artifact.created act~2 {"name":"a","mediaType":"application/json","content":{"n":2}} @{"ag-ui.id":"act"}',
    ]);
  });
});

describe('a snapshot of the messages', () => {
  it('tells the rest of what streams, and what differs at its end', () => {
    const bridge = setUpBridge();
    const content = (messageId: string, delta: string) => ({
      type: 'TEXT_MESSAGE_CONTENT',
      messageId,
      delta,
    });
    push(bridge, started, chunk('c', 'wrong'));
    for (const id of ['a', 'b', 'd']) {
      push(bridge, { type: 'TEXT_MESSAGE_START', messageId: id }, content(id, 'Hel'));
    }
    const [begin, args] = call('t', '{"q') as [object, object];
    push(bridge, begin, args);
    const toolCalls = [
      { id: 't', type: 'function', function: { name: 'look', arguments: '{"q":1}' } },
    ];
    const events = push(
      bridge,
      snapshot(
        said('a', 'Hello'),
        said('b', 'Hallo'),
        said('c', 'right'),
        said('d', [{ type: 'text', text: 'parts' }], 'user'),
        { id: 't', role: 'assistant', toolCalls },
      ),
      content('a', '!'),
      content('b', '!'),
      content('d', '!'),
      { type: 'TEXT_MESSAGE_END', messageId: 'a' },
      { type: 'TEXT_MESSAGE_END', messageId: 'b' },
      { type: 'TEXT_MESSAGE_END', messageId: 'd' },
      // What is over cannot change.
      snapshot(said('a', 'other'), said('b', 'other')),
    );
    expect(lines(events).map((line) => line.replace(/^\d+ /, ''))).toEqual([
      'message.delta a {"delta":"lo"}',
      'tool.arguments_delta t {"delta":"\\":1}"}',
      'message.delta a {"delta":"!"}',
      'message.delta b {"delta":"!"}',
      'message.completed a',
      'message.completed b {"content":"Hallo!"}',
      'message.completed d {"content":[{"type":"text","text":"parts"}]}',
    ]);
  });

  it('says the right text at once of a chunk that it ends', () => {
    const bridge = setUpBridge();
    push(bridge, started, chunk('c', 'wrong'));
    expect(lines(push(bridge, snapshot(said('c', 'right'))))).toEqual([
      '3 message.completed c {"content":"right"}',
    ]);
  });

  it('leaves the text alone that began before', () => {
    const bridge = setUpBridge({ knownMessageIds: ['old'] });
    push(bridge, started, ...text('m', 'one'));
    push(bridge, { type: 'TEXT_MESSAGE_START', messageId: 'm' });
    push(bridge, { type: 'TEXT_MESSAGE_START', messageId: 'old' });
    expect(push(bridge, snapshot(said('old', 'long ago'), said('m', 'one')))).toEqual([]);
  });

  it('tells what stands behind the last message that is known, once', () => {
    const bridge = setUpBridge({ knownMessageIds: ['old'] });
    push(bridge, started, ...text('m', 'mine'));
    const toolCalls = [
      {
        id: 't',
        type: 'function',
        function: { name: 'look', arguments: '{}' },
        metadata: { a: 1 },
      },
      null,
      { id: 'u' },
    ];
    const whole = snapshot(
      said('before', 'x'),
      said('old', 'x'),
      said('m', 'mine'),
      null,
      said('n', 'new', 'assistant', { toolCalls, metadata: { model: 'x' } }),
      { id: 'r', role: 'tool', toolCallId: 't', content: 'no', error: '' },
      { id: 'r2', role: 'tool', toolCallId: 'foreign', content: 'x' },
      said('th', 'hm', 'reasoning'),
      said('empty', ''),
      { id: 'act', role: 'activity', activityType: 'chart', content: { n: 1 } },
      { id: 'calls', role: 'assistant', toolCalls: [{ id: 'v', function: { name: 'go' } }] },
      said('odd', 'x', 'narrator'),
    );
    expect(lines(push(bridge, whole)).slice(0)).toEqual([
      '4 message.started n {"role":"assistant","content":"new"} @{"ag-ui.metadata":{"model":"x"}}',
      '5 message.completed n @{"ag-ui.metadata":{"model":"x"}}',
      '6 tool.requested t {"name":"look","arguments":"{}"} ^n @{"ag-ui.metadata":{"a":1}}',
      '7 tool.running t @{"ag-ui.metadata":{"a":1}}',
      '8 tool.requested u {"name":"unknown"} ^n',
      '9 tool.running u',
      '10 tool.failed t {"error":{"message":"The tool failed.","details":"no"}}',
      '11 reasoning.started th',
      '12 reasoning.completed th {"content":"hm"}',
      '13 message.started empty {"role":"assistant","content":""}',
      '14 message.completed empty',
      '15 artifact.created act {"name":"chart","mediaType":"application/json","content":{"n":1}}',
      '16 tool.requested v {"name":"go"} ^calls',
      '17 tool.running v',
      '18 message.started odd {"role":"narrator","content":"x"}',
      '19 message.completed odd',
    ]);
    expect(push(bridge, whole, snapshot(), { type: 'MESSAGES_SNAPSHOT' })).toEqual([]);
  });

  it('knows the message that a call makes', () => {
    const bridge = setUpBridge();
    push(bridge, started, ...call('t'));
    const { toolCallId: id } = call('t')[0] as { toolCallId: string };
    const toolCalls = [{ id, type: 'function', function: { name: 'look', arguments: '' } }];
    expect(push(bridge, snapshot({ id: 't', role: 'assistant', toolCalls }))).toEqual([]);
    // Under another id, too.
    expect(push(bridge, snapshot({ id: 'new', role: 'assistant', toolCalls }))).toEqual([]);
  });
});

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

describe("the application's own events", () => {
  it('have a place in the run, and are closed with it', () => {
    const bridge = setUpBridge({
      custom: ({ value }, events) => [
        events.create('task.created', { taskId: 'plan', title: String(value) }),
        events.create('task.updated', { taskId: 'plan', progress: 0.5 }),
        // None of these has a place.
        events.create('task.created', { taskId: 'plan', title: 'again' }),
        events.create('task.completed', { taskId: 'unknown' }),
        events.create('run.completed', {}),
        events.create('task.created', { taskId: '', title: 'x' }),
      ],
    });
    const events = push(
      bridge,
      started,
      { type: 'CUSTOM', name: 'x', value: 'Plan' },
      {
        type: 'STEP_STARTED',
        stepName: 'plan',
      },
    );
    expect(lines([...events, ...bridge.cancel()])).toEqual([
      '0 run.started',
      '1 task.created plan {"title":"Plan"}',
      '2 task.updated plan {"progress":0.5}',
      '7 task.created plan~2 {"title":"plan"} @{"ag-ui.id":"plan"}',
      '8 task.cancelled plan~2',
      '9 task.cancelled plan',
      '10 run.cancelled',
    ]);
  });

  it('may close what the run opened', () => {
    const bridge = setUpBridge({
      custom: (_event, events) => [events.create('message.completed', { messageId: 'm' })],
    });
    push(bridge, started, { type: 'TEXT_MESSAGE_START', messageId: 'm' });
    expect(push(bridge, { type: 'CUSTOM', name: 'x' }, { type: 'CUSTOM', name: 'x' })).toHaveLength(
      1,
    );
    expect(push(bridge, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x' })).toEqual([]);
    expect(lines(bridge.cancel()).map((line) => line.slice(2))).toEqual(['run.cancelled']);
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

describe('text of 100,000 deltas', () => {
  it('costs each the same, also where one id is opened again and again', () => {
    const bridge = setUpBridge();
    push(bridge, started, { type: 'TEXT_MESSAGE_START', messageId: 'm' });
    const delta = { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x'.repeat(100) };
    let count = 0;
    for (let index = 0; index < 100_000; index++) count += push(bridge, delta).length;
    expect(count).toBe(100_000);
    for (let index = 0; index < 20_000; index++) count += push(bridge, ...text('again')).length;
    expect(count).toBe(140_000);
  });
});
