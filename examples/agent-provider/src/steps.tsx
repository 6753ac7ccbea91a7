import { PauseCircleOutlined } from '@ant-design/icons';
import { ThoughtChain } from '@ant-design/x';
import { Button } from 'antd';
import { memo, useState } from 'react';
import type { AgentToolCallState } from 'runsocket/agent-provider';
import type { Step } from './timeline.ts';

interface StepsProps {
  readonly steps: readonly Step[];
  /** The tool calls that wait for an approval. */
  readonly held: ReadonlySet<string>;
  /** The tool calls that were tried again. */
  readonly retried: ReadonlySet<string>;
  readonly canRetry: boolean;
  readonly onRetry: (tool: AgentToolCallState) => void;
}

const icons = {
  pending: 'loading',
  streaming: 'loading',
  running: 'loading',
  waiting: 'loading',
  completed: 'success',
  failed: 'error',
  cancelled: 'abort',
} as const;

/** A chain of thoughts and tool calls. */
export const Steps = memo(function Steps(props: StepsProps) {
  const { steps, held, retried, canRetry, onRetry } = props;
  /** What the reader opened or closed; otherwise a thought is open for as long as it grows. */
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const isOpen = ({ kind, entity }: Step) =>
    chosen.get(entity.id) ?? (kind === 'reasoning' && entity.status === 'streaming');

  function toggle(step: Step) {
    setChosen(new Map(chosen).set(step.entity.id, !isOpen(step)));
  }

  return (
    <ThoughtChain
      className="steps"
      aria-label="What the agent did"
      role="group"
      expandedKeys={steps.filter(isOpen).map(({ entity }) => entity.id)}
      items={steps.map((step) => {
        const { kind, entity } = step;
        const isHeld = kind === 'tool' && held.has(entity.id);
        const status = isHeld ? 'waits for you' : labels[kind][entity.status];
        const attempt =
          kind === 'tool' && (entity.attempt ?? 1) > 1 && `, attempt ${entity.attempt}`;
        return {
          key: entity.id,
          ...(isHeld ? { icon: <PauseCircleOutlined /> } : { status: icons[entity.status] }),
          collapsible: true,
          blink: !isHeld && icons[entity.status] === 'loading',
          title: (
            <button
              type="button"
              className="step-title"
              aria-expanded={isOpen(step)}
              data-status={isHeld ? 'held' : entity.status}
              onClick={(event) => {
                // The title around it toggles too, but only for who has a mouse.
                event.stopPropagation();
                toggle(step);
              }}
            >
              {kind === 'tool' ? <code>{entity.name}</code> : null}{' '}
              <span>
                {status}
                {attempt}
              </span>
            </button>
          ),
          description: kind === 'tool' && entity.error && (
            <span className="failure">{entity.error.message}</span>
          ),
          content:
            kind === 'tool' ? (
              <ToolDetails tool={entity} />
            ) : (
              <p className="thought">{entity.content}</p>
            ),
          footer: kind === 'tool' &&
            canRetry &&
            entity.error?.retryable &&
            !retried.has(entity.id) && (
              <Button
                size="small"
                aria-label={`Retry ${entity.name}`}
                onClick={() => onRetry(entity)}
              >
                Retry
              </Button>
            ),
        };
      })}
    />
  );
}, areEqual);

const labels = {
  reasoning: {
    pending: 'Thinking…',
    streaming: 'Thinking…',
    running: 'Thinking…',
    waiting: 'Thinking…',
    completed: 'Thoughts',
    failed: 'Thoughts, broken off',
    cancelled: 'Thoughts, stopped',
  },
  tool: {
    pending: 'is being called…',
    streaming: 'is being called…',
    running: 'is at work…',
    waiting: 'waits',
    completed: 'done',
    failed: 'failed',
    cancelled: 'stopped',
  },
};

function ToolDetails({ tool }: { tool: AgentToolCallState }) {
  return (
    <dl className="details">
      <dt>Arguments</dt>
      <dd>
        <code>{tool.arguments || 'as before'}</code>
      </dd>
      {tool.result !== undefined && (
        <>
          <dt>Result</dt>
          <dd>
            <code>
              {typeof tool.result === 'string' ? tool.result : JSON.stringify(tool.result)}
            </code>
          </dd>
        </>
      )}
    </dl>
  );
}

/** Chains are put together anew at every change, of entities that stay the same until they change. */
function areEqual(before: StepsProps, after: StepsProps): boolean {
  return (
    before.canRetry === after.canRetry &&
    before.steps.length === after.steps.length &&
    before.steps.every(({ entity }, index) => {
      const { id } = entity;
      return (
        entity === after.steps[index]?.entity &&
        before.held.has(id) === after.held.has(id) &&
        before.retried.has(id) === after.retried.has(id)
      );
    })
  );
}
