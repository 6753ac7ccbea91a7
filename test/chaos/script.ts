import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import type { Host } from './timeline.ts';
import type { Execution } from './truth.ts';

/** What an agent does. All durations are in ms. */
export interface Script {
  /** How many events it says of itself. */
  readonly length: number;
  readonly pace: number;
  /** It thinks this long before it says anything. */
  readonly slowStart: number;
  /** It goes on until it is stopped. */
  readonly isEndless: boolean;
  /** It does not end before the last fault is over. */
  readonly holds: boolean;
  /** It does not look at its signal. */
  readonly isStubborn: boolean;
}

/** The event that stands at a place of an execution; each leaves its mark in the thread. */
export function eventAt(runId: string, tag: string, n: number): AgUiEvent {
  if (n === 0) return { type: 'RUN_STARTED', threadId: 't', runId };
  if (n % 9 === 4) {
    return { type: 'STATE_DELTA', delta: [{ op: 'add', path: `/${tag}:${n}`, value: n }] };
  }
  if (n % 11 === 7) {
    return {
      type: 'TOOL_CALL_CHUNK',
      toolCallId: `${tag}:c${n}`,
      toolCallName: 'look',
      delta: `${n}`,
    };
  }
  const messageId = `${tag}:m${Math.floor(n / 8)}`;
  return { type: 'TEXT_MESSAGE_CHUNK', messageId, role: 'assistant', delta: `${n} ` };
}

/** Run an agent on a machine. */
export async function* play(
  host: Host,
  script: Script,
  runId: string,
  { tag }: Execution,
  signal: AbortSignal,
  mayEnd: () => boolean,
  // Nothing but its cancel ends what somebody has aborted.
  isAborted: () => boolean,
  // A plain server that runs again and says less than before has nothing to answer with.
  atLeast = 0,
): AsyncGenerator<AgUiEvent> {
  const length = Math.max(script.length, atLeast);
  let wake = () => {};
  if (!script.isStubborn) signal.addEventListener('abort', () => wake());
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const stop = host.environment.setTimer(resolve, ms);
      wake = () => {
        stop();
        resolve();
      };
    });
  if (script.slowStart) await pause(script.slowStart);
  for (let n = 0; ; n++) {
    if (signal.aborted && !script.isStubborn) return;
    if (n >= length && !script.isEndless && !isAborted() && (!script.holds || mayEnd())) return;
    yield eventAt(runId, tag, n);
    // What only waits for the end says little.
    if (n >= length) await pause(mayEnd() ? Math.max(50, script.pace) : 700);
    else if (script.pace || n % 4 === 3) await pause(script.pace);
  }
}
