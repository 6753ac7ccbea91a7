import type { AgentEvent, AgentEventType } from './event-types.ts';
import {
  getIn,
  type ListVersion,
  listOf,
  type RecordVersion,
  read,
  recordOf,
} from './state-records.ts';
import type { AgentState } from './state-types.ts';

const names = [
  // These have keys that callers choose.
  'sessions',
  'runs',
  'lastSequenceByRun',
  'messages',
  'reasoning',
  'toolCalls',
  'approvals',
  'tasks',
  'artifacts',
  'order',
  'issues',
] as const;

type Versions = {
  readonly [Name in (typeof names)[number]]: AgentState[Name] extends readonly (infer Item)[]
    ? ListVersion<Item>
    : AgentState[Name] extends Readonly<Record<string, infer Item>>
      ? RecordVersion<Item>
      : never;
};

/** The ids of a run's events. Most are the factory's own: of those a number and a type are kept. */
interface RunIds {
  /** Accepted events with ids of the factory, whose sequences grow. */
  readonly sequences: number[];
  readonly types: AgentEventType[];
  /** All others, and when they came. */
  readonly named: Map<string, number>;
}

/** The ids of all events; states of one line share it. */
interface EventIds {
  readonly byRun: Map<string, RunIds>;
  count: number;
}

/** What a state is made of. */
export interface StateNode extends Versions {
  readonly ids: EventIds;
  /** How many of the ids were there already. */
  readonly idCount: number;
  /** Sequences up to these were processed before the state was read back. */
  readonly floor: Readonly<Record<string, number>> | undefined;
  /** What the outside sees of it, once it was looked at. */
  state?: AgentState | undefined;
}

/** A node that can still be changed, with what another has. Written out, since spreads are slow. */
export const copyNode = (
  node: StateNode,
): { -readonly [Name in keyof StateNode]: StateNode[Name] } => ({
  sessions: node.sessions,
  runs: node.runs,
  lastSequenceByRun: node.lastSequenceByRun,
  messages: node.messages,
  reasoning: node.reasoning,
  toolCalls: node.toolCalls,
  approvals: node.approvals,
  tasks: node.tasks,
  artifacts: node.artifacts,
  order: node.order,
  issues: node.issues,
  ids: node.ids,
  idCount: node.idCount,
  floor: node.floor,
  state: undefined,
});

/** The key of a run's entity in the records of a state. */
export const getAgentEntityKey = (runId: string, entityId: string): string =>
  `${runId.length}:${runId}${entityId}`;

/** The key of a run's event in `processedEventIds`. */
export const getAgentEventKey = (runId: string, eventId: string): string =>
  getAgentEntityKey(runId, eventId);

const link: unique symbol = Symbol();

interface Linked {
  readonly [link]?: () => StateNode;
}

const lazy = /* @__PURE__ */ names.map((name): PropertyDescriptor & ThisType<Required<Linked>> => ({
  get() {
    return read(this[link]()[name]);
  },
  enumerable: true,
  configurable: true,
}));

const idsOnDemand: PropertyDescriptor & ThisType<Required<Linked>> = {
  get() {
    const keys: Record<string, true> = Object.create(null);
    forEachId(this[link](), (runId, eventId) => {
      keys[getAgentEventKey(runId, eventId)] = true;
    });
    return keys;
  },
  configurable: true,
};

/** What the outside sees of a node: records are put together when they are first read. */
export function toState(node: StateNode): AgentState {
  if (node.state) return node.state;
  const state: Record<PropertyKey, unknown> = {};
  for (let index = 0; index < names.length; index++) {
    const name = names[index]!;
    const version: RecordVersion | ListVersion = node[name];
    // A small record costs less than its getter, and one that did not change for long will stay.
    if (version.value || version.shown++ >= version.size - 3) state[name] = read(version);
    else Object.defineProperty(state, name, lazy[index]!);
  }
  Object.defineProperty(state, link, { value: () => node });
  Object.defineProperty(state, 'processedEventIds', idsOnDemand);
  node.state = state as unknown as AgentState;
  return node.state;
}

type Fields = Readonly<Record<string, unknown>>;

const noIds = (): EventIds => ({ byRun: new Map(), count: 0 });

const defaultId = (runId: string, sequence: number, type: AgentEventType): string =>
  `${runId}:${sequence}:${type}`;

function remember(
  ids: EventIds,
  runId: string,
  eventId: string,
  sequence?: number | undefined,
  type?: AgentEventType,
): void {
  let ofRun = ids.byRun.get(runId);
  if (!ofRun) {
    ofRun = { sequences: [], types: [], named: new Map() };
    ids.byRun.set(runId, ofRun);
  }
  if (type && eventId === defaultId(runId, sequence!, type)) {
    ofRun.sequences.push(sequence!);
    ofRun.types.push(type);
  } else {
    ofRun.named.set(eventId, ids.count);
  }
  ids.count++;
}

/** Where a sequence stands in a sorted list, or would. */
function search(list: readonly number[], sequence: number): number {
  let from = 0;
  let to = list.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (list[middle]! < sequence) from = middle + 1;
    else to = middle;
  }
  return from;
}

function forEachId(
  { ids, idCount, lastSequenceByRun }: StateNode,
  take: (runId: string, eventId: string, sequence?: number, type?: AgentEventType) => void,
): void {
  for (const [runId, { sequences, types, named }] of ids.byRun) {
    const last = getIn(lastSequenceByRun, runId) ?? -1;
    for (const [index, type] of types.entries()) {
      const sequence = sequences[index]!;
      // Later ones are of states after this one.
      if (sequence > last) break;
      take(runId, defaultId(runId, sequence, type), sequence, type);
    }
    for (const [eventId, index] of named) if (index < idCount) take(runId, eventId);
  }
}

/**
 * The ids of a node with one more; only those of a node that is not the newest of its line are
 * copied. `type` is that of an accepted event.
 */
export function addId(
  node: StateNode,
  { runId, eventId, sequence }: AgentEvent,
  type: AgentEventType | undefined,
): EventIds {
  let { ids } = node;
  if (ids.count !== node.idCount) {
    ids = noIds();
    forEachId(node, (...id) => remember(ids, ...id));
  }
  remember(ids, runId, eventId, sequence, type);
  return ids;
}

/** Whether an event of this id was processed, where `last` is the last sequence of its run. */
export function hasId(
  { ids, idCount }: StateNode,
  { runId, eventId }: AgentEvent,
  last: number | undefined,
): boolean {
  const ofRun = ids.byRun.get(runId);
  if (!ofRun) return false;
  const { sequences, types, named } = ofRun;
  if (named.size && (named.get(eventId) ?? idCount) < idCount) return true;
  const sequence = Number.parseFloat(eventId.slice(runId.length + 1));
  if (last === undefined || !(sequence <= last)) return false;
  const index = search(sequences, sequence);
  return index < sequences.length && eventId === defaultId(runId, sequences[index]!, types[index]!);
}

function linkedNode(state: AgentState): StateNode | undefined {
  const node = (state as Linked)[link]?.();
  // A proxy of a state may show other things than the state does.
  return node?.state === state ? node : undefined;
}

/** One item of a state's record, without putting the record together. */
export function peek<Name extends Exclude<(typeof names)[number], 'order' | 'issues'>>(
  state: AgentState,
  name: Name,
  key: string,
): AgentState[Name][string] | undefined {
  const version = linkedNode(state)?.[name] ?? recordOf<unknown>(state[name]);
  return getIn(version as RecordVersion<AgentState[Name][string]>, key);
}

/** The node of a state of ours, or one made of a state's plain data. */
export function toNode(state: AgentState): StateNode {
  const node = linkedNode(state);
  if (node) return node;
  const { processedEventIds, lastSequenceByRun } = state;
  const ids = noIds();
  for (const key in processedEventIds) {
    const start = key.indexOf(':') + 1;
    const end = start + Number.parseInt(key, 10);
    remember(ids, key.slice(start, end), key.slice(end));
  }
  const versions = names.map((name, index) => {
    const value: unknown = state[name];
    if (Array.isArray(value)) return [name, listOf(value)];
    // A chosen key must not find what plain objects inherit; an entity key never does.
    const safe = value && index > 2 ? value : Object.assign(Object.create(null), value);
    return [name, recordOf(safe as Fields)];
  });
  return copyNode({
    ...(Object.fromEntries(versions) as unknown as Versions),
    ids,
    idCount: ids.count,
    floor: processedEventIds ? undefined : lastSequenceByRun,
  });
}

/** Make the state before the first event. */
export function createInitialAgentState(): AgentState {
  return toState(toNode({ order: [], issues: [], processedEventIds: {} } as unknown as AgentState));
}
