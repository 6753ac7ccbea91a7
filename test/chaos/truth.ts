import { applyAgUiEvent } from '../../src/ag-ui/apply-event.ts';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import type { AgUiMessage } from '../../src/ag-ui/messages.ts';
import { type AgUiThread, emptyThread } from '../../src/ag-ui/thread.ts';

/** What happened to a run at its server that a client cannot make good. */
export type Incident = 'producer-lost' | 'log-lost' | 'evicted' | 'truncated' | 'event-lost';

/** One execution of a run, as its log has it. */
export interface Execution {
  /** Begins the ids of all that it says. */
  readonly tag: string;
  readonly events: AgUiEvent[];
  /** What a reader can see after so many events, by how it looks: the most events that look like it. */
  readonly looks: Map<string, number>;
  status: 'running' | 'finished' | 'error' | 'cancelled' | 'lost';
  /** Its agent is at work. */
  isAlive: boolean;
  /** The events that no reader will get any more. */
  readonly missing: Set<number>;
  add(event: AgUiEvent): void;
}

/** What really became of a run. */
export interface TruthRun {
  readonly runId: string;
  readonly executions: Execution[];
  readonly incidents: Set<Incident>;
  /** How often the server forgot that it had the run. */
  forgotten: number;
  /** How often its start arrived. */
  received: number;
  /** The start was handed to a socket. */
  isSent: boolean;
  input: unknown;
}

/** What really happened, whatever clients make of it. */
export interface Truth {
  readonly runs: Map<string, TruthRun>;
  run(runId: string): TruthRun;
  /** A new execution of a run begins. */
  begin(runId: string): Execution;
  /** The execution whose log a server has. */
  last(runId: string): Execution | undefined;
}

const texts = new WeakMap<object, string>();

// Messages are never changed in place, so that each is written once.
function textOf(message: AgUiMessage): string {
  let text = texts.get(message);
  if (text === undefined) {
    text = JSON.stringify(message);
    texts.set(message, text);
  }
  return text;
}

function isOf(message: AgUiMessage, prefix: string): boolean {
  if (message.role === 'user') return false;
  const calls = (message as { readonly toolCalls?: readonly { readonly id: string }[] }).toolCalls;
  return message.id.startsWith(prefix) || calls?.[0]?.id.startsWith(prefix) === true;
}

/** What of a thread the events of one run have made. */
export function lookOf(
  thread: Pick<AgUiThread<unknown>, 'messages' | 'state'>,
  runId: string,
): string {
  const prefix = `${runId}:`;
  let look = '';
  for (const message of thread.messages) if (isOf(message, prefix)) look += textOf(message);
  for (const key of Object.keys(thread.state ?? {})) {
    if (key.startsWith(prefix)) look += `${key};`;
  }
  return look;
}

/** Make an empty record of what happens. */
export function createTruth(): Truth {
  const runs = new Map<string, TruthRun>();

  function run(runId: string): TruthRun {
    let found = runs.get(runId);
    if (!found) {
      found = {
        runId,
        executions: [],
        incidents: new Set(),
        forgotten: 0,
        received: 0,
        isSent: false,
        input: undefined,
      };
      runs.set(runId, found);
    }
    return found;
  }

  return {
    runs,
    run,
    begin(runId) {
      const { executions } = run(runId);
      let thread: AgUiThread<unknown> = emptyThread({ state: {} });
      const execution: Execution = {
        tag: `${runId}:${executions.length}`,
        events: [],
        looks: new Map([['', 0]]),
        status: 'running',
        isAlive: true,
        missing: new Set(),
        add(event) {
          execution.events.push(event);
          thread = applyAgUiEvent(thread, event);
          execution.looks.set(lookOf(thread, runId), execution.events.length);
        },
      };
      executions.push(execution);
      return execution;
    },
    last: (runId) => runs.get(runId)?.executions.at(-1),
  };
}

/** Whether the mark that an event leaves is there. */
function isMarked(look: string, event: AgUiEvent): boolean {
  const { messageId, toolCallId, delta } = event as {
    readonly messageId?: string;
    readonly toolCallId?: string;
    readonly delta?: string | readonly { readonly path: string }[];
  };
  if (toolCallId !== undefined) return look.includes(`"${toolCallId}"`);
  if (typeof delta === 'object') return look.includes(`${delta[0]?.path.slice(1)};`);
  if (messageId === undefined) return true;
  const from = look.indexOf(`{"id":"${messageId}"`);
  if (from < 0) return false;
  const content = look.slice(from, look.indexOf('}', from));
  return content.includes(`"${delta}`) || content.includes(` ${delta}`);
}

/**
 * How many events a look shows, if it is that of all of them but some that are missing for good;
 * events of the state are not applied once the thread is stale.
 */
export function findWithHoles(
  look: string,
  { tag, events, missing }: Execution,
): number | undefined {
  const runId = tag.slice(0, tag.lastIndexOf(':'));
  const gone = new Set([...missing].filter((n) => events[n] && !isMarked(look, events[n])));
  // The thread may be stale from the beginning, never, or from any of the holes on.
  const holes = [...gone].filter((n) => !gone.has(n - 1));
  for (const from of [...holes, Infinity, -1]) {
    let thread: AgUiThread<unknown> = { ...emptyThread({ state: {} }), stale: from < 0 };
    let found = look === '' ? 0 : undefined;
    events.forEach((event, index) => {
      if (!gone.has(index)) thread = applyAgUiEvent(thread, event);
      else if (index === from) thread = { ...thread, stale: true };
      if (lookOf(thread, runId) === look) found = index + 1;
    });
    if (found !== undefined) return found;
  }
  return undefined;
}
