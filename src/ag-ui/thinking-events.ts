import { appendText, endMessage, startMessage } from './text-events.ts';
import { findMessage, setOpen, type Thread, type WireEvent } from './thread-edits.ts';

/**
 * `THINKING_TEXT_MESSAGE_*`, as servers before AG-UI 1.0 send it: reasoning without an id.
 *
 * The id is made of the run's and a number, so that a replay makes the same one.
 */
export function applyThinking(
  thread: Thread,
  event: WireEvent,
  phase: 'start' | 'content' | 'end',
): Thread {
  const open = thread.open?.thinking;
  if (phase === 'end') {
    return open === undefined
      ? thread
      : endMessage(
          setOpen(thread, { thinking: undefined }),
          { ...event, messageId: open },
          'reasoning',
        );
  }
  if (phase === 'content' && open !== undefined) {
    return appendText(thread, { ...event, messageId: open }, 'reasoning');
  }
  let messageId: string;
  let number = 0;
  do messageId = `${thread.runId ?? 'run'}:thinking:${number++}`;
  while (findMessage(thread.messages, messageId) >= 0);
  const whole = { ...event, messageId };
  const next = startMessage(setOpen(thread, { thinking: messageId }), whole, 'reasoning');
  return phase === 'start' ? next : appendText(next, whole, 'reasoning');
}
