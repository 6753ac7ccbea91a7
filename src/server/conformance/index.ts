export { conformanceAgent } from './conformance-agent.ts';
export { runConformance } from './run-conformance.ts';
export type {
  ConformanceOptions,
  ConformanceReport,
  ConformanceResult,
  ConformanceSocket,
} from './types.ts';
