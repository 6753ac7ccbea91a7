import { pathToFileURL } from 'node:url';
import type { ClientMessage, SendMessageInput } from '../../src/ag-kit/types.ts';
import type { AgUiEvent } from '../../src/ag-ui/events.ts';
import type { RunAgentInput } from '../../src/ag-ui/input.ts';

/** The AG-Kit endpoint of the example. */
export interface AgKitEndpoint {
  readonly url: string;
  readonly requests: readonly SendMessageInput[];
  readonly conversations: ReadonlyMap<string, { readonly messages: readonly ClientMessage[] }>;
  streams(): number;
  cutAfter(events: number, how?: 'drop' | 'end'): void;
  close(): Promise<void>;
}

/** The run server of the example, in front of it. */
export interface AgKitExample {
  readonly port: number;
  readonly url: string;
  readonly agentUrl: string;
  readonly endpoint: AgKitEndpoint | undefined;
  close(): Promise<void>;
}

// The examples are plain JavaScript that a user copies, so their types are told here.
async function load<Module>(file: string): Promise<Module> {
  const url = new URL(`../../examples/ag-kit/${file}`, pathToFileURL(import.meta.filename));
  return (await import(/* @vite-ignore */ url.href)) as Module;
}

export async function startAgKit(options: {
  readonly url?: string;
  readonly pace?: number;
}): Promise<AgKitExample> {
  const module = await load<{ startAgKit(options: object): Promise<AgKitExample> }>('server.mjs');
  return module.startAgKit(options);
}

export async function startEndpoint(options: { readonly pace?: number }): Promise<AgKitEndpoint> {
  const module = await load<{ startEndpoint(options: object): Promise<AgKitEndpoint> }>(
    'endpoint.mjs',
  );
  return module.startEndpoint(options);
}

/** What the recipe reads in the bytes of an event stream. */
export async function readEvents(body: ReadableStream<Uint8Array>): Promise<unknown[]> {
  const module = await load<{
    readEvents(body: ReadableStream<Uint8Array>): AsyncIterable<unknown>;
  }>('recipe.mjs');
  const found: unknown[] = [];
  for await (const event of module.readEvents(body)) found.push(event);
  return found;
}

type Run = (run: {
  readonly input: RunAgentInput;
  readonly runId: string;
  readonly threadId: string;
  readonly signal: AbortSignal;
}) => AsyncIterable<AgUiEvent>;

/** What the run server of the example runs. */
export async function createAgKitRun(url: string): Promise<Run> {
  const module = await load<{ createAgKitRun(url: string): Run }>('recipe.mjs');
  return module.createAgKitRun(url);
}
