import { textOf } from '../internal/json-values.ts';
import { createText, extendText, type TextKind } from './text-events.ts';
import { type Draft, findById, only, type WireEvent } from './thread-edits.ts';
import { createCall, extendCall, findOwner, without } from './tool-events.ts';

/** What streams: a message's text, its reasoning, or a tool call's arguments. */
export type StreamKind = TextKind | 'tool';

function create(draft: Draft, event: WireEvent, kind: StreamKind): void {
  if (kind === 'tool') createCall(draft, event);
  else createText(draft, event, kind);
}

/** `*_CONTENT`, `*_ARGS` and `*_END`: append the text, if the event is of a type that brings any, and the metadata. */
export function extend(draft: Draft, event: WireEvent, kind: StreamKind): void {
  const delta = /CONT|ARGS|CHUNK/.test(event.type) ? event.delta : undefined;
  if (kind === 'tool') extendCall(draft, event, delta);
  else extendText(draft, event, kind, delta);
  if (event.type === 'TOOL_CALL_END') {
    draft.open.unended = without(draft.open.unended, event.toolCallId);
  }
}

/** `*_START`: what is there already only takes the metadata. */
export function start(draft: Draft, event: WireEvent, kind: StreamKind): void {
  create(draft, event, kind);
  extend(draft, event, kind);
}

/** Close what chunks opened; a lane is a subagent's id, or `undefined` for the parent agent. */
export function closeChunks(
  { open }: Draft,
  isClosed: (lane: string | undefined) => boolean,
): void {
  open.chunks = only(open.chunks, ({ id, kind, subagentRunId }) => {
    if (!isClosed(subagentRunId)) return true;
    if (kind === 'tool') open.unended = without(open.unended, id);
    return false;
  });
}

/**
 * A chunk is start, content and end in one. Without an id it goes on with what is open in its lane;
 * where nothing or more than one thing fits, it changes nothing.
 */
export function expandChunk(draft: Draft, event: WireEvent, kind: StreamKind): void {
  const key = kind === 'tool' ? 'toolCallId' : 'messageId';
  const lane = textOf(event.subagentRunId);
  let id = textOf(event[key]);
  const fits = (draft.open.chunks ?? []).filter(
    (chunk) =>
      chunk.kind === kind &&
      (id === undefined ? (lane ?? chunk.subagentRunId) === chunk.subagentRunId : chunk.id === id),
  );
  const current =
    fits.find((chunk) => chunk.subagentRunId === undefined) ?? (fits[1] ? undefined : fits[0]);
  id ??= current?.id;
  if (id === undefined) return;
  const whole = { ...event, [key]: id };
  if (!current) {
    // The first chunk of a call must name it.
    if (
      kind === 'tool' &&
      textOf(event.toolCallName) === undefined &&
      findOwner(draft.messages, id) < 0
    )
      return;
    closeChunks(draft, (other) => other === lane);
    create(draft, whole, kind);
    draft.open.chunks = [
      ...(draft.open.chunks ?? []),
      { kind, id, ...(lane !== undefined && { subagentRunId: lane }) },
    ];
  }
  extend(draft, whole, kind);
}

/**
 * `THINKING_TEXT_MESSAGE_*`, as servers before AG-UI 1.0 send it: reasoning without an id.
 *
 * The id is made of the run's and a number, so that a replay makes the same one.
 */
export function applyThinking(draft: Draft, event: WireEvent, kind: StreamKind): void {
  const { messages, open, runId = 'run' } = draft;
  const phase = event.type.slice(-3);
  if (phase === 'ART' || (phase === 'ENT' && open.thinking === undefined)) {
    let number = 0;
    do open.thinking = `${runId}:thinking:${number++}`;
    while (findById(messages, open.thinking) >= 0);
    create(draft, { ...event, messageId: open.thinking }, kind);
  }
  extend(draft, { ...event, messageId: open.thinking }, kind);
  if (phase === 'END') open.thinking = undefined;
}
