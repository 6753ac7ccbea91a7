export type { RunServerLimits } from './limits.ts';
export {
  type MemoryRunLog,
  type MemoryRunLogOptions,
  memoryRunLog,
} from './memory-run-log.ts';
export type {
  LoggedEvent,
  RunEndStatus,
  RunLog,
  RunLogControl,
  RunLogHead,
  RunMeta,
} from './run-log.ts';
export { createRunServer } from './run-server.ts';
export { stateDelta } from './state-delta.ts';
export type {
  AccessRequest,
  AgentOutput,
  AgentRun,
  CarriedConnection,
  ConnectOptions,
  DisposeOptions,
  RunConnection,
  RunServer,
  RunServerOptions,
  RunServerSnapshot,
  ServerRequest,
  ServerSocket,
  StartOptions,
} from './types.ts';
