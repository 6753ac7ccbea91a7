import type { Wire } from '../client/wire.ts';
import { RunSocketError } from '../internal/errors.ts';
import { isRecord } from '../internal/json-values.ts';
import { asDuration, isHello, parseRunControl, type RunControl } from './protocol.ts';

/** One run under way, as the session sees it. */
export interface SessionRun {
  readonly id: string;
  /** When it was started, in ms since 1970: runs are taken up oldest first, whoever made them. */
  readonly since: number;
  /** Its number among the runs of the client. */
  readonly serial: number;
  /** How long its connection may stay silent while it streams; undefined while it does not. */
  readonly idleTimeout: number | undefined;
  /** Its start is not confirmed, or the server has said that there is more of it than has come. */
  readonly isOwed: boolean;
  open(idle: boolean): void;
  repeatCancel(): void;
  /** What comes after every resume and cancel of the client: an unsent start, or more questions. */
  followUp(): void;
  announcePolicy(): void;
  /** `swapped`: by this side, which knows of no drop. */
  close(end: {
    readonly error: RunSocketError;
    readonly final: boolean;
    readonly swapped: boolean;
  }): void;
  fail(error: RunSocketError): void;
}

/** The runs of one `createRuns`, as the session sees them. */
export interface SessionMember {
  runs(): Iterable<SessionRun>;
  control(control: RunControl): void;
  message(message: unknown, batched: boolean): void;
  page(type: 'hide' | 'show'): void;
}

/** A resume that waits until every run of the client has said what it needs. */
interface Ask {
  readonly runId: string;
  readonly after: number | string | undefined;
  send(after: number | string | undefined): void;
}

/** The conversation with the server on a client's connection, shared by every `createRuns` on it. */
export interface Session {
  readonly open: boolean;
  /** The largest frame that the server takes, in bytes. */
  readonly maxMessage: number | undefined;
  /** Whether the server announced a capability on this connection. */
  has(capability: string): boolean;
  /** Runs that were sent or asked for on this connection, which may bring more of them by itself. */
  readonly fed: Set<string>;
  /** A number that is larger each time. */
  count(): number;
  /** The time of a start, in ms since 1970: later than all before it, whatever the clock says. */
  stamp(at?: number): number;
  join(member: SessionMember): () => void;
  /** Sends a resume, or joins it with those of other followers while a connection is being taken up. */
  ask(ask: Ask): void;
  /** Looks again at what the runs need watched. */
  refresh(): void;
}

/** However long a server wants to be left alone, in ms. */
const longestWait = 3_600_000;

/** How many times longer than usual a frame may take. */
const longestPatience = 16;

/** The one session of a client. */
export function getSession(wire: Wire): Session {
  // Kept on the wire itself, which two copies of this package share.
  const holder = wire as { session?: Session };
  holder.session ??= createSession(wire);
  return holder.session;
}

function createSession(wire: Wire): Session {
  const members = new Set<SessionMember>();
  let open = wire.getSnapshot().status === 'open';
  let caps: ReadonlySet<unknown> | undefined;
  let maxMessage: number | undefined;
  let asks: Ask[] | undefined;
  let watched: number | undefined;
  let pings = 0;
  let serial = 0;
  let latest = 0;
  /** An event has come on this connection. */
  let moved = false;
  /** How much longer than usual a frame may take: one that is large may fill a slow line for long. */
  let patience = 1;
  const fed = new Set<string>();

  const allRuns = () =>
    [...members]
      .flatMap((member) => [...member.runs()])
      .sort((a, b) => a.since - b.since || a.serial - b.serial);

  const send = (message: unknown) => wire.transmit(wire.encode(message), message);

  function greet(message: Record<string, unknown>) {
    const isFirst = !caps;
    caps = new Set(message.caps as unknown[]);
    const { maxMessage: max, spread, heartbeat } = message;
    maxMessage = asDuration(max);
    // One that answers an answer would never end.
    if (isFirst) send({ type: 'hello', caps: ['batch'] });
    if (caps.has('ping')) {
      const interval = Math.min(60_000, Math.max(5000, asDuration(heartbeat) ?? 15_000));
      wire.setPing(interval, () => ({ type: 'ping', n: ++pings }), patience);
    }
    const within = asDuration(spread);
    if (within !== undefined) wire.setRetryHint({ spread: Math.min(within, longestWait) });
    if (caps.has('policy')) for (const run of allRuns()) run.announcePolicy();
  }

  async function renew() {
    const asking = caps;
    if (!wire.token || !asking?.has('auth')) return;
    try {
      const token = await wire.token();
      // It may be another connection by now.
      if (caps === asking) send({ type: 'auth', token });
    } catch (error) {
      wire.report(new RunSocketError('closed', 'The token could not be renewed.', error));
    }
  }

  wire.peer = {
    open(reason) {
      open = true;
      moved = false;
      const mine: Ask[] = [];
      asks = mine;
      const runs = allRuns();
      for (const run of runs) {
        run.open(reason === 'idle');
        // A listener has ended the connection.
        if (asks !== mine) return;
      }
      // Several followers of one run share one feed, which begins where the last of them stands.
      const lowest = new Map<string, Ask>();
      for (const ask of mine) {
        const other = lowest.get(ask.runId);
        const { after } = ask;
        if (!other || isBefore(after, other.after)) lowest.set(ask.runId, ask);
        // Nobody can tell which of two names comes first.
        else if (typeof after === 'string' && after !== other.after) {
          lowest.set(ask.runId, { ...ask, after: undefined });
        }
      }
      asks = undefined;
      for (const ask of lowest.values()) ask.send(ask.after);
      for (const run of runs) run.repeatCancel();
      for (const run of runs) run.followUp();
      session.refresh();
    },
    close(end) {
      // A socket is swapped for its silence without knowing whether it was dead, unless it was pinged.
      const timedOut = end.error.code === 'timeout' && session.has('ping');
      const swapped = end.swapped && !timedOut;
      if (moved) patience = 1;
      else if (timedOut && allRuns().some((run) => run.isOwed)) {
        patience = Math.min(patience * 2, longestPatience);
      }
      open = false;
      caps = asks = undefined;
      maxMessage = undefined;
      fed.clear();
      for (const run of allRuns()) run.close({ ...end, swapped });
    },
    unpack: (message) => (caps?.has('batch') && Array.isArray(message) ? message : undefined),
    control(message) {
      if (!isRecord(message) || typeof message.type !== 'string') return false;
      if (isHello(message)) {
        greet(message);
        return true;
      }
      if (!caps) return false;
      const control = parseRunControl(message);
      if (control) for (const member of [...members]) member.control(control);
      else if (message.type === 'reauth') renew();
      else if (message.type === 'retry') {
        const after = asDuration(message.after);
        if (after !== undefined) wire.setRetryHint({ after: Math.min(after, longestWait) });
      } else return message.type === 'pong';
      return true;
    },
    message(message, batched) {
      moved = true;
      for (const member of [...members]) member.message(message, batched);
    },
    tooLarge(owner, error) {
      const text = `The server refused the start of run ${owner} as too large.`;
      for (const run of allRuns()) {
        if (run.id === owner) run.fail(new RunSocketError('too-large', text, error));
      }
    },
    page(type) {
      for (const member of [...members]) member.page(type);
    },
  };

  const session: Session = {
    get open() {
      return open;
    },
    get maxMessage() {
      return maxMessage;
    },
    has: (capability) => caps?.has(capability) ?? false,
    fed,
    count: () => ++serial,
    stamp(at) {
      const time = at ?? Math.max(wire.environment.now(), latest + 1);
      latest = Math.max(latest, time);
      return time;
    },
    join(member) {
      members.add(member);
      return () => {
        members.delete(member);
        session.refresh();
      };
    },
    ask(ask) {
      fed.add(ask.runId);
      if (asks) asks.push(ask);
      else ask.send(ask.after);
    },
    refresh() {
      let idle: number | undefined;
      for (const member of members) {
        for (const { idleTimeout } of member.runs()) {
          if (idleTimeout !== undefined && !(idle !== undefined && idle <= idleTimeout)) {
            idle = idleTimeout;
          }
        }
      }
      if (idle === watched) return;
      watched = idle;
      wire.setIdleTimeout(idle);
    },
  };
  // The first runs of a client may come long after its connection.
  if (open) wire.peer.control(wire.first);
  return session;
}

function isBefore(a: number | string | undefined, b: number | string | undefined): boolean {
  return a === undefined || (typeof a === 'number' && typeof b === 'number' && a < b);
}
