import { createWaits, leave, toAbortError } from './abortable.ts';
import { isAgentCommand } from './commands.ts';
import { AGENT_EVENT_PROTOCOL_VERSION } from './event-guards.ts';
import type { AgentEvent } from './event-types.ts';
import { findFault, findLiveAgentRun } from './live-agent-run.ts';
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
  const { capabilities, protocol } = provider;
  const inner = new AbortController();
  const waits = createWaits(() => inner.signal.aborted);
  let iterator: AsyncIterator<AgentEvent> | undefined;
  let { initialSequence: last } = options;

  function fail(code: AgentCommandRunnerErrorCode, text: string): never {
    throw new AgentCommandRunnerError(code, text);
  }

  function throwIfAborted() {
    if (signal?.aborted) throw toAbortError(signal);
  }

  function onAbort() {
    inner.abort(signal!.reason);
    waits.wake();
  }

  if (!isAgentCommand(command)) fail('invalid_command', 'This is no command.');
  if (protocol.version !== AGENT_EVENT_PROTOCOL_VERSION) {
    fail('protocol_error', `Agent event protocol ${protocol.version} is unsupported.`);
  }
  if (!provider.executeCommand || !capabilities.commands?.includes(command.type)) {
    fail('unsupported_capability', `The provider does not support ${command.type}.`);
  }
  throwIfAborted();
  signal?.addEventListener('abort', onAbort);
  try {
    let live = findLiveAgentRun(provider, command);
    if (live) last = live.sequence.last = Math.max(live.sequence.last, last);
    const given = { signal: inner.signal, initialSequence: last, ...(now && { now }) };
    iterator = provider.executeCommand(command, given)[Symbol.asyncIterator]();
    for (;;) {
      const result: IteratorResult<AgentEvent> | undefined = await waits.next(iterator);
      throwIfAborted();
      if (!result || result.done) return;
      const event = result.value;
      const fault = findFault(event, command, capabilities);
      if (fault) fail('protocol_error', `Event ${event?.type} ${fault}.`);
      // The run may have been let go of and taken up meanwhile.
      live = findLiveAgentRun(provider, command) ?? live;
      if (live?.ended) continue;
      if (event.sequence <= Math.max(last, live?.last ?? -1)) {
        fail('protocol_error', `The sequence ${event.sequence} is used.`);
      }
      last = event.sequence;
      if (live) live.give(event, onEvent, true);
      else onEvent(event);
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    inner.abort();
    leave(iterator);
  }
}
