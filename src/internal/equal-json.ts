/**
 * Whether two JSON values are equal, whatever the order of their keys.
 *
 * Values that are nested deeper than `depth` count as different, so that cyclic ones come to an end.
 */
export function isEqual(left: unknown, right: unknown, depth: number): boolean {
  if (left === right) return true;
  if (!left || !right || typeof left !== 'object' || typeof right !== 'object') return false;
  const keys = Object.keys(left);
  return (
    depth > 0 &&
    Array.isArray(left) === Array.isArray(right) &&
    keys.length === Object.keys(right).length &&
    keys.every(
      (key) =>
        Object.hasOwn(right, key) && isEqual(left[key as never], right[key as never], depth - 1),
    )
  );
}
