import { describe, expect, it } from 'vitest';
import { call, lines, push, setUpBridge, started, text } from './bridge-set-up.ts';

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
