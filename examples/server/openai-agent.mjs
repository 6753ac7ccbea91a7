// @ts-check
import { readText } from './text.mjs';

/**
 * An agent that asks a model behind an OpenAI-compatible chat completions API, and streams what it
 * says: its text, and its reasoning where the server tells it.
 *
 * @param {{ baseUrl: string, apiKey: string, model?: string }} options
 * @returns {import('./requests.mjs').Agent}
 */
export function createOpenAiAgent({ baseUrl, apiKey, model = 'gpt-4o-mini' }) {
  return async function* openAiAgent({ input, runId, signal }) {
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model, stream: true, messages: toChatMessages(input.messages) }),
      signal,
    });
    if (!response.ok || !response.body) {
      throw new Error(`The model’s server answered ${response.status}: ${await problem(response)}`);
    }

    const thoughtId = `${runId}-thought`;
    const answerId = `${runId}-answer`;
    let speaking = '';
    let isComplete = false;

    /** End what is being said, and begin something else. @param {string} next */
    function* speak(next) {
      if (speaking === next) return;
      if (speaking === 'thought') {
        yield { type: 'REASONING_MESSAGE_END', messageId: thoughtId };
        yield { type: 'REASONING_END', messageId: thoughtId };
      } else if (speaking === 'answer') {
        yield { type: 'TEXT_MESSAGE_END', messageId: answerId };
      }
      speaking = next;
      if (next === 'thought') {
        yield { type: 'REASONING_START', messageId: thoughtId };
        yield { type: 'REASONING_MESSAGE_START', messageId: thoughtId, role: 'reasoning' };
      } else if (next === 'answer') {
        yield { type: 'TEXT_MESSAGE_START', messageId: answerId, role: 'assistant' };
      }
    }

    for await (const data of readServerSentEvents(response.body)) {
      if (data === '[DONE]') {
        isComplete = true;
        break;
      }
      const chunk = JSON.parse(data);
      if (chunk.error) throw new Error(chunk.error.message ?? 'The model reported an error.');
      const choice = chunk.choices?.[0];
      const thought = choice?.delta?.reasoning_content ?? choice?.delta?.reasoning;
      const text = choice?.delta?.content;
      if (typeof thought === 'string' && thought !== '') {
        yield* speak('thought');
        yield { type: 'REASONING_MESSAGE_CONTENT', messageId: thoughtId, delta: thought };
      }
      if (typeof text === 'string' && text !== '') {
        yield* speak('answer');
        yield { type: 'TEXT_MESSAGE_CONTENT', messageId: answerId, delta: text };
      }
      if (choice?.finish_reason) isComplete = true;
    }
    if (!isComplete) throw new Error('The model’s answer broke off.');
    yield* speak('');
  };
}

/** The conversation as a chat completions API takes it. @param {unknown} messages */
function toChatMessages(messages) {
  return (Array.isArray(messages) ? messages : [])
    .filter((message) => ['system', 'developer', 'user', 'assistant'].includes(message?.role))
    .map(({ role, content }) => ({
      role: role === 'developer' ? 'system' : role,
      content: readText(content),
    }))
    .filter(({ content }) => content !== '');
}

/** What an error response says about itself. @param {Response} response */
async function problem(response) {
  const text = await response.text().catch(() => '');
  try {
    return String(JSON.parse(text).error.message);
  } catch {
    return text.slice(0, 200) || response.statusText;
  }
}

/**
 * The data of each event of a `text/event-stream`, however the network cuts it.
 *
 * @param {AsyncIterable<Uint8Array>} body
 */
export async function* readServerSentEvents(body) {
  const decoder = new TextDecoder();
  let rest = '';
  /** @type {string[]} */
  let data = [];
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    // A CR at the end may be half of a CRLF: it waits for what follows.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5));
      }
    }
  }
  // Many servers leave out the empty line after the last event.
  rest = rest.trimEnd();
  if (rest.startsWith('data:')) data.push(rest.slice(5).trimStart());
  if (data.length > 0) yield data.join('\n');
}
