import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
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
  for (const name of ['eventsource-parser', 'zod']) {
    await symlink(join(root, 'node_modules', name), join(consumer.dir, 'node_modules', name));
  }
});
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

  it('has the lines that it says it has', () => {
    const lines = readBlock('A server that answers POST requests').trim().split('\n');
    expect(lines.length).toBeLessThanOrEqual(50);
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
