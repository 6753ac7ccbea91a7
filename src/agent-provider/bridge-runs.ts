import type { Interrupt, ResumeEntry } from '../ag-ui/interrupts.ts';
import { callsOf, itemsOf, listOf, type WireEvent } from '../ag-ui/thread-edits.ts';
import { isText, textOf } from '../internal/json-values.ts';
import {
  type BridgeDraft,
  close,
  closeAll,
  emit,
  find,
  open,
  openOf,
  timeOf,
  toAgentError,
} from './bridge-entities.ts';
import { takeMessage } from './bridge-messages.ts';
import type { BridgeEnd } from './bridge-state.ts';
import { closeLanes } from './bridge-streams.ts';
import type { AgentError } from './event-types.ts';

function addUsage({ state: { usage } }: BridgeDraft, entries: unknown): void {
  for (const entry of listOf(entries) ?? []) {
    for (const [key, count] of Object.entries(Object(entry))) {
      const sum = (usage.get(key) ?? 0) + (typeof count === 'number' ? count : Number.NaN);
      if (Number.isFinite(sum)) usage.set(key, sum);
    }
  }
}

/** Begin the run, unless it has begun. */
export function beginRun(draft: BridgeDraft, event: WireEvent, wireInput?: unknown): void {
  const { state, options } = draft;
  if (state.phase !== 'new') return;
  state.phase = 'running';
  emit(draft, timeOf(event), 'run.started', { input: options.input ?? wireInput });
  const { prompt, messages } = Object(options.input);
  for (const message of isText(prompt)
    ? [{ role: 'user', content: prompt }]
    : (listOf(messages) ?? [])) {
    const { id } = Object(message);
    const entity =
      message && takeMessage(draft, event, { ...message, id: textOf(id) ?? '' } as never, true);
    if (entity) entity.own = true;
  }
}

/** End the run, after all that is open. */
export function endRun(draft: BridgeDraft, { how, payload, timestamp, asked }: BridgeEnd): void {
  const { state } = draft;
  const isDone = how === 'completed';
  const { error } = payload as { readonly error?: AgentError };
  const usage = state.usage.size ? Object.fromEntries(state.usage) : undefined;
  const event: WireEvent = { type: '', timestamp };
  beginRun(draft, event);
  closeAll(draft, event, how, isDone ? undefined : payload, asked);
  emit(draft, event, `run.${how}`, {
    ...payload,
    usage: isDone ? usage : undefined,
    error: error && { ...error, details: error.details ?? usage },
  });
  state.phase = 'ended';
}

/** The AG-UI run is over; what it asked and what waits is forgotten with it. */
function settle({ state }: BridgeDraft, phase: 'running' | 'ending', end?: BridgeEnd): void {
  state.phase = phase;
  state.end = end;
  state.asked.clear();
  state.pending.clear();
}

/** `RUN_STARTED`: the run begins, or goes on with what its input answers. */
export function applyRunStarted(draft: BridgeDraft, event: WireEvent): void {
  const { entities, asked, known, names } = draft.state;
  const { messages, resume } = Object(event.input);
  const time = timeOf(event);
  closeLanes(draft, event);
  beginRun(draft, event, event.input);
  const entries = new Map(listOf<ResumeEntry>(resume)?.map((one) => [one?.interruptId, one]));
  for (const id of asked.keys()) {
    const { status, payload: data } = entries.get(id) ?? {};
    const { approved } = Object(data);
    close(draft, time, entities.get(`approval${id}`), 'resolved', {
      decision: status !== 'resolved' ? 'expired' : approved === false ? 'rejected' : 'approved',
      data: typeof approved === 'boolean' ? undefined : data,
    });
  }
  settle(draft, 'running');
  for (const message of itemsOf(messages)) {
    known.set(message.id, true);
    for (const call of callsOf(message)) {
      const name = textOf(call?.function?.name);
      if (name) names.set(call.id, name);
    }
    if (message.role === 'tool') {
      takeMessage(draft, event, message, false);
      names.delete(message.toolCallId);
    }
  }
}

function ask(draft: BridgeDraft, event: WireEvent, interrupt: Interrupt): void {
  const { entities, asked } = draft.state;
  const { id, message, reason, toolCallId, responseSchema, expiresAt, metadata } = interrupt;
  const key = `approval${id}`;
  // One answer is for both.
  if (entities.get(key)?.open) return;
  open(
    draft,
    { ...timeOf(event), subagentRunId: interrupt.subagentRunId },
    'approval.requested',
    key,
    id,
    {
      description: textOf(message) ?? textOf(reason),
      toolCallId: find(draft, 'tool', toolCallId)?.id,
      data: { reason, responseSchema, metadata },
      expiresAt: (isText(expiresAt) && Date.parse(expiresAt)) || undefined,
    },
  );
  asked.set(id, null);
}

/** `RUN_FINISHED` and `RUN_ERROR`: the end counts once the run is over, but what it asks is asked now. */
export function applyRunEnd(draft: BridgeDraft, event: WireEvent): void {
  const { state, options } = draft;
  const { pending } = state;
  const { timestamp, usage, result } = event;
  const { type, interrupts, pendingToolCallIds } = Object(event.outcome);
  const time = timeOf(event);
  addUsage(draft, usage);
  const isError = event.type === 'RUN_ERROR';
  const how = isError ? 'failed' : type === 'cancelled' ? type : 'completed';
  const isDone = how === 'completed';
  const questions = type === 'interrupt' ? itemsOf<Interrupt>(interrupts) : [];
  const asked = !!questions[0];
  const output = asked ? { interrupts: questions } : (result ?? undefined);
  const payload = isError ? { error: toAgentError(event, 'The run') } : isDone ? { output } : {};
  settle(draft, 'ending', { how, payload, timestamp, asked });
  if (!isDone) {
    closeAll(draft, time, how, payload);
    return;
  }
  closeLanes(draft, event);
  for (const question of questions) ask(draft, event, question);
  if (!asked && options.clientTools) {
    const ids = listOf<unknown>(pendingToolCallIds);
    const named = ids && new Set(ids);
    for (const { key } of openOf(draft, /tool/)) {
      const id = key.slice(4);
      if (!named || named.has(id)) pending.set(id, true);
    }
  }
  if (pending.size || (asked && options.interrupts !== 'settle')) {
    state.phase = 'held';
  }
}
