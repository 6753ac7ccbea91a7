import type { CreateDialer, DialHandlers } from '../../src/client/dialer.ts';

/** A message as it was on the wire, parsed. */
export type Message = Record<string, unknown>;

/** One attempt to connect, and the connection that it became. */
export interface FakeSocket {
  readonly url: string;
  readonly state: 'dialling' | 'open' | 'ended';
  /** What the client sent, parsed, in order. */
  readonly sent: readonly Message[];
  /** The client gave it up. */
  readonly stopped: boolean;
  open(): void;
  /** Brings each message in a frame of its own, at once. */
  receive(...messages: unknown[]): void;
  /** Brings one frame as it is, at once. */
  frame(data: string): void;
  /** Ends it from outside; 1006 is a broken line. */
  end(code?: number, reason?: string): void;
}

/** What answers on the other side; called a promise callback later than the client's doing. */
export interface FakePeer {
  open?(socket: FakeSocket): void;
  message?(socket: FakeSocket, message: Message): void;
  close?(socket: FakeSocket): void;
}

/**
 * A network in memory, in place of sockets: `createClient(url, options, { environment, dialer })`.
 *
 * Attempts open by themselves while `mode` is `'up'`, fail while it is `'down'`, and stay where they
 * are while it is `'hold'`.
 */
export interface FakeNetwork {
  readonly dialer: CreateDialer;
  /** Every attempt so far, oldest first. */
  readonly sockets: readonly FakeSocket[];
  /** The newest attempt; throws where there is none. */
  readonly socket: FakeSocket;
  mode: 'up' | 'down' | 'hold';
  /** The page is gone: its socket closes, and nothing of the network reaches it any more. */
  kill(): void;
}

/** Make a network; `peer` serves it, or the test does, socket by socket. */
export function createFakeNetwork(
  peer: FakePeer = {},
  later: (task: () => void) => void = queueMicrotask,
): FakeNetwork {
  const sockets: FakeSocket[] = [];
  let killed = false;

  const createSocket = (url: string, handlers: DialHandlers) => {
    const sent: Message[] = [];
    let state: FakeSocket['state'] = 'dialling';
    let stopped = false;
    let broken = false;
    const finish = () => {
      if (state === 'open') later(() => peer.close?.(socket));
      state = 'ended';
    };
    const socket: FakeSocket = {
      url,
      sent,
      get state() {
        return state;
      },
      get stopped() {
        return stopped;
      },
      open() {
        if (state !== 'dialling' || killed) return;
        state = 'open';
        later(() => peer.open?.(socket));
        handlers.onOpen();
      },
      receive(...messages) {
        for (const message of messages) socket.frame(JSON.stringify(message));
      },
      frame(data) {
        if (state === 'open') handlers.onMessage(data);
      },
      end(code = 1006, reason = '') {
        if (state === 'ended') return;
        broken = code === 1006;
        finish();
        if (killed) return;
        handlers.onEnd({ code, reason, wasClean: code !== 1006 });
      },
    };
    return {
      socket,
      send(data: unknown) {
        if (state !== 'open') return false;
        const message = JSON.parse(String(data)) as Message;
        sent.push(message);
        // What is on its way when the line breaks is lost.
        later(() => !broken && peer.message?.(socket, message));
        return true;
      },
      stop() {
        stopped = true;
        finish();
      },
    };
  };

  const network: FakeNetwork = {
    sockets,
    mode: 'up',
    kill() {
      killed = true;
      for (const socket of sockets) socket.end();
    },
    get socket() {
      const socket = sockets.at(-1);
      if (!socket) throw new Error('nothing was dialled');
      return socket;
    },
    dialer(_WebSocket, handlers) {
      let current: ReturnType<typeof createSocket> | undefined;
      return {
        dial(url) {
          const made = createSocket(url, handlers);
          current = made;
          sockets.push(made.socket);
          const { mode } = network;
          if (mode !== 'hold' && !killed) {
            later(() => (mode === 'up' ? made.socket.open() : made.socket.end()));
          }
        },
        stop() {
          current?.stop();
          current = undefined;
        },
        send: (data) => current?.send(data) ?? false,
      };
    },
  };
  return network;
}
