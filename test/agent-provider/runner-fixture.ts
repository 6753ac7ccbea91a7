import { createAgentEventFactory } from '../../src/agent-provider/event-factory.ts';
import { agentEventTypes } from '../../src/agent-provider/event-guards.ts';
import type { AgentEvent, AgentEventFactory } from '../../src/agent-provider/event-types.ts';
import type { AgentProvider } from '../../src/agent-provider/provider-types.ts';

/** A chunk is a list of events to make: their type and payload. */
export type Script = readonly (readonly [type: string, payload: object])[];

/** A transport's iterable that the test feeds. */
export interface Pipe<Chunk> extends AsyncIterable<Chunk> {
  push(...chunks: Chunk[]): void;
  end(): void;
  fail(error: unknown): void;
  /** How often the reader has asked, and whether it has left. */
  readonly asked: number;
  readonly left: boolean;
}

/** Make an iterable; `hangs`: its `return()` never resolves. */
export function createPipe<Chunk>(options: { readonly hangs?: boolean } = {}): Pipe<Chunk> {
  const results: (() => Promise<IteratorResult<Chunk>>)[] = [];
  let waiting: (() => void) | undefined;
  let asked = 0;
  let left = false;
  const add = (result: () => Promise<IteratorResult<Chunk>>) => {
    results.push(result);
    waiting?.();
    waiting = undefined;
  };
  return {
    push(...chunks) {
      for (const value of chunks) add(async () => ({ done: false, value }));
    },
    end: () => add(async () => ({ done: true, value: undefined })),
    fail: (error) => add(() => Promise.reject(error)),
    get asked() {
      return asked;
    },
    get left() {
      return left;
    },
    [Symbol.asyncIterator]: () => ({
      async next() {
        asked++;
        if (!results.length) {
          await new Promise<void>((resolve) => {
            waiting = resolve;
          });
        }
        return (results.shift() as () => Promise<IteratorResult<Chunk>>)();
      },
      return() {
        left = true;
        return options.hangs
          ? new Promise(() => {})
          : Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
}

/** What the fixture's functions keep of a run. */
export interface FixtureContext {
  readonly events: AgentEventFactory;
  readonly calls: string[];
}

type Provider = AgentProvider<unknown, unknown, Script, FixtureContext>;

/** A provider whose chunks are scripts of events; a test replaces what it is about. */
export function createFixture(changes: Partial<Provider> = {}): Provider & {
  readonly pipes: Pipe<Script>[];
  readonly signals: AbortSignal[];
  readonly calls: string[];
} {
  const pipes: Pipe<Script>[] = [];
  const signals: AbortSignal[] = [];
  const calls: string[] = [];
  const make = ({ events }: FixtureContext, script: Script) =>
    script.map(([type, payload]) => events.create(type as never, payload as never) as AgentEvent);
  return {
    pipes,
    signals,
    calls,
    id: 'fixture',
    protocol: { name: 'agent-event', version: '0.1' },
    capabilities: { eventTypes: agentEventTypes, transports: ['async-iterable'] },
    transport: {
      kind: 'async-iterable',
      open(_request, signal) {
        calls.push('open');
        signals.push(signal);
        const pipe = createPipe<Script>();
        pipes.push(pipe);
        return pipe;
      },
    },
    createContext({ events }) {
      calls.push('createContext');
      return { events, calls };
    },
    start(input, context) {
      calls.push('start');
      return make(context, [['run.started', { input }]]);
    },
    prepareRequest(input) {
      calls.push('prepareRequest');
      return { input };
    },
    transformChunk(chunk, context) {
      return make(context, chunk);
    },
    flush(context) {
      calls.push('flush');
      return make(context, [['run.completed', {}]]);
    },
    transformError(error, context) {
      calls.push('transformError');
      const { name, message } = error as Error;
      return name === 'AbortError'
        ? []
        : make(context, [['run.failed', { error: { message: message || 'no' } }]]);
    },
    ...changes,
  };
}

/** Events as lines: `sequence type id`. */
export const lines = (events: readonly AgentEvent[]): string[] =>
  events.map(({ sequence, type, payload }) => {
    const { messageId, toolCallId, approvalId, taskId, artifactId, reasoningId } =
      payload as Record<string, string>;
    const id = messageId ?? approvalId ?? toolCallId ?? taskId ?? artifactId ?? reasoningId;
    return [sequence, type, ...(id === undefined ? [] : [id])].join(' ');
  });

export const message = (messageId = 'm'): Script => [
  ['message.started', { messageId, role: 'assistant' }],
];
export const delta = (text: string, messageId = 'm'): Script => [
  ['message.delta', { messageId, delta: text }],
];

/** A factory of the fixture's run `r` in session `s`. */
export const factory = (initialSequence = -1): AgentEventFactory =>
  createAgentEventFactory({ sessionId: 's', runId: 'r', initialSequence });

/** Lets promise callbacks run. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
