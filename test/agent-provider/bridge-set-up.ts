import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import { createAgUiBridge } from '../../src/agent-provider/ag-ui-bridge.ts';
import type { AgUiBridge, AgUiBridgeOptions } from '../../src/agent-provider/bridge-types.ts';
import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import type { AgentEvent } from '../../src/agent-provider/event-types.ts';

/** A bridge of the run `r` in the session `s`, at 1,000 ms. */
export function setUpBridge(
  options: Partial<AgUiBridgeOptions> = {},
  initialSequence?: number,
): AgUiBridge {
  return createAgUiBridge({
    events: createAgentEventFactory({
      sessionId: 's',
      runId: 'r',
      initialSequence,
      now: () => 1_000,
    }),
    ...options,
  });
}

/** Events of the wire, which may be anything. */
export function push(bridge: AgUiBridge, ...events: readonly object[]): AgentEvent[] {
  return events.flatMap((event) => [...bridge.push(event as AgUiEvent)]);
}

/** Each event as `sequence type id {rest of the payload} ^parent @meta`. */
export function lines(events: readonly AgentEvent[]): string[] {
  return events.map(({ sequence, type, payload, parentId, meta }) => {
    const entries = Object.entries(payload);
    const ids = entries.filter(
      ([key]) => key === (type.startsWith('tool') ? 'toolCallId' : `${type.split('.')[0]}Id`),
    );
    const rest = entries.filter((entry) => !ids.includes(entry) && entry[1] !== undefined);
    return [
      sequence,
      type,
      ...ids.map(([, id]) => id),
      ...(rest.length ? [JSON.stringify(Object.fromEntries(rest))] : []),
      ...(parentId === undefined ? [] : [`^${parentId}`]),
      ...(meta === undefined ? [] : [`@${JSON.stringify(meta)}`]),
    ].join(' ');
  });
}

export const started = { type: 'RUN_STARTED', threadId: 't', runId: 'a1' };
export const finished = { type: 'RUN_FINISHED', threadId: 't', runId: 'a1' };
export const text = (messageId: string, ...deltas: readonly string[]): object[] => [
  { type: 'TEXT_MESSAGE_START', messageId },
  ...deltas.map((delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta })),
  { type: 'TEXT_MESSAGE_END', messageId },
];
export const call = (toolCallId: string, args = '', toolCallName = 'look'): object[] => [
  { type: 'TOOL_CALL_START', toolCallId, toolCallName },
  { type: 'TOOL_CALL_ARGS', toolCallId, delta: args },
  { type: 'TOOL_CALL_END', toolCallId },
];
export const result = (toolCallId: string, content: unknown = 'ok'): object => ({
  type: 'TOOL_CALL_RESULT',
  messageId: `${toolCallId}-result`,
  toolCallId,
  content,
});
export const interrupt = (...interrupts: readonly object[]): object => ({
  ...finished,
  outcome: { type: 'interrupt', interrupts },
});
