import { defaultEnvironment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createListeners, type Listeners } from '../internal/observable.ts';
import { createCodec } from './codec.ts';
import { type ClientInternals, createConnection } from './connection.ts';
import { createOutbox } from './outbox.ts';
import type {
  CloseInfo,
  UrlProvider,
  WebSocketClient,
  WebSocketClientEvents,
  WebSocketClientOptions,
} from './types.ts';
import { attachWire, type Wire } from './wire.ts';

/**
 * Make a client: one logical connection that reconnects by itself.
 *
 * Nothing is connected before the first `hold()` or `send()`, so a client may also be made on a
 * server that renders pages.
 *
 * @example
 * ```ts
 * const client = createWebSocketClient('wss://example.com/agent');
 * client.on('message', (message) => show(message));
 * client.send({ hello: 'world' });
 * ```
 */
export function createWebSocketClient<In = unknown, Out = unknown>(
  url: UrlProvider,
  options: WebSocketClientOptions<In, Out> = {},
): WebSocketClient<In, Out> {
  return createClient(url, options, { environment: defaultEnvironment });
}

/** As {@link createWebSocketClient}, with time, chance and the socket in the caller's hand. */
export function createClient<In = unknown, Out = unknown>(
  url: UrlProvider,
  options: WebSocketClientOptions<In, Out>,
  internals: ClientInternals,
): WebSocketClient<In, Out> {
  const { environment } = internals;
  const { linger = 1_000, queueLimit = 1_000, inspect } = options;
  const { report } = environment;
  const codec = createCodec(options);
  const outbox = createOutbox(queueLimit);
  const subscribers = createListeners<void>(report);
  const listeners: {
    [T in keyof WebSocketClientEvents<In>]: Listeners<WebSocketClientEvents<In>[T]>;
  } = {
    open: createListeners(report),
    message: createListeners(report),
    close: createListeners(report),
    error: createListeners(report),
  };
  let holders = 0;
  // Set by a `send()` or `reconnect()` that no holder stands behind; only `close()` ends it.
  let isKept = false;
  let stopLinger = () => {};
  // The largest frame since the last one received: the one that a close code 1009 is about.
  let largest: { readonly size: number; readonly owner: string | undefined } | undefined;
  let ready = createReady();

  const isWanted = () => isKept || holders > 0;

  const record: Wire['inspect'] = (entry) => {
    if (!inspect) return;
    try {
      inspect({ at: environment.now(), ...entry } as never);
    } catch (error) {
      report(error);
    }
  };

  // Runs a callback of the layer above: what it throws stops nothing here.
  const guard = (task: () => void) => {
    try {
      task();
    } catch (error) {
      report(error);
    }
  };

  const refuse = (cause: unknown, data: unknown) => {
    const detail = (cause as Error | undefined)?.message ?? cause;
    record({ type: 'drop', reason: 'bad-message', data });
    listeners.error.emit(new RunSocketError('bad-message', `Bad message: ${detail}`, cause));
  };

  const deliver = (message: unknown, batched: boolean) => {
    let value: In;
    if (wire.peer?.control(message)) return;
    try {
      value = codec.check(message);
    } catch (error) {
      refuse(error, message);
      return;
    }
    listeners.message.emit(value);
    wire.peer?.message(value, batched);
  };

  const blame = ({ error: cause }: CloseInfo) => {
    if (!largest) return;
    const { size, owner } = largest;
    const text = `The server refused a message of length ${size} as too large.`;
    const error = new RunSocketError('too-large', text, cause);
    largest = undefined;
    if (owner === undefined) listeners.error.emit(error);
    else guard(() => wire.peer?.tooLarge(owner, error));
  };

  const transmit: Wire['transmit'] = (data, message, owner) => {
    if (!connection.send(data)) return false;
    const size = typeof data === 'string' ? data.length : data.byteLength;
    if (!largest || size > largest.size) largest = { size, owner };
    record({ type: 'frame', direction: 'out', data: message });
    return true;
  };

  const connection = createConnection(url, options, internals, {
    isWanted,
    opened(reason) {
      const opened = connection.getState();
      const isOver = () => connection.getState() !== opened;
      largest = undefined;
      ready.resolve();
      record({ type: 'state', state: opened });
      guard(() => wire.peer?.open(reason));
      if (isOver()) return;
      outbox.flush(transmit);
      if (isOver()) return;
      subscribers.emit();
      if (!isOver()) listeners.open.emit(opened);
    },
    received(data) {
      let message: unknown;
      largest = undefined;
      try {
        message = codec.decode(data);
      } catch (error) {
        refuse(error, data);
        return;
      }
      if (inspect) record({ type: 'frame', direction: 'in', data: message });
      const { status } = connection.getState();
      let batch: readonly unknown[] | undefined;
      guard(() => {
        batch = wire.peer?.unpack(message);
      });
      if (!batch) guard(() => deliver(message, false));
      else
        for (const part of batch) {
          guard(() => deliver(part, true));
          if (connection.getState().status !== status) return;
        }
    },
    changed(close, wasOpen) {
      const state = connection.getState();
      const isFinal = state.status === 'closed';
      if (ready.isSettled()) ready = createReady();
      if (isFinal) ready.reject(state.error);
      record({ type: 'state', state });
      if (close?.code === 1009) blame(close);
      const error = isFinal ? state.error : close?.error;
      if (error && (isFinal || wasOpen)) guard(() => wire.peer?.close({ error, final: isFinal }));
      subscribers.emit();
      if (close) listeners.close.emit(close);
    },
    stable() {
      record({ type: 'state', state: connection.getState() });
      subscribers.emit();
    },
    ping(message) {
      guard(() => {
        const value = message();
        transmit(codec.encode(value), value);
      });
    },
    retry: (attempt, delay) => record({ type: 'retry', attempt, delay }),
    page: (type) => guard(() => wire.peer?.page(type)),
  });

  // Dials where nothing goes on.
  const ensure = () => {
    stopLinger();
    const { status } = connection.getState();
    if (status === 'idle' || status === 'closed') connection.connect('first');
  };

  const hold: Wire['hold'] = () => {
    let isHeld = true;
    holders++;
    ensure();
    return (now) => {
      if (!isHeld) return;
      isHeld = false;
      holders--;
      if (isWanted()) return;
      const rest = () => {
        const { status } = connection.getState();
        if (!isWanted() && status !== 'closed' && status !== 'idle') connection.rest();
      };
      stopLinger();
      if (now) rest();
      else stopLinger = environment.setTimer(rest, linger);
    };
  };

  const wire: Wire = {
    environment,
    token: options.token,
    peer: undefined,
    encode: codec.encode,
    transmit,
    hold,
    setPing: connection.setPing,
    setIdleTimeout: connection.setIdleTimeout,
    setRetryHint: connection.setRetryHint,
    inspect: record,
    report: listeners.error.emit,
  };

  const client: WebSocketClient<In, Out> = {
    getSnapshot: connection.getState,
    subscribe: (listener) => subscribers.add(() => listener()),
    on: (type, listener) => listeners[type].add(listener),
    send(message) {
      const data = codec.encode(message);
      if (!isWanted() && connection.getState().status !== 'closed') {
        isKept = true;
        ensure();
      }
      const { status, error } = connection.getState();
      if (status === 'closed') throw new RunSocketError('closed', 'The client is closed.', error);
      // What waits goes first.
      if (!outbox.size && transmit(data, message)) return true;
      outbox.push(data, message);
      return false;
    },
    hold() {
      const release = hold();
      return () => release();
    },
    reconnect() {
      isKept ||= holders === 0;
      stopLinger();
      connection.connect('manual', new RunSocketError('closed', 'reconnect() was called.'));
    },
    close(code = 1000, reason = '') {
      if (code !== 1000 && !(code >= 3000 && code <= 4999 && Number.isInteger(code))) {
        throw new RunSocketError(
          'invalid-argument',
          `${code} is not a close code a client may send.`,
        );
      }
      if (new TextEncoder().encode(reason).length > 123) {
        throw new RunSocketError('invalid-argument', 'A close reason has at most 123 bytes.');
      }
      isKept = false;
      stopLinger();
      connection.finish(code, reason);
    },
    get ready() {
      return ready.promise;
    },
  };

  for (const [type, listener] of Object.entries(options.on ?? {})) {
    if (listener) client.on(type as 'message', listener as never);
  }
  return attachWire(client, wire);
}

function createReady() {
  let isSettled = false;
  let settle: { resolve(): void; reject(error: unknown): void } | undefined;
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // Nobody has to listen.
  promise.catch(() => {});
  return {
    promise,
    isSettled: () => isSettled,
    resolve() {
      isSettled = true;
      settle?.resolve();
    },
    reject(error: unknown) {
      isSettled = true;
      settle?.reject(error);
    },
  };
}
