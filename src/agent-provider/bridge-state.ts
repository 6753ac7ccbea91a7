import type { ResumeEntry } from '../ag-ui/interrupts.ts';
import { RunSocketError } from '../internal/errors.ts';
import { isRecord } from '../internal/json-values.ts';
import type { AgUiBridgePhase } from './bridge-types.ts';
import type { AgentEntityKind } from './state-types.ts';

/** What the bridge knows of an entity. */
export interface BridgeEntity {
  readonly kind: AgentEntityKind;
  /** What its events call it; not always what AG-UI does. */
  readonly id: string;
  /** Where it is found: its kind and AG-UI's id. */
  readonly key: string;
  /** It has not come to its end. */
  open?: boolean;
  /** The name of a tool or an artifact. */
  name?: string;
  /** What an open message says and an open tool was called with, or an artifact's content. */
  content?: unknown;
  /** AG-UI's message begins elsewhere: with an entity before it, or in an earlier run. */
  part?: boolean;
  /** A snapshot said something else than was streamed. */
  diverged?: boolean;
  /** A delta could not be applied: further ones wait for a snapshot. */
  stale?: boolean;
  /** The tool runs. */
  ran?: boolean;
  /** Which call under its id a tool call is. */
  attempt?: number | undefined;
  /** Told by the run's start: what streams under its id is an echo. */
  own?: boolean;
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

/** All that a bridge remembers: plain JSON but for the maps. */
export interface BridgeState {
  phase: AgUiBridgePhase;
  end: BridgeEnd | undefined;
  /** The latest entity of each AG-UI id, by kind and id, in opening order. */
  readonly entities: Map<string, BridgeEntity>;
  /** Entity ids that are taken, by kind; the number is that of the last alias. And how many reasoning messages a lane began. */
  readonly used: Map<string, number>;
  /** Ids of messages that are nothing new. */
  readonly known: Map<string, true>;
  /** Names of the tools that earlier runs called and nobody answered. */
  readonly names: Map<string, string>;
  /** What chunks without an id go on with: the entity's key, by lane. */
  readonly lanes: Map<string, string>;
  /** Open spans of reasoning: where their lane stood. */
  readonly spans: Map<string, string>;
  /** The interrupts that ended the AG-UI run, and their answers. */
  readonly asked: Map<string, ResumeEntry | null>;
  /** The AG-UI ids of tool calls that wait for the application. */
  readonly pending: Map<string, true>;
  /** The tool calls that failed, by the entity's id. */
  readonly failed: Map<
    string,
    { readonly id: string; readonly name: string; readonly arguments: string }
  >;
  readonly usage: Map<string, number>;
}

const names = 'entities used known names lanes spans asked pending failed usage'.split(' ');

/**
 * Make the state of a bridge, of what {@link saveBridgeState} wrote or of nothing.
 *
 * Throws `invalid-argument` for what is no state.
 */
export function createBridgeState(saved?: unknown): BridgeState {
  const { version, phase, end, ...maps } = (
    saved === undefined ? { version: 1, phase: 'new' } : Object(saved)
  ) as Readonly<Record<string, never>>;
  try {
    const state = Object.assign(
      { phase, end },
      ...names.map((name) => ({ [name]: new Map(maps[name]) })),
    ) as BridgeState;
    if (version === 1 && phase && [...state.entities.values()].every(isRecord)) return state;
  } catch {}
  throw new RunSocketError('invalid-argument', 'This is no snapshot of a bridge.');
}

/** Write a state down as plain JSON, of which nothing changes any more. */
export function saveBridgeState(state: BridgeState): unknown {
  return JSON.parse(
    JSON.stringify({ ...state, version: 1 }, (_key, value) =>
      value instanceof Map ? [...value] : value,
    ),
  );
}
