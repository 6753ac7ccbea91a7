import { textOf } from '../internal/json-values.ts';
import type { WireEvent } from './thread-edits.ts';

interface OpenChunk {
  readonly kind: 'TEXT_MESSAGE' | 'REASONING_MESSAGE' | 'TOOL_CALL';
  readonly id: string;
  readonly opener: WireEvent;
}

const repeated = ['role', 'name', 'toolCallName', 'parentMessageId'] as const;

/** Turn chunks into the starts, contents and ends they stand for, and report those that stand for none. */
export function createChunkExpander(
  report: (message: string) => void,
): (event: WireEvent) => WireEvent[] {
  const lanes = new Map<string | undefined, OpenChunk>();

  function close(lane: string | undefined): WireEvent[] {
    const open = lanes.get(lane);
    lanes.delete(lane);
    return open ? [toEvent(open, 'END', open.opener.subagentRunId)] : [];
  }

  function toEvent({ kind, id, opener }: OpenChunk, phase: string, tag: unknown): WireEvent {
    return {
      type: `${kind}_${phase}`,
      [kind === 'TOOL_CALL' ? 'toolCallId' : 'messageId']: id,
      ...(phase === 'START' && { parentMessageId: opener.parentMessageId }),
      ...(tag !== undefined && { subagentRunId: tag }),
    };
  }

  /** The lane that a chunk goes on or opens in; nothing where that is not clear. */
  function laneOf(
    kind: string,
    id: string | undefined,
    tag: string | undefined,
  ): { readonly lane: string | undefined } | undefined {
    const fits = [...lanes].filter(([, open]) => open.kind === kind);
    if (id !== undefined) {
      const holder = fits.find(([, open]) => open.id === id);
      if (holder && tag !== undefined && tag !== holder[0]) {
        report(`The chunk of '${id}' is tagged with another subagent than its opener.`);
        return undefined;
      }
      return { lane: holder ? holder[0] : tag };
    }
    if (tag !== undefined || fits.some(([lane]) => lane === undefined)) return { lane: tag };
    if (fits.length > 1) {
      report('The chunk names neither id nor subagent, and several lanes fit it.');
      return undefined;
    }
    return { lane: fits[0]?.[0] };
  }

  function expandChunk(event: WireEvent, kind: OpenChunk['kind']): WireEvent[] {
    const tag = textOf(event.subagentRunId);
    const id = textOf(event[kind === 'TOOL_CALL' ? 'toolCallId' : 'messageId']);
    const found = laneOf(kind, id, tag);
    if (!found) return [];
    const open = lanes.get(found.lane);
    if (open?.kind === kind && (id === undefined || id === open.id)) {
      for (const field of repeated) {
        const opened = field === 'role' ? (open.opener.role ?? 'assistant') : open.opener[field];
        if (event[field] !== undefined && event[field] !== opened) {
          report(`The chunk of '${open.id}' has another ${field} than its opener.`);
        }
      }
      return [toEvent(open, kind === 'TOOL_CALL' ? 'ARGS' : 'CONTENT', tag)];
    }
    const closing = close(found.lane);
    if (id === undefined || (kind === 'TOOL_CALL' && textOf(event.toolCallName) === undefined)) {
      report(`The first chunk needs ${id === undefined ? 'an id' : 'the name of its tool'}.`);
      return closing;
    }
    const opened = { kind, id, opener: event };
    lanes.set(found.lane, opened);
    return [...closing, toEvent(opened, 'START', tag)];
  }

  return (event) => {
    const { type } = event;
    const tag = textOf(event.subagentRunId);
    if (/^(TEXT_MESSAGE|REASONING_MESSAGE|TOOL_CALL)_CHUNK$/.test(type)) {
      return expandChunk(event, type.slice(0, -6) as OpenChunk['kind']);
    }
    if (/^(RUN_|MESSAGES_)/.test(type)) return [...[...lanes.keys()].flatMap(close), event];
    if (/^SUBAGENT_/.test(type)) {
      return type === 'SUBAGENT_STARTED' || tag === undefined ? [event] : [...close(tag), event];
    }
    return /^(TEXT_|TOOL_|STATE_|STEP_|REASONING_(?!ENC)|CUSTOM$)/.test(type)
      ? [...close(tag), event]
      : [event];
  };
}
