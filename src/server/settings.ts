import { type Environment, serverEnvironment } from '../internal/environment.ts';
import { defaultLimits, type RunServerLimits } from './limits.ts';
import type { RunServerOptions } from './types.ts';

/** The options of a server with all defaults filled in. */
export interface ServerSettings<Context> {
  readonly environment: Environment;
  readonly plain: boolean;
  readonly limits: Required<RunServerLimits>;
  readonly heartbeat: number;
  readonly lease: number;
  /** How long who asks too much is asked to stay away, in ms. */
  readonly floodWait: number;
  readonly hello: object;
  readonly principal: (context: Context) => string | undefined;
  readonly authorize: NonNullable<RunServerOptions<Context>['authorize']>;
  readonly authenticate: RunServerOptions<Context>['authenticate'];
  report(error: unknown, runId?: string): void;
}

const caps = ['accepted', 'end', 'unknown', 'truncated', 'batch', 'policy', 'ping'];

/** Fill in the defaults. */
export function createSettings<Context>(
  options: Omit<RunServerOptions<Context, never>, 'run'>,
  environment: Environment = serverEnvironment,
): ServerSettings<Context> {
  const limits = { ...defaultLimits };
  for (const [name, value] of Object.entries(options.limits ?? {})) {
    // `undefined` in JavaScript means the default here too.
    if (value !== undefined) limits[name as keyof RunServerLimits] = value;
  }
  // What clients make of it (AG-UI over runsocket, protocol version 1).
  const heartbeat = Math.min(60_000, Math.max(5_000, options.heartbeat ?? 15_000));
  const { plain = false, spread = 1_000, lease = 10_000, onError, authenticate } = options;
  return {
    environment,
    plain,
    limits,
    heartbeat,
    lease,
    floodWait: 5_000,
    hello: {
      type: 'hello',
      v: 1,
      caps: authenticate ? [...caps, 'auth'] : caps,
      heartbeat,
      maxMessage: limits.maxMessage,
      spread,
    },
    principal: options.principal ?? (() => undefined),
    authorize: options.authorize ?? (() => true),
    authenticate,
    report(error, runId) {
      try {
        onError?.(error, runId);
      } catch (failure) {
        environment.report(failure);
      }
    },
  };
}
