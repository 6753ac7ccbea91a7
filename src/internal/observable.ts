/** A set of listeners that a throwing one cannot break. */
export interface Listeners<Value> {
  readonly size: number;
  add(listener: (value: Value) => void): () => void;
  emit(value: Value): void;
}

/**
 * Make a set of listeners.
 *
 * A listener may add and remove listeners while it runs: an added one hears the next value, a removed
 * one hears nothing more. What a listener throws goes to `report`. Adding the same function twice
 * makes two subscriptions.
 */
export function createListeners<Value>(report: (error: unknown) => void): Listeners<Value> {
  const entries = new Set<{ readonly listener: (value: Value) => void }>();
  return {
    get size() {
      return entries.size;
    },
    add(listener) {
      const entry = { listener };
      entries.add(entry);
      return () => {
        entries.delete(entry);
      };
    },
    emit(value) {
      for (const entry of [...entries]) {
        if (!entries.has(entry)) continue;
        try {
          entry.listener(value);
        } catch (error) {
          report(error);
        }
      }
    },
  };
}
