import type { AgentCommandError, AgentCommandState, AgentCommandStatus } from './chat-types.ts';
import type { AgentCommand } from './command-types.ts';
import { getAgentCommandActionKey, getAgentCommandKey } from './commands.ts';

/** What a conversation shows of its commands; the same objects until one of them changes. */
export interface AgentCommands {
  readonly commandStates: Readonly<Record<string, AgentCommandState>>;
  readonly latestCommandByAction: Readonly<Record<string, string>>;
}

/** Remembers a conversation's commands and what became of them. */
export interface AgentCommandStore {
  getSnapshot(): AgentCommands;
  /** Remembers a command that is being sent. */
  add(command: AgentCommand): void;
  /** Says how a command ended; nothing where it is over or forgotten. */
  settle(command: AgentCommand, error?: AgentCommandError): void;
  /** The newest command of an action. */
  latest(actionKey: string): AgentCommandState | undefined;
  /** The commands that are being sent. */
  pending(): readonly AgentCommand[];
  /** The run is over: forgets its commands, those that are being sent at their end. */
  endRun(runId: string): void;
}

/** Make a store of commands; `changed` is called after each change. */
export function createAgentCommandStore(now: () => number, changed: () => void): AgentCommandStore {
  const states = new Map<string, AgentCommandState>();
  const latest = new Map<string, string>();
  const over = new Set<string>();
  let snapshot: AgentCommands | undefined;

  function change() {
    snapshot = undefined;
    changed();
  }

  function forget({ command, key }: AgentCommandState) {
    states.delete(key);
    const action = getAgentCommandActionKey(command);
    if (latest.get(action) === key) latest.delete(action);
    if (![...states.values()].some(({ command: { runId } }) => runId === command.runId)) {
      over.delete(command.runId);
    }
  }

  function set(state: AgentCommandState, status: AgentCommandStatus, error?: AgentCommandError) {
    states.set(state.key, { ...state, status, ...(error && { error }), updatedAt: now() });
    change();
  }

  return {
    getSnapshot: () =>
      // From entries: a key such as `__proto__` is a key like any other.
      (snapshot ??= {
        commandStates: Object.fromEntries(states),
        latestCommandByAction: Object.fromEntries(latest),
      }),
    add(command) {
      const key = getAgentCommandKey(command);
      const createdAt = now();
      latest.set(getAgentCommandActionKey(command), key);
      set({ command, key, status: 'submitting', createdAt, updatedAt: createdAt }, 'submitting');
    },
    settle(command, error) {
      const state = states.get(getAgentCommandKey(command));
      if (state?.status !== 'submitting') return;
      if (over.has(command.runId)) {
        forget(state);
        change();
      } else {
        set(state, error ? 'failed' : 'succeeded', error);
      }
    },
    latest: (actionKey) => states.get(latest.get(actionKey) ?? ''),
    pending: () =>
      [...states.values()]
        .filter(({ status }) => status === 'submitting')
        .map(({ command }) => command),
    endRun(runId) {
      const ofRun = [...states.values()].filter(({ command }) => command.runId === runId);
      if (!ofRun.length) return;
      over.add(runId);
      for (const state of ofRun) if (state.status !== 'submitting') forget(state);
      change();
    },
  };
}
