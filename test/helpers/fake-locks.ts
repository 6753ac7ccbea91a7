import type { LockManagerLike } from '../../src/internal/environment.ts';

/** The Web Locks of one origin, with a manager for each page. */
export interface FakeLocks {
  /** A new page's `navigator.locks`; `die` takes all that the page holds and asks for with it. */
  page(): LockManagerLike & { die(): void };
  /** The names that are held now. */
  readonly held: readonly string[];
  /** How many requests wait. */
  readonly waiting: number;
}

interface Request {
  readonly name: string;
  readonly owner: object;
  grant(): void;
}

/** Make the locks of an origin. */
export function createFakeLocks(): FakeLocks {
  const held = new Map<string, Request>();
  let queue: Request[] = [];

  const pump = () => {
    for (const request of [...queue]) {
      if (held.has(request.name)) continue;
      queue = queue.filter((one) => one !== request);
      held.set(request.name, request);
      queueMicrotask(() => request.grant());
    }
  };
  const free = (request: Request) => {
    if (held.get(request.name) !== request) return;
    held.delete(request.name);
    pump();
  };

  return {
    get held() {
      return [...held.keys()];
    },
    get waiting() {
      return queue.length;
    },
    page() {
      const owner = {};
      return {
        request(name, { signal }, hold) {
          return new Promise<void>((resolve, reject) => {
            const request: Request = {
              name,
              owner,
              grant() {
                // Its page is gone, or it was called off in between.
                if (held.get(name) !== request) return;
                hold()
                  .then(resolve, reject)
                  .finally(() => free(request));
              },
            };
            if (signal.aborted) return reject(signal.reason);
            signal.addEventListener('abort', () => {
              if (!queue.includes(request)) return;
              queue = queue.filter((one) => one !== request);
              reject(signal.reason);
            });
            queue.push(request);
            pump();
          });
        },
        die() {
          queue = queue.filter((one) => one.owner !== owner);
          for (const request of [...held.values()]) if (request.owner === owner) free(request);
        },
      };
    },
  };
}
