import { describe, expect, it } from 'vitest';
import {
  AGENT_COMMAND_PROTOCOL,
  AGENT_COMMAND_PROTOCOL_VERSION,
  agentCommandTypes,
  createAgentCommandFactory,
  getAgentActionKey,
  getAgentCommandActionKey,
  getAgentCommandKey,
  isAgentCommand,
} from '../../src/agent-provider/commands.ts';

const ids = { sessionId: 's', runId: 'r' };
const commands = createAgentCommandFactory({ ...ids, now: () => 7 });
const cancel = commands.create('run.cancel', {});

describe('createAgentCommandFactory', () => {
  it('makes commands', () => {
    const command = createAgentCommandFactory({
      ...ids,
      now: () => 7,
      createCommandId: (type) => `c:${type}`,
    }).create('approval.resolve', { approvalId: 'a', decision: 'approved' }, { meta: { x: 1 } });
    expect(command).toEqual({
      commandProtocol: 'agent-command',
      commandProtocolVersion: '0.1',
      type: 'approval.resolve',
      commandId: 'c:approval.resolve',
      idempotencyKey: 'c:approval.resolve:idempotency',
      sessionId: 's',
      runId: 'r',
      timestamp: 7,
      payload: { approvalId: 'a', decision: 'approved' },
      meta: { x: 1 },
    });
    expect([AGENT_COMMAND_PROTOCOL, AGENT_COMMAND_PROTOCOL_VERSION]).toEqual([
      command.commandProtocol,
      command.commandProtocolVersion,
    ]);
  });

  it('names no two commands alike, on whatever page they were made', () => {
    const made = Array.from({ length: 50 }, () =>
      createAgentCommandFactory(ids).create('run.cancel', {}),
    );
    expect(new Set(made.map((command) => command.commandId)).size).toBe(50);
    expect(new Set(made.map((command) => command.idempotencyKey)).size).toBe(50);
    expect(made[0]!.commandId).toMatch(/^r:command:[\da-f-]{32,36}:run\.cancel$/);
    expect('meta' in made[0]!).toBe(false);
  });

  it('takes ids, times and keys of the caller', () => {
    const command = createAgentCommandFactory({
      ...ids,
      createIdempotencyKey: (commandId, type) => `${commandId}/${type}`,
    }).create('tool.retry', { toolCallId: 't' }, { commandId: 'mine', timestamp: 3 });
    expect(command).toMatchObject({
      commandId: 'mine',
      idempotencyKey: 'mine/tool.retry',
      timestamp: 3,
    });
    expect(commands.create('run.cancel', {}, { idempotencyKey: 'again' }).idempotencyKey).toBe(
      'again',
    );
  });
});

describe('isAgentCommand', () => {
  it('takes what the factory makes, with more of anything', () => {
    const made = [
      cancel,
      commands.create('run.cancel', { reason: '' }),
      commands.create('tool.retry', { toolCallId: 't' }),
      commands.create('approval.resolve', {
        approvalId: 'a',
        decision: 'modified',
        data: null,
        expectedVersion: 0,
      }),
    ];
    for (const command of made) expect(isAgentCommand({ ...command, more: 1 })).toBe(true);
    expect(agentCommandTypes).toEqual(['approval.resolve', 'tool.retry', 'run.cancel']);
  });

  it.each([
    ['commandProtocol', 'agent-event', null, undefined],
    ['commandProtocolVersion', '0.2', 0.1, undefined],
    ['type', 'run.pause', 'constructor', '__proto__', ['run.cancel'], null, undefined],
    ['commandId', '', 1, undefined],
    ['idempotencyKey', '', 1, undefined],
    ['sessionId', '', 1, undefined],
    ['runId', '', 1, undefined],
    ['timestamp', Number.NaN, Number.POSITIVE_INFINITY, '1', undefined],
    ['payload', null, [], 'text', undefined, { reason: null }, { reason: 1 }],
    ['meta', null, [], 'text'],
  ])('refuses a wrong %s', (name, ...values) => {
    for (const value of values) {
      expect(isAgentCommand({ ...cancel, [name]: value }), String(value)).toBe(false);
    }
  });

  it.each([
    ['tool.retry', {}],
    ['tool.retry', { toolCallId: '' }],
    ['approval.resolve', { approvalId: '', decision: 'approved' }],
    ['approval.resolve', { approvalId: 'a' }],
    ['approval.resolve', { approvalId: 'a', decision: 'expired' }],
    ['approval.resolve', { approvalId: 'a', decision: 'approved', expectedVersion: null }],
    ['approval.resolve', { approvalId: 'a', decision: 'approved', expectedVersion: Number.NaN }],
  ])('refuses %s with %j', (type, payload) => {
    expect(isAgentCommand({ ...cancel, type, payload })).toBe(false);
  });

  it('refuses what is no object', () => {
    for (const value of [null, undefined, 1, 'text', [cancel]]) {
      expect(isAgentCommand(value)).toBe(false);
    }
  });
});

describe('keys', () => {
  it('are the command id, and what the command does to what', () => {
    const retry = commands.create('tool.retry', { toolCallId: 't' }, { commandId: 'c' });
    const answer = commands.create('approval.resolve', { approvalId: 'a', decision: 'approved' });
    expect(getAgentCommandKey(retry)).toBe('c');
    expect(getAgentCommandActionKey(retry)).toBe('1:r:tool.retry:t');
    expect(getAgentCommandActionKey(answer)).toBe('1:r:approval.resolve:a');
    expect(getAgentCommandActionKey(cancel)).toBe('1:r:run.cancel:');
    expect(getAgentActionKey({ runId: 'r', type: 'run.cancel' })).toBe('1:r:run.cancel:');
    expect(getAgentActionKey({ runId: 'r', type: 'tool.retry', entityId: 't' })).toBe(
      getAgentCommandActionKey(retry),
    );
  });
});
