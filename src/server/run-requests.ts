import { isRunSocketError } from '../internal/errors.ts';
import { isRecord } from '../internal/json-values.ts';
import type { ConnectionContext } from './connection.ts';
import { createFollower, type Follower } from './follower.ts';
import type { LoggedEvent, RunLogHead } from './run-log.ts';
import type { AccessRequest } from './types.ts';

/** What the requests of a client need of its connection. */
export interface Requester<Context> {
  readonly isOpen: boolean;
  readonly context: Context;
  readonly principal: string | undefined;
  /** What the runs that it starts are counted by. */
  readonly owner: object;
  say(message: object): void;
  /** Sends events of a run. */
  sayEvents(runId: string, batch: readonly LoggedEvent[]): void;
  /** A promise where `count` events must wait for room, and ask again then. */
  room(count: number): Promise<void> | undefined;
  sendAway(ms: number, code: number, reason: string): void;
  /** It asks for too much. */
  flood(): void;
  /** The log cannot be reached. */
  failed(error: unknown): void;
}

/** What a client may ask about runs; each resolves when it is answered. */
export interface RunRequests {
  /** How many runs the connection follows. */
  readonly size: number;
  run(runId: string, input: unknown): Promise<void>;
  resume(runId: string, after: number | undefined): Promise<void>;
  cancel(runId: string): Promise<void>;
  /** The run stops without followers. */
  stopWithout(runId: string): void;
  /** Answers a start that is not made as if it had failed at once. */
  refuse(runId: string, message: string): void;
  /** Follows nothing any more. */
  close(): void;
}

/** Answer the requests of one connection. */
export function createRunRequests<Context>(
  shared: ConnectionContext<Context>,
  requester: Requester<Context>,
): RunRequests {
  const { settings, log, audience, starts } = shared;
  const { environment, limits, plain } = settings;
  const { say, sayEvents, room, sendAway, flood, failed } = requester;
  const followers = new Map<string, Follower>();

  const control = (message: object) => {
    if (!plain) say(message);
  };

  // A frame of an event that is in no log, and so has no place in one: it ends the run for who asked.
  function sayError(runId: string, message: string, code: string, offset?: number) {
    say({ runId, offset, event: { type: 'RUN_ERROR', message, code } });
  }

  function unknown(runId: string, reason: 'never' | 'evicted' | 'forbidden') {
    if (!plain) return say({ type: 'run.unknown', runId, reason });
    const forbidden = reason === 'forbidden';
    const message = forbidden ? 'This run is not yours.' : 'The server no longer knows this run.';
    sayError(runId, message, forbidden ? 'run-forbidden' : 'run-unknown');
  }

  function refuse(runId: string, message: string) {
    const epoch = environment.randomId();
    control({ type: 'run.accepted', runId, epoch, next: 1, attached: false });
    sayError(runId, message, 'refused', 0);
    control({ type: 'run.end', runId, offset: 0, status: 'error' });
  }

  function unfollow(runId: string) {
    const follower = followers.get(runId);
    if (!follower) return;
    followers.delete(runId);
    follower.stop();
    audience.leave(runId);
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
        room,
        events: (batch) => sayEvents(runId, batch),
        truncated: (from) => control({ type: 'run.truncated', runId, from }),
        end(status, offset) {
          control({ type: 'run.end', runId, offset, status });
          over();
        },
        lost(reason, offset) {
          if (reason === 'evicted') unknown(runId, reason);
          else if (plain) sayError(runId, 'The run was lost.', 'run-lost');
          else say({ type: 'run.end', runId, offset: offset - 1, status: 'lost' });
          over();
        },
        failed,
      },
    );
    followers.set(runId, follower);
  }

  function accept(runId: string, epoch: string, next: number, attached: boolean) {
    control({ type: 'run.accepted', runId, epoch, next, attached });
  }

  function attach(runId: string, head: RunLogHead, after: number | undefined, keeps = false) {
    if (!requester.isOpen) return;
    if ('unknown' in head) return unknown(runId, head.unknown);
    if (isOthers(head)) return unknown(runId, 'forbidden');
    accept(runId, head.epoch, head.next, true);
    // Who follows already, and only asks for a start once more, has lost nothing.
    if (keeps) return;
    const next = (after ?? -1) + 1;
    if (next < head.from) control({ type: 'run.truncated', runId, from: head.from });
    follow(runId, head.epoch, Math.max(next, head.from));
  }

  // Who does not read gets no answers either: they would pile up in the socket.
  async function ready() {
    for (let wait = room(0); wait; wait = room(0)) await wait;
  }

  const isOthers = ({ meta }: { readonly meta: { readonly principal?: string } }) =>
    meta.principal !== undefined && meta.principal !== requester.principal;

  async function isAllowed(
    action: AccessRequest['action'],
    runId: string,
    threadId: string | undefined,
  ): Promise<boolean> {
    try {
      return await settings.authorize({ action, runId, threadId, context: requester.context });
    } catch (error) {
      settings.report(error, runId);
      return false;
    }
  }

  async function start(runId: string, threadId: string, input: unknown) {
    const retryAfter = shared.retryAfter();
    if (retryAfter !== undefined) return sendAway(retryAfter, 1012, 'going away');
    const { context, principal, owner } = requester;
    const started = await starts.start({ runId, threadId, input, context, principal }, owner);
    await ready();
    if (!requester.isOpen) return;
    if (typeof started === 'string') return refuse(runId, started);
    if (!started.created) return attach(runId, await log.head(runId), undefined);
    accept(runId, started.epoch, 0, false);
    follow(runId, started.epoch, 0);
  }

  return {
    get size() {
      return followers.size;
    },
    refuse,
    async run(runId, input) {
      const head = await log.head(runId);
      const isKnown = !('unknown' in head);
      const isEvicted = !isKnown && head.unknown === 'evicted';
      const threadId = (isKnown ? head.meta.threadId : undefined) ?? threadOf(input, runId);
      const isRefused = isEvicted || !(await isAllowed('run', runId, threadId));
      if (isKnown || isRefused) await ready();
      if (!requester.isOpen) return;
      if (isRefused) return unknown(runId, isEvicted ? 'evicted' : 'forbidden');
      if (isKnown) return attach(runId, head, undefined, followers.has(runId));
      try {
        await start(runId, threadId, input);
      } catch (error) {
        // Its log has gone in this moment.
        if (!isRunSocketError(error, 'run-unknown')) throw error;
        unknown(runId, 'evicted');
      }
    },
    async resume(runId, after) {
      await ready();
      const head = await log.head(runId);
      if (!('unknown' in head) && !(await isAllowed('resume', runId, head.meta.threadId))) {
        return unknown(runId, 'forbidden');
      }
      attach(runId, head, after);
    },
    async cancel(runId) {
      const head = await log.head(runId);
      const isKnown = !('unknown' in head);
      const threadId = isKnown ? head.meta.threadId : undefined;
      if ((isKnown && isOthers(head)) || !(await isAllowed('cancel', runId, threadId))) {
        await ready();
        control({ type: 'run.unknown', runId, reason: 'forbidden' });
      } else if (!isKnown || head.status === 'running') {
        await log.control(runId, { type: 'cancel' });
      }
    },
    stopWithout(runId) {
      if (followers.has(runId)) audience.stopWithout(runId);
    },
    close() {
      for (const runId of [...followers.keys()]) unfollow(runId);
    },
  };
}

/** The thread that an input names, or the run's own id. */
export function threadOf(input: unknown, runId: string): string {
  return isRecord(input) && typeof input.threadId === 'string' ? input.threadId : runId;
}
