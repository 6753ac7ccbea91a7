// What a run log on Redis costs: bytes of memory for each event, appends and delays, each beside a bare
// XADD of the same texts over the same client: `node bench/redis-log.mjs`.
// Environment: REDIS_URL (else a redis-server of its own), EVENTS (20000), RUNS (50).
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { createClient } from 'redis';
import { startRedis } from '../examples/cluster/redis.mjs';

const events = Number(process.env.EVENTS ?? 20_000);
const runs = Number(process.env.RUNS ?? 50);

const folder = await mkdtemp(new URL('../node_modules/.runsocket-', import.meta.url).pathname);
await build({
  entryPoints: [new URL('../src/server/redis.ts', import.meta.url).pathname],
  outfile: join(folder, 'redis.mjs'),
  bundle: true,
  format: 'esm',
  platform: 'neutral',
});
const { redisRunLog } = await import(join(folder, 'redis.mjs'));
await rm(folder, { recursive: true });

const server = await startRedis();
const [redis, second] = await Promise.all(
  [0, 1].map(async () => {
    const client = createClient({ url: server.url });
    await client.connect();
    return client;
  }),
);
const prefix = `bench-${process.pid}`;
const log = redisRunLog(redis, { prefix });
const reader = redisRunLog(second, { prefix });
const never = new AbortController().signal;

const textOf = (n) =>
  JSON.stringify({
    type: 'TEXT_MESSAGE_CONTENT',
    messageId: '5f0c8a52-6f0e-4b65-9a57-0d6c3f9f2a11',
    delta: `word ${n} `,
  });
const texts = Array.from({ length: events }, (_, n) => textOf(n));
const textBytes = texts.reduce((sum, text) => sum + text.length, 0) / events;
const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
const at = (list, part) => [...list].sort((a, b) => a - b)[Math.floor(list.length * part)];
const round = (value, digits = 0) => value.toFixed(digits).padStart(9);

/** Seconds that `task` takes. */
async function time(task) {
  const start = performance.now();
  await task();
  return (performance.now() - start) / 1_000;
}

async function addBare(key, list, from) {
  await Promise.all(list.map((e, index) => redis.xAdd(key, `${from + index + 1}-0`, { e })));
}

let ids = 0;
async function start() {
  const id = `run-${ids++}`;
  const { epoch } = await log.create(id, { threadId: 't' });
  await log.lease(id, epoch, 600_000);
  return {
    id,
    append: (list) => log.append(id, epoch, list, list),
    end: () => log.end(id, epoch, 'finished'),
  };
}

async function sizeOf(id) {
  const usage = await Promise.all(
    [`${prefix}:{${id}}`, `${prefix}:{${id}}:log`].map((key) =>
      redis.sendCommand(['MEMORY', 'USAGE', key, 'SAMPLES', '0']),
    ),
  );
  return usage.reduce((sum, bytes) => sum + Number(bytes ?? 0), 0);
}

console.log(`${events} events of ${textBytes.toFixed(0)} bytes of JSON\n`);

// Memory: a run without events, and one with all of them.
const idle = await start();
const idleBytes = await sizeOf(idle.id);
const full = await start();
for (let from = 0; from < events; from += 500) await full.append(texts.slice(from, from + 500));
const fullBytes = await sizeOf(full.id);
console.log('memory on Redis (MEMORY USAGE)');
console.log(`${round(idleBytes)} bytes a run without events`);
console.log(
  `${round((fullBytes - idleBytes) / events, 1)} bytes an event, ${((fullBytes - idleBytes) / events - textBytes).toFixed(1)} of them beside its JSON`,
);

// Appends: each kind beside bare XADDs of the same shape, alternating, three rounds.
async function compare(title, size, parallel) {
  const share = Math.floor(events / parallel);
  const ours = [];
  const bare = [];
  for (let turn = 0; turn < 3; turn++) {
    const targets = await Promise.all(Array.from({ length: parallel }, start));
    const each = (write) =>
      Promise.all(
        targets.map(async (target, index) => {
          for (let from = 0; from < share; from += size) {
            await write(target, index, texts.slice(from, Math.min(from + size, share)), from);
          }
        }),
      );
    ours.push((share * parallel) / (await time(() => each(({ append }, _, list) => append(list)))));
    bare.push(
      (share * parallel) /
        (await time(() =>
          each((_, index, list, from) =>
            addBare(`${prefix}:bare-${turn}-${title}-${index}`, list, from),
          ),
        )),
    );
    await Promise.all(targets.map(({ end }) => end()));
  }
  const [a, b] = [at(ours, 0.5), at(bare, 0.5)];
  console.log(
    `${round(a)} events/s, bare XADD ${b.toFixed(0)} (${(a / b).toFixed(2)} of it): ${title}`,
  );
}
console.log('\nappends, awaited one after the other in each run');
await compare('one run, one event a call', 1, 1);
await compare('one run, 100 events a call', 100, 1);
await compare(`${runs} runs, one event a call`, 1, runs);
await compare(`${runs} runs, 20 events a call`, 20, runs);

// Delay: from the call of append to the follower behind another connection, at a calm pace.
const delays = [];
const bareDelays = [];
const calm = await start();
const sentAt = new Map();
const follow = (async () => {
  for await (const batch of reader.read(calm.id, undefined, never)) {
    for (const { offset } of batch) delays.push(performance.now() - sentAt.get(offset));
  }
})();
for (let offset = 0; offset < 1_000; offset++) {
  sentAt.set(offset, performance.now());
  await calm.append([texts[offset]]);
  await new Promise((resolve) => setTimeout(resolve, 2));
}
await calm.end();
await follow;
const third = second.duplicate();
await third.connect();
const bareKey = `${prefix}:bare-delay`;
let last = '0';
const bareFollow = (async () => {
  while (bareDelays.length < 1_000) {
    const [{ messages }] = (await third.xRead(
      { key: bareKey, id: last },
      { BLOCK: 5_000, COUNT: 100 },
    )) ?? [{ messages: [] }];
    for (const { id } of messages) {
      bareDelays.push(performance.now() - sentAt.get(Number.parseInt(id, 10) - 1));
      last = id;
    }
  }
})();
for (let offset = 0; offset < 1_000; offset++) {
  sentAt.set(offset, performance.now());
  await addBare(bareKey, [texts[offset]], offset);
  await new Promise((resolve) => setTimeout(resolve, 2));
}
await bareFollow;
third.destroy();
console.log('\nfrom append to a follower behind another connection, ms');
console.log(`${round(at(delays, 0.5), 2)} median, ${at(delays, 0.99).toFixed(2)} p99`);
console.log(
  `${round(at(bareDelays, 0.5), 2)} median, ${at(bareDelays, 0.99).toFixed(2)} p99: bare XADD and a blocking XREAD`,
);

// Reading back.
const seconds = await time(async () => {
  await log.end(full.id, 'none', 'finished');
  let left = events;
  for await (const batch of reader.read(full.id, undefined, never)) {
    left -= batch.length;
    if (!left) break;
  }
});
console.log(
  `\n${round(events / seconds)} events/s read again from the start (${mean([seconds]).toFixed(2)} s)`,
);

for (const client of [log, reader]) await client.dispose();
for await (const keys of redis.scanIterator({ MATCH: `${prefix}*`, COUNT: 1_000 })) {
  if (keys.length) await redis.unlink(keys);
}
for (const client of [redis, second]) client.destroy();
await server.close();
