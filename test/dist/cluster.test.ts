import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createAgUiAgent } from '../../src/ag-ui/agent.ts';
import { createWebSocketClient } from '../../src/client/websocket-client.ts';
import { describeRedis, type RedisServer, startRedisServer } from '../helpers/redis-server.ts';
import { until } from '../helpers/until.ts';

const patience = 40_000;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describeRedis('the example of a cluster', () => {
  let redis: RedisServer;
  let example: ChildProcess;
  let output = '';
  const dispose: (() => void)[] = [];

  const pids = () => [...output.matchAll(/Process (\d+) listens/g)].map(([, pid]) => Number(pid));
  const url = () => /ws:\/\/[^;]+/.exec(output)?.[0] ?? '';

  beforeAll(async () => {
    redis = await startRedisServer();
    example = spawn(process.execPath, ['examples/cluster/main.mjs'], {
      env: { ...process.env, PORT: '0', PACE: '4', REDIS_URL: redis.url },
    });
    for (const stream of [example.stdout, example.stderr]) {
      stream?.on('data', (text) => {
        output += text;
      });
    }
    await until(() => output.includes('Try:') || example.exitCode !== null, patience);
  }, patience);
  afterAll(async () => {
    for (const task of dispose) task();
    example?.kill('SIGKILL');
    await redis?.close();
  });

  function open() {
    const closes: string[] = [];
    const client = createWebSocketClient(url(), {
      WebSocket,
      backoff: { first: 50, min: 20, max: 500 },
      on: { close: () => closes.push('close') },
    });
    const agent = createAgUiAgent(client, { storage: null });
    agent.connect();
    dispose.push(() => {
      agent.dispose();
      client.close();
    });
    const answer = () => agent.getSnapshot().messages.filter(({ role }) => role !== 'user');
    return { agent, client, closes, answer };
  }

  it('serves one run from both processes, and goes on when one of them is killed', async () => {
    expect(pids()).toHaveLength(2);
    const clients = [open(), open()];
    for (const { client } of clients) await client.ready;
    const runId = clients[0]?.agent.run({ messages: [{ role: 'user', content: 'Hello' }] }) ?? '';
    await until(() => clients[0]?.answer().length !== 0, patience);
    clients[1]?.agent.follow(runId);
    await until(() => clients[1]?.answer().length !== 0, patience);

    process.kill(pids()[0] ?? 0, 'SIGKILL');
    await until(
      () => clients.every(({ agent }) => agent.getSnapshot().status !== 'running'),
      patience,
    );
    // One of the two connections was to it, and only one.
    expect(clients.map(({ closes }) => closes.length).sort()).toEqual([0, 1]);
    const [one, two] = clients.map(({ agent, answer }) => [agent.getSnapshot().status, answer()]);
    expect(one).toEqual(two);
    expect(['finished', 'error']).toContain(one?.[0]);

    await until(() => pids().length === 3, patience);
    const late = open();
    late.agent.run({ messages: [{ role: 'user', content: 'Still there?' }] });
    await until(() => late.answer().length !== 0, patience);
  }, 120_000);

  it(
    'leaves no process behind',
    async () => {
      const exited = once(example, 'exit');
      example.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
      await until(() => !pids().some(isAlive), patience);
    },
    patience,
  );

  it(
    'says what is missing where there is no Redis',
    async () => {
      const { REDIS_URL: _, ...env } = process.env;
      const child = spawn(process.execPath, ['examples/cluster/main.mjs'], {
        env: { ...env, PORT: '0', PATH: '/nowhere' },
      });
      let text = '';
      child.stderr.on('data', (data) => {
        text += data;
      });
      expect(await once(child, 'close')).toEqual([1, null]);
      expect(text).toMatch(/^There is no Redis: set REDIS_URL .* or install redis-server/);
      expect(text).not.toContain('    at ');
    },
    patience,
  );
});
