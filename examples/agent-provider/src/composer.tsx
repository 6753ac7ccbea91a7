import { Sender } from '@ant-design/x';
import { type GetProps, Input } from 'antd';
import { type RefObject, useEffect, useState } from 'react';

interface ComposerProps {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly isRequesting: boolean;
  readonly onAsk: (question: string) => void;
  readonly onStop: () => void;
}

/** The question field. The components leave out the names that a screen reader needs. */
export function Composer({ field, isRequesting, onAsk, onStop }: ComposerProps) {
  const [draft, setDraft] = useState('');

  useEffect(() => field.current?.focus(), [field]);

  function send(question: string) {
    if (question.trim() === '') return;
    setDraft('');
    onAsk(question.trim());
  }

  return (
    <div className="composer">
      <Sender
        ref={(sender) => {
          field.current = (sender?.inputElement ?? null) as HTMLTextAreaElement | null;
        }}
        value={draft}
        loading={isRequesting}
        placeholder="Ask about an order"
        components={{ input: QuestionField }}
        onChange={setDraft}
        onSubmit={send}
        onCancel={onStop}
        suffix={(_, { components: { LoadingButton, SendButton } }) =>
          isRequesting ? <LoadingButton aria-label="Stop" /> : <SendButton aria-label="Send" />
        }
      />
      <p className="keys" id="keys">
        <kbd>Enter</kbd> sends, <kbd>Shift</kbd> + <kbd>Enter</kbd> starts a new line,{' '}
        <kbd>Esc</kbd> stops the answer
      </p>
    </div>
  );
}

function QuestionField(props: GetProps<typeof Input.TextArea>) {
  return (
    <Input.TextArea {...props} id="question" aria-label="Your question" aria-describedby="keys" />
  );
}
