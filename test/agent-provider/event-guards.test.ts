import { describe, expect, it } from 'vitest';
import {
  AGENT_EVENT_PROTOCOL,
  AGENT_EVENT_PROTOCOL_VERSION,
  agentEventTypes,
  isAgentEvent,
  isAgentEventEnvelope,
} from '../../src/agent-provider/event-guards.ts';

const envelope = {
  protocolVersion: '0.1',
  type: 'run.started',
  eventId: 'e',
  sessionId: 's',
  runId: 'r',
  sequence: 0,
  timestamp: 1,
  payload: {},
};

const check = (type: string, payload: unknown) => isAgentEvent({ ...envelope, type, payload });
const error = { message: 'broken' };

describe('the envelope', () => {
  it('is named and versioned', () => {
    expect([AGENT_EVENT_PROTOCOL, AGENT_EVENT_PROTOCOL_VERSION]).toEqual(['agent-event', '0.1']);
  });

  it('is taken with what it must have, and with more', () => {
    expect(isAgentEventEnvelope(envelope)).toBe(true);
    expect(isAgentEventEnvelope({ ...envelope, more: 1, payload: { more: 1 } })).toBe(true);
    expect(isAgentEventEnvelope({ ...envelope, parentId: '', meta: {} })).toBe(true);
    expect(isAgentEventEnvelope({ ...envelope, parentId: undefined, meta: undefined })).toBe(true);
    expect(isAgentEventEnvelope({ ...envelope, timestamp: -1.5 })).toBe(true);
  });

  it.each([
    ['protocolVersion', '0.2', 0.1, null, undefined],
    ['type', 'run.paused', 'constructor', '__proto__', '', ['run.started'], null, undefined],
    ['eventId', '', 1, null, undefined],
    ['sessionId', '', 1, null, undefined],
    ['runId', '', 1, null, undefined],
    ['sequence', -1, 0.5, '0', Number.NaN, Number.POSITIVE_INFINITY, null, undefined],
    ['timestamp', Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined],
    ['parentId', null, 1],
    ['payload', null, [], 'text', undefined],
    ['meta', null, [], 'text'],
  ])('is refused with a wrong %s', (name, ...values) => {
    for (const value of values) {
      expect(isAgentEventEnvelope({ ...envelope, [name]: value }), String(value)).toBe(false);
    }
  });

  it('is refused where it is no object', () => {
    for (const value of [null, undefined, 1, 'text', [], [envelope]]) {
      expect(isAgentEventEnvelope(value)).toBe(false);
      expect(isAgentEvent(value)).toBe(false);
    }
  });

  it('can be of 32 types', () => {
    expect(agentEventTypes).toHaveLength(32);
    expect(new Set(agentEventTypes).size).toBe(32);
    for (const missing of ['approval.cancelled', 'approval.failed', 'artifact.cancelled']) {
      expect(agentEventTypes).not.toContain(missing);
    }
  });
});

/** For each type a payload with the least, and wrong values by member. */
const cases: Readonly<Record<string, readonly [object, Readonly<Record<string, unknown[]>>?]>> = {
  'session.started': [{}, { title: [null, 1] }],
  'run.started': [{}],
  'run.completed': [
    {},
    { usage: [null, [], 1, { tokens: '1' }, { tokens: Number.NaN }, { tokens: null }] },
  ],
  'run.failed': [
    { error },
    {
      error: [
        undefined,
        null,
        'broken',
        [],
        {},
        { message: '' },
        { message: 1 },
        { ...error, code: 1 },
        { ...error, code: null },
        { ...error, retryable: 'yes' },
      ],
    },
  ],
  'run.cancelled': [{}, { reason: [null, 1] }],
  'message.started': [
    { messageId: 'm', role: 'assistant' },
    {
      messageId: [undefined, '', 1, null],
      role: [undefined, '', 1],
      content: [
        null,
        1,
        {},
        [null],
        ['text'],
        [{}],
        [{ type: 'text' }],
        [{ type: 'text', text: 1 }],
        [{ type: 'image', url: 1 }],
        [{ type: 'image', mediaType: null }],
        [{ type: 'file', name: 1 }],
        [{ type: 'audio', data: 1 }],
        [{ type: 'my.audio' }],
        [{ type: 1, data: 1 }],
        [{ type: 'text', text: 'fine' }, { type: 'odd' }],
      ],
    },
  ],
  'message.delta': [
    { messageId: 'm', delta: '' },
    { messageId: [''], delta: [undefined, null, 1, [{ type: 'text' }]] },
  ],
  'message.completed': [{ messageId: 'm' }, { messageId: [undefined], content: [null, 1] }],
  'message.failed': [
    { messageId: 'm', error },
    { messageId: [''], error: [undefined, {}] },
  ],
  'message.cancelled': [{ messageId: 'm' }, { messageId: [''], reason: [null, 1] }],
  'reasoning.started': [
    { reasoningId: 'x' },
    { reasoningId: ['', undefined], redacted: [null, 'no', 0] },
  ],
  'reasoning.delta': [
    { reasoningId: 'x', delta: '' },
    { reasoningId: [''], delta: [undefined, null, []] },
  ],
  'reasoning.completed': [
    { reasoningId: 'x' },
    { reasoningId: [''], content: [null, []], summary: [null, 1] },
  ],
  'reasoning.failed': [
    { reasoningId: 'x', error },
    { reasoningId: [''], error: [undefined] },
  ],
  'reasoning.cancelled': [{ reasoningId: 'x' }, { reasoningId: [''], reason: [null] }],
  'tool.requested': [
    { toolCallId: 't', name: 'n' },
    {
      toolCallId: ['', undefined],
      name: ['', undefined, 1],
      arguments: [null, {}],
      index: [null, 0.5, '0'],
      attempt: [null, 0, -1, 1.5, '1'],
      retryOf: [null, 1],
    },
  ],
  'tool.arguments_delta': [
    { toolCallId: 't', delta: '' },
    { toolCallId: [''], delta: [undefined, null, []] },
  ],
  'tool.running': [{ toolCallId: 't' }, { toolCallId: ['', undefined] }],
  'tool.completed': [{ toolCallId: 't' }, { toolCallId: ['', undefined] }],
  'tool.failed': [
    { toolCallId: 't', error },
    { toolCallId: [''], error: [undefined] },
  ],
  'tool.cancelled': [{ toolCallId: 't' }, { toolCallId: [''], reason: [null] }],
  'approval.requested': [
    { approvalId: 'a' },
    {
      approvalId: ['', undefined],
      toolCallId: [null, 1],
      description: [null, 1],
      risk: [null, 1],
      editable: [null, 'yes'],
      expiresAt: [null, Number.NaN, Number.POSITIVE_INFINITY, 'soon'],
      version: [null, Number.NaN, {}],
    },
  ],
  'approval.resolved': [
    { approvalId: 'a', decision: 'approved' },
    { approvalId: [''], decision: [undefined, null, 'maybe', 'constructor'] },
  ],
  'task.created': [
    { taskId: 'k', title: 'T' },
    { taskId: [''], title: ['', undefined], description: [null, 1] },
  ],
  'task.updated': [
    { taskId: 'k' },
    { taskId: [''], title: [null, 1], description: [null], progress: [null, Number.NaN, '1'] },
  ],
  'task.completed': [{ taskId: 'k' }, { taskId: ['', undefined] }],
  'task.failed': [
    { taskId: 'k', error },
    { taskId: [''], error: [undefined] },
  ],
  'task.cancelled': [{ taskId: 'k' }, { taskId: [''], reason: [null] }],
  'artifact.created': [
    { artifactId: 'f', name: 'n' },
    { artifactId: [''], name: ['', undefined], mediaType: [null, 1] },
  ],
  'artifact.updated': [{ artifactId: 'f', content: undefined }, { artifactId: ['', undefined] }],
  'artifact.completed': [{ artifactId: 'f' }, { artifactId: ['', undefined] }],
  'artifact.failed': [
    { artifactId: 'f', error },
    { artifactId: [''], error: [undefined] },
  ],
};

describe('the payload', () => {
  it('has its rules for every type', () => {
    expect(Object.keys(cases).sort()).toEqual([...agentEventTypes].sort());
  });

  it.each(Object.entries(cases))('of %s', (type, [least, wrong = {}]) => {
    expect(check(type, least)).toBe(true);
    expect(check(type, { ...least, more: null })).toBe(true);
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        expect(check(type, { ...least, [name]: value }), `${name}: ${JSON.stringify(value)}`).toBe(
          false,
        );
      }
    }
  });

  it.each([
    ['run.started', { input: null }],
    ['run.completed', { output: null, usage: {} }],
    ['run.completed', { usage: { tokens: 1, cost: -0.5 } }],
    ['run.failed', { error: { message: 'm', code: '', retryable: false, details: null } }],
    ['message.started', { messageId: 'm', role: 'developer', content: '' }],
    ['message.started', { messageId: 'm', role: 'user', content: [] }],
    [
      'message.delta',
      {
        messageId: 'm',
        delta: [
          { type: 'text', text: '' },
          { type: 'image' },
          { type: 'image', url: '', mediaType: 'image/png', data: null },
          { type: 'file', name: '', data: 1 },
          { type: 'my.part', data: undefined },
          { type: '.', data: null },
        ],
      },
    ],
    ['reasoning.completed', { reasoningId: 'x', content: '', summary: '' }],
    ['tool.requested', { toolCallId: 't', name: 'n', arguments: '', index: -1, attempt: 1 }],
    [
      'approval.requested',
      { approvalId: 'a', data: null, risk: 'odd', expiresAt: -1, version: '' },
    ],
    ['approval.requested', { approvalId: 'a', version: 0 }],
    ['approval.resolved', { approvalId: 'a', decision: 'expired', data: null }],
    ['task.updated', { taskId: 'k', title: '', progress: -7 }],
    ['artifact.updated', { artifactId: 'f', content: null, version: {} }],
    ['artifact.completed', { artifactId: 'f', content: null, version: null }],
  ])('of %s may be %j', (type, payload) => {
    expect(check(type, payload)).toBe(true);
  });

  it('of artifact.updated has its content, if only as undefined', () => {
    expect(check('artifact.updated', { artifactId: 'f' })).toBe(false);
  });
});
