// The page of the soak: what its clocks, storage and addresses do, with all that it holds counted.
import { WebSocket } from 'ws';
import { importSources } from '../bench/bundle.mjs';

/** Make a page and its client; `fail` is told what must not happen, and `counts` what does. */
export async function createPage({ port, plain, counts, fail }) {
  const { createClient, createAgUiAgent, createFakePage, createStorageBytes, ...given } =
    await importSources(
      'src/client/websocket-client.ts',
      'src/ag-ui/agent.ts',
      'src/internal/environment.ts',
      'test/helpers/fake-page.ts',
      'test/helpers/storage.ts',
    );
  const fake = createFakePage();
  const bytes = createStorageBytes();
  const realAddress = () => `ws://127.0.0.1:${port}`;
  let timers = 0;

  const environment = {
    ...given.defaultEnvironment,
    page: fake.globals,
    now: () => Date.now() + page.wallShift,
    setTimer(task, ms) {
      timers++;
      let isPending = true;
      const settle = () => {
        if (isPending) timers--;
        isPending = false;
      };
      const stop = given.defaultEnvironment.setTimer(() => {
        settle();
        task();
      }, ms);
      return () => {
        settle();
        stop();
      };
    },
    setFrame: (task) => environment.setTimer(task, 16),
    report(error) {
      if (error?.message === 'a listener of the soak') counts.thrown++;
      else fail(`report: ${error?.stack ?? error}`);
    },
  };

  function openStorage() {
    const storage = bytes.page();
    const broken =
      (task) =>
      (...values) => {
        if (page.isStorageBroken) throw new Error('storage');
        return task(...values);
      };
    return {
      getItem: broken(storage.getItem),
      setItem: broken(storage.setItem),
      removeItem: broken(storage.removeItem),
    };
  }

  const page = {
    fake,
    wallShift: 0,
    isStorageBroken: false,
    address: realAddress,
    get timers() {
      return timers;
    },
    /** The keys that are left in storage. */
    get keys() {
      return [...bytes.map.keys()];
    },
    client: createClient(
      () => {
        counts.attempts++;
        return page.address();
      },
      {
        WebSocket,
        connectTimeout: 2_000,
        backoff: { first: 300, min: 100, max: 1_000, resetAfter: 2_000 },
        heartbeat: { interval: 1_000, timeout: 1_500, ...(plain && { message: undefined }) },
      },
      { environment },
    ),
    makeAgent: (name) =>
      createAgUiAgent(page.client, {
        name,
        threadId: name,
        storage: openStorage(),
        remember: 'thread',
        idleTimeout: 2_000,
        // Without the server's word a start that was lost would be given up after its time.
        restart: plain,
      }),
    /** Nothing of what faults have done to it is left. */
    heal() {
      page.address = realAddress;
      page.isStorageBroken = false;
      fake.setOnline(true);
      fake.setVisible(true);
      fake.dispatch('pageshow', { persisted: true });
    },
  };
  page.client.on('error', ({ code, message }) => {
    if (code !== 'bad-message') fail(`client: ${code} ${message}`);
  });
  return page;
}
