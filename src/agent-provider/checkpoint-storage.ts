import { findSessionStorage } from '../ag-ui/agent-memory.ts';
import { defaultEnvironment, type Environment } from '../internal/environment.ts';
import type { AgentCheckpointStorage } from './chat-types.ts';

/** The part of `sessionStorage` and `localStorage` that checkpoints need. */
export interface WebStorageLike {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** Options of {@link createWebStorageAgentCheckpointStorage}. */
export interface WebStorageAgentCheckpointOptions {
  /** What every key begins with; two providers on one page need two. @default 'runsocket:chat:' */
  readonly prefix?: string | undefined;
}

/**
 * Keep conversations in the storage of the page, as JSON.
 *
 * A storage that is absent, full or throws costs the memory of the conversation and nothing else; what
 * is no JSON is not kept.
 *
 * @param storage - Default: `sessionStorage`, where the page may have it.
 */
export function createWebStorageAgentCheckpointStorage(
  storage?: WebStorageLike | null,
  options: WebStorageAgentCheckpointOptions = {},
  environment: Environment = defaultEnvironment,
): AgentCheckpointStorage {
  const { prefix = 'runsocket:chat:' } = options;
  // Asked for when it is used: a server has none, and makes the same providers.
  const guarded = <Result>(use: (storage: WebStorageLike) => Result): Result | undefined => {
    try {
      const found = storage === undefined ? findSessionStorage(environment) : storage;
      return found ? use(found as WebStorageLike) : undefined;
    } catch {
      return undefined;
    }
  };
  return {
    load: (sessionId) =>
      guarded((found) => JSON.parse(found.getItem(prefix + sessionId) ?? 'null')) ?? undefined,
    save(sessionId, checkpoint) {
      guarded((found) => found.setItem(prefix + sessionId, JSON.stringify(checkpoint)));
    },
    remove(sessionId) {
      guarded((found) => found.removeItem(prefix + sessionId));
    },
  };
}

/** Keep conversations in memory, as JSON: for tests, and for pages that stay. What is no JSON is not kept. */
export function createMemoryAgentCheckpointStorage(): AgentCheckpointStorage {
  const kept = new Map<string, string>();
  return createWebStorageAgentCheckpointStorage(
    {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => void kept.set(key, value),
      removeItem: (key) => void kept.delete(key),
    },
    { prefix: '' },
  );
}
