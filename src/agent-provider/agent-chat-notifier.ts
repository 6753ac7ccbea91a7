import type { Environment } from '../internal/environment.ts';
import { createListeners } from '../internal/observable.ts';

/** Tells listeners of changes: the first at once, those that follow within a frame together. */
export interface Notifier {
  /** How many listen. */
  readonly size: number;
  add(listener: () => void): () => void;
  /** Something changed; with `now` it does not wait for the frame. */
  changed(now?: boolean): void;
  /** Tells all that changes during `task` once, at its end. */
  atOnce(task: () => void): void;
}

/** Make a notifier. */
export function createNotifier(env: Environment): Notifier {
  const listeners = createListeners<void>(env.report);
  let depth = 0;
  let pending = false;
  let stopFrame: (() => void) | undefined;

  function tell() {
    pending = false;
    stopFrame?.();
    stopFrame = undefined;
    if (!listeners.size) return;
    stopFrame = env.setFrame(() => {
      stopFrame = undefined;
      if (pending) tell();
    });
    listeners.emit();
  }

  return {
    get size() {
      return listeners.size;
    },
    add: (listener) => listeners.add(() => listener()),
    changed(now) {
      pending = true;
      if (!depth && (now || !stopFrame)) tell();
    },
    atOnce(task) {
      depth++;
      try {
        task();
      } finally {
        if (!--depth && pending) tell();
      }
    },
  };
}
