/** What has members: a JSON object or array. */
export type Container = Record<string, unknown> | unknown[];

/** Whether `value` can have members; a string's characters are none. */
export function isContainer(value: unknown): value is Container {
  return Object(value) === value;
}

/**
 * Whether two JSON values are equal, whatever the order of their keys; `0` equals `-0`.
 *
 * Values with more than `limit` containers in them count as different, so that cyclic ones end too.
 */
export function equalJson(left: unknown, right: unknown, limit: number = 1 / 0): boolean {
  // A stack of its own: values may be deeper than the call stack.
  const pairs = [left, right];
  while (pairs.length) {
    const a = pairs.pop() as Record<string, unknown>;
    const b = pairs.pop() as Record<string, unknown>;
    if (
      a !== b &&
      !(
        isContainer(a) &&
        isContainer(b) &&
        limit-- &&
        Array.isArray(a) === Array.isArray(b) &&
        Object.keys(a).length === Object.keys(b).length &&
        Object.keys(a).every((key) => Object.hasOwn(b, key) && pairs.push(a[key], b[key]))
      )
    ) {
      return false;
    }
  }
  return true;
}
