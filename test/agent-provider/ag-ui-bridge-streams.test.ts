import { describe, expect, it } from 'vitest';
import { lines, push, setUpBridge, started, text } from './bridge-set-up.ts';

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
        { type: '__proto__' },
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
