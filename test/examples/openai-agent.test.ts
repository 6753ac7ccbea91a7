import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type LoggedEvent, readServerSentEvents, startExample, textOf } from './example-server.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Request {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
}

/** A chat completions server that answers as `respond` does. */
async function serveModel(respond: (response: ServerResponse) => void) {
  const requests: Request[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { authorization } = request.headers;
    requests.push({ url: request.url, authorization, body: JSON.parse(body) });
    respond(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}

async function askModel(baseUrl: string, messages: readonly object[]) {
  const env = {
    OPENAI_BASE_URL: baseUrl,
    OPENAI_API_KEY: 'secret-key',
    OPENAI_MODEL: 'some-model',
  };
  const server = await startExample({ env });
  cleanups.push(() => server.close());
  const socket = new WebSocket(server.url);
  cleanups.push(() => socket.terminate());
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'run', runId: 'a', input: { threadId: 't', messages } }));
  return {
    server,
    cancel: () => socket.send(JSON.stringify({ type: 'cancel', runId: 'a' })),
    log: () => server.log('a'),
    async end(): Promise<LoggedEvent[]> {
      await expect
        .poll(() => server.log('a').at(-1)?.type, { timeout: 5000 })
        .toMatch(/^RUN_(FINISHED|ERROR)$/);
      return server.log('a');
    },
  };
}

const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

const question = [{ id: 'm1', role: 'user', content: 'Hello' }];

describe('the model behind the example server', () => {
  it('streams its reasoning and its text', async () => {
    const model = await serveModel((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': a comment\n\n');
      response.write(chunk({ role: 'assistant', content: '' }));
      response.write(chunk({ reasoning_content: 'Let me see.' }));
      response.write(chunk({ content: 'Hi ' }) + chunk({ content: 'there' }));
      response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`);
    });
    const run = await askModel(model.baseUrl, question);
    const log = await run.end();
    expect(run.server.hasModel).toBe(true);
    expect(log.map((event) => event.type)).toEqual([
      'RUN_STARTED',
      'REASONING_START',
      'REASONING_MESSAGE_START',
      'REASONING_MESSAGE_CONTENT',
      'REASONING_MESSAGE_END',
      'REASONING_END',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ]);
    expect(textOf(log)).toBe('Hi there');
  });

  it('is asked with the key, the model and the conversation in its own terms', async () => {
    const model = await serveModel((response) => response.end('data: [DONE]\n\n'));
    const run = await askModel(model.baseUrl, [
      { id: '1', role: 'developer', content: 'Be brief.' },
      { id: '2', role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      { id: '3', role: 'reasoning', content: 'secret thoughts' },
      { id: '4', role: 'assistant', content: 'Hi', toolCalls: [] },
      { id: '5', role: 'tool', toolCallId: 'x', content: '42' },
      { id: '6', role: 'user', content: 'And now?' },
    ]);
    await run.end();
    expect(model.requests).toEqual([
      {
        url: '/v1/chat/completions',
        authorization: 'Bearer secret-key',
        body: {
          model: 'some-model',
          stream: true,
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: 'Hello' },
            { role: 'assistant', content: 'Hi' },
            { role: 'user', content: 'And now?' },
          ],
        },
      },
    ]);
  });

  it('is read right wherever the network cuts its answer', async () => {
    const text = 'Grüße, 👋🏽 世界!';
    const bytes = Buffer.from(
      `${[...text].map((character) => chunk({ content: character })).join('')}data: [DONE]\n\n`.replaceAll(
        '\n',
        '\r\n',
      ),
    );
    const model = await serveModel(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let start = 0; start < bytes.length; start += 7) {
        response.write(bytes.subarray(start, start + 7));
        await new Promise(setImmediate);
      }
      response.end();
    });
    const run = await askModel(model.baseUrl, question);
    expect(textOf(await run.end())).toBe(text);
  });

  it.each(['\n', '\r\n', '\r'])('may end its lines by %j, cut anywhere', async (end) => {
    const bytes = Buffer.from(['data: a', 'data:b', '', ': note', 'data: ü', '', ''].join(end));
    for (let size = 1; size < bytes.length; size++) {
      const found = await readServerSentEvents(
        (async function* () {
          for (let start = 0; start < bytes.length; start += size) {
            yield bytes.subarray(start, start + size);
          }
        })(),
      );
      expect(found).toEqual(['a\nb', 'ü']);
    }
  });

  it('tells what went wrong, and never the key', async () => {
    const model = await serveModel((response) => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"No such key."}}');
    });
    const log = await (await askModel(model.baseUrl, question)).end();
    expect(log.at(-1)).toEqual({
      type: 'RUN_ERROR',
      message: 'The model’s server answered 401: No such key.',
    });
    expect(JSON.stringify(log)).not.toContain('secret-key');
  });

  it.each([
    ['an error in the stream', 'data: {"error":{"message":"Overloaded."}}\n\n', 'Overloaded.'],
    ['an answer that breaks off', chunk({ content: 'Hi' }), 'The model’s answer broke off.'],
  ])('ends with RUN_ERROR after %s', async (_, body, message) => {
    const model = await serveModel((response) => response.end(body));
    const log = await (await askModel(model.baseUrl, question)).end();
    expect(log.at(-1)).toEqual({ type: 'RUN_ERROR', message });
  });

  it('takes a last event without its empty line', async () => {
    const model = await serveModel((response) =>
      response.end(`${chunk({ content: 'Hi' })}data: [DONE]`),
    );
    const log = await (await askModel(model.baseUrl, question)).end();
    expect(log.at(-1)?.type).toBe('RUN_FINISHED');
  });

  it('is hung up on by `cancel`', async () => {
    let hungUp = false;
    const model = await serveModel((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ content: 'Hi' }));
      response.on('close', () => {
        hungUp = true;
      });
    });
    const run = await askModel(model.baseUrl, question);
    await expect.poll(() => textOf(run.log())).toBe('Hi');
    run.cancel();
    const log = await run.end();
    expect(log.slice(-2)).toMatchObject([
      { type: 'TEXT_MESSAGE_END' },
      { type: 'RUN_FINISHED', outcome: { type: 'cancelled' } },
    ]);
    await expect.poll(() => hungUp).toBe(true);
  });
});
