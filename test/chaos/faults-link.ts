import { between, type Fault, type FaultKind, pick } from './fault.ts';
import type { Line } from './link.ts';
import type { World } from './world.ts';

const current = (world: World) => world.link.current(world.page.host);

/** Does something to the user's line, where one is open. */
const toLine =
  (task: (line: Line, fault: Fault, world: World) => void) => (world: World, fault: Fault) => {
    const line = current(world);
    if (line) task(line, fault, world);
    return !!line;
  };

/** What `mode` does to attempts for `ms`; the open line goes too. */
function shut(world: World, mode: World['link']['mode'], ms: number) {
  const { link, timeline } = world;
  link.mode = mode;
  current(world)?.cut();
  world.occupy(ms);
  timeline.at(timeline.now() + ms, () => {
    if (link.mode === mode) link.mode = 'up';
  });
}

/** What the network does. */
export const linkFaults: Readonly<Record<string, FaultKind>> = {
  'cut-rst': { group: 'link', weight: 6, apply: toLine((line) => line.cut()) },
  'cut-fin': { group: 'link', weight: 3, apply: toLine((line) => line.cut(1006, true)) },
  'cut-down': {
    group: 'link',
    weight: 6,
    apply: toLine((line, { a }) => line.cutAfter('down', 1 + Math.floor(a * 12))),
  },
  'cut-up': {
    group: 'link',
    weight: 4,
    apply: toLine((line, { a }) => line.cutAfter('up', 1 + Math.floor(a * 3))),
  },
  'cut-handshake': {
    group: 'link',
    weight: 3,
    apply(world, { a }) {
      world.link.breakHandshakes = 1 + Math.floor(a * 2);
      current(world)?.cut();
      return true;
    },
  },
  'connect-hangs': {
    group: 'link',
    weight: 2,
    apply(world, { a }) {
      shut(world, 'hang', between(100, 9_000, a));
      return true;
    },
  },
  refused: {
    group: 'link',
    weight: 3,
    apply(world, { a }) {
      shut(world, 'refuse', 100 * 300 ** (a * a));
      return true;
    },
  },
  flap: {
    group: 'link',
    weight: 0.5,
    apply(world, { a }) {
      shut(world, 'flap', between(2_000, 25_000, a));
      return true;
    },
  },
  'half-open': { group: 'link', weight: 2, apply: toLine((line) => line.mute(true, true)) },
  'half-open-up': { group: 'link', weight: 2, apply: toLine((line) => line.mute(true, false)) },
  'half-open-down': { group: 'link', weight: 2, apply: toLine((line) => line.mute(false, true)) },
  latency: {
    group: 'link',
    weight: 3,
    apply(world, { a, b }) {
      const { link, timeline, setting } = world;
      const ms = between(50, 3_000, b);
      link.latency = between(20, 2_000, a * a);
      // What was sent before the end may still be on its way as long again.
      world.occupy(ms + 4 * link.latency);
      timeline.at(timeline.now() + ms, () => {
        link.latency = setting.latency;
      });
      return true;
    },
  },
  'late-frames': {
    group: 'stream',
    weight: 3,
    apply(world) {
      const { link, timeline, page } = world;
      // The abandoned socket belongs to another server, whose log of the run is another.
      link.late = () => {
        link.late = undefined;
        const { runId } = page.view.agent.getSnapshot();
        if (runId === undefined) return [];
        world.count('late-frames');
        const from = page.view.seen?.events ?? 0;
        const tag = `${runId}:poison`;
        const delta = 'POISON';
        return [0, 1, 2].map((n) =>
          JSON.stringify({
            runId,
            offset: from + n,
            event: { type: 'TEXT_MESSAGE_CHUNK', messageId: tag, role: 'assistant', delta },
          }),
        );
      };
      const { late } = link;
      timeline.at(timeline.now() + 5_000, () => {
        if (link.late === late) link.late = undefined;
      });
      const cause = pick(['manual', 'offline'], world.random());
      if (current(world) && page.isActive) {
        page.causes.push(timeline.now());
        if (cause === 'manual') page.client.reconnect();
        else {
          page.fake.setOnline(false);
          page.causes.push(timeline.now());
          page.fake.setOnline(true);
        }
      }
      return 'waits';
    },
  },
};
