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
