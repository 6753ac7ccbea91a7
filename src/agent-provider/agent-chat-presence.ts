import type { Environment } from '../internal/environment.ts';
import type { CheckpointWriter } from './agent-chat-checkpoint.ts';
import type { AgentChatRuns } from './agent-chat-runs.ts';
import type { AgentChatOptions } from './chat-types.ts';
import type { AnyAgentProvider } from './provider-types.ts';

/** What depends on whether somebody shows a conversation. */
export interface AgentChatPresenceOptions {
  readonly provider: AnyAgentProvider & AgentChatOptions;
  readonly sessionId: string;
  /** Nobody else can name the conversation: it does not come back. */
  readonly isOwn: boolean;
  readonly env: Environment;
  readonly runs: AgentChatRuns;
  readonly writer: CheckpointWriter | undefined;
  readonly onEnter: () => void;
  readonly onLeave: () => void;
  /** Reads every run that nobody reads, as far as it is known what runs. */
  readonly attach: () => void;
  readonly onRest: () => void;
}

/** Who shows a conversation: its runs are read while somebody does, and the provider has not let go. */
export interface AgentChatPresence {
  readonly shown: boolean;
  /** The provider has let go, and nobody has come since. */
  readonly resting: boolean;
  /** Somebody shows it. */
  enter(): void;
  /** The last one who shows it goes, unless another comes in the same turn. */
  leaveSoon(): void;
  leave(): void;
  /** Somebody uses it: what rests is read again. */
  use(): void;
  /** As `use()`, where all that rests is about to be aborted. */
  wake(): void;
  /** Hears of the end of the page, and of the provider's. */
  watch(): void;
  /** Drops what is kept of a conversation that does not come back, once nothing runs in it. */
  forget(): void;
}

/** Make the presence of a conversation that nobody shows yet. */
export function createAgentChatPresence(options: AgentChatPresenceOptions): AgentChatPresence {
  const { provider, sessionId, isOwn, env, runs, writer, attach } = options;
  let shown = false;
  let left = false;
  let resting = false;
  let stopIdle: (() => void) | undefined;
  let stopWatching: readonly ((() => void) | undefined)[] | undefined;

  function watch() {
    stopWatching ??= [writer?.watch(), provider.onDispose?.(rest)];
  }

  function rest() {
    resting = true;
    runs.detach(false);
    writer?.flush();
    options.onRest();
  }

  function use() {
    const wasResting = resting;
    resting = false;
    if (wasResting) attach();
  }

  function leave() {
    stopIdle?.();
    stopIdle = undefined;
    shown = resting = false;
    left = true;
    runs.detach(isOwn);
    writer?.flush();
    for (const stop of stopWatching ?? []) stop?.();
    stopWatching = undefined;
    forget();
    options.onLeave();
  }

  function forget() {
    if (!left || !isOwn || runs.size) return;
    try {
      provider.forgetSession?.(sessionId);
    } catch (error) {
      env.report(error);
    }
  }

  return {
    get shown() {
      return shown;
    },
    get resting() {
      return resting;
    },
    enter() {
      stopIdle?.();
      stopIdle = undefined;
      if (shown) return use();
      shown = true;
      left = resting = false;
      watch();
      options.onEnter();
      attach();
    },
    leaveSoon() {
      if (shown) stopIdle ??= env.setTimer(leave, 0);
    },
    leave,
    use,
    wake() {
      resting = false;
    },
    watch,
    forget,
  };
}
