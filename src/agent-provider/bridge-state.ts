import type { ResumeEntry } from '../ag-ui/interrupts.ts';
import { isObject } from '../ag-ui/thread-edits.ts';
import { RunSocketError } from '../internal/errors.ts';
import type { AgUiBridgePhase } from './bridge-types.ts';
import type { AgentEntityKind } from './state-types.ts';

/** What the bridge knows of an entity. */
export interface BridgeEntity {
  readonly kind: AgentEntityKind;
  /** What its events call it; not always what AG-UI does. */
  readonly id: string;
  /** The name of a tool or an artifact. */
  name?: string;
  /** What an open message says and an open or failed tool was called with, or an artifact's content. */
  content?: unknown;
  /** AG-UI's message begins elsewhere: with an entity before it, or in an earlier run. */
  part?: boolean;
  /** A snapshot said something else than was streamed. */
  diverged?: true;
  /** A delta could not be applied: further ones wait for a snapshot. */
  stale?: boolean;
  /** The tool runs. */
  ran?: true;
  /** Which call under its id a tool call is. */
  attempt?: number;
  /** Told by the run's start: what streams under its id is an echo. */
  own?: true;
  /** The lane whose chunks build it. */
  lane?: string | undefined;
}

/** How the run will end, once it is over. */
export interface BridgeEnd {
  readonly how: 'completed' | 'failed' | 'cancelled';
  /** What the run's terminal event carries. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly timestamp?: unknown;
  /** Unanswered tools are cancelled, not completed. */
  readonly asked?: boolean;
}

/** All that a bridge remembers: plain JSON but for the maps and sets. */
export interface BridgeState {
  phase: AgUiBridgePhase;
  /** The AG-UI run under way. */
  runId: string | undefined;
  end: BridgeEnd | undefined;
  /** The latest entity of each AG-UI id, by kind and id. */
  readonly entities: Map<string, BridgeEntity>;
  /** What is open, in opening order: keys of `entities`, by the entity's kind and own id. */
  readonly open: Map<string, string>;
  /** Entity ids that are taken, by kind; the number is that of the last alias. */
  readonly used: Map<string, number>;
  /** Ids of messages that are nothing new, and whether another has told what they say. */
  readonly known: Map<string, boolean>;
  /** Names of the tools that earlier runs called and nobody answered. */
  readonly names: Map<string, string>;
  /** What chunks without an id go on with: the entity's key, by lane. */
  readonly lanes: Map<string, string>;
  /** How many reasoning messages each lane began. */
  readonly thoughts: Map<string, number>;
  /** Open spans of reasoning: their lane, and how many messages it had begun before. */
  readonly spans: Map<string, readonly [lane: string, before: number]>;
  /** How many reasoning messages without an id there were, and which is open. */
  thinking: number;
  thinkingId: string | undefined;
  /** The shared state. */
  shared: unknown;
  stale: boolean;
  /** The questions that ended the AG-UI run, by the approval's id. */
  readonly approvals: Map<string, { readonly id: string; readonly answer?: ResumeEntry }>;
  /** The AG-UI ids of tool calls that wait for the application. */
  readonly pending: Set<string>;
  /** The tool calls that failed, by the entity's id. */
  readonly failed: Map<
    string,
    { readonly id: string; readonly name: string; readonly arguments: string }
  >;
  readonly usage: Map<string, number>;
}

/** Make the state of a bridge that has told nothing yet. */
export function createBridgeState(known: readonly string[], shared: unknown): BridgeState {
  return {
    phase: 'new',
    runId: undefined,
    end: undefined,
    entities: new Map(),
    open: new Map(),
    used: new Map(),
    known: new Map(known.map((id) => [id, true])),
    names: new Map(),
    lanes: new Map(),
    thoughts: new Map(),
    spans: new Map(),
    thinking: 0,
    thinkingId: undefined,
    shared,
    stale: false,
    approvals: new Map(),
    pending: new Set(),
    failed: new Map(),
    usage: new Map(),
  };
}

const isList = (value: unknown): value is Map<unknown, unknown> | Set<unknown> =>
  value instanceof Map || value instanceof Set;

/** Write a state down as plain JSON, of which nothing changes any more. */
export function saveBridgeState(state: BridgeState): unknown {
  return JSON.parse(
    JSON.stringify({ ...state, version: 1 }, (_key, value) => (isList(value) ? [...value] : value)),
  );
}

/** Make a state of what {@link saveBridgeState} wrote. Throws `invalid-argument` for anything else. */
export function restoreBridgeState(saved: unknown): BridgeState {
  const state = createBridgeState([], undefined);
  const refuse = (cause?: unknown): never => {
    throw new RunSocketError('invalid-argument', 'This is no snapshot of a bridge.', cause);
  };
  if (!isObject(saved) || saved.version !== 1) return refuse();
  try {
    for (const [key, value] of Object.entries(state)) {
      (state as unknown as Record<string, unknown>)[key] = isList(value)
        ? new (value.constructor as MapConstructor)(saved[key] as never)
        : saved[key];
    }
  } catch (error) {
    refuse(error);
  }
  if (
    !/^(new|running|ending|held|ended)$/.test(state.phase) ||
    ![...state.entities.values()].every(isObject) ||
    ![...state.open.values()].every((key) => state.entities.has(key))
  ) {
    refuse();
  }
  return state;
}
