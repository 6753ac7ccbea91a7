import type { Environment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import type { RunsCore } from '../runs/runs.ts';
import type { AgUiEvent } from './events.ts';
import type { RunAgentInput } from './input.ts';

/** Where an agent keeps its access. */
// A registered symbol, so that an agent and a provider from two copies of this package still fit.
export const accessKey: unique symbol = Symbol.for('runsocket.agent') as never;

/** What a layer above needs of an agent beyond its public interface. */
export interface AgentAccess {
  readonly environment: Environment;
  readonly runs: RunsCore<RunAgentInput, AgUiEvent, number | string>;
  /** What is remembered was read; absent where that took no time. */
  readonly ready?: Promise<unknown> | undefined;
  /** Whether the thread takes the run's events. */
  isShown(runId: string): boolean | undefined;
  /** Shows the thread as the run found it, where the run is shown. */
  restart(runId: string): void;
  /** The public `abort()`, where the run is the one that streams. */
  abort(runId: string): void;
}

/** The access to an agent; throws `unsupported` for an object that is not of `createAgUiAgent`. */
export function getAgentAccess(agent: object): AgentAccess {
  const access = (agent as { readonly [accessKey]?: AgentAccess })?.[accessKey];
  if (!access) throw new RunSocketError('unsupported', 'Pass an agent made by createAgUiAgent().');
  return access;
}
