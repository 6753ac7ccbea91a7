export { createAgUiAgent } from './agent.ts';
export type { AgUiAgent, AgUiAgentEvents, AgUiAgentOptions } from './agent-types.ts';
export { applyAgUiEvent } from './apply-event.ts';
export { applyPatch, type JsonPatchOperation } from './apply-patch.ts';
export type * from './events.ts';
export type {
  AgUiContext,
  AgUiInputMessage,
  AgUiTool,
  RunAgentInput,
  RunInput,
  RunInputRest,
} from './input.ts';
export {
  type Interrupt,
  type InterruptResponses,
  isInterruptExpired,
  type ResumeEntry,
} from './interrupts.ts';
export type * from './messages.ts';
export {
  type AgUiSubagent,
  type AgUiThread,
  type AgUiThreadStatus,
  emptyThread,
  type OpenItems,
  type TokenUsage,
} from './thread.ts';
export { type AgUiIssue, validateAgUiEvents } from './validate-ag-ui-events.ts';
