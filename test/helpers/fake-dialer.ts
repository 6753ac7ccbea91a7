import type { CreateDialer, DialHandlers } from '../../src/client/dialer.ts';
import type { WebSocketData } from '../../src/client/types.ts';

/**
 * A dialer without a network: the test opens, fills and ends its sockets.
 *
 * ```ts
 * const dialer = createFakeDialer();
 * const client = createClient('ws://x', {}, { environment: clock.environment, dialer: dialer.create });
 * client.hold();
 * await clock.flush();              // the url is resolved
 * dialer.open();
 * dialer.receive({ hello: 1 });
 * dialer.end(1001, 'restart');
 * ```
 */
export interface FakeDialer {
  readonly create: CreateDialer;
  /** Every dial so far. */
  readonly dials: readonly { readonly url: string; readonly protocols: unknown }[];
  /** Every stop of an attempt or a socket so far. */
  readonly stops: readonly { readonly code: unknown; readonly reason: unknown }[];
  /** What was sent, on all sockets. */
  readonly sent: readonly WebSocketData[];
  /** Whether an attempt waits for its outcome, or a socket is open. */
  readonly status: 'none' | 'dialling' | 'open';
  /** Called for each dial, where the test wants an outcome at once. */
  onDial: (() => void) | undefined;
  /** A socket that takes nothing more, though its end is not known yet. */
  isClosing: boolean;
  open(): void;
  /** Text as it is, else as JSON. */
  receive(data: unknown): void;
  end(code?: number, reason?: string, cause?: unknown): void;
}

/** Make a dialer. */
export function createFakeDialer(): FakeDialer {
  let handlers: DialHandlers | undefined;
  const dials: { url: string; protocols: unknown }[] = [];
  const stops: { code: unknown; reason: unknown }[] = [];
  const sent: WebSocketData[] = [];
  let status: FakeDialer['status'] = 'none';
  const get = () => {
    if (!handlers) throw new Error('Nothing was dialled yet.');
    return handlers;
  };

  const fake: FakeDialer = {
    create(_, own) {
      handlers = own;
      return {
        dial(url, protocols) {
          if (status !== 'none') throw new Error('A second socket was dialled.');
          status = 'dialling';
          dials.push({ url, protocols });
          fake.onDial?.();
        },
        stop(code, reason) {
          if (status !== 'none') stops.push({ code, reason });
          status = 'none';
        },
        send(data) {
          if (status !== 'open' || fake.isClosing) return false;
          sent.push(data);
          return true;
        },
      };
    },
    dials,
    stops,
    sent,
    get status() {
      return status;
    },
    onDial: undefined,
    isClosing: false,
    open() {
      if (status !== 'dialling') throw new Error(`There is no attempt: ${status}.`);
      status = 'open';
      fake.isClosing = false;
      get().onOpen();
    },
    receive(data) {
      if (status !== 'open') throw new Error(`There is no open socket: ${status}.`);
      get().onMessage(
        typeof data === 'string' || data instanceof ArrayBuffer ? data : JSON.stringify(data),
      );
    },
    end(code = 1006, reason = '', cause = undefined) {
      if (status === 'none') throw new Error('There is nothing to end.');
      status = 'none';
      get().onEnd({ code, reason, wasClean: code !== 1006 }, cause);
    },
  };
  return fake;
}
