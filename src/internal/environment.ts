/** The page's globals that the package listens to and reads, each absent where there is none. */
export interface PageGlobals {
  readonly addEventListener?: (type: string, listener: (event: never) => void) => void;
  readonly removeEventListener?: (type: string, listener: (event: never) => void) => void;
  readonly document?: {
    readonly visibilityState?: string;
    addEventListener(type: string, listener: (event: never) => void): void;
    removeEventListener(type: string, listener: (event: never) => void): void;
  };
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
export interface Environment {
  /** The wall clock, in ms. It may jump: after sleep forwards, by a user's hand either way. */
  now(): number;
  /** Runs `task` once after `ms`, at most 24.8 days; returns what calls it off. */
  setTimer(task: () => void, ms: number): () => void;
  /** Runs `task` before the next paint, or within 16 ms where nothing paints; returns what calls it off. */
  setFrame(task: () => void): () => void;
  /** Uniform in 0 … 1, 1 excluded. */
  random(): number;
  /** A random id of at least 122 bits. */
  randomId(): string;
  /** Says that a caller's own function threw, without stopping anybody else. */
  report(error: unknown): void;
  /** The page; an empty object on a server. */
  readonly page: PageGlobals;
}

const root = globalThis as unknown as PageGlobals & {
  readonly reportError?: (error: unknown) => void;
  readonly requestAnimationFrame?: (task: () => void) => number;
  readonly cancelAnimationFrame?: (id: number) => void;
  readonly crypto?: {
    randomUUID?: () => string;
    getRandomValues?: (bytes: Uint8Array) => Uint8Array;
  };
};

// A longer time would fire at once.
const longestTimer = 2 ** 31 - 1;

function setTimer(task: () => void, ms: number): () => void {
  const id = setTimeout(task, Math.min(ms, longestTimer));
  return () => clearTimeout(id);
}

/** The environment of a page, a worker or Node, as it is. */
export const defaultEnvironment: Environment = {
  now: () => Date.now(),
  setTimer,
  setFrame(task) {
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
  },
  random: () => Math.random(),
  randomId() {
    const { crypto } = root;
    // `randomUUID` is missing outside secure contexts, and some engines have no `crypto` at all.
    return (
      crypto?.randomUUID?.() ??
      Array.from(
        crypto?.getRandomValues?.(new Uint8Array(16)) ?? Array(16),
        (byte = Math.random() * 256) => ((byte | 0) + 256).toString(16).slice(1),
      ).join('')
    );
  },
  report(error) {
    if (root.reportError) root.reportError(error);
    else
      setTimer(() => {
        throw error;
      }, 0);
  },
  page: root,
};
