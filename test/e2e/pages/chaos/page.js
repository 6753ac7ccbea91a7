import { createWebSocketClient } from 'runsocket';
import { createAgUiAgent } from 'runsocket/ag-ui';

const options = new URLSearchParams(location.search);
const client = createWebSocketClient(new URL('/agent', location.href.replace(/^http/, 'ws')));
const agent = createAgUiAgent(client, {
  name: 'chaos',
  policy: options.get('policy') === 'cancel' ? 'cancel' : 'keep',
  checkpoint: !options.has('replay'),
});
// What the page tells its test.
const chaos = {
  agent,
  life: [],
  errors: [],
  closes: [],
  counts: { told: 0, painted: 0 },
  blocked: 0,
};
Object.assign(window, { chaos });

client.on('close', ({ code, error }) => chaos.closes.push(`${code} ${error.message}`));
agent.on('error', ({ code }) => chaos.errors.push(code));
for (const type of ['pagehide', 'pageshow']) {
  addEventListener(type, ({ persisted }) => chaos.life.push(`${type} ${persisted}`));
}
for (const type of ['freeze', 'resume']) {
  document.addEventListener(type, () => chaos.life.push(type));
}
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) chaos.blocked += duration;
}).observe({ type: 'longtask' });
const paint = () => {
  chaos.counts.painted++;
  requestAnimationFrame(paint);
};
paint();

const log = document.querySelector('[role=log]');
const status = document.getElementById('status');
const input = document.querySelector('input');

function show() {
  const { messages, status: now } = agent.getSnapshot();
  status.textContent = now;
  const shown = messages.filter(({ role }) => role === 'user' || role === 'assistant');
  for (const [index, { role, content }] of shown.entries()) {
    const line = log.children[index] ?? log.appendChild(document.createElement('p'));
    line.className = role;
    if (line.textContent !== content) line.textContent = String(content ?? '');
  }
}

agent.subscribe(() => {
  chaos.counts.told++;
  show();
});
document.querySelector('form')?.addEventListener('submit', (event) => {
  event.preventDefault();
  agent.run({ messages: [{ role: 'user', content: input.value }] });
  input.value = '';
});
show();
