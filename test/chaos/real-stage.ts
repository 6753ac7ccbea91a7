import { createServer } from '../../src/server/run-server.ts';
import type { AgentOutput, RunServer } from '../../src/server/types.ts';
import { startPlainServer } from '../helpers/plain-server.ts';
import { startTcpProxy, type TcpProxy } from '../helpers/tcp-proxy.ts';
import type { TestEvent } from '../helpers/world.ts';
import { startWsServer } from '../helpers/ws-server.ts';
import { later } from './real-set-up.ts';

/**
 * `v1`: the run server of this package. `plain`: one that knows the four messages, throws on anything
 * else and takes no notice of a second start. `attaching`: the run server as a plain one, which
 * answers a second start like a `resume`.
 */
export type ServerKind = 'plain' | 'attaching' | 'v1';

export const serverKinds: readonly ServerKind[] = ['plain', 'attaching', 'v1'];

/** A server of one kind behind a proxy. */
export interface Stage {
  /** Of the server itself, past the proxy. */
  readonly port: number;
  readonly proxy: TcpProxy;
  /** Sockets that are open at the server. */
  readonly live: number;
  /** Runs that were begun, each with how often it was executed. */
  readonly executions: ReadonlyMap<string, number>;
  /** How often a run was asked to start. Only a plain server counts it. */
  starts(runId: string): number;
  /** What made the server throw. */
  readonly errors: readonly string[];
  say(runId: string, ...events: TestEvent[]): void;
  /** Whether a run has been told to stop. */
  isCancelled(runId: string): boolean;
  /** Ends a run: finished, or cancelled where it was told to stop. */
  end(runId: string): void;
}

/** Start a server and its proxy; `onRun` is called for each execution, and says what the run says. */
export async function startStage(
  kind: ServerKind,
  onRun: (stage: Stage, runId: string) => void,
): Promise<Stage> {
  const executions = new Map<string, number>();
  const begin = (runId: string) => {
    executions.set(runId, (executions.get(runId) ?? 0) + 1);
    onRun(stage, runId);
  };
  const base = kind === 'plain' ? await startPlain(begin) : await startOwn(begin, kind !== 'v1');
  const proxy = await startTcpProxy(base.port);
  later(async () => {
    await proxy.close();
    await base.close();
  });
  // Not spread: some members are getters.
  const stage: Stage = Object.assign(Object.create(base), { proxy, executions });
  return stage;
}

type Base = Omit<Stage, 'proxy' | 'executions'> & { close(): Promise<void> };

async function startPlain(begin: (runId: string) => void): Promise<Base> {
  const server = await startPlainServer((runId) => {
    server.append(runId, { type: 'RUN_STARTED', threadId: 't', runId });
    begin(runId);
  });
  const isCancelled = (runId: string) => !!server.runs.get(runId)?.cancels;
  return {
    port: server.port,
    get live() {
      return server.sockets.size;
    },
    starts: (runId) => server.runs.get(runId)?.starts ?? 0,
    errors: server.errors,
    say: server.append,
    isCancelled,
    end(runId) {
      const run = server.runs.get(runId);
      if (!run || run.over) return;
      run.over = true;
      server.append(runId, {
        type: 'RUN_FINISHED',
        threadId: 't',
        runId,
        ...(isCancelled(runId) && { outcome: { type: 'cancelled' } }),
      });
    },
    close: server.close,
  };
}

async function startOwn(begin: (runId: string) => void, plain: boolean): Promise<Base> {
  interface Strings {
    readonly events: TestEvent[];
    readonly signal: AbortSignal;
    isDone: boolean;
    wake(): void;
  }
  const all = new Map<string, Strings>();
  const errors: string[] = [];
  const server: RunServer = createServer({
    async *run({ runId, signal }): AsyncIterable<AgentOutput> {
      const strings: Strings = { events: [], signal, isDone: false, wake() {} };
      all.set(runId, strings);
      signal.addEventListener('abort', () => strings.wake());
      begin(runId);
      for (;;) {
        // More may be said while this is taken.
        while (strings.events.length) yield strings.events.shift() as unknown as AgentOutput;
        if (signal.aborted || strings.isDone) return;
        await new Promise<void>((resolve) => {
          strings.wake = resolve;
        });
      }
    },
    plain,
    limits: { maxRequestsPerSecond: 100_000 },
    onError: (error) => errors.push(String(error)),
  });
  const wss = await startWsServer({ onConnection: (socket) => server.accept(socket) });
  return {
    port: wss.port,
    get live() {
      return wss.live.length;
    },
    starts: () => 0,
    errors,
    say(runId, ...events) {
      const strings = all.get(runId);
      strings?.events.push(...events);
      strings?.wake();
    },
    isCancelled: (runId) => !!all.get(runId)?.signal.aborted,
    end(runId) {
      const strings = all.get(runId);
      if (strings) strings.isDone = true;
      strings?.wake();
    },
    async close() {
      await server.dispose({ grace: 0 });
      await wss.close();
    },
  };
}
