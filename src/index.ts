export type {
  BackoffOptions,
  CloseInfo,
  ConnectContext,
  ConnectionState,
  ConnectReason,
  HeartbeatOptions,
  InspectRecord,
  ProtocolsProvider,
  UrlProvider,
  WebSocketClient,
  WebSocketClientEvents,
  WebSocketClientOptions,
  WebSocketConstructor,
  WebSocketData,
  WebSocketLike,
} from './client/types.ts';
export { createWebSocketClient } from './client/websocket-client.ts';
export { isRunSocketError, RunSocketError, type RunSocketErrorCode } from './internal/errors.ts';
export type { StandardResult, StandardSchema } from './internal/standard-schema.ts';
export type { RunControl } from './runs/protocol.ts';
export { createRuns } from './runs/runs.ts';
export type {
  Run,
  RunEvent,
  RunEventContext,
  RunEventStatus,
  RunListeners,
  RunPolicy,
  RunSnapshot,
  RunStorage,
  Runs,
  RunsOptions,
} from './runs/types.ts';
