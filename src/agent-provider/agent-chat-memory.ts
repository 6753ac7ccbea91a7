import type { Environment } from '../internal/environment.ts';
import {
  type CheckpointWriter,
  createCheckpointWriter,
  loadCheckpoint,
} from './agent-chat-checkpoint.ts';
import type { AgentCheckpoint, AgentCheckpointStorage } from './chat-types.ts';
import type { AgentState } from './state-types.ts';

/** What a conversation's memory is made of. */
export interface AgentChatMemoryOptions {
  readonly env: Environment;
  /** Absent where nothing is remembered. */
  readonly storage: AgentCheckpointStorage | undefined;
  readonly sessionId: string;
  readonly getState: () => AgentState;
  /** What the next page needs besides the state. */
  readonly save: () => Omit<
    AgentCheckpoint,
    | 'schemaVersion'
    | 'protocolVersion'
    | 'commandProtocolVersion'
    | 'sessionId'
    | 'state'
    | 'savedAt'
  >;
  /** All that is remembered is known; undefined where that is nothing. */
  readonly onReady: (checkpoint: AgentCheckpoint | undefined) => void;
}

/** What a conversation remembers from one page to the next. */
export interface AgentChatMemory {
  readonly phase: 'new' | 'restoring' | 'ready';
  /** Absent where nothing is remembered. */
  readonly writer: CheckpointWriter | undefined;
  /** Reads what is remembered, once. */
  begin(): void;
  /** Looks at an input: with one that is no JSON, nothing is written down any more. */
  check(input: unknown): void;
}

/** Make the memory of a conversation in which nothing has happened yet. */
export function createAgentChatMemory(options: AgentChatMemoryOptions): AgentChatMemory {
  const { env, storage, sessionId, getState, onReady } = options;
  const empty = getState();
  let phase: AgentChatMemory['phase'] = 'new';
  let unsaveable = false;

  function make(): AgentCheckpoint | undefined {
    const state = getState();
    if (unsaveable || phase !== 'ready' || state === empty) return undefined;
    return {
      schemaVersion: 1,
      protocolVersion: '0.1',
      commandProtocolVersion: '0.1',
      sessionId,
      state,
      ...options.save(),
      savedAt: env.now(),
    };
  }

  function ready(checkpoint?: AgentCheckpoint) {
    phase = 'ready';
    onReady(checkpoint);
  }

  return {
    get phase() {
      return phase;
    },
    writer: storage && createCheckpointWriter(env, storage, make),
    begin() {
      if (phase !== 'new') return;
      phase = 'restoring';
      if (storage) loadCheckpoint(env, storage, sessionId, ready);
      else ready();
    },
    check(input) {
      if (!storage || input === undefined) return;
      try {
        unsaveable ||= JSON.stringify(input) === undefined;
      } catch {
        unsaveable = true;
      }
    },
  };
}
