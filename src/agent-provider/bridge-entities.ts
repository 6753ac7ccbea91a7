import { isObject, isText, textOf, type WireEvent } from '../ag-ui/thread-edits.ts';
import type { BridgeEntity, BridgeState } from './bridge-state.ts';
import type { AgUiBridgeOptions } from './bridge-types.ts';
import type { AgentError, AgentEvent } from './event-types.ts';
import type { AgentEntityKind } from './state-types.ts';

/** What the handlers of AG-UI events work on. */
export interface BridgeDraft {
  readonly options: AgUiBridgeOptions;
  readonly state: BridgeState;
  /** The events made so far. */
  out: AgentEvent[];
}

type Payload = Readonly<Record<string, unknown>>;

const openers: Readonly<Record<AgentEntityKind, string>> = {
  message: 'started',
  reasoning: 'started',
  tool: 'requested',
  approval: 'requested',
  task: 'created',
  artifact: 'created',
};

/** An event with nothing but its time, for what it only causes. */
export function timeOf({ timestamp }: { readonly [key: string]: unknown }): WireEvent {
  return { type: '', timestamp };
}

/** An error as events take it: producers forget the message, and send what they like. */
export function toAgentError(value: unknown, fallback: string, details?: unknown): AgentError {
  const { message, code, retryable } = Object(value);
  return {
    message: textOf(message) || textOf(value) || fallback,
    ...(isText(code) && { code }),
    ...(typeof retryable === 'boolean' && { retryable }),
    ...(details !== undefined && { details }),
  };
}

/** The name of a payload's id. */
export function idKeyOf(kind: string): string {
  return kind === 'tool' ? 'toolCallId' : `${kind}Id`;
}

/** Tell an event. `base` is AG-UI's id of what it opens, named where the entity has another. */
export function emit(
  { options, out }: BridgeDraft,
  { timestamp, metadata, subagentRunId }: WireEvent,
  type: string,
  payload: Payload,
  parentId?: string,
  base?: string,
): void {
  let meta: Record<string, unknown> | undefined;
  if (isObject(metadata)) meta = { 'ag-ui.metadata': metadata };
  if (isText(subagentRunId)) meta = { ...meta, 'ag-ui.subagentRunId': subagentRunId };
  if (base !== undefined) meta = { ...meta, 'ag-ui.id': base };
  out.push(
    options.events.create(type as never, payload as never, {
      timestamp: Number.isFinite(timestamp) ? (timestamp as number) : undefined,
      parentId,
      meta,
    }),
  );
}

/** Tell an event of an entity. */
export function tell(
  draft: BridgeDraft,
  event: WireEvent,
  { kind, id }: BridgeEntity,
  verb: string,
  payload?: Payload,
): void {
  emit(draft, event, `${kind}.${verb}`, { [idKeyOf(kind)]: id, ...payload });
}

/** Whether an entity has not come to its end. */
export function isOpen(
  { state }: BridgeDraft,
  entity: BridgeEntity | undefined,
): entity is BridgeEntity {
  return !!entity && state.open.has(entity.kind + entity.id);
}

/** An id that no entity of the kind has: `base`, or one made of it. */
export function takeId(
  { state: { used } }: BridgeDraft,
  kind: AgentEntityKind,
  base: string,
): string {
  const first = base || kind;
  let id = first;
  // Counts on from the last alias: an id may be opened again and again.
  let number = used.get(kind + id) ?? 0;
  used.set(kind + id, Math.max(number, 1));
  if (number) {
    do id = `${first}~${++number}`;
    while (used.has(kind + id));
    used.set(kind + first, number).set(kind + id, 1);
  }
  return id;
}

/** Open an entity; `key` finds it again, and `base` is AG-UI's id. */
export function open(
  draft: BridgeDraft,
  event: WireEvent,
  kind: AgentEntityKind,
  key: string,
  base: string,
  payload: Payload,
  parentId: string | undefined,
): BridgeEntity {
  const { entities, open } = draft.state;
  const id = takeId(draft, kind, base);
  const entity = { kind, id };
  entities.set(key, entity);
  open.set(kind + id, key);
  emit(
    draft,
    event,
    `${kind}.${openers[kind]}`,
    { [idKeyOf(kind)]: id, ...payload },
    parentId,
    id === base ? undefined : base,
  );
  return entity;
}

/** Forget what only an open entity needs. */
export function forget({ state }: BridgeDraft, entity: BridgeEntity): void {
  const { kind, id, lane } = entity;
  state.open.delete(kind + id);
  if (lane !== undefined) state.lanes.delete(lane);
  delete entity.lane;
  // An artifact's next delta starts from its content.
  if (kind !== 'artifact') delete entity.content;
}

/** Close an entity, unless it is. */
export function close(
  draft: BridgeDraft,
  event: WireEvent,
  entity: BridgeEntity | undefined,
  verb: string,
  payload?: Payload,
): void {
  if (!isOpen(draft, entity)) return;
  const { content, diverged } = entity;
  forget(draft, entity);
  tell(
    draft,
    event,
    entity,
    verb,
    diverged && verb === 'completed' ? { content, ...payload } : payload,
  );
}

/** Close what is open, the last opened first. */
export function closeAll(
  draft: BridgeDraft,
  event: WireEvent,
  how: string,
  payload?: Payload,
  isAsked?: boolean,
): void {
  const { entities, open } = draft.state;
  for (const key of [...open.values()].reverse()) {
    const entity = entities.get(key);
    const kind = entity?.kind;
    if (kind === 'approval') close(draft, event, entity, 'resolved', { decision: 'expired' });
    else if (kind === 'artifact' && how === 'cancelled') {
      // There is no artifact.cancelled.
      close(draft, event, entity, 'failed', { error: { code: how, message: 'Cancelled' } });
    } else close(draft, event, entity, isAsked && kind === 'tool' ? 'cancelled' : how, payload);
  }
}

/** The latest entity that AG-UI calls `id`. */
export function find(
  { state }: BridgeDraft,
  kind: AgentEntityKind,
  id: unknown,
): BridgeEntity | undefined {
  return isText(id) ? state.entities.get(kind + id) : undefined;
}

/** The id of the entity that AG-UI calls `id`, or that id where there is none. */
export function entityIdOf(
  draft: BridgeDraft,
  kind: AgentEntityKind,
  id: unknown,
): string | undefined {
  return find(draft, kind, id)?.id ?? textOf(id);
}

/** The task of the subagent that an event is from. */
export function taskOf(draft: BridgeDraft, { subagentRunId }: WireEvent): string | undefined {
  return entityIdOf(draft, 'task', subagentRunId);
}

/** Where an event comes from: a subagent, or the parent agent. */
export function laneOf({ subagentRunId }: WireEvent): string {
  return isText(subagentRunId) ? `/${subagentRunId}` : '';
}
