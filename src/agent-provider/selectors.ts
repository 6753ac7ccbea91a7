import { getAgentEntityKey, peek } from './state-node.ts';
import type {
  AgentApprovalState,
  AgentEntityReference,
  AgentMessageState,
  AgentReasoningState,
  AgentRunState,
  AgentState,
  AgentToolCallState,
} from './state-types.ts';

/** What {@link selectAgentTimeline} lists: an entity that is shown as it came. */
export type AgentTimelineEntry =
  | { readonly kind: 'message'; readonly entity: AgentMessageState }
  | { readonly kind: 'reasoning'; readonly entity: AgentReasoningState }
  | { readonly kind: 'tool'; readonly entity: AgentToolCallState }
  | { readonly kind: 'approval'; readonly entity: AgentApprovalState };

/** Options of {@link selectAgentTimeline}. */
export interface SelectAgentTimelineOptions {
  readonly runId: string;
  /** @default true */
  readonly includeReasoning?: boolean | undefined;
}

const shown = {
  message: 'messages',
  reasoning: 'reasoning',
  tool: 'toolCalls',
  approval: 'approvals',
} as const;

// What was selected is kept as long as what it was selected from.
const timelines = /* @__PURE__ */ new WeakMap<object, Map<string, readonly AgentTimelineEntry[]>>();
const entries = /* @__PURE__ */ new WeakMap<object, AgentTimelineEntry>();
const running = /* @__PURE__ */ new WeakMap<object, Map<string, readonly AgentRunState[]>>();

function remember<Result>(
  cache: WeakMap<object, Map<string, Result>>,
  source: object,
  key: string,
  select: () => Result,
): Result {
  const results = cache.get(source) ?? new Map<string, Result>();
  const result = results.get(key) ?? select();
  cache.set(source, results.set(key, result));
  return result;
}

/** A run, or `undefined`. */
export const selectRun = (state: AgentState, runId: string): AgentRunState | undefined =>
  peek(state, 'runs', runId);

/** A tool call, or `undefined`. */
export const selectToolCall = (
  state: AgentState,
  { runId, toolCallId }: { readonly runId: string; readonly toolCallId: string },
): AgentToolCallState | undefined => peek(state, 'toolCalls', getAgentEntityKey(runId, toolCallId));

/** An approval, or `undefined`. */
export const selectApproval = (
  state: AgentState,
  { runId, approvalId }: { readonly runId: string; readonly approvalId: string },
): AgentApprovalState | undefined => peek(state, 'approvals', getAgentEntityKey(runId, approvalId));

/** The runs of a session that are running; the same array until a run changes. */
export const selectRunningRuns = (
  { runs }: AgentState,
  sessionId: string,
): readonly AgentRunState[] =>
  remember(running, runs, sessionId, () =>
    Object.values(runs).filter((run) => run.sessionId === sessionId && run.status === 'running'),
  );

type Redacted = { readonly redacted?: boolean };

function toEntry(state: AgentState, { kind, id, runId }: AgentEntityReference) {
  const key = getAgentEntityKey(runId, id);
  const source = peek(state, shown[kind as keyof typeof shown], key) as Redacted | undefined;
  if (!source) return undefined;
  const entity = source.redacted ? { ...source, content: '' } : source;
  const entry = entries.get(source) ?? ({ kind, entity } as AgentTimelineEntry);
  entries.set(source, entry);
  return entry;
}

/**
 * The messages, reasoning, tool calls and approvals of a run in the order they opened.
 *
 * The same array for the same state, and the same entry for the same entity. Redacted reasoning has
 * its content emptied here; the state still has it.
 */
export const selectAgentTimeline = (
  state: AgentState,
  { runId, includeReasoning = true }: SelectAgentTimelineOptions,
): readonly AgentTimelineEntry[] =>
  remember(timelines, state, `${includeReasoning}:${runId}`, () =>
    state.order.flatMap((reference) =>
      reference.runId === runId && (includeReasoning || reference.kind !== 'reasoning')
        ? (toEntry(state, reference) ?? [])
        : [],
    ),
  );
