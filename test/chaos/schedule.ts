import { createRandom } from '../helpers/random.ts';
import { between, type Fault, pick } from './fault.ts';
import { faults as kinds } from './faults.ts';
import type { Numbering } from './numbering.ts';
import type { Script } from './script.ts';
import type { Setting } from './world.ts';

/** Which part of what can happen a schedule is drawn from. */
export type Profile = 'v1' | 'plain' | 'plain-restart' | 'overlap' | 'deep';

/** Everything that a run of the simulator needs; the same seed and profile give the same. */
export interface Schedule {
  readonly seed: number;
  readonly profile: Profile;
  readonly setting: Setting;
  readonly faults: readonly Fault[];
}

/** All profiles, in the order in which they take turns. */
export const profiles: readonly Profile[] = ['v1', 'plain', 'plain-restart', 'overlap', 'deep'];

// Version 1 promises 0, 1, 2 …
const namings = [
  'dense',
  'dense',
  'dense',
  'dense',
  'sparse',
  'sparse',
  'stream',
  'digits',
  'random',
  'random',
] as const satisfies readonly Numbering[];

/** The profile of a seed where none is asked for: a deep one is as long as eight others. */
export function profileOf(seed: number): Profile {
  if (seed % 50 === 49) return 'deep';
  return pick(['v1', 'v1', 'plain', 'plain-restart', 'overlap'], (seed % 5) / 5);
}

/** Make the schedule of a seed. */
export function createSchedule(seed: number, profile: Profile = profileOf(seed)): Schedule {
  const random = createRandom(seed * 2_654_435_761 + profiles.indexOf(profile));
  // Small seeds give numbers alike at first.
  for (let i = 0; i < 4; i++) random();
  const setting = createSetting(profile, random, createRandom(seed * 40_503 + 17));
  const count = profile === 'deep' ? 260 : 33 + Math.floor(random() * 12);
  return { seed, profile, setting, faults: createFaults(setting, count, random) };
}

// `names` is a chance of its own, so that a server that numbers otherwise is all that is other.
function createSetting(profile: Profile, random: () => number, names: () => number): Setting {
  const chance = (part: number) => random() < part;
  const server =
    profile === 'v1' || (profile === 'deep' && chance(0.7))
      ? 'v1'
      : pick(['plain', 'bare', 'bare'] as const, random());
  const script: Script = {
    length: 15 + Math.floor(random() * 35),
    pace: pick([0, 5, 20, 60, 150, 400], random()),
    slowStart: chance(0.02) ? 62_000 : 0,
    isEndless: chance(0.08),
    holds: chance(0.6),
    isStubborn: chance(0.1),
  };
  return {
    server,
    heartbeat: pick([5_000, 15_000], random()),
    latency: pick([1, 5, 25], random()),
    numbering: server === 'v1' ? 'dense' : pick(namings, names()),
    // The defaults leave a client without a connection for most of a schedule.
    backoff: chance(0.25) ? {} : { first: 200, min: 50, max: 1_500 },
    overlap: profile === 'overlap',
    restart: profile === 'plain-restart' || (profile === 'overlap' && chance(0.5)),
    silenceTimeout: server === 'bare' && chance(0.2) ? 400_000 : undefined,
    policy: chance(0.04) ? 'cancel' : 'keep',
    threadId: chance(0.5) ? 't' : undefined,
    storageDelay: chance(0.2) ? pick([1, 20, 300], random()) : undefined,
    locks: chance(0.5),
    script,
    firstId: chance(0.05) ? '__proto__' : 'first',
  };
}

function createFaults(setting: Setting, count: number, random: () => number): readonly Fault[] {
  const fitting = Object.entries(kinds).filter(([, { fits }]) => fits?.(setting) ?? true);
  const total = fitting.reduce((sum, [, { weight }]) => sum + weight, 0);
  const excluded = new Set<string>();
  const list: Fault[] = [];
  let at = between(0, 30, random());
  while (list.length < count) {
    let left = random() * total;
    const found = fitting.find(([, { weight }]) => {
      left -= weight;
      return left < 0;
    });
    const [a, b] = [random(), random()];
    if (!found || excluded.has(found[0])) continue;
    const [kind, { excludes = [] }] = found;
    for (const other of excludes) excluded.add(other);
    for (const [other, { excludes: others }] of fitting) {
      if (others?.includes(kind)) excluded.add(other);
    }
    list.push({ at: Math.round(at * 10) / 10, kind, a, b });
    const gap = random();
    at += between(0, gap < 0.3 ? 20 : gap < 0.85 ? 600 : 4_000, random());
  }
  return list;
}
