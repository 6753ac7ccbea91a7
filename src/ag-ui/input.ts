import type { ResumeEntry } from './interrupts.ts';
import type { AgUiMessage, AgUiMetadata } from './messages.ts';
import { toPlainTools } from './plain-tools.ts';
import type { AgUiThread } from './thread.ts';

/** A tool that the application offers to the agent. */
export interface AgUiTool {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of its arguments, or a schema object that can tell it, as zod 4's can. */
  readonly parameters?: unknown;
  readonly metadata?: AgUiMetadata;
}

/** Something the application tells the agent about itself. */
export interface AgUiContext {
  readonly description: string;
  readonly value: string;
}

/** What a run starts with, on the wire; assignable to AG-UI's own `RunAgentInput` and back. */
export interface RunAgentInput {
  readonly threadId: string;
  readonly runId: string;
  /** Not sent unless passed: servers before AG-UI 1.0 may refuse it. */
  readonly protocolVersion?: string;
  readonly parentRunId?: string;
  /** Absent while the thread's state is stale, so that the server's good one is not overwritten. */
  readonly state?: unknown;
  readonly messages: AgUiMessage[];
  readonly tools: AgUiTool[];
  readonly context: AgUiContext[];
  readonly forwardedProps?: unknown;
  /** Answers to interrupts. (A run's events are resumed by the `resume` message.) */
  readonly resume?: ResumeEntry[];
}

/** What a caller adds to a run beyond its messages, and what is stored of it until the start is confirmed. */
export interface RunInputRest {
  readonly tools?: readonly AgUiTool[];
  /** @default [] */
  readonly context?: readonly AgUiContext[];
  /** @default {} */
  readonly forwardedProps?: unknown;
  /** The state to send. @default The thread's, or none while it is stale */
  readonly state?: unknown;
  /** Answers to the open interrupts; `answer()` makes them. */
  readonly resume?: readonly ResumeEntry[];
  readonly parentRunId?: string;
  readonly protocolVersion?: string;
}

type WithoutId<Message> = Message extends AgUiMessage
  ? Omit<Message, 'id'> & { readonly id?: string }
  : never;

/** A message that `run()` adds to the thread; it gets a random id where it has none. */
export type AgUiInputMessage = WithoutId<AgUiMessage>;

/** What `run()` takes. */
export interface RunInput extends RunInputRest {
  /** Messages to append to the thread before the run. */
  readonly messages?: readonly AgUiInputMessage[];
}

const restKeys = [
  'parentRunId',
  'protocolVersion',
  'state',
  'tools',
  'context',
  'forwardedProps',
  'resume',
] as const;

/** What of a run's input its base thread lacks: all but the messages; `undefined` where there is nothing. */
export function restOfInput(input: RunInput | undefined): RunInputRest | undefined {
  let rest: Record<string, unknown> | undefined;
  for (const key of restKeys) {
    if (input?.[key] !== undefined) {
      rest ??= {};
      rest[key] = key === 'tools' ? toPlainTools(input[key] as readonly AgUiTool[]) : input[key];
    }
  }
  return rest;
}

/** The message as the next run may send it; nothing where only calls that never ended were in it. */
function withoutCalls(message: AgUiMessage, unended: readonly string[]): AgUiMessage | undefined {
  if (message.role !== 'assistant' || !Array.isArray(message.toolCalls)) return message;
  const { toolCalls, ...rest } = message;
  const kept = toolCalls.filter((call) => !unended.includes(call?.id));
  if (kept.length === toolCalls.length) return message;
  return kept[0] ? { ...rest, toolCalls: kept } : rest.content ? rest : undefined;
}

/**
 * Build what a run sends: the thread's messages and state, and what the caller added.
 *
 * `thread` has the run's own messages already. Activities stay out, and tool calls whose arguments
 * never ended (providers refuse them). A start that is sent again is built the same way, of the base
 * thread and the stored rest.
 */
export function createRunInput(
  thread: AgUiThread<unknown>,
  run: {
    readonly threadId: string;
    readonly runId: string;
    readonly input?: RunInput | undefined;
  },
): RunAgentInput {
  const messages: AgUiMessage[] = [];
  // An answered call has ended, whoever answered it.
  const unended = (thread.open?.unended ?? []).filter(
    (id) =>
      !thread.messages.some((message) => message.role === 'tool' && message.toolCallId === id),
  );
  for (const message of thread.messages) {
    const sent = withoutCalls(message, unended);
    if (sent && sent.role !== 'activity') messages.push(sent);
  }
  return {
    threadId: run.threadId,
    runId: run.runId,
    ...(thread.stale || thread.state === undefined ? {} : { state: thread.state }),
    messages,
    tools: [],
    context: [],
    forwardedProps: {},
    ...(restOfInput(run.input) as Partial<RunAgentInput>),
  };
}
