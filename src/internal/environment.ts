/** The page's globals that the package listens to and reads, each absent where there is none. */
export interface PageGlobals {
  readonly addEventListener?: (
    type: string,
    listener: (event: never) => void,
    options: { readonly signal: AbortSignal },
  ) => void;
  readonly document?: { readonly visibilityState?: string };
  readonly navigator?: { readonly onLine?: boolean; readonly locks?: LockManagerLike };
  readonly WebSocket?: unknown;
  readonly sessionStorage?: unknown;
}

/** The part of the Web Locks API that is used here. */
export interface LockManagerLike {
  request(
    name: string,
    options: { readonly signal: AbortSignal },
    hold: () => Promise<void>,
  ): Promise<unknown>;
}

/** Time, chance and globals, behind one replaceable object. */
export interface BaseEnvironment {
  /** The wall clock, in ms. It may jump: after sleep forwards, by a user's hand either way. */
  now(): number;
  /** Runs `task` once after `ms`, at most 24.8 days; returns what calls it off. */
  setTimer(task: () => void, ms: number): () => void;
  /** Uniform in 0 … 1, 1 excluded. */
  random(): number;
  /** Says that a caller's own function threw, without stopping anybody else. */
  report(error: unknown): void;
  /** The page; an empty object on a server. */
  readonly page: PageGlobals;
}

/** An environment with what only runs and agents need. */
export interface Environment extends BaseEnvironment {
  /** Runs `task` before the next paint, or within 16 ms where nothing paints; returns what calls it off. */
  setFrame(task: () => void): () => void;
  /** A random id of at least 122 bits. */
  randomId(): string;
  /** As `setTimer`, but a Node process does not stay alive for it. @default setTimer */
  setIdleTimer?(task: () => void, ms: number): () => void;
}

const root = globalThis as unknown as PageGlobals & {
  readonly requestAnimationFrame?: (task: () => void) => number;
  readonly cancelAnimationFrame?: (id: number) => void;
  readonly crypto?: {
    randomUUID?: () => string;
    getRandomValues?: (bytes: Uint8Array) => Uint8Array;
  };
};

const now = () => Date.now();
const random = () => Math.random();

function setTimer(task: () => void, ms: number): () => void {
  // A time that does not fit in 31 bits would be none at all.
  const id = setTimeout(task, Math.min(ms, 2 ** 31 - 1));
  return () => clearTimeout(id);
}

function setFrame(task: () => void): () => void {
  const { requestAnimationFrame, cancelAnimationFrame, document } = root;
  const run = () => {
    stop();
    task();
  };
  const frame = document?.visibilityState === 'visible' && requestAnimationFrame?.(run);
  // A tab that is hidden while it waits paints no more: the timer then takes over.
  const stopTimer = setTimer(run, frame ? 100 : 16);
  const stop = () => {
    if (frame) cancelAnimationFrame?.(frame);
    stopTimer();
  };
  return stop;
}

function randomId(): string {
  const { crypto } = root;
  // `randomUUID` is missing outside secure contexts, and some engines have no `crypto` at all.
  return (
    crypto?.randomUUID?.() ??
    Array.from(
      crypto?.getRandomValues?.(new Uint8Array(16)) ?? Array(16),
      (byte = Math.random() * 256) => ((byte | 0) + 256).toString(16).slice(1),
    ).join('')
  );
}

function report(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** The environment of a page, a worker or Node, as it is. */
export const baseEnvironment: BaseEnvironment = { now, setTimer, random, report, page: root };

/** What runs and agents need beyond a client's environment. Apart from it, so that a bundle with a client alone is smaller. */
export const runEnvironment: Pick<Environment, 'setFrame' | 'randomId'> = { setFrame, randomId };

/** {@link baseEnvironment} and {@link runEnvironment}. */
export const defaultEnvironment: Environment = {
  now,
  setTimer,
  setFrame,
  random,
  randomId,
  report,
  page: root,
};

/** {@link defaultEnvironment} for what serves: what it keeps for later does not keep Node alive. */
export const serverEnvironment: Environment = {
  now,
  setTimer,
  setFrame,
  random,
  randomId,
  report,
  page: root,
  setIdleTimer(task, ms) {
    const id: unknown = setTimeout(task, Math.min(ms, 2 ** 31 - 1));
    (id as { unref?: () => void }).unref?.();
    return () => clearTimeout(id as number);
  },
};
