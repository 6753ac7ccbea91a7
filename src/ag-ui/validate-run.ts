import { isRecord, isText, textOf } from '../internal/json-values.ts';
import { callsOf, itemsOf, type WireEvent } from './thread-edits.ts';

/** What opens and closes, and what it is called. */
const kinds = {
  TEXT_MESSAGE: 'message',
  TOOL_CALL: 'tool call',
  REASONING_MESSAGE: 'reasoning message',
  REASONING: 'reasoning span',
} as const;

const streamed =
  /^((TEXT|REASONING)_MESSAGE_(START|CONTENT|END)|TOOL_CALL_(START|ARGS|END)|REASONING_(START|END))$/;

const keyOf = (...parts: readonly unknown[]): string =>
  JSON.stringify(parts.map((part) => part ?? null));

/** Takes what is wrong with the event at hand. */
export type Report = (message: string) => void;

/** The rules of one run. */
export interface RunRules {
  /** Who owns what comes with a list of messages; known owners stay unless it `replaces` them. */
  takeMessages(list: unknown, replaces: boolean): void;
  /** Report what is open. */
  finish(): void;
  /** Report what is wrong with an event between the run's start and end. */
  check(event: WireEvent): void;
}

/** Make the rules about what is open, and who owns it, within one run. */
export function createRunRules(report: Report): RunRules {
  const open = new Map<string, string>();
  const owners = new Map<string, string | undefined>();
  const ended = new Set<string>();

  const agree = (key: string, event: WireEvent, what: string): void => {
    const tag = textOf(event.subagentRunId);
    if (tag !== undefined && owners.has(key) && owners.get(key) !== tag) {
      report(`The ${what} belongs to ${owners.get(key) ?? 'the parent agent'}, not to ${tag}.`);
    }
  };

  function stream(event: WireEvent, kind: keyof typeof kinds, phase: string): void {
    const id = event[kind === 'TOOL_CALL' ? 'toolCallId' : 'messageId'];
    const what = `${kinds[kind]} '${textOf(id)}'`;
    const key = keyOf(kind, id);
    // A span and a message of one id have one owner.
    const owner = keyOf(kind === 'REASONING' ? 'REASONING_MESSAGE' : kind, id);
    agree(owner, event, what);
    if (phase !== 'START') {
      if (!open.has(key)) report(`The ${what} is not open.`);
      if (phase === 'END') open.delete(key);
      return;
    }
    if (open.has(key)) report(`The ${what} is open already.`);
    open.set(key, what);
    const parent = keyOf('TEXT_MESSAGE', event.parentMessageId);
    const hasParent = kind === 'TOOL_CALL' && owners.has(parent);
    if (hasParent) {
      agree(parent, event, 'parent message');
      if (
        !isText(event.subagentRunId) &&
        owners.has(owner) &&
        owners.get(owner) !== owners.get(parent)
      ) {
        report(`The ${what} and its parent message belong to different agents.`);
      }
    }
    if (!owners.has(owner)) {
      owners.set(
        owner,
        textOf(event.subagentRunId) ?? (hasParent ? owners.get(parent) : undefined),
      );
    }
  }

  function takeMessages(list: unknown, replaces: boolean): void {
    for (const message of Array.isArray(list) ? list : []) {
      if (message?.subagentRunId === null) report(`A message has 'subagentRunId: null'.`);
    }
    for (const message of itemsOf(list)) {
      const kind =
        message.role === 'reasoning'
          ? 'REASONING_MESSAGE'
          : message.role === 'activity'
            ? 'activity'
            : 'TEXT_MESSAGE';
      for (const key of [
        keyOf(kind, message.id),
        ...callsOf(message).map((call) => keyOf('TOOL_CALL', call?.id)),
      ]) {
        if (replaces || !owners.has(key)) owners.set(key, textOf(message.subagentRunId));
      }
    }
  }

  function subagent(event: WireEvent): void {
    const { type, subagentRunId: id, parentSubagentRunId: parent } = event;
    const key = keyOf('subagent', id);
    const what = `subagent '${textOf(id)}'`;
    if (!isText(id)) {
      report('The event names no subagent.');
      return;
    }
    for (const field of [
      'description',
      'parentSubagentRunId',
      'parentToolCallId',
      'parentMessageId',
      'code',
      'outcome',
    ]) {
      if (event[field] === null) report(`The event has '${field}: null'.`);
    }
    if (type === 'SUBAGENT_STARTED') {
      if (!isText(event.name)) report(`The ${what} has no name.`);
      if (open.has(key)) report(`The ${what} is active already.`);
      if (ended.has(key)) report(`The ${what} has ended in this run.`);
      const parentKey = keyOf('subagent', parent);
      if (parent != null && !open.has(parentKey) && !ended.has(parentKey)) {
        report(`The parent of the ${what} was not started in this run.`);
      }
      open.set(key, what);
      return;
    }
    const outcome = isRecord(event.outcome) ? event.outcome : undefined;
    if (outcome && outcome.type !== 'success' && outcome.type !== 'suspended') {
      report(`The outcome of the ${what} is neither success nor suspended.`);
    }
    if (type === 'SUBAGENT_ERROR' && !isText(event.message)) report(`The error has no message.`);
    if (!open.has(key)) report(`The ${what} is not active.`);
    open.delete(key);
    ended.add(key);
  }

  return {
    takeMessages,
    finish(): void {
      for (const what of open.values()) report(`The run ends while the ${what} is open.`);
    },
    check(event: WireEvent): void {
      const { type, subagentRunId, messageId, stepName } = event;
      if (streamed.test(type)) {
        const at = type.lastIndexOf('_');
        stream(event, type.slice(0, at) as keyof typeof kinds, type.slice(at + 1));
        return;
      }
      if (/^SUBAGENT_(STARTED|FINISHED|ERROR)$/.test(type)) subagent(event);
      const step = keyOf('step', subagentRunId, stepName);
      const activity = keyOf('activity', messageId);
      switch (type) {
        case 'STEP_STARTED':
          if (open.has(step)) report(`The step '${stepName}' is open already.`);
          open.set(step, `step '${stepName}'`);
          break;
        case 'STEP_FINISHED':
          if (!open.delete(step)) report(`The step '${stepName}' is not open.`);
          break;
        case 'TOOL_CALL_RESULT':
          if (isText(messageId))
            owners.set(keyOf('TEXT_MESSAGE', messageId), textOf(subagentRunId));
          break;
        case 'ACTIVITY_SNAPSHOT':
          if (!owners.has(activity) || event.replace !== false) {
            owners.set(activity, textOf(subagentRunId));
          }
          break;
        case 'ACTIVITY_DELTA':
          agree(activity, event, 'activity');
          break;
        case 'REASONING_ENCRYPTED_VALUE': {
          const [first, second] = ['TEXT_MESSAGE', 'REASONING_MESSAGE'].map((kind) =>
            keyOf(kind, event.entityId),
          ) as [string, string];
          agree(
            event.subtype === 'tool-call'
              ? keyOf('TOOL_CALL', event.entityId)
              : event.subtype === 'message' && owners.has(first)
                ? first
                : second,
            event,
            'entity',
          );
          break;
        }
        case 'MESSAGES_SNAPSHOT':
          takeMessages(event.messages, true);
      }
    },
  };
}
