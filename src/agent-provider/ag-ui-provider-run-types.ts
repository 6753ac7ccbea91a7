import type { AgUiAgent } from '../ag-ui/agent-types.ts';
import type { AgUiEvent } from '../ag-ui/events.ts';
import type { AgUiInputMessage, RunInput } from '../ag-ui/input.ts';
import type { Run } from '../runs/types.ts';
import type { AgUiCursor, AgUiOffset } from './ag-ui-provider-listener.ts';
import type { ToolAnswer } from './ag-ui-provider-tools.ts';
import type { AgUiChunk } from './ag-ui-provider-types.ts';
import type { AgUiBridge } from './bridge-types.ts';
import type { AgentEvent, AgentEventFactory } from './event-types.ts';
import type { AgentProviderContextOptions } from './provider-types.ts';

/** A chunk with what only this provider's own functions look at. */
export interface AgUiRunChunk extends AgUiChunk {
  readonly cursor?: AgUiCursor | undefined;
  /** What the page's own tool said. */
  readonly tool?: ToolAnswer;
}

/** What the next page needs of a run, besides its bridge. */
export interface SavedAgUiRun {
  /** Its AG-UI runs, oldest first. */
  readonly ids: readonly string[];
  readonly place?: AgUiCursor | undefined;
  /** How many events behind it, of one frame, are told too. */
  readonly behind: number;
  /** The id of the AG-UI run that answers the interrupts. */
  readonly key?: string | undefined;
  /** Answers of tools that the agent was not told yet. */
  readonly messages: readonly AgUiInputMessage[];
  /** What each of its AG-UI runs is offered besides messages. */
  readonly offer?: RunInput | undefined;
  /** The answers that the last AG-UI run was made for, where it may not have left the page. */
  readonly unsent?: RunInput | undefined;
}

/** One AgentEvent run over the AG-UI runs that it spans: its transport, its parsing and its commands share it. */
export interface AgUiRun {
  readonly sessionId: string;
  readonly runId: string;
  readonly agent: AgUiAgent<unknown>;
  readonly events: AgentEventFactory;
  readonly remember: AgentProviderContextOptions['remember'];
  /** Absent until the run has begun. */
  bridge?: AgUiBridge;
  input?: RunInput;
  /** Why it was cancelled. */
  reason?: string | undefined;
  /** Names the AG-UI run that answers the interrupts. */
  key?: string | undefined;
  /** What a command tells comes before the next chunk. */
  paused?: boolean;
  /** The AG-UI run under way, or the last one. */
  readonly current: Run<AgUiEvent, AgUiOffset> | undefined;
  /** Somebody reads it. */
  readonly reading: boolean;
  owns(aguiRunId: string): boolean;
  /** Its chunks from the next one on; `signal` cancels, leaving the loop does not. */
  read(signal: AbortSignal): AsyncIterableIterator<AgUiChunk>;
  transform(chunk: AgUiRunChunk): readonly AgentEvent[];
  /** Ends it as its log has ended. */
  flush(): readonly AgentEvent[];
  /** Starts the AG-UI run that answers the interrupts, once all of them are. */
  goOn(): void;
  /** Asks the server to stop the AG-UI run under way; its thread shows that at once, or (`quietly`) once the server has. */
  cancel(quietly?: boolean): void;
  /** Looks again at what the reader waits for. */
  wake(): void;
  save(): SavedAgUiRun;
  /** Lets go of everything until somebody reads it again; what streams goes on at the server. */
  rest(): void;
  /** Lets go of everything for good; what streams goes on in the agent. */
  end(): void;
}
