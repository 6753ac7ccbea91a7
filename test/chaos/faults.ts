import type { FaultKind } from './fault.ts';
import { clientFaults } from './faults-client.ts';
import { linkFaults } from './faults-link.ts';
import { serverFaults } from './faults-server.ts';
import { streamFaults } from './faults-stream.ts';

/** Every kind of fault that there is. */
export const faults: Readonly<Record<string, FaultKind>> = {
  ...linkFaults,
  ...streamFaults,
  ...serverFaults,
  ...clientFaults,
};
