import { createWaits, leave, toAbortError } from './abortable.ts';
import { isAgentCommand } from './commands.ts';
import { AGENT_EVENT_PROTOCOL_VERSION, isAgentEvent } from './event-guards.ts';
import type { AgentEvent } from './event-types.ts';
import { findLiveAgentRun } from './live-agent-run.ts';
import type { RunAgentCommandOptions } from './provider-types.ts';

/** Why a command was not executed to its end. */
export type AgentCommandRunnerErrorCode =
  | 'invalid_command'
  | 'unsupported_capability'
  | 'protocol_error';

/** What `runAgentCommand` rejects with for a command or a provider that breaks the rules. */
export class AgentCommandRunnerError extends Error {
  override readonly name = 'AgentCommandRunnerError' as const;
  readonly code: AgentCommandRunnerErrorCode;

  constructor(code: AgentCommandRunnerErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Let a provider execute one command and give its events to `onEvent`.
 *
 * While the command's run is driven here, both draw on one sequence: the command's events begin behind
 * all that the run has used, and the run goes on behind them. Rejects with an
 * {@link AgentCommandRunnerError}, with an AbortError where `signal` is aborted, and with what
 * `onEvent` or the provider threw, as it was.
 */
export async function runAgentCommand(options: RunAgentCommandOptions): Promise<void> {
  const { provider, command, signal, now, onEvent } = options;
  const { executeCommand, capabilities, protocol, id } = provider;
  const fail = (code: AgentCommandRunnerErrorCode, text: string): never => {
    throw new AgentCommandRunnerError(code, `Provider ${id}: ${text}.`);
  };
  if (!isAgentCommand(command)) return fail('invalid_command', 'not a command');
  if (protocol.version !== AGENT_EVENT_PROTOCOL_VERSION) {
    fail('protocol_error', `version ${protocol.version} is not spoken`);
  }
  if (!executeCommand || !capabilities.commands?.includes(command.type)) {
    fail('unsupported_capability', `${command.type} is not supported`);
  }
  const inner = new AbortController();
  const isOver = () => inner.signal.aborted;
  const throwIfAborted = () => {
    if (signal?.aborted) throw toAbortError(signal);
  };
  throwIfAborted();
  const waits = createWaits(isOver);
  const onAbort = () => {
    inner.abort(signal?.reason);
    waits.wake();
  };
  signal?.addEventListener('abort', onAbort);
  let iterator: AsyncIterator<AgentEvent> | undefined;
  let { initialSequence: last } = options;

  let live = findLiveAgentRun(provider, command);

  function runEvents() {
    const shared = live?.sequence;
    if (shared) last = shared.last = Math.max(shared.last, last);
    return provider.executeCommand!(command, {
      signal: inner.signal,
      initialSequence: last,
      ...(now && { now }),
    });
  }

  try {
    iterator = runEvents()[Symbol.asyncIterator]();
    for (;;) {
      const result: IteratorResult<AgentEvent> | undefined = await waits.next(iterator!);
      if (result?.done) iterator = undefined;
      throwIfAborted();
      if (!result || result.done) return;
      const event = result.value;
      // Looked up again each time: the run may have been let go of and taken up meanwhile.
      live = findLiveAgentRun(provider, command) ?? live;
      if (!isAgentEvent(event)) fail('protocol_error', 'an event is not valid');
      if (event.sessionId !== command.sessionId || event.runId !== command.runId) {
        fail('protocol_error', `${event.type} is of another run`);
      }
      if (!capabilities.eventTypes.includes(event.type)) {
        fail('protocol_error', `${event.type} is not declared`);
      }
      if (live?.ended) continue;
      if (event.sequence <= Math.max(last, live?.last ?? -1)) {
        fail('protocol_error', `the sequence of ${event.type} is taken`);
      }
      last = event.sequence;
      if (live) live.give(event, onEvent, true);
      else onEvent(event);
      throwIfAborted();
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    inner.abort();
    leave(iterator);
  }
}
