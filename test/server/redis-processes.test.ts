import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { createClient, type RedisClientType } from 'redis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import type { AgUiThread } from '../../src/ag-ui/thread.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { describeRedis, type RedisServer, startRedisServer } from '../helpers/redis-server.ts';
import { until } from '../helpers/until.ts';

const lease = 1_500;
// A busy machine takes its time.
const patience = 40_000;

vi.setConfig({ testTimeout: 2 * patience });

interface ServerProcess {
  readonly url: string;
  readonly isUp: boolean;
  kill(): Promise<void>;
  /** Ends as a deployment ends it; resolves when the process is gone. */
  end(): Promise<void>;
}

describeRedis('two server processes on one Redis', () => {
  let folder: string;
  let redisServer: RedisServer;
  let redis: RedisClientType;
  let one: ServerProcess;
  let two: ServerProcess;
  let runs = 0;
  const dispose: (() => void)[] = [];

  beforeAll(async () => {
    // Inside the project, so that ws and redis are found.
    folder = await mkdtemp(resolve('node_modules/.runsocket-'));
    await build({
      entryPoints: ['test/server/redis-process.ts'],
      outfile: join(folder, 'process.mjs'),
      bundle: true,
      format: 'esm',
      platform: 'node',
      packages: 'external',
    });
    redisServer = await startRedisServer();
  }, patience);
  afterAll(async () => {
    await Promise.all([one?.kill(), two?.kill()]);
    await redisServer?.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    redis = createClient({ url: redisServer.url }) as RedisClientType;
    redis.on('error', () => {});
    await redis.connect();
    const keep = (server: ServerProcess | undefined) => (server?.isUp ? server : start());
    [one, two] = await Promise.all([keep(one), keep(two)]);
  }, patience);
  afterEach(async () => {
    for (const task of dispose.splice(0)) task();
    redis.destroy();
  });

  async function start(): Promise<ServerProcess> {
    const child = fork(join(folder, 'process.mjs'), [redisServer.url, `${lease}`], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const exited = once(child, 'exit');
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return {
      url: `ws://127.0.0.1:${port}`,
      get isUp() {
        return child.exitCode === null && child.signalCode === null;
      },
      async kill() {
        child.kill('SIGKILL');
        await exited;
      },
      async end() {
        child.send('end');
        await exited;
      },
    };
  }

  /** A client that dials what `where` says at the time. */
  function openAgent(where: () => string) {
    const client = createWebSocketClient(where, {
      WebSocket,
      backoff: { first: 50, min: 20, max: 200 },
      connectTimeout: 2_000,
    });
    const agent = createAgUiAgent(client, { storage: null });
    agent.connect();
    dispose.push(() => {
      agent.dispose();
      client.close();
    });
    const thread = (): AgUiThread<unknown> => agent.getSnapshot();
    return {
      agent,
      thread,
      text: () => `${thread().messages.find(({ id }) => id === 'm')?.content ?? ''}`,
      over: () => until(() => thread().status !== 'running', patience),
    };
  }

  const input = (words: number, pace: number) => ({ forwardedProps: { words, pace } });
  const textOf = (words: number) => Array.from({ length: words }, (_, word) => `${word} `).join('');
  const newId = () => `run-${runs++}`;
  const count = async (what: string, runId: string) => Number(await redis.get(`${what}:${runId}`));

  it('shows a run of one process to clients of the other', async () => {
    const runId = newId();
    const owner = openAgent(() => one.url);
    const others = Array.from({ length: 5 }, () => openAgent(() => two.url));
    owner.agent.run(input(60, 5), { runId });
    await until(() => owner.text().length > 10, patience);
    for (const { agent } of others) agent.follow(runId);
    await Promise.all([owner, ...others].map(({ over }) => over()));
    for (const { thread, text } of [owner, ...others]) {
      expect(thread().status).toBe('finished');
      expect(text()).toBe(textOf(60));
    }
    expect(await count('executions', runId)).toBe(1);
  });

  it('tells followers that a run is lost within the lease time after its process was killed', async () => {
    const runId = newId();
    let home = () => one.url;
    const owner = openAgent(() => home());
    const follower = openAgent(() => two.url);
    owner.agent.run(input(100_000, 10), { runId });
    await until(() => owner.text().length > 10, patience);
    follower.agent.follow(runId);
    await until(() => follower.text().length > 10, patience);
    home = () => two.url;
    const killedAt = Date.now();
    await one.kill();
    await follower.over();
    const time = Date.now() - killedAt;
    await owner.over();
    for (const { thread, text } of [owner, follower]) {
      expect(thread()).toMatchObject({ status: 'error', error: { code: 'run-lost' } });
      expect(textOf(100_000).startsWith(text())).toBe(true);
    }
    expect(owner.text()).toBe(follower.text());
    // The lease, and generous time for a busy machine.
    expect(time).toBeLessThan(lease + 5_000);
    expect(await count('executions', runId)).toBe(1);
  });

  it('closes runs that nobody follows, of a process that was killed', async () => {
    const runId = newId();
    const owner = openAgent(() => one.url);
    owner.agent.run(input(100_000, 10), { runId });
    await until(() => owner.text().length > 10, patience);
    owner.agent.dispose();
    await one.kill();
    const key = `runsocket:{${runId}}`;
    await expect
      .poll(() => redis.hGet(key, 'status'), { timeout: patience, interval: 50 })
      .toBe('lost');
    const late = openAgent(() => two.url);
    late.agent.follow(runId);
    await late.over();
    expect(late.thread()).toMatchObject({ status: 'error', error: { code: 'run-lost' } });
  });

  it('lets clients resume on the other process when theirs is killed, text exact', async () => {
    const runId = newId();
    const owner = openAgent(() => one.url);
    let home = () => two.url;
    const followers = Array.from({ length: 10 }, () => openAgent(() => home()));
    owner.agent.run(input(300, 10), { runId });
    await until(() => owner.text().length > 10, patience);
    for (const { agent } of followers) agent.follow(runId);
    await until(() => followers.every(({ text }) => text().length > 50), patience);
    home = () => one.url;
    await two.kill();
    await Promise.all([owner, ...followers].map(({ over }) => over()));
    for (const { thread, text } of [owner, ...followers]) {
      expect(thread().status).toBe('finished');
      expect(text()).toBe(textOf(300));
    }
    expect(await count('executions', runId)).toBe(1);
  });

  it('goes on over a restart of Redis that keeps its data', async () => {
    const runId = newId();
    const owner = openAgent(() => one.url);
    const follower = openAgent(() => two.url);
    owner.agent.run(input(200, 10), { runId });
    await until(() => owner.text().length > 10, patience);
    follower.agent.follow(runId);
    await until(() => follower.text().length > 50, patience);
    await redisServer.stop();
    await redisServer.start();
    await Promise.all([owner.over(), follower.over()]);
    for (const { thread, text } of [owner, follower]) {
      expect(thread().status).toBe('finished');
      expect(text()).toBe(textOf(200));
    }
    expect(await count('executions', runId)).toBe(1);
  });

  it('ends runs clearly when Redis comes back empty, and serves new ones', async () => {
    const runId = newId();
    const owner = openAgent(() => one.url);
    const follower = openAgent(() => two.url);
    owner.agent.run(input(100_000, 10), { runId });
    await until(() => owner.text().length > 10, patience);
    follower.agent.follow(runId);
    await until(() => follower.text().length > 50, patience);
    await redisServer.stop();
    await redisServer.start({ empty: true });
    await Promise.all([owner.over(), follower.over()]);
    for (const { thread, text } of [owner, follower]) {
      expect(thread().status).toBe('error');
      expect(thread().error).toMatchObject({ code: 'run-lost' });
      expect(textOf(100_000).startsWith(text())).toBe(true);
    }
    // The agent was told to stop.
    await expect.poll(() => count('stopped', runId), { timeout: patience }).toBe(1);
    const next = newId();
    owner.agent.run(input(20, 1), { runId: next });
    await owner.over();
    expect(owner.thread().status).toBe('finished');
  });

  it('runs an agent once when both are asked at the same moment', async () => {
    const ids = Array.from({ length: 40 }, newId);
    const agents = ids.flatMap((runId) =>
      [one, two].map((server) => ({ runId, ...openAgent(() => server.url) })),
    );
    for (const { runId, agent } of agents) agent.run(input(20, 2), { runId });
    await Promise.all(agents.map(({ over }) => over()));
    for (const { runId, thread, text } of agents) {
      expect([runId, thread().status, text()]).toEqual([runId, 'finished', textOf(20)]);
      expect(await count('executions', runId)).toBe(1);
    }
  });

  it('stops a run of the other process', async () => {
    const runId = newId();
    const owner = openAgent(() => one.url);
    const other = openAgent(() => two.url);
    owner.agent.run(input(100_000, 10), { runId });
    await until(() => owner.text().length > 10, patience);
    other.agent.follow(runId);
    await until(() => other.text().length > 10, patience);
    other.agent.abort();
    await owner.over();
    expect(owner.thread().status).toBe('aborted');
    await expect.poll(() => count('stopped', runId), { timeout: patience }).toBe(1);
    await expect
      .poll(() => redis.hGet(`runsocket:{${runId}}`, 'status'), { timeout: patience })
      .toBe('cancelled');
  });

  it('moves clients to the other process when one ends, and lets its runs finish', async () => {
    const runId = newId();
    let home = () => one.url;
    const owner = openAgent(() => home());
    owner.agent.run(input(200, 10), { runId });
    await until(() => owner.text().length > 50, patience);
    home = () => two.url;
    const ended = one.end();
    await owner.over();
    expect(owner.thread().status).toBe('finished');
    expect(owner.text()).toBe(textOf(200));
    await ended;
    expect(await count('executions', runId)).toBe(1);
    expect(await count('finished', runId)).toBe(1);
  });
});
