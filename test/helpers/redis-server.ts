import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';

/** A redis-server of this test file. Its data is kept in a folder of its own until `close`. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Ends it. What was written is kept for the next `start`, to the last command. */
  stop(): Promise<void>;
  /** Starts it again on the same port; `empty` throws its data away first. */
  start(options?: { readonly empty?: boolean }): Promise<void>;
  close(): Promise<void>;
}

const isInstalled = spawnSync('redis-server', ['--version']).status === 0;

if (!isInstalled) {
  if (process.env.RUNSOCKET_REQUIRE_REDIS) {
    throw new Error('RUNSOCKET_REQUIRE_REDIS is set, and there is no redis-server in the PATH.');
  }
  console.log('No redis-server in the PATH: the tests on Redis are skipped.');
}

/** `describe` where a redis-server is installed. */
export const describeRedis: typeof describe.skip = describe.skipIf(!isInstalled);

/** A port that nobody listened on a moment ago. */
export async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Start a redis-server on a free port of 127.0.0.1; `args` are settings such as `--cluster-enabled yes`. */
export async function startRedisServer(args: readonly string[] = []): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'runsocket-redis-'));
  let port = 0;
  let child: ChildProcess | undefined;

  async function launch() {
    const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    const durable = ['--appendonly', 'yes', '--appendfsync', 'always'];
    const started = spawn('redis-server', [...settings, ...durable, ...args], { stdio: 'ignore' });
    child = started;
    while (!(await isReady(port))) {
      if (started.exitCode !== null) return false;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return true;
  }

  async function stop() {
    const stopping = child;
    child = undefined;
    if (!stopping || stopping.exitCode !== null) return;
    const exited = once(stopping, 'exit');
    stopping.kill('SIGTERM');
    await exited;
  }

  // Somebody else may take the port in between.
  for (let tries = 0; ; tries++) {
    port = await findPort();
    if (await launch()) break;
    if (tries === 5) throw new Error('redis-server does not start.');
  }

  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    stop,
    async start({ empty = false } = {}) {
      if (empty) rmSync(join(folder, 'appendonlydir'), { recursive: true, force: true });
      if (!(await launch())) throw new Error('redis-server does not start again.');
    },
    async close() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Whether a Redis there answers and has read its data. */
function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const settle = (ready: boolean) => {
      socket.destroy();
      resolve(ready);
    };
    socket.on('error', () => settle(false));
    socket.on('close', () => settle(false));
    socket.on('data', (data) => settle(`${data}`.startsWith('+PONG')));
    socket.write('PING\r\n');
  });
}
