import { applyAgUiEvent } from '../../src/ag-ui/apply-event.ts';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import type { ActivityMessage, AgUiMessage } from '../../src/ag-ui/messages.ts';
import { type AgUiThread, emptyThread } from '../../src/ag-ui/thread.ts';
import { createRandom } from './random.ts';

/** A legal AG-UI stream of one or more runs, and the thread it goes on from. */
export interface GeneratedRuns {
  readonly messages: readonly AgUiMessage[];
  readonly state: unknown;
  readonly events: readonly AgUiEvent[];
}

/** What {@link generateRuns} leaves out or limits. */
export interface GenerateOptions {
  /** How many runs follow each other. @default 1 to 3 */
  readonly runs?: number;
  /** About how many actions each run takes. @default 10 to 60 */
  readonly actions?: number;
  /** Whether a run may be interrupted, cancelled or failed. @default true */
  readonly endings?: boolean;
  /** Whether `MESSAGES_SNAPSHOT` may rewrite history. @default true */
  readonly snapshots?: boolean;
}

type Lane = string | undefined;
interface Chunk {
  readonly kind: 'text' | 'reasoning' | 'tool';
  readonly id: string;
}

const words = ['sun', 'rain', ' and ', '…', 'a "quote"', '日本', '\n', '{', ''];

/** Make a legal stream out of a seed: `@ag-ui/client`'s verifier takes it as it is. */
export function generateRuns(seed: number, options: GenerateOptions = {}): GeneratedRuns {
  const random = createRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const chance = (p: number): boolean => random() < p;
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  let counter = 0;
  const id = (prefix: string): string =>
    chance(0.02) && counter++ < 1 ? '__proto__' : `${prefix}${counter++}`;
  const word = (): string => pick(words);
  const metadata = (): { metadata?: Record<string, unknown> } =>
    chance(0.15)
      ? {
          metadata: {
            [pick(['usage', 'finish', 'ag-ui', 'note'])]: pick([1, 'x', null, { a: [1] }]),
          },
        }
      : {};

  const messages: AgUiMessage[] = [];
  if (chance(0.7)) messages.push({ id: id('u'), role: 'user', content: 'hello' });
  if (chance(0.3)) {
    messages.push({ id: id('a'), role: 'assistant', content: 'hi', name: 'bot' });
    messages.push({ id: id('u'), role: 'user', content: [{ type: 'text', text: 'parts' }] });
  }
  const state: unknown = chance(0.5) ? {} : { list: [1, 2, 3], deep: { value: { on: true } } };

  const events: AgUiEvent[] = [];
  let thread: AgUiThread<unknown> = emptyThread({ messages, state });

  // What is open, by owner; emptied where a run starts.
  const texts = new Map<string, Lane>();
  const thoughts = new Map<string, Lane>();
  const spans = new Map<string, Lane>();
  const calls = new Map<string, Lane>();
  const steps = new Map<string, { lane: Lane; name: string }>();
  const subagents = new Map<string, true>();
  const chunks = new Map<Lane, Chunk>();
  const answeredCalls = new Set<string>();

  const tag = (lane: Lane): { subagentRunId?: string } =>
    lane === undefined ? {} : { subagentRunId: lane };
  const emit = (event: AgUiEvent): void => {
    events.push(event);
    thread = applyAgUiEvent(thread, event);
    const { type } = event;
    const own = (event as { subagentRunId?: string }).subagentRunId;
    if (/^RUN_|^MESSAGES/.test(type)) chunks.clear();
    else if (!/CHUNK|^RAW|^ACTIVITY|ENCRYPTED|SUBAGENT_STARTED/.test(type)) chunks.delete(own);
  };
  const lane = (): Lane =>
    subagents.size && chance(0.4) ? pick([...subagents.keys()]) : undefined;
  const find = (role: string): AgUiMessage[] =>
    thread.messages.filter((message) => message.role === role);
  const allCalls = (): string[] =>
    thread.messages.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => call.id) : [],
    );

  const closeStep = (key: string): void => {
    const step = steps.get(key);
    if (!step) return;
    steps.delete(key);
    emit({ type: 'STEP_FINISHED', stepName: step.name, ...tag(step.lane) });
  };
  const patch = (document: unknown, root: string): unknown[] => {
    const operations: unknown[] = [];
    const keys = Object.keys((document ?? {}) as object).filter((key) => /^[a-z0-9]+$/i.test(key));
    const value = (): unknown => pick([1, 'text', null, false, { x: 1 }, [1, 2], '']);
    const fresh = `k${counter++}`;
    operations.push({ op: 'add', path: `${root}/${fresh}`, value: value() });
    if (chance(0.5)) operations.push({ op: 'replace', path: `${root}/${fresh}`, value: [1, 2] });
    if (chance(0.3)) operations.push({ op: 'add', path: `${root}/${fresh}a`, value: [] });
    if (chance(0.3))
      operations.push({ op: 'copy', from: `${root}/${fresh}`, path: `${root}/c~1~0` });
    if (keys.length && chance(0.4))
      operations.push({ op: 'remove', path: `${root}/${pick(keys)}` });
    if (chance(0.3))
      operations.push({ op: 'move', from: `${root}/${fresh}`, path: `${root}/moved` });
    return operations;
  };
  const snapshot = (): AgUiEvent => {
    const kept = thread.messages
      .filter(() => chance(0.8))
      .map((message): AgUiMessage => {
        const { stale: _, ...copy } = structuredClone(message) as ActivityMessage;
        if (chance(0.2) && typeof copy.content === 'string') {
          return { ...copy, content: `${copy.content} (edited)` } as unknown as AgUiMessage;
        }
        return copy as AgUiMessage;
      });
    if (chance(0.4)) kept.push({ id: id('s'), role: 'assistant', content: 'from the server' });
    if (chance(0.2)) kept.reverse();
    const without = pick(['reasoning', 'activity', 'none']);
    const types = pick<unknown>([undefined, undefined, null, ['plan'], ['other'], 7]);
    return {
      type: 'MESSAGES_SNAPSHOT',
      messages: chance(0.05) ? [] : kept.filter((message) => message.role !== without),
      ...(types === undefined
        ? metadata()
        : { metadata: { '@ag-ui/client': { authoritativeActivityTypes: types } } }),
    };
  };

  const actions: (() => void)[] = [
    function startText() {
      const on = lane();
      const ids = find('assistant').filter(
        (m) =>
          !texts.has(m.id) &&
          m.subagentRunId === on &&
          ![...chunks.values()].some((open) => open.id === m.id),
      );
      const reopened = chance(0.1) && ids.length ? pick(ids).id : undefined;
      const messageId = reopened ?? id('m');
      // The verifier knows who owns what a former run built only by its own bookkeeping.
      emit({
        type: 'TEXT_MESSAGE_START',
        messageId,
        ...(chance(0.5)
          ? { role: pick(['assistant', 'user', 'system', 'developer'] as const) }
          : {}),
        ...(chance(0.2) ? { name: 'writer' } : {}),
        ...metadata(),
        ...(reopened ? {} : tag(on)),
      });
      texts.set(messageId, reopened ? undefined : on);
    },
    function moreText() {
      if (!texts.size) return;
      const [messageId, on] = pick([...texts]);
      const times = 1 + below(4);
      for (let i = 0; i < times; i++) {
        emit({
          type: 'TEXT_MESSAGE_CONTENT',
          messageId,
          delta: word(),
          ...metadata(),
          ...(chance(0.8) ? tag(on) : {}),
        });
      }
    },
    function endText() {
      if (!texts.size) return;
      const [messageId, on] = pick([...texts]);
      texts.delete(messageId);
      emit({ type: 'TEXT_MESSAGE_END', messageId, ...metadata(), ...tag(on) });
    },
    function chunk() {
      const on = lane();
      const kind = pick(['text', 'reasoning', 'tool'] as const);
      const open = chunks.get(on);
      const goesOn = open?.kind === kind && chance(0.8);
      const chunkId = goesOn ? open.id : id('k');
      const withId = !goesOn || chance(0.3);
      const delta = chance(0.9) ? { delta: word() } : {};
      const rest = { ...delta, ...metadata(), ...tag(on) };
      if (kind === 'tool') {
        emit({
          type: 'TOOL_CALL_CHUNK',
          ...(withId ? { toolCallId: chunkId } : {}),
          ...(goesOn ? {} : { toolCallName: 'look' }),
          ...rest,
        });
      } else {
        emit({
          type: kind === 'text' ? 'TEXT_MESSAGE_CHUNK' : 'REASONING_MESSAGE_CHUNK',
          ...(withId ? { messageId: chunkId } : {}),
          ...rest,
        });
      }
      chunks.set(on, { kind, id: chunkId });
    },
    function reason() {
      if (!thoughts.size || chance(0.3)) {
        const on = lane();
        const messageId = id('r');
        if (chance(0.5)) {
          const spanId = chance(0.5) ? messageId : id('span');
          emit({ type: 'REASONING_START', messageId: spanId, ...tag(on) });
          spans.set(spanId, on);
        }
        emit({
          type: 'REASONING_MESSAGE_START',
          messageId,
          role: 'reasoning',
          ...metadata(),
          ...tag(on),
        });
        thoughts.set(messageId, on);
        return;
      }
      const [messageId, on] = pick([...thoughts]);
      if (chance(0.7)) {
        emit({
          type: 'REASONING_MESSAGE_CONTENT',
          messageId,
          delta: word(),
          ...metadata(),
          ...tag(on),
        });
        return;
      }
      thoughts.delete(messageId);
      emit({ type: 'REASONING_MESSAGE_END', messageId, ...metadata(), ...tag(on) });
    },
    function endSpan() {
      if (!spans.size) return;
      const [messageId, on] = pick([...spans]);
      spans.delete(messageId);
      emit({ type: 'REASONING_END', messageId, ...tag(on) });
    },
    function startCall() {
      const parents = thread.messages.filter((message) => message.role !== 'activity');
      const parent = chance(0.6);
      const toolCallId = id('c');
      const on = parent ? undefined : lane();
      const parentMessageId =
        parents.length && chance(0.7)
          ? pick(parents).id
          : chance(0.5)
            ? id('p')
            : [...texts.keys()][0];
      emit({
        type: 'TOOL_CALL_START',
        toolCallId,
        toolCallName: pick(['search', 'plan', '']),
        ...(parent && parentMessageId !== undefined ? { parentMessageId } : {}),
        ...metadata(),
        ...tag(on),
      });
      calls.set(toolCallId, on);
    },
    function moreArguments() {
      if (!calls.size) return;
      const [toolCallId, on] = pick([...calls]);
      emit({ type: 'TOOL_CALL_ARGS', toolCallId, delta: word(), ...metadata(), ...tag(on) });
    },
    function endCall() {
      if (!calls.size) return;
      const [toolCallId, on] = pick([...calls]);
      calls.delete(toolCallId);
      emit({ type: 'TOOL_CALL_END', toolCallId, ...metadata(), ...tag(on) });
    },
    function result() {
      const open = allCalls().filter((call) => !answeredCalls.has(call));
      const toolCallId = open.length && chance(0.9) ? pick(open) : id('unknown');
      answeredCalls.add(toolCallId);
      emit({
        type: 'TOOL_CALL_RESULT',
        messageId: id('t'),
        toolCallId,
        content: chance(0.7)
          ? word()
          : [
              { type: 'text', text: 'part' },
              { type: 'image', source: { type: 'url', value: 'https://x.test/i.png' } },
            ],
        ...(chance(0.5) ? { role: 'tool' as const } : {}),
        ...metadata(),
        ...tag(lane()),
      });
    },
    function step() {
      const on = lane();
      const name = pick(['think', 'act', 'check']);
      const key = `${on}/${name}`;
      if (steps.has(key)) closeStep(key);
      else {
        steps.set(key, { lane: on, name });
        emit({ type: 'STEP_STARTED', stepName: name, ...tag(on) });
      }
    },
    function stateSnapshot() {
      emit({
        type: 'STATE_SNAPSHOT',
        snapshot: pick<unknown>([{}, { list: [], n: counter }, { a: { b: { c: 1 } } }]),
        ...tag(lane()),
      });
    },
    function stateDelta() {
      emit({ type: 'STATE_DELTA', delta: patch(thread.state, '') as never, ...tag(lane()) });
    },
    function activity() {
      const known = find('activity') as ActivityMessage[];
      if (known.length && chance(0.6)) {
        const old = pick(known);
        if (chance(0.6)) {
          emit({
            type: 'ACTIVITY_DELTA',
            messageId: old.id,
            activityType: chance(0.8) ? old.activityType : 'plan',
            patch: patch(old.content, '') as never,
            ...metadata(),
          });
          return;
        }
        emit({
          type: 'ACTIVITY_SNAPSHOT',
          messageId: old.id,
          activityType: pick(['plan', 'other']),
          content: { n: counter },
          ...(chance(0.5) ? { replace: chance(0.5) } : {}),
          ...metadata(),
          ...tag(lane()),
        });
        return;
      }
      emit({
        type: 'ACTIVITY_SNAPSHOT',
        messageId: id('act'),
        activityType: pick(['plan', 'other']),
        content: { items: [1], title: word() },
        ...(chance(0.3) ? { replace: chance(0.5) } : {}),
        ...metadata(),
        ...tag(lane()),
      });
    },
    function encrypted() {
      if (chance(0.5)) {
        const known = allCalls();
        const entityId = known.length ? pick(known) : 'nobody';
        emit({
          type: 'REASONING_ENCRYPTED_VALUE',
          subtype: 'tool-call',
          entityId,
          encryptedValue: `enc${counter}`,
        });
        return;
      }
      const known = thread.messages;
      emit({
        type: 'REASONING_ENCRYPTED_VALUE',
        subtype: 'message',
        entityId: known.length ? pick(known).id : 'nobody',
        encryptedValue: `enc${counter}`,
      });
    },
    function subagent() {
      if (subagents.size && chance(0.5)) {
        const subagentRunId = pick([...subagents.keys()]);
        subagents.delete(subagentRunId);
        emit(
          chance(0.7)
            ? {
                type: 'SUBAGENT_FINISHED',
                subagentRunId,
                ...(chance(0.5) ? { result: { ok: true } } : {}),
                ...(chance(0.5)
                  ? { outcome: { type: pick(['success', 'suspended'] as const) } }
                  : {}),
              }
            : { type: 'SUBAGENT_ERROR', subagentRunId, message: 'failed', code: 'sub' },
        );
        return;
      }
      const subagentRunId = id('sub');
      const parent = [...subagents.keys()][0];
      emit({
        type: 'SUBAGENT_STARTED',
        subagentRunId,
        name: 'helper',
        ...(parent !== undefined && chance(0.5) ? { parentSubagentRunId: parent } : {}),
      });
      subagents.set(subagentRunId, true);
    },
    function other() {
      emit(
        pick<AgUiEvent>([
          { type: 'RAW', event: { any: 1 } },
          { type: 'CUSTOM', name: 'note', value: 1 },
        ]),
      );
    },
    function rewrite() {
      if (options.snapshots !== false && chance(0.3)) emit(snapshot());
    },
  ];
  const weights = [4, 12, 3, 10, 6, 1, 4, 5, 3, 3, 2, 1, 2, 3, 2, 2, 1, 2];
  const bag = actions.flatMap((action, index) =>
    Array.from({ length: weights[index] ?? 1 }, () => action),
  );

  const runs = options.runs ?? 1 + below(3);
  for (let run = 0; run < runs; run++) {
    for (const open of [texts, thoughts, spans, calls, steps, subagents]) open.clear();
    const runId = id('run');
    const added: AgUiMessage = { id: id('u'), role: 'user', content: word() };
    emit({
      type: 'RUN_STARTED',
      threadId: 't',
      runId,
      ...(chance(0.7)
        ? {
            input: {
              threadId: 't',
              runId,
              messages: [...thread.messages.filter((m) => m.role !== 'activity'), added],
              tools: [],
              context: [],
            },
          }
        : {}),
    });
    const length = options.actions ?? 10 + below(50);
    for (let i = 0; i < length; i++) pick(bag)();
    if (options.endings !== false && chance(0.15)) {
      emit({ type: 'RUN_ERROR', message: 'boom', ...(chance(0.5) ? { code: 'x' } : {}) });
      continue;
    }
    for (const [messageId] of texts) emit({ type: 'TEXT_MESSAGE_END', messageId });
    for (const [messageId] of thoughts) emit({ type: 'REASONING_MESSAGE_END', messageId });
    for (const [messageId] of spans) emit({ type: 'REASONING_END', messageId });
    for (const [toolCallId] of calls) emit({ type: 'TOOL_CALL_END', toolCallId });
    for (const key of [...steps.keys()]) closeStep(key);
    for (const subagentRunId of subagents.keys())
      emit({ type: 'SUBAGENT_FINISHED', subagentRunId });
    const ending = options.endings === false ? 0 : below(5);
    emit({
      type: 'RUN_FINISHED',
      threadId: 't',
      runId,
      ...(ending === 1 ? { outcome: { type: 'success' as const }, result: { answer: 42 } } : {}),
      ...(ending === 2
        ? { outcome: { type: 'interrupt' as const, interrupts: [{ id: id('i'), reason: 'ask' }] } }
        : {}),
      ...(ending === 3 ? { outcome: { type: 'cancelled' as const } } : {}),
      ...(chance(0.3) ? { usage: [{ model: 'm', inputTokens: 3, outputTokens: 5 }] } : {}),
    });
  }
  return { messages, state, events };
}
