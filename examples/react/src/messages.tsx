import { memo } from 'react';
import type { AgUiMessage } from 'runsocket/ag-ui';

type MessageOf<Role extends AgUiMessage['role']> = Extract<AgUiMessage, { role: Role }>;

// A message that did not change stays the same object, so that `memo` skips all but the last one.

export const UserMessage = memo(function UserMessage({ message }: { message: MessageOf<'user'> }) {
  return (
    <article className="message user">
      <h3 className="hidden">You asked</h3>
      <p className="text">{readText(message.content)}</p>
    </article>
  );
});

interface ReasoningProps {
  readonly message: MessageOf<'reasoning'>;
  readonly isOpen: boolean;
}

export const Reasoning = memo(function Reasoning({ message, isOpen }: ReasoningProps) {
  return (
    <details className="message reasoning" data-open={isOpen || undefined}>
      <summary>{isOpen ? 'Thinking…' : 'Thoughts'}</summary>
      <p className="text">{message.content}</p>
    </details>
  );
});

interface AssistantMessageProps {
  readonly message: MessageOf<'assistant'>;
  readonly isOpen: boolean;
  readonly results: readonly (string | undefined)[];
  /** A call that has no result waits for the user's leave. */
  readonly isAsking: boolean;
}

export const AssistantMessage = memo(
  function AssistantMessage({ message, isOpen, results, isAsking }: AssistantMessageProps) {
    const { content, toolCalls = [] } = message;
    return (
      <article className="message assistant">
        <h3 className="hidden">The agent answered</h3>
        {toolCalls.map((call, index) => (
          <ToolCall
            key={call.id}
            name={call.function.name}
            input={call.function.arguments}
            result={results[index]}
            isOpen={isOpen}
            isAsking={isAsking}
          />
        ))}
        {content && <p className={isOpen ? 'text streaming' : 'text'}>{content}</p>}
      </article>
    );
  },
  (before, after) =>
    before.message === after.message &&
    before.isOpen === after.isOpen &&
    before.isAsking === after.isAsking &&
    before.results.every((result, index) => result === after.results[index]),
);

interface ToolCallProps {
  readonly name: string;
  readonly input: string;
  readonly result: string | undefined;
  readonly isOpen: boolean;
  readonly isAsking: boolean;
}

function ToolCall({ name, input, result, isOpen, isAsking }: ToolCallProps) {
  const unanswered = isOpen ? 'running' : isAsking ? 'waits for you' : 'no result';
  const status = result !== undefined ? 'done' : unanswered;
  return (
    <section className="tool" data-status={status} aria-label={`Tool call ${name}, ${status}`}>
      <header>
        <code>{name}</code>
        <span className="tool-status">{status}</span>
      </header>
      <dl>
        <dt>Arguments</dt>
        <dd>
          <code>{input}</code>
        </dd>
        {result !== undefined && (
          <>
            <dt>Result</dt>
            <dd>
              <code>{result}</code>
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

/** The text of a message's content: a string, or the text among its parts. */
export function readText(content: MessageOf<'user' | 'tool'>['content']): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('');
}
