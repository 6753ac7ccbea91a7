import type { RunAgentInput } from '../ag-ui/input.ts';
import type { Environment } from '../internal/environment.ts';
import { isRunSocketError, RunSocketError } from '../internal/errors.ts';
import { createAudience } from './audience.ts';
import { type Connection, createConnection } from './connection.ts';
import { createFrames } from './frames.ts';
import { isRunId } from './limits.ts';
import { createMemoryRunLog } from './memory-run-log.ts';
import type { Port } from './outlet.ts';
import { threadOf } from './run-requests.ts';
import { createSettings } from './settings.ts';
import { attachSocket, isOriginAllowed } from './sockets.ts';
import { createStarts } from './starts.ts';
import type { AgentRun, RunServer, RunServerOptions, ServerRequest } from './types.ts';

/** How long the ends of abandoned runs may take to be written, in ms. */
const closingTime = 5_000;

/** As {@link createRunServer}, with time and chance in the caller's hand. */
export function createServer<Context = undefined, Input = RunAgentInput>(
  options: RunServerOptions<Context, Input>,
  environmentOf?: Environment,
): RunServer<Context, Input> {
  const settings = createSettings<Context>(options as never, environmentOf);
  const { environment, limits, lease, report } = settings;
  const { setTimer, setIdleTimer = setTimer, random } = environment;
  const { cancelGrace = 1_000, describeError = describe } = options;
  const log = options.log ?? createMemoryRunLog(limits, environment);
  const audience = createAudience(environment, log, report);
  const starts = createStarts<Context>(
    { environment, log, maxEvents: limits.maxEvents, cancelGrace, describeError, report },
    limits,
    lease,
    ({ runId, threadId, input, context }, signal) =>
      options.run({ input, runId, threadId, signal, context } as AgentRun<Context, Input>),
    audience.forget,
  );
  const connections = new Set<Connection>();
  /** While the server goes away: how long clients stay away, in ms. */
  let retryAfter: number | undefined;
  let disposal: Promise<void> | undefined;
  let stopTick: (() => void) | undefined;
  let ticks = 0;

  const stopControl = log.onControl((runId, message) => {
    starts.hear(runId, message);
    audience.hear(runId, message);
  });

  const shared = {
    settings,
    log,
    frames: createFrames(),
    audience,
    starts,
    retryAfter: () => (retryAfter === undefined ? undefined : retryAfter * (1 + random())),
    gone(connection: Connection) {
      connections.delete(connection);
    },
  };

  // It may throw as well as reject.
  const sweep = () => void (async () => log.sweep?.())().catch((error) => report(error));

  // One timer for everything that has to be looked at now and then.
  function tick() {
    starts.renew(lease);
    if (++ticks % 2) sweep();
    for (const connection of [...connections]) {
      connection.check();
      if (retryAfter !== undefined) sendAwayIdle(connection);
    }
    arm();
  }

  function arm() {
    stopTick = setIdleTimer(tick, (lease / 3) * (0.9 + 0.2 * random()));
  }
  sweep();
  arm();

  function sendAwayIdle(connection: Connection) {
    const isServed = !log.sweep && connection.isFollowing && starts.size > 0;
    if (!isServed) connection.sendAway(shared.retryAfter() ?? 0, 1012, 'going away');
  }

  function admit(connection: Connection, request: ServerRequest | undefined) {
    let isAllowed = false;
    try {
      isAllowed = isOriginAllowed(options.origins, request);
    } catch (error) {
      // Anybody may send an origin that is no url.
      report(error);
    }
    connections.add(connection);
    connection.open(!isAllowed);
    if (!isAllowed) connection.close(1008, 'origin');
    else if (retryAfter !== undefined) {
      connection.sendAway(shared.retryAfter() ?? 0, 1012, 'going away');
    } else if (connections.size > limits.maxConnections) {
      connection.sendAway(settings.floodWait * (1 + random()), 1013, 'too many connections');
    }
  }

  function serve(port: Port, context: Context | undefined, request: ServerRequest | undefined) {
    if (options.origins && !request) {
      throw new RunSocketError('invalid-argument', '`origins` needs the request of each socket.');
    }
    return createConnection(shared, port, context as Context);
  }

  async function end(grace: number) {
    for (const connection of [...connections]) sendAwayIdle(connection);
    // Connections whose runs end leave one by one, at the latest with the last run.
    const watch = () => {
      for (const connection of [...connections]) sendAwayIdle(connection);
      stopWatch = setTimer(watch, 100);
    };
    let stopWatch = setTimer(watch, 100);
    const idleWithin = async (ms: number) => {
      let stop = () => {};
      const time = new Promise<void>((resolve) => {
        stop = setTimer(resolve, ms);
      });
      await Promise.race([starts.idle(), time]);
      stop();
    };
    await idleWithin(grace);
    stopWatch();
    starts.abandon();
    // A log that cannot be reached must not keep a process that wants to end.
    await idleWithin(closingTime);
    // What the last runs said is on its way: followers read it in promise callbacks.
    await new Promise<void>((resolve) => setTimer(resolve, 0));
    for (const connection of [...connections]) {
      connection.sendAway(shared.retryAfter() ?? 0, 1012, 'going away');
    }
    stopTick?.();
    stopControl();
    audience.dispose();
    if (!options.log) await log.dispose?.();
  }

  return {
    accept(socket, ...[context, request]) {
      const connection = serve(
        {
          send: (data) => void socket.send(data),
          close: (code, reason) => void socket.close(code, reason),
          bufferedAmount: () => socket.bufferedAmount ?? 0,
        },
        context,
        request,
      );
      attachSocket(socket, connection, () => admit(connection, request), report);
      return connection;
    },
    connect(send, close, { context, request, bufferedAmount = () => 0 } = {}) {
      const connection = serve({ send, close, bufferedAmount }, context, request);
      admit(connection, request);
      return connection;
    },
    async start(input, ...[more]) {
      const { runId = environment.randomId(), context } = more ?? {};
      if (!isRunId(runId)) throw new RunSocketError('invalid-argument', 'Bad run id.');
      if (retryAfter !== undefined) throw new RunSocketError('closed', 'The server goes away.');
      const threadId = threadOf(input, runId);
      const principal = settings.principal(context as Context);
      const request = { runId, threadId, input, context: context as Context, principal };
      const started = await starts.start(request);
      if (typeof started === 'string') throw new RunSocketError('queue-full', started);
      return { runId, ...started };
    },
    cancel: async (runId) => log.control(runId, { type: 'cancel' }),
    getSnapshot: () => ({
      connections: connections.size,
      running: starts.size,
      following: audience.size,
    }),
    dispose({ grace = 10_000, retryAfter: after = 1_000 } = {}) {
      retryAfter ??= after;
      disposal ??= end(grace);
      return disposal;
    },
  };
}

/**
 * Make an agent server: it logs what your agent says and feeds it to whoever follows, so that a run
 * outlives every socket.
 *
 * It speaks version 1 of the protocol in PROTOCOL.md, or with `plain` only its four messages.
 *
 * @example
 * ```ts
 * const server = createRunServer({
 *   async *run({ runId, signal }) {
 *     yield { type: 'TEXT_MESSAGE_START', messageId: runId };
 *     for await (const delta of askModel(signal)) {
 *       yield { type: 'TEXT_MESSAGE_CONTENT', messageId: runId, delta };
 *     }
 *   },
 * });
 * wss.on('connection', (socket) => server.accept(socket));
 * ```
 */
export const createRunServer: <Context = undefined, Input = RunAgentInput>(
  options: RunServerOptions<Context, Input>,
) => RunServer<Context, Input> = (options) => createServer(options);

function describe(error: unknown): { message: string; code?: string } {
  const { message, code } = (error ?? {}) as {
    readonly message?: unknown;
    readonly code?: unknown;
  };
  return {
    message: typeof message === 'string' && message ? message : String(error),
    ...(typeof code === 'string' && !isRunSocketError(error) && { code }),
  };
}
