import type { RunSocketError } from '../internal/errors.ts';
import type { StandardSchema } from '../internal/standard-schema.ts';

/** What one frame carries: text, or bytes where a `serialize` makes them. */
export type WebSocketData = string | ArrayBuffer | Uint8Array;

/** The part of a WebSocket that the client uses; browsers, `ws` and mock-socket all fit. */
export interface WebSocketLike {
  readonly readyState: number;
  binaryType: string;
  send(data: WebSocketData): void;
  close(code?: number, reason?: string): void;
  // biome-ignore lint/suspicious/noExplicitAny: browsers and `ws` type their events differently.
  addEventListener(type: string, listener: (event: any) => void): void;
}

/** A WebSocket class, such as the browser's own or the one that `ws` exports. */
export type WebSocketConstructor = new (
  url: string,
  protocols?: string | string[],
) => WebSocketLike;

/** Why a connection is dialled: the first time, after a drop, to renew credentials, on waking up, because nothing came for too long, or by `reconnect()`. */
export type ConnectReason = 'first' | 'retry' | 'auth' | 'wake' | 'idle' | 'manual';

/** What an url provider is told about the attempt it is asked for. */
export interface ConnectContext {
  /** How many attempts failed, and connections ended, since the last stable one; 0 for the first. */
  readonly attempt: number;
  readonly reason: ConnectReason;
  /** Aborted when the attempt is given up: on its timeout, `reconnect()`, `close()`, going offline. */
  readonly signal: AbortSignal;
}

/** Where to connect to: an address, or a function that is asked again for every attempt. */
export type UrlProvider =
  | string
  | URL
  | ((context: ConnectContext) => string | URL | Promise<string | URL>);

/** The subprotocols to request, or a function that is asked again for every attempt. */
export type ProtocolsProvider =
  | string
  | string[]
  | ((
      context: ConnectContext,
    ) => string | string[] | undefined | Promise<string | string[] | undefined>);

/** How a connection ended. */
export interface CloseInfo {
  /** The close code; 1006 where the connection ended without one. */
  readonly code: number;
  readonly reason: string;
  /** Whether the peer said goodbye by a close frame. */
  readonly wasClean: boolean;
  /** What is known of the cause: the code `closed` or `timeout`, with what the socket reported as its `cause`. */
  readonly error: RunSocketError;
}

/**
 * The state of the connection.
 *
 * `idle`: nobody needs it. `connecting`: an attempt is under way. `open`. `waiting`: until `retryAt`
 * for the next attempt. `closed`: for good, by `close()`, a final close code, `maxRetries`, or because there is no `WebSocket`.
 */
export interface ConnectionState {
  readonly status: 'idle' | 'connecting' | 'open' | 'waiting' | 'closed';
  /** How many attempts failed, and connections ended, since it was last stable. */
  readonly attempt: number;
  /** When the next attempt is made, in ms since 1970. Only while `waiting`. */
  readonly retryAt?: number | undefined;
  /** Why there is no connection: the first cause since it was last open. */
  readonly error?: RunSocketError | undefined;
}

/** What a client's listeners get, by event type. */
export interface WebSocketClientEvents<In> {
  /** The connection is open, and what was queued has been sent. */
  open: ConnectionState;
  /** A message that `parse` and `schema` let through. */
  message: In;
  /** An open connection, or an attempt, has ended. */
  close: CloseInfo;
  /** A failure in the background: `bad-message`, `too-large`, and of runs without an agent `storage`, `run-lost`, `log-truncated`. */
  error: RunSocketError;
}

/** What `inspect` is told, for logs and developer tools. `at` is in ms since 1970. */
export type InspectRecord = { readonly at: number } & (
  | { readonly type: 'state'; readonly state: ConnectionState }
  | { readonly type: 'frame'; readonly direction: 'in' | 'out'; readonly data: unknown }
  | { readonly type: 'retry'; readonly attempt: number; readonly delay: number }
  | { readonly type: 'resume'; readonly runId: string; readonly after: unknown }
  | { readonly type: 'drop'; readonly reason: string; readonly data: unknown }
);

/** When the next attempt is made after an unexpected close. All in ms. */
export interface BackoffOptions {
  /** The first attempt is uniform in 0 … `first`. @default 1000 */
  readonly first?: number;
  /** The lower bound of every later wait. @default 500 */
  readonly min?: number;
  /** The upper bound of every wait. @default 20000 */
  readonly max?: number;
  /** What the upper bound grows by: attempt k waits uniformly in `min` … `min · factor ** k`. @default 2 */
  readonly factor?: number;
  /** A connection that lives this long resets the backoff; a mere open does not. @default 5000 */
  readonly resetAfter?: number;
}

/** How a dead peer is noticed. */
export interface HeartbeatOptions {
  /** Silence after which a message is sent, in ms. @default what the server's `hello` says (where runs or an agent listen to it), or 15000 */
  readonly interval?: number;
  /** How long any frame may then take, in ms, before the socket is given up. @default 5000 */
  readonly timeout?: number;
  /** What is sent; a function is called each time. Without it the client pings only a server that announced `ping`. */
  readonly message?: unknown;
}

/** Options of {@link createWebSocketClient}. All durations are in ms. */
export interface WebSocketClientOptions<In = unknown, Out = unknown> {
  /** The socket class. @default the global `WebSocket`; Node before 22 has none */
  readonly WebSocket?: WebSocketConstructor;
  /** Subprotocols. @default none */
  readonly protocols?: ProtocolsProvider;
  /** Turn a frame into a message. What it throws is reported as `bad-message`. @default `JSON.parse` */
  readonly parse?: (data: string | ArrayBuffer) => unknown;
  /** Turn a message into a frame. What it throws is thrown by `send()`. @default `JSON.stringify` */
  readonly serialize?: (message: Out) => WebSocketData;
  /** Checks every message; a synchronous Standard Schema (zod, valibot, ArkType). Messages that fail are reported as `bad-message` and dropped. */
  readonly schema?: StandardSchema<In>;
  /** Asked for a token when the server sends `{ type: 'reauth' }`; the answer goes out as `{ type: 'auth', token }`. */
  readonly token?: () => string | Promise<string>;
  readonly backoff?: BackoffOptions;
  /** How often in a row, without a stable connection, an attempt is made again before the client is `closed`. @default Infinity */
  readonly maxRetries?: number;
  /** How long an attempt may take, the url provider included. @default 8000 */
  readonly connectTimeout?: number;
  /** Liveness checks by messages, or `false` for none; a streaming run's idle timeout stays. */
  readonly heartbeat?: HeartbeatOptions | false;
  /** Overrides whether a close is retried; `undefined` leaves it to the table of close codes. */
  readonly shouldReconnect?: (close: CloseInfo) => boolean | undefined;
  /** Messages that `send()` keeps while there is no connection. @default 1000 */
  readonly queueLimit?: number;
  /** How long the connection outlives its last holder. @default 1000 */
  readonly linger?: number;
  /** Listeners from the start, so that no early event is missed. */
  readonly on?: {
    readonly [Type in keyof WebSocketClientEvents<In>]?: (
      value: WebSocketClientEvents<In>[Type],
    ) => void;
  };
  /** Told every state change, frame, retry, resume and drop. @default silent */
  readonly inspect?: (record: InspectRecord) => void;
}

/** One logical connection that reconnects by itself. Made by {@link createWebSocketClient}. */
export interface WebSocketClient<In = unknown, Out = unknown> {
  /** The state of the connection: the same object until it changes. */
  getSnapshot(): ConnectionState;
  /** Get notified when the state changes. Compatible with `useSyncExternalStore`. */
  subscribe(listener: () => void): () => void;
  /**
   * Listen to one type of event; returns what stops it. A listener that throws stops nobody else: what
   * it threw becomes an uncaught error of the page, or of the process in Node.
   */
  on<Type extends keyof WebSocketClientEvents<In>>(
    type: Type,
    listener: (value: WebSocketClientEvents<In>[Type]) => void,
  ): () => void;
  /**
   * Send a message: `true` when it was handed to an open socket, `false` when it was queued until the
   * next open. Throws a RunSocketError `closed` after a final close, `queue-full` past `queueLimit`,
   * and whatever `serialize` throws. A first `send()` keeps the connection until `close()`.
   */
  send(message: Out): boolean;
  /** Keep the connection wanted; returns what releases it, once. The first hold connects. */
  hold(): () => void;
  /** Dial now, whatever the backoff says; an open socket is replaced. Without a holder, the connection is kept until `close()`. */
  reconnect(): void;
  /**
   * Close for good, until a new `hold()` or `reconnect()`; what is queued stays. The code is 1000 or
   * 3000–4999 and the reason has at most 123 bytes, else `invalid-argument` is thrown before anything
   * changes.
   */
  close(code?: number, reason?: string): void;
  /** Resolves on open, rejects when closed for good (never an unhandled rejection); a new promise after re-opening. */
  readonly ready: Promise<void>;
}
