// @ts-check
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createPages } from '../server/pages.mjs';
import { createProxy } from './proxy.mjs';
import { startRedis } from './redis.mjs';

const file = fileURLToPath(new URL('process.mjs', import.meta.url));

/** How long after its end a process is started again, in ms. */
const restartAfter = 2_000;

/**
 * Two server processes on one Redis, and a proxy that sends each new connection to the other one.
 *
 * @param {object} [options]
 * @param {number} [options.port] Where the proxy listens. Default 0, any free port.
 * @param {string} [options.host] Default 127.0.0.1: this machine only.
 * @param {Record<string, string>} [options.pages] Folders by path.
 * @param {(line: string) => void} [options.say] Told what processes come and go.
 */
export async function startCluster(options = {}) {
  const { port = 0, host = '127.0.0.1', pages = {}, say = () => {} } = options;
  const redis = await startRedis();
  /** @type {Set<import('node:child_process').ChildProcess>} */
  const children = new Set();
  /** @type {Map<import('node:child_process').ChildProcess, number>} */
  const ports = new Map();
  let closed = false;

  /** @returns {Promise<void>} */
  function start() {
    const child = fork(file, { env: { ...process.env, REDIS_URL: redis.url } });
    children.add(child);
    return new Promise((resolve, reject) => {
      child.once('message', (message) => {
        const { port: on } = /** @type {{ port: number }} */ (message);
        ports.set(child, on);
        say(`Process ${child.pid} listens on port ${on}.`);
        resolve();
      });
      child.once('exit', (code, signal) => {
        children.delete(child);
        const wasUp = ports.delete(child);
        if (!wasUp) return reject(new Error(`A server process ended with ${signal ?? code}.`));
        if (closed) return;
        say(`Process ${child.pid} is gone (${signal ?? code}); another comes in its place.`);
        setTimeout(() => {
          if (!closed) start().catch((error) => say(error.message));
        }, restartAfter);
      });
    });
  }

  async function close() {
    closed = true;
    proxy.http.close();
    proxy.http.closeAllConnections();
    proxy.drop();
    await Promise.all(
      [...children].map((child) => {
        const exited = once(child, 'exit');
        // Killed, not asked: nobody is left who could follow its runs.
        child.kill('SIGKILL');
        return exited;
      }),
    );
    await redis.close();
  }

  const servePages = createPages(pages);
  const proxy = createProxy({
    targets: () => [...ports.values()],
    handle(request, response) {
      if (request.method === 'POST' && request.url === '/agent/drop') {
        proxy.drop();
        response.writeHead(204).end();
      } else {
        servePages(request, response);
      }
    },
  });

  try {
    await Promise.all([start(), start()]);
    proxy.http.listen(port, host);
    await once(proxy.http, 'listening');
  } catch (error) {
    await close();
    throw error;
  }
  const address = /** @type {import('node:net').AddressInfo} */ (proxy.http.address());

  return {
    port: address.port,
    /** Where a client connects to. */
    url: `ws://${host}:${address.port}/agent`,
    redis,
    /** The process ids of the servers that are up. */
    pids: () => [...ports.keys()].map(({ pid }) => pid),
    close,
  };
}
