import { describe, expect, it } from 'vitest';
import { lines, push, setUpBridge, started, text } from './bridge-set-up.ts';

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
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x', timestamp: 'soon' },
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
