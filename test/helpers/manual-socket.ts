import type { WebSocketConstructor, WebSocketData } from '../../src/client/types.ts';

/** A WebSocket whose network is the test: nothing happens by itself. */
export interface ManualSocket {
  readonly url: string;
  readonly protocols: string | string[] | undefined;
  readyState: number;
  binaryType: string;
  readonly sent: WebSocketData[];
  /** The arguments of each `close()`. */
  readonly closed: (readonly [code: number | undefined, reason: string | undefined])[];
  isTerminated: boolean;
  /** Fires an event at those that listen. */
  fire(type: 'open' | 'message' | 'error' | 'close', fields?: object): void;
}

/** Make a WebSocket class and the list of its instances. */
export function createManualWebSocket(): {
  readonly WebSocket: WebSocketConstructor;
  readonly sockets: ManualSocket[];
} {
  const sockets: ManualSocket[] = [];
  class Socket extends EventTarget implements ManualSocket {
    readonly url: string;
    readonly protocols: string | string[] | undefined;
    readyState = 0;
    binaryType = 'blob';
    isTerminated = false;
    readonly sent: WebSocketData[] = [];
    readonly closed: [number | undefined, string | undefined][] = [];
    constructor(url: string, protocols?: string | string[]) {
      super();
      this.url = url;
      this.protocols = protocols;
      sockets.push(this);
    }
    send(data: WebSocketData) {
      this.sent.push(data);
    }
    close(code?: number, reason?: string) {
      this.closed.push([code, reason]);
      this.readyState = 2;
    }
    terminate() {
      this.isTerminated = true;
    }
    fire(type: string, fields: object = {}) {
      if (type === 'open') this.readyState = 1;
      if (type === 'close') this.readyState = 3;
      this.dispatchEvent(Object.assign(new Event(type), fields));
    }
  }
  return { WebSocket: Socket as unknown as WebSocketConstructor, sockets };
}
