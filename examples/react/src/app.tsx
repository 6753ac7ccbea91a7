import { type ReactNode, useEffect, useRef, useSyncExternalStore } from 'react';
import { isInterruptExpired } from 'runsocket/ag-ui';
import { useAgUiAgent, useConnection } from 'runsocket/react';
import { agent, client, dropConnection, type Plan } from './agent.ts';
import { Composer } from './composer.tsx';
import { ConnectionBadge } from './connection-badge.tsx';
import { Conversation } from './conversation.tsx';
import { PlanPanel } from './plan-panel.tsx';
import { clearStopped, getStopped, markStopped } from './stopped.ts';
import { Welcome } from './welcome.tsx';
import { clearWire } from './wire-log.ts';
import { WirePanel } from './wire-panel.tsx';

export function App() {
  const thread = useAgUiAgent(agent, { batch: 'frame' });
  const connection = useConnection(client);
  const field = useRef<HTMLTextAreaElement>(null);
  const isRunning = thread.status === 'running';
  const isAsked = !isRunning && thread.interrupts !== undefined;
  const isConnected = connection.status === 'open';
  const hasBegun = useHasBegun(thread.runId);

  function ask(question: string) {
    // What is drawn may be a frame behind.
    const { status, messages, interrupts } = agent.getSnapshot();
    const last = messages.at(-1);
    // The thread has the status of its latest run only.
    if (last && (status === 'running' || status === 'aborted')) markStopped(last.id);
    const input = {
      messages: [{ id: crypto.randomUUID(), role: 'user' as const, content: question }],
    };
    if (interrupts) {
      // Whoever asks something else does not answer.
      agent.answer(
        interrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' })),
        input,
      );
    } else agent.run(input);
    field.current?.focus();
  }

  /** Go on with the answers to all that the agent asked. */
  function answer(accepted: ReadonlySet<string>) {
    const { interrupts = [] } = agent.getSnapshot();
    agent.answer(
      interrupts.map((interrupt) => ({
        interruptId: interrupt.id,
        ...(isInterruptExpired(interrupt)
          ? { status: 'cancelled' }
          : { status: 'resolved', payload: { approved: accepted.has(interrupt.id) } }),
      })),
    );
    field.current?.focus();
  }

  function stop() {
    agent.abort();
    field.current?.focus();
  }

  function reconnect() {
    client.reconnect();
    field.current?.focus();
  }

  function retry() {
    // A run whose connection was closed for good goes on when there is a new one.
    if (thread.error?.code === 'closed') client.reconnect();
    else agent.run();
    field.current?.focus();
  }

  function startOver() {
    agent.abort();
    agent.reset();
    clearStopped();
    clearWire();
    field.current?.focus();
  }

  useEffect(() => {
    document.title = `${isRunning ? 'Answering… ' : isAsked ? 'Your approval is needed: ' : ''}runsocket`;
    if (!isRunning) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.isComposing || event.defaultPrevented) return;
      agent.abort();
      field.current?.focus();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [isRunning, isAsked]);

  return (
    <div className="page">
      <a className="skip" href="#question">
        Skip to the question field
      </a>
      <header className="bar">
        <h1>
          <Logo />
          <span>runsocket</span>
        </h1>
        <ConnectionBadge connection={connection} onRetry={reconnect} />
        <div className="bar-actions">
          <button
            type="button"
            // Not `disabled`: that would take the focus away from who just pressed it.
            aria-disabled={!isConnected}
            onClick={() => isConnected && dropConnection()}
          >
            Drop connection
          </button>
          <button type="button" onClick={startOver} disabled={thread.messages.length === 0}>
            New conversation
          </button>
        </div>
      </header>
      <main>
        <Conversation
          thread={thread}
          isConnected={isConnected}
          hasBegun={hasBegun}
          stopped={getStopped()}
          welcome={<Welcome onAsk={ask} />}
          onAnswer={answer}
          onRetry={retry}
        />
        <Composer field={field} isRunning={isRunning} onAsk={ask} onStop={stop} />
      </main>
      <Sidebar plan={thread.state?.plan}>
        <PlanPanel
          plan={thread.state?.plan}
          isStale={thread.stale}
          isMoving={isRunning && isConnected && hasBegun}
        />
        <WirePanel />
      </Sidebar>
      <Announcement status={isAsked ? 'asked' : thread.status} />
    </div>
  );
}

/** Whether the server has said something of a run, as far as this page knows. */
function useHasBegun(runId: string | undefined): boolean {
  return useSyncExternalStore(
    agent.runs.subscribe,
    () => runId !== undefined && agent.runs.get(runId)?.getSnapshot().status === 'streaming',
  );
}

interface SidebarProps {
  readonly plan: Plan | undefined;
  readonly children: ReactNode;
}

/** On a wide screen the panels stand beside the conversation; on a narrow one they are folded above it. */
function Sidebar({ plan, children }: SidebarProps) {
  const isWide = useSyncExternalStore(subscribeToWidth, () => wide.matches);
  const done = plan?.steps.filter((step) => step.status === 'done').length;
  return (
    <aside aria-label="Plan and connection">
      <details key={String(isWide)} open={isWide}>
        <summary>{plan ? `Plan: ${done} of ${plan.steps.length} done` : 'Plan and wire'}</summary>
        <div className="panels">{children}</div>
      </details>
    </aside>
  );
}

const wide = matchMedia('(min-width: 60rem)');

function subscribeToWidth(listener: () => void): () => void {
  wide.addEventListener('change', listener);
  return () => wide.removeEventListener('change', listener);
}

/** Tells a screen reader, in a few words, what the whole page shows. */
function Announcement({ status }: { status: string }) {
  const words: Record<string, string> = {
    running: 'The agent is answering.',
    finished: 'The answer is complete.',
    aborted: 'The answer was stopped.',
    asked: 'The agent asks for your approval.',
  };
  return (
    <p className="hidden" role="status">
      {words[status]}
    </p>
  );
}

function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#4f46e5" />
      <path d="M6 16h6m8 0h6" stroke="#fff" strokeWidth="3.5" strokeLinecap="round" />
      <circle cx="16" cy="16" r="4" fill="#a5f3c4" />
    </svg>
  );
}
