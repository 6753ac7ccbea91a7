import {
  type AgentApprovalState,
  type AgentMessageState,
  type AgentReasoningState,
  type AgentRunState,
  type AgentState,
  type AgentToolCallState,
  getAgentEntityKey,
  type MessageInfo,
  selectAgentTimeline,
} from 'runsocket/agent-provider';

/** A thought or a tool call. */
export type Step =
  | { readonly kind: 'reasoning'; readonly entity: AgentReasoningState }
  | { readonly kind: 'tool'; readonly entity: AgentToolCallState };

/** What the conversation shows, one below the other. */
export type TimelineItem =
  | {
      readonly kind: 'message';
      readonly key: string;
      readonly info: MessageInfo<AgentMessageState>;
    }
  | { readonly kind: 'steps'; readonly key: string; readonly steps: readonly Step[] }
  | { readonly kind: 'approval'; readonly key: string; readonly approval: AgentApprovalState }
  | { readonly kind: 'waiting'; readonly key: string; readonly run: AgentRunState }
  | { readonly kind: 'ending'; readonly key: string; readonly run: AgentRunState };

const endings = ['completed', 'failed', 'cancelled'];

/**
 * Orders what the agent did for the screen: messages, chains of thoughts and tool calls, approvals,
 * and how a run ended where it ended badly.
 */
export function createTimeline(
  state: AgentState,
  messages: readonly MessageInfo<AgentMessageState>[],
): TimelineItem[] {
  const infos = new Map(messages.map((info) => [info.id, info]));
  const items: TimelineItem[] = [];
  for (const run of Object.values(state.runs)) {
    let steps: Step[] = [];
    let isMoving = false;
    let isAsking = false;
    for (const { kind, entity } of selectAgentTimeline(state, { runId: run.id })) {
      const key = `${kind}:${getAgentEntityKey(run.id, entity.id)}`;
      // The agent may wait for a retry; what it says next shows that it does not.
      isAsking = kind === 'tool' && entity.error?.retryable === true;
      isMoving ||= !endings.includes(entity.status);
      if (kind === 'reasoning' || kind === 'tool') {
        if (steps.length === 0) items.push({ kind: 'steps', key, steps });
        steps.push({ kind, entity } as Step);
        continue;
      }
      steps = [];
      if (kind === 'approval') items.push({ kind, key, approval: entity });
      const info = infos.get(getAgentEntityKey(run.id, entity.id));
      if (kind === 'message' && info) items.push({ kind, key, info });
    }
    if (run.status === 'running' && !isMoving && !isAsking)
      items.push({ kind: 'waiting', key: `${run.id}:waiting`, run });
    if (run.status === 'failed' || run.status === 'cancelled') {
      items.push({ kind: 'ending', key: `${run.id}:ending`, run });
    }
  }
  return items;
}

/** The text of a message: a string, or the text among its parts. */
export function readText(content: AgentMessageState['content']): string {
  if (typeof content === 'string') return content;
  return content.map((part) => ('text' in part ? part.text : `[${part.type}]`)).join('');
}
