import { expect, it } from 'vitest';
import { createMemoryRunLog } from '../../src/server/memory-run-log.ts';
import { createRandom } from '../helpers/random.ts';
import { until } from '../helpers/until.ts';
import { ask, createPuppet, dial, later, says, serve } from './set-up.ts';

const strays: unknown[] = [];

/** What a hostile client may send: text, or bytes. */
function createFrames(seed: number, count: number): (string | Buffer)[] {
  const random = createRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const ids = [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    '',
    'x'.repeat(10_000),
    '\ud800',
    null,
    7,
    {},
    ['a'],
    'theirs',
    'own',
  ];
  const values = [undefined, null, -1, 1.5, Infinity, 2 ** 53, '1', {}, [], true, NaN, 0, 41];
  const types = ['run', 'resume', 'cancel', 'policy', 'hello', 'ping', 'auth', 'pong', 'retry'];
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const make = (): string | Buffer => {
    const kind = random();
    if (kind < 0.1)
      return pick(['', '{', 'null', '[]', '"', '\0', '{}', 'undefined', '{"type":"run"']);
    if (kind < 0.15)
      return Buffer.from(Array.from({ length: 20 }, () => Math.floor(random() * 256)));
    if (kind < 0.2) return deep;
    if (kind < 0.22)
      return `{"type":"run","runId":"big${random()}","input":"${'x'.repeat(50_000)}"}`;
    if (kind < 0.25) return '{"__proto__":{"type":"run","runId":"polluted"},"constructor":1}';
    if (kind < 0.3)
      return JSON.stringify({ runId: pick(ids), offset: pick(values), event: pick(values) });
    return JSON.stringify({
      type: random() < 0.9 ? pick(types) : pick(values),
      runId: pick(ids),
      input: pick(values),
      after: pick(values),
      n: pick(values),
      caps: pick([...values, ['batch'], [{}]]),
      policy: pick(['cancel', 'keep', null]),
      token: pick(values),
    });
  };
  return Array.from({ length: count }, make);
}

it.each([
  [1, false],
  [2, false],
  [3, true],
])('serves the others whatever a client sends (seed %i, plain: %s)', async (seed, plain) => {
  const puppet = createPuppet();
  const log = createMemoryRunLog({ maxBytes: 2 ** 20 });
  later(() => log.dispose?.());
  const errors: unknown[] = [];
  const onStray = (error: unknown) => strays.push(error);
  process.on('unhandledRejection', onStray);
  process.on('uncaughtException', onStray);
  later(() => process.off('unhandledRejection', onStray).off('uncaughtException', onStray));
  const { url, server } = await serve<string>(
    {
      run: puppet.run,
      log,
      plain,
      principal: (user) => user,
      limits: { maxMessage: 100_000, maxRequestsPerSecond: 1_000 },
      onError: (error) => errors.push(error),
    },
    ({ headers }) => String(headers.user),
  );
  const good = await dial(url, { headers: { user: 'good' } });
  good.send(ask('theirs'));
  await until(() => puppet.starts.has('theirs'));

  const evil = await dial(url, { headers: { user: 'evil' } });
  const frames = createFrames(seed, 1_000);
  for (const [n, frame] of frames.entries()) {
    if (n % 100 === 0) {
      puppet.say('theirs', `word ${n}`);
      await good.until(says(`word ${n}`));
    }
    evil.socket.send(frame);
  }
  evil.send({ type: 'resume', runId: 'last' });
  await evil.until((one) => one.runId === 'last');
  puppet.say('theirs', 'the end');
  puppet.end('theirs');
  await good.ended('theirs');

  expect(strays).toEqual([]);
  expect(({} as Record<string, unknown>).type).toBeUndefined();
  expect([puppet.starts.get('theirs'), puppet.signals.get('theirs')?.aborted]).toEqual([1, true]);
  expect(good.closed.code).toBeUndefined();
  expect(good.offsets('theirs')).toEqual(good.offsets('theirs').map((_, index) => index));
  expect(evil.events('theirs').some(says('the end'))).toBe(false);
  // Runs of its own it may have; nothing else has come of it.
  for (const id of puppet.starts.keys()) {
    expect(id).toMatch(/^(theirs|own|__proto__|constructor|prototype|toString|\ud800|big.*)$/);
  }
  expect(server.getSnapshot().running).toBeLessThanOrEqual(64);
  expect(log.getSnapshot().bytes).toBeLessThan(2 ** 20);

  evil.send('x'.repeat(100_001));
  await until(() => evil.closed.code === 1009);
});

it('stays within its limits under a flood of resumes of a long run', async () => {
  const puppet = createPuppet();
  const { url, server } = await serve({ run: puppet.run, limits: { maxBuffered: 100_000 } });
  const good = await dial(url);
  good.send(ask());
  puppet.say('a', ...Array.from({ length: 2_000 }, () => 'x'.repeat(1_000)));
  await until(() => good.events().length > 2_000);
  const evil = await Promise.all(Array.from({ length: 5 }, () => dial(url)));
  for (const line of evil) line.socket.pause();
  for (let n = 0; n < 400; n++) for (const line of evil) line.send({ type: 'resume', runId: 'a' });
  puppet.say('a', 'still served');
  await good.until(says('still served'));
  expect(server.getSnapshot().following).toBeLessThanOrEqual(6);
  // What waits for those who do not read is little, whatever they ask for.
  expect(process.memoryUsage().external).toBeLessThan(500 * 2 ** 20);
  for (const line of evil) for (let n = 0; n < 400; n++) line.send({ type: 'resume', runId: 'a' });
  for (const line of evil) line.socket.resume();
  await until(() => evil.every((line) => line.closed.code === 4429));
  await until(() => server.getSnapshot().connections === 1);
});
