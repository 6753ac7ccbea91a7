import { createWebSocketClient } from 'runsocket';
import { createAgUiAgent } from 'runsocket/ag-ui';

const client = createWebSocketClient(new URL('/agent', location.href.replace(/^http/, 'ws')));
const agent = createAgUiAgent(client, { name: 'vanilla' });
const [form, question, stop, status, connection, log] = [
  'form',
  'question',
  'stop',
  'status',
  'connection',
  'log',
].map((id) => document.getElementById(id));

form.addEventListener('submit', (event) => {
  event.preventDefault();
  agent.run({ messages: [{ id: crypto.randomUUID(), role: 'user', content: question.value }] });
  form.reset();
});
stop.addEventListener('click', cancel);
document.addEventListener('keydown', ({ key, isComposing }) => {
  if (key === 'Escape' && !isComposing && !stop.disabled) cancel();
});

function cancel() {
  agent.abort();
  question.focus();
}

const connections = {
  idle: 'not connected',
  connecting: 'connecting',
  open: 'connected',
  waiting: 'connection lost',
  closed: 'disconnected',
};

function show() {
  const thread = agent.getSnapshot();
  const { scrollHeight } = document.documentElement;
  const isAtEnd = scrollY + innerHeight > scrollHeight - 40;
  status.textContent = thread.error?.message ?? thread.status;
  stop.disabled = thread.status !== 'running';
  const shown = thread.messages.filter(({ role }) => role === 'user' || role === 'assistant');
  for (const [index, { role, content }] of shown.entries()) {
    const line = log.children[index] ?? log.appendChild(document.createElement('p'));
    line.className = role;
    if (line.textContent !== content) line.textContent = content ?? '';
  }
  // Follow the answer, unless the reader has scrolled away from it.
  if (isAtEnd) scrollTo(0, document.documentElement.scrollHeight);
}

agent.subscribe(show);
client.subscribe(() => {
  const { status, error } = client.getSnapshot();
  // An attempt to come back is no news.
  connection.textContent = connections[error && status === 'connecting' ? 'waiting' : status];
});
show();
