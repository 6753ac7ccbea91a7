import { agentMutants } from './agent.ts';
import { clientMutants } from './client.ts';
import type { Mutant } from './mutant.ts';
import { runMutants } from './runs.ts';
import { serverMutants } from './server.ts';

/** All mutants, by the layer whose rule each breaks. */
export const mutants: readonly Mutant[] = [
  ...clientMutants,
  ...runMutants,
  ...agentMutants,
  ...serverMutants,
];
