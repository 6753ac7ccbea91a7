// @ts-check

/**
 * @typedef {{ type: string, [field: string]: unknown }} AgUiEvent
 * @typedef {{ threadId?: string, messages?: unknown, [field: string]: unknown }} RunInput
 * @typedef {(request: string, time: number) => Promise<boolean>} Hear Waits so many ms at most until the application asks for something; tells whether it did.
 * @typedef {(run: { input: RunInput, runId: string, threadId: string, signal: AbortSignal, hear: Hear }) => AsyncIterable<AgUiEvent>} Agent
 *
 * @typedef {object} Run
 * @property {string} id
 * @property {string} threadId
 * @property {string[]} frames The log: every event as the frame that carries it. The index is the offset.
 * @property {boolean} over
 * @property {Set<() => void>} listeners Told after each append.
 * @property {Map<string, AgUiEvent>} open What ends each message or tool call that is still open.
 * @property {Map<string, () => void>} awaited What the agent waits for the application to ask.
 * @property {AbortController} stop
 */

const endings = new Map([
  ['TEXT_MESSAGE_START', ['TEXT_MESSAGE_END', 'messageId']],
  ['REASONING_START', ['REASONING_END', 'messageId']],
  ['REASONING_MESSAGE_START', ['REASONING_MESSAGE_END', 'messageId']],
  ['TOOL_CALL_START', ['TOOL_CALL_END', 'toolCallId']],
  ['STEP_STARTED', ['STEP_FINISHED', 'stepName']],
]);

/**
 * The runs of a server. A run goes on whether or not anybody listens, and its log stays for a while
 * after its end, so that whoever lost the connection can read on.
 *
 * @param {object} options
 * @param {Agent} options.agent
 * @param {number} [options.keep] How long a finished log is kept, in ms. Default 15 minutes.
 * @param {number} [options.maxRuns] How many logs are kept at most. Default 1000.
 * @param {number} [options.maxEvents] How many events a run may have. Default 100000.
 */
export function createRuns({ agent, keep = 15 * 60_000, maxRuns = 1000, maxEvents = 100_000 }) {
  /** @type {Map<string, Run>} */
  const runs = new Map();
  /** How often the agent was started for a run id: once, or there is a bug. @type {Map<string, number>} */
  const starts = new Map();

  /** @param {string} id @param {string} threadId @returns {Run} */
  function create(id, threadId) {
    if (runs.size >= maxRuns) {
      for (const run of runs.values()) {
        if (run.over) {
          forget(run);
          break;
        }
      }
    }
    const run = {
      id,
      threadId,
      frames: [],
      over: false,
      listeners: new Set(),
      open: new Map(),
      awaited: new Map(),
      stop: new AbortController(),
    };
    runs.set(id, run);
    return run;
  }

  /** @param {Run} run */
  function forget(run) {
    if (runs.get(run.id) !== run) return;
    runs.delete(run.id);
    starts.delete(run.id);
  }

  /** Log first, send second: what is in nobody's log was never said. @param {Run} run @param {AgUiEvent} event */
  function append(run, event) {
    const ending = endings.get(event.type);
    if (ending) {
      const [type = '', key = ''] = ending;
      run.open.set(`${type} ${event[key]}`, { type, [key]: event[key] });
    } else {
      run.open.delete(`${event.type} ${event.messageId ?? event.toolCallId ?? event.stepName}`);
    }
    run.frames.push(JSON.stringify({ runId: run.id, offset: run.frames.length, event }));
    for (const listener of [...run.listeners]) listener();
  }

  /** @param {Run} run @param {AgUiEvent} terminal */
  function finish(run, terminal) {
    if (run.over) return;
    for (const event of [...run.open.values()].reverse()) append(run, event);
    run.over = true;
    append(run, terminal);
    run.stop.abort();
    setTimeout(() => forget(run), keep).unref();
  }

  /** @param {Run} run @returns {Hear} */
  function createHear(run) {
    return (request, time) =>
      new Promise((resolve) => {
        /** @param {boolean} heard */
        const end = (heard) => {
          clearTimeout(timer);
          run.awaited.delete(request);
          resolve(heard);
        };
        const timer = setTimeout(end, time, false);
        run.awaited.set(request, () => end(true));
        run.stop.signal.addEventListener('abort', () => end(false), { once: true });
        if (run.over) end(false);
      });
  }

  /** @param {Run} run @param {RunInput} input */
  async function produce(run, input) {
    const { id: runId, threadId } = run;
    const { signal } = run.stop;
    starts.set(runId, (starts.get(runId) ?? 0) + 1);
    try {
      append(run, { type: 'RUN_STARTED', threadId, runId });
      const hear = createHear(run);
      for await (const event of agent({ input, runId, threadId, signal, hear })) {
        if (run.over) return;
        // An agent that ends with a question says so itself.
        if (event.type === 'RUN_FINISHED') return finish(run, { ...event, threadId, runId });
        if (run.frames.length >= maxEvents) throw new Error('The answer is too long.');
        append(run, event);
      }
      finish(run, { type: 'RUN_FINISHED', threadId, runId });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      finish(run, { type: 'RUN_ERROR', message });
    }
  }

  return {
    /**
     * Start a run. The id is the key: a run that is known is never started again.
     * @param {string} id @param {RunInput} input
     */
    start(id, input) {
      const known = runs.get(id);
      if (known) return known;
      const run = create(id, typeof input.threadId === 'string' ? input.threadId : id);
      if (runs.size > maxRuns) {
        finish(run, { type: 'RUN_ERROR', message: 'The server is busy. Try again in a minute.' });
      } else {
        void produce(run, input);
      }
      return run;
    },

    /** @param {string} id */
    get: (id) => runs.get(id),

    /** Stop a run. One that is not known yet is remembered as stopped, in case its start is late. @param {string} id */
    cancel(id) {
      const run = runs.get(id) ?? create(id, id);
      if (run.frames.length === 0) append(run, { type: 'RUN_STARTED', threadId: id, runId: id });
      const outcome = { type: 'cancelled' };
      finish(run, { type: 'RUN_FINISHED', threadId: run.threadId, runId: id, outcome });
    },

    /** The application asks for something; nothing happens where the agent does not wait for it. @param {string} id @param {string} request */
    tell(id, request) {
      runs.get(id)?.awaited.get(request)?.();
    },

    /** The events of a run so far. @param {string} id @returns {AgUiEvent[]} */
    log: (id) => (runs.get(id)?.frames ?? []).map((frame) => JSON.parse(frame).event),

    /** @param {string} id */
    starts: (id) => starts.get(id) ?? 0,

    ids: () => [...runs.keys()],

    close() {
      for (const run of runs.values()) run.stop.abort();
    },
  };
}
