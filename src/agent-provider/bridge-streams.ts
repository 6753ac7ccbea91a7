import type { WireEvent } from '../ag-ui/thread-edits.ts';
import { isText, textOf } from '../internal/json-values.ts';
import { type BridgeDraft, close, find, laneOf, open, tell, timeOf } from './bridge-entities.ts';
import type { BridgeEntity } from './bridge-state.ts';
import { runTool, startTool } from './bridge-tools.ts';

/** What streams. */
export type StreamKind = 'message' | 'reasoning' | 'tool';

const wireIdOf = ({ toolCallId, messageId }: WireEvent, kind: StreamKind) =>
  kind === 'tool' ? toolCallId : messageId;

/** Where a lane stands: another one for every reasoning message. */
const markOf = ({ state }: BridgeDraft, lane: string) =>
  `${lane} ${state.used.get(`lane${lane}`) ?? 0}`;

/** `*_START`: what is open stays as it is, and so does what the run itself has told. */
export function startStream(
  draft: BridgeDraft,
  event: WireEvent,
  kind: StreamKind,
  content?: unknown,
): BridgeEntity | undefined {
  if (kind === 'tool') return startTool(draft, event);
  const { messageId: id, role } = event;
  if (!isText(id)) return undefined;
  const { known, used } = draft.state;
  const old = find(draft, kind, id);
  if (old?.own || old?.open) return old;
  const lane = `lane${laneOf(event)}`;
  const isThought = kind === 'reasoning';
  if (isThought) used.set(lane, (used.get(lane) ?? 0) + 1);
  return Object.assign(
    open(draft, event, `${kind}.started`, kind + id, id, {
      role: isThought ? undefined : textOf(role) || 'assistant',
      content,
    }),
    { content: '', part: !!old || known.has(id) },
  );
}

/** Append text to what is open; it never goes behind a snapshot's parts. */
export function extend(
  draft: BridgeDraft,
  event: WireEvent,
  entity: BridgeEntity | undefined,
  delta: unknown,
): void {
  if (!isText(delta) || !delta || !entity?.open || !isText(entity.content)) return;
  // `+` makes a rope: the cost does not grow with the text.
  entity.content += delta;
  tell(draft, event, entity, entity.kind === 'tool' ? 'arguments_delta' : 'delta', { delta });
}

function end(draft: BridgeDraft, event: WireEvent, entity: BridgeEntity | undefined): void {
  if (entity?.kind === 'tool') runTool(draft, event, entity);
  else close(draft, event, entity, 'completed');
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

/** `*_START`, `*_CONTENT`, `*_ARGS`, `*_END` and `*_CHUNK`. */
export function applyStream(
  draft: BridgeDraft,
  event: WireEvent,
  kind: StreamKind,
  verb: string,
): void {
  if (verb === 'CHUNK') applyChunk(draft, event, kind);
  else if (verb === 'START') startStream(draft, event, kind);
  else {
    const entity = find(draft, kind, wireIdOf(event, kind));
    if (verb === 'END') end(draft, event, entity);
    else extend(draft, event, entity, event.delta);
  }
}

/**
 * A chunk is start, content and end in one. Without an id it goes on with what is open in its lane;
 * where nothing or more than one thing fits, it changes nothing.
 */
function applyChunk(draft: BridgeDraft, event: WireEvent, kind: StreamKind): void {
  const { lanes, entities } = draft.state;
  const id = wireIdOf(event, kind);
  const lane = laneOf(event);
  let entity = find(draft, kind, id);
  if (isText(id)) {
    if (entity?.lane === undefined) {
      // The first chunk of a call must name it.
      if (kind === 'tool' && !entity && !isText(event.toolCallName)) return;
      closeLane(draft, event, lane);
      entity = startStream(draft, event, kind)!;
      entity.lane = lane;
      lanes.set(lane, kind + id);
    }
  } else {
    const fits = [...lanes].flatMap(([name, key]) => {
      const other = entities.get(key);
      return other?.kind === kind && (!lane || lane === name) ? other : [];
    });
    entity = fits.find((other) => other.lane === lane) ?? (fits[1] ? undefined : fits[0]);
  }
  extend(draft, event, entity, event.delta);
}

/** `REASONING_START` and `REASONING_END`: a span without messages was not for reading. */
export function applySpan(draft: BridgeDraft, event: WireEvent): void {
  const { spans } = draft.state;
  const { type, messageId: id } = event;
  if (!isText(id)) return;
  const mark = markOf(draft, laneOf(event));
  const before = spans.get(id);
  spans.delete(id);
  if (type === 'REASONING_START') spans.set(id, mark);
  else if (before === mark) {
    const span = open(draft, event, 'reasoning.started', `span${id}`, id, { redacted: true });
    close(draft, event, span, 'completed');
  }
}
