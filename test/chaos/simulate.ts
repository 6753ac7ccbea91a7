import {
  checkCancelled,
  checkClean,
  checkEnds,
  checkQuiet,
  findGoingOn,
  mayStay,
} from './assertions.ts';
import { createDisk } from './disk.ts';
import { faults as kinds } from './faults.ts';
import { createHealing } from './heal.ts';
import { openPage, type View, watchLink } from './page.ts';
import type { Loss } from './sacrifice.ts';
import type { Schedule } from './schedule.ts';
import { createWorld, type Violation, type World } from './world.ts';

/** What came of a schedule. */
export interface Outcome {
  readonly violations: readonly Violation[];
  /** How often each kind of fault took effect. */
  readonly counts: ReadonlyMap<string, number>;
  /** How often storage without room cost what. */
  readonly losses: ReadonlyMap<Loss, number>;
  readonly log: readonly string[];
  /** How each run ended, as the user saw it. */
  readonly ends: readonly string[];
  /** How long the healing took, in ms. */
  readonly healed: number | undefined;
}

/** Run a schedule in virtual time. */
export async function simulate(schedule: Schedule, isTraced = false): Promise<Outcome> {
  const { seed, setting, faults } = schedule;
  const world = createWorld(seed, setting, isTraced);
  const { timeline } = world;
  watchLink(world);
  let healed: number | undefined;
  try {
    world.page = openPage(world, createDisk(world.judge));
    world.page.view.run();
    if (setting.script.slowStart) world.count('slow-start');
    for (const fault of faults) {
      await timeline.run(fault.at);
      goOn(world);
      const { kind } = fault;
      world.trace(() => `-- ${kind} ${fault.a.toFixed(3)} ${fault.b.toFixed(3)}`);
      if (kinds[kind]?.apply(world, fault) === true) world.count(kind);
      if (world.violations.length) break;
    }
    while (world.busyUntil > timeline.now()) await timeline.run(world.busyUntil);
    if (!world.violations.length) healed = await end(world);
  } catch (error) {
    world.fail('quiet', `thrown: ${(error as Error)?.stack ?? error}`);
  }
  return {
    violations: world.violations,
    counts: world.counts,
    losses: world.losses,
    log: world.log ?? [],
    ends: world.pages.flatMap(({ views, host }) =>
      host.isAlive ? views.map(({ agent }) => endOf(agent.getSnapshot())) : [],
    ),
    healed,
  };
}

function endOf({
  status,
  error,
}: {
  readonly status: string;
  readonly error?: { readonly code?: string };
}) {
  return status === 'error' ? `error ${error?.code}` : status;
}

/** The user starts another run when one is over, so that faults have something to happen to. */
function goOn({ page, runs }: World) {
  if (!page.isActive || page.view.isAway || runs > 4) return;
  const { status, error } = page.view.agent.getSnapshot();
  if (status === 'running' || error?.code === 'closed') return;
  page.view.run();
}

const isOver = (view: View) => {
  const { status, error, runId } = view.agent.getSnapshot();
  const { aborted, truth } = view.page.world;
  return (
    (status !== 'running' && error?.code !== 'closed') ||
    (runId !== undefined &&
      // One that was stopped, by a wish that nobody remembers, never ends.
      (mayStay(view, runId, false) || (aborted.has(runId) && truth.last(runId)?.isAlive)))
  );
};

async function end(world: World): Promise<number | undefined> {
  const { timeline, link, setting, pages } = world;
  link.mode = 'up';
  link.breakHandshakes = 0;
  link.latency = setting.latency;
  link.late = undefined;
  link.up.clear();
  // What is lost for good stays lost.
  if (![...world.truth.runs.values()].some(({ incidents }) => incidents.has('event-lost'))) {
    link.down.clear();
  }
  world.urls = 'ok';
  for (const page of pages) {
    page.disk.mode = 'ok';
    page.host.thaw(false);
    page.reduceTime = 0;
    page.throws = false;
  }
  world.trace(() => '== the faults are over');
  // Pages whose storage is slow know by then what they go on with.
  await timeline.run(timeline.now() + 3 * (setting.storageDelay ?? 0) + 1);
  const views = () =>
    pages.flatMap((page) => (page.host.isAlive && !page.isHidden ? page.views : []));
  const healing = createHealing(world, views());
  await healing.run();
  world.mayEnd = true;
  if (world.violations.length) return healing.took;
  const rest = async () => {
    // What would never end is stopped by its user.
    if (setting.script.isEndless) {
      await timeline.run(timeline.now() + 500);
      for (const view of views()) if (view.page.isActive) view.abort();
    }
    await wait(world, () => views().every((view) => view.isAway || isOver(view)), healing.patience);
  };
  await rest();
  await timeline.run(timeline.now() + 3_000);
  // A late event may have taken a start back that was given up.
  await rest();
  await wait(world, () => !findGoingOn(world).length, healing.patience);
  checkEnds(world);
  checkCancelled(world);
  await leave(world);
  return healing.took;
}

async function wait(world: World, isDone: () => boolean, ms: number) {
  const { timeline } = world;
  const until = timeline.now() + ms;
  while (!isDone() && timeline.now() < until && !world.violations.length) {
    await timeline.run(Math.min(until, timeline.now() + 250));
  }
}

async function leave(world: World) {
  const { timeline, pages } = world;
  const left = pages.filter(({ host }) => host.isAlive);
  // Runs that were stopped and whose server has forgotten them wait for their time.
  for (const page of left) {
    page.reconnects = false;
    for (const view of page.views) if (!view.isAway) view.dispose();
    if (page.client.getSnapshot().status !== 'closed') {
      world.stops.add('close()');
      page.client.close();
    }
  }
  await timeline.run(
    timeline.now() +
      2_000 +
      100 *
        (world.setting.storageDelay ?? 0) *
        Math.max(1, ...left.map(({ views }) => views.length)),
  );
  for (const page of left) checkClean(page);
  checkQuiet(world);
}
