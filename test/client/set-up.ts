import type {
  UrlProvider,
  WebSocketClient,
  WebSocketClientOptions,
} from '../../src/client/types.ts';
import { createClient } from '../../src/client/websocket-client.ts';
import { getWire, type Wire } from '../../src/client/wire.ts';
import { createFakeDialer, type FakeDialer } from '../helpers/fake-dialer.ts';
import { createFakePage, type FakePage } from '../helpers/fake-page.ts';
import { createVirtualClock, type VirtualClock } from '../helpers/virtual-clock.ts';

interface SetUp {
  readonly client: WebSocketClient;
  readonly wire: Wire;
  readonly clock: VirtualClock;
  readonly dialer: FakeDialer;
  readonly page: FakePage;
  /** Lets the url resolve, then opens the socket. */
  open(): Promise<void>;
  /** Passes time until there is an attempt; its length in ms. */
  untilDial(): Promise<number>;
}

/** A client on virtual time and a fake dialer. */
export function setUp(
  options: WebSocketClientOptions = {},
  { seed = 1, url = 'ws://server' }: { readonly seed?: number; readonly url?: UrlProvider } = {},
): SetUp {
  const page = createFakePage();
  const clock = createVirtualClock({ seed, page: page.globals });
  const dialer = createFakeDialer();
  const client = createClient(url, options, {
    environment: clock.environment,
    dialer: dialer.create,
  });
  const setUp: SetUp = {
    client,
    wire: getWire(client as never),
    clock,
    dialer,
    page,
    async open() {
      await clock.flush();
      dialer.open();
    },
    async untilDial() {
      const start = clock.now();
      await clock.flush();
      while (dialer.status === 'none') {
        if (clock.now() - start > 120_000) throw new Error('Nothing is dialled.');
        await clock.advance(1);
      }
      return clock.now() - start;
    },
  };
  return setUp;
}
