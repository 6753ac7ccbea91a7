// @ts-check
import { createServer } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';
import { createRuns } from './runs.mjs';
import { createScriptedAgent } from './scripted-agent.mjs';

/** A follower that has this many bytes waiting in its socket is sent no more until they are gone. */
const highWater = 1024 * 1024;

/** How often a socket is asked whether it is still there, in ms. */
const pingInterval = 30_000;

/**
 * An agent server: three messages in, one out.
 *
 *     in:  { type: 'run', runId, input }      start a run, or follow it where it is known
 *          { type: 'resume', runId, after }   follow a run behind its offset `after`
 *          { type: 'cancel', runId }          stop a run
 *     out: { runId, offset, event }           an AG-UI event and its number in the run's log
 *
 * One more in, to show how an application adds a message of its own:
 *
 *          { type: 'app.retry', runId, toolCallId }   try a failed tool call again, where the agent waits for that
 *
 * A socket is only a listener: a run is started once, ends by itself or by `cancel`, and does not
 * notice who comes and goes.
 *
 * @param {object} [options]
 * @param {number} [options.port] Default 0, any free port.
 * @param {string} [options.host] Default 127.0.0.1: this machine only.
 * @param {string} [options.path] Where the WebSocket is. Default /agent.
 * @param {readonly string[]} [options.origins] Pages of other origins than this machine's that may connect.
 * @param {import('./runs.mjs').Agent} [options.agent] Default the scripted one.
 * @param {number} [options.pace] How fast the scripted agent talks; 1 is about 20 s an answer.
 * @param {number} [options.keep] How long the log of a finished run is kept, in ms. Default 15 minutes.
 * @param {number} [options.maxRuns] How many logs are kept at most. Default 1000.
 * @param {number} [options.maxPayload] The largest message taken, in bytes. Default 1 MiB.
 * @param {import('node:http').RequestListener} [options.handle] Answers the other HTTP requests.
 */
export async function createExampleServer(options = {}) {
  const { port = 0, host = '127.0.0.1', path = '/agent', origins = [], pace = 1 } = options;
  const { agent = createScriptedAgent({ pace }), maxPayload = 1024 * 1024 } = options;
  const runs = createRuns({ agent, keep: options.keep, maxRuns: options.maxRuns });
  const sockets = new WebSocketServer({ noServer: true, maxPayload });
  const http = createServer(options.handle ?? ((_, response) => response.writeHead(404).end()));
  let refuseUntil = 0;

  http.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {});
    if (Date.now() < refuseUntil) return socket.destroy();
    if (request.url?.split('?')[0] !== path)
      return socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
    if (!isAllowed(request.headers.origin, origins)) {
      return socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
    }
    sockets.handleUpgrade(request, socket, head, serve);
  });

  /** @param {WebSocket} socket */
  function serve(socket) {
    /** What this socket follows. @type {Map<import('./runs.mjs').Run, ReturnType<typeof createFeed>>} */
    const feeds = new Map();
    let alive = true;

    /** @param {string} runId @param {unknown} after */
    function follow(runId, after) {
      const next = Number.isSafeInteger(after) ? Math.max(0, Number(after) + 1) : 0;
      const run = runs.get(runId);
      if (!run) {
        // The log is gone, by a restart or its age: a clear end is kinder than silence.
        const event = { type: 'RUN_ERROR', message: 'The server no longer knows this run.' };
        socket.send(JSON.stringify({ runId, offset: next, event }));
        return;
      }
      const feed = feeds.get(run) ?? createFeed(socket, run);
      feeds.set(run, feed);
      feed.seek(next);
    }

    socket.on('message', (data, isBinary) => {
      const message = isBinary ? undefined : parse(String(data));
      const { type, runId, input, after, toolCallId } = message ?? {};
      if (typeof runId !== 'string' || runId === '' || runId.length > 256) return;
      if (type === 'run' && isObject(input)) {
        const run = runs.start(runId, input);
        if (!feeds.has(run)) follow(runId, undefined);
      } else if (type === 'resume') {
        follow(runId, after);
      } else if (type === 'cancel') {
        runs.cancel(runId);
      } else if (type === 'app.retry' && typeof toolCallId === 'string') {
        runs.tell(runId, `retry ${toolCallId}`);
      }
    });

    const pings = setInterval(() => {
      if (!alive) return socket.terminate();
      alive = false;
      socket.ping();
    }, pingInterval);
    socket.on('pong', () => {
      alive = true;
    });
    socket.on('error', () => {}); // A bad frame or one over the limit; `close` follows.
    socket.on('close', () => {
      clearInterval(pings);
      for (const feed of feeds.values()) feed.stop();
    });
  }

  await new Promise((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, () => resolve(undefined));
  });
  const address = /** @type {import('node:net').AddressInfo} */ (http.address());

  return {
    port: address.port,
    /** Where a client connects to. */
    url: `ws://${host}:${address.port}${path}`,
    /** The events of a run so far. */
    log: runs.log,
    /** How often the agent was started for a run. */
    starts: runs.starts,
    /** The ids of the runs that are remembered. */
    runIds: runs.ids,
    /** How many sockets are open. */
    connections: () => sockets.clients.size,

    /**
     * End all connections: with a close code, or, without one, as a cable does that is pulled.
     * @param {{ code?: number, reason?: string, refuseFor?: number }} [how] `refuseFor`: ms in which nobody gets in again.
     */
    dropConnections({ code, reason, refuseFor = 0 } = {}) {
      refuseUntil = Date.now() + refuseFor;
      for (const socket of sockets.clients) {
        if (code === undefined) socket.terminate();
        else socket.close(code, reason);
      }
    },

    async close() {
      runs.close();
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/**
 * Sends a run's log to a socket from any offset on, and then what is appended. There is one reader
 * and one cursor, so nothing new can overtake what is repeated.
 *
 * @param {WebSocket} socket
 * @param {import('./runs.mjs').Run} run
 */
function createFeed(socket, run) {
  let next = 0;

  function pump() {
    while (next < run.frames.length && socket.readyState === WebSocket.OPEN) {
      if (socket.bufferedAmount > highWater) return;
      socket.send(/** @type {string} */ (run.frames[next++]), pump);
    }
  }

  run.listeners.add(pump);
  return {
    /** @param {number} offset */
    seek(offset) {
      next = offset;
      pump();
    },
    stop: () => run.listeners.delete(pump),
  };
}

/** @param {string} text @returns {Record<string, unknown> | undefined} */
function parse(text) {
  try {
    const message = JSON.parse(text);
    return isObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Any web page can open a WebSocket to this machine, so a page must be local or on the list.
 * Programs other than browsers send no origin.
 *
 * @param {string | undefined} origin
 * @param {readonly string[]} origins
 */
function isAllowed(origin, origins) {
  if (origin === undefined || origins.includes(origin)) return true;
  try {
    return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(origin).hostname);
  } catch {
    return false;
  }
}
