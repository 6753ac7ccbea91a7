// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A Redis to use: the one at `REDIS_URL`, or a redis-server of our own on a free port, in memory only.
 *
 * @returns {Promise<{ url: string, isOurs: boolean, close(): Promise<void> }>}
 */
export async function startRedis() {
  const { REDIS_URL } = process.env;
  if (REDIS_URL) return { url: REDIS_URL, isOurs: false, async close() {} };

  const port = await findPort();
  const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve, reject) => {
    child.once('error', () => {
      reject(
        new Error(
          'There is no Redis: set REDIS_URL (redis://host:port), or install redis-server (Debian: apt-get install redis-server, macOS: brew install redis).',
        ),
      );
    });
    child.once('exit', (code) => reject(new Error(`redis-server ended with code ${code}.`)));
    child.stdout.on('data', (text) => {
      if (`${text}`.includes('Ready to accept connections')) resolve(undefined);
    });
  });

  return {
    url: `redis://127.0.0.1:${port}`,
    isOurs: true,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill();
      await once(child, 'exit');
    },
  };
}

async function findPort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return address.port;
}
