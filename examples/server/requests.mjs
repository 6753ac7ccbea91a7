// @ts-check

/**
 * @typedef {{ type: string, [field: string]: unknown }} AgUiEvent
 * @typedef {{ threadId?: string, messages?: unknown, [field: string]: unknown }} RunInput
 * @typedef {(request: string, time: number) => Promise<boolean>} Hear Waits so many ms at most until the application asks for something; tells whether it did.
 * @typedef {{ input: RunInput, runId: string, threadId: string, signal: AbortSignal, hear: Hear }} AgentRun
 * @typedef {(run: AgentRun) => AsyncIterable<AgUiEvent>} Agent
 */

/** What agents wait for the application to ask, such as to try a tool again. */
export function createRequests() {
  /** @type {Map<string, () => void>} */
  const awaited = new Map();

  return {
    /**
     * How the agent of one run waits.
     * @param {string} runId @param {AbortSignal} signal @returns {Hear}
     */
    createHear: (runId, signal) => (request, time) =>
      new Promise((resolve) => {
        const key = JSON.stringify([runId, request]);
        /** @param {boolean} heard */
        const end = (heard) => {
          clearTimeout(timer);
          awaited.delete(key);
          signal.removeEventListener('abort', stop);
          resolve(heard);
        };
        const stop = () => end(false);
        const timer = setTimeout(stop, time);
        awaited.set(key, () => end(true));
        signal.addEventListener('abort', stop);
        if (signal.aborted) stop();
      }),

    /** The application asks; nothing happens where no agent waits for it. @param {string} runId @param {string} request */
    tell(runId, request) {
      awaited.get(JSON.stringify([runId, request]))?.();
    },
  };
}
