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
stop.addEventListener('click', () => agent.abort());

function show() {
  const thread = agent.getSnapshot();
  status.textContent = thread.error?.message ?? thread.status;
  stop.disabled = thread.status !== 'running';
  const shown = thread.messages.filter(({ role }) => role === 'user' || role === 'assistant');
  for (const [index, { role, content }] of shown.entries()) {
    const line = log.children[index] ?? log.appendChild(document.createElement('p'));
    line.className = role;
    if (line.textContent !== content) line.textContent = content ?? '';
  }
}

agent.subscribe(show);
client.subscribe(() => {
  connection.textContent = client.getSnapshot().status;
});
show();
