import { baseEnvironment, type Environment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createListeners, type Listeners } from '../internal/observable.ts';
import { createEncoder, getSize, parseJson, validate } from './codec.ts';
import { type ClientInternals, createConnection } from './connection.ts';
import { guard } from './guard.ts';
import { enqueue, flush, type Outbox } from './outbox.ts';
import type {
  ConnectReason,
  InspectRecord,
  UrlProvider,
  WebSocketClient,
  WebSocketClientEvents,
  WebSocketClientOptions,
} from './types.ts';
import { type Wire, wireKey } from './wire.ts';

/** As {@link createWebSocketClient}, with time, chance and the socket in the caller's hand. */
export function createClient<In = unknown, Out = unknown>(
  url: UrlProvider,
  options: WebSocketClientOptions<In, Out> = {},
  internals: ClientInternals = { environment: baseEnvironment },
): WebSocketClient<In, Out> {
  const { environment } = internals;
  const { now, report: reportThrown, setTimer } = environment;
  const {
    inspect,
    linger = 1_000,
    on = {},
    parse = parseJson,
    queueLimit = 1_000,
    schema,
    serialize = JSON.stringify,
    token,
  } = options;
  const encode = createEncoder(serialize);
  const outbox: Outbox = new Set();
  const subscribers = createListeners<void>(reportThrown);
  const listeners: {
    [T in keyof WebSocketClientEvents<In>]: Listeners<WebSocketClientEvents<In>[T]>;
  } = {
    open: createListeners(reportThrown),
    message: createListeners(reportThrown),
    close: createListeners(reportThrown),
    error: createListeners(reportThrown),
  };
  const report = listeners.error.emit;
  // 0 stands for a `send()` or `reconnect()` without any holder; only `close()` ends it.
  const holders = new Set<unknown>();
  let stopLinger: (() => void) | undefined;
  // The largest frame since the last one received: the one that a close code 1009 is about.
  let largest: readonly [size: number, owner: string | undefined] | undefined;
  let ready: Promise<void>;
  let settleReady: ((error?: RunSocketError) => void) | undefined;

  // Runs what belongs to somebody else: what it throws stops nothing here.
  const safely = <Value>(task: () => Value) => guard(reportThrown, task);

  const record: Wire['inspect'] = (entry) => {
    if (inspect) safely(() => inspect({ at: now(), ...entry } as InspectRecord));
  };

  const renewReady = () => {
    if (settleReady) return;
    ready = new Promise((resolve, reject) => {
      settleReady = (error) => {
        settleReady = undefined;
        if (error) reject(error);
        else resolve();
      };
    });
    // Nobody has to listen.
    ready.catch(() => {});
  };
  renewReady();

  // Goes on with what `task` makes of a message, unless it throws.
  const read = <Value>(data: unknown, task: () => Value, next: (value: Value) => void) => {
    const result = guard(
      (cause) => {
        const text = `Bad message: ${(cause as Error | undefined)?.message}`;
        record({ type: 'drop', reason: 'bad-message', data });
        report(new RunSocketError('bad-message', text, cause));
      },
      () => [task()] as const,
    );
    if (result) safely(() => next(result[0]));
  };

  const deliver = (message: unknown, isBatched: boolean) => {
    wire.first ??= message;
    if (safely(() => wire.peer?.control(message))) return;
    read(
      message,
      () => validate(message, schema),
      (value) => {
        listeners.message.emit(value);
        wire.peer?.message(value, isBatched);
      },
    );
  };

  const transmit: Wire['transmit'] = (data, message, owner) => {
    if (!connection.transfer(data)) return false;
    const size = getSize(data);
    if (!largest || size > largest[0]) largest = [size, owner];
    record({ type: 'frame', direction: 'out', data: message });
    return true;
  };

  const connection = createConnection(url, options, internals, {
    isWanted: () => holders.size > 0,
    received(data) {
      largest = undefined;
      read(
        data,
        () => parse(data),
        (message) => {
          record({ type: 'frame', direction: 'in', data: message });
          const batch = wire.peer?.unpack(message);
          if (!batch) deliver(message, false);
          else
            for (const part of batch) {
              if (getSnapshot().status === 'open') deliver(part, true);
            }
        },
      );
    },
    changed(wasOpen, reason, close) {
      const state = getSnapshot();
      const { status, retryAt, attempt } = state;
      record({ type: 'state', state });
      if (retryAt) record({ type: 'retry', attempt, delay: retryAt - now() });
      if (status !== 'open') {
        const final = status === 'closed';
        const error = state.error ?? close?.error;
        renewReady();
        if (final) settleReady?.(error);
        if (close?.code === 1009 && largest) {
          const [, owner] = largest;
          const refused = new RunSocketError('too-large', 'Too large.', close.error);
          if (owner === undefined) report(refused);
          else safely(() => wire.peer?.tooLarge(owner, refused));
        }
        if (error && (final || wasOpen))
          safely(() => wire.peer?.close({ error, final, swapped: status === 'connecting' }));
      } else if (!wasOpen) {
        largest = wire.first = undefined;
        settleReady?.();
        safely(() => wire.peer?.open(reason));
        flush(outbox, transmit);
      }
      subscribers.emit();
      if (!wasOpen && status === 'open' && state === getSnapshot()) listeners.open.emit(state);
      // An attempt that was given up has not ended by itself.
      if (close && (wasOpen || close.code === 1006)) listeners.close.emit(close);
    },
    ping: (message) =>
      safely(() => {
        const value = typeof message === 'function' ? message() : message;
        transmit(encode(value), value);
      }),
    page: (type) => safely(() => wire.peer?.page(type)),
  });
  const { getSnapshot, connect, end } = connection;

  const want = (holder: unknown, reason: ConnectReason, error?: RunSocketError) => {
    if (holder || !holders.size) holders.add(holder);
    stopLinger?.();
    connect(reason, error);
  };

  const rest = () => end('idle', new RunSocketError('closed', 'idle'));

  const hold: Wire['hold'] = () => {
    const release = (now?: boolean) => {
      if (!holders.delete(release) || holders.size) return;
      if (now) rest();
      else stopLinger = setTimer(rest, linger);
    };
    want(release, 'first');
    return release;
  };

  const wire: Wire = {
    ...connection,
    // Completed by `getWire`.
    environment: environment as Environment,
    token,
    peer: undefined,
    first: undefined,
    encode,
    transmit,
    hold,
    inspect: record,
    report,
  };

  const client: WebSocketClient<In, Out> & { readonly [wireKey]: Wire } = {
    [wireKey]: wire,
    getSnapshot,
    subscribe: subscribers.add,
    on: (type, listener) => listeners[type].add(listener),
    send(message) {
      const data = encode(message);
      const { status, error } = getSnapshot();
      if (status === 'closed') throw new RunSocketError('closed', 'Client closed.', error);
      want(0, 'first');
      // What waits goes first.
      if (!outbox.size && transmit(data, message)) return true;
      enqueue(outbox, queueLimit, data, message);
      return false;
    },
    hold,
    reconnect() {
      want(0, 'manual', new RunSocketError('closed', 'reconnect()'));
    },
    close(code = 1000, reason = '') {
      if (!/^(1000|[34]\d{3})$/.test(`${code}`) || new Blob([reason]).size > 123) {
        throw new RunSocketError('invalid-argument', 'Bad code or reason.');
      }
      holders.delete(0);
      stopLinger?.();
      end('closed', new RunSocketError('closed', 'close()'), { code, reason, wasClean: false });
    },
    get ready() {
      return ready;
    },
  };

  for (const type in on) {
    const listener = on[type as 'message'];
    if (listener) listeners[type as 'message'].add(listener);
  }
  return client;
}

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
export const createWebSocketClient: <In = unknown, Out = unknown>(
  url: UrlProvider,
  options?: WebSocketClientOptions<In, Out>,
) => WebSocketClient<In, Out> = createClient;
