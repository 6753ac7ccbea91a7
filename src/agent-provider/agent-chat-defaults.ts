import type { Environment } from '../internal/environment.ts';
import { toMessages } from './agent-chat-projection.ts';
import type { AgentConversationKey, DefaultMessageInfo, DefaultMessages } from './chat-types.ts';
import type { AgentMessageState } from './state-types.ts';

type Defaults = readonly DefaultMessageInfo<AgentMessageState>[];

/** The messages that a conversation begins with. */
export interface ChatDefaults {
  /** Those that are there from the beginning. */
  readonly given: Defaults;
  /** Others are still to come. */
  readonly waiting: boolean;
  /** Asks for them, the first time. */
  load(): void;
}

/** Make the messages to begin with; `done` gets those that were loaded, none where that failed. */
export function createDefaultMessages(
  defaults: DefaultMessages<AgentMessageState> | undefined,
  conversationKey: AgentConversationKey | undefined,
  env: Environment,
  done: (list: Defaults) => void,
): ChatDefaults {
  let load = typeof defaults === 'function' ? defaults : undefined;
  let waiting = load !== undefined;

  function end(list: Defaults) {
    waiting = false;
    done(list);
  }

  return {
    given: Array.isArray(defaults) ? defaults : [],
    get waiting() {
      return waiting;
    },
    load() {
      const ask = load;
      load = undefined;
      if (!ask) return;
      // A loader may throw as well as reject.
      (async () => ask({ conversationKey }))()
        .then((list) => toMessages(list ?? []))
        .then(end, (error) => {
          env.report(error);
          end([]);
        });
    },
  };
}
