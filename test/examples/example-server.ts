import { pathToFileURL } from 'node:url';
import type { RunServerLimits } from '../../src/server/limits.ts';
import { memoryRunLog } from '../../src/server/memory-run-log.ts';
import type { RunLog } from '../../src/server/run-log.ts';

/** An AG-UI event as the example server logs it. */
export interface LoggedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

interface Served {
  readonly port: number;
  readonly url: string;
  connections(): number;
  dropConnections(how?: { code?: number; reason?: string; refuseFor?: number }): void;
  close(how?: { grace?: number }): Promise<void>;
}

/** What the example server offers its tests. */
export interface ExampleServer extends Served {
  /** The events of a run so far. */
  log(runId: string): LoggedEvent[];
  /** How often the agent was started for a run: once, or there is a bug. */
  starts(runId: string): number;
  /** The ids of the runs so far. */
  runIds(): string[];
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
  readonly plain?: boolean;
  readonly limits?: RunServerLimits;
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

/** Options with a log and an agent that a test can look into. */
function watch<Options extends { readonly agent?: Agent }>(options: Options, agent?: Agent) {
  const memory = memoryRunLog();
  const events = new Map<string, LoggedEvent[]>();
  const starts = new Map<string, number>();
  const log: RunLog = {
    ...memory,
    async create(runId, meta) {
      const made = await memory.create(runId, meta);
      if (made.created) events.set(runId, []);
      return made;
    },
    async append(runId, epoch, batch, json) {
      const next = await memory.append(runId, epoch, batch, json);
      events.get(runId)?.push(...(batch as LoggedEvent[]));
      return next;
    },
  };
  const watched: Agent | undefined =
    agent &&
    ((run) => {
      starts.set(run.runId, (starts.get(run.runId) ?? 0) + 1);
      return agent(run);
    });
  return {
    options: { ...options, log, ...(watched && { agent: watched }) },
    look: {
      log: (runId: string) => events.get(runId) ?? [],
      starts: (runId: string) => starts.get(runId) ?? 0,
      runIds: () => [...events.keys()],
    },
  };
}

export async function createExampleServer(
  options: ExampleServerOptions = {},
): Promise<ExampleServer> {
  const module = await load<{ createExampleServer(options: object): Promise<Served> }>(
    'server.mjs',
  );
  const agent = options.agent ?? (await createScriptedAgent({ pace: options.pace ?? 1 }));
  const watched = watch(options, agent);
  return { ...(await module.createExampleServer(watched.options)), ...watched.look };
}

export async function startExample(
  options: StartOptions = {},
): Promise<ExampleServer & { readonly hasModel: boolean }> {
  const module = await load<{
    startExample(options: object): Promise<Served & { readonly hasModel: boolean }>;
  }>('start.mjs');
  const watched = watch(options, options.agent);
  return { ...(await module.startExample(watched.options)), ...watched.look };
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
