import type { Environment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { getRetryDelay, isAuthCode, isFinalCode } from './backoff.ts';
import {
  broken,
  type CreateDialer,
  createPartyDialer,
  type DialEnd,
  type Dialer,
} from './dialer.ts';
import { createLiveness } from './heartbeat.ts';
import { listenToPage } from './page-events.ts';
import type {
  CloseInfo,
  ConnectContext,
  ConnectionState,
  ConnectReason,
  UrlProvider,
  WebSocketClientOptions,
  WebSocketConstructor,
  WebSocketData,
} from './types.ts';
import type { Wire } from './wire.ts';

/** What a client can be given in place of the real thing. */
export interface ClientInternals {
  readonly environment: Environment;
  /** @default partysocket on the `WebSocket` option or the global one */
  readonly dialer?: CreateDialer;
}

/** What a connection tells its client. Each comes last in a change, so that it may call back. */
export interface ConnectionHandlers {
  /** Whether anybody needs the connection. */
  isWanted(): boolean;
  opened(reason: ConnectReason): void;
  received(data: string | ArrayBuffer): void;
  /** The state is another than before; `close`: because an attempt or (`wasOpen`) the socket ended. */
  changed(close?: CloseInfo, wasOpen?: boolean): void;
  ping(message: () => unknown): void;
  page(type: 'hide' | 'show'): void;
}

/** One socket that is kept open: attempts, waits, liveness, the page's life. Knows nothing of messages. */
export interface Connection extends Pick<Wire, 'setPing' | 'setIdleTimeout' | 'setRetryHint'> {
  getSnapshot(): ConnectionState;
  /** Dials now, whatever goes on; an open socket is given up because of `error`. */
  connect(reason: ConnectReason, error?: RunSocketError): void;
  /** Ends it, until the next `connect()`: for good with an `error`, else because nobody needs it. */
  finish(error?: RunSocketError, code?: number, reason?: string): void;
  transfer(data: WebSocketData): boolean;
}

const noop = () => {};

function describe(
  cause: { readonly message?: string; readonly code?: unknown; readonly reason?: string },
  wasOpen: boolean,
): RunSocketError {
  const { message, code = cause, reason = '' } = cause;
  return new RunSocketError(
    'closed',
    `${wasOpen ? 'Connection closed' : 'Could not connect'}: ${message || `${code} ${reason}`.trim()}`,
    cause,
  );
}

/** Make a connection; it does nothing before `connect()`. */
export function createConnection<In, Out>(
  url: UrlProvider,
  options: WebSocketClientOptions<In, Out>,
  internals: ClientInternals,
  handlers: ConnectionHandlers,
): Connection {
  const { environment, dialer: createDialer } = internals;
  const { now, page, setTimer } = environment;
  const {
    backoff = {},
    connectTimeout = 8_000,
    heartbeat = {},
    maxRetries = Infinity,
    protocols,
  } = options;
  const { interval, timeout = 5_000, message: ownPing } = heartbeat || {};
  const liveness = createLiveness();
  let state: ConnectionState = { status: 'idle', attempt: 0 };
  let attempt = 0;
  let needsAuth = false;
  let isSuspended = false;
  let policy = backoff;
  let extraDelay = 0;
  let dialer: Dialer | undefined;
  let reason: ConnectReason;
  let controller: AbortController | undefined;
  let pingMessage: () => unknown = noop;
  // The timer of the present status: connect timeout, next attempt, or stable life.
  let stopTimer = noop;
  let stopLook = noop;
  let stopPage: (() => void) | undefined;

  // Leaves the present status. `go` follows, and nothing of the caller's runs in between.
  const leave = () => {
    stopTimer();
    stopLook();
  };

  const go = (
    status: ConnectionState['status'],
    error?: RunSocketError,
    close?: CloseInfo,
    retryAt?: number,
  ) => {
    const wasOpen = state.status === 'open';
    const given = controller;
    controller = status === 'connecting' ? new AbortController() : undefined;
    state = { status, attempt, ...(error && { error }), ...(retryAt && { retryAt }) };
    handlers.changed(close, wasOpen);
    given?.abort();
  };

  // How an open socket ended that was given up here.
  const giveUp = (error: RunSocketError, code = 1000, text = ''): CloseInfo | undefined =>
    state.status === 'open' ? { code, reason: text, wasClean: false, error } : undefined;

  const end = (error?: RunSocketError, close?: CloseInfo) => {
    leave();
    stopPage?.();
    stopPage = undefined;
    dialer?.stop(close?.code, close?.reason);
    if (!error) attempt = 0;
    go(error ? 'closed' : 'idle', error, close);
  };

  const ask = async ({ signal }: AbortController) => {
    const context: ConnectContext = { attempt, reason, signal };
    const call = async (provider: unknown) =>
      typeof provider === 'function' ? provider(context) : provider;
    const isCurrent = () => controller?.signal === signal;
    try {
      const [address, names] = await Promise.all([call(url), call(protocols)]);
      if (isCurrent()) dialer?.dial(`${address}`, names);
    } catch (error) {
      if (isCurrent()) ended(broken, error);
    }
  };

  const connect = (why: ConnectReason, error?: RunSocketError) => {
    const { status } = state;
    const close = error && giveUp(error);
    const first = (status === 'closed' ? undefined : state.error) ?? (close && error);
    const WebSocket = options.WebSocket ?? page.WebSocket;
    leave();
    // While waiting, the dialer is ready for the next attempt.
    if (status !== 'waiting') dialer?.stop();
    if (!WebSocket && !createDialer) {
      return end(new RunSocketError('unsupported', 'There is no WebSocket: pass one.'));
    }
    if (!stopPage) {
      attempt = 0;
      needsAuth = false;
      stopPage = listenToPage(page, pageListeners);
    }
    dialer ??= (createDialer ?? createPartyDialer)(WebSocket as WebSocketConstructor, {
      onOpen,
      onMessage(data) {
        liveness.frame(now());
        handlers.received(data);
      },
      onEnd: ended,
    });
    reason = needsAuth ? 'auth' : why;
    stopTimer = setTimer(() => {
      dialer?.stop();
      const text = `No connection within ${connectTimeout} ms.`;
      ended(broken, undefined, new RunSocketError('timeout', text));
    }, connectTimeout);
    go('connecting', first, close);
    if (controller) void ask(controller);
  };

  const wait = (error: RunSocketError, close?: CloseInfo) => {
    let delay = getRetryDelay(attempt, policy, environment.random()) + extraDelay;
    extraDelay = 0;
    // The browser may be wrong about it.
    if (page.navigator?.onLine === false) delay = Math.max(delay, 30_000);
    stopTimer = setTimer(() => connect('retry'), delay);
    go('waiting', error, close, now() + delay);
  };

  function ended(how: DialEnd, cause?: unknown, known?: RunSocketError): void {
    const close = { ...how, error: known ?? describe(cause ?? how, state.status === 'open') };
    const error = state.error ?? close.error;
    const isAuth = isAuthCode(how.code);
    let isRetried = !(isAuth ? needsAuth : isFinalCode(how.code));
    leave();
    attempt++;
    needsAuth ||= isAuth;
    try {
      isRetried = options.shouldReconnect?.(close) ?? isRetried;
    } catch (thrown) {
      environment.report(thrown);
    }
    if (!handlers.isWanted()) end(undefined, close);
    else if (isRetried && attempt <= maxRetries) wait(error, close);
    else end(error, close);
  }

  const look = (woken = false) => {
    stopLook();
    if (state.status !== 'open') return;
    const isHidden = page.document?.visibilityState === 'hidden';
    const { act, next } = liveness.look(now(), woken, isHidden);
    if (next) stopLook = setTimer(() => look(), next);
    if (act === 'ping') handlers.ping(pingMessage);
    else if (act) connect('idle', new RunSocketError('timeout', 'Nothing came in time.'));
  };

  const watch = (ms: number, message: () => unknown) => {
    pingMessage = message;
    liveness.setPing({ interval: interval ?? ms, timeout }, now());
    look();
  };

  function onOpen(): void {
    leave();
    controller = undefined;
    state = { status: 'open', attempt };
    liveness.open(now());
    if (ownPing !== undefined) {
      watch(15_000, () => (typeof ownPing === 'function' ? ownPing() : ownPing));
    } else look();
    stopTimer = setTimer(() => {
      attempt = 0;
      needsAuth = false;
      if (state.attempt) {
        state = { status: 'open', attempt };
        handlers.changed();
      }
    }, backoff.resetAfter ?? 5_000);
    handlers.opened(reason);
  }

  // Gives up whatever there is; no other attempt follows by itself.
  const suspend = (text: string, next: (error: RunSocketError, close?: CloseInfo) => void) => {
    const error = new RunSocketError('closed', text);
    const close = giveUp(error);
    leave();
    dialer?.stop();
    next(state.error ?? error, close);
  };

  const wake = () => {
    if (isSuspended) return;
    if (state.status === 'open') look(true);
    else connect('wake');
  };

  const pageListeners = {
    online: wake,
    offline() {
      if (!isSuspended) suspend('Offline.', wait);
    },
    visibilitychange() {
      if (page.document?.visibilityState === 'visible' && state.status !== 'connecting') wake();
    },
    pagehide() {
      handlers.page('hide');
      if (!stopPage) return;
      isSuspended = true;
      suspend('The page was left.', (error, close) => go('waiting', error, close));
    },
    pageshow() {
      if (!isSuspended) return;
      isSuspended = false;
      handlers.page('show');
      if (stopPage) connect('wake');
    },
  };

  return {
    getSnapshot: () => state,
    connect,
    finish: (error, code, text) =>
      end(
        error && (state.error ?? error),
        giveUp(error ?? new RunSocketError('closed', 'Not needed.'), code, text),
      ),
    transfer: (data) => state.status === 'open' && !!dialer?.send(data),
    setPing(ms, message) {
      if (heartbeat && ownPing === undefined) watch(ms, message);
    },
    setIdleTimeout(ms) {
      liveness.setIdle(ms, now());
      look();
    },
    setRetryHint({ spread, after = extraDelay }) {
      if (spread !== undefined) policy = { ...backoff, first: spread };
      extraDelay = after;
    },
  };
}
