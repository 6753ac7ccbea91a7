import { type Container, equalJson, isContainer } from '../internal/equal-json.ts';
import { fail, getMember, parsePointer, show, toIndex } from './json-pointer.ts';

/** One operation of a JSON Patch (RFC 6902). */
export type JsonPatchOperation =
  | {
      readonly op: 'add' | 'replace' | 'test';
      readonly path: string;
      readonly value: unknown;
    }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string };

/** Any container, written to under a key that was found to fit it. */
type Writable = Record<string, unknown>;

function copyOf(source: Container): Container {
  if (Array.isArray(source)) return source.slice();
  const keys = Object.keys(source);
  // V8's spread turns slow at about this many keys.
  if (keys.length < 128) return { ...source };
  // Without a prototype, `__proto__` is a key like any other.
  const copy = { __proto__: null } as unknown as Writable;
  for (const key of keys) copy[key] = source[key];
  return Object.setPrototypeOf(copy, Object.prototype);
}

/**
 * Apply a JSON Patch (RFC 6902) without changing `document`: what changes is copied, and the rest is
 * shared. A patch that changes nothing returns the same document.
 *
 * Only own members count, and an array's `length` is none. A key such as `__proto__` is added as a
 * property of its own, as `JSON.parse` would. The result may share values with the operations.
 *
 * Throws a RunSocketError `patch-failed` that names the operation where one cannot be applied: a
 * missing path, an index out of range, a pointer that does not start with `/` (RFC 6901), a failed
 * `test`, a `remove` of the whole document. `document` then stays as it was.
 *
 * @example
 * const next = applyPatch(plan, [{ op: 'add', path: '/tasks/-', value: { title: 'Ship' } }]);
 */
export function applyPatch<T>(document: T, operations: readonly JsonPatchOperation[]): T {
  if (!Array.isArray(operations)) fail('no array');
  // The document as a member makes operations on the root ordinary ones.
  const holder = { '': document };
  // What this patch has made and may write to; it hangs from the root as one tree. A stream sends
  // one operation a patch, and there a set would only cost time.
  const owned = operations.length > 1 ? new Set<unknown>() : undefined;

  const draftOf = (source: Container): Container =>
    source === holder || owned?.has(source) ? source : copyOf(source);

  const read = (pointer: string) => parsePointer(pointer).reduce<unknown>(getMember, holder);

  // Walks down first and copies on the way up: a write that changes nothing copies nothing.
  const write = (pointer: string, op: 'add' | 'replace' | 'remove', value?: unknown): void => {
    const tokens = parsePointer(pointer);
    const key = tokens.pop()!;
    const parents: Container[] = [];
    let target: Container = holder;
    for (const token of tokens) {
      parents.push(target);
      target = getMember(target, token) as Container;
    }
    if (op !== 'add' || !isContainer(target)) getMember(target, key);
    else if (!Array.isArray(target) && Object.hasOwn(target, key)) op = 'replace';

    let next: Container;
    if (op === 'replace') {
      if (Object.is((target as Writable)[key], value)) return;
      next = draftOf(target);
      (next as Writable)[key] = value;
    } else if (Array.isArray(target)) {
      const end = target.length;
      const index = op === 'remove' ? +key : key === '-' ? end : toIndex(key, end + 1);
      if (index === end && !owned?.has(target)) {
        // One exact allocation, where a copy that then grows takes more.
        next = target.concat([value]);
      } else {
        next = draftOf(target) as unknown[];
        if (op === 'add') next.splice(index, 0, value);
        else next.splice(index, 1);
      }
    } else if (op === 'add' && key in target) {
      // An assignment would reach a setter such as `__proto__`, or fail on a frozen prototype.
      next = { ...target, [key]: value };
    } else {
      next = draftOf(target);
      if (op === 'add') (next as Writable)[key] = value;
      else delete (next as Writable)[key];
    }

    while (next !== target) {
      owned?.add(next);
      target = parents.pop()!;
      const parent = draftOf(target) as Writable;
      parent[tokens.pop()!] = next;
      next = parent;
    }
  };

  operations.forEach((operation, index) => {
    const { op, path, from, value } = Object(operation);
    try {
      if (op === 'move' || op === 'copy') {
        const source = read(from);
        if (op === 'copy') {
          // With two parents, a write below one of them would show below the other.
          if (owned?.has(source)) owned.clear();
        } else {
          if (path === from) return;
          if (path.startsWith(`${from}/`)) fail('moves into itself');
          write(from, 'remove');
        }
        write(path, 'add', source);
      } else if (op === 'remove') {
        if (path === '') fail('no root');
        write(path, op);
      } else {
        if (value === undefined) fail('no value');
        if (op === 'add' || op === 'replace') write(path, op, value);
        else if (op !== 'test') fail('no operation');
        else if (!equalJson(read(path), value)) fail('no match');
      }
    } catch (error) {
      fail(`Operation ${index} (${show(op)} ${show(path)}): ${(error as Error).message}`);
    }
  });
  return holder[''];
}
