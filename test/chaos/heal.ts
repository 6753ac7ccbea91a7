import { getRetryDelay } from '../../src/client/backoff.ts';
import { checkView } from './assertions.ts';
import type { Page, View } from './page.ts';
import type { World } from './world.ts';

/** Watches how long it takes until all is well again. */
export interface Healing {
  /** Waits for it, and says where it takes longer than the timers in force explain. */
  run(): Promise<void>;
  /** In ms; undefined before, and where nothing had to heal. */
  readonly took: number | undefined;
  /** How long runs may now take to end, in ms. */
  readonly patience: number;
}

const connectTimeout = 8_000;
const pongTimeout = 5_000;

/** The longest time until the page has a sound connection again, from the timers in force. */
function boundOf(page: Page): number {
  const { world, client, host, retryAt } = page;
  const { setting, link } = world;
  const { status, attempt } = client.getSnapshot();
  const next = (more: number) => getRetryDelay(attempt + more, setting.backoff, 1);
  if (status === 'waiting') return Math.max(0, retryAt - world.timeline.now());
  // Its attempt may be one that never ends.
  if (status === 'connecting') return connectTimeout + next(1);
  if (status === 'closed') return 300;
  if (status === 'idle') return 0;
  const line = link.current(host);
  if (line?.isSound) return 0;
  const idle = Math.min(300_000, 30_000 * 2 ** page.idleSwaps);
  // Silence is counted anew from the next look, every 5 s, where the clock was set.
  const look = [...world.counts.keys()].some((kind) => /^(wall|leap)/.test(kind)) ? 5_000 : 0;
  const silence = page.isGreeted ? setting.heartbeat + pongTimeout : idle + 1_000;
  return silence + look + next(1);
}

/** Make the watch of what the user sees, from the moment at which nothing is wrong any more. */
export function createHealing(world: World, views: readonly View[]): Healing {
  const { timeline, setting, truth } = world;
  const from = timeline.now();
  const hasHoles = [...truth.runs.values()].some(({ incidents }) =>
    ['event-lost', 'truncated'].some((one) => incidents.has(one as never)),
  );
  // A hole is seen with the next event, asked for after 250 ms, and given up 5 s after that.
  const hole = 700 + 250 + (hasHoles ? 5_500 : 0);
  const trips = 12 * setting.latency + 3 * (setting.storageDelay ?? 0) + 300;
  const bounds = new Map(
    [...new Set(views.map(({ page }) => page))].map((page) => [page, boundOf(page)]),
  );
  const goals = views.flatMap((view) => {
    const { runId, status, error } = view.agent.getSnapshot();
    const execution = runId === undefined ? undefined : truth.last(runId);
    const isUp = status === 'running' || error?.code === 'closed';
    if (!runId || !isUp || !execution || view.isAway || view.frozen?.runId === runId) return [];
    if (!execution.isAlive && execution.status === 'running') return [];
    const { incidents } = truth.run(runId);
    if (incidents.has('evicted') || incidents.has('log-lost')) return [];
    // A plain server says nothing before it is where it was when it began anew.
    const { seen } = view;
    const isAnother = seen && seen.execution !== execution && setting.server !== 'v1';
    if (isAnother && seen.events >= execution.events.length) return [];
    // The end of a plain run that is skipped is seen by nobody before the connection is renewed.
    const isQuiet = execution.status !== 'running' || setting.script.slowStart > 0;
    const pace = isQuiet ? (setting.server === 'v1' ? 0 : 302_000) : setting.script.pace * 2;
    const bound = (bounds.get(view.page) ?? 0) + hole + trips + pace;
    return [{ view, runId, execution, events: execution.events.length, bound }];
  });
  let took: number | undefined;

  const isMet = ({ view, runId, events, execution }: (typeof goals)[number]) => {
    const { status, runId: shown, error } = view.agent.getSnapshot();
    if (shown !== runId || (status !== 'running' && error?.code !== 'closed')) return true;
    // What changes nothing is not told.
    checkView(view);
    return !events || (view.seen?.execution === execution && view.seen.events >= events);
  };

  return {
    get took() {
      return took;
    },
    get patience() {
      const reach = Math.max(0, ...bounds.values());
      // The start or the end that nobody confirms is waited for 60 s of open connection.
      const silence = setting.silenceTimeout ?? 0;
      return (
        reach +
        75_000 +
        setting.script.slowStart +
        silence +
        setting.script.length * (setting.script.pace + 5)
      );
    },
    async run() {
      const longest = Math.max(0, ...goals.map(({ bound }) => bound));
      while (timeline.now() < from + longest && !world.violations.length) {
        if (goals.every(isMet)) break;
        await timeline.run(timeline.now() + 50);
        for (const goal of goals) {
          const { view, runId, bound, events } = goal;
          if (timeline.now() - from < bound || isMet(goal)) continue;
          const { events: seen = 0 } = view.seen ?? {};
          world.fail(
            'heal',
            `${runId} shows ${seen} of ${events} events ${bound.toFixed(0)} ms after the last fault`,
          );
        }
      }
      if (goals.length) took = timeline.now() - from;
    },
  };
}
