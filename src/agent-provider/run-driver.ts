import { type BaseEnvironment, baseEnvironment } from '../internal/environment.ts';
import { isRunSocketError, RunSocketError } from '../internal/errors.ts';
import { createWaits, isAbortError, leave, toAbortError } from './abortable.ts';
import { AGENT_EVENT_PROTOCOL_VERSION, isAgentEvent } from './event-guards.ts';
import type { AgentEvent } from './event-types.ts';
import { createLiveAgentRun, registerLiveAgentRun } from './live-agent-run.ts';
import { getRunEnd } from './open-entities.ts';
import type { AgentRunDriver, AgentRunOutcome, DriveOptions } from './run-driver-types.ts';
import type { AgentSequence } from './sequence.ts';

// What a context that is taken up again has to go on with.
const kept = new WeakMap<object, { readonly sequence: AgentSequence; readonly request: unknown }>();

/**
 * Drive one run of a provider: start it, or go on with one, and give out its events.
 *
 * The events that begin the run are given out before it returns. Throws `unsupported` for another
 * protocol version and for a transport that the provider did not declare, and what `createContext`
 * throws; everything later reaches `done`. The run ends with one terminal event at most, and with
 * exactly one when its signal is aborted, whatever the provider and its transport do then.
 *
 * A detached run is cancelled by going on with it under a signal that is aborted.
 */
export function driveAgentProvider<Input, Request, Chunk, Context>(
  options: DriveOptions<Input, Request, Chunk, Context>,
  environment: Pick<BaseEnvironment, 'setTimer'> = baseEnvironment,
): AgentRunDriver<Context> {
  const { provider, input, run, resume, strict } = options;
  const { transport, capabilities, protocol } = provider;
  const { signal, sessionId, runId } = run;
  if (protocol.version !== AGENT_EVENT_PROTOCOL_VERSION) {
    throw new RunSocketError('unsupported', `Protocol version ${protocol.version} is not spoken.`);
  }
  if (!capabilities.transports.includes(transport.kind)) {
    throw new RunSocketError('unsupported', `Transport "${transport.kind}" is not declared.`);
  }
  const declared = new Set(capabilities.eventTypes);
  const inner = new AbortController();
  let cursor = resume?.cursor;
  let context: Context;
  let detached = false;
  let aborted = signal?.aborted ?? false;
  /** What may not be told to the provider: what the consumer threw, or a broken protocol. */
  let fatal: { readonly error: unknown; readonly byConsumer: boolean } | undefined;
  /** What fails now fails in the transport. */
  let moving = false;

  const saved = resume?.context;
  const before = saved && 'live' in saved ? kept.get(Object(saved.live)) : undefined;
  const sequence = before?.sequence ?? { last: -1 };
  sequence.last = Math.max(sequence.last, run.initialSequence ?? -1);
  const isOver = () => detached || aborted || live.ended;
  const waits = createWaits(isOver);
  const live = createLiveAgentRun(run, {
    sequence,
    declared,
    started: resume !== undefined,
    onEnd: waits.wake,
  });
  for (const event of resume?.open ?? []) live.open.add(event);

  const lost: AgentRunDriver<Context> = {
    context: undefined as Context,
    done: Promise.resolve('unrecoverable'),
    detach() {},
  };
  const contextOptions = { ...run, events: live.events };
  if (!saved) context = provider.createContext(contextOptions);
  else if (!transport.resume) return lost;
  else if ('live' in saved) context = saved.live;
  else {
    try {
      context = provider.restoreContext!(saved.saved, contextOptions);
    } catch {
      return lost;
    }
  }

  function breakOff(error: unknown, byConsumer = false): never {
    fatal = { error, byConsumer };
    throw error;
  }

  function tell(task: () => void) {
    try {
      task();
    } catch (error) {
      breakOff(error, true);
    }
  }

  const consume = (event: AgentEvent) => tell(() => options.onEvent(event));

  function faultOf(event: AgentEvent): string | undefined {
    if (!isAgentEvent(event)) return 'is not valid';
    if (event.sessionId !== sessionId || event.runId !== runId) return 'is of another run';
    if (!declared.has(event.type)) return 'is not declared';
    if (!strict) return undefined;
    if (event.sequence <= live.last) return 'has no higher sequence';
    return getRunEnd(event) && live.open.size ? 'leaves entities open' : live.open.check(event);
  }

  function emit(events: readonly AgentEvent[]) {
    for (const event of events) {
      if (live.ended) return;
      const fault = faultOf(event);
      if (fault) {
        const text = `Event ${event?.type} of provider ${provider.id}: ${fault}.`;
        breakOff(new RunSocketError('bad-message', text));
      }
      live.give(event, consume);
    }
  }

  const connection = (state: 'connecting' | 'connected' | 'reconnecting') =>
    tell(() => options.onConnection?.(state));

  /** Reads one iterable; `true` where it came to its end. */
  async function read(request: Request | undefined, again: boolean, onChunk: () => void) {
    let iterator: AsyncIterator<Chunk> | undefined;
    try {
      moving = true;
      const chunks = again
        ? transport.resume!(request, cursor, inner.signal)
        : transport.open(request as Request, inner.signal);
      iterator = chunks[Symbol.asyncIterator]();
      for (let connected = false; ; connected = true) {
        moving = true;
        const result = await waits.next(iterator);
        moving = false;
        if (!result || isOver()) return false;
        if (result.done) {
          iterator = undefined;
          return true;
        }
        onChunk();
        if (!connected) connection('connected');
        emit(provider.transformChunk(result.value, context));
        const next = transport.getCursor?.(result.value);
        if (next !== undefined) {
          cursor = next;
          tell(() => options.onCursor?.(next));
        }
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

  /** Reads the run to its end, across failures of the transport; `undefined` where it was broken off. */
  async function follow(): Promise<AgentRunOutcome | undefined> {
    const request = resume
      ? (before?.request as Request | undefined)
      : provider.prepareRequest(input, context);
    if (Object(context) === context) kept.set(context as object, { sequence, request });
    const {
      maxAttempts = 3,
      initialDelay = 500,
      maxDelay = 5000,
    } = options.reconnect || {
      maxAttempts: 0,
    };
    let again = resume !== undefined;
    let fresh = again;
    connection(again ? 'reconnecting' : 'connecting');
    for (let attempt = 0; ; attempt++) {
      try {
        const whole = await read(request, again, () => {
          attempt = 0;
          fresh = false;
        });
        return whole ? 'ended' : undefined;
      } catch (error) {
        if (fatal || !moving || isOver()) throw error;
        if (fresh && isRunSocketError(error, 'invalid-argument')) return 'unrecoverable';
        if (
          attempt >= maxAttempts ||
          !transport.resume ||
          !transport.getCursor ||
          isAbortError(error) ||
          !provider.classifyError?.(error, context).retryable
        ) {
          throw error;
        }
        fresh = false;
      }
      again = true;
      connection('reconnecting');
      await waits.pause(Math.min(maxDelay, initialDelay * 2 ** attempt), environment.setTimer);
      if (isOver()) return undefined;
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
      const started = open.started ? [] : [events.create('run.started', { input })];
      for (const event of started) live.give(event, consume);
      for (const event of open.close({ type: 'cancelled', ...said })) live.give(event, consume);
      // Not declared: still better than a run without an end.
      if (!live.ended) live.give(events.create('run.cancelled', said), consume);
    }
    if (failure) throw failure.error;
  }

  async function drive(): Promise<AgentRunOutcome> {
    let outcome: AgentRunOutcome = 'ended';
    try {
      try {
        if (!resume) emit(provider.start(input, context));
        // A run that goes on elsewhere is asked for even to be cancelled: its transport tells it.
        if (!isOver() || (resume && aborted)) {
          outcome = (await follow()) ?? 'detached';
          if (outcome === 'ended' && !aborted) emit(provider.flush(context));
        }
      } catch (error) {
        if (fatal) throw error;
        if (!aborted && !live.ended && !(detached && moving)) {
          emit(provider.transformError(error, context));
        }
      }
      if (aborted && !live.ended) cancel();
      if (aborted || live.ended) outcome = 'ended';
      return outcome;
    } catch (error) {
      outcome = 'ended';
      throw fatal ? fatal.error : error;
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
  if (aborted) inner.abort(signal!.reason);
  else signal?.addEventListener('abort', onAbort);
  return {
    context,
    done: drive(),
    detach() {
      detached = true;
      waits.wake();
    },
  };
}
