import { afterEach } from 'vitest';
import { WebSocket as WS } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { AgUiAgent, AgUiAgentOptions } from '../../src/ag-ui/agent-types.ts';
import type { WebSocketClient, WebSocketClientOptions } from '../../src/client/types.ts';
import { createClient } from '../../src/client/websocket-client.ts';
import { createFakePage, type FakePage } from '../helpers/fake-page.ts';
import { createStorageBytes, type StorageBytes } from '../helpers/storage.ts';
import { createVirtualClock, type VirtualClock } from '../helpers/virtual-clock.ts';
import type { TestEvent } from '../helpers/world.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Does something when the test is over. */
export function later(cleanUp: () => unknown): void {
  cleanUps.push(cleanUp);
}

/** A page over real sockets, whose time moves only when the test says so. */
export interface RealPage {
  readonly clock: VirtualClock;
  readonly page: FakePage;
  readonly storage: StorageBytes;
  readonly client: WebSocketClient;
  readonly agent: AgUiAgent;
  /** The codes of what went wrong in the background, of the client and the agent. */
  readonly errors: string[];
  /** The most sockets that were dialling or open at the same time. */
  readonly mostSockets: number;
  /** Another agent on the same client and the same storage. */
  addAgent(options?: AgUiAgentOptions): AgUiAgent;
  /** Lets real time pass, and the clock jump over each wait for the next attempt, until `isDone`. */
  drive(isDone: () => boolean, limit?: number): Promise<void>;
  /**
   * Waits until no run is under way: that of a plain server is over a second after its last event, that
   * of a v1 server when it is told. Less time passes than the timers of a lost run take.
   */
  rest(runs?: Pick<AgUiAgent['runs'], 'getSnapshot'>): Promise<void>;
  close(): void;
  /** Ends its sockets without a word; nothing is dialled any more. Its clock is not to be moved again. */
  crash(): void;
}

/** Options of {@link openPage}. */
export interface RealPageOptions {
  readonly seed?: number;
  readonly clock?: VirtualClock;
  readonly storage?: StorageBytes;
  readonly client?: WebSocketClientOptions;
  readonly agent?: AgUiAgentOptions;
}

/** Open a page that dials `port` on 127.0.0.1. */
export function openPage(port: number, options: RealPageOptions = {}): RealPage {
  const { clock = createVirtualClock({ seed: options.seed ?? 1 }) } = options;
  const { storage = createStorageBytes() } = options;
  const page = createFakePage();
  const sockets = new Set<WS>();
  const errors: string[] = [];
  let mostSockets = 0;
  let isGone = false;

  function Counted(url: string, protocols: string[], more: object): WS {
    if (isGone) throw new Error('The page is gone.');
    const socket = new WS(url, protocols, more);
    for (const old of sockets) if (old.readyState > WS.OPEN) sockets.delete(old);
    sockets.add(socket);
    mostSockets = Math.max(mostSockets, sockets.size);
    return socket;
  }
  Counted.prototype = WS.prototype;

  const client = createClient(
    `ws://127.0.0.1:${port}`,
    { WebSocket: Counted as never, ...options.client },
    { environment: { ...clock.environment, page: page.globals } },
  );
  client.on('error', ({ code }) => errors.push(code));
  const pageStorage = storage.page();
  const addAgent = (more: AgUiAgentOptions = {}) => {
    const agent = createAgUiAgent(client, { storage: pageStorage, ...options.agent, ...more });
    agent.on('error', ({ code }) => errors.push(code));
    agents.push(agent);
    return agent;
  };
  const agents: AgUiAgent[] = [];
  const agent = addAgent();

  const drive: RealPage['drive'] = async (isDone, limit = 60_000) => {
    const end = Date.now() + limit;
    while (!isDone()) {
      if (Date.now() > end) throw new Error(`Still not true after ${limit} ms: ${isDone}`);
      const { status, retryAt } = client.getSnapshot();
      if (status === 'waiting' && retryAt !== undefined) {
        // Two sums of fractions may differ in their last bit.
        await clock.advance(Math.ceil(Math.max(0, retryAt - clock.now())) + 1);
      } else await new Promise((resolve) => setImmediate(resolve));
    }
  };

  return {
    clock,
    page,
    storage,
    client,
    agent,
    errors,
    get mostSockets() {
      return mostSockets;
    },
    addAgent,
    drive,
    async rest(runs = agent.runs) {
      const isOver = () => runs.getSnapshot().length === 0;
      await clock.advance(1_500);
      for (let n = 0; n < 300 && !isOver(); n++) {
        await drive(isOver, 20 + n).catch(() => {});
        await clock.advance(150);
      }
      await drive(isOver, 1);
    },
    crash() {
      isGone = true;
      for (const socket of sockets) socket.terminate();
    },
    close() {
      for (const one of agents) one.dispose();
      client.close();
    },
  };
}

export const words: readonly string[] = Array.from({ length: 40 }, (_, n) => `${n} `);

/** What {@link talk} says, as one text. */
export const answer: string = words.join('');

/** The events of a run that says its words, without the first and the last. */
export const talk: readonly TestEvent[] = [
  { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
  ...words.map((delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta })),
  { type: 'TEXT_MESSAGE_END', messageId: 'm' },
];

/** What the agents of a thread said. */
export const textOf = (agent: Pick<AgUiAgent, 'getSnapshot'>): string =>
  agent
    .getSnapshot()
    .messages.filter(({ role }) => role === 'assistant')
    .map(({ content }) => content ?? '')
    .join('|');
