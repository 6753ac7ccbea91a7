import { createWebSocketClient } from 'runsocket';
import { type AgUiProviderInput, createAgUiProvider } from 'runsocket/agent-provider';

// `?server=ws://127.0.0.1:9000/agent` talks to a server somewhere else.
const serverUrl = new URL(
  new URLSearchParams(location.search).get('server') ?? '/agent',
  location.href.replace(/^http/, 'ws'),
);

export const client = createWebSocketClient(serverUrl);

export const provider = createAgUiProvider({
  client,
  // The example server tells a failure by an `error` in the tool's result …
  toolFailure: ({ content }) => readError(content),
  // … and tries again by a message of its own.
  retryTool: ({ id }, { runId }) => {
    client.send({ type: 'app.retry', runId, toolCallId: id });
  },
});

/** What a run of this page's agent starts with. */
export function createInput(question: string): AgUiProviderInput {
  return {
    messages: [{ id: crypto.randomUUID(), role: 'user', content: question }],
    // The example server has other scripts, too.
    forwardedProps: { scenario: 'orders' },
  };
}

/** Ask the example server to cut all connections and to let nobody in for some seconds. */
export function dropConnection(): void {
  const url = new URL(`${serverUrl.pathname}/drop`, serverUrl.href.replace(/^ws/, 'http'));
  // Without a network there is nothing to drop.
  fetch(url, { method: 'POST', mode: 'no-cors' }).catch(() => {});
}

function readError(content: unknown): { message: string; retryable: boolean } | undefined {
  try {
    const { error } = Object(JSON.parse(String(content)));
    if (error === undefined) return;
    return { message: String(error.message), retryable: error.retryable === true };
  } catch {
    return;
  }
}
