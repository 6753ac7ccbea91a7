import type { RunStorage } from '../../src/runs/types.ts';

/** The bytes of a session storage, with one storage object for each page that uses them. */
export interface StorageBytes {
  readonly map: Map<string, string>;
  /** A new storage object over the same bytes: what a reloaded page gets. */
  page(): RunStorage;
  /** The bytes as they are now, apart: what a duplicated tab gets. */
  copy(): StorageBytes;
}

/** Make storage that outlives pages. */
export function createStorageBytes(map: Map<string, string> = new Map()): StorageBytes {
  return {
    map,
    page: () => ({
      getItem: (key) => map.get(key) ?? null,
      setItem: (key, value) => void map.set(key, value),
      removeItem: (key) => void map.delete(key),
    }),
    copy: () => createStorageBytes(new Map(map)),
  };
}
