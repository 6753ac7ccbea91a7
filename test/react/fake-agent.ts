import type { AgUiAgent } from '../../src/ag-ui/agent-types.ts';
import { type AgUiThread, emptyThread } from '../../src/ag-ui/thread.ts';

/** An agent of which a test sets the thread, and sees who listens. */
export interface FakeAgent<S> {
  readonly agent: AgUiAgent<S>;
  /** Changes the thread and notifies. */
  set(change: Partial<AgUiThread<S>>): void;
  /** Who listens now. */
  readonly listening: number;
  /** How often somebody began to listen. */
  readonly subscriptions: number;
}

/** Make a fake agent with a thread of its own. */
export function createFakeAgent<S>(state: S): FakeAgent<S> {
  const initial = emptyThread<S>({ state });
  const listeners = new Set<{ listener: () => void }>();
  let thread = initial;
  let subscriptions = 0;
  const agent: Pick<AgUiAgent<S>, 'getSnapshot' | 'getServerSnapshot' | 'subscribe'> = {
    getSnapshot: () => thread,
    getServerSnapshot: () => initial,
    subscribe(listener) {
      const entry = { listener };
      listeners.add(entry);
      subscriptions++;
      return () => listeners.delete(entry);
    },
  };
  return {
    agent: agent as AgUiAgent<S>,
    set(change) {
      thread = { ...thread, ...change };
      for (const { listener } of [...listeners]) listener();
    },
    get listening() {
      return listeners.size;
    },
    get subscriptions() {
      return subscriptions;
    },
  };
}
