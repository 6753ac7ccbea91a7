import { type FormEvent, type KeyboardEvent, type RefObject, useEffect, useState } from 'react';

interface ComposerProps {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly isRunning: boolean;
  readonly onAsk: (question: string) => void;
  readonly onStop: () => void;
}

export function Composer({ field, isRunning, onAsk, onStop }: ComposerProps) {
  const [draft, setDraft] = useState('');
  const question = draft.trim();

  useEffect(() => field.current?.focus(), [field]);

  function send(event?: FormEvent) {
    event?.preventDefault();
    if (question === '') return;
    setDraft('');
    onAsk(question);
  }

  function onKeyDown(event: KeyboardEvent) {
    // Enter that picks a word of an input method does not send.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  }

  return (
    <form className="composer" onSubmit={send}>
      <label className="hidden" htmlFor="question">
        Your question
      </label>
      <div className="field">
        <textarea
          id="question"
          ref={field}
          rows={1}
          value={draft}
          placeholder="Ask something"
          aria-describedby="keys"
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={onKeyDown}
        />
        {isRunning && (
          <button type="button" className="stop" onClick={onStop}>
            Stop
          </button>
        )}
        {(!isRunning || question !== '') && (
          <button type="submit" className="primary" disabled={question === ''}>
            Send
          </button>
        )}
      </div>
      <p className="keys" id="keys">
        <kbd>Enter</kbd> sends, <kbd>Shift</kbd> + <kbd>Enter</kbd> starts a new line,{' '}
        <kbd>Esc</kbd> stops the answer
      </p>
    </form>
  );
}
