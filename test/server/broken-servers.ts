import type { ConformanceSocket } from '../../src/server/conformance/types.ts';

/** A message as it goes over the wire. */
export type Message = Record<string, unknown>;

/** Serves one connection. */
export type Connect = (
  send: (text: string) => void,
  close: (code: number) => void,
  stranger: boolean,
) => { receive(text: string): void; closed(): void };

/** A server that is wrong in one way, made of one that is right. */
export interface BrokenServer {
  readonly name: string;
  readonly profile: 'v1' | 'plain';
  /** The checks that have to fail. */
  readonly fails: readonly string[];
  wrap(connect: Connect): Connect;
}

/** A client's socket on a server in memory; frames arrive later, and in order. */
export function toSocket(connect: Connect, stranger = false): ConformanceSocket {
  const listeners = new Map<string, Set<(event: unknown) => void>>();
  const fire = (type: string, event: unknown) => {
    for (const listener of listeners.get(type) ?? []) listener(event);
  };
  let isClosed = false;
  const later = (task: () => void) => void setImmediate(task);
  const end = (code: number) => {
    if (isClosed) return;
    isClosed = true;
    fire('close', { code });
  };
  const server = connect(
    (data) => later(() => !isClosed && fire('message', { data })),
    (code) => later(() => end(code)),
    stranger,
  );
  return {
    readyState: 1,
    send: (text) => later(() => !isClosed && server.receive(text)),
    close() {
      later(() => {
        end(1005);
        server.closed();
      });
    },
    addEventListener(type, listener) {
      const set = listeners.get(type) ?? new Set();
      set.add(listener);
      listeners.set(type, set);
    },
  };
}

const read = (text: string): Message | undefined => {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
};
const typeOf = ({ event }: Message): unknown => (event as Message | undefined)?.type;

/** Changes what the server says. */
const outgoing =
  (change: (message: Message) => readonly Message[]) =>
  (connect: Connect): Connect =>
  (send, close, stranger) =>
    connect(
      (text) => {
        const message = read(text);
        if (!message) return send(text);
        for (const one of change(message)) send(JSON.stringify(one));
      },
      close,
      stranger,
    );

/** Changes what the server hears. */
const incoming =
  (make: () => (message: Message) => readonly Message[]) =>
  (connect: Connect): Connect =>
  (send, close, stranger) => {
    const change = make();
    const server = connect(send, close, stranger);
    return {
      closed: server.closed,
      receive(text) {
        const message = read(text);
        if (!message) return server.receive(text);
        for (const one of change(message)) server.receive(JSON.stringify(one));
      },
    };
  };

/** Servers that are broken in one way each. */
export const brokenServers: readonly BrokenServer[] = [
  {
    name: 'runs an id again that it knows',
    profile: 'plain',
    fails: ['start-once', 'start-once-at-the-same-time', 'start-once-after-the-end'],
    wrap(connect) {
      let count = 0;
      const names = new Map<unknown, string>();
      return (send, close, stranger) => {
        const inner = new Map<string, string>();
        const server = connect(
          (text) => {
            const message = read(text) ?? {};
            send(
              JSON.stringify({ ...message, runId: inner.get(`${message.runId}`) ?? message.runId }),
            );
          },
          close,
          stranger,
        );
        return {
          closed: server.closed,
          receive(text) {
            const message = read(text);
            if (!message || typeof message.runId !== 'string') return server.receive(text);
            const { runId } = message;
            if (message.type === 'run') names.set(runId, `${runId}/${count++}`);
            const name = names.get(runId) ?? runId;
            inner.set(name, runId);
            server.receive(JSON.stringify({ ...message, runId: name }));
          },
        };
      };
    },
  },
  {
    name: 'stops the run when its socket drops',
    profile: 'plain',
    fails: ['a-drop-is-no-cancel', 'a-run-belongs-to-no-connection'],
    wrap: (connect) => (send, close, stranger) => {
      const started = new Set<unknown>();
      const server = connect(send, close, stranger);
      return {
        receive(text) {
          const message = read(text);
          if (message?.type === 'run') started.add(message.runId);
          server.receive(text);
        },
        closed() {
          for (const runId of started) server.receive(JSON.stringify({ type: 'cancel', runId }));
          setImmediate(server.closed);
        },
      };
    },
  },
  {
    name: 'attaches live before the replay',
    profile: 'v1',
    fails: ['replay-before-live'],
    wrap: (connect) => (send, close, stranger) => {
      let held: string[] | undefined;
      const server = connect(
        (text) => {
          const message = read(text);
          if (!held || !message?.event) return send(text);
          held.push(text);
          if (held.length < 10) return;
          for (const frame of [...held.slice(5), ...held.slice(0, 5)]) send(frame);
          held = undefined;
        },
        close,
        stranger,
      );
      return {
        closed: server.closed,
        receive(text) {
          const message = read(text);
          if (message?.type === 'resume' && message.after === undefined) held = [];
          server.receive(text);
        },
      };
    },
  },
  {
    name: 'keeps a second reader for each resume',
    profile: 'plain',
    fails: ['one-reader'],
    wrap: (connect) => (send, close, stranger) => {
      const servers = [connect(send, close, stranger)];
      return {
        closed() {
          for (const server of servers) server.closed();
        },
        receive(text) {
          if (read(text)?.type === 'resume') servers.push(connect(send, close, stranger));
          servers.at(-1)?.receive(text);
        },
      };
    },
  },
  {
    name: 'begins a replay with the event that the client has',
    profile: 'plain',
    fails: ['resume-after'],
    wrap: incoming(() => (message) => [
      message.type === 'resume' && Number(message.after) > 0
        ? { ...message, after: Number(message.after) - 1 }
        : message,
    ]),
  },
  {
    name: 'loses one event of each replay',
    profile: 'v1',
    fails: ['resume-after', 'batch'],
    wrap: incoming(() => (message) => [
      message.type === 'resume' && message.after !== undefined
        ? { ...message, after: Number(message.after) + 1 }
        : message,
    ]),
  },
  {
    name: 'forgets a cancel that comes too early',
    profile: 'v1',
    fails: ['cancel-too-early'],
    wrap(connect) {
      const known = new Set<unknown>();
      return incoming(() => (message) => {
        if (message.type === 'run') known.add(message.runId);
        return message.type === 'cancel' && !known.has(message.runId) ? [] : [message];
      })(connect);
    },
  },
  {
    name: 'says run.accepted behind the first event',
    profile: 'v1',
    fails: ['accepted'],
    wrap: (connect) => (send, close, stranger) => {
      const waiting = new Map<unknown, Message>();
      return outgoing((message) => {
        if (message.type === 'run.accepted') {
          waiting.set(message.runId, message);
          return [];
        }
        const accepted = waiting.get(message.runId);
        waiting.delete(message.runId);
        return accepted ? [message, accepted] : [message];
      })(connect)(send, close, stranger);
    },
  },
  {
    name: 'never says run.end',
    profile: 'v1',
    fails: ['end', 'end-for-who-has-all', 'whole-run'],
    wrap: outgoing((message) => (message.type === 'run.end' ? [] : [message])),
  },
  {
    name: 'tells the number of events where the last offset belongs',
    profile: 'v1',
    fails: ['end'],
    wrap: outgoing((message) =>
      message.type === 'run.end' ? [{ ...message, offset: Number(message.offset) + 1 }] : [message],
    ),
  },
  {
    name: 'sends arrays to clients that have not said that they take them',
    profile: 'v1',
    fails: ['no-batch-before-hello'],
    wrap: (connect) => (send, close, stranger) => {
      const server = connect(send, close, stranger);
      server.receive('{"type":"hello","caps":["batch"]}');
      return server;
    },
  },
  {
    name: 'closes on what it does not know',
    profile: 'v1',
    fails: ['nonsense-is-ignored'],
    wrap: (connect) => (send, close, stranger) => {
      const server = connect(send, close, stranger);
      return {
        closed: server.closed,
        receive(text) {
          const known = /^(run|resume|cancel|hello|ping|policy|auth)$/.test(`${read(text)?.type}`);
          if (known) return server.receive(text);
          server.closed();
          close(1002);
        },
      };
    },
  },
  {
    name: 'counts from one',
    profile: 'plain',
    fails: ['offsets'],
    wrap: outgoing((message) => [
      message.event ? { ...message, offset: Number(message.offset) + 1 } : message,
    ]),
  },
  {
    name: 'leaves a run open whose agent throws',
    profile: 'plain',
    fails: ['failing-agent'],
    wrap: outgoing((message) => (typeOf(message) === 'RUN_ERROR' ? [] : [message])),
  },
  {
    name: 'waits for the client to speak first',
    profile: 'v1',
    fails: ['hello'],
    wrap: (connect) => (send, close, stranger) => {
      let hasSpoken = false;
      const held: string[] = [];
      const server = connect((text) => (hasSpoken ? send(text) : held.push(text)), close, stranger);
      return {
        closed: server.closed,
        receive(text) {
          hasSpoken = true;
          held.splice(0).forEach(send);
          server.receive(text);
        },
      };
    },
  },
  {
    name: 'takes a message of any size',
    profile: 'v1',
    fails: ['too-large'],
    wrap: (connect) => (send, close, stranger) => {
      const server = connect(send, close, stranger);
      return {
        closed: server.closed,
        receive: (text) => server.receive(text.length > 100_000 ? '{}' : text),
      };
    },
  },
  {
    name: 'shows runs to strangers',
    profile: 'plain',
    fails: ['strangers'],
    wrap: (connect) => (send, close) => connect(send, close, false),
  },
  {
    name: 'is silent to a ping',
    profile: 'v1',
    fails: ['ping'],
    wrap: outgoing((message) => (message.type === 'pong' ? [] : [message])),
  },
  {
    name: 'gives each connection an epoch of its own',
    profile: 'v1',
    fails: ['accepted'],
    wrap: outgoing((message) =>
      message.type === 'run.accepted' ? [{ ...message, epoch: `e${Math.random()}` }] : [message],
    ),
  },
  {
    name: 'forgets the cancelled outcome',
    profile: 'plain',
    fails: ['cancel', 'cancel-from-elsewhere', 'cancel-too-early'],
    wrap: outgoing((message) =>
      typeOf(message) === 'RUN_FINISHED'
        ? [{ ...message, event: { ...(message.event as Message), outcome: { type: 'success' } } }]
        : [message],
    ),
  },
  {
    name: 'says hello on a plain connection',
    profile: 'plain',
    fails: ['no-controls'],
    wrap: (connect) => (send, close, stranger) => {
      send('{"type":"hello","v":1,"caps":[]}');
      return connect(send, close, stranger);
    },
  },
];
