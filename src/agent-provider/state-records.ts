/** What a version of a record or a list is shown as, once it was read or it is given. */
interface Version<Value> {
  readonly size: number;
  /** Plain; given out, and so never changed any more. */
  value: Value | undefined;
  /** How many snapshots showed this version unread. */
  shown: number;
}

/**
 * One version of a record that grows and changes but loses nothing. The newest version of a line has
 * `map`, which its changes alter in place. An older one knows the value that the next change
 * replaced, and the version after that change; it points forward only, so that versions that nobody
 * holds are collected.
 */
export interface RecordVersion<Item = unknown> extends Version<Readonly<Record<string, Item>>> {
  map: Map<string, Item> | undefined;
  next: RecordVersion<Item> | undefined;
  key: string;
  old: Item | undefined;
  /** Changes since a version that was read. */
  readonly steps: number;
}

/** One version of a list that only grows; the versions of a line share `items`. */
export interface ListVersion<Item = unknown> extends Version<readonly Item[]> {
  readonly items: Item[];
}

// All members from the start: objects that grow cost more.
const newest = <Item>(map: Map<string, Item> | undefined, steps: number): RecordVersion<Item> => ({
  size: map ? map.size : 0,
  value: undefined,
  shown: 0,
  map,
  next: undefined,
  key: '',
  old: undefined,
  steps,
});

/** Make a version of a record that is given, and not changed here. */
export const recordOf = <Item>(value: Readonly<Record<string, Item>>): RecordVersion<Item> => ({
  ...newest<Item>(undefined, 0),
  value,
});

/** Make a version of a list that is given, and not changed here. */
export const listOf = <Item>(value: readonly Item[]): ListVersion<Item> => ({
  size: value.length,
  value,
  shown: 0,
  items: [...value],
});

function buildRecord<Item>(version: RecordVersion<Item>): Readonly<Record<string, Item>> {
  const changes: RecordVersion<Item>[] = [];
  let last = version;
  while (last.next) {
    changes.push(last);
    last = last.next;
  }
  const record: Record<string, Item> = Object.create(null);
  if (last.map) {
    last.map.forEach((item, key) => {
      record[key] = item;
    });
  } else {
    Object.assign(record, last.value);
  }
  // The latest change first, so that the earliest has the last word.
  for (const { key, old } of changes.reverse()) {
    if (old === undefined) delete record[key];
    else record[key] = old;
  }
  version.next = version.old = undefined;
  return record;
}

/** A version as a plain object (without a prototype) or array, the same one each time. */
export function read<Item>(version: RecordVersion<Item>): Readonly<Record<string, Item>>;
export function read<Item>(version: ListVersion<Item>): readonly Item[];
export function read(version: RecordVersion | ListVersion): unknown;
export function read(version: RecordVersion | ListVersion): unknown {
  if (!version.value) {
    if ('items' in version) version.value = version.items.slice(0, version.size);
    else version.value = buildRecord(version);
  }
  return version.value;
}

/** The item of a key, or `undefined`. */
export function getIn<Item>(version: RecordVersion<Item>, key: string): Item | undefined {
  if (version.map) return version.map.get(key);
  const record = read(version);
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/**
 * A version with one item more or another in place of `old`; only one that is not the newest of its
 * line is copied.
 */
export function setIn<Item>(
  version: RecordVersion<Item>,
  key: string,
  item: Item,
  old: Item | undefined,
): RecordVersion<Item> {
  const map = version.map ?? new Map(Object.entries(read(version)));
  // Whoever holds an old version must not hold each change since.
  if (version.steps >= 64 && version.steps >= version.size) read(version);
  map.set(key, item);
  version.map = undefined;
  const next = newest(map, version.value ? 0 : version.steps + 1);
  if (!version.value) {
    version.next = next;
    version.key = key;
    version.old = old;
  }
  return next;
}

/** A version with one item more. */
export function addTo<Item>(version: ListVersion<Item>, item: Item): ListVersion<Item> {
  const { size } = version;
  const items = version.items.length === size ? version.items : version.items.slice(0, size);
  items.push(item);
  return { size: size + 1, value: undefined, shown: 0, items };
}
