import type { RunServerLimits } from './limits.ts';
import { createProducer, type Producer, type ProducerContext } from './producer.ts';
import type { RunLogControl } from './run-log.ts';

/** What starts a run. */
export interface StartRequest<Context> {
  readonly runId: string;
  readonly threadId: string;
  readonly input: unknown;
  readonly context: Context;
  readonly principal: string | undefined;
}

/** The runs whose agent is at work in this process. */
export interface Starts<Context> {
  /** How many there are, those that are being started included. */
  readonly size: number;
  /** Starts a run once, whoever asks; a text says why it is not. */
  start(
    request: StartRequest<Context>,
    owner?: object,
  ): Promise<{ readonly epoch: string; readonly created: boolean } | string>;
  /** What a process told of a run. */
  hear(runId: string, message: RunLogControl): void;
  /** Keeps the runs this process's; one that is not any longer is dropped. */
  renew(ttl: number): void;
  /** Ends all runs as lost. */
  abandon(): void;
  /** Resolves when no run is at work. */
  idle(): Promise<void>;
}

/** Make the register of a process's runs. */
export function createStarts<Context>(
  context: ProducerContext,
  limits: Required<RunServerLimits>,
  lease: number,
  run: (request: StartRequest<Context>, signal: AbortSignal) => AsyncIterable<unknown>,
  ended: (runId: string) => void,
): Starts<Context> {
  const { log } = context;
  const producers = new Map<string, Producer>();
  /** The runs that are being started, and whether a cancel came meanwhile. */
  const starting = new Map<string, { count: number; cancelled: boolean }>();
  const byOwner = new WeakMap<object, number>();
  const byPrincipal = new Map<string, number>();
  let size = 0;
  let waiters: (() => void)[] = [];

  function findExcess(principal: string | undefined, owner: object | undefined) {
    if (size >= limits.maxRuns) return 'The server is busy. Try again in a minute.';
    if (owner && (byOwner.get(owner) ?? 0) >= limits.maxRunsPerConnection) {
      return 'Too many runs are under way on this connection.';
    }
    if (
      principal !== undefined &&
      (byPrincipal.get(principal) ?? 0) >= limits.maxRunsPerPrincipal
    ) {
      return 'Too many of your runs are under way.';
    }
    return undefined;
  }

  // Counted before anything is waited for, so that a burst cannot pass the limits.
  function count(by: 1 | -1, principal: string | undefined, owner: object | undefined) {
    size += by;
    if (owner) byOwner.set(owner, (byOwner.get(owner) ?? 0) + by);
    if (principal !== undefined) {
      const left = (byPrincipal.get(principal) ?? 0) + by;
      if (left) byPrincipal.set(principal, left);
      else byPrincipal.delete(principal);
    }
    if (size) return;
    for (const resolve of waiters) resolve();
    waiters = [];
  }

  async function create({ runId, threadId, principal }: StartRequest<Context>) {
    const mark = starting.get(runId) ?? { count: 0, cancelled: false };
    mark.count++;
    starting.set(runId, mark);
    try {
      const meta = { threadId, ...(principal !== undefined && { principal }) };
      const made = await log.create(runId, meta);
      return { ...made, cancelled: made.cancelled || mark.cancelled };
    } finally {
      if (!--mark.count) starting.delete(runId);
    }
  }

  function renewOne(runId: string, producer: Producer, ttl: number) {
    // A log's function may throw as well as reject.
    (async () => log.lease(runId, producer.epoch, ttl))().then(
      (isOurs) => isOurs || producer.drop(),
      // As long as the store is away nobody else can have the run either.
      (error) => context.report(error, runId),
    );
  }

  return {
    get size() {
      return size;
    },
    async start(request, owner) {
      const { runId, threadId, principal } = request;
      const excess = findExcess(principal, owner);
      if (excess) return excess;
      count(1, principal, owner);
      let isMade = false;
      try {
        const { epoch, created, cancelled } = await create(request);
        if (!created) return { epoch, created };
        isMade = true;
        const producer = createProducer(context, {
          runId,
          epoch,
          threadId,
          cancelled,
          run: (signal) => run(request, signal),
        });
        producers.set(runId, producer);
        renewOne(runId, producer, lease);
        producer.done.then(() => {
          if (producers.get(runId) === producer) producers.delete(runId);
          count(-1, principal, owner);
          ended(runId);
        });
        return { epoch, created };
      } finally {
        if (!isMade) count(-1, principal, owner);
      }
    },
    hear(runId, { type }) {
      if (type !== 'cancel') return;
      const mark = starting.get(runId);
      if (mark) mark.cancelled = true;
      producers.get(runId)?.cancel();
    },
    renew(ttl) {
      for (const [runId, producer] of producers) renewOne(runId, producer, ttl);
    },
    abandon() {
      for (const producer of producers.values()) producer.abandon();
    },
    idle: () =>
      new Promise((resolve) => {
        if (size) waiters.push(resolve);
        else resolve();
      }),
  };
}
