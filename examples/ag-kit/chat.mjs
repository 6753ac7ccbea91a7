// @ts-check
import { createInterface } from 'node:readline/promises';
import { createWebSocketClient } from 'runsocket';
import { createAgUiAgent } from 'runsocket/ag-ui';
import { WebSocket } from 'ws';

// A conversation in the terminal: node chat.mjs [ws://127.0.0.1:8787/agent]
const url = process.argv[2] ?? 'ws://127.0.0.1:8787/agent';
const client = createWebSocketClient(url, { WebSocket, backoff: { first: 500 } });
const agent = createAgUiAgent(client, { storage: null });
const lines = createInterface({ input: process.stdin, output: process.stdout });

/** The tool that runs here, as the agent is told of it. */
const tools = [
  {
    name: 'locate',
    description: 'Where the traveller is.',
    parameters: { type: 'object', properties: { exact: { type: 'boolean' } } },
  },
];

client.on('close', () => process.stdout.write('⚡'));
agent.on('event', (event) => {
  if (event.type === 'TEXT_MESSAGE_CONTENT') process.stdout.write(event.delta);
  else if (event.type === 'TOOL_CALL_START') process.stdout.write(`\n[${event.toolCallName}]\n`);
  else if (event.type === 'RUN_ERROR') process.stdout.write(`\n[${event.message}]\n`);
});
agent.connect();

/** Runs until nothing more is asked of this side. @param {() => void} start */
async function turn(start) {
  start();
  await new Promise((resolve) => {
    const look = () => agent.getSnapshot().status !== 'running' && resolve(stop());
    const stop = agent.subscribe(look);
  });
  process.stdout.write('\n');
  const { interrupts, pendingToolCallIds = [] } = agent.getSnapshot();
  if (interrupts) {
    /** @type {Record<string, { status: 'resolved', payload: unknown }>} */
    const answers = {};
    for (const { id, message, reason } of interrupts) {
      const approved = /^y/i.test(await lines.question(`${message ?? reason} (y/n) `));
      answers[id] = { status: 'resolved', payload: { approved } };
    }
    await turn(() => agent.answer(answers, { tools }));
  } else if (pendingToolCallIds.length) {
    const place = await lines.question('Where are you? ');
    /** @param {string} toolCallId */
    const answer = (toolCallId) => ({
      role: /** @type {const} */ ('tool'),
      toolCallId,
      content: place,
    });
    await turn(() => agent.run({ messages: pendingToolCallIds.map(answer), tools }));
  }
}

for (;;) {
  const content = await lines.question('> ');
  if (content === '/quit') break;
  // Pull the plug with `/drop …` while the answer comes, and see it go on.
  const [, dropped] = /^\/drop (.*)/.exec(content) ?? [];
  if (dropped) {
    setTimeout(
      () => fetch(new URL('/agent/drop', url.replace(/^ws/, 'http')), { method: 'POST' }),
      700,
    );
  }
  await turn(() => agent.run({ messages: [{ role: 'user', content: dropped ?? content }], tools }));
}
lines.close();
agent.dispose();
