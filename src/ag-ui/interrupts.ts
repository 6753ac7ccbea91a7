import { defaultEnvironment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import type { AgUiMetadata } from './messages.ts';

/** A question that ended a run; a new run that carries the answer goes on. */
export interface Interrupt {
  readonly id: string;
  readonly reason: string;
  readonly message?: string;
  readonly toolCallId?: string;
  readonly responseSchema?: Record<string, unknown>;
  /** When the question can only be cancelled any more, as ISO 8601 text. */
  readonly expiresAt?: string;
  readonly subagentRunId?: string;
  readonly metadata?: AgUiMetadata;
}

/** One answer in `RunAgentInput.resume`. (A run's events are resumed by the `resume` message.) */
export interface ResumeEntry {
  readonly interruptId: string;
  readonly status: 'resolved' | 'cancelled';
  readonly payload?: unknown;
  readonly metadata?: AgUiMetadata;
}

/** Answers to open interrupts: by interrupt id, or as entries of AG-UI's `resume`. */
export type InterruptResponses =
  | Readonly<Record<string, Omit<ResumeEntry, 'interruptId'>>>
  | readonly ResumeEntry[];

// Text that is no date is never in the past.
const isPast = (interrupt: { readonly expiresAt?: string }, now: number | Date): boolean =>
  Date.parse(interrupt.expiresAt as string) <= Number(now);

/**
 * Whether an interrupt can no longer be resolved, only cancelled.
 *
 * One without `expiresAt`, or with one that is no date, never expires. `now` is the time in ms since
 * 1970, or a date.
 * @default now The current time
 */
export function isInterruptExpired(
  interrupt: { readonly expiresAt?: string },
  now: number | Date = defaultEnvironment.now(),
): boolean {
  return isPast(interrupt, now);
}

/**
 * Make `RunAgentInput.resume` of the answers to all open interrupts, in their order.
 *
 * Throws `invalid-argument` if one is missing, if one answers no open interrupt, or if an expired
 * one is resolved: AG-UI takes no partial answers.
 */
export function createResume(
  interrupts: readonly Interrupt[],
  responses: InterruptResponses,
  now: number,
): ResumeEntry[] {
  const entries = Array.isArray(responses)
    ? (responses as readonly ResumeEntry[])
    : Object.entries(responses).map(([interruptId, response]) => ({ ...response, interruptId }));
  const refuse = (id: string, why: string): never => {
    throw new RunSocketError('invalid-argument', `Interrupt ${id} ${why}.`);
  };
  for (const { interruptId: id } of entries) {
    if (!interrupts.some((interrupt) => interrupt.id === id)) refuse(id, 'is not open');
  }
  return interrupts.map((interrupt) => {
    const { id } = interrupt;
    const entry =
      entries.find(({ interruptId }) => interruptId === id) ?? refuse(id, 'has no answer');
    if (entry.status !== 'cancelled' && isPast(interrupt, now)) {
      refuse(id, 'has expired: it can only be cancelled');
    }
    return entry;
  });
}
