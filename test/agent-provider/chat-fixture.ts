import { createAgentChat } from '../../src/agent-provider/agent-chat.ts';
import type {
  AgentChat,
  AgentChatOptions,
  AgentChatSnapshot,
  AgentXChatConfig,
} from '../../src/agent-provider/chat-types.ts';
import { agentEventTypes } from '../../src/agent-provider/event-guards.ts';
import type {
  AgentEvent,
  AgentEventFactory,
  AgentEventPayloadMap,
  AgentEventType,
} from '../../src/agent-provider/event-types.ts';
import type {
  AgentProvider,
  AgentTransport,
  AnyAgentProvider,
} from '../../src/agent-provider/provider-types.ts';
import { createFakePage, type FakePage } from '../helpers/fake-page.ts';
import { createVirtualClock, type VirtualClock } from '../helpers/virtual-clock.ts';

/** What a fixture run is asked. */
export interface Ask {
  readonly prompt: string;
}

/** One event of the log of a fixture run. */
export interface LogChunk {
  readonly offset: number;
  readonly type: AgentEventType;
  readonly payload: object;
}

export interface FixtureContext {
  readonly runId: string;
  readonly events: AgentEventFactory;
  ended: boolean;
}

/** A run at the fixture's server. */
export interface FixtureRun {
  readonly id: string;
  readonly log: LogChunk[];
  /** How often it was asked for: from which offset on, -1 for its start. */
  readonly reads: (number | undefined)[];
  /** How many read it now. */
  readers: number;
  cancelled: boolean;
  /** Adds an event; a string is more of the message `m`, which it opens first. */
  say(...what: (string | readonly [AgentEventType, object])[]): void;
  /** The log is complete. */
  finish(): void;
  /** Reads the log behind an offset. */
  follow(after: number, signal: AbortSignal): AsyncIterable<LogChunk>;
  /** Breaks off all readers with an error. */
  break(error: unknown): void;
}

export interface FixtureOptions extends Partial<AnyAgentProvider>, AgentChatOptions {
  readonly resumable?: boolean;
}

/** A provider whose server is in the test's hands. */
export interface Fixture {
  readonly provider: AgentProvider<
    Ask,
    Ask & { readonly runId: string },
    LogChunk,
    FixtureContext
  > &
    AgentChatOptions;
  /** The runs of the server, oldest first. */
  readonly runs: FixtureRun[];
  /** The newest run. */
  readonly run: FixtureRun;
  /** The same server behind the provider of another page. */
  page(options?: FixtureOptions): Fixture;
}

export function createFixture(
  { resumable = true, ...options }: FixtureOptions = {},
  runs: FixtureRun[] = [],
): Fixture {
  function createRun(id: string): FixtureRun {
    const wakes = new Set<() => void>();
    const wake = () => {
      for (const one of [...wakes]) one();
    };
    let opened = false;
    let done = false;
    let broken: { readonly error: unknown } | undefined;
    const run: FixtureRun = {
      id,
      log: [],
      reads: [],
      readers: 0,
      cancelled: false,
      say(...what) {
        broken = undefined;
        for (const one of what) {
          if (typeof one === 'string' && !opened) {
            opened = true;
            run.say(['message.started', { messageId: 'm', role: 'assistant' }]);
          }
          const [type, payload] =
            typeof one === 'string'
              ? (['message.delta', { messageId: 'm', delta: one }] as const)
              : one;
          run.log.push({ offset: run.log.length, type, payload });
        }
        wake();
      },
      finish() {
        if (opened) run.say(['message.completed', { messageId: 'm' }]);
        done = true;
        wake();
      },
      break(error) {
        broken = { error };
        wake();
      },
      follow(after, signal) {
        run.reads.push(after);
        broken = undefined;
        let next = after + 1;
        let left = false;
        let wait: (() => void) | undefined;
        const leave = () => {
          if (!left) run.readers--;
          left = true;
          wait?.();
        };
        const read = async (): Promise<IteratorResult<LogChunk>> => {
          for (;;) {
            if (signal.aborted || broken) {
              run.cancelled ||= signal.aborted;
              leave();
              throw signal.aborted ? signal.reason : broken?.error;
            }
            if (!left && next < run.log.length) return { value: run.log[next++]!, done: false };
            if (left || done) {
              leave();
              return { value: undefined, done: true };
            }
            await new Promise<void>((resolve) => {
              wait = resolve;
              wakes.add(resolve);
            });
          }
        };
        return {
          [Symbol.asyncIterator]() {
            run.readers++;
            signal.addEventListener('abort', () => wait?.());
            return {
              next: read,
              async return() {
                leave();
                return { value: undefined, done: true };
              },
            };
          },
        };
      },
    };
    return run;
  }

  const follow = (id: string, after: number, signal: AbortSignal) => {
    let run = runs.find((one) => one.id === id);
    if (!run) {
      run = createRun(id);
      runs.push(run);
    }
    return run.follow(after, signal);
  };

  const transport: AgentTransport<Ask & { readonly runId: string }, LogChunk> = {
    kind: 'async-iterable',
    open: ({ runId }, signal) => follow(runId, -1, signal),
    ...(resumable && {
      getCursor: ({ offset }: LogChunk) => offset,
      resume: (
        request: { readonly runId: string } | undefined,
        cursor: unknown,
        signal: AbortSignal,
      ) => follow(request?.runId ?? lastRestored, (cursor as number | undefined) ?? -1, signal),
    }),
  };
  let lastRestored = '';

  const provider: Fixture['provider'] = {
    id: 'fixture',
    protocol: { name: 'agent-event', version: '0.1' },
    capabilities: {
      eventTypes: agentEventTypes,
      transports: ['async-iterable'],
      commands: ['approval.resolve', 'tool.retry', 'run.cancel'],
      resumable,
    },
    transport,
    createContext: ({ events, runId }) => ({ events, runId, ended: false }),
    start: (input, { events }) => [
      events.create('run.started', { input }),
      events.create('message.started', { messageId: 'u', role: 'user', content: input.prompt }),
      events.create('message.completed', { messageId: 'u' }),
    ],
    prepareRequest: (input, { runId }) => ({ ...input, runId }),
    transformChunk: ({ type, payload }, { events }) => [
      events.create(type, payload as AgentEventPayloadMap[typeof type]) as AgentEvent,
    ],
    flush: ({ events }) => [events.create('run.completed', {})],
    transformError: (error, { events }) => [
      (error as Error).name === 'AbortError'
        ? events.create('run.cancelled', {})
        : events.create('run.failed', { error: { message: (error as Error).message } }),
    ],
    saveContext: ({ runId }) => ({ runId }),
    restoreContext(saved, { events }) {
      const { runId } = saved as { readonly runId: string };
      lastRestored = runId;
      return { events, runId, ended: false };
    },
    ...(options as object),
  };
  return {
    provider,
    runs,
    get run() {
      return runs.at(-1)!;
    },
    page: (more) => createFixture({ resumable, ...options, ...more }, runs),
  };
}

/** A conversation with a fixture, on a clock of its own, in a page. */
export interface Scene {
  readonly fixture: Fixture;
  readonly clock: VirtualClock;
  readonly page: FakePage;
  readonly chat: AgentChat<Ask>;
  readonly snapshot: AgentChatSnapshot;
  /** What the messages say. */
  readonly texts: readonly unknown[];
  /** What became of the runs, oldest first. */
  readonly statuses: readonly string[];
}

let pages = 0;

/** A clock with a page around it, with a window, and with chance of its own. */
export function createPageClock(): { readonly clock: VirtualClock; readonly page: FakePage } {
  const page = createFakePage({ window: {} } as never);
  return { clock: createVirtualClock({ page: page.globals, seed: ++pages }), page };
}

export function createScene(
  options: FixtureOptions & {
    readonly fixture?: Fixture;
    readonly world?: ReturnType<typeof createPageClock>;
  } = {},
  config: Omit<AgentXChatConfig<Ask, never, never, never>, 'provider'> = { conversationKey: 'c' },
): Scene {
  const { fixture = createFixture(options), world = createPageClock() } = options;
  const { provider } = fixture;
  const chat = createAgentChat({ ...config, provider }, world.clock.environment);
  return {
    ...world,
    fixture,
    chat,
    get snapshot() {
      return chat.getSnapshot();
    },
    get texts() {
      return chat.getSnapshot().messages.map(({ message }) => message.content);
    },
    get statuses() {
      return Object.values(chat.getSnapshot().agentState.runs).map(({ status }) => status);
    },
  };
}
