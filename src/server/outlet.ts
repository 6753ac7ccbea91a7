import type { Environment } from '../internal/environment.ts';

/** What carries a connection. */
export interface Port {
  send(data: string): void;
  close(code: number, reason: string): void;
  /** Bytes that wait to be sent. */
  bufferedAmount(): number;
}

/** The way out of a connection, which never holds more than a slow reader can take. */
export interface Outlet {
  /** When something was last sent, in ms since 1970. */
  readonly sentAt: number;
  send(frame: string): void;
  /** A promise where who wants to send `count` events must wait, and ask again then: the socket is full, or others have to get their turn. */
  room(count: number): Promise<void> | undefined;
  /** Whether the socket is full. */
  readonly isFull: boolean;
  /** Whether a full socket has taken nothing for so many ms. */
  isStuck(ms: number): boolean;
  /** Nothing is sent any more; who waits goes on. */
  close(): void;
}

/** How often a full socket is looked at, in ms: more rarely while nothing moves. */
const polls = { first: 10, last: 160 };
/** How many events are sent before others get their turn. */
const turn = 2_000;

/** Make the outlet of a connection; `limit` bytes may wait in its socket. */
export function createOutlet(
  { now, setTimer }: Pick<Environment, 'now' | 'setTimer'>,
  port: Port,
  limit: number,
): Outlet {
  let isClosed = false;
  let sentAt = now();
  let sent = 0;
  let waiting: Promise<void> | undefined;
  let release = () => {};
  let least = Infinity;
  let movedAt = 0;

  // One poll for all that read into this socket.
  const wait = (isDone: () => boolean, ms: number) => {
    waiting ??= new Promise<void>((resolve) => {
      let pause = ms;
      const look = () => {
        if (!isClosed && !isDone()) {
          pause = now() - movedAt > pause ? Math.min(pause * 2, polls.last) : polls.first;
          cancel = setTimer(look, pause);
          return;
        }
        waiting = undefined;
        sent = 0;
        least = Infinity;
        resolve();
      };
      let cancel = setTimer(look, ms);
      release = () => {
        cancel();
        look();
      };
    });
    return waiting;
  };

  const isFull = () => port.bufferedAmount() > limit;
  const isEmptier = () => {
    const amount = port.bufferedAmount();
    if (amount < least) {
      least = amount;
      movedAt = now();
    }
    return amount <= limit / 2;
  };

  return {
    get sentAt() {
      return sentAt;
    },
    get isFull() {
      return isFull();
    },
    send(frame) {
      if (isClosed) return;
      sentAt = now();
      port.send(frame);
    },
    room(count) {
      if (isClosed) return undefined;
      if (waiting) return waiting;
      if (isFull()) {
        movedAt = now();
        return wait(isEmptier, polls.first);
      }
      sent += count;
      return sent > turn ? wait(() => true, 0) : undefined;
    },
    isStuck: (ms) => waiting !== undefined && least < Infinity && now() - movedAt > ms,
    close() {
      isClosed = true;
      if (waiting) release();
    },
  };
}
