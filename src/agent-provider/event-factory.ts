import { baseEnvironment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { AGENT_EVENT_PROTOCOL_VERSION } from './event-guards.ts';
import type { AgentEventFactory, AgentEventFactoryOptions } from './event-types.ts';
import type { AgentSequence } from './sequence.ts';

/** Make a factory of a run's events whose sequence others share; `initialSequence` is not read. */
export function createSharedEventFactory(
  shared: AgentSequence,
  { sessionId, runId, now = baseEnvironment.now, createEventId }: AgentEventFactoryOptions,
): AgentEventFactory {
  return {
    create(type, payload, options = {}) {
      const { sequence = shared.last + 1, parentId, meta } = options;
      if (!Number.isInteger(sequence) || sequence < 0) {
        throw new RunSocketError(
          'invalid-argument',
          `The sequence ${sequence} is not an integer from 0 on.`,
        );
      }
      const event = {
        protocolVersion: AGENT_EVENT_PROTOCOL_VERSION,
        type,
        eventId:
          options.eventId ?? createEventId?.(sequence, type) ?? `${runId}:${sequence}:${type}`,
        sessionId,
        runId,
        sequence,
        timestamp: options.timestamp ?? now(),
        ...(parentId !== undefined && { parentId }),
        payload,
        ...(meta !== undefined && { meta }),
      };
      shared.last = Math.max(shared.last, sequence);
      return event;
    },
    getSequence: () => shared.last,
  };
}

/**
 * Make a factory of the events of one run, each with the next sequence.
 *
 * A sequence given with an event must be an integer from 0 on, else `create` throws a RunSocketError
 * `invalid-argument`; a lower one than the last is taken and does not set the counter back. The
 * payload is neither checked nor copied.
 */
export function createAgentEventFactory(options: AgentEventFactoryOptions): AgentEventFactory {
  return createSharedEventFactory({ last: options.initialSequence ?? -1 }, options);
}
