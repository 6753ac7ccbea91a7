import { isRecord } from '../runs/protocol.ts';
import type { Audience } from './audience.ts';
import { createFollower, type Follower } from './follower.ts';
import { type Frames, isLarger, readFrame } from './frames.ts';
import { createBucket, isRunId, longestRunId } from './limits.ts';
import { createOutlet, type Port } from './outlet.ts';
import type { LoggedEvent, RunLog, RunLogHead } from './run-log.ts';
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
  /** The server takes no new runs any more: seconds to stay away, in ms. */
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

/** Serve one connection. */
export function createConnection<Context>(
  shared: ConnectionContext<Context>,
  port: Port,
  context: Context,
): Connection {
  const { settings, log, frames, audience, starts } = shared;
  const { environment, limits, plain, hello, heartbeat } = settings;
  const { now, setTimer, setIdleTimer = setTimer } = environment;
  const bucket = createBucket(limits.maxRequestsPerSecond, now);
  const outlet = createOutlet(environment, { ...port, send }, limits.maxBuffered);
  const followers = new Map<string, Follower>();
  /** What is being done about each run, so that its requests are answered in their order. */
  const queues = new Map<string, Promise<void>>();
  let queued = 0;
  let principal = settings.principal(context);
  let isOpen = false;
  let isGreeted = false;
  let takesBatches = false;
  let heardAt = now();
  let stopReauth: (() => void) | undefined;

  const say = (message: object) => outlet.send(JSON.stringify(message));
  const control = (message: object) => {
    if (!plain) say(message);
  };

  function closed() {
    if (!isOpen) return;
    isOpen = false;
    stopReauth?.();
    outlet.close();
    for (const runId of [...followers.keys()]) unfollow(runId);
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

  function send(data: string) {
    try {
      port.send(data);
    } catch (error) {
      settings.report(error);
      close(1011, 'cannot send');
    }
  }

  function sendAway(ms: number, code: number, reason: string) {
    control({ type: 'retry', after: Math.round(ms), reason });
    close(code, reason);
  }

  function unfollow(runId: string) {
    const follower = followers.get(runId);
    if (!follower) return;
    followers.delete(runId);
    follower.stop();
    audience.leave(runId);
  }

  // A frame of an event that is in no log: it ends the run for who asked.
  function sayError(runId: string, offset: number, message: string, code: string) {
    say({ runId, offset, event: { type: 'RUN_ERROR', message, code } });
  }

  function unknown(runId: string, reason: 'never' | 'evicted' | 'forbidden', after?: number) {
    if (!plain) return say({ type: 'run.unknown', runId, reason });
    const forbidden = reason === 'forbidden';
    const message = forbidden ? 'This run is not yours.' : 'The server no longer knows this run.';
    sayError(runId, (after ?? -1) + 1, message, forbidden ? 'run-forbidden' : 'run-unknown');
  }

  // Answers a start that is not made as if it had failed at once.
  function refuse(runId: string, message: string) {
    const epoch = environment.randomId();
    control({ type: 'run.accepted', runId, epoch, next: 1, attached: false });
    sayError(runId, 0, message, 'refused');
    control({ type: 'run.end', runId, offset: 0, status: 'error' });
  }

  function follow(runId: string, epoch: string, next: number) {
    unfollow(runId);
    if (followers.size >= limits.maxFollowsPerConnection) return flood();
    audience.join(runId);
    const over = () => {
      unfollow(runId);
      audience.forget(runId);
    };
    const follower = createFollower(
      environment,
      log,
      { runId, epoch, next },
      {
        events: (batch) => sendEvents(runId, batch),
        truncated: (from) => control({ type: 'run.truncated', runId, from }),
        end(status, offset) {
          control({ type: 'run.end', runId, offset, status });
          over();
        },
        lost(reason, offset) {
          if (reason === 'evicted') unknown(runId, reason, offset - 1);
          else if (plain) sayError(runId, offset, 'The run was lost.', 'run-lost');
          else say({ type: 'run.end', runId, offset: offset - 1, status: 'lost' });
          over();
        },
        failed,
      },
    );
    followers.set(runId, follower);
  }

  function sendEvents(runId: string, batch: readonly LoggedEvent[]): Promise<void> | undefined {
    const made = takesBatches && batch.length > 1 ? 'joined' : 'single';
    for (const frame of frames[made](runId, batch)) outlet.send(frame);
    return outlet.room(batch.length);
  }

  function accept(runId: string, head: { readonly epoch: string; next: number }, known: boolean) {
    const { epoch, next } = head;
    control({ type: 'run.accepted', runId, epoch, next, attached: known });
  }

  const isOthers = ({ meta }: { readonly meta: { readonly principal?: string } }) =>
    meta.principal !== undefined && meta.principal !== principal;

  async function isAllowed(
    action: 'run' | 'resume' | 'cancel',
    runId: string,
    threadId: string | undefined,
  ): Promise<boolean> {
    try {
      return await settings.authorize({ action, runId, threadId, context });
    } catch (error) {
      settings.report(error, runId);
      return false;
    }
  }

  async function onRun(runId: string, input: unknown) {
    const threadId = threadOf(input, runId);
    let head = await log.head(runId);
    if ('unknown' in head && head.unknown === 'evicted') return unknown(runId, 'evicted');
    const known = 'unknown' in head ? undefined : head.meta.threadId;
    if (!(await isAllowed('run', runId, known ?? threadId))) return unknown(runId, 'forbidden');
    if (!isOpen) return;
    if ('unknown' in head) {
      const retryAfter = shared.retryAfter();
      if (retryAfter !== undefined) return sendAway(retryAfter, 1012, 'going away');
      const started = await starts.start(
        { runId, threadId, input, context, principal },
        connection,
      );
      if (!isOpen) return;
      if (typeof started === 'string') return refuse(runId, started);
      if (started.created) {
        accept(runId, { epoch: started.epoch, next: 0 }, false);
        return follow(runId, started.epoch, 0);
      }
      head = await log.head(runId);
    }
    attach(runId, head, undefined, followers.has(runId));
  }

  function attach(runId: string, head: RunLogHead, after: number | undefined, keeps = false) {
    if (!isOpen) return;
    if ('unknown' in head) return unknown(runId, head.unknown, after);
    if (isOthers(head)) return unknown(runId, 'forbidden', after);
    accept(runId, head, true);
    // Who follows already, and only asks for a start once more, has lost nothing.
    if (keeps) return;
    const next = (after ?? -1) + 1;
    if (next < head.from) control({ type: 'run.truncated', runId, from: head.from });
    follow(runId, head.epoch, Math.max(next, head.from));
  }

  async function onResume(runId: string, after: number | undefined) {
    const head = await log.head(runId);
    const isKnown = !('unknown' in head);
    if (isKnown && !(await isAllowed('resume', runId, head.meta.threadId))) {
      return unknown(runId, 'forbidden', after);
    }
    attach(runId, head, after);
  }

  async function onCancel(runId: string) {
    const head = await log.head(runId);
    const threadId = 'unknown' in head ? undefined : head.meta.threadId;
    if (!('unknown' in head) && (head.status !== 'running' || isOthers(head))) {
      if (isOthers(head)) control({ type: 'run.unknown', runId, reason: 'forbidden' });
      return;
    }
    if (await isAllowed('cancel', runId, threadId)) await log.control(runId, { type: 'cancel' });
    else control({ type: 'run.unknown', runId, reason: 'forbidden' });
  }

  async function onAuth(token: unknown) {
    const { authenticate } = settings;
    if (!authenticate) return;
    let renewed: Context | undefined;
    try {
      renewed = await authenticate(token, context);
    } catch (error) {
      settings.report(error);
    }
    if (!isOpen) return;
    if (renewed === undefined) return close(4401, 'token');
    stopReauth?.();
    context = renewed;
    const before = principal;
    principal = settings.principal(context);
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

  function flood() {
    sendAway(settings.floodWait, 4429, 'too many requests');
  }

  // Without its log the server cannot answer; another one may, or this one later.
  function failed(error: unknown) {
    settings.report(error);
    sendAway(1_000, 1013, 'the log cannot be reached');
  }

  function handle(message: Record<string, unknown>) {
    const { type, runId } = message;
    if (!plain) {
      if (type === 'ping')
        return say({ type: 'pong', ...(isPlainId(message.n) && { n: message.n }) });
      if (type === 'hello') {
        isGreeted = true;
        takesBatches ||= Array.isArray(message.caps) && message.caps.includes('batch');
        return;
      }
      if (type === 'auth') return void onAuth(message.token);
    }
    if (type === 'run' && !isRunId(runId)) {
      const text = `A run's id is a text of 1 to ${longestRunId} characters.`;
      if (typeof runId === 'string' && bucket.take()) refuse(runId, text);
      return;
    }
    if (!isRunId(runId)) return;
    if (type === 'run') enqueue(runId, () => onRun(runId, message.input));
    else if (type === 'resume') enqueue(runId, () => onResume(runId, offsetOf(message.after)));
    else if (type === 'cancel') enqueue(runId, () => onCancel(runId));
    else if (type === 'policy' && !plain && message.policy === 'cancel') {
      enqueue(runId, () => {
        if (followers.has(runId)) audience.stopWithout(runId);
      });
    }
  }

  const connection: Connection = {
    get isFollowing() {
      return followers.size > 0 || queued > 0;
    },
    open(silent) {
      isOpen = true;
      heardAt = now();
      if (!silent) control(hello);
    },
    receive(data) {
      if (!isOpen) return;
      heardAt = now();
      if (isLarger(data, limits.maxMessage)) return close(1009, 'message too large');
      const message = readFrame(data);
      if (message) handle(message);
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
  return connection;
}

function threadOf(input: unknown, runId: string): string {
  return isRecord(input) && typeof input.threadId === 'string' ? input.threadId : runId;
}

/** A place in a log; anything else is its start. */
function offsetOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}

function isPlainId(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && value.length <= 64);
}
