import { createSharedEventFactory } from './event-factory.ts';
import { isAgentEvent } from './event-guards.ts';
import type { AgentEvent, AgentEventFactory, AgentEventType } from './event-types.ts';
import { createOpenEntities, getRunEnd, type OpenEntities } from './open-entities.ts';
import type { AgentProviderCapabilities, AgentRunOptions } from './provider-types.ts';
import type { AgentSequence } from './sequence.ts';

type Run = Pick<AgentRunOptions, 'sessionId' | 'runId'>;

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
  /** Gives one event to `consumer`, and before a terminal event what closes the entities that it leaves open. Not to be called once the run has ended. */
  give(event: AgentEvent, consumer: (event: AgentEvent) => void, isCommand?: boolean): void;
}

// By provider, so that equal ids at two providers are two runs.
const liveRuns = new WeakMap<object, Map<string, LiveAgentRun>>();

const keyOf = ({ sessionId, runId }: Run) => `${sessionId.length}:${sessionId}${runId}`;

/** The run that is being driven under these ids at this provider. */
export function findLiveAgentRun(provider: object, run: Run): LiveAgentRun | undefined {
  return liveRuns.get(provider)?.get(keyOf(run));
}

/** Lets commands find a run; returns what ends that. */
export function registerLiveAgentRun(provider: object, run: Run, live: LiveAgentRun): () => void {
  const runs = liveRuns.get(provider) ?? new Map<string, LiveAgentRun>();
  liveRuns.set(provider, runs);
  const key = keyOf(run);
  runs.set(key, live);
  return () => {
    // A later driver of the same run may have taken the place.
    if (runs.get(key) === live) runs.delete(key);
  };
}

/** What keeps an event from being given out, as text; `undefined` where nothing does. */
export function findFault(
  event: AgentEvent,
  { sessionId, runId }: Run,
  { eventTypes }: AgentProviderCapabilities,
): string | undefined {
  if (!isAgentEvent(event)) return 'is not valid';
  if (event.sessionId !== sessionId || event.runId !== runId) return 'is of another run';
  return eventTypes.includes(event.type) ? undefined : 'is not declared';
}

/** Make what the stream and the commands of a run share; `onEnd` is called once its terminal event was given. */
export function createLiveAgentRun(
  run: AgentRunOptions,
  options: {
    readonly sequence: AgentSequence;
    readonly declared: readonly AgentEventType[];
    readonly started: boolean;
    readonly onEnd: () => void;
  },
): LiveAgentRun {
  const { sequence } = options;
  const events = createSharedEventFactory(sequence, run);
  const open = createOpenEntities({ ...options, events });
  let streamed = sequence.last;

  const self = {
    events,
    open,
    sequence,
    last: streamed,
    ended: false,
    give(event: AgentEvent, consumer: (event: AgentEvent) => void, isCommand?: boolean) {
      const end = getRunEnd(event);
      const given = end ? open.closings(end) : [];
      // A stream with a factory of its own does not know what sequences the commands have used.
      if (given[0] || (!isCommand && event.sequence <= self.last && event.sequence > streamed)) {
        const { sequence, eventId } = events.create(event.type, event.payload);
        given.push({ ...event, sequence, eventId });
      } else given.push(event);
      if (!isCommand) streamed = Math.max(streamed, event.sequence);
      for (const one of given) {
        self.last = Math.max(self.last, one.sequence);
        sequence.last = Math.max(sequence.last, self.last);
        open.add(one);
        self.ended = !!getRunEnd(one);
        consumer(one);
      }
      if (self.ended) options.onEnd();
    },
  };
  return self;
}
