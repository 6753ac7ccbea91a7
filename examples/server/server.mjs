// @ts-check
import { createServer } from 'node:http';
import { createRunServer, memoryRunLog } from 'runsocket/server';
import { WebSocketServer } from 'ws';
import { createRequests } from './requests.mjs';
import { createScriptedAgent } from './scripted-agent.mjs';

/** How often a socket is asked whether it is still there, in ms. */
const pingInterval = 30_000;

/**
 * An agent server: `createRunServer` does the protocol, and this file gives it sockets and an agent.
 *
 * One message is the application's own:
 *
 *     { type: 'app.retry', runId, toolCallId }   try a failed tool call again, where the agent waits for that
 *
 * A socket is only a listener: a run is started once, ends by itself or by `cancel`, and does not
 * notice who comes and goes.
 *
 * @param {object} [options]
 * @param {number} [options.port] Default 0, any free port.
 * @param {string} [options.host] Default 127.0.0.1: this machine only.
 * @param {string} [options.path] Where the WebSocket is. Default /agent.
 * @param {readonly string[]} [options.origins] Pages of other origins than this machine's that may connect.
 * @param {import('./requests.mjs').Agent} [options.agent] Default the scripted one.
 * @param {number} [options.pace] How fast the scripted agent talks; 1 is about 20 s an answer.
 * @param {import('runsocket/server').RunLog} [options.log] Where runs are kept. Default the memory of this process.
 * @param {boolean} [options.plain] Speak only run, resume, cancel and { runId, offset, event }. Default false.
 * @param {import('runsocket/server').RunServerLimits} [options.limits]
 * @param {import('node:http').RequestListener} [options.handle] Answers the other HTTP requests.
 */
export async function createExampleServer(options = {}) {
  const { port = 0, host = '127.0.0.1', path = '/agent', origins = [], pace = 1 } = options;
  const { agent = createScriptedAgent({ pace }), log = memoryRunLog(), plain, limits } = options;
  const requests = createRequests();
  let refuseUntil = 0;

  const runs = createRunServer({
    log,
    plain,
    limits,
    origins: (origin) => isLocal(origin) || origins.includes(origin),
    run({ input, runId, threadId, signal }) {
      const hear = requests.createHear(runId, signal);
      const run = { input: isObject(input) ? input : {}, runId, threadId, signal, hear };
      // The agents of the examples are not typed event by event.
      return /** @type {any} */ (agent(run));
    },
  });

  const http = createServer(options.handle ?? ((_, response) => response.writeHead(404).end()));
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits?.maxMessage ?? 1024 * 1024,
  });

  http.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {});
    if (Date.now() < refuseUntil) return socket.destroy();
    if (request.url?.split('?')[0] !== path)
      return socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
    sockets.handleUpgrade(request, socket, head, (accepted) => serve(accepted, request));
  });

  /** @param {import('ws').WebSocket} socket @param {import('node:http').IncomingMessage} request */
  function serve(socket, request) {
    runs.accept(socket, undefined, request);
    socket.on('message', (data) => {
      const { type, runId, toolCallId } = parse(String(data));
      if (type === 'app.retry' && typeof runId === 'string' && typeof toolCallId === 'string') {
        requests.tell(runId, `retry ${toolCallId}`);
      }
    });

    // A network that is gone says nothing: without these, nobody would notice.
    let isAlive = true;
    const pings = setInterval(() => {
      if (!isAlive) return socket.terminate();
      isAlive = false;
      socket.ping();
    }, pingInterval);
    socket.on('pong', () => {
      isAlive = true;
    });
    socket.on('close', () => clearInterval(pings));
  }

  await new Promise((resolve, reject) => {
    http.once('error', (error) => {
      void runs.dispose({ grace: 0 });
      reject(error);
    });
    http.listen(port, host, () => resolve(undefined));
  });
  const address = /** @type {import('node:net').AddressInfo} */ (http.address());

  return {
    port: address.port,
    /** Where a client connects to. */
    url: `ws://${host}:${address.port}${path}`,
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

    /**
     * Stop. With a `grace`, clients are told to come back, and runs have so many ms to end; without,
     * it is as a crash: nobody is told anything.
     * @param {{ grace?: number }} [how]
     */
    async close({ grace } = {}) {
      if (grace === undefined) for (const socket of sockets.clients) socket.terminate();
      await runs.dispose({ grace: grace ?? 0 });
      await log.dispose?.();
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** @param {string} text @returns {Record<string, unknown>} */
function parse(text) {
  try {
    const message = JSON.parse(text);
    return isObject(message) ? message : {};
  } catch {
    return {};
  }
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Any web page can open a WebSocket to this machine, so a page must be local or on the list.
 *
 * @param {string} origin
 */
function isLocal(origin) {
  try {
    return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(origin).hostname);
  } catch {
    return false;
  }
}
