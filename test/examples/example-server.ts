import { pathToFileURL } from 'node:url';

/** An AG-UI event as the example server logs it. */
export interface LoggedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What the example server offers its tests. */
export interface ExampleServer {
  readonly port: number;
  readonly url: string;
  log(runId: string): LoggedEvent[];
  starts(runId: string): number;
  runIds(): string[];
  connections(): number;
  dropConnections(how?: { code?: number; reason?: string; refuseFor?: number }): void;
  close(): Promise<void>;
}

export type Agent = (run: {
  input: Record<string, unknown>;
  runId: string;
  threadId: string;
  signal: AbortSignal;
}) => AsyncIterable<LoggedEvent>;

interface ExampleServerOptions {
  readonly port?: number;
  readonly pace?: number;
  readonly agent?: Agent;
  readonly keep?: number;
  readonly maxRuns?: number;
  readonly maxPayload?: number;
}

interface StartOptions {
  readonly agent?: Agent;
  readonly port?: number;
  readonly pace?: number;
  readonly pages?: Record<string, string>;
  readonly env?: Record<string, string | undefined>;
}

// The examples are plain JavaScript that a user copies, so their types are told here.
async function load<Module>(file: string): Promise<Module> {
  const url = new URL(`../../examples/server/${file}`, pathToFileURL(import.meta.filename));
  return (await import(/* @vite-ignore */ url.href)) as Module;
}

export async function createExampleServer(options?: ExampleServerOptions): Promise<ExampleServer> {
  const module = await load<{
    createExampleServer(options?: ExampleServerOptions): Promise<ExampleServer>;
  }>('server.mjs');
  return module.createExampleServer(options);
}

export async function startExample(
  options?: StartOptions,
): Promise<ExampleServer & { readonly hasModel: boolean }> {
  const module = await load<{
    startExample(options?: StartOptions): Promise<ExampleServer & { readonly hasModel: boolean }>;
  }>('start.mjs');
  return module.startExample(options);
}

export async function createScriptedAgent(options: { readonly pace: number }): Promise<Agent> {
  const module = await load<{ createScriptedAgent(options: { readonly pace: number }): Agent }>(
    'scripted-agent.mjs',
  );
  return module.createScriptedAgent(options);
}

/** The data of each event in the bytes of an event stream, as they come. */
export async function readServerSentEvents(body: AsyncIterable<Uint8Array>): Promise<string[]> {
  const module = await load<{
    readServerSentEvents(body: AsyncIterable<Uint8Array>): AsyncIterable<string>;
  }>('openai-agent.mjs');
  const found: string[] = [];
  for await (const data of module.readServerSentEvents(body)) found.push(data);
  return found;
}

/** The text of a run's answer, as its log has it. */
export function textOf(log: readonly LoggedEvent[]): string {
  return log
    .filter((event) => event.type === 'TEXT_MESSAGE_CONTENT')
    .map((event) => String(event.delta))
    .join('');
}
