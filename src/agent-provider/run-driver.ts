import { type BaseEnvironment, baseEnvironment } from '../internal/environment.ts';
import { isRunSocketError } from '../internal/errors.ts';
import { isAbortError } from './abortable.ts';
import type { AgentProviderContextOptions } from './provider-types.ts';
import { runCore } from './run-core.ts';
import type { AgentRunDriver, DriveOptions } from './run-driver-types.ts';
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
  const { provider, input, run, resume, onConnection, onCursor } = options;
  const { transport } = provider;
  const {
    maxAttempts = 3,
    initialDelay = 500,
    maxDelay = 5000,
  } = options.reconnect || {
    maxAttempts: 0,
  };
  const from = resume?.context;
  const before = from && 'live' in from ? kept.get(Object(from.live)) : undefined;
  const sequence = before?.sequence ?? { last: -1 };
  sequence.last = Math.max(sequence.last, run.initialSequence ?? -1);
  let cursor = resume?.cursor;
  /** The run cannot be taken up where it was left. */
  let lost = !!resume && !transport.resume;
  let own: Context;
  const remember = () => options.remember?.(own);

  function createContext(given: AgentProviderContextOptions): Context {
    if (!from) return provider.createContext(given);
    if ('live' in from) return from.live;
    try {
      // What nothing was written down of is made anew.
      return from.saved === undefined && !provider.restoreContext
        ? provider.createContext(given)
        : provider.restoreContext!(from.saved, given);
    } catch {
      lost = true;
      return undefined as Context;
    }
  }

  return runCore(options, {
    sequence,
    open: resume?.open,
    createContext(given) {
      own = createContext({ ...given, remember });
      return own;
    },
    async follow(core) {
      if (lost) return 'unrecoverable';
      const { context, signal, tell } = core;
      // Where no cursor names the run, its request does.
      const request =
        before || cursor !== undefined
          ? (before?.request as Request | undefined)
          : provider.prepareRequest(input, context);
      if (Object(context) === context) kept.set(context as object, { sequence, request });
      let again = !!resume;
      // Remembered first, sent second: a page that dies in between asks for the run.
      const written = again ? undefined : remember();
      if (written) {
        await core.until(() => written);
        if (signal.aborted) return 'detached';
      }
      tell(onConnection, again ? 'reconnecting' : 'connecting');
      for (let attempt = 0; ; attempt++) {
        let connected = false;
        try {
          const whole = await core.read(
            () =>
              again
                ? transport.resume!(request, cursor, signal)
                : transport.open(request as Request, signal),
            (chunk, isTold) => {
              if (!isTold) {
                attempt = 0;
                if (!connected) tell(onConnection, 'connected');
                connected = true;
                return;
              }
              const next = transport.getCursor?.(chunk);
              if (next === undefined) return;
              cursor = next;
              tell(onCursor, next);
            },
          );
          return whole ? 'ended' : 'detached';
        } catch (error) {
          if (!core.mayGoOn) throw error;
          if (again && isRunSocketError(error, 'invalid-argument')) return 'unrecoverable';
          if (
            attempt >= maxAttempts ||
            !transport.resume ||
            !transport.getCursor ||
            isAbortError(error) ||
            !provider.classifyError?.(error, context).retryable
          ) {
            throw error;
          }
        }
        again = true;
        tell(onConnection, 'reconnecting');
        await core.pause(Math.min(maxDelay, initialDelay * 2 ** attempt), environment.setTimer);
        if (core.isOver()) return 'detached';
      }
    },
  });
}
