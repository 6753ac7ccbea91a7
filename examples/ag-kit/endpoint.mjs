// @ts-check
import { createServer } from 'node:http';
import { sendMessageInputSchema } from 'runsocket/ag-kit';
import { createAgent } from './agent.mjs';

/** The largest request, in bytes. */
const maxBody = 1024 * 1024;

/** How many conversations are remembered. */
const maxConversations = 1000;

/**
 * @typedef {import('./agent.mjs').Conversation} Conversation
 * @typedef {import('runsocket/ag-kit').SendMessageInput} SendMessageInput
 * @typedef {import('runsocket/ag-kit').SendMessageEvent} SendMessageEvent
 */

/**
 * An AG-Kit server as small as it can be: `POST /send-message` with `SendMessageInput`, answered by an
 * event stream that ends with `[DONE]`. It keeps the conversations, so requests bring new messages
 * only. Nothing of it can be resumed: who loses the stream has lost the answer.
 *
 * @param {object} [options]
 * @param {number} [options.port] Default 0, any free port.
 * @param {string} [options.host] Default 127.0.0.1: this machine only.
 * @param {number} [options.pace] How fast the agent talks.
 */
export async function startEndpoint({ port = 0, host = '127.0.0.1', pace = 1 } = {}) {
  const agent = createAgent({ pace });
  /** @type {Map<string, Conversation>} */
  const conversations = new Map();
  /** @type {SendMessageInput[]} */
  const requests = [];
  /** @type {Set<import('node:http').ServerResponse>} */
  const streams = new Set();
  /** @type {{ left: number, how: 'drop' | 'end' } | undefined} */
  let cut;

  /** @param {string} id */
  function getConversation(id) {
    /** @type {Conversation} */
    const conversation = conversations.get(id) ?? { messages: [], questions: new Map() };
    // The one that was used last stands last.
    conversations.delete(id);
    conversations.set(id, conversation);
    for (const oldest of conversations.keys()) {
      if (conversations.size <= maxConversations) break;
      conversations.delete(oldest);
    }
    return conversation;
  }

  /** @param {SendMessageInput} input @param {import('node:http').ServerResponse} response */
  async function respond(input, response) {
    const conversation = getConversation(input.conversationId);
    conversation.messages.push(...(input.messages ?? []));
    const gone = new AbortController();
    response.on('close', () => {
      streams.delete(response);
      gone.abort();
    });
    streams.add(response);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    const record = createRecord(conversation);
    try {
      for await (const event of agent(conversation, input, gone.signal)) {
        record.add(event);
        await new Promise((resolve) => {
          response.write(`data: ${JSON.stringify(event)}\n\n`, resolve);
        });
        if (!cut || --cut.left > 0) continue;
        const { how } = cut;
        cut = undefined;
        return how === 'end' ? response.end() : response.destroy();
      }
      response.end('data: [DONE]\n\n');
    } catch {
      // AG-Kit has no event for a failure: all that a server can do is break the stream.
      response.destroy();
    } finally {
      record.end();
    }
  }

  const http = createServer(async (request, response) => {
    /** @param {number} status @param {string} message */
    const refuse = (status, message) => {
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify({ error: { message } }));
    };
    try {
      if (request.method !== 'POST' || request.url !== '/send-message') {
        return refuse(404, 'There is nothing but POST /send-message.');
      }
      const body = await readBody(request);
      if (body === undefined) return refuse(413, `More than ${maxBody} bytes.`);
      const input = sendMessageInputSchema.safeParse(parse(body));
      if (!input.success) return refuse(400, 'This is no SendMessageInput.');
      requests.push(input.data);
      await respond(input.data, response);
    } catch {
      response.destroy();
    }
  });

  await new Promise((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, () => resolve(undefined));
  });
  const address = /** @type {import('node:net').AddressInfo} */ (http.address());

  return {
    url: `http://${host}:${address.port}/send-message`,
    /** What came in, in order. */
    requests,
    /** What is remembered, by conversation id. @type {ReadonlyMap<string, Conversation>} */
    conversations,
    /** How many answers are being streamed. */
    streams: () => streams.size,
    /**
     * Cuts the next answer after so many events: as a cable does that is pulled, or (`end`) as a proxy
     * does that ends the body in good order.
     * @param {number} events @param {'drop' | 'end'} [how]
     */
    cutAfter(events, how = 'drop') {
      cut = { left: events, how };
    },
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/**
 * Writes down what the agent says: text and calls in one message until a result comes.
 *
 * @param {Conversation} conversation
 */
function createRecord({ messages }) {
  let content = '';
  /** @type {{ id: string, type: 'function', function: { name: string, arguments: string } }[]} */
  let toolCalls = [];

  function end() {
    if (content === '' && toolCalls.length === 0) return;
    messages.push({
      role: 'assistant',
      ...(content !== '' && { content }),
      ...(toolCalls.length > 0 && { toolCalls }),
    });
    content = '';
    toolCalls = [];
  }

  /** @param {SendMessageEvent} event */
  function add(event) {
    if (event.type === 'text') content += event.content;
    else if (event.type === 'tool-call-start') {
      const { toolCallId: id, toolCallName: name } = event;
      toolCalls.push({ id, type: 'function', function: { name, arguments: '' } });
    } else if (event.type === 'tool-call-args') {
      const call = toolCalls.find(({ id }) => id === event.toolCallId);
      if (call) call.function.arguments += event.delta;
    } else if (event.type === 'tool-result') {
      end();
      messages.push({ role: 'tool', toolCallId: event.toolCallId, content: event.result });
    }
  }

  return { add, end };
}

/** The text of a request, or nothing where it is too long. @param {import('node:http').IncomingMessage} request */
async function readBody(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > maxBody) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** @param {string} text @returns {unknown} */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
