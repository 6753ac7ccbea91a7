import type { Environment } from '../internal/environment.ts';
import { type RunLock, requestRunLock } from '../runs/run-lock.ts';
import { messageOf } from './abortable.ts';
import type { AgUiClientTool } from './ag-ui-provider-types.ts';
import type { AgUiBridge } from './bridge-types.ts';

/** A tool call that waits for the page. */
export type PendingTool = AgUiBridge['pendingTools'][number];

/** What the page says to a tool call. */
export interface ToolAnswer {
  readonly call: PendingTool;
  readonly answer: Parameters<AgUiBridge['answerTool']>[1];
  /** The answer as the agent is told it; absent where the page has no such tool. */
  readonly message?: { readonly content: string; readonly error?: string };
}

/** How long the page that owns a run may take to say so, in ms. */
const lockPatience = 1_000;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function answer(
  call: PendingTool,
  tools: Readonly<Record<string, AgUiClientTool>>,
  run: { readonly sessionId: string; readonly runId: string; readonly signal: AbortSignal },
): Promise<ToolAnswer> {
  const { toolCallId, name, arguments: text } = call;
  if (!Object.hasOwn(tools, name)) return { call, answer: { result: undefined } };
  try {
    const result = await tools[name]!(parse(text), { ...run, toolCallId, name, text });
    const content = typeof result === 'string' ? result : (JSON.stringify(result) ?? '');
    return { call, answer: { result }, message: { content } };
  } catch (error) {
    const message = messageOf(error, 'The tool failed.');
    return { call, answer: { error: { message } }, message: { content: message, error: message } };
  }
}

/**
 * Run the page's tools for the calls that wait, all at once; returns what calls them off.
 *
 * A call of a tool that the page does not have is answered without a result.
 */
export function runClientTools(
  calls: readonly PendingTool[],
  tools: Readonly<Record<string, AgUiClientTool>>,
  run: { readonly sessionId: string; readonly runId: string },
  onAnswer: (answer: ToolAnswer) => void,
): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  for (const call of calls) {
    answer(call, tools, { ...run, signal }).then((one) => signal.aborted || onAnswer(one));
  }
  return () => controller.abort();
}

/** Runs the page's tools for one run. */
export interface PageTools {
  /** Asks for the right to run them: the tools of a duplicated tab's run are its original's. */
  claim(): void;
  /** Runs the tools for the calls that wait, unless that was done, or is another page's to do. */
  run(calls: readonly PendingTool[]): void;
  /** The calls that wait are another view's to answer. */
  forgo(): void;
  /** Calls off what runs; the next calls are new ones. */
  callOff(): void;
  /** Calls off what runs and gives up the right to, `forGood` or for whoever goes on at once. */
  release(forGood: boolean): void;
}

/** Make what runs the tools of a run; `onOwned` hears that this page may, and `onAnswer` each answer. */
export function createPageTools(
  env: Environment,
  tools: Readonly<Record<string, AgUiClientTool>> | undefined,
  run: { readonly sessionId: string; readonly runId: string },
  onOwned: () => void,
  onAnswer: (answer: ToolAnswer) => void,
): PageTools {
  let lock: RunLock | undefined;
  let stop: (() => void) | undefined;
  let stopPatience: (() => void) | undefined;
  const forgo = () => {
    stop = () => {};
  };
  const callOff = () => {
    stop?.();
    stop = undefined;
  };
  return {
    claim() {
      if (tools) lock = requestRunLock(`tools:${run.runId}`, env, onOwned);
    },
    run(calls) {
      if (!calls.length || stop) return;
      if (lock?.owned) stop = runClientTools(calls, tools!, run, onAnswer);
      else stopPatience ??= env.setTimer(forgo, lockPatience);
    },
    forgo,
    callOff,
    release(forGood) {
      // A duplicated tab that asks at the same time must have given up before.
      if (lock && forGood) env.setTimer(lock.release, 2 * lockPatience);
      else lock?.release();
      callOff();
      stopPatience?.();
      lock = stopPatience = undefined;
    },
  };
}
