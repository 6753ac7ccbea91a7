import type { WireEvent } from '../ag-ui/thread-edits.ts';
import { isRecord, isText, textOf } from '../internal/json-values.ts';
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

/** An event with nothing but its time, for what it only causes. */
export function timeOf({ timestamp }: { readonly [key: string]: unknown }): WireEvent {
  return { type: '', timestamp };
}

/** An error as events take it: producers forget the message, and send what they like. */
export function toAgentError(value: unknown, what: string, details?: unknown): AgentError {
  const { message, code, retryable } = Object(value);
  return {
    message: textOf(message) || textOf(value) || `${what} failed.`,
    code: textOf(code),
    retryable: typeof retryable === 'boolean' ? retryable : undefined,
    details,
  } as AgentError;
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
  const add = (key: string, value: unknown) => {
    meta = { ...meta, [`ag-ui.${key}`]: value };
  };
  if (isRecord(metadata)) add('metadata', metadata);
  if (isText(subagentRunId)) add('subagentRunId', subagentRunId);
  if (base !== undefined) add('id', base);
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

/** An entity is there from now on. */
export function register(
  { state: { entities, used } }: BridgeDraft,
  kind: AgentEntityKind,
  id: string,
  key: string,
): BridgeEntity {
  const entity = { kind, id, key, open: true };
  used.set(kind + id, used.get(kind + id) ?? 1);
  // What is opened again comes last.
  entities.delete(key);
  entities.set(key, entity);
  return entity;
}

/** Open an entity by an event of `type`; `key` finds it again, and `base` is AG-UI's id. */
export function open(
  draft: BridgeDraft,
  event: WireEvent,
  type: string,
  key: string,
  base: string,
  payload: Payload,
  parentId: string | null = taskOf(draft, event) ?? null,
): BridgeEntity {
  const { used } = draft.state;
  const kind = type.split('.')[0] as AgentEntityKind;
  const first = base || kind;
  let id = first;
  // Counts on from the last alias: an id may be opened again and again.
  let number = used.get(kind + first) ?? 0;
  while (used.has(kind + id)) id = `${first}~${++number}`;
  if (number) used.set(kind + first, number);
  emit(
    draft,
    event,
    type,
    { [idKeyOf(kind)]: id, ...payload },
    parentId ?? undefined,
    id === base ? undefined : base,
  );
  return register(draft, kind, id, key);
}

/** Forget what only an open entity needs. */
export function forget({ state }: BridgeDraft, entity: BridgeEntity): void {
  state.lanes.delete(entity.lane as string);
  entity.lane = undefined;
  entity.open = false;
  // An artifact's next delta starts from its content.
  if (entity.kind !== 'artifact') entity.content = undefined;
}

/** Close an entity, unless it is. */
export function close(
  draft: BridgeDraft,
  event: WireEvent,
  entity: BridgeEntity | undefined,
  verb: string,
  payload?: Payload,
): void {
  if (!entity?.open) return;
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

/** The entities that are open, in opening order. */
export function openOf({ state }: BridgeDraft, kinds: RegExp = /./): BridgeEntity[] {
  return [...state.entities.values()].filter(({ open, kind }) => open && kinds.test(kind));
}

/** Close what is open, the last opened first. */
export function closeAll(
  draft: BridgeDraft,
  event: WireEvent,
  how: string,
  payload?: Payload,
  isAsked?: boolean,
): void {
  for (const entity of openOf(draft).reverse()) {
    const { kind } = entity;
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
