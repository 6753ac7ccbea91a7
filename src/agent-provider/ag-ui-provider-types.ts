import type { AgUiAgent, AgUiAgentOptions } from '../ag-ui/agent-types.ts';
import type { AgUiEvent } from '../ag-ui/events.ts';
import type { RunInput } from '../ag-ui/input.ts';
import type { WebSocketClient } from '../client/types.ts';
import type { AgUiBridgeOptions } from './bridge-types.ts';
import type { AgentChatOptions } from './chat-types.ts';
import type { AgentCommandOf } from './command-types.ts';
import type { AgentProvider } from './provider-types.ts';

/** What starts a run: a question, or all that AG-UI's `run()` takes. */
export type AgUiProviderInput = RunInput | { readonly prompt: string };

/** What the provider's transport is opened with. */
export interface AgUiRequest {
  readonly sessionId: string;
  readonly runId: string;
  readonly input: RunInput;
}

/** One event of one AG-UI run; a held AgentEvent run spans several of them. */
export interface AgUiChunk {
  readonly runId: string;
  /** Absent for an event without a place in its log. */
  readonly offset?: number | string | undefined;
  readonly event: AgUiEvent;
}

/** A tool that runs in the page; what it returns, or resolves with, is its result. */
export type AgUiClientTool = (
  args: unknown,
  call: {
    readonly toolCallId: string;
    readonly name: string;
    /** The arguments as they came; `args` is `undefined` where they are no JSON. */
    readonly text: string;
    readonly sessionId: string;
    readonly runId: string;
    readonly signal: AbortSignal;
  },
) => unknown;

/** Options of `createAgUiProvider`. All durations are in ms. */
export interface AgUiProviderOptions<S = unknown>
  extends Omit<AgentChatOptions, 'onDispose'>,
    Pick<AgUiBridgeOptions, 'interrupts' | 'toolMessages' | 'toolFailure' | 'custom'> {
  /** @default 'ag-ui' */
  readonly id?: string | undefined;
  /** The client that each session's agent is made on. Needed unless `agent` is given. */
  readonly client?: WebSocketClient<never, never> | undefined;
  /** The agent of a session, asked for once each. @default one made on `client`, which remembers its thread */
  readonly agent?: AgUiAgent<S> | ((sessionId: string) => AgUiAgent<S>) | undefined;
  /** Options of the agents that are made. */
  readonly agentOptions?: Omit<AgUiAgentOptions<S, never, never>, 'threadId'> | undefined;
  /** Tools that run in the page, by name. */
  readonly clientTools?: Readonly<Record<string, AgUiClientTool>> | undefined;
  /** Asks the server to try a failed tool again; what it makes of it comes with the run. Needed for `tool.retry`. */
  readonly retryTool?:
    | ((
        call: { readonly id: string; readonly name: string; readonly arguments: string },
        context: {
          readonly sessionId: string;
          /** The AG-UI run that is under way. */
          readonly runId: string;
          readonly command: AgentCommandOf<'tool.retry'>;
          readonly signal: AbortSignal;
        },
      ) => unknown)
    | undefined;
  /** How long `run.cancel` waits for the server. @default 10000 */
  readonly cancelTimeout?: number | undefined;
}

/** An AgentProvider over AG-UI agents. Made by `createAgUiProvider`. */
export interface AgUiProvider<S = unknown>
  extends AgentProvider<AgUiProviderInput, AgUiRequest, AgUiChunk, unknown>,
    AgentChatOptions {
  readonly clientTools?: Readonly<Record<string, AgUiClientTool>> | undefined;
  /** The agent of a session: what `useAgUiAgent` shows of the same runs. */
  getAgent(sessionId: string): AgUiAgent<S>;
  /**
   * Lets go of all runs, of the connection that they hold, and of the agents that were made here; idempotent.
   *
   * No run is stopped but those with policy `cancel`. Conversations are written down first: another
   * provider with the same `id` goes on with them, also in the same page (a module that is replaced
   * while it runs). Whoever still shows a conversation of this one sees it as it is, and it goes on
   * here once it is subscribed to again (StrictMode), asked, answered or aborted. Tools that run in the
   * page are called off, and called again by whoever goes on. A run that is read without a conversation
   * ends as failed, with code `closed`.
   */
  dispose(): void;
}
