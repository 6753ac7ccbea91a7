// @ts-check
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { agKitToAgUi, toSendMessageInput } from 'runsocket/ag-kit';

/** Of how many threads it is remembered what the endpoint knows. */
const maxThreads = 10_000;

/**
 * The agent of a run server in front of an AG-Kit endpoint: each run is one `POST`, and what comes
 * back becomes AG-UI events. They are in the run's log, so that nobody who follows the run notices
 * the one request behind it.
 *
 * @param {string} url
 */
export function createAgKitRun(url) {
  /** The last message of each thread that the endpoint has taken. @type {Map<string, string>} */
  const taken = new Map();

  /** @param {string} threadId @param {string} id */
  function remember(threadId, id) {
    taken.delete(threadId);
    taken.set(threadId, id);
    for (const oldest of taken.keys()) {
      if (taken.size <= maxThreads) break;
      taken.delete(oldest);
    }
  }

  /**
   * @param {object} run
   * @param {import('runsocket/ag-ui').RunAgentInput} run.input
   * @param {string} run.runId
   * @param {string} run.threadId
   * @param {AbortSignal} run.signal Aborts the request, too.
   */
  return async function* run({ input, runId, threadId, signal }) {
    const mapper = agKitToAgUi({ threadId, runId });
    yield* mapper.start();
    // The endpoint keeps the conversation: it has what it took, and what it said itself. An answer
    // is to something that it asked, which need not have been a message.
    const isAnswer = input.resume?.[0]?.status === 'resolved' && !taken.has(threadId);
    const known = input.messages.findLast(
      ({ id }) => isAnswer || id === taken.get(threadId) || id.startsWith('ag-kit:'),
    )?.id;
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify(
        toSendMessageInput(input, known, { cancelPayload: { approved: false } }),
      ),
      signal,
    });
    // What is thrown here ends the run with `RUN_ERROR`.
    if (!response.ok || !response.body) {
      await response.body?.cancel();
      throw new Error(`The AG-Kit server answered ${response.status}.`);
    }
    const last = input.messages.at(-1);
    if (last) remember(threadId, last.id);
    for await (const event of readEvents(response.body)) {
      yield* mapper.push(event);
      if (event === '[DONE]') return;
    }
    // The stream was cut: without `[DONE]` this is an error.
    yield* mapper.end();
  };
}

/**
 * The events of an event stream, however the network cuts it.
 *
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<any>}
 */
export async function* readEvents(body) {
  const events = body
    .pipeThrough(new TextDecoderStream())
    // Some servers leave out the empty line behind the last event.
    .pipeThrough(new TransformStream({ flush: (end) => end.enqueue('\n\n') }))
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: 4_000_000 }));
  try {
    for await (const { data } of events) yield parse(data);
  } catch (cause) {
    throw new Error('The stream of the AG-Kit server broke.', { cause });
  }
}

/** A line that is no JSON is skipped, as AG-Kit's own client does. @param {string} data */
function parse(data) {
  try {
    return data === '[DONE]' ? data : JSON.parse(data);
  } catch {
    return undefined;
  }
}
