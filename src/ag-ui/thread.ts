import type { Interrupt } from './interrupts.ts';
import type { AgUiMessage } from './messages.ts';

/** What the model calls of a run cost, for each provider and model. */
export interface TokenUsage {
  readonly provider?: string;
  readonly model?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly reasoningTokens?: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteInputTokens?: number;
}

/** A subagent of the run. */
export interface AgUiSubagent {
  /** Its `subagentRunId`. */
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  /** One that still runs when the run ends takes the run's status. */
  readonly status: 'running' | 'finished' | 'suspended' | 'error' | 'aborted';
  /** The `subagentRunId` of the subagent that started it. */
  readonly parentId?: string;
  /** The tool call that started it. */
  readonly toolCallId?: string;
  readonly result?: unknown;
  readonly error?: { readonly message: string; readonly code?: string };
}

/** What {@link applyAgUiEvent} has to remember of what is still open. Plain JSON: copy it with the thread. */
export interface OpenItems {
  /** The open steps of the parent agent, the innermost last. */
  readonly steps?: readonly string[];
  /** What chunks without an id go on with, one in each lane (the parent agent's and each subagent's). */
  readonly chunks?: readonly {
    readonly kind: 'text' | 'reasoning' | 'tool';
    readonly id: string;
    readonly subagentRunId?: string;
  }[];
  /** The tool calls of this run that nobody answered yet, in order. */
  readonly calls?: readonly string[];
  /** The tool calls whose arguments never ended; left out of the next run's input. */
  readonly unended?: readonly string[];
  /** The interrupts that this run answers; absent where nobody said. */
  readonly answers?: readonly string[];
  /** The reasoning message that `THINKING_TEXT_MESSAGE_*` events build. */
  readonly thinking?: string;
}

/** The status of a thread. */
export type AgUiThreadStatus = 'idle' | 'running' | 'finished' | 'error' | 'aborted';

/** An AG-UI conversation, as its events left it. Never changed in place: a new object for each change. */
export interface AgUiThread<S> {
  /** The messages; one that did not change stays the same object. */
  readonly messages: readonly AgUiMessage[];
  /** The shared state: any JSON value. */
  readonly state: S;
  /** What became of the latest run; `idle` before the first. An interrupted run is `finished`, with `interrupts`. */
  readonly status: AgUiThreadStatus;
  /** The innermost open step of the parent agent. */
  readonly step?: string;
  /** Why the latest run failed. */
  readonly error?: { readonly message: string; readonly code?: string };
  /** The result of the latest run. */
  readonly result?: unknown;
  /** A `STATE_DELTA` failed; waiting for a `STATE_SNAPSHOT`. */
  readonly stale: boolean;
  /** The latest run. */
  readonly runId?: string;
  /** The run that the latest run belongs to. */
  readonly parentRunId?: string;
  /** The open interrupts, where there are any; a run that answers them clears them. */
  readonly interrupts?: readonly Interrupt[];
  /** What the latest run cost. */
  readonly usage?: readonly TokenUsage[];
  /** The tool calls of the finished run that wait for an answer by the application, where there are any. */
  readonly pendingToolCallIds?: readonly string[];
  /** The subagents of the latest run, in the order they started. */
  readonly subagents?: readonly AgUiSubagent[];
  /** Older messages were dropped because storage was full. */
  readonly historyLost?: boolean;
  /** Bookkeeping of {@link applyAgUiEvent}; absent when nothing is open. */
  readonly open?: OpenItems;
}

/** Make a thread without runs, with messages and state to start from. */
export function emptyThread<S = unknown>(
  from: { readonly state?: S; readonly messages?: readonly AgUiMessage[] } = {},
): AgUiThread<S> {
  return { messages: from.messages ?? [], state: from.state as S, status: 'idle', stale: false };
}
