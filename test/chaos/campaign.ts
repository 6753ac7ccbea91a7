import { faults as kinds } from './faults.ts';
import { closeCodes } from './faults-server.ts';
import { allLosses } from './sacrifice.ts';
import { createSchedule, type Profile, type Schedule } from './schedule.ts';
import { simulate } from './simulate.ts';
import type { Violation } from './world.ts';

/** A schedule that went wrong. */
export interface Failure {
  readonly schedule: Schedule;
  readonly violations: readonly Violation[];
}

/** What many schedules together came to. */
export interface Tally {
  schedules: number;
  /** Those of the schedules, whether they found anything to happen to or not. */
  planned: number;
  /** How often each kind took effect. */
  readonly counts: Record<string, number>;
  /** How often storage without room cost what. */
  readonly losses: Record<string, number>;
  /** How the runs ended that were in view at the end. */
  readonly ends: Record<string, number>;
  readonly failures: Failure[];
  /** The longest healing, in ms. */
  healed: number;
}

/** Make an empty tally. */
export function createTally(): Tally {
  return { schedules: 0, planned: 0, counts: {}, losses: {}, ends: {}, failures: [], healed: 0 };
}

/** Add one tally to another. */
export function addTally(to: Tally, from: Tally): void {
  to.schedules += from.schedules;
  to.planned += from.planned;
  to.healed = Math.max(to.healed, from.healed);
  to.failures.push(...from.failures);
  for (const name of ['counts', 'losses', 'ends'] as const) {
    for (const [key, count] of Object.entries(from[name])) {
      to[name][key] = (to[name][key] ?? 0) + count;
    }
  }
}

/** Run one schedule and note what came of it. */
export async function runSeed(tally: Tally, seed: number, profile?: Profile): Promise<void> {
  const schedule = createSchedule(seed, profile);
  const outcome = await simulate(schedule);
  const count = (name: 'counts' | 'losses' | 'ends', key: string, more = 1) => {
    tally[name][key] = (tally[name][key] ?? 0) + more;
  };
  tally.schedules++;
  tally.planned += schedule.faults.length;
  for (const [kind, times] of outcome.counts) count('counts', kind, times);
  for (const [loss, times] of outcome.losses) count('losses', loss, times);
  for (const end of outcome.ends) count('ends', end);
  tally.healed = Math.max(tally.healed, outcome.healed ?? 0);
  if (outcome.violations.length) {
    tally.failures.push({ schedule, violations: outcome.violations });
  }
}

/** Every kind of fault, each close code on its own. */
export const allKinds: readonly string[] = [
  ...Object.keys(kinds),
  ...closeCodes.map((code) => `close-${code}`),
  'slow-start',
];

/** How many faults took effect; a close counts once, with its code. */
export function countFaults({ counts }: Tally): number {
  return Object.entries(counts).reduce(
    (sum, [kind, times]) => (kind === 'close' ? sum : sum + times),
    0,
  );
}

/** The kinds that never took effect, and what full storage never cost. */
export function findIdle({ counts, losses }: Tally): readonly string[] {
  return [
    ...allKinds.filter((kind) => !counts[kind]),
    ...allLosses.filter((loss) => !losses[loss]).map((loss) => `loss of ${loss}`),
  ];
}

/** A failure as text: its seed, what failed, what is left of it, and its trace. */
export async function explain(
  { schedule, violations }: Failure,
  shrink: (schedule: Schedule) => Promise<Schedule>,
): Promise<string> {
  const small = await shrink(schedule);
  const { log } = await simulate(small, true);
  const { seed, profile, setting } = schedule;
  return [
    `seed ${seed}, profile ${profile}: ${violations[0]?.assertion}: ${violations[0]?.text}`,
    `setting ${JSON.stringify(setting)}`,
    `${small.faults.length} of ${schedule.faults.length} faults are left:`,
    ...small.faults.map((fault) => `  ${JSON.stringify(fault)}`),
    'trace:',
    ...log.map((line) => (line.length > 220 ? `${line.slice(0, 220)}…` : line)),
  ].join('\n');
}
