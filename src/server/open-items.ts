/** An AG-UI event as it is looked at here. */
export type WireEvent = Readonly<Record<string, unknown>>;

/** What an agent has begun and not ended. */
export interface OpenItems {
  /** Follows an event of the run. */
  see(event: WireEvent): void;
  /** Takes what ends all that is open, the last begun first. */
  close(): WireEvent[];
}

/** What opens, what closes it, and the field that names it; AG-UI 1.0 and its predecessors. */
const kinds: readonly (readonly [string, string, string])[] = [
  ['TEXT_MESSAGE_START', 'TEXT_MESSAGE_END', 'messageId'],
  ['REASONING_START', 'REASONING_END', 'messageId'],
  ['REASONING_MESSAGE_START', 'REASONING_MESSAGE_END', 'messageId'],
  ['TOOL_CALL_START', 'TOOL_CALL_END', 'toolCallId'],
  ['STEP_STARTED', 'STEP_FINISHED', 'stepName'],
  ['SUBAGENT_STARTED', 'SUBAGENT_FINISHED', 'subagentRunId'],
  ['THINKING_START', 'THINKING_END', ''],
  ['THINKING_TEXT_MESSAGE_START', 'THINKING_TEXT_MESSAGE_END', ''],
];
const openers = new Map(kinds.map((kind) => [kind[0], kind]));
const closers = new Map(kinds.map((kind) => [kind[1], kind]));
closers.set('SUBAGENT_ERROR', ['', 'SUBAGENT_FINISHED', 'subagentRunId']);

/** Make the list of what is open in one run. */
export function createOpenItems(): OpenItems {
  const open = new Map<string, WireEvent>();
  return {
    see(event) {
      const type = String(event.type);
      const opener = openers.get(type);
      const kind = opener ?? closers.get(type);
      if (!kind) {
        if (type === 'RUN_STARTED' || type === 'RUN_ERROR') open.clear();
        return;
      }
      const [, end, field] = kind;
      const { subagentRunId } = event;
      // A step is named within its agent; ids are unique.
      const owner = field === 'messageId' || field === 'toolCallId' ? undefined : subagentRunId;
      const key = JSON.stringify([end, event[field], owner]);
      open.delete(key);
      if (!opener) return;
      open.set(key, {
        type: end,
        ...(field && { [field]: event[field] }),
        ...(subagentRunId !== undefined && { subagentRunId }),
      });
    },
    close() {
      const events = [...open.values()].reverse();
      open.clear();
      return events;
    },
  };
}
