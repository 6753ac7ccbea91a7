import type { Interrupt, ResumeEntry } from '../ag-ui/interrupts.ts';
import {
  callsOf,
  isObject,
  isText,
  itemsOf,
  listOf,
  textOf,
  type WireEvent,
} from '../ag-ui/thread-edits.ts';
import {
  type BridgeDraft,
  close,
  closeAll,
  emit,
  find,
  isOpen,
  open,
  taskOf,
  timeOf,
  toAgentError,
} from './bridge-entities.ts';
import { takeMessage } from './bridge-messages.ts';
import type { BridgeEnd } from './bridge-state.ts';
import { closeLanes } from './bridge-streams.ts';

function addUsage({ state: { usage } }: BridgeDraft, entries: unknown): void {
  for (const entry of listOf(entries) ?? []) {
    for (const [key, count] of Object.entries(Object(entry))) {
      const sum = (usage.get(key) ?? 0) + (Number.isFinite(count) ? (count as number) : Number.NaN);
      if (Number.isFinite(sum)) usage.set(key, sum);
    }
  }
}

/** Begin the run, unless it has begun. */
export function beginRun(draft: BridgeDraft, event: WireEvent, wireInput?: unknown): void {
  const { state, options } = draft;
  if (state.phase !== 'new') return;
  state.phase = 'running';
  const input = options.input ?? wireInput;
  emit(draft, timeOf(event), 'run.started', input === undefined ? {} : { input });
  const { prompt, messages } = Object(options.input);
  for (const message of listOf(isText(prompt) ? [{ role: 'user', content: prompt }] : messages) ??
    []) {
    const entity =
      isObject(message) &&
      takeMessage(draft, event, { ...message, id: textOf(message.id) ?? '' } as never, true);
    if (entity) entity.own = true;
  }
}

/** End the run, after all that is open. */
export function endRun(draft: BridgeDraft, { how, payload, timestamp, asked }: BridgeEnd): void {
  const { state } = draft;
  const { error } = payload as { readonly error?: object };
  const usage = state.usage.size ? Object.fromEntries(state.usage) : undefined;
  const event = { type: '', timestamp };
  beginRun(draft, event);
  closeAll(draft, event, how, how === 'completed' ? undefined : payload, asked);
  emit(draft, event, `run.${how}`, {
    ...payload,
    ...(usage &&
      (how === 'completed' ? { usage } : error && { error: { ...error, details: usage } })),
  });
  state.phase = 'ended';
  state.approvals.clear();
  state.pending.clear();
}

/** `RUN_STARTED`: the run begins, or goes on with what its input answers. */
export function applyRunStarted(draft: BridgeDraft, event: WireEvent): void {
  const { state } = draft;
  const { entities, approvals, known, names } = state;
  const input = isObject(event.input) ? event.input : {};
  closeLanes(draft, event);
  beginRun(draft, event, event.input);
  const entries = new Map(listOf<ResumeEntry>(input.resume)?.map((one) => [one?.interruptId, one]));
  for (const { id } of approvals.values()) {
    const { status, payload } = entries.get(id) ?? {};
    const { approved, ...rest } = Object(payload);
    const isPlain = typeof approved === 'boolean' && !Object.keys(rest)[0];
    close(draft, timeOf(event), entities.get(`approval${id}`), 'resolved', {
      decision: status !== 'resolved' ? 'expired' : approved === false ? 'rejected' : 'approved',
      ...(payload !== undefined && !isPlain && { data: payload }),
    });
  }
  approvals.clear();
  state.pending.clear();
  state.end = undefined;
  state.phase = 'running';
  state.runId = textOf(event.runId);
  for (const message of itemsOf(input.messages)) {
    known.set(message.id, true);
    for (const call of callsOf(message)) {
      const name = textOf(call?.function?.name);
      if (isText(call?.id) && name) names.set(call.id, name);
    }
    if (message.role === 'tool') {
      takeMessage(draft, event, message, false);
      names.delete(message.toolCallId);
    }
  }
}

function settle(
  draft: BridgeDraft,
  event: WireEvent,
  how: BridgeEnd['how'],
  payload: BridgeEnd['payload'],
): void {
  const { state } = draft;
  state.end = { how, payload, timestamp: event.timestamp };
  state.phase = 'ending';
  if (how !== 'completed') closeAll(draft, timeOf(event), how, payload);
}

function ask(draft: BridgeDraft, event: WireEvent, interrupt: Interrupt): void {
  const { state } = draft;
  const { id, message, toolCallId, responseSchema, expiresAt, metadata } = interrupt;
  const key = `approval${id}`;
  // One answer is for both.
  if (isOpen(draft, state.entities.get(key))) return;
  const tool = find(draft, 'tool', toolCallId);
  const reason = textOf(interrupt.reason);
  const description = textOf(message) ?? reason;
  const time = isText(expiresAt) ? Date.parse(expiresAt) : Number.NaN;
  const source = { ...timeOf(event), subagentRunId: interrupt.subagentRunId };
  const approval = open(
    draft,
    source,
    'approval',
    key,
    id,
    {
      ...(description !== undefined && { description }),
      ...(tool && { toolCallId: tool.id }),
      data: {
        ...(reason !== undefined && { reason }),
        ...(responseSchema !== undefined && { responseSchema }),
        ...(metadata !== undefined && { metadata }),
      },
      ...(Number.isFinite(time) && { expiresAt: time }),
    },
    taskOf(draft, source),
  );
  state.approvals.set(approval.id, { id });
}

/** `RUN_FINISHED`: it counts once the run is over, but its questions are asked now. */
export function applyRunFinished(draft: BridgeDraft, event: WireEvent): void {
  const { state, options } = draft;
  const outcome = isObject(event.outcome) ? event.outcome : {};
  addUsage(draft, event.usage);
  if (outcome.type === 'cancelled') {
    settle(draft, event, 'cancelled', {});
    return;
  }
  closeLanes(draft, event);
  const interrupts = outcome.type === 'interrupt' ? itemsOf<Interrupt>(outcome.interrupts) : [];
  const result = interrupts[0] ? { interrupts } : (event.result ?? undefined);
  settle(draft, event, 'completed', result === undefined ? {} : { output: result });
  for (const interrupt of interrupts) ask(draft, event, interrupt);
  if (interrupts[0]) {
    state.end = { ...state.end, asked: true } as BridgeEnd;
    if (options.interrupts !== 'settle') state.phase = 'held';
  } else if (options.clientTools) {
    const ids = listOf<unknown>(outcome.pendingToolCallIds);
    const named = ids && new Set(ids);
    for (const key of state.open.values()) {
      const id = key.slice(4);
      if (/^tool/.test(key) && (!named || named.has(id))) state.pending.add(id);
    }
    if (state.pending.size) state.phase = 'held';
  }
  // Nothing comes for these while the run is held.
  if (state.phase === 'held') {
    for (const key of state.open.values()) {
      const entity = state.entities.get(key);
      if (/^[mr]/.test(entity?.kind ?? '')) close(draft, timeOf(event), entity, 'completed');
    }
  }
}

/** `RUN_ERROR`: what is open fails now, the run once it is over. */
export function applyRunError(draft: BridgeDraft, event: WireEvent): void {
  addUsage(draft, event.usage);
  settle(draft, event, 'failed', { error: toAgentError(event, 'The run failed.') });
  draft.state.approvals.clear();
  draft.state.pending.clear();
}
