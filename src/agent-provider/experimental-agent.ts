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

/**
 * The types by their names: in the built declarations, which are one file, a type of the namespace that
 * named the one outside would name itself.
 */
interface Named {
  readonly AgentCommand: commands.AgentCommand;
  readonly AgentCommandDecision: commands.AgentCommandDecision;
  readonly AgentCommandFactory: commands.AgentCommandFactory;
  readonly AgentCommandFactoryOptions: commands.AgentCommandFactoryOptions;
  readonly AgentCommandMeta: commands.AgentCommandMeta;
  readonly AgentCommandPayloadMap: commands.AgentCommandPayloadMap;
  readonly AgentCommandType: commands.AgentCommandType;
  readonly CreateAgentCommandOptions: commands.CreateAgentCommandOptions;
  readonly AgentContentPart: events.AgentContentPart;
  readonly AgentError: events.AgentError;
  readonly AgentEvent: events.AgentEvent;
  readonly AgentEventFactory: events.AgentEventFactory;
  readonly AgentEventFactoryOptions: events.AgentEventFactoryOptions;
  readonly AgentEventMeta: events.AgentEventMeta;
  readonly AgentEventPayloadMap: events.AgentEventPayloadMap;
  readonly AgentEventProtocolVersion: events.AgentEventProtocolVersion;
  readonly AgentEventType: events.AgentEventType;
  readonly AgentMessageContent: events.AgentMessageContent;
  readonly AgentRole: events.AgentRole;
  readonly ApprovalDecision: events.ApprovalDecision;
  readonly CreateAgentEventOptions: events.CreateAgentEventOptions;
  readonly AgentApprovalState: states.AgentApprovalState;
  readonly AgentArtifactState: states.AgentArtifactState;
  readonly AgentEntityKind: states.AgentEntityKind;
  readonly AgentEntityReference: states.AgentEntityReference;
  readonly AgentEntityStatus: states.AgentEntityStatus;
  readonly AgentMessageState: states.AgentMessageState;
  readonly AgentProtocolIssue: states.AgentProtocolIssue;
  readonly AgentReasoningState: states.AgentReasoningState;
  readonly AgentRunState: states.AgentRunState;
  readonly AgentRunStatus: states.AgentRunStatus;
  readonly AgentSessionState: states.AgentSessionState;
  readonly AgentState: states.AgentState;
  readonly AgentTaskState: states.AgentTaskState;
  readonly AgentToolCallState: states.AgentToolCallState;
  readonly AgentStore: stores.AgentStore;
  readonly AgentTimelineEntry: selectors.AgentTimelineEntry;
}
type CommandOf<Type extends commands.AgentCommandType> = commands.AgentCommandOf<Type>;
type EventOf<Type extends events.AgentEventType> = events.AgentEventOf<Type>;
type EventEnvelope<
  Type extends events.AgentEventType,
  Payload extends events.AgentEventPayloadMap[Type],
> = events.AgentEventEnvelope<Type, Payload>;

/** The types that go with it; the value and they share a name. */
export declare namespace experimentalAgent {
  export type AgentCommand = Named['AgentCommand'];
  export type AgentCommandDecision = Named['AgentCommandDecision'];
  export type AgentCommandFactory = Named['AgentCommandFactory'];
  export type AgentCommandFactoryOptions = Named['AgentCommandFactoryOptions'];
  export type AgentCommandMeta = Named['AgentCommandMeta'];
  export type AgentCommandPayloadMap = Named['AgentCommandPayloadMap'];
  export type AgentCommandType = Named['AgentCommandType'];
  export type CreateAgentCommandOptions = Named['CreateAgentCommandOptions'];
  export type AgentContentPart = Named['AgentContentPart'];
  export type AgentError = Named['AgentError'];
  export type AgentEvent = Named['AgentEvent'];
  export type AgentEventFactory = Named['AgentEventFactory'];
  export type AgentEventFactoryOptions = Named['AgentEventFactoryOptions'];
  export type AgentEventMeta = Named['AgentEventMeta'];
  export type AgentEventPayloadMap = Named['AgentEventPayloadMap'];
  export type AgentEventProtocolVersion = Named['AgentEventProtocolVersion'];
  export type AgentEventType = Named['AgentEventType'];
  export type AgentMessageContent = Named['AgentMessageContent'];
  export type AgentRole = Named['AgentRole'];
  export type ApprovalDecision = Named['ApprovalDecision'];
  export type CreateAgentEventOptions = Named['CreateAgentEventOptions'];
  export type AgentApprovalState = Named['AgentApprovalState'];
  export type AgentArtifactState = Named['AgentArtifactState'];
  export type AgentEntityKind = Named['AgentEntityKind'];
  export type AgentEntityReference = Named['AgentEntityReference'];
  export type AgentEntityStatus = Named['AgentEntityStatus'];
  export type AgentMessageState = Named['AgentMessageState'];
  export type AgentProtocolIssue = Named['AgentProtocolIssue'];
  export type AgentReasoningState = Named['AgentReasoningState'];
  export type AgentRunState = Named['AgentRunState'];
  export type AgentRunStatus = Named['AgentRunStatus'];
  export type AgentSessionState = Named['AgentSessionState'];
  export type AgentState = Named['AgentState'];
  export type AgentTaskState = Named['AgentTaskState'];
  export type AgentToolCallState = Named['AgentToolCallState'];
  export type AgentCommandOf<Type extends AgentCommandType> = CommandOf<Type>;
  export type AgentEventOf<Type extends AgentEventType> = EventOf<Type>;
  export type AgentEventEnvelope<
    Type extends AgentEventType = AgentEventType,
    Payload extends AgentEventPayloadMap[Type] = AgentEventPayloadMap[Type],
  > = EventEnvelope<Type, Payload>;
  export type AgentStore = Named['AgentStore'];
  export type AgentTimelineEntry = Named['AgentTimelineEntry'];
}
