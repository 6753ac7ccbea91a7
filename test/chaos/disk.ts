import type { RunStorage } from '../../src/runs/types.ts';
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

/** Make a disk. */
export function createDisk(from?: ReadonlyMap<string, string>): Disk {
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
      const check = () => {
        if (disk.mode === 'denied') throw new Error('denied');
      };
      const tasks = {
        getItem(key: string) {
          check();
          return map.get(key) ?? null;
        },
        setItem(key: string, value: string) {
          check();
          if (disk.mode === 'full' && value.length > disk.quota) throw new Error('full');
          // A page that is gone writes nothing more.
          if (page.isAlive) map.set(key, value);
        },
        removeItem(key: string) {
          check();
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
      const other = createDisk(map);
      other.isTouched = disk.isTouched;
      return other;
    },
  };
  return disk;
}
