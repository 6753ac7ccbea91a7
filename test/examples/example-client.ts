import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { ExampleServer, LoggedEvent } from './example-server.ts';

export interface Numbered {
  readonly runId: string;
  readonly offset: number;
  readonly event: LoggedEvent;
}

export interface ExampleClient {
  readonly socket: WebSocket;
  readonly frames: readonly Numbered[];
  send(message: unknown): void;
  offsets(): number[];
  until(found: (frame: Numbered) => boolean): Promise<void>;
  close(): void;
}

/** A bare client of the example server. */
export async function connectTo(server: ExampleServer, origin?: string): Promise<ExampleClient> {
  const socket = new WebSocket(server.url, origin === undefined ? {} : { origin });
  const frames: Numbered[] = [];
  const waiting = new Set<() => void>();
  socket.on('message', (data) => {
    frames.push(JSON.parse(String(data)));
    for (const check of waiting) check();
  });
  await once(socket, 'open');
  return {
    socket,
    frames,
    close: () => socket.terminate(),
    send: (message) => socket.send(JSON.stringify(message)),
    offsets: () => frames.map((frame) => frame.offset),
    until: (found) =>
      new Promise<void>((resolve) => {
        const check = () => {
          if (!frames.some(found)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
}

export const isEnd = ({ event }: Numbered): boolean =>
  event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR';
