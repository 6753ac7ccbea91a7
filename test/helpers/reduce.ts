import { applyAgUiEvent } from '../../src/ag-ui/apply-event.ts';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import type { AgUiMessage } from '../../src/ag-ui/messages.ts';
import { type AgUiThread, emptyThread } from '../../src/ag-ui/thread.ts';
import { deepFreeze } from './deep-freeze.ts';

/** An event as a test writes it: of any shape. */
export type LooseEvent = { readonly type: string } & { readonly [key: string]: unknown };

/** A thread with these messages and without state. */
export function threadOf(
  ...messages: (AgUiMessage | Record<string, unknown>)[]
): AgUiThread<unknown> {
  return deepFreeze(emptyThread({ messages: messages as AgUiMessage[] }));
}

/** Fold frozen events into a frozen thread. */
export function reduce<S = unknown>(
  thread: AgUiThread<S>,
  ...events: (AgUiEvent | LooseEvent)[]
): AgUiThread<S> {
  let next = deepFreeze(thread);
  for (const event of events) next = deepFreeze(applyAgUiEvent(next, deepFreeze(event)));
  return next;
}

/** Fold events into a thread without messages. */
export function reduceAll(...events: (AgUiEvent | LooseEvent)[]): AgUiThread<unknown> {
  return reduce(threadOf(), ...events);
}
