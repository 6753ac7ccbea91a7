import type { Environment } from '../internal/environment.ts';

/** Says whether this page owns a run, and lets go of it. */
export interface RunLock {
  readonly owned: boolean;
  release(): void;
}

/**
 * Ask for the ownership of a run among the tabs of a browser; `onOwned` is called once it is granted.
 *
 * A duplicated tab holds a copy of what its original remembers; the Web Lock tells which of the two
 * may act by itself. Without Web Locks (insecure contexts, Node) every page owns its runs.
 */
export function requestRunLock(runId: string, { page }: Environment, onOwned: () => void): RunLock {
  const { locks } = page.navigator ?? {};
  let owned = false;
  let released = false;
  let letGo = () => {};
  const gone = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const own = () => {
    if (released) return;
    owned = true;
    onOwned();
  };
  const controller = new AbortController();
  if (!locks) own();
  else {
    const hold = () => {
      own();
      return gone;
    };
    try {
      locks.request(`runsocket:${runId}`, { signal: controller.signal }, hold).catch(() => {
        // Denied or aborted while it waited: an aborted one has no owner to be told.
        if (!owned) own();
      });
    } catch {
      own();
    }
  }
  return {
    get owned() {
      return owned;
    },
    release() {
      released = true;
      owned = false;
      letGo();
      controller.abort();
    },
  };
}
