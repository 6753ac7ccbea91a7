import type {
  AGUIEvent,
  Interrupt as CoreInterrupt,
  Message as CoreMessage,
  RunAgentInput as CoreRunAgentInput,
  TokenUsage as CoreTokenUsage,
} from '@ag-ui/core';
import { describe, expectTypeOf, it } from 'vitest';
import { applyAgUiEvent } from '../../src/ag-ui/apply-event.ts';
import type { AgUiEvent, StateDeltaEvent } from '../../src/ag-ui/events.ts';
import type { RunAgentInput, RunInput } from '../../src/ag-ui/input.ts';
import type { Interrupt } from '../../src/ag-ui/interrupts.ts';
import type { AgUiMessage, ToolCall } from '../../src/ag-ui/messages.ts';
import { type AgUiThread, emptyThread, type TokenUsage } from '../../src/ag-ui/thread.ts';

interface Plan {
  readonly tasks: readonly string[];
}

describe('AG-UI types', () => {
  it('take every event of @ag-ui/core', () => {
    expectTypeOf<AGUIEvent>().toExtend<AgUiEvent>();
    expectTypeOf<AGUIEvent['type']>().toExtend<AgUiEvent['type']>();
  });

  it('have an event for every type of @ag-ui/core', () => {
    expectTypeOf<`${AGUIEvent['type']}`>().toExtend<AgUiEvent['type']>();
    expectTypeOf<
      Exclude<AgUiEvent['type'], `${AGUIEvent['type']}` | `THINKING_${string}`>
    >().toEqualTypeOf<never>();
  });

  it('have the messages, inputs and interrupts of @ag-ui/core, both ways', () => {
    expectTypeOf<CoreMessage>().toExtend<AgUiMessage>();
    expectTypeOf<AgUiMessage>().toExtend<CoreMessage>();
    expectTypeOf<CoreRunAgentInput>().toExtend<RunAgentInput>();
    expectTypeOf<RunAgentInput>().toExtend<CoreRunAgentInput>();
    expectTypeOf<CoreInterrupt>().toExtend<Interrupt>();
    expectTypeOf<Interrupt>().toExtend<CoreInterrupt>();
    expectTypeOf<CoreTokenUsage>().toExtend<TokenUsage>();
    expectTypeOf<TokenUsage>().toExtend<CoreTokenUsage>();
  });

  it('narrow events by type', () => {
    const event = {} as AgUiEvent;
    if (event.type === 'CUSTOM') expectTypeOf(event.name).toEqualTypeOf<string>();
    if (event.type === 'STATE_DELTA') {
      expectTypeOf(event.delta).toEqualTypeOf<StateDeltaEvent['delta']>();
    }
    if (event.type === 'RUN_FINISHED' && event.outcome?.type === 'interrupt') {
      expectTypeOf(event.outcome.interrupts).toEqualTypeOf<readonly Interrupt[]>();
    }
    // @ts-expect-error no event has this type
    expectTypeOf(event.type === 'NO_SUCH_EVENT').toEqualTypeOf<boolean>();
  });

  it('narrow messages by role', () => {
    const message = {} as AgUiMessage;
    if (message.role === 'assistant') {
      expectTypeOf(message.toolCalls).toEqualTypeOf<ToolCall[] | undefined>();
    }
    if (message.role === 'activity') {
      expectTypeOf(message.activityType).toEqualTypeOf<string>();
      expectTypeOf(message.stale).toEqualTypeOf<true | undefined>();
    }
  });

  it('make a thread of a state', () => {
    expectTypeOf(emptyThread()).toEqualTypeOf<AgUiThread<unknown>>();
    expectTypeOf(emptyThread({ state: { tasks: ['a'] } as Plan })).toEqualTypeOf<
      AgUiThread<Plan>
    >();
  });

  it('let messages without an id into a run', () => {
    const input: RunInput = { messages: [{ role: 'user', content: 'hi' }] };
    expectTypeOf(input).toExtend<RunInput>();
    // @ts-expect-error a message needs a role
    const bad: RunInput = { messages: [{ content: 'hi' }] };
    void bad;
  });
});

describe('applyAgUiEvent', () => {
  it('takes events of ours, of @ag-ui/core, and of types that nobody knows', () => {
    const thread = {} as AgUiThread<Plan>;
    expectTypeOf(applyAgUiEvent(thread, {} as AgUiEvent)).toEqualTypeOf<AgUiThread<Plan>>();
    expectTypeOf(applyAgUiEvent(thread, {} as AGUIEvent)).toEqualTypeOf<AgUiThread<Plan>>();
    expectTypeOf(applyAgUiEvent(thread, { type: 'NEW' })).toEqualTypeOf<AgUiThread<Plan>>();
    // @ts-expect-error an event has a type
    applyAgUiEvent(thread, { messageId: 'm' });
  });

  it('can be wrapped to handle events of the application', () => {
    const reduce = (thread: AgUiThread<Plan>, event: AgUiEvent): AgUiThread<Plan> =>
      event.type === 'CUSTOM' && event.name === 'reset_plan'
        ? { ...thread, state: { tasks: [] } }
        : applyAgUiEvent(thread, event);
    expectTypeOf(reduce).toExtend<
      (thread: AgUiThread<Plan>, event: AGUIEvent) => AgUiThread<Plan>
    >();
  });

  it('returns threads that nobody can write to', () => {
    const thread = {} as AgUiThread<Plan>;
    // @ts-expect-error read-only
    thread.status = 'idle';
    // @ts-expect-error read-only
    thread.messages.push({ id: 'm', role: 'user', content: 'x' });
  });
});
