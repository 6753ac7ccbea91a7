import { appendText, startMessage, type TextKind } from './text-events.ts';
import { field, only, setOpen, type Thread, textOf, type WireEvent } from './thread-edits.ts';
import { appendArguments, hasCall, startCall } from './tool-events.ts';

/** Close what chunks opened in these lanes; a lane is a subagent's id, or `undefined` for the parent agent. */
export function closeChunks(
  thread: Thread,
  isClosed: (lane: string | undefined) => boolean,
): Thread {
  const { chunks, unended } = thread.open ?? {};
  const left = only(chunks, (chunk) => !isClosed(chunk.subagentRunId));
  return left === chunks
    ? thread
    : setOpen(thread, {
        chunks: left,
        unended: only(
          unended,
          (id) =>
            !chunks?.some(
              (chunk) => chunk.kind === 'tool' && chunk.id === id && !left?.includes(chunk),
            ),
        ),
      });
}

/**
 * A chunk is start, content and end in one. Without an id it goes on with what is open in its lane;
 * where nothing or more than one thing fits, it changes nothing.
 */
export function expandChunk(thread: Thread, event: WireEvent, kind: TextKind | 'tool'): Thread {
  const key = kind === 'tool' ? 'toolCallId' : 'messageId';
  const id = textOf(event[key]);
  const lane = textOf(event.subagentRunId);
  const fits = (thread.open?.chunks ?? []).filter(
    (chunk) =>
      chunk.kind === kind &&
      (id === undefined ? lane === undefined || chunk.subagentRunId === lane : chunk.id === id),
  );
  const current =
    fits.find((chunk) => chunk.subagentRunId === undefined) ?? (fits[1] ? undefined : fits[0]);
  const whole = { ...event, [key]: current?.id ?? id };
  let next = thread;
  if (!current) {
    if (id === undefined) return thread;
    next = closeChunks(thread, (other) => other === lane);
    next = kind === 'tool' ? startCall(next, whole) : startMessage(next, whole, kind);
    // The first chunk of a call must name it.
    if (kind === 'tool' && !hasCall(next, id)) return thread;
    next = setOpen(next, {
      chunks: [...(next.open?.chunks ?? []), { kind, id, ...field('subagentRunId', lane) }],
    });
  }
  return kind === 'tool' ? appendArguments(next, whole) : appendText(next, whole, kind);
}
