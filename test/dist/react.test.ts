import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer, formats, moduleText } from './consumer.ts';

let consumer: Consumer;

beforeAll(async () => {
  consumer = await createConsumer();
});
afterAll(() => consumer?.remove());

describe.each(formats)('the hooks in %s', (format) => {
  it('render on a server what the agent was created with, and connect nothing', async () => {
    const text = moduleText(
      format,
      {
        react: '{ createElement }',
        'react-dom/server': '{ renderToString }',
        runsocket: '{ createWebSocketClient }',
        'runsocket/ag-ui': '{ createAgUiAgent }',
        'runsocket/react': '{ useAgUiAgent, useConnection }',
      },
      `const client = createWebSocketClient(() => location.href);
       const messages = [{ id: 'm1', role: 'user', content: 'Hello' }];
       const agent = createAgUiAgent(client, { messages, state: { count: 3 } });
       const Chat = () => {
         const { messages, status } = useAgUiAgent(agent);
         const count = useAgUiAgent(agent, { select: ({ state }) => state.count });
         const connection = useConnection(client);
         return [status, messages[0].content, count, connection.status].join();
       };
       console.log(renderToString(createElement(Chat)));
       console.log(client.getSnapshot().status);`,
    );
    const output = await consumer.run(`render.${format}`, text);
    expect(output).toBe('idle,Hello,3,idle\nidle\n');
  });
});
