import { Welcome as XWelcome } from '@ant-design/x';
import { Button } from 'antd';

const questions = [
  'Where is order 1043? Refund it and tell the customer.',
  'Refund order 1042.',
  'Track the parcel of order 1044.',
];

/** What to try first. The prompts of Ant Design X take no keyboard, so these are buttons. */
export function Welcome({ onAsk }: { onAsk: (question: string) => void }) {
  return (
    <div className="welcome">
      <XWelcome
        variant="borderless"
        title="An agent that asks before it acts"
        description="It looks after the orders of a shop. It thinks, calls tools, one of which fails at first, and needs your approval for what cannot be undone. Reload the page or drop the connection at any point: everything is still there, and goes on."
      />
      <ul aria-label="Suggestions">
        {questions.map((question) => (
          <li key={question}>
            <Button onClick={() => onAsk(question)}>{question}</Button>
          </li>
        ))}
      </ul>
    </div>
  );
}
