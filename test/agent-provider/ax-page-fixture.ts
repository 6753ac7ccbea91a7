import type { PageEvent, PageProvider } from './ax-page-runner.ts';

/** What a recorded answer is made of. */
export type Recorded =
  | { readonly text: string }
  | { readonly tool: string; readonly result: string };

interface State {
  sequence: number;
  readonly sessionId: string;
  readonly runId: string;
  answering: boolean;
  calls: number;
}

/**
 * A provider of recorded answers, written from the AX page alone: it knows neither this package's
 * types nor its factory.
 */
export function createRecordedProvider(
  answer: readonly Recorded[],
  options: { readonly fails?: boolean; readonly pauses?: boolean } = {},
): PageProvider<{ prompt: string }, { prompt: string }, Recorded, State> {
  const make = (state: State, type: string, payload: object): PageEvent & { timestamp: number } => {
    state.sequence += 1;
    const { sessionId, runId, sequence } = state;
    return {
      protocolVersion: '0.1',
      type,
      eventId: `${runId}-${sequence}`,
      sessionId,
      runId,
      sequence,
      timestamp: sequence,
      payload,
    } as PageEvent & { timestamp: number };
  };
  return {
    id: 'recorded',
    protocol: { name: 'agent-event', version: '0.1' },
    capabilities: {
      eventTypes: [
        'run.started',
        'run.completed',
        'run.failed',
        'run.cancelled',
        'message.started',
        'message.delta',
        'message.completed',
        'message.failed',
        'message.cancelled',
        'tool.requested',
        'tool.running',
        'tool.completed',
      ],
      transports: ['company.recorded'],
    },
    transport: {
      kind: 'company.recorded',
      async *open(_request, signal) {
        for (const chunk of answer) {
          signal.throwIfAborted();
          yield chunk;
        }
        if (options.fails) throw new Error('the recording is torn');
        if (options.pauses) {
          await new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason));
          });
        }
      },
    },
    createContext({ sessionId, runId }: { sessionId: string; runId: string }) {
      return { sequence: -1, sessionId, runId, answering: false, calls: 0 };
    },
    start: ({ prompt }, state) => [
      make(state, 'run.started', { input: { prompt } }),
      make(state, 'message.started', { messageId: 'question', role: 'user', content: prompt }),
      make(state, 'message.completed', { messageId: 'question' }),
    ],
    prepareRequest: ({ prompt }) => ({ prompt }),
    transformChunk(chunk, state) {
      if ('tool' in chunk) {
        const toolCallId = `call-${++state.calls}`;
        return [
          make(state, 'tool.requested', { toolCallId, name: chunk.tool }),
          make(state, 'tool.running', { toolCallId }),
          make(state, 'tool.completed', { toolCallId, result: chunk.result }),
        ];
      }
      const opening = state.answering
        ? []
        : [make(state, 'message.started', { messageId: 'answer', role: 'assistant' })];
      state.answering = true;
      return [...opening, make(state, 'message.delta', { messageId: 'answer', delta: chunk.text })];
    },
    flush(state) {
      const closing = state.answering
        ? [make(state, 'message.completed', { messageId: 'answer' })]
        : [];
      return [...closing, make(state, 'run.completed', {})];
    },
    transformError(error, state) {
      const { name, message } = error as Error;
      const cancelled = name === 'AbortError';
      const how = cancelled ? {} : { error: { message } };
      const verb = cancelled ? 'cancelled' : 'failed';
      const closing = state.answering
        ? [make(state, `message.${verb}`, { messageId: 'answer', ...how })]
        : [];
      return [...closing, make(state, `run.${verb}`, how)];
    },
  };
}
