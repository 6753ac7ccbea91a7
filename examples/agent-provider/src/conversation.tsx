import { Bubble, type BubbleItemType } from '@ant-design/x';
import { Alert, Button } from 'antd';
import { type ReactNode, useCallback, useEffect, useRef } from 'react';
import type { AgUiProviderInput } from 'runsocket/agent-provider';
import {
  type AgentApprovalState,
  type AgentChatMethods,
  type AgentChatSnapshot,
  type AgentCommandDecision,
  type AgentRunState,
  type AgentToolCallState,
  getAgentActionKey,
  selectRunningRuns,
} from 'runsocket/agent-provider';
import { ApprovalCard } from './approval-card.tsx';
import { Steps } from './steps.tsx';
import { createTimeline, readText, type TimelineItem } from './timeline.ts';

interface ConversationProps {
  readonly sessionId: string;
  readonly chat: AgentChatSnapshot & AgentChatMethods<AgUiProviderInput>;
  readonly isConnected: boolean;
  readonly welcome: ReactNode;
  /** A button that had the focus is gone. */
  readonly onDone: () => void;
}

const roles = {
  user: { placement: 'end', variant: 'filled', shape: 'corner', className: 'user' },
  assistant: { placement: 'start', variant: 'borderless', className: 'assistant' },
  steps: { placement: 'start', variant: 'borderless', className: 'wide' },
  approval: { placement: 'start', variant: 'borderless', className: 'wide' },
  waiting: { placement: 'start', variant: 'borderless', loading: true },
  ending: { placement: 'start', variant: 'borderless', className: 'wide' },
} as const;

export function Conversation(props: ConversationProps) {
  const { sessionId, chat, isConnected, welcome, onDone } = props;
  const { messages, agentState, agentActions, isRequesting, onReload } = chat;
  const list = useRef<HTMLDivElement>(null);

  // What scrolls must be reachable by keyboard; the list has no property for it.
  useEffect(() => {
    const box = list.current?.querySelector('.ant-bubble-list-scroll-box');
    box?.setAttribute('tabindex', '0');
  });

  const running = new Set(selectRunningRuns(agentState, sessionId).map(({ id }) => id));
  const held = new Set<string>();
  for (const { status, toolCallId } of Object.values(agentState.approvals)) {
    if (status === 'waiting' && toolCallId !== undefined) held.add(toolCallId);
  }
  const retried = new Set<string>();
  for (const { retryOf } of Object.values(agentState.toolCalls)) {
    if (retryOf !== undefined) retried.add(retryOf);
  }

  const retry = useCallback(
    ({ runId, id }: AgentToolCallState) => {
      settle(() => agentActions.retryTool({ runId, toolCallId: id }));
      onDone();
    },
    [agentActions, onDone],
  );

  function resolve({ runId, id }: AgentApprovalState, decision: AgentCommandDecision) {
    settle(() => agentActions.resolveApproval({ runId, approvalId: id, decision }));
    onDone();
  }

  function commandOf({ runId, id }: AgentApprovalState) {
    const action = getAgentActionKey({ runId, type: 'approval.resolve', entityId: id });
    return chat.commandStates[chat.latestCommandByAction[action] ?? ''];
  }

  function askAgain(run: AgentRunState) {
    const message = messages.find(({ message }) => message.runId === run.id);
    if (message) onReload(message.id);
    onDone();
  }

  function toBubble(item: TimelineItem): BubbleItemType {
    const { key } = item;
    switch (item.kind) {
      case 'message': {
        const { message, status } = item.info;
        const isUser = message.role === 'user';
        return {
          key,
          role: isUser ? 'user' : 'assistant',
          status,
          streaming: status === 'updating',
          content: readText(message.content),
          header: <h3 className="hidden">{isUser ? 'You asked' : 'The agent answered'}</h3>,
        };
      }
      case 'steps': {
        const canRetry = item.steps.some(({ entity }) => running.has(entity.runId));
        const content = (
          <Steps
            steps={item.steps}
            held={held}
            retried={retried}
            canRetry={canRetry}
            onRetry={retry}
          />
        );
        return { key, role: 'steps', content };
      }
      case 'approval': {
        const { approval } = item;
        const content = (
          <ApprovalCard approval={approval} command={commandOf(approval)} onResolve={resolve} />
        );
        return { key, role: 'approval', content };
      }
      case 'waiting':
        if (isConnected) return { key, role: 'waiting', content: '' };
        return { key, role: 'ending', content: <Lost /> };
      case 'ending':
        return { key, role: 'ending', content: <Ending run={item.run} onRetry={askAgain} /> };
    }
  }

  const items = createTimeline(agentState, messages).map(toBubble);
  return (
    <section
      ref={list}
      className="conversation"
      role="log"
      aria-label="Conversation"
      aria-busy={isRequesting}
    >
      {items.length === 0 ? welcome : <Bubble.List items={items} role={roles} />}
    </section>
  );
}

function Lost() {
  return <p className="lost">The connection is gone. The agent answers when it is back.</p>;
}

/** How a run ended that did not end well. */
function Ending({ run, onRetry }: { run: AgentRunState; onRetry: (run: AgentRunState) => void }) {
  if (run.status === 'cancelled') return <p className="stopped">This answer was stopped.</p>;
  return (
    <Alert
      className="broken"
      role="alert"
      type="error"
      showIcon
      title="The answer broke off"
      description={
        <>
          <p>{run.error?.message}</p>
          <Button onClick={() => onRetry(run)}>Ask again</Button>
        </>
      }
    />
  );
}

/** An action that cannot be done throws at once; one that fails later is told by its command's state. */
function settle(act: () => Promise<unknown>): void {
  try {
    act().catch(() => {});
  } catch {
    // What the button was for is over by now, and the next render takes it away.
  }
}
