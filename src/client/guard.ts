/** What `task` returns; nothing where it throws, which goes to `fail`. */
export function guard<Value>(fail: (error: unknown) => void, task: () => Value): Value | undefined {
  try {
    return task();
  } catch (error) {
    fail(error);
    return undefined;
  }
}
