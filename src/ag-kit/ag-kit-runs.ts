import type { AgUiAgentOptions } from '../ag-ui/agent-types.ts';
import { lastIndex } from '../ag-ui/thread-edits.ts';
import { isRecord, isText } from '../internal/json-values.ts';
import { type AgKitStreamEvent, agKitToAgUi } from './ag-kit-to-ag-ui.ts';
import { type SendMessageInputOptions, toSendMessageInput } from './send-message-input.ts';

/** Options of {@link agKitRuns}. */
export type AgKitRunsOptions = SendMessageInputOptions;

/** Options of `createAgUiAgent` that make it talk AG-Kit, to a client of any type. Made by {@link agKitRuns}. */
export type AgKitRuns<Offset extends number | string = number> = {
  readonly [Key in 'run' | 'event' | 'translate' | 'checkpoint']-?: NonNullable<
    AgUiAgentOptions<unknown, unknown, never, Offset>[Key]
  >;
};

/** Of how many threads the last run is remembered; the others are as on a page that was just loaded. */
const threadLimit = 1000;

/** The last run of a thread that this page has sent. */
interface Sent {
  readonly runId: string;
  readonly message: unknown;
  /** The last message that went with it. */
  readonly last: string | undefined;
  /** The last message that the server has shown to have, by answering. */
  seen: string | undefined;
}

/**
 * Make the options with which `createAgUiAgent` and `createAgUiProvider` talk AG-Kit.
 *
 * A run is sent as `{ type: 'run', runId, input }` with AG-Kit's `SendMessageInput`; events come as
 * `{ runId, offset, event }` with AG-Kit's events, `'[DONE]'` at the end, or AG-UI's. Of the messages
 * only those go that the server does not have: the ones behind its own last message, and behind the
 * last run that it answered on this page, be it without a word. So what was stopped before an answer
 * came, or failed without one, goes again with the next run. Several threads may share the options.
 *
 * An answer to an interrupt goes with the messages that were added to it; on a page that was loaded
 * since the question it goes alone, as AG-Kit's own client sends it, unless it cancels.
 *
 * @example
 * const agent = createAgUiAgent(client, { ...agKitRuns() });
 * const provider = createAgUiProvider({ client, agentOptions: agKitRuns() });
 */
export function agKitRuns<Offset extends number | string = number>(
  options: AgKitRunsOptions = {},
): AgKitRuns<Offset> {
  const threads = new Map<string, Sent>();

  return {
    run(input, runId) {
      const { threadId, messages, resume } = input;
      const before = threads.get(threadId);
      if (before?.runId === runId) return before.message as never;
      const seen = before?.seen;
      const last = messages.at(-1)?.id;
      // The last message that the server surely has.
      const cursor =
        resume?.[0]?.status === 'resolved' && !before
          ? last
          : messages[lastIndex(messages, ({ id }) => id === seen || /^ag-kit:/.test(id))]?.id;
      const message = { type: 'run', runId, input: toSendMessageInput(input, cursor, options) };
      // The one that was used last stands last, and the oldest one goes.
      threads.delete(threadId);
      threads.set(threadId, { runId, message, last, seen });
      if (threads.size > threadLimit) threads.delete([...threads.keys()][0] as string);
      return message as never;
    },
    event: (message) =>
      isRecord(message) &&
      isText(message.runId) &&
      (isRecord(message.event) || message.event === '[DONE]')
        ? (message as never)
        : undefined,
    translate(runId) {
      const [threadId, sent] = [...threads].find(([, one]) => one.runId === runId) ?? [''];
      const { push } = agKitToAgUi({ threadId, runId });
      return (event) => {
        const { type, outcome } = Object(event);
        // A server that only starts, and then fails or is stopped, may have taken nothing.
        if (sent && !/^RUN_(STARTED|ERROR)$/.test(type) && outcome?.type !== 'cancelled') {
          sent.seen = sent.last;
        }
        return push(event as AgKitStreamEvent);
      };
    },
    checkpoint: false,
  };
}
