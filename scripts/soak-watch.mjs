// What the soak holds in both processes: measured now and then, and compared half with half.
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1] ?? 0;
// A megabyte on its way at the wrong moment is no leak: of heaps the least counts.
const least = (list) => Math.min(...list);

// Of each: its name, how much more the second half may hold, and what of a half counts.
const held = [
  ['least heap, MB', ({ heap }) => heap, 1, least],
  ['handles', ({ handles }) => handles, 3, median],
  ['timers', ({ timers }) => timers, 5, median],
  ['listeners', ({ listeners }) => listeners, 0, median],
  ["the server's least heap, MB", ({ server }) => server.heap, 1, least],
  ["the server's handles", ({ server }) => server.handles, 5, median],
];

/** Make the watch over `page` and the process that `call` asks. */
export function createWatch({ page, call }) {
  const samples = [];

  async function measure() {
    for (let n = 0; n < 3; n++) {
      gc();
      await sleep(2);
    }
    const server = await call('measure');
    return {
      heap: process.memoryUsage().heapUsed / 2 ** 20,
      handles: process.getActiveResourcesInfo().length,
      timers: page.timers,
      listeners: page.fake.listeners,
      server,
    };
  }

  return {
    measure,
    /** Measures and keeps it. */
    async sample() {
      const sample = await measure();
      samples.push(sample);
      return sample;
    },
    /** What each half held, but for the warm-up, and whether that is flat: all but noise. */
    compare() {
      const warm = samples.slice(Math.min(8, samples.length >> 2));
      const halves = [warm.slice(0, warm.length >> 1), warm.slice(warm.length >> 1)];
      return held.map(([title, get, most, of]) => {
        const [first, second] = halves.map((half) => of(half.map(get)));
        return { title, first, second, isFlat: second - first <= most };
      });
    },
  };
}
