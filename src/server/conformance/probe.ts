import type { Environment } from '../../internal/environment.ts';
import { isRecord } from '../../internal/json-values.ts';
import { parseFrame } from '../frames.ts';
import type { ConformanceSocket } from './types.ts';

/** A message off the wire. */
export type Message = Readonly<Record<string, unknown>>;

/** What makes a check fail; its message is what the report says. */
export function fail(text: string): never {
  throw new Error(text);
}

/** Fails with `text` where `condition` does not hold. */
export function expect(condition: unknown, text: string): asserts condition {
  if (!condition) fail(text);
}

/** A value in a failure, not too long. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** One connection of a check, with everything that came over it. */
export interface Probe {
  readonly messages: readonly Message[];
  /** Whether an array of messages came as one frame. */
  readonly hasBatch: boolean;
  /** The code that the connection was closed with by the server. */
  readonly closed: number | undefined;
  send(...messages: readonly unknown[]): void;
  /** Sends a text as it is. */
  sendText(text: string): void;
  /** Starts a run of the scripted agent. */
  run(runId: string, script: string): void;
  resume(runId: string, after?: number): void;
  cancel(runId: string): void;
  /** Ends the connection. */
  close(): void;
  /** The messages that are events of a run. */
  events(runId: string): readonly Message[];
  /** The controls of a type. */
  controls(type: string, runId?: string): readonly Message[];
  /** Waits for a message; those before `from` do not count. */
  until(what: string, condition: (message: Message) => boolean, from?: number): Promise<Message>;
  /** Waits until the server has closed. */
  untilClosed(what: string): Promise<number>;
  /** Waits for the end of a run: its last event, and with v1 its `run.end`. */
  untilEnd(runId: string): Promise<readonly Message[]>;
  /** Waits for as long as messages keep coming. */
  settle(ms?: number): Promise<void>;
}

/** The type of the event in a message. */
export function typeOf(message: Message | undefined): string {
  return isRecord(message?.event) ? String(message.event.type) : '';
}

/** Whether a message carries an AG-UI end of a run. */
export function isTerminal(message: Message): boolean {
  return /^RUN_(FINISHED|ERROR)$/.test(typeOf(message));
}

/** Open a probe on a socket; resolves when it is open. */
export async function createProbe(
  socket: ConformanceSocket,
  environment: Pick<Environment, 'setTimer'>,
  timeout: number,
  ends: boolean,
): Promise<Probe> {
  const { setTimer } = environment;
  const messages: Message[] = [];
  let hasBatch = false;
  let closed: number | undefined;
  let isOpen = socket.readyState === 1;
  let looks: (() => void)[] = [];
  const look = () => {
    const all = looks;
    looks = [];
    for (const one of all) one();
  };

  if ('binaryType' in socket) socket.binaryType = 'arraybuffer';
  socket.addEventListener('open', () => {
    isOpen = true;
    look();
  });
  socket.addEventListener('message', ({ data }: { readonly data: unknown }) => {
    const value = parseFrame(data);
    if (Array.isArray(value)) hasBatch = true;
    for (const one of Array.isArray(value) ? value : [value]) if (isRecord(one)) messages.push(one);
    look();
  });
  socket.addEventListener('close', ({ code }: { readonly code?: number }) => {
    closed ??= code ?? 1006;
    look();
  });
  socket.addEventListener('error', () => {});

  // Waits until `find` gives something.
  const wait = <Value>(what: string, find: () => Value | undefined, mayClose = false) =>
    new Promise<Value>((resolve, reject) => {
      const stop = setTimer(() => done(`${what} did not come within ${timeout} ms.`), timeout);
      const done = (problem: string) => {
        stop();
        looks = looks.filter((one) => one !== check);
        reject(new Error(problem));
      };
      const check = () => {
        const found = find();
        if (found !== undefined) {
          stop();
          resolve(found);
        } else if (closed !== undefined && !mayClose) {
          done(`${what} did not come: the server closed with ${closed}.`);
        } else looks.push(check);
      };
      check();
    });

  await wait('The connection', () => isOpen || undefined);

  const probe: Probe = {
    messages,
    get hasBatch() {
      return hasBatch;
    },
    get closed() {
      return closed;
    },
    send(...all) {
      for (const one of all) probe.sendText(JSON.stringify(one));
    },
    sendText: (text) => void socket.send(text),
    run: (runId, script) => probe.send(createStart(runId, script)),
    resume: (runId, after) => probe.send({ type: 'resume', runId, after }),
    cancel: (runId) => probe.send({ type: 'cancel', runId }),
    close: () => void socket.close(),
    events: (runId) => messages.filter((one) => one.runId === runId && isRecord(one.event)),
    controls: (type, runId) =>
      messages.filter(
        (one) => one.type === type && (runId === undefined || one.runId === runId) && !one.event,
      ),
    until: (what, condition, from = 0) => wait(what, () => messages.slice(from).find(condition)),
    untilClosed: (what) => wait(what, () => closed, true),
    async untilEnd(runId) {
      const isEnd = (one: Message) =>
        one.runId === runId && (ends ? one.type === 'run.end' && !one.event : isTerminal(one));
      await probe.until(`The end of run ${runId}`, isEnd);
      return probe.events(runId);
    },
    async settle(ms = 100) {
      for (let before = -1; before < messages.length; ) {
        before = messages.length;
        await new Promise<void>((resolve) => setTimer(resolve, ms));
      }
    },
  };
  return probe;
}

/** The `run` message of a run of the scripted agent. */
export function createStart(runId: string, script: string): Message {
  const messages = [{ id: 'm1', role: 'user', content: script }];
  const input = {
    threadId: 'conformance',
    runId,
    messages,
    tools: [],
    context: [],
    forwardedProps: {},
  };
  return { type: 'run', runId, input };
}
