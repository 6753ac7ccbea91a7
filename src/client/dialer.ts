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

/** The end of what was given up on this side. */
export const givenUp: DialEnd = { ...broken, code: 1000 };

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

/** What `ws` has beyond a browser's socket. */
type NodeWebSocket = WebSocketLike & { terminate?: () => void };
type NodeWebSocketConstructor = {
  readonly prototype?: NodeWebSocket;
  new (url: string, protocols: string | string[], options?: object): NodeWebSocket;
};

// Bundlers that follow Node's rules hand over the whole CommonJS module as its default export.
const Engine: typeof PartySocket =
  (PartySocket as unknown as { readonly default?: typeof PartySocket }).default ?? PartySocket;

/**
 * The dialer on partysocket: one for each attempt, which is never told to reconnect, because one that
 * is closing, or waiting for its url, cannot be. Events are taken from the socket itself: partysocket
 * makes up a clean close after an `error`, and clones whatever it hands on.
 */
export const createPartyDialer: CreateDialer = (given, handlers) => {
  const WebSocket = given as NodeWebSocketConstructor;
  let engine: PartySocket | undefined;
  let attached: NodeWebSocket | undefined;

  const end = (how: DialEnd, cause?: unknown) => {
    attached = undefined;
    handlers.onEnd(how, cause);
  };

  function Socket(url: string, protocols: string | string[]): WebSocketLike {
    try {
      // Only `ws` has `terminate`. It would wait 30 s for a dead peer's goodbye, and keep Node alive.
      const socket = WebSocket.prototype?.terminate
        ? new WebSocket(url, protocols, { closeTimeout: 1_000 })
        : new WebSocket(url, protocols);
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

  return {
    dial(url, protocols = []) {
      engine = new Engine(url, protocols, {
        WebSocket: Socket,
        maxEnqueuedMessages: 0,
        maxRetries: 0,
        minUptime: 0,
        connectionTimeout: 2 ** 31 - 1,
      });
      engine.binaryType = 'arraybuffer';
    },
    stop(code, reason) {
      const socket = attached;
      attached = undefined;
      engine?.close(code, reason);
      // Given up: nobody waits for a goodbye.
      if (!code) socket?.terminate?.();
    },
    send(data) {
      if (attached?.readyState !== 1) return false;
      attached.send(data);
      return true;
    },
  };
};
