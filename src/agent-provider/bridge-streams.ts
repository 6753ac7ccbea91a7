import { isText, textOf, type WireEvent } from '../ag-ui/thread-edits.ts';
import {
  type BridgeDraft,
  close,
  find,
  isOpen,
  laneOf,
  open,
  taskOf,
  tell,
  timeOf,
} from './bridge-entities.ts';
import type { BridgeEntity } from './bridge-state.ts';
import { runTool, startTool } from './bridge-tools.ts';

/** What streams. */
export type StreamKind = 'message' | 'reasoning' | 'tool';

/** The name of AG-UI's id of what streams. */
export function wireKeyOf(kind: StreamKind): 'toolCallId' | 'messageId' {
  return kind === 'tool' ? 'toolCallId' : 'messageId';
}

/** `*_START`: what is open stays as it is, and so does what the run itself has told. */
export function startStream(
  draft: BridgeDraft,
  event: WireEvent,
  kind: StreamKind,
  content?: unknown,
): BridgeEntity | undefined {
  const { messageId: id } = event;
  if (kind === 'tool') return startTool(draft, event);
  if (!isText(id)) return undefined;
  const { known, thoughts } = draft.state;
  const old = find(draft, kind, id);
  if (old?.own || isOpen(draft, old)) return old;
  const isThought = kind === 'reasoning';
  const lane = laneOf(event);
  if (isThought) thoughts.set(lane, (thoughts.get(lane) ?? 0) + 1);
  const entity = open(
    draft,
    event,
    kind,
    kind + id,
    id,
    {
      ...(!isThought && { role: textOf(event.role) || 'assistant' }),
      ...(content !== undefined && { content }),
    },
    taskOf(draft, event),
  );
  entity.content = '';
  entity.part = !!old || !!known.get(id);
  return entity;
}

/** Append text to what is open; it never goes behind a snapshot's parts. */
export function extend(
  draft: BridgeDraft,
  event: WireEvent,
  entity: BridgeEntity | undefined,
  delta: unknown,
): void {
  if (!isText(delta) || !delta || !isOpen(draft, entity) || !isText(entity.content)) return;
  // `+` makes a rope: the cost does not grow with the text.
  entity.content += delta;
  tell(draft, event, entity, entity.kind === 'tool' ? 'arguments_delta' : 'delta', { delta });
}

/** `*_CONTENT` and `*_ARGS`. */
export function extendStream(draft: BridgeDraft, event: WireEvent, kind: StreamKind): void {
  extend(draft, event, find(draft, kind, event[wireKeyOf(kind)]), event.delta);
}

function end(draft: BridgeDraft, event: WireEvent, entity: BridgeEntity | undefined): void {
  if (entity?.kind === 'tool') runTool(draft, event, entity);
  else close(draft, event, entity, 'completed');
}

/** `*_END`. */
export function endStream(draft: BridgeDraft, event: WireEvent, kind: StreamKind): void {
  end(draft, event, find(draft, kind, event[wireKeyOf(kind)]));
}

/** End what the chunks of a lane build. */
export function closeLane(draft: BridgeDraft, event: WireEvent, lane: string): void {
  const { lanes, entities } = draft.state;
  const entity = entities.get(lanes.get(lane) as string);
  lanes.delete(lane);
  if (!entity) return;
  entity.lane = undefined;
  end(draft, timeOf(event), entity);
}

/** End what chunks build, in every lane. */
export function closeLanes(draft: BridgeDraft, event: WireEvent): void {
  for (const lane of draft.state.lanes.keys()) closeLane(draft, event, lane);
}

/**
 * A chunk is start, content and end in one. Without an id it goes on with what is open in its lane;
 * where nothing or more than one thing fits, it changes nothing.
 */
export function applyChunk(draft: BridgeDraft, event: WireEvent, kind: StreamKind): void {
  const { lanes, entities } = draft.state;
  const wireKey = wireKeyOf(kind);
  const id = event[wireKey];
  const lane = laneOf(event);
  const at = (name: string) => {
    const entity = entities.get(lanes.get(name) as string);
    return entity?.kind === kind ? entity : undefined;
  };
  let entity: BridgeEntity | undefined;
  if (isText(id)) {
    entity = find(draft, kind, id);
    if (entity?.lane === undefined) {
      // The first chunk of a call must name it.
      if (kind === 'tool' && !entity && !isText(event.toolCallName)) return;
      closeLane(draft, event, lane);
      entity = startStream(draft, event, kind);
      if (entity) {
        entity.lane = lane;
        lanes.set(lane, kind + id);
      }
    }
  } else {
    entity = at(lane);
    if (!entity && !lane) {
      const others = [...lanes.keys()].flatMap((name) => at(name) ?? []);
      if (!others[1]) entity = others[0];
    }
  }
  extend(draft, event, entity, event.delta);
}

/** `REASONING_START` and `REASONING_END`: a span without messages was not for reading. */
export function applySpan(draft: BridgeDraft, event: WireEvent): void {
  const { spans, thoughts } = draft.state;
  const { messageId: id } = event;
  if (!isText(id)) return;
  if (event.type === 'REASONING_START') {
    const lane = laneOf(event);
    spans.set(id, [lane, thoughts.get(lane) ?? 0]);
    return;
  }
  const [lane = '', before] = spans.get(id) ?? [];
  spans.delete(id);
  if (before !== (thoughts.get(lane) ?? 0)) return;
  const entity = open(
    draft,
    event,
    'reasoning',
    `span${id}`,
    id,
    { redacted: true },
    taskOf(draft, event),
  );
  close(draft, event, entity, 'completed');
}

/** `THINKING_TEXT_MESSAGE_*`, as servers before AG-UI 1.0 send it: reasoning without an id. */
export function applyThinking(draft: BridgeDraft, event: WireEvent): void {
  const { state } = draft;
  const phase = event.type.slice(-3);
  const starts = phase === 'ART' || (phase === 'ENT' && state.thinkingId === undefined);
  if (starts) {
    close(draft, timeOf(event), find(draft, 'reasoning', state.thinkingId), 'completed');
    do state.thinkingId = `${state.runId ?? 'run'}:thinking:${state.thinking++}`;
    while (find(draft, 'reasoning', state.thinkingId));
  }
  const whole = { ...event, messageId: state.thinkingId };
  if (starts) startStream(draft, whole, 'reasoning');
  if (phase === 'ENT') extendStream(draft, whole, 'reasoning');
  if (phase === 'END') {
    endStream(draft, whole, 'reasoning');
    state.thinkingId = undefined;
  }
}
