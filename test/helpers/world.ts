import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { AgUiAgent, AgUiAgentOptions } from '../../src/ag-ui/agent-types.ts';
import type { WebSocketClient, WebSocketClientOptions } from '../../src/client/types.ts';
import { createClient } from '../../src/client/websocket-client.ts';
import type { Environment, LockManagerLike, PageGlobals } from '../../src/internal/environment.ts';
import { createRuns } from '../../src/runs/runs.ts';
import type { RunStorage, Runs, RunsOptions } from '../../src/runs/types.ts';
import {
  createFakeNetwork,
  type FakeNetwork,
  type FakePeer,
  type FakeSocket,
} from './fake-network.ts';
import { createFakePage, type FakePage } from './fake-page.ts';
import { createStorageBytes, type StorageBytes } from './storage.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** Events are looked at by their `type` alone. */
export interface TestEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A page with one client on a network in memory, in virtual time. */
export interface World {
  readonly clock: VirtualClock;
  readonly page: FakePage;
  readonly network: FakeNetwork;
  readonly storage: StorageBytes;
  readonly client: WebSocketClient;
  /** The newest socket. */
  readonly socket: FakeSocket;
  /** An agent whose default storage is the page's. */
  agent<S = unknown>(options?: AgUiAgentOptions<S, never, never, never>): AgUiAgent<S>;
  runs<Offset extends number | string = number>(
    options?: RunsOptions<unknown, TestEvent, never, unknown, Offset>,
  ): Runs<unknown, TestEvent, Offset>;
  /** Runs promise callbacks and what is due now. */
  settle(): Promise<void>;
  /** Breaks the socket and waits until the next one is open. */
  reconnect(code?: number): Promise<void>;
  /** The next page over the same bytes; `crash` leaves the old one without `pagehide`. */
  reload(options?: WorldOptions & { readonly crash?: boolean }): World;
  /** What is stored under a name, parsed. */
  stored(name?: string): Stored | undefined;
}

/** What is remembered, as far as tests look at it. */
export interface Stored {
  readonly v: number;
  readonly runs: readonly {
    readonly runId: string;
    readonly threadId: string;
    readonly [field: string]: unknown;
  }[];
  readonly thread?: { readonly threadId: string; readonly thread: { readonly status: string } };
}

/** Options of {@link createWorld}. */
export interface WorldOptions {
  readonly clock?: VirtualClock;
  readonly storage?: StorageBytes;
  readonly sessionStorage?: RunStorage | (() => RunStorage) | null;
  readonly locks?: LockManagerLike;
  readonly peer?: FakePeer;
  readonly client?: WebSocketClientOptions;
  /** When what one side does reaches the other. @default in the next promise callback */
  readonly later?: (task: () => void) => void;
}

/** Make a world. */
export function createWorld(options: WorldOptions = {}): World {
  const { clock = createVirtualClock(), storage = createStorageBytes(), locks } = options;
  const page = createFakePage(locks && { locks });
  const network = createFakeNetwork(options.peer, options.later);
  const { sessionStorage = storage.page() } = options;
  let alive = true;
  // A page that is gone does nothing more, although its objects are still here.
  const living =
    (setTimer: (task: () => void, ms: number) => () => void) =>
    (task: () => void, ms = 0) =>
      setTimer(() => alive && task(), ms);
  const globals = Object.defineProperty({ ...page.globals }, 'sessionStorage', {
    get: typeof sessionStorage === 'function' ? sessionStorage : () => sessionStorage,
  }) as PageGlobals;
  const environment: Environment = {
    ...clock.environment,
    setTimer: living(clock.environment.setTimer),
    setFrame: living(clock.environment.setFrame),
    page: globals,
  };
  const client = createClient('wss://example.com/agent', options.client ?? {}, {
    environment,
    dialer: network.dialer,
  });
  const settle = () => clock.advance(0);
  return {
    clock,
    page,
    network,
    storage,
    client,
    get socket() {
      return network.socket;
    },
    agent: (given = {}) => createAgUiAgent(client, given as never),
    runs: (given = {}) => createRuns(client, given as never),
    settle,
    async reconnect(code) {
      network.socket.end(code);
      const { retryAt } = client.getSnapshot();
      if (retryAt !== undefined) await clock.advance(Math.ceil(retryAt - clock.now()) + 1);
      await settle();
    },
    reload({ crash, ...more } = {}) {
      if (!crash) page.dispatch('pagehide', { persisted: false });
      alive = false;
      network.kill();
      return createWorld({ ...options, clock, storage, ...more });
    },
    stored(name = 'ag-ui') {
      const text = storage.map.get(`runsocket:${name}`);
      return text === undefined ? undefined : (JSON.parse(text) as Stored);
    },
  };
}

/** The frames of one run, numbered. */
export interface TestLog {
  /** The next frames, one for each event. */
  frames(...events: TestEvent[]): unknown[];
}

/** Make the log of a run whose next event stands at `from`. */
export function createLog(runId: string, from = 0): TestLog {
  let offset = from;
  return { frames: (...events) => events.map((event) => ({ runId, offset: offset++, event })) };
}

export const started = (runId: string): TestEvent => ({
  type: 'RUN_STARTED',
  threadId: 't',
  runId,
});
export const finished = (runId: string): TestEvent => ({
  type: 'RUN_FINISHED',
  threadId: 't',
  runId,
});
/** One text chunk; chunks with one id join. */
export const says = (delta: string, messageId = 'm'): TestEvent => ({
  type: 'TEXT_MESSAGE_CHUNK',
  messageId,
  role: 'assistant',
  delta,
});
/** What all messages of a thread say, in order. */
export const texts = (agent: Pick<AgUiAgent, 'getSnapshot'>): unknown[] =>
  agent.getSnapshot().messages.map((message) => message.content);

/** Delays of random length that keep their order, in virtual time. */
export function createLatency(clock: VirtualClock, next: () => number): (task: () => void) => void {
  const queue: (() => void)[] = [];
  let due = 0;
  return (task) => {
    queue.push(task);
    due = Math.max(due, clock.now() + next());
    // Whatever timer comes first, the oldest task goes first.
    clock.environment.setTimer(() => queue.shift()?.(), due - clock.now());
  };
}

/** A user's message. */
export const user = (content: string): { readonly role: 'user'; readonly content: string } => ({
  role: 'user',
  content,
});

/** What the newest socket was sent, as `type runId`. */
export const sentTypes = (world: World): string[] =>
  world.socket.sent.map(({ type, runId }) => `${type} ${runId}`);

/** An agent in the middle of run `a`: the user said Hi, the run has said one word. */
export async function startConversation(
  options: Parameters<World['agent']>[0] = {},
  given: WorldOptions = {},
): Promise<{ readonly world: World; readonly agent: AgUiAgent; readonly log: TestLog }> {
  const world = createWorld(given);
  const agent = world.agent(options);
  agent.run({ messages: [user('Hi')] }, { runId: 'a' });
  await world.settle();
  const log = createLog('a');
  world.socket.receive(...log.frames(started('a'), says('one')));
  return { world, agent, log };
}
