import type { BaseEnvironment, Environment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { getRetryDelay, isAuthCode, isFinalCode } from './backoff.ts';
import {
  broken,
  type CreateDialer,
  createPartyDialer,
  type DialEnd,
  type Dialer,
  givenUp,
} from './dialer.ts';
import { guard } from './guard.ts';
import { createLiveness } from './heartbeat.ts';
import { listenToPage } from './page-events.ts';
import type {
  BackoffOptions,
  CloseInfo,
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
  readonly environment: BaseEnvironment | Environment;
  /** Makes what dials with the `WebSocket` option or the global one. @default on partysocket */
  readonly dialer?: CreateDialer;
}

/** What a connection tells its client. Each comes last in a change, so that it may call back. */
export interface ConnectionHandlers {
  /** Whether anybody needs the connection. */
  isWanted(): boolean;
  received(data: string | ArrayBuffer): void;
  /**
   * The state is another than before. `close`: what was open, or an attempt, ended like that.
   * `reason`: of the last attempt.
   */
  changed(wasOpen: boolean, reason: ConnectReason, close?: CloseInfo): void;
  /** `message` is one, or a function that makes one. */
  ping(message: unknown): void;
  page(type: 'hide' | 'show'): void;
}

/** One socket that is kept open: attempts, waits, liveness, the page's life. Knows nothing of messages. */
export interface Connection extends Pick<Wire, 'setPing' | 'setIdleTimeout' | 'setRetryHint'> {
  getSnapshot(): ConnectionState;
  /** Dials now, whatever goes on; an open socket is given up because of `error`. `first`: where nothing goes on. */
  connect(reason: ConnectReason, error?: RunSocketError): void;
  /** Ends it until the next `connect()`; nothing happens where it has ended already. */
  end(status: 'idle' | 'closed', why: RunSocketError, how?: DialEnd): void;
  transfer(data: WebSocketData): boolean;
}

const initial: ConnectionState = { status: 'idle', attempt: 0 };

function describe(cause: {
  readonly message?: string;
  readonly code?: unknown;
  readonly reason?: string;
}): RunSocketError {
  const { message, code = cause, reason = '' } = cause;
  const text = `Connection failed: ${message || code} ${reason}`;
  return new RunSocketError('closed', text.trim(), cause);
}

/** Make a connection; it does nothing before `connect()`. */
export function createConnection<In, Out>(
  url: UrlProvider,
  options: WebSocketClientOptions<In, Out>,
  internals: ClientInternals,
  handlers: ConnectionHandlers,
): Connection {
  const { environment, dialer: createDialer = createPartyDialer } = internals;
  const { now, page, setTimer } = environment;
  const {
    connectTimeout = 8_000,
    heartbeat,
    maxRetries = Infinity,
    protocols,
    shouldReconnect,
  } = options;
  const { interval, timeout = 5_000, message: ownPing } = heartbeat || {};
  const liveness = createLiveness();
  let { backoff = {} } = options;
  let state = initial;
  let attempt = 0;
  let needsAuth = false;
  let isSuspended = false;
  let extraDelay = 0;
  let dialer: Dialer | undefined;
  let reason: ConnectReason;
  let controller: AbortController | undefined;
  let pingMessage: unknown;
  // The timer of the present status: connect timeout, next attempt, or stable life.
  let stopTimer: (() => void) | undefined;
  let stopLook: (() => void) | undefined;
  // Set while the connection is neither idle nor closed.
  let pageWatch: AbortController | undefined;

  const isOpen = () => state.status === 'open';
  const isHidden = () => page.document?.visibilityState === 'hidden';

  // Leaves the present status for another, in which `task` runs after `ms`. `why` and `how` what was
  // there ended.
  const go = (
    status: ConnectionState['status'],
    why?: RunSocketError,
    how: DialEnd = givenUp,
    task?: () => void,
    ms?: number,
    next?: AbortController,
  ) => {
    const wasOpen = isOpen();
    const given = controller;
    controller = next;
    stopTimer?.();
    stopLook?.();
    if (status !== 'open') dialer?.stop(pageWatch ? undefined : how.code, how.reason);
    stopTimer = task && setTimer(task, ms as number);
    state = {
      status,
      attempt,
      error: /idle|open/.test(status) ? undefined : (state.error ?? why),
      retryAt: task && status === 'waiting' ? now() + (ms as number) : undefined,
    };
    handlers.changed(wasOpen, reason, why && { ...how, error: why });
    given?.abort();
  };

  const end = (status: 'idle' | 'closed', why: RunSocketError, how?: DialEnd) => {
    if (state.status === status || state.status === 'closed') return;
    pageWatch?.abort();
    pageWatch = undefined;
    go(status, why, how);
  };

  const connect = (why: ConnectReason, error?: RunSocketError) => {
    const { WebSocket = page.WebSocket } = options;
    if (pageWatch && why === 'first') return;
    if (!pageWatch) {
      state = initial;
      attempt = 0;
      needsAuth = isSuspended = false;
      pageWatch = listenToPage(page, pageListeners);
    }
    if (!WebSocket) {
      return end('closed', new RunSocketError('unsupported', 'No WebSocket: pass one.'));
    }
    dialer ??= createDialer(WebSocket as WebSocketConstructor, {
      onOpen,
      onMessage(data) {
        liveness.frame(now());
        handlers.received(data);
      },
      onEnd: ended,
    });
    reason = needsAuth ? 'auth' : why;
    const next = new AbortController();
    const { signal } = next;
    const context = { attempt, reason, signal };
    const ask = async (provider: unknown) =>
      typeof provider === 'function' ? provider(context) : provider;
    go(
      'connecting',
      isOpen() ? error : undefined,
      undefined,
      () => ended(broken, 0, new RunSocketError('timeout', 'Connect timeout.')),
      connectTimeout,
      next,
    );
    Promise.all([ask(url), ask(protocols)]).then(
      ([address, names]) => signal.aborted || dialer?.dial(`${address}`, names),
      (cause) => signal.aborted || ended(broken, cause),
    );
  };

  const wait = (why: RunSocketError, how?: DialEnd) => {
    let delay = getRetryDelay(attempt, backoff, environment.random()) + extraDelay;
    extraDelay = 0;
    // The browser may be wrong about it.
    if (page.navigator?.onLine === false) delay = Math.max(delay, 30_000);
    go('waiting', why, how, isSuspended ? undefined : () => connect('retry'), delay);
  };

  function ended(
    how: DialEnd,
    cause?: unknown,
    error: RunSocketError = describe(cause ?? how),
  ): void {
    const before = state;
    const isAuth = isAuthCode(how.code);
    const isRetried =
      guard(environment.report, () => shouldReconnect?.({ ...how, error })) ??
      !(isAuth ? needsAuth : isFinalCode(how.code));
    if (state !== before) return;
    attempt++;
    needsAuth ||= isAuth;
    if (!handlers.isWanted()) end('idle', error, how);
    else if (isRetried && attempt <= maxRetries) wait(error, how);
    else end('closed', error, how);
  }

  const look = (woken = false) => {
    stopLook?.();
    if (!isOpen()) return;
    const [act, next] = liveness.look(now(), woken, isHidden());
    if (next) stopLook = setTimer(look, next);
    if (act === 'ping') handlers.ping(pingMessage);
    else if (act) connect('idle', new RunSocketError('timeout', 'Idle timeout.'));
  };

  const watch = (ms: number, message: unknown, patience = 1) => {
    pingMessage = message;
    liveness.setPing(interval ?? ms, timeout * patience, now());
    look();
  };

  function onOpen(): void {
    controller = undefined;
    liveness.open(now());
    go(
      'open',
      undefined,
      undefined,
      () => {
        needsAuth = false;
        if (attempt) {
          attempt = 0;
          go('open');
          look();
        }
      },
      backoff.resetAfter ?? 5_000,
    );
    if (ownPing === undefined) look();
    else watch(15_000, ownPing);
  }

  const wake = () => {
    if (isSuspended) return;
    if (isOpen()) look(true);
    else connect('wake');
  };

  const pageListeners = {
    online: wake,
    offline() {
      if (!isSuspended) wait(new RunSocketError('closed', 'offline'));
    },
    visibilitychange() {
      if (!isHidden()) wake();
    },
    pagehide() {
      handlers.page('hide');
      isSuspended = true;
      wait(new RunSocketError('closed', 'pagehide'));
    },
    pageshow() {
      if (!isSuspended) return;
      isSuspended = false;
      handlers.page('show');
      connect('wake');
    },
  };

  return {
    getSnapshot: () => state,
    connect,
    end,
    transfer: (data) => !!dialer?.send(data),
    setPing(...how) {
      if (heartbeat !== false && ownPing === undefined) watch(...how);
    },
    setIdleTimeout(ms) {
      liveness.setIdle(ms, now());
      look();
    },
    setRetryHint({ spread = backoff.first, after = 0 }) {
      backoff = { ...backoff, first: spread } as BackoffOptions;
      extraDelay = after;
    },
  };
}
