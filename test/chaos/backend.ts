import { createServer } from '../../src/server/run-server.ts';
import type { RunServer } from '../../src/server/types.ts';
import { type BareServer, type BareStore, createBareServer } from './bare-server.ts';
import type { Link } from './link.ts';
import { createStore, type Store } from './log.ts';
import { play, type Script } from './script.ts';
import type { Host, Timeline } from './timeline.ts';
import type { Execution, Truth, TruthRun } from './truth.ts';

/** Which server answers: version 1, the same without the controls, or one that knows four messages. */
export type ServerKind = 'v1' | 'plain' | 'bare';

/** The server's side of the simulation: processes come and go, logs may stay. */
export interface Backend {
  /** Ends every connection and takes new ones again; nothing is lost. */
  restart(code: number): void;
  /** A new process serves the same logs; agents go on in the old one. */
  handOver(): void;
  /** The agents die with their process, the logs stay. `isGraceful`: the server says goodbye first. */
  loseProducers(isGraceful: boolean): void;
  /** Everything is forgotten; `executesAgain`: runs that were under way begin anew by themselves. */
  loseLogs(executesAgain: boolean): void;
  evict(runId: string): void;
  truncate(runId: string, from: number): void;
}

/** What a backend is made of. */
export interface BackendOptions {
  readonly kind: ServerKind;
  readonly heartbeat: number;
  readonly spread: number;
  scriptOf(runId: string): Script;
  mayEnd(): boolean;
  isAborted(runId: string): boolean;
  /** The bare server starts a run once however often it is asked. */
  readonly isIdempotent: boolean;
  /** A message came that no plain server should get. */
  foreign(data: string): void;
}

interface Process {
  readonly host: Host;
  readonly server?: RunServer;
  readonly bare?: BareServer;
}

/** Make a server that is up. */
export function createBackend(
  timeline: Timeline,
  link: Link,
  truth: Truth,
  options: BackendOptions,
): Backend {
  const { kind } = options;
  const storeHost = timeline.host();
  let store: Store = createStore(storeHost, truth);
  let bareStore: BareStore = { runs: new Map(), cancelled: new Set(), evicted: new Set() };
  let processes: Process[] = [];

  const run = (host: Host, runId: string, execution: Execution, signal: AbortSignal) =>
    play(
      host,
      options.scriptOf(runId),
      runId,
      execution,
      signal,
      options.mayEnd,
      () => options.isAborted(runId),
      Math.max(0, ...truth.run(runId).executions.map(({ events }) => events.length + 3)),
    );

  function start(): Process {
    const host = timeline.host();
    let made: Process;
    if (kind === 'bare') {
      const bare = createBareServer(host, bareStore, truth, run, options);
      made = { host, bare };
      link.port = { host, connect: bare.connect };
    } else {
      const server = createServer(
        {
          log: store.view(() => host.isAlive),
          plain: kind === 'plain',
          heartbeat: options.heartbeat,
          spread: options.spread,
          run: ({ runId, signal }) =>
            run(host, runId, truth.last(runId) as Execution, signal) as never,
        },
        host.environment,
      );
      made = { host, server };
      link.port = { host, connect: (send, close) => server.connect(send, close) };
    }
    processes.push(made);
    return made;
  }

  function cutAll(code: number) {
    for (const line of link.lines) if (line.isAttached) line.cut(code, code !== 1006);
  }

  function kill() {
    for (const { host } of processes) host.kill();
    processes = [];
    for (const { executions } of truth.runs.values()) {
      for (const execution of executions) execution.isAlive = false;
    }
  }

  function underWay(): TruthRun[] {
    return [...truth.runs.values()].filter(({ runId }) => truth.last(runId)?.status === 'running');
  }

  start();

  return {
    restart: cutAll,
    handOver() {
      cutAll(1006);
      start();
    },
    loseProducers(isGraceful) {
      for (const one of underWay()) one.incidents.add('producer-lost');
      if (isGraceful && kind !== 'bare') {
        for (const { server } of processes) void server?.dispose({ grace: 0, retryAfter: 100 });
      } else {
        kill();
        cutAll(1006);
      }
      start();
    },
    loseLogs(executesAgain) {
      const again = executesAgain ? underWay() : [];
      for (const one of truth.runs.values()) {
        if (!one.executions.length) continue;
        one.forgotten++;
        if (!again.includes(one)) one.incidents.add('log-lost');
      }
      kill();
      cutAll(1006);
      store = createStore(storeHost, truth);
      bareStore = { runs: new Map(), cancelled: new Set(), evicted: new Set() };
      const { server, bare } = start();
      for (const { runId } of again) {
        bare?.start(runId);
        void server?.start({ threadId: 't', runId } as never, { runId });
      }
    },
    evict(runId) {
      truth.run(runId).incidents.add('evicted');
      store.evict(runId);
      bareStore.runs.delete(runId);
      bareStore.evicted.add(runId);
      const execution = truth.last(runId);
      if (execution) execution.isAlive = false;
    },
    truncate(runId, from) {
      store.truncate(runId, from);
      const bare = bareStore.runs.get(runId);
      if (bare) bare.from = from;
      const one = truth.run(runId);
      one.incidents.add('truncated');
      for (let n = 0; n < from; n++) truth.last(runId)?.missing.add(n);
    },
  };
}
