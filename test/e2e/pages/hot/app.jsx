import { useAgUiAgent } from 'runsocket/react';
import { agent, version } from './agent.js';

const edition = 'app 1';
const readers = Array.from({ length: 20 }, (_, number) => number);

export function App() {
  const { status, messages } = useAgUiAgent(agent);

  function ask(event) {
    event.preventDefault();
    agent.run({ messages: [{ role: 'user', content: event.target.elements.question.value }] });
  }

  return (
    <>
      <p id="version">
        {version}, {edition}
      </p>
      <form onSubmit={ask}>
        <input name="question" aria-label="Your question" autoComplete="off" />
      </form>
      <p id="status">{status}</p>
      <p className="user">{messages[0]?.content}</p>
      {readers.map((number) => (
        <Answer key={number} />
      ))}
    </>
  );
}

function Answer() {
  const select = ({ messages }) =>
    messages.filter(({ role, content }) => role === 'assistant' && content).at(-1)?.content;
  return <p className="assistant">{useAgUiAgent(agent, { select, batch: 'frame' })}</p>;
}
