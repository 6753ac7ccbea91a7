/**
 * Whether two JSON values are equal, whatever the order of their keys; `0` equals `-0`.
 *
 * Values of more than `limit` members count as different, so that cyclic ones end too.
 */
export function equalJson(
  left: unknown,
  right: unknown,
  limit: number = Number.POSITIVE_INFINITY,
): boolean {
  // A stack of its own: values may be deeper than the call stack.
  const pairs = [left, right];
  while (pairs.length) {
    const a = pairs.pop();
    const b = pairs.pop();
    if (a === b) continue;
    if (!a || !b || typeof a !== 'object' || typeof b !== 'object' || !limit--) return false;
    const keys = Object.keys(a);
    if (Array.isArray(a) !== Array.isArray(b) || keys.length !== Object.keys(b).length)
      return false;
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false;
      pairs.push(a[key as never], b[key as never]);
    }
  }
  return true;
}
