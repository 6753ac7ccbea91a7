import { Fragment, type ReactNode } from 'react';
import type { AgUiMessage, AgUiThread } from 'runsocket/ag-ui';
import type { AgentState } from './agent.ts';
import { Failure } from './failure.tsx';
import { AssistantMessage, Reasoning, readText, UserMessage } from './messages.tsx';
import { Questions } from './questions.tsx';
import { usePinnedScroll } from './use-pinned-scroll.ts';

interface ConversationProps {
  readonly thread: AgUiThread<AgentState | undefined>;
  readonly isConnected: boolean;
  readonly hasBegun: boolean;
  /** The ids of the messages that older answers were stopped at. */
  readonly stopped: ReadonlySet<string>;
  readonly welcome: ReactNode;
  readonly onAnswer: (accepted: ReadonlySet<string>) => void;
  readonly onRetry: () => void;
}

export function Conversation(props: ConversationProps) {
  const { thread, isConnected, hasBegun, stopped, welcome, onAnswer, onRetry } = props;
  const { messages, status, step, interrupts = [] } = thread;
  const isRunning = status === 'running';
  // A run that waits for its connection may bring the answers already.
  const questions = isRunning || thread.error?.code === 'closed' ? [] : interrupts;
  const { log, isPinned, scrollToEnd } = usePinnedScroll();
  const last = messages.at(-1);
  const results = new Map<string, string>();
  for (const message of messages) {
    if (message.role === 'tool') results.set(message.toolCallId, readText(message.content));
  }

  function render(message: AgUiMessage) {
    const isOpen = isRunning && message === last;
    if (message.role === 'user') return <UserMessage message={message} />;
    if (message.role === 'reasoning') return <Reasoning message={message} isOpen={isOpen} />;
    if (message.role !== 'assistant') return null;
    const calls = message.toolCalls ?? [];
    return (
      <AssistantMessage
        message={message}
        isOpen={isRunning && (isOpen || calls.some((call) => call.id === toolCallOf(last)))}
        results={calls.map((call) => results.get(call.id))}
        isAsking={calls.some((call) => interrupts.some(({ toolCallId }) => toolCallId === call.id))}
      />
    );
  }

  return (
    <section className="conversation" aria-labelledby="conversation-title">
      <h2 className="hidden" id="conversation-title">
        Conversation
      </h2>
      <div
        className="log"
        ref={log}
        role="log"
        aria-labelledby="conversation-title"
        aria-busy={isRunning}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
      >
        {messages.length === 0 && status !== 'running' && welcome}
        {messages.map((message) => (
          <Fragment key={message.id}>
            {render(message)}
            {message !== last && stopped.has(message.id) && <Stopped />}
          </Fragment>
        ))}
        {isRunning && (
          <p className="activity">
            <span className="spinner" aria-hidden="true" />
            {isConnected
              ? `${step ?? 'Waiting for the agent'}…`
              : `The connection is gone. ${hasBegun ? 'The answer goes on' : 'Your question is asked'} as soon as it is back.`}
          </p>
        )}
        {status === 'aborted' && <Stopped />}
        {status === 'error' && (
          <Failure error={thread.error} onRetry={questions.length > 0 ? undefined : onRetry} />
        )}
        <Questions key={thread.runId} interrupts={questions} onAnswer={onAnswer} />
      </div>
      {!isPinned && (
        <button type="button" className="to-end" onClick={scrollToEnd}>
          Jump to the latest
        </button>
      )}
    </section>
  );
}

function Stopped() {
  return <p className="activity">This answer was stopped.</p>;
}

function toolCallOf(message: AgUiMessage | undefined): string | undefined {
  return message?.role === 'tool' ? message.toolCallId : undefined;
}
