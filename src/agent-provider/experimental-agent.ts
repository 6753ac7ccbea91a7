import type * as commands from './command-types.ts';
import {
  AGENT_COMMAND_PROTOCOL,
  AGENT_COMMAND_PROTOCOL_VERSION,
  agentCommandTypes,
  createAgentCommandFactory,
  getAgentActionKey,
  getAgentCommandActionKey,
  getAgentCommandKey,
  isAgentCommand,
} from './commands.ts';
import { createAgentEventFactory } from './event-factory.ts';
import {
  AGENT_EVENT_PROTOCOL,
  AGENT_EVENT_PROTOCOL_VERSION,
  agentEventTypes,
  isAgentEvent,
  isAgentEventEnvelope,
} from './event-guards.ts';
import type * as events from './event-types.ts';
import { reduceAgentState, replayAgentEvents } from './reducer.ts';
import type * as selectors from './selectors.ts';
import {
  selectAgentTimeline,
  selectApproval,
  selectRun,
  selectRunningRuns,
  selectToolCall,
} from './selectors.ts';
import { createInitialAgentState, getAgentEntityKey, getAgentEventKey } from './state-node.ts';
import type * as states from './state-types.ts';
import type * as stores from './store.ts';
import { AgentProtocolError, createAgentStore } from './store.ts';

/**
 * The event protocol, the reducer and the store under the name that Ant Design X gives them.
 *
 * All of it can be imported by itself, too; a bundle that does so stays smaller.
 */
export const experimentalAgent: {
  readonly AGENT_COMMAND_PROTOCOL: typeof AGENT_COMMAND_PROTOCOL;
  readonly AGENT_COMMAND_PROTOCOL_VERSION: typeof AGENT_COMMAND_PROTOCOL_VERSION;
  readonly AGENT_EVENT_PROTOCOL: typeof AGENT_EVENT_PROTOCOL;
  readonly AGENT_EVENT_PROTOCOL_VERSION: typeof AGENT_EVENT_PROTOCOL_VERSION;
  readonly AgentProtocolError: typeof AgentProtocolError;
  readonly agentCommandTypes: typeof agentCommandTypes;
  readonly agentEventTypes: typeof agentEventTypes;
  readonly createAgentCommandFactory: typeof createAgentCommandFactory;
  readonly createAgentEventFactory: typeof createAgentEventFactory;
  readonly createAgentStore: typeof createAgentStore;
  readonly createInitialAgentState: typeof createInitialAgentState;
  readonly getAgentActionKey: typeof getAgentActionKey;
  readonly getAgentCommandActionKey: typeof getAgentCommandActionKey;
  readonly getAgentCommandKey: typeof getAgentCommandKey;
  readonly getAgentEntityKey: typeof getAgentEntityKey;
  readonly getAgentEventKey: typeof getAgentEventKey;
  readonly isAgentCommand: typeof isAgentCommand;
  readonly isAgentEvent: typeof isAgentEvent;
  readonly isAgentEventEnvelope: typeof isAgentEventEnvelope;
  readonly reduceAgentState: typeof reduceAgentState;
  readonly replayAgentEvents: typeof replayAgentEvents;
  readonly selectAgentTimeline: typeof selectAgentTimeline;
  readonly selectApproval: typeof selectApproval;
  readonly selectRun: typeof selectRun;
  readonly selectRunningRuns: typeof selectRunningRuns;
  readonly selectToolCall: typeof selectToolCall;
} = {
  AGENT_COMMAND_PROTOCOL,
  AGENT_COMMAND_PROTOCOL_VERSION,
  AGENT_EVENT_PROTOCOL,
  AGENT_EVENT_PROTOCOL_VERSION,
  AgentProtocolError,
  agentCommandTypes,
  agentEventTypes,
  createAgentCommandFactory,
  createAgentEventFactory,
  createAgentStore,
  createInitialAgentState,
  getAgentActionKey,
  getAgentCommandActionKey,
  getAgentCommandKey,
  getAgentEntityKey,
  getAgentEventKey,
  isAgentCommand,
  isAgentEvent,
  isAgentEventEnvelope,
  reduceAgentState,
  replayAgentEvents,
  selectAgentTimeline,
  selectApproval,
  selectRun,
  selectRunningRuns,
  selectToolCall,
};

/** The types that go with it; the value and they share a name. */
export declare namespace experimentalAgent {
  export type AgentCommand = commands.AgentCommand;
  export type AgentCommandDecision = commands.AgentCommandDecision;
  export type AgentCommandFactory = commands.AgentCommandFactory;
  export type AgentCommandFactoryOptions = commands.AgentCommandFactoryOptions;
  export type AgentCommandMeta = commands.AgentCommandMeta;
  export type AgentCommandPayloadMap = commands.AgentCommandPayloadMap;
  export type AgentCommandType = commands.AgentCommandType;
  export type CreateAgentCommandOptions = commands.CreateAgentCommandOptions;
  export type AgentContentPart = events.AgentContentPart;
  export type AgentError = events.AgentError;
  export type AgentEvent = events.AgentEvent;
  export type AgentEventFactory = events.AgentEventFactory;
  export type AgentEventFactoryOptions = events.AgentEventFactoryOptions;
  export type AgentEventMeta = events.AgentEventMeta;
  export type AgentEventPayloadMap = events.AgentEventPayloadMap;
  export type AgentEventProtocolVersion = events.AgentEventProtocolVersion;
  export type AgentEventType = events.AgentEventType;
  export type AgentMessageContent = events.AgentMessageContent;
  export type AgentRole = events.AgentRole;
  export type ApprovalDecision = events.ApprovalDecision;
  export type CreateAgentEventOptions = events.CreateAgentEventOptions;
  export type AgentApprovalState = states.AgentApprovalState;
  export type AgentArtifactState = states.AgentArtifactState;
  export type AgentEntityKind = states.AgentEntityKind;
  export type AgentEntityReference = states.AgentEntityReference;
  export type AgentEntityStatus = states.AgentEntityStatus;
  export type AgentMessageState = states.AgentMessageState;
  export type AgentProtocolIssue = states.AgentProtocolIssue;
  export type AgentReasoningState = states.AgentReasoningState;
  export type AgentRunState = states.AgentRunState;
  export type AgentRunStatus = states.AgentRunStatus;
  export type AgentSessionState = states.AgentSessionState;
  export type AgentState = states.AgentState;
  export type AgentTaskState = states.AgentTaskState;
  export type AgentToolCallState = states.AgentToolCallState;
  export type AgentCommandOf<Type extends AgentCommandType> = commands.AgentCommandOf<Type>;
  export type AgentEventOf<Type extends AgentEventType> = events.AgentEventOf<Type>;
  export type AgentEventEnvelope<
    Type extends AgentEventType = AgentEventType,
    Payload extends AgentEventPayloadMap[Type] = AgentEventPayloadMap[Type],
  > = events.AgentEventEnvelope<Type, Payload>;
  export type AgentStore = stores.AgentStore;
  export type AgentTimelineEntry = selectors.AgentTimelineEntry;
}
