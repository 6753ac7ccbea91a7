import PartySocket from 'partysocket/ws';
import type { WebSocketConstructor, WebSocketData, WebSocketLike } from './types.ts';

/** How an attempt or an open connection ended by itself. */
export interface DialEnd {
  /** 1006 where there was no close frame. */
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;
}

/** The end of what ended without a close frame. */
export const broken: DialEnd = { code: 1006, reason: '', wasClean: false };

/** What a dialer tells: for each `dial()` at most one `onOpen`, then messages, then one `onEnd`; nothing after `stop()`. */
export interface DialHandlers {
  onOpen(): void;
  onMessage(data: string | ArrayBuffer): void;
  /** `cause`: what the socket, or its constructor, reported. */
  onEnd(end: DialEnd, cause?: unknown): void;
}

/** One socket at a time; when to dial is decided by its owner. */
export interface Dialer {
  /** Opens a socket. First of all, or after `onEnd` or `stop()`. */
  dial(url: string, protocols?: string | string[]): void;
  /** Detaches the socket or the attempt, then closes it: with a code politely, without one at once. */
  stop(code?: number, reason?: string): void;
  /** `false` where the socket cannot take it any more. */
  send(data: WebSocketData): boolean;
}

/** What makes a dialer. */
export type CreateDialer = (WebSocket: WebSocketConstructor, handlers: DialHandlers) => Dialer;

type Protocols = string | string[] | null;

// Bundlers that follow Node's rules hand over the whole CommonJS module as its default export.
const Engine: typeof PartySocket =
  (PartySocket as unknown as { readonly default?: typeof PartySocket }).default ?? PartySocket;

/**
 * The dialer on partysocket.
 *
 * partysocket asks its url provider for every attempt; ours waits there until `dial()`. What was
 * stopped is never used again: the next `dial()` gets a fresh partysocket, because one that is
 * closing, or waiting for its provider, cannot be told to reconnect. Events are taken from the socket
 * itself: partysocket makes up a clean close after an `error`, and clones whatever it hands on.
 */
export const createPartyDialer: CreateDialer = (WebSocket, handlers) => {
  let engine: PartySocket | undefined;
  let attached: (WebSocketLike & { terminate?: () => void }) | undefined;
  let target: Promise<readonly [string, Protocols]>;
  let aim: (target: [string, Protocols]) => void;

  const reset = () => {
    attached = undefined;
    target = new Promise((resolve) => {
      aim = resolve;
    });
  };
  reset();

  const end = (how: DialEnd, cause?: unknown) => {
    reset();
    handlers.onEnd(how, cause);
  };

  function Socket(url: string, protocols?: string | string[]): WebSocketLike {
    try {
      const socket = protocols ? new WebSocket(url, protocols) : new WebSocket(url);
      const add = socket.addEventListener.bind(socket);
      const on = <Event>(type: string, task: (event: Event) => void) =>
        add(type, (event: Event) => {
          if (socket === attached) task(event);
        });
      on('open', handlers.onOpen);
      on('message', ({ data }: { data: string | ArrayBuffer }) => handlers.onMessage(data));
      on('error', (event: { error?: unknown; message?: unknown }) =>
        end(broken, event.error ?? event.message),
      );
      on('close', ({ code, reason, wasClean }: DialEnd) => end({ code, reason, wasClean }));
      socket.addEventListener = (type, listener) => {
        if (type !== 'message') add(type, listener);
      };
      attached = socket;
      return socket;
    } catch (error) {
      end(broken, error);
      throw error;
    }
  }

  const start = () => {
    const own = new Engine(
      () => target.then(([url]) => url),
      // Asked together with the url, so it has to wait as long.
      () => target.then(([, protocols]) => protocols),
      {
        WebSocket: Socket,
        maxEnqueuedMessages: 0,
        minReconnectionDelay: 0,
        reconnectionDelayGrowFactor: 1,
        connectionTimeout: 2 ** 31 - 1,
        // Its timer would outlive a socket that is stopped while it opens.
        minUptime: 0,
      },
    );
    own.binaryType = 'arraybuffer';
    return own;
  };

  return {
    dial(url, protocols) {
      engine ??= start();
      aim([url, protocols ?? null]);
    },
    stop(code, reason) {
      const stopped = engine;
      const socket = attached;
      engine = undefined;
      reset();
      stopped?.close(code, reason);
      // Only `ws` has it: there a dead peer would keep the process alive for 30 s.
      if (!code) socket?.terminate?.();
    },
    send(data) {
      if (attached?.readyState !== 1) return false;
      attached.send(data);
      return true;
    },
  };
};
