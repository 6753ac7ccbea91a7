import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { AgUiAgent } from '../../src/ag-ui/agent-types.ts';
import { applyAgUiEvent } from '../../src/ag-ui/apply-event.ts';
import type { AgUiThread } from '../../src/ag-ui/thread.ts';
import type { WebSocketClient } from '../../src/client/types.ts';
import { createClient } from '../../src/client/websocket-client.ts';
import { createFakePage, type FakePage } from '../helpers/fake-page.ts';
import { checkDials, checkRestored, checkView } from './assertions.ts';
import type { Disk } from './disk.ts';
import type { Host } from './timeline.ts';
import { type Execution, lookOf } from './truth.ts';
import { thrown, type World } from './world.ts';

/** One agent on a page, and what was seen of it. */
export interface View {
  readonly name: string;
  readonly page: Page;
  readonly agent: AgUiAgent<unknown>;
  /** How much of which execution was shown last. */
  seen: { readonly execution: Execution; readonly events: number } | undefined;
  /** A run that the user stopped, as it looked then. */
  frozen: { readonly runId: string; readonly look: string } | undefined;
  /** Nobody looks at it. */
  isAway: boolean;
  subscribe(): void;
  run(): string;
  abort(): void;
  dispose(): void;
}

/** A browser tab. */
export interface Page {
  readonly world: World;
  readonly host: Host;
  readonly fake: FakePage;
  readonly disk: Disk;
  readonly client: WebSocketClient;
  readonly views: View[];
  /** The first agent. */
  readonly view: View;
  /** The page is kept by the browser and does nothing. */
  isHidden: boolean;
  /** When it last woke up. */
  sleptAt: number;
  /** Its program runs. */
  readonly isActive: boolean;
  /** When it dials next, in the time of the world. */
  retryAt: number;
  /** How often the socket was given up for its silence since a frame came. */
  idleSwaps: number;
  /** The server has said hello on the connection. */
  isGreeted: boolean;
  /** The user presses "Reconnect" where the client has stopped. */
  reconnects: boolean;
  /** What its reducers cost in ms of virtual time. */
  reduceTime: number;
  /** Its listeners throw. */
  throws: boolean;
  readonly dials: number[];
  /** Moments at which the page or its user asked for a connection at once. */
  readonly causes: number[];
  addView(name: string): View;
  /** Takes it away: its next page goes on from `disk`. */
  close(crash: boolean): void;
}

/** How many messages of the application may wait for a connection. */
export const queueLimit = 20;

/** Open a tab; `previous` is the page that it replaces or copies. */
export function openPage(world: World, disk: Disk, previous?: Page): Page {
  const { setting, timeline, link } = world;
  const locks = setting.locks ? world.locks.page() : undefined;
  const fake = createFakePage(locks && { locks });
  const globals = { ...fake.globals } as Record<string, unknown>;
  const host = timeline.host(globals as never, previous?.host);
  globals.WebSocket = link.socketsOf(host);
  const storage = disk.storage(host, setting.storageDelay);
  Object.defineProperty(globals, 'sessionStorage', {
    get() {
      if (disk.mode === 'denied') throw new Error('denied');
      return storage;
    },
  });
  let lastUrl = '';

  const client = createClient(
    ({ reason }) => {
      page.isGreeted = false;
      if (reason === 'idle') page.idleSwaps++;
      if (world.urls === 'reject') throw new Error('no token');
      if (world.urls === 'hang') return new Promise(() => {});
      if (world.urls !== 'same' || !lastUrl) lastUrl = `wss://x/${++world.tokens}`;
      return lastUrl;
    },
    {
      backoff: setting.backoff,
      queueLimit,
      inspect(record) {
        if (record.type === 'frame' && record.direction === 'in') {
          page.idleSwaps = 0;
          page.isGreeted ||= (record.data as { type?: unknown } | null)?.type === 'hello';
        }
        if (record.type === 'retry') page.retryAt = timeline.now() + record.delay;
        if (record.type === 'state') {
          const { state } = record;
          world.trace(() => `   client ${state.status} attempt ${state.attempt}`);
        }
      },
    },
    { environment: host.environment },
  );

  client.subscribe(() => {
    if (client.getSnapshot().status !== 'closed' || isGone) return;
    for (const view of page.views) checkView(view);
    if (!world.stops.size) world.fail('end', 'the client has stopped without a reason');
    if (!page.reconnects) return;
    host.deliver(() => {
      if (client.getSnapshot().status !== 'closed' || page.isHidden) return;
      page.causes.push(timeline.now());
      client.reconnect();
    }, 300);
  });

  let isGone = false;
  const page: Page = {
    world,
    host,
    fake,
    disk,
    client,
    views: [],
    get view() {
      return page.views[0] as View;
    },
    isHidden: false,
    sleptAt: -Infinity,
    get isActive() {
      return host.isAlive && !host.isFrozen && !page.isHidden;
    },
    retryAt: 0,
    idleSwaps: 0,
    isGreeted: false,
    reconnects: true,
    reduceTime: 0,
    throws: false,
    dials: [],
    causes: [],
    addView(name) {
      const view = createView(page, name, storage);
      page.views.push(view);
      return view;
    },
    close(crash) {
      if (!crash) fake.dispatch('pagehide', { persisted: false });
      isGone = true;
      host.kill();
      link.drop(host);
      locks?.die();
    },
  };
  world.pages.push(page);
  page.addView('one');
  if (previous) for (const { name } of previous.views.slice(1)) page.addView(name);
  for (const view of page.views) {
    const old = previous?.views.find(({ name }) => name === view.name);
    // What slow storage says comes later.
    if (setting.storageDelay === undefined) checkRestored(view, old);
    else host.deliver(() => checkRestored(view, old), 3 * setting.storageDelay + 1);
    view.subscribe();
  }
  return page;
}

function createView(page: Page, name: string, storage: ReturnType<Disk['storage']>): View {
  const { world, host } = page;
  const { setting } = world;
  let unsubscribe = () => {};

  const agent = createAgUiAgent<unknown>(page.client, {
    state: {},
    name,
    threadId: setting.threadId,
    overlap: setting.overlap,
    restart: setting.restart,
    silenceTimeout: setting.silenceTimeout,
    policy: setting.policy,
    ...(setting.storageDelay === undefined ? {} : { storage }),
    reduce(thread: AgUiThread<unknown>, event: never) {
      if (page.reduceTime) host.shiftWall(page.reduceTime);
      return applyAgUiEvent(thread, event);
    },
  } as never);
  const lost = new Set<string>();
  agent.on('error', ({ code, message }) => {
    world.trace(() => `   error ${code}: ${message}`);
    // Of each kind of loss, one agent speaks once.
    if (code !== 'storage') return;
    if (lost.has(message)) world.fail('quiet', `said twice: ${message}`);
    lost.add(message);
  });
  agent.on('event', () => {
    if (page.throws) throw thrown;
  });

  const give = (runId: string) => {
    world.aborted.add(runId);
    world.owners.set(runId, { name, disk: page.disk });
  };

  const view: View = {
    name,
    page,
    agent,
    seen: undefined,
    frozen: undefined,
    isAway: false,
    subscribe() {
      view.isAway = false;
      unsubscribe = agent.subscribe(() => {
        checkView(view);
        if (page.throws) throw thrown;
      });
    },
    run() {
      const runId = world.runs++ ? `r${world.runs}` : setting.firstId;
      const { status, error, runId: old } = agent.getSnapshot();
      const isRunning = status === 'running' || error?.code === 'closed';
      if (isRunning && old !== undefined) give(old);
      // Slow storage has not told yet what streams: the agent stops that when it hears of it.
      if (setting.storageDelay !== undefined && old === undefined) {
        const [newest] = [...(page.disk.read(name) ?? [])].sort((a, b) => b.sentAt - a.sentAt);
        if (newest) give(newest.runId);
      }
      view.frozen = undefined;
      view.seen = undefined;
      world.truth.run(runId);
      world.trace(() => `   ${name} runs ${runId}`);
      agent.run({ messages: [{ role: 'user', content: `ask ${runId}` }] }, { runId });
      if (agent.getSnapshot().status !== 'running') world.fail('end', `${runId} does not run`);
      return runId;
    },
    abort() {
      const before = agent.getSnapshot();
      const { runId } = before;
      if (runId === undefined || view.isAway) return;
      if (before.status !== 'running' && before.error?.code !== 'closed') return;
      const look = lookOf(before, runId);
      give(runId);
      view.frozen = { runId, look };
      agent.abort();
      checkView(view);
    },
    dispose() {
      view.isAway = true;
      agent.dispose();
      unsubscribe();
    },
  };
  return view;
}

/** Watches what every page dials and sends. */
export function watchLink(world: World): void {
  world.link.onDial((host) => {
    const page = world.pages.find((one) => one.host === host);
    if (page) checkDials(page);
  });
  world.link.onSend((_line, data) => {
    const {
      type,
      runId,
      n = 0,
    } = JSON.parse(data) as {
      readonly type?: string;
      readonly runId?: string;
      readonly n?: number;
    };
    if (type === 'note') {
      const { notes } = world;
      if (n <= notes.left) world.fail('once', `message ${n} left twice, or behind ${notes.left}`);
      notes.left = n;
      notes.waiting = Math.max(0, notes.waiting - 1);
    }
    if (type === 'run' && runId !== undefined) world.truth.run(runId).isSent = true;
  });
}
