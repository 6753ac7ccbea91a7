export { createAgUiBridge } from './ag-ui-bridge.ts';
export { createAgUiProvider } from './ag-ui-provider.ts';
export type * from './ag-ui-provider-types.ts';
export { createAgentChat } from './agent-chat.ts';
export type * from './bridge-types.ts';
export type * from './chat-types.ts';
export {
  createMemoryAgentCheckpointStorage,
  createWebStorageAgentCheckpointStorage,
  type WebStorageAgentCheckpointOptions,
  type WebStorageLike,
} from './checkpoint-storage.ts';
export type * from './command-types.ts';
export {
  AGENT_COMMAND_PROTOCOL,
  AGENT_COMMAND_PROTOCOL_VERSION,
  agentCommandTypes,
  createAgentCommandFactory,
  getAgentActionKey,
  getAgentCommandActionKey,
  getAgentCommandKey,
  isAgentCommand,
} from './commands.ts';
export { createAgentEventFactory } from './event-factory.ts';
export {
  AGENT_EVENT_PROTOCOL,
  AGENT_EVENT_PROTOCOL_VERSION,
  agentEventTypes,
  isAgentEvent,
  isAgentEventEnvelope,
} from './event-guards.ts';
export type * from './event-types.ts';
export { experimentalAgent } from './experimental-agent.ts';
export type * from './provider-types.ts';
export { reduceAgentState, replayAgentEvents } from './reducer.ts';
export {
  AgentCommandRunnerError,
  type AgentCommandRunnerErrorCode,
  runAgentCommand,
} from './run-agent-command.ts';
export { isAgentProvider, runAgentProvider } from './run-agent-provider.ts';
export {
  createRunTransport,
  type RunChunk,
  type RunCursor,
  type RunTransport,
  type RunTransportOptions,
  type RunTransportRequest,
} from './run-transport.ts';
export {
  type AgentTimelineEntry,
  type SelectAgentTimelineOptions,
  selectAgentTimeline,
  selectApproval,
  selectRun,
  selectRunningRuns,
  selectToolCall,
} from './selectors.ts';
export { createInitialAgentState, getAgentEntityKey, getAgentEventKey } from './state-node.ts';
export type * from './state-types.ts';
export {
  AgentProtocolError,
  type AgentStore,
  type AgentStoreProtocolMode,
  type CreateAgentStoreOptions,
  createAgentStore,
} from './store.ts';
export { validateAgentProviderEvents } from './validate-agent-provider-events.ts';
