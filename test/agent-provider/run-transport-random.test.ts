import { expect, it } from 'vitest';
import { createRunTransport, type RunChunk } from '../../src/agent-provider/run-transport.ts';
import { createRandom } from '../helpers/random.ts';
import { createV1Server, toFakePeer } from '../helpers/v1-server.ts';
import { createWorld, finished, type TestEvent } from '../helpers/world.ts';

const total = 60;

/** One run, read in any way that a consumer can, on a connection to which anything happens. */
async function readSomehow(seed: number): Promise<readonly unknown[]> {
  const random = createRandom(seed);
  const pick = (limit: number) => Math.floor(random() * limit);
  const server = createV1Server({ caps: pick(2) ? undefined! : null });
  const world = createWorld({ peer: toFakePeer(server) });
  const transport = createRunTransport<{ runId: string; input: number }, TestEvent>(world.client, {
    queueLimit: 1 + pick(8),
    // The server may be quiet for long.
    orphanTimeout: 1e9,
    startTimeout: 1e9,
  });
  // Something else may hold the same connection.
  const release = pick(2) ? world.client.hold() : () => {};
  const request = { runId: 'a', input: 1 };
  const { signal } = new AbortController();
  let iterator = transport.open(request, signal)[Symbol.asyncIterator]();
  let cursor: unknown;
  let waiting = false;
  let done = false;
  let failure: unknown;
  let written = 0;
  const seen: unknown[] = [];

  const take = (from: typeof iterator, result: IteratorResult<RunChunk<TestEvent>>) => {
    // A result that comes behind the leaving is nobody's.
    if (from !== iterator) return;
    waiting = false;
    if (result.done) {
      done = true;
      return;
    }
    seen.push(result.value.event.n ?? result.value.event.type);
    cursor = transport.getCursor(result.value) ?? cursor;
  };
  const pull = () => {
    if (waiting) return;
    waiting = true;
    const from = iterator;
    from.next().then(
      (result) => take(from, result),
      (error) => {
        failure = error;
      },
    );
  };
  const write = () => {
    if (!server.runs.has('a') || written > total) return;
    if (written === total) {
      server.append('a', finished('a'));
      server.end('a', 'finished');
    } else server.append('a', { type: 'CUSTOM', n: written });
    written++;
  };

  pull();
  for (let step = 0; step < 5_000 && !done && failure === undefined; step++) {
    const what = pick(20);
    if (what < 8) pull();
    else if (what < 13) for (let i = pick(12); i >= 0; i--) write();
    else if (what === 13) server.cut(1006);
    else if (what === 14) await world.clock.advance(pick(20_000));
    else if (what === 15) await world.clock.sleep(pick(60_000));
    else if (what === 16 && cursor !== undefined) {
      iterator.return?.();
      waiting = false;
      iterator = transport
        .resume(pick(2) ? request : undefined, cursor, signal)
        [Symbol.asyncIterator]();
    } else await world.clock.advance(0);
  }
  if (failure !== undefined) throw failure;
  release();
  await world.clock.advance(60_000);
  expect(world.client.getSnapshot().status).toBe('idle');
  expect(world.clock.timers).toBe(0);
  return seen;
}

it('every event comes once and in order, whatever the connection and the consumer do', async () => {
  const expected = [...Array.from({ length: total }, (_, index) => index), 'RUN_FINISHED'];
  for (let seed = 1; seed <= 60; seed++) {
    expect(await readSomehow(seed), `seed ${seed}`).toEqual(expected);
  }
}, 60_000);
