/** Inputs on their way to a conversation of which not everything is known yet. */
export interface AgentChatInputs {
  /** How many wait until it is known what runs. */
  readonly waiting: number;
  /** Starts an input once it is known what runs. */
  request(input: unknown): void;
  /** Starts an input once the default messages are there, too. */
  queue(input: unknown): void;
  /** Starts what need not wait any more. */
  drain(): void;
  clear(): void;
}

/** Make the inputs of a conversation; `isReady`: it is known what runs, `isWaiting`: for its default messages. */
export function createAgentChatInputs(
  isReady: () => boolean,
  isWaiting: () => boolean,
  start: (input: unknown) => void,
): AgentChatInputs {
  let requests: unknown[] = [];
  let queued: unknown[] = [];

  function drain() {
    if (!isReady()) return;
    const inputs = isWaiting() ? requests : [...requests, ...queued];
    requests = [];
    if (!isWaiting()) queued = [];
    inputs.forEach(start);
  }

  return {
    get waiting() {
      return requests.length;
    },
    request(input) {
      requests.push(input);
    },
    queue(input) {
      queued.push(input);
      drain();
    },
    drain,
    clear() {
      requests = [];
      queued = [];
    },
  };
}
