import { useDebugValue, useMemo, useSyncExternalStore } from 'react';
import { defaultEnvironment } from '../internal/environment.ts';

/** What a hook reads: a value that stays the same object until it changes. */
interface Store<Value> {
  getSnapshot(): Value;
  getServerSnapshot(): Value;
  subscribe(listener: () => void): () => void;
}

/** Calls `select` once for each value, so that what it makes stays the same object between them. */
function memoise<Value, Selected>(
  read: () => Value,
  select: (value: Value) => Selected,
): () => Selected {
  let last: { readonly value: Value; readonly selected: Selected } | undefined;
  return () => {
    const value = read();
    if (!last || last.value !== value) last = { value, selected: select(value) };
    return last.selected;
  };
}

/**
 * Read a store, or what `select` makes of its value; with `inFrames`, render at most once a frame.
 *
 * Server rendering and hydration read `getServerSnapshot()`. What `select` throws is thrown while
 * rendering, where an error boundary catches it.
 */
export function useStore<Value, Selected>(
  store: Store<Value>,
  select: (value: Value) => Selected,
  inFrames?: boolean,
): Selected {
  const subscribe = useMemo(
    () => (listener: () => void) => {
      if (!inFrames) return store.subscribe(listener);
      let stopFrame: (() => void) | undefined;
      const unsubscribe = store.subscribe(() => {
        stopFrame ??= defaultEnvironment.setFrame(() => {
          stopFrame = undefined;
          listener();
        });
      });
      return () => {
        stopFrame?.();
        unsubscribe();
      };
    },
    [store, inFrames],
  );
  // A selector written inline is a new one in every render: it then runs once in each, and React
  // compares results of the same selector only.
  const [getSnapshot, getServerSnapshot] = useMemo(
    () => [
      memoise(() => store.getSnapshot(), select),
      memoise(() => store.getServerSnapshot(), select),
    ],
    [store, select],
  );
  const selected = useSyncExternalStore(subscribe, getSnapshot, getServerSnapshot);
  useDebugValue(selected);
  return selected;
}
