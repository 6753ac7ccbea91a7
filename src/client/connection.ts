import type { Environment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { getRetryDelay, judgeCloseCode } from './backoff.ts';
import { type CreateDialer, createPartyDialer, type DialEnd, type Dialer } from './dialer.ts';
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
  /** The state is another than before, not `open`; `close`: because this ended, `wasOpen` or as an attempt. */
  changed(close?: CloseInfo, wasOpen?: boolean): void;
  /** The connection has been open for long enough to be called stable. */
  stable(): void;
  ping(message: () => unknown): void;
  retry(attempt: number, delay: number): void;
  page(type: 'hide' | 'show'): void;
}

/** One socket that is kept open: attempts, waits, liveness, the page's life. Knows nothing of messages. */
export interface Connection {
  getState(): ConnectionState;
  /** Dials now, whatever goes on; an open socket is given up with `error`. */
  connect(reason: ConnectReason, error?: RunSocketError): void;
  /** Nobody needs it any more. */
  rest(): void;
  /** Closed for good. */
  finish(code: number, reason: string): void;
  send(data: WebSocketData): boolean;
  setPing(interval: number, message: () => unknown): void;
  setIdleTimeout(ms: number | undefined): void;
  setRetryHint(hint: { readonly spread?: number; readonly after?: number }): void;
}

const noop = () => {};

const offlineDelay = 30_000;

function describe({ code, reason, cause }: DialEnd, wasOpen: boolean): RunSocketError {
  const { message, code: name } = (cause ?? {}) as { message?: string; code?: string };
  return new RunSocketError(
    'closed',
    `${wasOpen ? 'Connection closed' : 'Could not connect'}: ${
      message || name || (cause === undefined ? `${code} ${reason}`.trim() : String(cause))
    }`,
    cause ?? { code, reason },
  );
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
  const { backoff = {}, connectTimeout = 8_000, maxRetries = Infinity, protocols } = options;
  const heartbeat = options.heartbeat ?? {};
  const liveness = createLiveness();
  let state: ConnectionState = { status: 'idle', attempt: 0 };
  let attempt = 0;
  let hasAskedAgain = false;
  let isSuspended = false;
  let spread: number | undefined;
  let after = 0;
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
    stopTimer = stopLook = noop;
  };

  const go = (
    status: ConnectionState['status'],
    error?: RunSocketError,
    close?: CloseInfo,
    retryAt?: number,
    next?: AbortController,
  ) => {
    const wasOpen = state.status === 'open';
    const given = controller;
    controller = next;
    state = {
      status,
      attempt,
      ...(retryAt !== undefined && { retryAt }),
      ...(error && { error }),
    };
    handlers.changed(close, wasOpen);
    given?.abort();
  };

  const giveUp = (error: RunSocketError, code = 1006, text = ''): CloseInfo | undefined =>
    state.status === 'open' ? { code, reason: text, wasClean: code !== 1006, error } : undefined;

  const stopAll = (code?: number, text?: string) => {
    leave();
    stopPage?.();
    stopPage = undefined;
    dialer?.stop(code, text);
  };

  const finish = (error: RunSocketError, close?: CloseInfo) => {
    stopAll();
    go('closed', error, close);
  };

  const rest = (close?: CloseInfo) => {
    const info =
      close ?? giveUp(new RunSocketError('closed', 'Nobody needs the connection.'), 1000);
    stopAll();
    go('idle', undefined, info);
  };

  const ask = async (own: AbortController) => {
    const context: ConnectContext = { attempt, reason, signal: own.signal };
    const call = async <T>(provider: T | ((context: ConnectContext) => T | Promise<T>)) =>
      typeof provider === 'function'
        ? (provider as (context: ConnectContext) => T | Promise<T>)(context)
        : provider;
    try {
      const [address, names] = await Promise.all([
        call<string | URL>(url),
        call<string | string[] | undefined>(protocols),
      ]);
      if (controller === own) dialer?.dial(String(address), names);
    } catch (cause) {
      if (controller === own) ended({ code: 1006, reason: '', wasClean: false, cause });
    }
  };

  const connect = (why: ConnectReason, error?: RunSocketError) => {
    const { status } = state;
    const close = error && giveUp(error);
    if (status === 'idle' || status === 'closed') {
      attempt = 0;
      hasAskedAgain = false;
    }
    leave();
    if (status !== 'waiting') dialer?.stop(1000, '', why === 'idle');
    const WebSocket = options.WebSocket ?? (page.WebSocket as WebSocketConstructor | undefined);
    if (!WebSocket && !internals.dialer) {
      finish(new RunSocketError('unsupported', 'No WebSocket here: pass one in the options.'));
      return;
    }
    dialer ??= createDialer(WebSocket as WebSocketConstructor, {
      onOpen,
      onMessage(data) {
        liveness.frame(now());
        handlers.received(data);
      },
      onEnd: ended,
    });
    stopPage ??= listenToPage(page, pageHandlers);
    reason = why;
    const own = new AbortController();
    stopTimer = setTimer(() => {
      dialer?.stop(1000, '', true);
      const text = `No connection within ${connectTimeout} ms.`;
      ended({ code: 1006, reason: '', wasClean: false }, new RunSocketError('timeout', text));
    }, connectTimeout);
    go(
      'connecting',
      status === 'closed' ? undefined : (state.error ?? error),
      close,
      undefined,
      own,
    );
    if (controller === own) void ask(own);
  };

  const wait = (why: ConnectReason, error: RunSocketError, close?: CloseInfo) => {
    const first = spread ?? backoff.first;
    const policy = first === undefined ? backoff : { ...backoff, first };
    let delay = getRetryDelay(attempt, policy, environment.random()) + after;
    after = 0;
    // The browser may be wrong about it.
    if (page.navigator?.onLine === false) delay = Math.max(delay, offlineDelay);
    delay = Math.min(delay, 2 ** 31 - 1);
    stopTimer = setTimer(() => connect(why), delay);
    handlers.retry(attempt, delay);
    go('waiting', error, close, now() + delay);
  };

  function ended(end: DialEnd, known?: RunSocketError): void {
    const wasOpen = state.status === 'open';
    const close: CloseInfo = {
      code: end.code,
      reason: end.reason,
      wasClean: end.wasClean,
      error: known ?? describe(end, wasOpen),
    };
    const error = state.error ?? close.error;
    leave();
    attempt++;
    if (!handlers.isWanted()) {
      rest(close);
      return;
    }
    let verdict = judgeCloseCode(close.code);
    if (verdict === 'auth') {
      if (hasAskedAgain) verdict = 'final';
      hasAskedAgain = true;
    }
    let isRetried: boolean | undefined;
    try {
      isRetried = options.shouldReconnect?.(close);
    } catch (thrown) {
      environment.report(thrown);
    }
    if (!(isRetried ?? verdict !== 'final') || attempt > maxRetries) finish(error, close);
    else wait(judgeCloseCode(close.code) === 'auth' ? 'auth' : 'retry', error, close);
  }

  const look = (woken = false) => {
    stopLook();
    if (state.status !== 'open') return;
    const isHidden = page.document?.visibilityState === 'hidden';
    const { act, next } = liveness.look(now(), woken, isHidden);
    if (next !== undefined) stopLook = setTimer(() => look(), next);
    if (act === 'ping') handlers.ping(pingMessage);
    else if (act)
      connect('idle', new RunSocketError('timeout', 'Nothing was received for too long.'));
  };

  const watch = (interval: number, message: () => unknown) => {
    pingMessage = message;
    const { timeout = 5_000 } = heartbeat || {};
    liveness.setPing({ interval, timeout }, now());
  };

  function onOpen(): void {
    leave();
    controller = undefined;
    state = { status: 'open', attempt };
    liveness.open(now());
    if (heartbeat && heartbeat.message !== undefined) {
      const { message } = heartbeat;
      watch(heartbeat.interval ?? 15_000, () =>
        typeof message === 'function' ? message() : message,
      );
    }
    stopTimer = setTimer(() => {
      hasAskedAgain = false;
      if (!attempt) return;
      attempt = 0;
      state = { status: 'open', attempt };
      handlers.stable();
    }, backoff.resetAfter ?? 5_000);
    look();
    handlers.opened(reason);
  }

  // Gives up whatever there is, without another attempt by itself.
  const suspend = (message: string) => {
    const error = new RunSocketError('closed', message);
    const close = giveUp(error);
    leave();
    dialer?.stop();
    return { error: state.error ?? error, close };
  };

  const wake = () => {
    if (isSuspended) return;
    if (state.status === 'open') look(true);
    else connect('wake');
  };

  const pageHandlers = {
    online: wake,
    offline() {
      if (isSuspended) return;
      const { error, close } = suspend('The browser is offline.');
      wait('retry', error, close);
    },
    visible() {
      if (state.status !== 'connecting') wake();
    },
    hide() {
      handlers.page('hide');
      if (!stopPage) return;
      isSuspended = true;
      const { error, close } = suspend('The page was left.');
      go('waiting', error, close);
    },
    show() {
      if (!isSuspended) return;
      isSuspended = false;
      handlers.page('show');
      if (stopPage) connect('wake');
    },
  };

  return {
    getState: () => state,
    connect,
    rest: () => rest(),
    finish(code, text) {
      if (state.status === 'closed') return;
      const error = state.error ?? new RunSocketError('closed', 'The client was closed.');
      const close = giveUp(error, code, text);
      stopAll(code, text);
      go('closed', error, close);
    },
    send: (data) => state.status === 'open' && !!dialer?.send(data),
    setPing(interval, message) {
      if (!heartbeat || heartbeat.message !== undefined) return;
      watch(heartbeat.interval ?? interval, message);
      look();
    },
    setIdleTimeout(ms) {
      liveness.setIdle(ms, now());
      look();
    },
    setRetryHint(hint) {
      spread = hint.spread ?? spread;
      after = hint.after ?? after;
    },
  };
}
