import { createSharedEventFactory } from './event-factory.ts';
import type { AgentEvent, AgentEventFactory, AgentEventType } from './event-types.ts';
import { createOpenEntities, getRunEnd, type OpenEntities } from './open-entities.ts';
import type { AgentRunOptions } from './provider-types.ts';
import type { AgentSequence } from './sequence.ts';

/** A run that is being driven, as its stream and its commands share it. */
export interface LiveAgentRun {
  /** Makes the run's events. */
  readonly events: AgentEventFactory;
  readonly open: OpenEntities;
  readonly sequence: AgentSequence;
  /** The last sequence that the consumer was given. */
  readonly last: number;
  /** The consumer was given a terminal event of the run. */
  readonly ended: boolean;
  /** Gives one event to `consumer`, and before a terminal event what closes the entities that it leaves open; nothing once the run has ended. */
  give(event: AgentEvent, consumer: (event: AgentEvent) => void, isCommand?: boolean): void;
}

// By provider, so that equal ids at two providers are two runs.
const liveRuns = new WeakMap<object, Map<string, LiveAgentRun>>();

const keyOf = (run: { readonly sessionId: string; readonly runId: string }) =>
  `${run.sessionId.length}:${run.sessionId}${run.runId}`;

/** The run that is being driven under these ids at this provider. */
export function findLiveAgentRun(
  provider: object,
  run: { readonly sessionId: string; readonly runId: string },
): LiveAgentRun | undefined {
  return liveRuns.get(provider)?.get(keyOf(run));
}

/** Lets commands find a run; returns what ends that. */
export function registerLiveAgentRun(
  provider: object,
  run: AgentRunOptions,
  live: LiveAgentRun,
): () => void {
  const runs = liveRuns.get(provider) ?? new Map<string, LiveAgentRun>();
  liveRuns.set(provider, runs);
  const key = keyOf(run);
  runs.set(key, live);
  return () => {
    // A later driver of the same run has taken the place.
    if (runs.get(key) === live) runs.delete(key);
  };
}

/** Make what the stream and the commands of a run share; `onEnd` is called once its terminal event was given. */
export function createLiveAgentRun(
  run: AgentRunOptions,
  options: {
    readonly sequence: AgentSequence;
    readonly declared: ReadonlySet<AgentEventType>;
    readonly started: boolean;
    readonly onEnd: () => void;
  },
): LiveAgentRun {
  const { sequence, onEnd } = options;
  const events = createSharedEventFactory(sequence, run);
  const open = createOpenEntities({ ...options, events });
  let { last } = sequence;
  let streamed = last;
  let ended = false;

  /** The event with the next sequence, in place of one that is taken. */
  function restamp(event: AgentEvent): AgentEvent {
    const { sequence, eventId } = events.create(event.type, event.payload);
    return { ...event, sequence, eventId };
  }

  return {
    events,
    open,
    sequence,
    get last() {
      return last;
    },
    get ended() {
      return ended;
    },
    give(event, consumer, isCommand) {
      if (ended) return;
      const end = getRunEnd(event);
      const closing = end ? open.closings(end) : [];
      // A stream with a factory of its own does not know what sequences the commands have used.
      const taken = !isCommand && event.sequence <= last && event.sequence > streamed;
      if (!isCommand) streamed = Math.max(streamed, event.sequence);
      for (const one of [...closing, closing.length || taken ? restamp(event) : event]) {
        last = Math.max(last, one.sequence);
        sequence.last = Math.max(sequence.last, last);
        open.add(one);
        ended = one.type === event.type && end !== undefined;
        consumer(one);
      }
      if (ended) onEnd();
    },
  };
}
