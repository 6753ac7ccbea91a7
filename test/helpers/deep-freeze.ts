/** Freeze a value and everything in it; what is frozen already is taken to be frozen throughout. */
export function deepFreeze<T>(value: T): T {
  const open: unknown[] = [value];
  while (open.length) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    open.push(...Object.values(next));
  }
  return value;
}
