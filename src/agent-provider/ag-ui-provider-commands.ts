import type { Environment } from '../internal/environment.ts';
import { RunSocketError } from '../internal/errors.ts';
import { toAbortError } from './abortable.ts';
import type { AgUiRun } from './ag-ui-provider-run-types.ts';
import type { AgUiProviderOptions } from './ag-ui-provider-types.ts';
import type { AgentCommand } from './command-types.ts';
import type { AgentEvent } from './event-types.ts';

/** Waits for `done`; rejects when `signal` aborts, and with `timeout` after `ms`. */
function waitFor(
  done: Promise<unknown>,
  signal: AbortSignal,
  ms: number,
  { setTimer }: Environment,
): Promise<unknown> {
  let stop: () => void;
  return new Promise((resolve, reject) => {
    done.then(resolve);
    signal.addEventListener('abort', () => reject(toAbortError(signal)), { once: true });
    stop = setTimer(() => {
      reject(new RunSocketError('timeout', `The run did not end within ${ms} ms.`));
    }, ms);
  }).finally(() => stop());
}

/** Tells events before anything that the run's reader has; whoever listens, the run then goes on. */
async function* tellFirst(
  run: AgUiRun,
  events: readonly AgentEvent[],
): AsyncGenerator<AgentEvent, void, undefined> {
  run.paused = true;
  try {
    yield* events;
  } finally {
    run.paused = false;
    run.goOn();
    run.wake();
  }
}

/**
 * Execute a command on a run that is under way.
 *
 * `run.cancel` ends when the server has ended the run, and throws `timeout` where it does not within
 * `cancelTimeout`; a run that waits for answers is cancelled here. Throws `invalid-argument` for an
 * approval that does not wait and for a tool call that has not failed.
 */
export async function* executeAgUiCommand(
  run: AgUiRun,
  command: AgentCommand,
  signal: AbortSignal,
  options: Pick<AgUiProviderOptions, 'retryTool' | 'cancelTimeout'>,
  environment: Environment,
): AsyncGenerator<AgentEvent, void, undefined> {
  const { sessionId, current } = run;
  const bridge = run.bridge!;
  if (command.type === 'approval.resolve') {
    const { approvalId, decision, data } = command.payload;
    const events = bridge.answer(approvalId, decision, data);
    run.key = command.idempotencyKey;
    yield* tellFirst(run, events);
  } else if (command.type === 'tool.retry') {
    const call = bridge.tool(command.payload.toolCallId);
    if (!call || !options.retryTool) {
      throw new RunSocketError('invalid-argument', 'Only a tool call that failed is retried.');
    }
    await options.retryTool(call, { sessionId, runId: current?.id ?? run.runId, command, signal });
  } else {
    const { reason } = command.payload;
    run.reason = reason;
    run.cancel(bridge.phase !== 'held');
    if (bridge.phase === 'held') {
      yield* tellFirst(run, bridge.cancel(reason));
    } else if (current) {
      await waitFor(current.done, signal, options.cancelTimeout ?? 10_000, environment);
    }
  }
}
