import { isFinalCode } from '../../src/client/backoff.ts';
import { between, type FaultKind, pick } from './fault.ts';
import type { World } from './world.ts';

/** The run that the user looks at, where its server has it and it goes on. */
function running(world: World) {
  const { runId } = world.page.view.agent.getSnapshot();
  const execution = runId === undefined ? undefined : world.truth.last(runId);
  return runId !== undefined && execution?.status === 'running' ? { runId, execution } : undefined;
}

const hasRuns = (world: World) =>
  [...world.truth.runs.keys()].some((runId) => world.truth.last(runId)?.status === 'running');

/** The codes with which a server may close. */
export const closeCodes: readonly number[] = [
  ...Array.from({ length: 16 }, (_, n) => 1000 + n),
  3000,
  3500,
  ...[4400, 4401, 4403, 4404, 4408, 4429, 4499],
  4500,
];

/** What becomes of the server. */
export const serverFaults: Readonly<Record<string, FaultKind>> = {
  restart: {
    group: 'server',
    weight: 3,
    apply(world, { a, b }) {
      world.backend.restart(pick([1001, 1006, 1012], a));
      if (b < 0.5) return true;
      world.link.mode = 'refuse';
      const ms = between(50, 2_000, b);
      world.occupy(ms);
      world.timeline.at(world.timeline.now() + ms, () => {
        if (world.link.mode === 'refuse') world.link.mode = 'up';
      });
      return true;
    },
  },
  'hand-over': {
    group: 'server',
    weight: 2,
    fits: ({ server }) => server !== 'bare',
    apply(world) {
      world.backend.handOver();
      return true;
    },
  },
  'producer-lost': {
    group: 'server',
    weight: 0.35,
    apply(world, { a }) {
      if (!hasRuns(world)) return false;
      world.backend.loseProducers(a < 0.3);
      return true;
    },
  },
  'log-lost': {
    group: 'server',
    weight: 0.3,
    apply(world) {
      if (!world.truth.runs.size) return false;
      world.backend.loseLogs(false);
      return true;
    },
    excludes: ['event-lost'],
  },
  reexecute: {
    group: 'server',
    weight: 1,
    // A plain server that does this can only be noticed by an overlapping resume.
    fits: ({ server, overlap }) => server === 'v1' || overlap,
    apply(world) {
      if (!hasRuns(world)) return false;
      world.backend.loseLogs(true);
      return true;
    },
    excludes: ['event-lost', 'ack-never', 'ack-late'],
  },
  truncate: {
    group: 'server',
    weight: 0.4,
    apply(world, { a }) {
      const run = running(world);
      if (!run || run.execution.events.length < 2) return false;
      world.backend.truncate(run.runId, 1 + Math.floor(a * (run.execution.events.length - 1)));
      return true;
    },
    excludes: [
      'reexecute',
      'log-lost',
      'event-skipped',
      'live-before-replay',
      'ack-never',
      'ack-late',
    ],
  },
  evict: {
    group: 'server',
    weight: 0.25,
    apply(world) {
      const { runId } = world.page.view.agent.getSnapshot();
      if (runId === undefined || !world.truth.last(runId)) return false;
      world.backend.evict(runId);
      return true;
    },
  },
  close: {
    group: 'server',
    weight: 6,
    apply(world, { a }) {
      const line = world.link.current(world.page.host);
      if (!line) return false;
      const code = pick(closeCodes, a);
      if (isFinalCode(code) || code === 1009 || code === 4401 || code === 4403)
        world.stops.add(`${code}`);
      line.cut(code, true);
      world.count(`close-${code}`);
      return true;
    },
  },
};
