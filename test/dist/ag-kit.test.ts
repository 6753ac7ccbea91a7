import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { type AgKitEndpoint, startEndpoint } from '../examples/ag-kit-server.ts';
import { until } from '../helpers/until.ts';
import { type Consumer, createConsumer, root } from './consumer.ts';

const patience = 40_000;
const cleanUps: (() => unknown)[] = [];
let consumer: Consumer;

beforeAll(async () => {
  consumer = await createConsumer();
  const parser = join('node_modules', 'eventsource-parser');
  await symlink(join(root, parser), join(consumer.dir, parser), 'junction');
}, patience);
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => consumer?.remove());

/** The first block of code under a heading of the document. */
function readBlock(heading: string): string {
  const text = readFileSync(join(root, 'docs/ag-kit.md'), 'utf8');
  const section = text.split(`\n## ${heading}\n`)[1] ?? '';
  const block = /^```(?:js|mjs)\n([\s\S]*?)^```/m.exec(section)?.[1];
  if (block === undefined) throw new Error(`There is no code under “${heading}”.`);
  return block;
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function isReached(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const [type] = await Promise.race([
    once(socket, 'connect').then(() => ['connect']),
    once(socket, 'close').then(() => ['close']),
  ]).catch(() => ['error']);
  socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 20));
  return type === 'connect';
}

/** Starts a program, and kills it after the test. */
function start(file: string, env: Record<string, string>, cwd: string = root) {
  const child: ChildProcess = spawn(process.execPath, [file], {
    cwd,
    env: { ...process.env, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      output += text;
    });
  }
  cleanUps.push(() => child.kill('SIGKILL'));
  return { child, output: () => output };
}

function open(url: string) {
  const client = createWebSocketClient(url, {
    WebSocket,
    backoff: { first: 50, min: 20, max: 200 },
  });
  const agent = createAgUiAgent(client, { storage: null });
  const stop = agent.connect();
  cleanUps.push(() => {
    stop();
    agent.dispose();
    client.close();
  });
  return agent;
}

describe('the recipe in docs/ag-kit.md', () => {
  async function startRecipe(): Promise<{ endpoint: AgKitEndpoint; url: string }> {
    const endpoint = await startEndpoint({ pace: 100 });
    cleanUps.push(() => endpoint.close());
    const port = await findPort();
    await consumer.write('recipe.mjs', readBlock('A server that answers POST requests'));
    start('recipe.mjs', { AG_KIT_URL: endpoint.url, PORT: `${port}` }, consumer.dir);
    return { endpoint, url: `ws://127.0.0.1:${port}` };
  }

  it('makes runs of what an AG-Kit server streams', async () => {
    const { endpoint, url } = await startRecipe();
    const agent = open(url);
    const ask = async (content: string) => {
      agent.run({ messages: [{ role: 'user', content }] });
      await until(() => agent.getSnapshot().status !== 'running', patience);
    };
    await ask('A train to Basel?');
    await ask('Book it.');
    const [interrupt] = agent.getSnapshot().interrupts ?? [];
    agent.answer({ [interrupt?.id ?? '']: { status: 'resolved', payload: { approved: true } } });
    await until(() => agent.getSnapshot().status !== 'running', patience);
    expect(agent.getSnapshot().messages.map(({ content }) => content)).toEqual([
      'A train to Basel?',
      'I look that up.',
      '{"to":"Basel","at":"10:11","price":31}',
      'The next train to Basel leaves at 10:11.',
      'Book it.',
      'The 10:04 to Bern has seats left. I need your leave to pay.',
      'Booked: the 10:04 to Bern. Have a good journey!',
    ]);
    expect(endpoint.requests.map(({ messages = [] }) => messages.length)).toEqual([1, 1, 0]);

    endpoint.cutAfter(3);
    await ask('And now?');
    expect(agent.getSnapshot().status).toBe('error');
  });

  it('is short enough to be copied', () => {
    const lines = readBlock('A server that answers POST requests').trim().split('\n');
    expect(lines.length).toBeLessThanOrEqual(40);
  });
});

describe('the server of AG-Kit clients in docs/ag-kit.md', () => {
  const agent = `
    async function* agent({ threadId, runId, messages, resume }) {
      yield { type: 'RUN_STARTED', threadId, runId };
      yield { type: 'STATE_SNAPSHOT', snapshot: {} };
      const question = messages.at(-1)?.content;
      const text = resume ? JSON.stringify(resume[0].payload) : messages.length + ': ' + question;
      yield { type: 'TEXT_MESSAGE_CHUNK', messageId: runId, role: 'assistant', delta: text };
      if (question === 'fail' && !resume) {
        yield { type: 'RUN_ERROR', message: 'No.' };
        return;
      }
      yield { type: 'TOOL_CALL_START', toolCallId: 'a', toolCallName: 'look' };
      yield { type: 'TOOL_CALL_START', toolCallId: 'b', toolCallName: 'look' };
      yield { type: 'TOOL_CALL_END', toolCallId: 'a' };
      yield { type: 'TOOL_CALL_RESULT', messageId: runId + 'a', toolCallId: 'a', content: '1' };
      yield { type: 'TOOL_CALL_ARGS', toolCallId: 'b', delta: '{}' };
      yield { type: 'TOOL_CALL_END', toolCallId: 'b' };
      const interrupts = [{ id: 'i', reason: 'approval', message: 'Sure?' }];
      const outcome = { type: 'interrupt', interrupts };
      yield { type: 'RUN_FINISHED', threadId, runId, ...(question === 'ask' && { outcome }) };
    }`;

  async function startServer() {
    const port = await findPort();
    const [server = ''] = readBlock('Serving AG-Kit clients').split('async function* agent(');
    await consumer.write('serve.mjs', server + agent);
    const { child, output } = start('serve.mjs', { PORT: `${port}` }, consumer.dir);
    // It says nothing when it listens.
    while (!(await isReached(port))) {
      if (child.exitCode !== null) throw new Error(output());
    }
    return async (input: object) => {
      // Byte by byte: each letter of more than one is cut.
      const bytes = Buffer.from(JSON.stringify({ conversationId: 'c', ...input }));
      const response = await fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        body: Readable.toWeb(Readable.from(Array.from(bytes, (byte) => Buffer.of(byte)))),
        duplex: 'half',
      } as RequestInit);
      const lines = (await response.text()).trim().split('\n\n');
      return lines.map((line) => (line === 'data: [DONE]' ? line : JSON.parse(line.slice(6))));
    };
  }

  it('tells AG-Kit clients what an AG-UI agent does', async () => {
    const send = await startServer();
    const ask = (content: string) => send({ messages: [{ role: 'user', content }] });
    const events = await ask('你好');
    expect(events.slice(1)).toEqual([
      { type: 'tool-call-start', toolCallId: 'a', toolCallName: 'look' },
      { type: 'tool-call-start', toolCallId: 'b', toolCallName: 'look' },
      { type: 'tool-call-end', toolCallId: 'a' },
      { type: 'tool-call-args', toolCallId: 'b', delta: '{}' },
      { type: 'tool-call-end', toolCallId: 'b' },
      { type: 'tool-result', toolCallId: 'a', result: '1' },
      'data: [DONE]',
    ]);
    expect(events[0]).toEqual({ type: 'text', content: '1: 你好' });
    // It keeps the conversation: the question, the answer, two calls, a result, the next question.
    const asked = await ask('ask');
    expect(asked[0]).toEqual({ type: 'text', content: '6: ask' });
    expect(asked.slice(-2)).toEqual([
      { type: 'interrupt', id: 'i', reason: 'approval', payload: { message: 'Sure?' } },
      'data: [DONE]',
    ]);
    const payload = { approved: true };
    const answered = await send({ resume: { interruptId: 'i', payload: JSON.stringify(payload) } });
    expect(answered[0]).toEqual({ type: 'text', content: JSON.stringify(payload) });
    await expect(ask('fail')).rejects.toThrow();
    await expect(send({ messages: 'none' })).rejects.toThrow();
  });
});

describe('the example of AG-Kit', () => {
  it('starts with one command, says what to try, and leaves nothing behind', async () => {
    const { child, output } = start('examples/ag-kit/main.mjs', { PORT: '0', PACE: '100' });
    await until(() => output().includes('Ctrl+C') || child.exitCode !== null, patience);
    const [url = ''] = /ws:\/\/\S+/.exec(output()) ?? [];
    const agent = open(url);
    agent.run({ messages: [{ role: 'user', content: 'A train to Basel?' }] });
    await until(() => agent.getSnapshot().status !== 'running', patience);
    expect(agent.getSnapshot().messages.at(-1)?.content).toBe(
      'The next train to Basel leaves at 10:11.',
    );

    const [, body = '', endpoint = ''] = /-d '([^']*)' (\S+)/.exec(output()) ?? [];
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(await response.text()).toMatch(/"tool-result"[\s\S]*\ndata: \[DONE\]\n\n$/);

    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });

  it('can be talked to in a terminal', async () => {
    const server = start('examples/ag-kit/main.mjs', { PORT: '0', PACE: '100' });
    await until(() => server.output().includes('Ctrl+C'), patience);
    const [url = ''] = /ws:\/\/\S+/.exec(server.output()) ?? [];
    const chat = spawn(process.execPath, ['examples/ag-kit/chat.mjs', url], { cwd: root });
    cleanUps.push(() => chat.kill('SIGKILL'));
    let said = '';
    chat.stdout.on('data', (text) => {
      said += text;
    });
    const tell = async (expected: string, line: string) => {
      await until(() => said.endsWith(expected), patience);
      said = '';
      chat.stdin.write(`${line}\n`);
    };
    await tell('> ', 'A ticket: book Lugano');
    await tell('Book the 10:32 to Lugano for 58 francs? (y/n) ', 'y');
    await until(() => said.includes('Booked: the 10:32 to Lugano.'), patience);
    await tell('> ', 'What is near me?');
    await tell('Where are you? ', 'Main Street 1');
    await until(() => said.includes('You are at Main Street 1.'), patience);
    await tell('> ', '/quit');
    expect(await once(chat, 'exit')).toEqual([0, null]);
  });
});
