import { describe, expect, it } from 'vitest';
import {
  createAgentEventFactory,
  createSharedEventFactory,
} from '../../src/agent-provider/event-factory.ts';
import { isAgentEvent } from '../../src/agent-provider/event-guards.ts';
import { isRunSocketError } from '../../src/internal/errors.ts';

const ids = { sessionId: 's', runId: 'r' };

describe('createAgentEventFactory', () => {
  it('numbers events from 0 and names them after their run, sequence and type', () => {
    const events = createAgentEventFactory({ ...ids, now: () => 7 });
    expect(events.getSequence()).toBe(-1);
    expect(events.create('run.started', { input: 1 })).toEqual({
      protocolVersion: '0.1',
      type: 'run.started',
      eventId: 'r:0:run.started',
      sessionId: 's',
      runId: 'r',
      sequence: 0,
      timestamp: 7,
      payload: { input: 1 },
    });
    expect(events.create('run.completed', {}).sequence).toBe(1);
    expect(events.getSequence()).toBe(1);
  });

  it('makes events that are valid, on the wall clock', () => {
    const before = Date.now();
    const event = createAgentEventFactory(ids).create('message.started', {
      messageId: 'm',
      role: 'user',
    });
    expect(isAgentEvent(event)).toBe(true);
    expect(event.timestamp).toBeGreaterThanOrEqual(before);
  });

  it('goes on after the sequence it is given', () => {
    const events = createAgentEventFactory({ ...ids, initialSequence: 41 });
    expect(events.create('run.cancelled', {}).sequence).toBe(42);
  });

  it('takes a sequence, and counts on from the highest', () => {
    const events = createAgentEventFactory(ids);
    expect(events.create('run.started', {}, { sequence: 5 }).sequence).toBe(5);
    expect(events.create('run.cancelled', {}, { sequence: 2 }).eventId).toBe('r:2:run.cancelled');
    expect(events.getSequence()).toBe(5);
    expect(events.create('run.cancelled', {}).sequence).toBe(6);
  });

  it('throws for a sequence that is no integer from 0 on, and stays as it was', () => {
    const events = createAgentEventFactory(ids);
    for (const sequence of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => events.create('run.started', {}, { sequence })).toThrow(
        expect.toSatisfy((error) => isRunSocketError(error, 'invalid-argument')),
      );
    }
    expect(events.getSequence()).toBe(-1);
  });

  it('sets parent and meta only where they are given, and copies nothing', () => {
    const events = createAgentEventFactory(ids);
    const payload = { messageId: 'm', role: 'user' };
    const meta = { a: 1 };
    const event = events.create('message.started', payload, { parentId: '', meta });
    expect(event.payload).toBe(payload);
    expect(event.meta).toBe(meta);
    expect(event.parentId).toBe('');
    const bare = events.create('message.started', payload, {
      parentId: undefined,
      meta: undefined,
    });
    expect('parentId' in bare || 'meta' in bare).toBe(false);
  });

  it('takes ids and times of the caller', () => {
    const events = createAgentEventFactory({
      ...ids,
      createEventId: (sequence, type) => `${type}#${sequence}`,
    });
    expect(events.create('run.started', {}).eventId).toBe('run.started#0');
    const event = events.create('run.cancelled', {}, { eventId: 'mine', timestamp: 3 });
    expect([event.eventId, event.timestamp]).toEqual(['mine', 3]);
  });
});

describe('createSharedEventFactory', () => {
  it('gives out one sequence to all who share it', () => {
    const sequence = { last: -1 };
    const stream = createSharedEventFactory(sequence, ids);
    const command = createSharedEventFactory(sequence, ids);
    const given = [stream, command, command, stream].map(
      (events) => events.create('run.started', {}).sequence,
    );
    expect(given).toEqual([0, 1, 2, 3]);
    expect([sequence.last, stream.getSequence(), command.getSequence()]).toEqual([3, 3, 3]);
  });
});
