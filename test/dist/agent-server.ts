import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/** A server that knows the three messages, and speaks one word after the other. */
export interface AgentServer {
  readonly url: string;
  /** How often each run was started. */
  readonly starts: ReadonlyMap<string, number>;
  /** Every message that came in, in order. */
  readonly received: readonly { readonly type: string; readonly [field: string]: unknown }[];
  readonly connections: number;
  close(): Promise<void>;
}

interface Log {
  readonly frames: string[];
  readonly followers: Set<WebSocket>;
}

/** The words of the answer; with spaces between them they are its text. */
export const words: readonly string[] = Array.from({ length: 40 }, (_, index) => `word${index}`);

/**
 * Start a server. It says the first half of the answer at once, and the second half as soon as
 * somebody resumes; or, with `whole`, everything at once.
 */
export async function startAgentServer(options: { readonly whole: boolean }): Promise<AgentServer> {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await new Promise((resolve) => wss.once('listening', resolve));
  const logs = new Map<string, Log>();
  const starts = new Map<string, number>();
  const received: { type: string }[] = [];
  let connections = 0;

  const append = (runId: string, event: Record<string, unknown>) => {
    const { frames, followers } = logs.get(runId) as Log;
    const frame = JSON.stringify({ runId, offset: frames.length, event });
    frames.push(frame);
    for (const socket of followers) socket.send(frame);
  };
  const say = (runId: string, part: readonly string[]) => {
    for (const word of part) {
      const delta = word === words[0] ? word : ` ${word}`;
      append(runId, { type: 'TEXT_MESSAGE_CONTENT', messageId: `${runId}-answer`, delta });
    }
  };
  const finish = (runId: string, threadId: string) => {
    append(runId, { type: 'TEXT_MESSAGE_END', messageId: `${runId}-answer` });
    append(runId, { type: 'RUN_FINISHED', threadId, runId });
  };

  wss.on('connection', (socket) => {
    connections++;
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as {
        type: string;
        runId: string;
        input: { threadId: string };
        after?: number;
      };
      const { type, runId, input, after = -1 } = message;
      received.push(message);
      const log = logs.get(runId);
      if (type === 'run') {
        starts.set(runId, (starts.get(runId) ?? 0) + 1);
        if (log) return;
        logs.set(runId, { frames: [], followers: new Set([socket]) });
        append(runId, { type: 'RUN_STARTED', threadId: input.threadId, runId });
        append(runId, { type: 'TEXT_MESSAGE_START', messageId: `${runId}-answer` });
        say(runId, words.slice(0, 20));
        if (!options.whole) return;
        say(runId, words.slice(20));
        finish(runId, input.threadId);
      } else if (type === 'resume' && log) {
        log.followers.add(socket);
        for (const frame of log.frames.slice(after + 1)) socket.send(frame);
        if (log.frames.length > 22) return;
        say(runId, words.slice(20));
        finish(runId, 'thread');
      }
    });
  });

  return {
    url: `ws://127.0.0.1:${(wss.address() as AddressInfo).port}`,
    starts,
    received,
    get connections() {
      return connections;
    },
    close() {
      for (const socket of wss.clients) socket.terminate();
      return new Promise((resolve) => wss.close(() => resolve()));
    },
  };
}
