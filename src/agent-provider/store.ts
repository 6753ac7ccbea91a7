import { baseEnvironment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { createListeners } from '../internal/observable.ts';
import type { AgentEvent } from './event-types.ts';
import { reduceNode } from './reducer.ts';
import { createInitialAgentState, type StateNode, toNode, toState } from './state-node.ts';
import type { AgentProtocolIssue, AgentState } from './state-types.ts';

/** What a store does about an event against the rules: note an issue, or throw. */
export type AgentStoreProtocolMode = 'record' | 'strict';

/** Options of {@link createAgentStore}. */
export interface CreateAgentStoreOptions {
  /** @default an empty state */
  readonly initialState?: AgentState | undefined;
  /** @default 'record' */
  readonly protocolMode?: AgentStoreProtocolMode | undefined;
}

/** The state of a conversation, as its events make it. */
export interface AgentStore {
  /** The state; the same object until it changes. */
  getSnapshot(): AgentState;
  /**
   * Apply one event, and notify if it changes the state.
   *
   * In strict mode an event against the rules throws an {@link AgentProtocolError} and changes nothing.
   */
  dispatch(event: AgentEvent): AgentState;
  /** Apply several events with one notification; in strict mode all of them or none. */
  batch(events: readonly AgentEvent[]): AgentState;
  /** Replace the state, and notify. @default state an empty one */
  reset(state?: AgentState): AgentState;
  /** Hear of every change; what a listener throws stops nobody. Returns what ends it. */
  subscribe(listener: () => void): () => void;
  /** End it: from now on all but `getSnapshot` and `destroy` throw a RunSocketError `closed`. */
  destroy(): void;
}

/** What a strict store throws for an event against the rules. */
export class AgentProtocolError extends Error {
  override readonly name = 'AgentProtocolError' as const;
  readonly issue: AgentProtocolIssue;

  constructor(issue: AgentProtocolIssue) {
    super(issue.message);
    this.issue = issue;
  }
}

function refuse(issue: AgentProtocolIssue): never {
  throw new AgentProtocolError(issue);
}

/** Make a store of a conversation's state. */
export function createAgentStore({
  initialState,
  protocolMode,
}: CreateAgentStoreOptions = {}): AgentStore {
  const listeners = createListeners<void>(baseEnvironment.report);
  let node = toNode(initialState ?? createInitialAgentState());
  let destroyed = false;

  const check = (): void => {
    if (destroyed) throw new RunSocketError('closed', 'AgentStore has been destroyed.');
  };
  const getSnapshot = (): AgentState => toState(node);
  const show = (next: StateNode, always?: boolean): AgentState => {
    if (always || next !== node) {
      node = next;
      listeners.emit();
    }
    return getSnapshot();
  };
  const reduce = (from: StateNode, event: AgentEvent): StateNode =>
    reduceNode(from, event, protocolMode === 'strict' ? refuse : undefined);

  return {
    getSnapshot,
    dispatch(event) {
      check();
      return show(reduce(node, event));
    },
    batch(events) {
      check();
      return show(events.reduce(reduce, node));
    },
    reset(state = createInitialAgentState()) {
      check();
      return show(toNode(state), true);
    },
    subscribe(listener) {
      check();
      return listeners.add(() => {
        if (!destroyed) listener();
      });
    },
    destroy() {
      destroyed = true;
    },
  };
}
