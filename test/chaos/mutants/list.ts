import { agentMutants } from './agent.ts';
import { clientMutants } from './client.ts';
import { clientAttemptMutants } from './client-attempts.ts';
import type { Mutant } from './mutant.ts';
import { redisMutants } from './redis.ts';
import { runFollowingMutants } from './run-following.ts';
import { runLifeMutants } from './run-life.ts';
import { runLogMutants } from './run-log.ts';
import { runMemoryMutants } from './run-memory.ts';
import { runSessionMutants } from './run-session.ts';
import { serverMutants } from './server.ts';
import { serverLogMutants } from './server-log.ts';

/** All mutants, by the layer whose rule each breaks. */
export const mutants: readonly Mutant[] = [
  ...clientAttemptMutants,
  ...clientMutants,
  ...runSessionMutants,
  ...runLifeMutants,
  ...runFollowingMutants,
  ...runLogMutants,
  ...runMemoryMutants,
  ...agentMutants,
  ...serverLogMutants,
  ...serverMutants,
  ...redisMutants,
];
