/** The last sequence that was given out in a run; its stream and its commands share it. */
export interface AgentSequence {
  last: number;
}
