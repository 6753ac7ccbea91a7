import { type Environment, runEnvironment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import type {
  ConnectionState,
  ConnectReason,
  InspectRecord,
  WebSocketClient,
  WebSocketClientOptions,
  WebSocketData,
} from './types.ts';

/** Where a client keeps its wire. */
// A registered symbol, so that a client and runs from two copies of this package still fit.
export const wireKey: unique symbol = Symbol.for('runsocket.wire') as never;

type InspectEntry = InspectRecord extends infer R
  ? R extends { readonly at: number }
    ? Omit<R, 'at'>
    : never
  : never;

/** What the runs of a client need of it beyond its public interface. */
export interface Wire {
  environment: Environment;
  readonly token: WebSocketClientOptions['token'];
  /** The one layer above: set once, by the first runs made on the client. */
  peer: WirePeer | undefined;
  /** The first message of this connection: a `hello` that came before there was a peer. */
  first: unknown;
  getSnapshot(): ConnectionState;
  /** Serialise a message; throws what the caller's `serialize` throws. */
  encode(message: unknown): WebSocketData;
  /**
   * Hand a frame to the attached open socket, past the queue: `false` where there is none.
   * `message` is for `inspect`; `owner` comes back through {@link WirePeer.tooLarge}.
   */
  transmit(data: WebSocketData, message: unknown, owner?: string): boolean;
  /** As the public `hold()`; releasing with `true` skips `linger`. */
  hold(): (now?: boolean) => void;
  /** Ping after this silence on this connection, and wait `patience` times as long as usual for a frame; forgotten when it ends. Nothing where the caller configured a `message` or `false`. */
  setPing(interval: number, message: () => unknown, patience?: number): void;
  /** Swap the socket after this silence, doubling while quiet up to 5 min (any frame resets it); `undefined` while no run streams. Without effect where pings or a caller's heartbeat watch. */
  setIdleTimeout(ms: number | undefined): void;
  /** What the server asks of the next wait: `spread` replaces the backoff's `first` until told otherwise, `after` delays the next attempt once. */
  setRetryHint(hint: { readonly spread?: number; readonly after?: number }): void;
  /** A message for `inspect`, stamped with the time. */
  inspect(record: InspectEntry): void;
  /** Reports a background failure to the client's `error` listeners. */
  report(error: RunSocketError): void;
}

/** What a client calls on the layer above it. */
export interface WirePeer {
  /** A socket is open: called after the state says so, before the queue is flushed and before `open` listeners. */
  open(reason: ConnectReason): void;
  /**
   * An open connection has ended, or (`final`) the client is closed for good from whatever state it
   * was in. Also called for a socket that was given up: idle swap, offline, pagehide, reconnect().
   * `swapped`: this side replaces the socket by another at once.
   */
  close(end: {
    readonly error: RunSocketError;
    readonly final: boolean;
    readonly swapped: boolean;
  }): void;
  /** Splits a batch into messages; `undefined` where `message` is no batch. */
  unpack(message: unknown): readonly unknown[] | undefined;
  /** Looks at a parsed message before `schema`; `true`: it was a control, nobody else sees it. */
  control(message: unknown): boolean;
  /** A message that `schema` let through, after the `message` listeners. */
  message(message: unknown, batched: boolean): void;
  /** The server closed with 1009 and this owner's frame is to blame. */
  tooLarge(owner: string, error: RunSocketError): void;
  /** The page is left (`hide`, before the socket is closed) or shown again after it was kept (`show`, before it is dialled). */
  page(type: 'hide' | 'show'): void;
}

/** The wire of a client; throws `unsupported` for an object that is not of `createWebSocketClient`. */
export function getWire(client: WebSocketClient<never, never>): Wire {
  const wire = (client as { readonly [wireKey]?: Wire } | undefined)?.[wireKey];
  if (!wire) {
    throw new RunSocketError('unsupported', 'Pass a client made by createWebSocketClient().');
  }
  // A client alone needs less of it.
  wire.environment = { ...runEnvironment, ...wire.environment };
  return wire;
}
