import { useEffect, useId, useRef, useState } from 'react';
import { type Interrupt, isInterruptExpired } from 'runsocket/ag-ui';

interface QuestionsProps {
  readonly interrupts: readonly Interrupt[];
  readonly onAnswer: (accepted: ReadonlySet<string>) => void;
}

/** Asks one question after the other: AG-UI takes the answers to all of them at once. */
export function Questions({ interrupts, onAnswer }: QuestionsProps) {
  const [accepted, setAccepted] = useState<ReadonlySet<string>>(new Set());
  const [index, setIndex] = useState(0);
  const interrupt = interrupts[index];
  if (!interrupt) return null;

  function decide({ id }: Interrupt, isAccepted: boolean) {
    const next = isAccepted ? new Set(accepted).add(id) : accepted;
    if (index + 1 === interrupts.length) return onAnswer(next);
    setAccepted(next);
    setIndex(index + 1);
  }

  return (
    <Question
      key={interrupt.id}
      interrupt={interrupt}
      title={`Your approval is needed${interrupts.length > 1 ? ` (${index + 1} of ${interrupts.length})` : ''}`}
      // The button that had the focus is gone; which one has it next is for the user to say.
      takesFocus={index > 0}
      onDecide={(isAccepted) => decide(interrupt, isAccepted)}
    />
  );
}

interface QuestionProps {
  readonly interrupt: Interrupt;
  readonly title: string;
  readonly takesFocus: boolean;
  readonly onDecide: (isAccepted: boolean) => void;
}

function Question({ interrupt, title, takesFocus, onDecide }: QuestionProps) {
  const isExpired = useIsExpired(interrupt);
  const box = useRef<HTMLElement>(null);
  const id = useId();

  useEffect(() => {
    if (takesFocus) box.current?.focus();
  }, [takesFocus]);

  return (
    <section className="question" ref={box} tabIndex={-1} aria-labelledby={`${id}title ${id}text`}>
      <h3 id={`${id}title`}>{title}</h3>
      <p id={`${id}text`}>{interrupt.message ?? interrupt.reason}</p>
      {isExpired ? (
        <div className="answers">
          <button type="button" onClick={() => onDecide(false)}>
            Dismiss
          </button>
          It is too late to answer.
        </div>
      ) : (
        <div className="answers">
          <button type="button" className="primary" onClick={() => onDecide(true)}>
            Accept
          </button>
          <button type="button" onClick={() => onDecide(false)}>
            Decline
          </button>
        </div>
      )}
    </section>
  );
}

function useIsExpired(interrupt: Interrupt): boolean {
  const [isExpired, setIsExpired] = useState(() => isInterruptExpired(interrupt));
  useEffect(() => {
    const timer = setInterval(() => setIsExpired(isInterruptExpired(interrupt)), 1000);
    return () => clearInterval(timer);
  }, [interrupt]);
  return isExpired;
}
