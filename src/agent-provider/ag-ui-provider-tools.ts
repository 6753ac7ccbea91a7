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
