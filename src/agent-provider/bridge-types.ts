import type { AgUiEvent } from '../ag-ui/events.ts';
import type { RunInput } from '../ag-ui/input.ts';
import type { ResumeEntry } from '../ag-ui/interrupts.ts';
import type { AgentCommandDecision } from './command-types.ts';
import type { AgentError, AgentEvent, AgentEventFactory } from './event-types.ts';

/** What a bridge does with an AG-UI run that ends with interrupts. */
export type AgUiInterruptMode = 'hold' | 'settle';

/** A tool's failure, as `toolFailure` tells it. */
export interface AgUiToolFailure {
  readonly message: string;
  readonly code?: string;
  readonly retryable?: boolean;
}

/** What a tool answered, for `toolFailure`. */
export interface AgUiToolResult {
  readonly toolCallId: string;
  readonly name: string;
  /** The content of the `TOOL_CALL_RESULT`. */
  readonly content: unknown;
}

/** Options of `createAgUiBridge`. */
export interface AgUiBridgeOptions {
  /** Makes the run's events. */
  readonly events: AgentEventFactory;
  /** The input that `run.started` carries, and whose messages are told as the user's. */
  readonly input?: RunInput | { readonly prompt: string } | undefined;
  /** The shared state that a `STATE_DELTA` starts from. */
  readonly state?: unknown;
  /** Ids of messages that were there before the run: a snapshot that names them adds nothing. */
  readonly knownMessageIds?: readonly string[] | undefined;
  /** `hold`: the run stays open until its approvals are answered. `settle`: it ends, for recorded logs. @default 'hold' */
  readonly interrupts?: AgUiInterruptMode | undefined;
  /** Hold the run open too while tool calls wait for an answer by the application. @default false */
  readonly clientTools?: boolean | undefined;
  /** Tell a tool's answer besides as a message with role `tool`. @default false */
  readonly toolMessages?: boolean | undefined;
  /** Says that a tool's answer is a failure. @default none is */
  readonly toolFailure?:
    | ((result: AgUiToolResult) => AgUiToolFailure | null | undefined)
    | undefined;
  /** Makes events of a `CUSTOM` event. @default none */
  readonly custom?:
    | ((
        event: Extract<AgUiEvent, { type: 'CUSTOM' }>,
        events: AgentEventFactory,
      ) => readonly AgentEvent[] | undefined)
    | undefined;
  /** What `snapshot()` gave, to go on from there. Throws `invalid-argument` for anything else. */
  readonly restore?: unknown;
}

/**
 * Where a bridge stands. `ending`: its AG-UI run has ended, and `flush()` or a new `RUN_STARTED`
 * decides what of it. `held`: it waits for approvals or tools.
 */
export type AgUiBridgePhase = 'new' | 'running' | 'ending' | 'held' | 'ended';

/** Makes AgentEvents of the AG-UI events of one run. Made by `createAgUiBridge`. */
export interface AgUiBridge {
  readonly phase: AgUiBridgePhase;
  /** The events that begin the run: `run.started` and the new messages of its input. */
  start(): readonly AgentEvent[];
  push(event: AgUiEvent): readonly AgentEvent[];
  /** The AG-UI run is over: ends the run as its terminal said, or as failed (`stream_ended`) where there was none. Nothing while it is held. */
  flush(): readonly AgentEvent[];
  /** Ends the run as failed; an AbortError as cancelled. */
  fail(error: unknown): readonly AgentEvent[];
  /** Ends the run as cancelled. */
  cancel(reason?: string): readonly AgentEvent[];
  /** Answers an approval that waits. Throws `invalid-argument` where there is none. */
  answer(approvalId: string, decision: AgentCommandDecision, data?: unknown): readonly AgentEvent[];
  /** The approvals that wait for an answer, by id. */
  readonly waiting: readonly string[];
  /** AG-UI's `resume` entries, once every interrupt is answered. */
  readonly resume: readonly ResumeEntry[] | undefined;
  /** The tool calls that wait for the application, where `clientTools` is on and the run is held. */
  readonly pendingTools: readonly {
    readonly toolCallId: string;
    readonly name: string;
    readonly arguments: string;
  }[];
  /** What the application's tool answered. Throws `invalid-argument` where none waits. */
  answerTool(
    toolCallId: string,
    answer: { readonly result: unknown } | { readonly error: AgentError },
  ): readonly AgentEvent[];
  /** The failed tool call that a `tool.retry` may name, with what it was called with. */
  tool(
    toolCallId: string,
  ): { readonly id: string; readonly name: string; readonly arguments: string } | undefined;
  /** All of it as plain JSON. */
  snapshot(): unknown;
}
