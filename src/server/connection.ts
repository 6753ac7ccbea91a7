import type { Audience } from './audience.ts';
import { type Frames, isLarger, readFrame } from './frames.ts';
import { createBucket, isRunId, longestRunId } from './limits.ts';
import { createOutlet, type Port } from './outlet.ts';
import type { RunLog } from './run-log.ts';
import { createRunRequests } from './run-requests.ts';
import type { ServerSettings } from './settings.ts';
import type { Starts } from './starts.ts';
import type { CarriedConnection } from './types.ts';

/** What all connections of a server share. */
export interface ConnectionContext<Context> {
  readonly settings: ServerSettings<Context>;
  readonly log: RunLog;
  readonly frames: Frames;
  readonly audience: Audience;
  readonly starts: Starts<Context>;
  /** Once the server takes no new runs any more: how long to stay away, in ms. */
  retryAfter(): number | undefined;
  gone(connection: Connection): void;
}

/** One connection, as its server sees it. */
export interface Connection extends CarriedConnection {
  /** Whether a run that it follows is under way. */
  readonly isFollowing: boolean;
  /** Says hello, unless it is `silent`; nothing is read or sent before. */
  open(silent?: boolean): void;
  /** Tells the client to come back after `ms`, and closes. */
  sendAway(ms: number, code: number, reason: string): void;
  /** Looks whether the other side is still there. */
  check(): void;
}

/** How many requests of one connection may wait for the log. */
const longestQueue = 1_000;
/** How long a client that pings may send nothing at all, in heartbeats. */
const patience = 3;

/** How far apart pings are answered into a full socket, in ms. */
const pongWait = 1_000;

/** Serve one connection. */
export function createConnection<Context>(
  shared: ConnectionContext<Context>,
  port: Port,
  firstContext: Context,
): Connection {
  const { settings, frames } = shared;
  const { environment, limits, plain, hello, heartbeat } = settings;
  const { now, setTimer, setIdleTimer = setTimer } = environment;
  const bucket = createBucket(limits.maxRequestsPerSecond, now);
  const outlet = createOutlet(environment, { ...port, send }, limits.maxBuffered);
  /** What is being done about each run, so that its requests are answered in their order. */
  const queues = new Map<string, Promise<void>>();
  let queued = 0;
  let context = firstContext;
  let principal = settings.principal(context);
  let isOpen = false;
  let isGreeted = false;
  let takesBatches = false;
  let heardAt = now();
  let pongAt = 0;
  let stopReauth: (() => void) | undefined;

  const say = (message: object) => outlet.send(JSON.stringify(message));

  function send(data: string) {
    try {
      port.send(data);
    } catch (error) {
      settings.report(error);
      close(1011, 'cannot send');
    }
  }

  function closed() {
    if (!isOpen) return;
    isOpen = false;
    stopReauth?.();
    outlet.close();
    requests.close();
    shared.gone(connection);
  }

  function close(code = 1000, reason = '') {
    if (!isOpen) return;
    closed();
    try {
      port.close(code, reason);
    } catch (error) {
      settings.report(error);
    }
  }

  function sendAway(ms: number, code: number, reason: string) {
    if (!plain) say({ type: 'retry', after: Math.round(ms), reason });
    close(code, reason);
  }

  function flood() {
    sendAway(settings.floodWait, 4429, 'too many requests');
  }

  // Without its log the server cannot answer; another one may, or this one later.
  function failed(error: unknown) {
    settings.report(error);
    sendAway(1_000, 1013, 'the log cannot be reached');
  }

  async function onAuth(token: unknown) {
    const { authenticate } = settings;
    if (!authenticate) return;
    let renewed: Context | undefined;
    let next: string | undefined;
    try {
      renewed = await authenticate(token, context);
      if (renewed !== undefined) next = settings.principal(renewed);
    } catch (error) {
      renewed = undefined;
      settings.report(error);
    }
    if (!isOpen) return;
    if (renewed === undefined) return close(4401, 'token');
    stopReauth?.();
    context = renewed;
    const before = principal;
    principal = next;
    // Another's runs are not for this one: it asks again for what it may see.
    if (before !== principal) sendAway(0, 1012, 'other principal');
  }

  function enqueue(runId: string, task: () => Promise<void> | void) {
    if (queued >= longestQueue || !bucket.take()) return flood();
    queued++;
    const next = (queues.get(runId) ?? Promise.resolve())
      .then(() => (isOpen ? task() : undefined))
      .catch(failed)
      .then(() => {
        queued--;
        if (queues.get(runId) === next) queues.delete(runId);
      });
    queues.set(runId, next);
  }

  function handle({ type, runId, input, after, policy }: Record<string, unknown>) {
    if (!isRunId(runId)) {
      if (type !== 'run' || typeof runId !== 'string') return;
      // The answer has the id in it, however long that is.
      if (outlet.isFull || !bucket.take()) return flood();
      return requests.refuse(runId, `A run's id has 1 to ${longestRunId} characters.`);
    }
    if (type === 'run') enqueue(runId, () => requests.run(runId, input));
    else if (type === 'resume') enqueue(runId, () => requests.resume(runId, offsetOf(after)));
    else if (type === 'cancel') enqueue(runId, () => requests.cancel(runId));
    else if (type === 'policy' && !plain && policy === 'cancel') {
      enqueue(runId, () => requests.stopWithout(runId));
    }
  }

  /** What a client of version 1 says of its connection; whether it was that. */
  function handleControl({ type, n, caps, token }: Record<string, unknown>): boolean {
    if (type === 'ping') {
      // In a full socket answers pile up, and what waits there is a sign of life as well.
      if (outlet.isFull && Math.abs(now() - pongAt) < pongWait) return true;
      pongAt = now();
      say({ type: 'pong', ...(isPlainId(n) && { n }) });
    } else if (type === 'hello') {
      isGreeted = true;
      takesBatches ||= Array.isArray(caps) && caps.includes('batch');
    } else if (type === 'auth') enqueue('', () => onAuth(token));
    else return false;
    return true;
  }

  const connection: Connection = {
    get isFollowing() {
      return requests.size > 0 || queued > 0;
    },
    open(silent) {
      isOpen = true;
      heardAt = now();
      if (!silent && !plain) say(hello);
    },
    receive(data) {
      if (!isOpen) return;
      heardAt = now();
      if (isLarger(data, limits.maxMessage)) return close(1009, 'message too large');
      const message = readFrame(data);
      if (message && (plain || !handleControl(message))) handle(message);
    },
    closed,
    close,
    sendAway,
    check() {
      const time = now();
      const limit = heartbeat * patience;
      // One that says hello pings when nothing comes; what is sent to it keeps it silent.
      const quiet = Math.min(time - heardAt, time - outlet.sentAt);
      if ((isGreeted && quiet > limit) || outlet.isStuck(limit)) close(4408, 'no answer');
    },
    reauth(wait = 30_000) {
      if (!isOpen || plain) return;
      say({ type: 'reauth' });
      stopReauth?.();
      stopReauth = setIdleTimer(() => close(4401, 'token'), wait);
    },
  };

  const requests = createRunRequests<Context>(shared, {
    get isOpen() {
      return isOpen;
    },
    get context() {
      return context;
    },
    get principal() {
      return principal;
    },
    owner: connection,
    say,
    sayEvents(runId, batch) {
      const made = takesBatches && batch.length > 1 ? 'joined' : 'single';
      for (const frame of frames[made](runId, batch)) outlet.send(frame);
    },
    room: outlet.room,
    sendAway,
    flood,
    failed,
  });
  return connection;
}

/** A place in a log; anything else is its start. */
function offsetOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}

function isPlainId(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && value.length <= 64);
}
