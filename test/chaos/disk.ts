import type { RunStorage } from '../../src/runs/types.ts';
import type { Change } from './sacrifice.ts';
import type { Host } from './timeline.ts';

/** What a record of a run must have to be taken up. */
export interface StoredRun {
  readonly runId: string;
  readonly threadId: string;
  readonly sentAt: number;
  readonly [field: string]: unknown;
}

/** The bytes that outlive a page, and what may be wrong with them. */
export interface Disk {
  mode: 'ok' | 'full' | 'denied';
  /** Something has been wrong, so that a record may be missing or old. */
  isTouched: boolean;
  /** How many characters fit while it is full. */
  quota: number;
  /** The records of a name as they are now; undefined where no page could read them. */
  read(name: string): readonly StoredRun[] | undefined;
  /** Puts something else in the place of all that is there. */
  overwrite(text: string): void;
  /** What a page works with; `delay` makes it asynchronous. */
  storage(page: Host, delay?: number): RunStorage;
  copy(): Disk;
}

/** Make a disk; `changed` is told of each change for which there was no room as it was. */
export function createDisk(
  changed: (change: Change) => void,
  from?: ReadonlyMap<string, string>,
): Disk {
  const map = new Map(from);

  const disk: Disk = {
    mode: 'ok',
    isTouched: false,
    quota: 0,
    read(name) {
      try {
        const text = map.get(`runsocket:${name}`);
        if (text === undefined) return [];
        const { v, runs } = JSON.parse(text) as { v: unknown; runs: StoredRun[] };
        return v === 1 ? runs : undefined;
      } catch {
        return undefined;
      }
    },
    overwrite(text) {
      disk.isTouched = true;
      for (const key of map.keys()) map.set(key, text);
    },
    storage(page, delay) {
      // By key, what was refused since the page has last looked; each change begins with a look.
      const refused = new Map<string, { readonly texts: string[]; readonly quota: number }>();
      const settle = (key: string, written?: string) => {
        const { texts, quota } = refused.get(key) ?? { texts: [], quota: 0 };
        refused.delete(key);
        if (texts.length) changed({ refused: texts, written, quota });
      };
      const check = (key: string) => {
        if (disk.mode !== 'denied') return;
        // What was refused before may be so for another reason.
        refused.delete(key);
        throw new Error('denied');
      };
      const tasks = {
        getItem(key: string) {
          settle(key);
          check(key);
          return map.get(key) ?? null;
        },
        setItem(key: string, value: string) {
          check(key);
          const { mode, quota } = disk;
          if (mode === 'full' && value.length > quota) {
            const before = refused.get(key);
            // One that met another quota before is no change to judge.
            if (!before) refused.set(key, { texts: [value], quota });
            else if (before.quota === quota) before.texts.push(value);
            throw new Error('full');
          }
          settle(key, value);
          // A page that is gone writes nothing more.
          if (page.isAlive) map.set(key, value);
        },
        removeItem(key: string) {
          check(key);
          settle(key, '');
          if (page.isAlive) map.delete(key);
        },
      };
      if (delay === undefined) return tasks;
      const later = <Value>(task: () => Value) =>
        new Promise<Value>((resolve, reject) => {
          page.deliver(() => {
            try {
              resolve(task());
            } catch (error) {
              reject(error);
            }
          }, delay);
        });
      return {
        getItem: (key) => later(() => tasks.getItem(key)),
        setItem: (key, value) => later(() => tasks.setItem(key, value)),
        removeItem: (key) => later(() => tasks.removeItem(key)),
      };
    },
    copy() {
      const other = createDisk(changed, map);
      other.isTouched = disk.isTouched;
      return other;
    },
  };
  return disk;
}
