import type { BaseEnvironment } from '../internal/environment.ts';
import type { RedisLike, RedisSubscriberLike } from './redis-like.ts';

/** Listens to channels of Redis over one connection of its own, made when it is first needed. */
export interface RedisChannels {
  /**
   * Listens to a channel: once, however many ask. `onListening` is called as soon as nothing more can be
   * missed, and again after each time that something may have been.
   */
  listen(
    channel: string,
    onMessage: (message: string) => void,
    onListening?: () => void,
  ): () => void;
  dispose(): void;
}

interface Listener {
  readonly onMessage: (message: string) => void;
  readonly onListening: (() => void) | undefined;
}

interface Subscription {
  readonly channel: string;
  readonly listeners: Set<Listener>;
  /** The connection that it stands on. */
  on: RedisSubscriberLike | undefined;
  busy: boolean;
}

const retryAfter = 500;

/** Make the one listening connection beside `redis`. */
export function createRedisChannels(
  redis: RedisLike,
  { setTimer }: BaseEnvironment,
): RedisChannels {
  const subscriptions = new Map<string, Subscription>();
  let connection: RedisSubscriberLike | undefined;
  let connecting: Promise<unknown> | undefined;
  let disposed = false;
  let stopRetry: (() => void) | undefined;

  const onMessage = (message: string, channel: string) => {
    for (const listener of [...(subscriptions.get(channel)?.listeners ?? [])]) {
      listener.onMessage(message);
    }
  };

  function open() {
    if (disposed) return undefined;
    if (connection) return connection;
    const opened = redis.duplicate();
    connection = opened;
    // A lost connection is told by 'ready' once it is back: until then followers ask by themselves.
    opened.on('error', () => {});
    opened.on('ready', () => {
      for (const subscription of [...subscriptions.values()]) {
        if (subscription.on === opened) tellListening(subscription);
      }
    });
    const drop = () => {
      if (connection !== opened) return;
      connection = undefined;
      retry();
    };
    opened.on('end', drop);
    connecting = opened.connect();
    connecting.catch(drop);
    return opened;
  }

  function retry() {
    if (disposed) return;
    stopRetry ??= setTimer(() => {
      stopRetry = undefined;
      for (const subscription of [...subscriptions.values()]) void settle(subscription);
    }, retryAfter);
  }

  function tellListening(subscription: Subscription) {
    for (const { onListening } of [...subscription.listeners]) onListening?.();
  }

  /** Brings a subscription to what is wanted, one step after the other: the client mixes them up else. */
  async function settle(subscription: Subscription): Promise<void> {
    if (subscription.busy) return;
    subscription.busy = true;
    const { channel, listeners } = subscription;
    try {
      while (!disposed) {
        const wanted = listeners.size > 0;
        const current = wanted ? open() : connection;
        if (!current || (subscription.on === current) === wanted) break;
        if (wanted) {
          // A cluster takes nothing before it knows its nodes.
          await connecting;
          await current.subscribe(channel, onMessage);
          subscription.on = current;
          tellListening(subscription);
        } else {
          subscription.on = undefined;
          await current.unsubscribe(channel);
        }
      }
    } catch {
      retry();
    } finally {
      subscription.busy = false;
    }
    if (!listeners.size && !subscription.on) subscriptions.delete(channel);
  }

  return {
    listen(channel, onMessage, onListening) {
      const listener = { onMessage, onListening };
      const subscription = subscriptions.get(channel) ?? {
        channel,
        listeners: new Set(),
        on: undefined,
        busy: false,
      };
      subscriptions.set(channel, subscription);
      subscription.listeners.add(listener);
      if (subscription.on && subscription.on === connection) onListening?.();
      void settle(subscription);
      return () => {
        subscription.listeners.delete(listener);
        if (!subscription.listeners.size) void settle(subscription);
      };
    },
    dispose() {
      disposed = true;
      stopRetry?.();
      subscriptions.clear();
      try {
        connection?.destroy();
      } catch {
        // It was never open.
      }
      connection = undefined;
    },
  };
}
