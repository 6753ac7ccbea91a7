const questions = [
  'What happens when I reload this page?',
  'What if my connection drops in a tunnel?',
  'What does my own server have to do?',
  'Refund order 1042, but ask me first.',
];

export function Welcome({ onAsk }: { onAsk: (question: string) => void }) {
  return (
    <div className="welcome">
      <p className="lead">Ask something, then try to lose the answer.</p>
      <p>
        It takes about twenty seconds. Reload the page while it streams, drop the connection, go
        offline, or duplicate this tab: the answer comes back, once and whole, and goes on.
      </p>
      <ul className="suggestions" aria-label="Suggestions">
        {questions.map((question) => (
          <li key={question}>
            <button type="button" onClick={() => onAsk(question)}>
              {question}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
