import {
  type AbstractAgent,
  defaultApplyEvents,
  transformChunks,
  verifyEvents,
} from '@ag-ui/client';
import type { BaseEvent, Interrupt, RunAgentInput } from '@ag-ui/core';
import { of } from 'rxjs';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import type { AgUiMessage } from '../../src/ag-ui/messages.ts';

/** What `@ag-ui/client` makes of a list of events. */
export interface ReferenceResult {
  readonly messages: readonly AgUiMessage[];
  readonly state: unknown;
  readonly interrupts: readonly Interrupt[];
}

/** Reduce events with `@ag-ui/client`'s own pipeline; rejects where its verifier does. */
export function reduceWithReference(
  events: readonly (AgUiEvent | { readonly type: string })[],
  from: {
    readonly messages?: readonly AgUiMessage[];
    readonly state?: unknown;
    readonly verify?: boolean;
  } = {},
): Promise<ReferenceResult> {
  let messages = structuredClone(from.messages ?? []) as AgUiMessage[];
  let state = structuredClone('state' in from ? from.state : {});
  const agent = { messages, state, pendingInterrupts: [] } as unknown as AbstractAgent;
  const input = { threadId: 't', runId: 'r', messages, state, tools: [], context: [] };
  // `@ag-ui/client` brings an rxjs of its own, whose types do not fit ours.
  type Source = Parameters<ReturnType<typeof transformChunks>>[0];
  const raw = of(...structuredClone(events as unknown as BaseEvent[])) as unknown as Source;
  const source = transformChunks()(raw);
  const verified = from.verify === false ? source : verifyEvents()(source);
  return new Promise((resolve, reject) => {
    defaultApplyEvents(input as RunAgentInput, verified, agent, []).subscribe({
      next(mutation) {
        if (mutation.messages !== undefined) messages = mutation.messages as AgUiMessage[];
        if (mutation.state !== undefined) state = mutation.state;
      },
      error: reject,
      complete: () => resolve({ messages, state, interrupts: agent.pendingInterrupts }),
    });
  });
}
