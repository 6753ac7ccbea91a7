import PartySocket, { CloseEvent as MadeUpCloseEvent } from 'partysocket/ws';
import type { WebSocketConstructor, WebSocketData, WebSocketLike } from './types.ts';

/** How an attempt or an open connection ended by itself. */
export interface DialEnd {
  /** 1006 where there was no close frame. */
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;
  /** What the socket, or its constructor, reported. */
  readonly cause?: unknown;
}

/** What a dialer tells: for each `dial()` at most one `onOpen`, then messages, then one `onEnd`; nothing after `stop()`. */
export interface DialHandlers {
  onOpen(): void;
  onMessage(data: string | ArrayBuffer): void;
  onEnd(end: DialEnd): void;
}

/** One socket at a time; when to dial is decided by its owner. */
export interface Dialer {
  /** Opens a socket. Only after `onEnd`, after `stop()`, or first of all. */
  dial(url: string, protocols?: string | string[]): void;
  /** Detaches the socket or the attempt, then closes it; `dead`: without waiting for the peer's goodbye. */
  stop(code?: number, reason?: string, dead?: boolean): void;
  /** `false` where the socket cannot take it any more. */
  send(data: WebSocketData): boolean;
}

/** What makes a dialer. */
export type CreateDialer = (WebSocket: WebSocketConstructor, handlers: DialHandlers) => Dialer;

interface Target {
  readonly url: string;
  readonly protocols: string | string[] | null;
}

type RawSocket = WebSocketLike & { terminate?: () => void };

// Bundlers that follow Node's rules hand over the whole CommonJS module as its default export.
const Engine: typeof PartySocket =
  (PartySocket as unknown as { readonly default?: typeof PartySocket }).default ?? PartySocket;

/**
 * The dialer on partysocket.
 *
 * partysocket asks its url provider for every attempt; ours waits there until `dial()`. What was
 * stopped is never used again: the next `dial()` gets a fresh partysocket, because one that is
 * closing, or waiting for its provider, cannot be told to reconnect.
 */
export const createPartyDialer: CreateDialer = (WebSocket, handlers) => {
  let engine: PartySocket | undefined;
  let raw: RawSocket | undefined;
  let cause: unknown;
  let target: Target | undefined;
  let wake: ((target: Target) => void) | undefined;

  const end = (info: DialEnd) => {
    raw = undefined;
    handlers.onEnd(info);
  };

  const start = (): PartySocket => {
    let asked: Promise<Target>;
    const isCurrent = () => engine === own;

    // Hands partysocket a socket without its messages: it would clone every one of them.
    function Socket(url: string, protocols?: string | string[]): object {
      cause = undefined;
      let socket: RawSocket;
      try {
        socket = protocols ? new WebSocket(url, protocols) : new WebSocket(url);
      } catch (error) {
        // partysocket has no event for this one.
        if (isCurrent()) end({ code: 1006, reason: '', wasClean: false, cause: error });
        throw error;
      }
      socket.binaryType = 'arraybuffer';
      socket.addEventListener('message', (event: { data: string | ArrayBuffer }) => {
        if (raw === socket) handlers.onMessage(event.data);
      });
      socket.addEventListener('error', (event: { error?: unknown; message?: unknown }) => {
        if (raw === socket) cause ??= event.error ?? event.message;
      });
      raw = socket;
      return {
        get readyState() {
          return socket.readyState;
        },
        close: (code?: number, reason?: string) => socket.close(code, reason),
        addEventListener(type: string, listener: () => void) {
          if (type !== 'message') socket.addEventListener(type, listener);
        },
        removeEventListener: (type: string, listener: () => void) =>
          socket.removeEventListener(type, listener),
      };
    }

    const own: PartySocket = new Engine(
      () => {
        asked = new Promise((resolve) => {
          if (!isCurrent()) return;
          if (target) resolve(target);
          else wake = resolve;
          target = undefined;
        });
        return asked.then(({ url }) => url);
      },
      // Asked right after the url, and settled with it.
      () => asked.then(({ protocols }) => protocols),
      {
        WebSocket: Socket,
        maxEnqueuedMessages: 0,
        minReconnectionDelay: 0,
        reconnectionDelayGrowFactor: 1,
        connectionTimeout: 2 ** 31 - 1,
      },
    );
    own.onopen = () => handlers.onOpen();
    own.onclose = (event) => {
      if (!raw) return;
      end(
        // After an `error` partysocket makes up a clean close and drops the real one.
        (event as unknown) instanceof MadeUpCloseEvent
          ? { code: 1006, reason: '', wasClean: false, cause }
          : { code: event.code, reason: event.reason, wasClean: event.wasClean, cause },
      );
    };
    return own;
  };

  return {
    dial(url, protocols = undefined) {
      const next = { url, protocols: protocols ?? null };
      if (wake) wake(next);
      else target = next;
      wake = undefined;
      engine ??= start();
    },
    stop(code, reason, dead) {
      const stopped = engine;
      const socket = raw;
      engine = raw = wake = target = undefined;
      if (!stopped) return;
      stopped.onopen = stopped.onclose = null;
      stopped.close(code, reason);
      if (dead) socket?.terminate?.();
    },
    send(data) {
      if (raw?.readyState !== 1) return false;
      raw.send(data);
      return true;
    },
  };
};
