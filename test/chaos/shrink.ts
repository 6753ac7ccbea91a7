import type { Fault } from './fault.ts';
import type { Schedule } from './schedule.ts';
import { simulate } from './simulate.ts';

/** Take faults away from a schedule that fails, as long as the same assertion still fails. */
export async function shrink(schedule: Schedule): Promise<Schedule> {
  const assertionOf = async (one: Schedule) => (await simulate(one)).violations[0]?.assertion;
  const failing = await assertionOf(schedule);
  let best = schedule;
  if (!failing) return best;
  const without = (faults: readonly Fault[]) => ({ ...best, faults });
  for (let size = best.faults.length; size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.faults.length; ) {
      const smaller = without(best.faults.filter((_, n) => n < at || n >= at + size));
      if ((await assertionOf(smaller)) === failing) best = smaller;
      else at += size;
    }
  }
  return best;
}
