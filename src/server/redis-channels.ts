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
  /** When the connection came back last, by the wall clock in ms; undefined where it never was away. */
  readonly cameBackAt: number | undefined;
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
  { now, setTimer }: BaseEnvironment,
): RedisChannels {
  const subscriptions = new Map<string, Subscription>();
  let connection: RedisSubscriberLike | undefined;
  let cameBackAt: number | undefined;
  let wasReady = false;
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
      if (wasReady) {
        cameBackAt = now();
        for (const subscription of [...subscriptions.values()]) {
          if (subscription.on === opened) tellListening(subscription);
        }
      }
      wasReady = true;
    });
    const drop = () => {
      if (connection !== opened) return;
      connection = undefined;
      retry();
    };
    opened.on('end', drop);
    opened.connect().catch(drop);
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
          await current.subscribe(channel, onMessage);
          subscription.on = current;
          tellListening(subscription);
        } else {
          subscription.on = undefined;
          await current.unsubscribe(channel, onMessage);
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
    get cameBackAt() {
      return cameBackAt;
    },
    dispose() {
      disposed = true;
      stopRetry?.();
      subscriptions.clear();
      connection?.destroy();
      connection = undefined;
    },
  };
}
