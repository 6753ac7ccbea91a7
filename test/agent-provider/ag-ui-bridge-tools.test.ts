import { describe, expect, it } from 'vitest';
import type { AgUiBridgeOptions } from '../../src/agent-provider/bridge-types.ts';
import {
  call,
  finished,
  lines,
  push,
  result,
  setUpBridge,
  started,
  text,
} from './bridge-set-up.ts';

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

  it('wait no more once the agent goes on', () => {
    const bridge = setUpBridge({ clientTools: true });
    push(bridge, started, ...call('a'), finished, { ...started, runId: 'a2' });
    expect(bridge.pendingTools).toEqual([]);
    expect(() => bridge.answerTool('a', { result: 1 })).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
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
