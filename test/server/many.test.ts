import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createMemoryRunLog } from '../../src/server/memory-run-log.ts';
import { createServer } from '../../src/server/run-server.ts';
import type { AgentOutput } from '../../src/server/types.ts';
import { until } from '../helpers/until.ts';
import { createVirtualClock } from '../helpers/virtual-clock.ts';
import { ask, createPuppet, dial, type Message, serve } from './set-up.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The heap in MB, once what is free has been freed. */
async function heap(): Promise<number> {
  for (let n = 0; n < 3; n++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
}

const total = 10_000;
const textOf = (n: number) => `${n} of many events, each with a text`;

it('tells 500 followers the same 10,000 events, and keeps nothing of them after the retention', async () => {
  const clock = createVirtualClock();
  const log = createMemoryRunLog({}, clock.environment);
  const server = createServer(
    {
      log,
      async *run(): AsyncIterable<AgentOutput> {
        for (let n = 0; n < total; n++) {
          yield { type: 'CUSTOM', name: 'n', value: textOf(n) };
        }
      },
    },
    clock.environment,
  );
  // Each frame is read once, however many get it.
  const parsed = new Map<string, readonly Message[]>();
  const parse = (text: string) => {
    const messages = parsed.get(text) ?? [JSON.parse(text)].flat();
    parsed.set(text, messages);
    return messages;
  };
  /** What a follower got: how many events, each as it was said and in its order, and how often the end. */
  const follow = (n: number) => {
    const got = { count: 0, wrong: 0, ended: 0 };
    const take = ({ type, offset, event }: Message) => {
      if (event) {
        const { value } = event as Message;
        if (offset !== got.count) got.wrong++;
        if (value !== undefined && value !== textOf(got.count - 1)) got.wrong++;
        got.count++;
      } else if (type === 'run.end') got.ended++;
    };
    const end = server.connect(
      (text) => parse(text).forEach(take),
      () => {},
    );
    if (n % 10) end.receive('{"type":"hello","caps":["batch"]}');
    return { got, end };
  };
  const play = async (runId: string, followers: number) => {
    const lines = Array.from({ length: followers }, (_, n) => follow(n));
    lines[0]?.end.receive(JSON.stringify(ask(runId)));
    await clock.flush();
    for (const [n, { end }] of lines.entries()) {
      // Some come while the run goes on, some from its start, some behind its end.
      if (n % 100 === 0) await clock.advance(5);
      if (n) end.receive(JSON.stringify({ type: 'resume', runId }));
    }
    await clock.advance(10_000);
    for (const { end } of lines) end.closed();
    return lines.map(({ got }) => got);
  };

  await play('warm-up', 20);
  await clock.advance(40 * 60_000);
  parsed.clear();
  const before = await heap();
  const all = await play('a', 500);
  expect(new Set(all.map((got) => JSON.stringify(got))).size).toBe(1);
  expect(all[0]).toMatchObject({ count: total + 2, wrong: 0, ended: 1 });
  all.length = 0;
  parsed.clear();
  expect(log.getSnapshot().bytes).toBeGreaterThan(500_000);
  await clock.advance(31 * 60_000);
  expect(log.getSnapshot()).toMatchObject({ runs: 0, bytes: 0 });
  expect(server.getSnapshot()).toEqual({ connections: 0, running: 0, following: 0 });
  expect((await heap()) - before).toBeLessThan(1);
}, 120_000);

it('runs 2,000 agents at the same time in one process', async () => {
  const puppet = createPuppet();
  const { url, server } = await serve({
    run: puppet.run,
    limits: { maxRunsPerConnection: 100, maxRequestsPerSecond: 1_000 },
  });
  const lines = await Promise.all(Array.from({ length: 20 }, () => dial(url)));
  const ids = Array.from({ length: 2_000 }, (_, n) => `${n}`);
  for (const [n, id] of ids.entries()) lines[n % 20]?.send(ask(id));
  await until(() => server.getSnapshot().running === 2_000, 60_000);
  for (let round = 0; round < 5; round++) {
    for (const id of ids) puppet.say(id, `${round} of ${id}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const id of ids) puppet.end(id);
  const count = () => lines.reduce((sum, line) => sum + line.controls('run.end').length, 0);
  await until(() => count() === 2_000, 60_000);
  for (const line of lines) {
    const texts = new Map<unknown, unknown[]>();
    for (const { runId, offset, event } of line.events()) {
      const list = texts.get(runId) ?? [];
      texts.set(runId, list);
      expect(offset).toBe(list.length);
      list.push((event as { delta?: string }).delta);
    }
    expect(texts.size).toBe(100);
    for (const [id, list] of texts) {
      expect(list.slice(2, -2)).toEqual([0, 1, 2, 3, 4].map((round) => `${round} of ${id}`));
    }
  }
  expect(server.getSnapshot()).toMatchObject({ running: 0, following: 0 });
}, 120_000);
