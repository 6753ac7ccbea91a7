import type { Environment } from '../internal/environment.ts';
import { isRecord } from '../internal/json-values.ts';
import type { AgentCheckpoint, AgentCheckpointStorage } from './chat-types.ts';
import { isAgentCommand } from './commands.ts';
import { isId } from './event-guards.ts';

/** How long a conversation waits for its storage, in ms. */
const patience = 5_000;

/** How long what is sent waits for what is written down before it, in ms. */
const writeWait = 250;

/** How far apart two checkpoints are at least, in ms. */
const interval = 1_000;

/** Writes a conversation down now and then, one checkpoint at a time. */
export interface CheckpointWriter {
  /** Something changed: it is written down soon; with `now`, once what runs at the moment is through. */
  changed(now?: boolean): void;
  /** Writes down what has changed, at once. */
  flush(): void;
  /** Writes down what will not be learned again; with slow storage, a promise of 250 ms at most. */
  remember(): Promise<unknown> | undefined;
  /** Writes down, too, when the page is hidden or left; returns what ends that. */
  watch(): () => void;
}

/** Calls `done` with what a value comes to, or with undefined where that takes too long or fails; returns a promise where that is later. */
function settle(
  env: Environment,
  value: unknown,
  done: (value?: unknown) => void,
): Promise<void> | undefined {
  if (typeof (value as PromiseLike<unknown> | undefined)?.then !== 'function') {
    done(value);
    return undefined;
  }
  return new Promise((resolve) => {
    let waiting = true;
    const end = (result?: unknown) => {
      if (waiting) done(result);
      waiting = false;
      stop();
      resolve();
    };
    const stop = env.setTimer(end, patience);
    Promise.resolve(value).then(end, () => end());
  });
}

/** Make what writes the checkpoints that `make` gives; none where it gives undefined. */
export function createCheckpointWriter(
  env: Environment,
  storage: AgentCheckpointStorage,
  make: () => AgentCheckpoint | undefined,
): CheckpointWriter {
  let stale = false;
  /** What is being written. */
  let saving: Promise<void> | undefined;
  let stopTimer: (() => void) | undefined;
  let last = 0;
  let gap = 0;

  function schedule(wait: number) {
    stopTimer?.();
    // A clock that was set back must not put it off.
    stopTimer = env.setTimer(flush, Math.min(Math.max(wait, 0), gap));
  }

  function flush(): Promise<void> | undefined {
    stopTimer?.();
    stopTimer = undefined;
    if (!stale || saving) return saving?.then(flush);
    stale = false;
    let written: unknown;
    last = env.now();
    try {
      const checkpoint = make();
      written = checkpoint && storage.save(checkpoint.sessionId, checkpoint);
    } catch {
      // What cannot be kept costs the memory, never the run.
    }
    // A conversation that takes long to write is written less often.
    gap = interval + 20 * Math.max(0, env.now() - last);
    saving = settle(env, written, () => {
      saving = undefined;
      if (stale) schedule(last + gap - env.now());
    });
    return saving;
  }

  return {
    changed(now) {
      stale = true;
      if (saving) return;
      if (now) schedule(0);
      else if (!stopTimer) schedule(last + gap - env.now());
    },
    flush,
    remember() {
      stale = true;
      const written = flush();
      return (
        written &&
        Promise.race([written, new Promise<void>((resolve) => env.setTimer(resolve, writeWait))])
      );
    },
    watch() {
      const controller = new AbortController();
      const { page } = env;
      page.addEventListener?.('pagehide', flush, controller);
      page.addEventListener?.(
        'visibilitychange',
        () => page.document?.visibilityState === 'hidden' && flush(),
        controller,
      );
      return () => controller.abort();
    },
  };
}

/** Calls `done` with the checkpoint of a session, or with undefined: at once with a synchronous storage, after 5 s at most with others. */
export function loadCheckpoint(
  env: Environment,
  storage: AgentCheckpointStorage,
  sessionId: string,
  done: (checkpoint: AgentCheckpoint | undefined) => void,
): void {
  let loaded: unknown;
  try {
    loaded = storage.load(sessionId);
  } catch {}
  settle(env, loaded, (value) => done(isCheckpoint(value, sessionId) ? value : undefined));
}

const has = (value: unknown, ...names: readonly string[]) =>
  isRecord(value) && names.every((name) => typeof value[name] === 'string');

/** Whether storage gave a checkpoint of the session: anybody may have written there. */
function isCheckpoint(value: unknown, sessionId: string): value is AgentCheckpoint {
  if (
    !isRecord(value) ||
    value.schemaVersion !== 1 ||
    value.protocolVersion !== '0.1' ||
    value.commandProtocolVersion !== '0.1' ||
    value.sessionId !== sessionId ||
    !isRecord(value.state) ||
    !isRecord(value.inputByRun) ||
    !isRecord(value.cursorByRun) ||
    !isRecord(value.contextByRun) ||
    !Array.isArray(value.pendingCommands) ||
    !value.pendingCommands.every(isAgentCommand)
  ) {
    return false;
  }
  const { state } = value;
  const every = (name: string, check: (entry: unknown, key: string) => boolean) => {
    const record = state[name];
    return isRecord(record) && Object.keys(record).every((key) => check(record[key], key));
  };
  const entity =
    (...names: readonly string[]) =>
    (entry: unknown) =>
      has(entry, 'id', 'runId', 'status', ...names);
  return (
    every('sessions', (entry) => has(entry, 'id')) &&
    every(
      'runs',
      (entry, id) =>
        has(entry, 'status') && isRecord(entry) && entry.id === id && entry.sessionId === sessionId,
    ) &&
    every(
      'messages',
      (entry) =>
        entity('role')(entry) &&
        (has(entry, 'content') || Array.isArray((entry as { readonly content?: unknown }).content)),
    ) &&
    every('reasoning', entity('content')) &&
    every('toolCalls', entity('name', 'arguments')) &&
    every('approvals', entity()) &&
    every('tasks', entity('title')) &&
    every('artifacts', entity('name')) &&
    every('lastSequenceByRun', Number.isInteger) &&
    Array.isArray(state.order) &&
    state.order.every((entry) => has(entry, 'kind', 'id', 'runId') && isId(entry.runId)) &&
    Array.isArray(state.issues)
  );
}
