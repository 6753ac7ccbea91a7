import { RunSocketError } from '../internal/errors.ts';
import { createWaits, leave, toAbortError, type Waits } from './abortable.ts';
import { AGENT_EVENT_PROTOCOL_VERSION } from './event-guards.ts';
import type { AgentEvent } from './event-types.ts';
import { createLiveAgentRun, findFault, registerLiveAgentRun } from './live-agent-run.ts';
import { getRunEnd } from './open-entities.ts';
import type { AgentProviderContextOptions, RunAgentProviderOptions } from './provider-types.ts';
import type { AgentRunDriver, AgentRunOutcome } from './run-driver-types.ts';
import type { AgentSequence } from './sequence.ts';

/** What reads a run's chunks works with. */
export interface RunCore<Chunk, Context> extends Pick<Waits, 'pause' | 'until'> {
  readonly context: Context;
  /** Aborted with the run, and when it is over. */
  readonly signal: AbortSignal;
  /** What failed just now failed in the transport, and the run is wanted still. */
  readonly mayGoOn: boolean;
  /** Nobody reads the run any more. */
  isOver(): boolean;
  /** Calls a function of the consumer: what it throws is nobody else's. */
  tell<Value>(listener: ((value: Value) => void) | undefined, value: Value): void;
  /** Gives out what one iterable brings; `true` where it came to its end. `onChunk` is called before and after the events of each chunk. */
  read(
    open: () => AsyncIterable<Chunk>,
    onChunk?: (chunk: Chunk, isTold: boolean) => void,
  ): Promise<boolean>;
}

/** What sets one run apart from another. */
export interface RunPlan<Chunk, Context> {
  /** The sequence that the run goes on with. */
  readonly sequence: AgentSequence;
  /** What a run has open that is gone on with; absent for one that begins. */
  readonly open?: readonly AgentEvent[] | undefined;
  createContext(options: AgentProviderContextOptions): Context;
  follow(core: RunCore<Chunk, Context>): Promise<AgentRunOutcome>;
}

/** Give out the events of one run, from its start or from where it is taken up, with one end at most. */
export function runCore<Input, Request, Chunk, Context>(
  options: RunAgentProviderOptions<Input, Request, Chunk, Context>,
  { sequence, open: opened, createContext, follow }: RunPlan<Chunk, Context>,
): AgentRunDriver<Context> {
  const { provider, input, run, strict } = options;
  const { transport, capabilities, protocol } = provider;
  const { signal } = run;
  const refuse = (what: string) => {
    throw new RunSocketError('unsupported', `The provider's ${what} is not supported.`);
  };
  if (protocol.version !== AGENT_EVENT_PROTOCOL_VERSION) refuse(`version ${protocol.version}`);
  if (!capabilities.transports.includes(transport.kind)) refuse(`transport ${transport.kind}`);
  const inner = new AbortController();
  let detached = false;
  let aborted = false;
  /** What the provider is not told: what the consumer threw, or that an event breaks the protocol. */
  let fatal: { readonly error: unknown; readonly byConsumer: boolean } | undefined;
  /** What fails now fails in the transport. */
  let moving = false;
  const isOver = () => detached || aborted || live.ended;
  const waits = createWaits(isOver);
  const live = createLiveAgentRun(run, {
    sequence,
    declared: capabilities.eventTypes,
    started: !!opened,
    onEnd: waits.wake,
  });
  opened?.forEach(live.open.add);
  const context = createContext({ ...run, events: live.events });

  function breakOff(error: unknown, byConsumer: boolean): never {
    fatal = { error, byConsumer };
    throw error;
  }

  function tell<Value>(listener: ((value: Value) => void) | undefined, value: Value) {
    try {
      listener?.(value);
    } catch (error) {
      breakOff(error, true);
    }
  }

  const give = (event: AgentEvent) => live.give(event, (one) => tell(options.onEvent, one));

  function emit(events: readonly AgentEvent[]) {
    for (const event of events) {
      if (live.ended) return;
      const fault =
        findFault(event, run, capabilities) ??
        (strict &&
          (!live.open.fits(event) ||
            event.sequence <= live.last ||
            (getRunEnd(event) && live.open.size)) &&
          'has no place');
      if (fault) breakOff(new RunSocketError('bad-message', `${event?.type} ${fault}.`), false);
      give(event);
    }
  }

  async function read(
    open: () => AsyncIterable<Chunk>,
    onChunk: (chunk: Chunk, isTold: boolean) => void = () => {},
  ) {
    let iterator: AsyncIterator<Chunk> | undefined;
    try {
      moving = true;
      iterator = open()[Symbol.asyncIterator]();
      for (;;) {
        moving = true;
        const result = await waits.next(iterator);
        moving = false;
        if (!result || isOver()) return false;
        if (result.done) {
          iterator = undefined;
          return true;
        }
        onChunk(result.value, false);
        emit(provider.transformChunk(result.value, context));
        onChunk(result.value, true);
        if (isOver()) return false;
      }
    } catch (error) {
      // Nobody reads on: a run that is told as failed must not go on at its agent.
      if (!moving) inner.abort();
      throw error;
    } finally {
      leave(iterator);
    }
  }

  /** Ends an aborted run: as the provider says, or else with what is open. */
  function cancel() {
    const reason = toAbortError(signal!);
    let failure: { readonly error: unknown } | undefined;
    try {
      emit(provider.transformError(reason, context));
    } catch (error) {
      if (fatal?.byConsumer) throw error;
      failure = { error };
    }
    if (!live.ended) {
      const { events, open } = live;
      const said = reason === signal!.reason ? {} : { reason: (reason as Error).message };
      if (!open.started) give(events.create('run.started', { input }));
      open.closings({ type: 'cancelled', ...said }).forEach(give);
      give(events.create('run.cancelled', said));
    }
    if (failure) throw failure.error;
  }

  async function drive(): Promise<AgentRunOutcome> {
    let outcome: AgentRunOutcome = 'ended';
    try {
      try {
        if (!opened) emit(provider.start(input, context));
        // A run that goes on elsewhere is asked for even to be cancelled: its transport tells it.
        if (opened || !isOver()) {
          outcome = await follow({
            ...waits,
            context,
            signal: inner.signal,
            get mayGoOn() {
              return moving && !fatal && !isOver();
            },
            isOver,
            tell,
            read,
          });
          if (outcome === 'ended' && !aborted) emit(provider.flush(context));
        }
      } catch (error) {
        if (fatal) throw error;
        if (!aborted && !live.ended && !(detached && moving)) {
          outcome = 'ended';
          emit(provider.transformError(error, context));
        }
      }
      if (aborted && !live.ended && outcome !== 'unrecoverable') cancel();
      if (outcome === 'detached' && (aborted || live.ended)) outcome = 'ended';
      return outcome;
    } catch (error) {
      outcome = 'ended';
      throw error;
    } finally {
      unregister();
      signal?.removeEventListener('abort', onAbort);
      if (outcome !== 'detached') inner.abort();
    }
  }

  function onAbort() {
    aborted = true;
    inner.abort(signal!.reason);
    waits.wake();
  }

  const unregister = registerLiveAgentRun(provider, run, live);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort);
  return {
    context,
    done: drive(),
    detach() {
      detached = true;
      waits.wake();
    },
  };
}
