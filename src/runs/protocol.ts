import { isRecord } from '../internal/json-values.ts';
import type { RunEvent, RunEventStatus } from './types.ts';

/** What a server says of a run besides its events (protocol v1). */
export type RunControl =
  | {
      readonly type: 'run.accepted';
      readonly runId: string;
      readonly epoch?: string;
      readonly next?: number;
    }
  | {
      readonly type: 'run.unknown';
      readonly runId: string;
      readonly reason: 'never' | 'evicted' | 'forbidden';
    }
  | { readonly type: 'run.truncated'; readonly runId: string; readonly from: number }
  | {
      readonly type: 'run.end';
      readonly runId: string;
      readonly offset?: number;
      readonly status: 'finished' | 'error' | 'cancelled' | 'lost';
    };

/** What a server says of its connection (protocol v1). */
export interface Hello {
  readonly type: 'hello';
  readonly v: number;
  readonly caps: readonly unknown[];
  readonly heartbeat?: unknown;
  readonly maxMessage?: unknown;
  readonly spread?: unknown;
}

/** The messages of the AG-UI over WebSockets reference page. */
export const defaultMessages = {
  run: (input: unknown, runId: string): unknown => ({ type: 'run', runId, input }),
  resume: (runId: string, after: unknown): unknown => ({ type: 'resume', runId, after }),
  cancel: (runId: string): unknown => ({ type: 'cancel', runId }),
};

type Fields = Record<string, unknown>;

/** A wait in ms that a server asks for, or undefined where it is none. */
export function asDuration(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

/** The server's greeting; only an integer `v` ≥ 1 and an array `caps` make one. */
export function isHello(message: Fields): boolean {
  return (
    message.type === 'hello' &&
    Number.isInteger(message.v) &&
    Number(message.v) >= 1 &&
    Array.isArray(message.caps)
  );
}

/** A control about a run, or undefined for anything else. */
export function parseRunControl(message: Fields): RunControl | undefined {
  const { type, runId, from, status } = message;
  return typeof runId === 'string' &&
    /^run\.(accepted|unknown|truncated|end)$/.test(`${type}`) &&
    (type !== 'run.truncated' || Number.isSafeInteger(from)) &&
    (type !== 'run.end' || /^(finished|error|cancelled|lost)$/.test(`${status}`))
    ? (message as unknown as RunControl)
    : undefined;
}

/** An offset that a cursor can stand on: a finite number within ±2^53, or a string. */
export function isOffset(value: unknown): value is number | string {
  return (
    typeof value === 'string' ||
    (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER)
  );
}

/** The event of a message shaped `{ runId, offset, event }`. */
export function recogniseEvent(message: unknown): RunEvent<never, never> | undefined {
  return isRecord(message) && typeof message.runId === 'string' && isRecord(message.event)
    ? (message as unknown as RunEvent<never, never>)
    : undefined;
}

/**
 * What an AG-UI event says about the run of the envelope it came in.
 *
 * RUN_FINISHED counts when its `runId` is absent, the envelope's, or that of the last RUN_STARTED:
 * one stream may carry the replayed history of earlier runs, and some servers choose their own ids.
 */
export function agUiEventStatus(
  event: unknown,
  runId: string,
  startedId: string | undefined,
): RunEventStatus | undefined {
  if (!isRecord(event)) return undefined;
  if (event.type === 'RUN_STARTED') return 'started';
  const id = event.runId ?? runId;
  if (id !== runId && startedId !== undefined && id !== startedId) return undefined;
  if (event.type === 'RUN_ERROR') return 'failed';
  if (event.type !== 'RUN_FINISHED') return undefined;
  return isRecord(event.outcome) && event.outcome.type === 'cancelled' ? 'cancelled' : 'finished';
}
