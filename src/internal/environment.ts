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
  /** Runs `task` once after `ms`; returns what calls it off. */
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
  readonly crypto?: { randomUUID?: () => string; getRandomValues?: (bytes: Uint8Array) => unknown };
};

function setTimer(task: () => void, ms: number): () => void {
  const id = setTimeout(task, ms);
  return () => clearTimeout(id);
}

function randomId(): string {
  const { crypto } = root;
  // `randomUUID` is missing outside secure contexts, `getRandomValues` is not.
  if (crypto?.randomUUID) return crypto.randomUUID();
  const bytes = new Uint8Array(16);
  if (crypto?.getRandomValues) crypto.getRandomValues(bytes);
  else
    bytes.forEach((_, i) => {
      bytes[i] = Math.random() * 256;
    });
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The environment of a page, a worker or Node, as it is. */
export const defaultEnvironment: Environment = {
  now: () => Date.now(),
  setTimer,
  setFrame(task) {
    const { requestAnimationFrame, cancelAnimationFrame, document } = root;
    if (!requestAnimationFrame || !document || document.visibilityState === 'hidden') {
      return setTimer(task, 16);
    }
    // A tab that is hidden while it waits paints no more: the timer then takes over.
    const run = () => {
      stop();
      task();
    };
    const frame = requestAnimationFrame(run);
    const stopTimer = setTimer(run, 100);
    const stop = () => {
      cancelAnimationFrame?.(frame);
      stopTimer();
    };
    return stop;
  },
  random: () => Math.random(),
  randomId,
  report(error) {
    if (root.reportError) root.reportError(error);
    else
      setTimer(() => {
        throw error;
      }, 0);
  },
  page: root,
};
