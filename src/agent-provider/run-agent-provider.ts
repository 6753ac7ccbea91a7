import { isRecord } from '../internal/json-values.ts';
import type { AnyAgentProvider, RunAgentProviderOptions } from './provider-types.ts';
import { runCore } from './run-core.ts';

/** Whether `value` declares itself an AgentProvider, of whatever version. */
export function isAgentProvider(value: unknown): value is AnyAgentProvider {
  return isRecord(value) && isRecord(value.protocol) && value.protocol.name === 'agent-event';
}

/**
 * Run a provider once and give its events to `onEvent`, one by one.
 *
 * Resolves when the run is over, also one that failed or was aborted: its events say so. Rejects with
 * what `onEvent` or `createContext` threw, with a RunSocketError `unsupported` for another protocol
 * version or a transport that was not declared, and with a RunSocketError `bad-message` for an event
 * that is not valid, of another run or not declared; none of these reaches `transformError`. An
 * aborted run ends with the cancellation of what is open and `run.cancelled`, even where the transport
 * ends quietly or ignores the signal.
 */
export async function runAgentProvider<Input, Request, Chunk, Context>(
  options: RunAgentProviderOptions<Input, Request, Chunk, Context>,
): Promise<void> {
  const { provider, input, run } = options;
  await runCore(options, {
    sequence: { last: run.initialSequence ?? -1 },
    createContext: (given) => provider.createContext(given),
    async follow({ context, signal, read }) {
      const request = provider.prepareRequest(input, context);
      return (await read(() => provider.transport.open(request, signal))) ? 'ended' : 'detached';
    },
  }).done;
}
