import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createLog, createWorld, finished, started } from '../helpers/world.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The heap in MB, once what is free has been freed. */
function heap(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

it('the heap does not grow with the number of runs', async () => {
  const world = createWorld();
  const runs = world.runs();
  const play = async (from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const id = `run-${n}`;
      runs.start({ text: 'x'.repeat(1_000) }, { runId: id });
      await world.settle();
      world.socket.receive(...createLog(id).frames(started(id), finished(id)));
      await world.clock.advance(1_000);
      (world.socket.sent as unknown[]).length = 0;
    }
  };
  await play(0, 300);
  const before = heap();
  await play(300, 1_300);
  // A thousand runs that stay would hold 1 kB of input each, and their machines.
  expect(heap() - before).toBeLessThan(1.5);
  expect(runs.getSnapshot()).toEqual([]);
});

it('an agent that was disposed of and let go is collected, although its client lives', async () => {
  const world = createWorld();
  world.client.hold();
  const made = await (async () => {
    const agent = world.agent();
    const stop = agent.subscribe(() => {});
    agent.run({}, { runId: 'a' });
    await world.settle();
    world.socket.receive(...createLog('a').frames(started('a'), finished('a')));
    await world.clock.advance(2_000);
    stop();
    agent.dispose();
    return new WeakRef(agent);
  })();
  await world.clock.advance(10_000);
  collect();
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(made.deref()).toBeUndefined();
});
