import type { BackoffOptions } from '../../src/client/types.ts';
import { createFakeLocks, type FakeLocks } from '../helpers/fake-locks.ts';
import { createRandom } from '../helpers/random.ts';
import { type Backend, createBackend, type ServerKind } from './backend.ts';
import type { Disk } from './disk.ts';
import { createLink, type Link } from './link.ts';
import { createNames, type Numbering } from './numbering.ts';
import type { Page } from './page.ts';
import { type Change, judgeChange, type Loss } from './sacrifice.ts';
import type { Script } from './script.ts';
import { createTimeline, type Timeline } from './timeline.ts';
import { createTruth, type Truth } from './truth.ts';

/** What the listeners of a page throw that throw. */
export const thrown: Error = new Error('thrown by a listener');

/** The nine things that every schedule must keep. */
export type Assertion =
  | 'prefix'
  | 'end'
  | 'once'
  | 'cancel'
  | 'one-socket'
  | 'bounded'
  | 'clean'
  | 'quiet'
  | 'heal';

/** What a schedule has besides its faults. */
export interface Setting {
  readonly server: ServerKind;
  readonly heartbeat: number;
  readonly latency: number;
  readonly numbering: Numbering;
  readonly backoff: BackoffOptions;
  readonly overlap: boolean;
  /** The server starts a run once however often it is asked, and the client knows. */
  readonly restart: boolean;
  readonly silenceTimeout: number | undefined;
  readonly policy: 'keep' | 'cancel';
  readonly threadId: string | undefined;
  /** How long asynchronous storage takes, in ms; undefined for storage that answers at once. */
  readonly storageDelay: number | undefined;
  readonly locks: boolean;
  readonly script: Script;
  readonly firstId: string;
}

/** A promise that was not kept. */
export interface Violation {
  readonly assertion: Assertion;
  readonly text: string;
  readonly at: number;
}

/** Everything that faults act on. */
export interface World {
  readonly setting: Setting;
  readonly timeline: Timeline;
  readonly link: Link;
  readonly truth: Truth;
  readonly backend: Backend;
  readonly locks: FakeLocks;
  readonly random: () => number;
  /** The newest last. */
  readonly pages: Page[];
  /** The page that the user looks at. */
  page: Page;
  readonly violations: Violation[];
  readonly counts: Map<string, number>;
  /** What storage without room has cost. */
  readonly losses: Map<Loss, number>;
  /** Close codes after which a client may stop, and other reasons to. */
  readonly stops: Set<string>;
  /** Runs that somebody aborted. */
  readonly aborted: Set<string>;
  /** Which agent, on which disk, has to tell the server of them. */
  readonly owners: Map<string, { readonly name: string; readonly disk: Disk }>;
  /** Events that were skipped once: twice would mean that they are gone. */
  readonly skipped: Set<string>;
  /** What the application has sent of its own, by number: those that wait, and the last that left. */
  readonly notes: { made: number; left: number; waiting: number };
  /** Addresses that a connection has used up. */
  readonly usedUrls: Set<string>;
  /** How an url provider answers now. */
  urls: 'ok' | 'reject' | 'hang' | 'same';
  /** Until when the effects of faults last. */
  busyUntil: number;
  mayEnd: boolean;
  runs: number;
  /** How many addresses were given out. */
  tokens: number;
  readonly scripts: Map<string, Script>;
  readonly log: string[] | undefined;
  /** Looks whether what was given up for want of room is what had to be. */
  judge(change: Change): void;
  /** A fault has taken effect. */
  count(kind: string): void;
  fail(assertion: Assertion, text: string): void;
  trace(text: () => string): void;
  /** The effects of a fault last for `ms` from now. */
  occupy(ms: number): void;
}

/** Make a world with its server, and no page yet. */
export function createWorld(seed: number, setting: Setting, isTraced: boolean): World {
  const timeline = createTimeline(seed);
  const violations: Violation[] = [];
  const counts = new Map<string, number>();
  const log: string[] | undefined = isTraced ? [] : undefined;
  const trace = (text: () => string) => {
    log?.push(`${timeline.now().toFixed(1).padStart(9)} ${text()}`);
  };
  const link = createLink(timeline, trace);
  link.latency = setting.latency;
  const truth = createTruth();
  const scripts = new Map<string, Script>();

  const world: World = {
    setting,
    timeline,
    link,
    truth,
    backend: createBackend(timeline, link, truth, {
      kind: setting.server,
      heartbeat: setting.heartbeat,
      spread: setting.backoff.first ?? 1_000,
      scriptOf: (runId) => scripts.get(runId) ?? setting.script,
      mayEnd: () => world.mayEnd,
      isAborted: (runId) => world.aborted.has(runId),
      isIdempotent: setting.restart,
      foreign: (data) => world.fail('end', `a plain server got ${data}`),
    }),
    locks: createFakeLocks(),
    random: createRandom(seed ^ 0x5bd1e995),
    pages: [],
    page: undefined as never,
    violations,
    counts,
    losses: new Map(),
    stops: new Set(),
    aborted: new Set(),
    owners: new Map(),
    skipped: new Set(),
    notes: { made: 0, left: 0, waiting: 0 },
    usedUrls: new Set(),
    urls: 'ok',
    busyUntil: 0,
    mayEnd: false,
    runs: 0,
    tokens: 0,
    scripts,
    log,
    judge(change) {
      const { loss, wrong } = judgeChange(change);
      if (wrong !== undefined) world.fail('bounded', `full storage: ${wrong}`);
      if (!loss) return;
      world.losses.set(loss, (world.losses.get(loss) ?? 0) + 1);
      trace(() => `   storage is full and costs: ${loss}`);
    },
    count(kind) {
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      trace(() => `** ${kind}`);
    },
    fail(assertion, text) {
      trace(() => `!! ${assertion}: ${text}`);
      violations.push({ assertion, text, at: timeline.now() });
    },
    trace,
    occupy(ms) {
      world.busyUntil = Math.max(world.busyUntil, timeline.now() + ms);
    },
  };
  link.names = createNames(setting.numbering, truth, (text) => world.fail('prefix', text));
  link.refusesUrl = (url) => {
    const isUsed = world.usedUrls.has(url);
    world.usedUrls.add(url);
    if (isUsed) world.stops.add('4401');
    return isUsed;
  };
  return world;
}
